"""Verdicts about all JSON documents below a path, on all processors of this machine, or of a Ray cluster
with `DAFT_RUNNER=ray`:

    python with_daft.py POLICIES 's3://bucket/**/*.json' verdicts

The verdicts are Parquet files in the folder, with a row for each document. A document that couldn't be read
has no verdict. With `--service`, policies ask the service of the environment. The status is the gate's:
0 passed, 1 failed, 2 no verdict.
"""

import argparse
import sys

import daft
import pyarrow
from daft import DataType, Series, col
from rego_platform import Policies, Service, exit_status, verdict_schema

VERDICT = DataType.from_arrow_type(pyarrow.struct(list(verdict_schema())))


@daft.cls
class Gate:
    """Policies, loaded once by each worker."""

    def __init__(self, paths: str, asks: bool):
        self.policies = Policies.load(paths, service=Service.from_context() if asks else None)

    @daft.method.batch(return_dtype=VERDICT, unnest=True, batch_size=10_000)
    def verdict(self, path: Series, document: Series):
        batch = pyarrow.record_batch({"path": path.to_arrow(), "document": document.to_arrow()})
        return self.policies.gate_arrow(batch, name="path").to_struct_array()


def verdicts(policies: str, documents: str, asks: bool = False, io_config=None) -> daft.DataFrame:
    """Returns a row for each document."""
    found = daft.from_glob_path(documents, io_config=io_config).select("path")
    content = col("path").download(on_error="null", io_config=io_config)
    gate = Gate(policies, asks)
    read = found.with_column("document", content)
    return read.select("path", gate.verdict(col("path"), col("document")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("policies")
    parser.add_argument("documents")
    parser.add_argument("folder")
    parser.add_argument("--service", action="store_true")
    given = parser.parse_args()
    written = verdicts(given.policies, given.documents, given.service)
    written = written.write_parquet(given.folder, write_mode="overwrite")
    counts = daft.read_parquet(written.to_pydict()["path"]).groupby("outcome").agg(col("path").count())
    outcomes = dict(zip(*counts.to_pydict().values(), strict=True))
    print(outcomes)
    sys.exit(exit_status(outcomes))

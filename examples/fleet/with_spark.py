"""Verdicts about all JSON documents in a folder, on a Spark cluster:

    spark-submit with_spark.py POLICIES s3a://bucket/folder verdicts

The verdicts are Parquet files in the folder, with a row for each document. With `--service`, policies ask the
service of the environment. The status is the gate's: 0 passed, 1 failed, 2 no verdict.
"""

import argparse
import sys

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from rego_platform import Policies, Service, exit_status, verdict_schema

SCHEMA = from_arrow_schema(pyarrow.schema([("path", pyarrow.string()), *verdict_schema()]))


def verdicts(spark: SparkSession, policies: str, documents: str, asks: bool = False) -> DataFrame:
    """Returns a row for each document."""

    def evaluated(batches):
        # Loaded once for each partition.
        loaded = Policies.load(policies, service=Service.from_context() if asks else None)
        for batch in batches:
            verdict = loaded.gate_arrow(batch, document="content", name="path")
            columns = [batch.column("path"), *verdict.columns]
            yield pyarrow.record_batch(columns, names=["path", *verdict.schema.names])

    files = spark.read.format("binaryFile").options(recursiveFileLookup=True, pathGlobFilter="*.json")
    return files.load(documents).select("path", "content").mapInArrow(evaluated, SCHEMA)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("policies")
    parser.add_argument("documents")
    parser.add_argument("folder")
    parser.add_argument("--service", action="store_true")
    given = parser.parse_args()
    spark = SparkSession.builder.appName("gate").getOrCreate()
    found = verdicts(spark, given.policies, given.documents, given.service)
    found.write.mode("overwrite").parquet(given.folder)
    counts = spark.read.parquet(given.folder).groupBy("outcome").count().collect()
    outcomes = {row["outcome"]: row["count"] for row in counts}
    print(outcomes)
    sys.exit(exit_status(outcomes))

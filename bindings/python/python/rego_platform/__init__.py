"""Rego policies that query a supply-chain compliance service."""

import asyncio as _asyncio
from os import PathLike as _PathLike

from ._native import Policies as _Policies
from ._native import RegoError, Service, UndefinedError, verdict_schema

__all__ = ["Policies", "RegoError", "Service", "UndefinedError", "exit_status", "verdict_schema"]


def exit_status(outcomes):
    """Returns the gate's exit status for the numbers of documents by outcome: 0 passed, 1 failed, 2 no verdict."""
    seen = {outcome for outcome, number in outcomes.items() if number}
    if not seen or seen - {"passed", "failed"}:
        return 2
    return 1 if "failed" in seen else 0


class Policies:
    """Policies, loaded once and evaluated often, from any thread."""

    def __init__(self, native):
        self._native = native

    @classmethod
    def load(cls, paths, *, service=None, replay=None, product=None, allow_warnings=False):
        """Loads files and folders of Rego and data."""
        paths = [paths] if isinstance(paths, (str, _PathLike)) else paths
        paths = [str(path) for path in paths]
        options = {"service": service, "replay": replay, "product": product}
        return cls(_Policies.load(paths, allow_warnings=allow_warnings, **options))

    def evaluate(self, query, input=None, *, input_json=None, timeout=None):
        """Returns the value of a query; raises `UndefinedError` if it has none.

        `None` is no input; `input_json="null"` is null.
        """
        return self._native.evaluate(query, input, input_json=input_json, timeout=timeout)

    async def evaluate_async(self, query, input=None, *, input_json=None, timeout=None):
        """As `evaluate`, on a thread of its own."""
        options = {"input_json": input_json, "timeout": timeout}
        return await _asyncio.to_thread(self._native.evaluate, query, input, **options)

    def gate(self, documents, *, timeout=None):
        """Returns the gate's report about documents, by name."""
        return self._native.gate(dict(documents), timeout=timeout)

    async def gate_async(self, documents, *, timeout=None):
        """As `gate`, on a thread of its own."""
        return await _asyncio.to_thread(self._native.gate, dict(documents), timeout=timeout)

    def gate_arrow(self, batch, *, document="document", name=None, timeout=None):
        """Returns a record batch with a verdict for each row of documents."""
        return self._native.gate_arrow(batch, document=document, name=name, timeout=timeout)

    def packages(self):
        """Returns the names of the packages that were loaded."""
        return self._native.packages()

"""Rego policies that query a supply-chain compliance service."""

import asyncio as _asyncio
from os import PathLike as _PathLike

from ._native import Policies as _Policies
from ._native import RegoError, Service, UndefinedError, verdict_schema

__all__ = ["Policies", "RegoError", "Service", "UndefinedError", "verdict_schema"]


class Policies:
    """Policies, loaded once and evaluated often, from any thread."""

    def __init__(self, native):
        self._native = native

    @classmethod
    def load(cls, paths, **options):
        """Loads files and folders of Rego and data."""
        paths = [paths] if isinstance(paths, (str, _PathLike)) else paths
        return cls(_Policies.load([str(path) for path in paths], **options))

    def evaluate(self, query, input=None, **options):
        """Returns the value of a query; raises `UndefinedError` if it has none."""
        return self._native.evaluate(query, input, **options)

    async def evaluate_async(self, query, input=None, **options):
        """As `evaluate`, on a thread of its own."""
        return await _asyncio.to_thread(self._native.evaluate, query, input, **options)

    def gate(self, documents, **options):
        """Returns the gate's report about documents, by name."""
        return self._native.gate(dict(documents), **options)

    async def gate_async(self, documents, **options):
        """As `gate`, on a thread of its own."""
        return await _asyncio.to_thread(self._native.gate, dict(documents), **options)

    def gate_arrow(self, batch, **options):
        """Returns a record batch with a verdict for each row of documents."""
        return self._native.gate_arrow(batch, **options)

    def packages(self):
        """Returns the names of the packages that were loaded."""
        return self._native.packages()

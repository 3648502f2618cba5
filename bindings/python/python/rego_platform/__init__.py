"""Rego policies that query a supply-chain compliance service."""

import asyncio as _asyncio
import atexit as _atexit
import inspect as _inspect
import os as _os

from . import _native
from ._errors import PolicyError, RegoError, TimedOutError, UndefinedError
from ._native import Evaluation, Recording, verdict_schema

__all__ = [
    "Evaluation",
    "Policies",
    "PolicyError",
    "Recording",
    "RegoError",
    "Service",
    "TimedOutError",
    "UndefinedError",
    "check",
    "exit_status",
    "verdict_schema",
]

_atexit.register(_native.shut_down)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.forked)


def exit_status(outcomes):
    """Returns the gate's exit status for the numbers of documents by outcome: 0 passed, 1 failed, 2 no verdict."""
    seen = {outcome for outcome, number in outcomes.items() if number}
    if not seen or seen - {"passed", "failed"}:
        return 2
    return 1 if "failed" in seen else 0


def check(paths=(), *, texts=None, data=None, functions=None, product=None):
    """Returns the findings about policies and tests, sorted by file and line."""
    return _native.check_policies(_given(paths, texts, data, functions), product=product)


class Service:
    """The service, with the account that asks it."""

    def __init__(self, *, token, **options):
        self._native = _native.Service(token=token, **options)

    @classmethod
    def _of(cls, native):
        service = cls.__new__(cls)
        service._native = native
        return service

    @classmethod
    def from_context(cls, *, product=None):
        """Reads the environment, and then the configuration file of the service's command-line client."""
        return cls._of(_native.Service.from_context(product=product))

    @classmethod
    def from_env(cls, *, product=None):
        """Reads the token and the addresses from the environment."""
        return cls._of(_native.Service.from_env(product=product))

    def call(self, name, *arguments):
        """Calls a function by its name without the product's."""
        return self._native.call(name, *arguments)

    async def call_async(self, name, *arguments):
        """As `call`, for asyncio."""
        return await _finished(lambda wake: self._native.start_call(wake, name, *arguments))

    def origins(self):
        """Returns the values that are used: name, value and where it comes from."""
        return self._native.origins()


class Policies:
    """Policies, loaded once and evaluated often, from any thread."""

    def __init__(self, native):
        self._native = native

    @classmethod
    def load(
        cls,
        paths=(),
        *,
        texts=None,
        data=None,
        functions=None,
        service=None,
        replay=None,
        product=None,
        allow_warnings=False,
    ):
        """Loads files and folders of Rego and data, and texts by name."""
        service = None if service is None else service._native
        options = {"service": service, "replay": replay, "product": product}
        given = _given(paths, texts, data, functions)
        return cls(_native.Policies.load(given, allow_warnings=allow_warnings, **options))

    def evaluate(self, query, input=None, *, input_json=None, timeout=None):
        """Returns the value of a query; raises `UndefinedError` if it has none.

        `None` is no input; `input_json="null"` is null.
        """
        return self._native.evaluate(query, (input, input_json), timeout=timeout)

    async def evaluate_async(self, query, input=None, *, input_json=None, timeout=None):
        """As `evaluate`, for asyncio. It holds no thread while it waits, and cancelling it ends the evaluation."""
        return await self._evaluated(query, (input, input_json), timeout=timeout)

    def evaluation(self, query, input=None, *, input_json=None, timeout=None):
        """Evaluates a query, and returns its value or error with the ledger, the prints and the recording."""
        return self._native.evaluate(query, (input, input_json), timeout=timeout, details=True)

    async def evaluation_async(self, query, input=None, *, input_json=None, timeout=None):
        """As `evaluation`, for asyncio."""
        return await self._evaluated(query, (input, input_json), timeout=timeout, details=True)

    async def _evaluated(self, query, input, **options):
        return await _finished(lambda wake: self._native.evaluate(query, input, wake=wake, **options))

    def gate(self, documents, *, timeout=None, record=None):
        """Returns the gate's report about documents, by name."""
        return self._native.gate(dict(documents), timeout=timeout, record=record)

    async def gate_async(self, documents, *, timeout=None, record=None):
        """As `gate`, for asyncio."""
        options = {"timeout": timeout, "record": record}
        return await _finished(lambda wake: self._native.gate(dict(documents), wake=wake, **options))

    def gate_arrow(self, batch, *, document="document", name=None, timeout=None):
        """Returns a record batch with a verdict for each row of documents."""
        return self._native.gate_arrow(batch, document=document, name=name, timeout=timeout)

    def packages(self):
        """Returns the names of the packages that were loaded."""
        return self._native.packages()


def _given(paths, texts, data, functions):
    """Returns the arguments of the compiled part for what policies are loaded from."""
    paths = [paths] if isinstance(paths, (str, _os.PathLike)) else paths
    paths, texts = [_os.fspath(path) for path in paths], dict(texts or {})
    if not paths and not texts:
        raise TypeError("no policies: expected `paths` or `texts`")
    functions = [(name, _arity(name, own), own) for name, own in dict(functions or {}).items()]
    return paths, list(texts.items()), data, functions


def _arity(name, function):
    """Returns the number of arguments of a host function."""
    parameters = _inspect.signature(function).parameters.values()
    if any(own.kind not in (own.POSITIONAL_ONLY, own.POSITIONAL_OR_KEYWORD) for own in parameters):
        raise TypeError(f"unsupported parameters of the function `{name}`: expected positional ones alone")
    return len(parameters)


async def _finished(start):
    """Returns the result of an operation, which ends if this is cancelled."""
    loop = _asyncio.get_running_loop()
    ended = loop.create_future()

    def end():
        if not ended.done():
            ended.set_result(None)

    def wake():
        try:
            loop.call_soon_threadsafe(end)
        except RuntimeError:
            pass  # The loop is closed, and nobody waits.

    task = start(wake)
    try:
        await ended
    finally:
        task.cancel()
    return task.result()

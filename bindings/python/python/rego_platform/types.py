"""The types of findings, ledgers and prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Position(TypedDict):
    """A position in a file; lines and columns start at 1."""

    file: str
    line: int
    column: int
    length: int
    """The number of characters."""
    text: str
    """The line."""


class Diagnostic(TypedDict):
    """A finding about policies."""

    level: Literal["error", "warning"]
    code: str
    """A stable name for this kind of finding, such as `unknown-function`."""
    message: str
    hint: str | None
    position: Position | None


# A call of an evaluation. A functional definition, since `pass` is a keyword.
CallRecord = TypedDict(
    "CallRecord",
    {
        "function": str,  # the full name, such as `platform.discover`
        "arguments": str,  # as JSON, shortened
        "pass": int,  # the number of the pass that noted it, from 1
        "needed": bool,  # `False` for a guess that the result doesn't depend on
        "origin": Literal["network", "shared", "cache", "replay", "host"],
        "outcome": str,  # `ok`, or the kind of the failure, such as `not found`
        "cut": bool,  # `True` if the policy's own `limit` cut the list
        "rereads": int,  # how often a list was read again, since it changed meanwhile
        "skipped": bool,  # `True` if an AI analysis didn't take place
        "form": "NotRequired[str]",  # the form of a download's content
        "uses": int,  # how often the policy made the call
        "attempts": int,  # the number of requests, with pages and retries
        "bytes": int,
        "latency_us": int,
    },
)


class Ledger(TypedDict):
    """The calls of an evaluation."""

    passes: int
    calls: list[CallRecord]


class Print(TypedDict):
    """The output of a call of `print`."""

    file: str
    line: int
    message: str

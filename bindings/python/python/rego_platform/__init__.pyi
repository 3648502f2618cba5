from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from .report import Outcome, Report
from .types import Diagnostic, Ledger, Print

if TYPE_CHECKING:
    import pyarrow

class RegoError(Exception):
    """Policies can't be loaded or evaluated."""

    kind: Literal[
        "invalid-argument",
        "unauthenticated",
        "permission-denied",
        "not-found",
        "rate-limited",
        "unavailable",
        "timed-out",
        "cancelled",
        "tampered",
        "too-large",
        "protocol",
        "operation-failed",
        "configuration",
        "policy",
        "not-answered",
        "host",
        "internal",
        "undefined",
    ]
    """Why."""
    hint: str | None
    """What to do next."""
    function: str | None
    """The function whose call failed, such as `platform.discover`."""
    diagnostics: list[Diagnostic]
    """What is wrong in the policies, with positions."""

class PolicyError(RegoError):
    """A policy doesn't load, or its evaluation ends with an error of its own."""

class TimedOutError(RegoError, TimeoutError):
    """A call or an evaluation took longer than its timeout."""

class UndefinedError(RegoError):
    """A query has no value, which isn't a verdict."""

class Service:
    """The service, with the account that asks it."""

    def __init__(
        self,
        *,
        token: str,
        controlplane_url: str | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        product: str = "platform",
        ca_certificate: bytes | None = None,
    ) -> None: ...
    @classmethod
    def from_context(cls, *, product: str | None = None) -> Service:
        """Reads the environment, and then the configuration file of the service's command-line client.

        Without `product` it is that of the variable `REGO_PLATFORM_PRODUCT`, or `platform`.
        """

    @classmethod
    def from_env(cls, *, product: str | None = None) -> Service:
        """Reads the token and the addresses from the environment alone, such as `PLATFORM_TOKEN`."""

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function by its name without the product's, such as `discover`."""

    async def call_async(self, name: str, *arguments: Any) -> Any:
        """As `call`, for asyncio. Cancelling it drops the request."""

    def origins(self) -> list[tuple[str, str, str]]:
        """Returns the values that are used: name, value and where it comes from. A token is only `(set)`."""

class Recording:
    """The responses to the calls of one or more evaluations."""

    @staticmethod
    def load(path: str | PathLike[str]) -> Recording:
        """Reads a file."""

    @staticmethod
    def from_bytes(data: bytes) -> Recording:
        """Reads the content of a file."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file that only its owner can read, as a whole or not at all."""

    def to_bytes(self) -> bytes:
        """Returns the content of a file."""

    def merged(self, other: Recording) -> Recording:
        """Returns a recording with the responses of both.

        Raises `RegoError` if they have different responses to the same call.
        """

    def functions(self) -> list[str]:
        """Returns the full names of the recorded functions."""

    def __len__(self) -> int:
        """Returns the number of recorded calls."""

class Evaluation:
    """What an evaluation gave, whether it succeeded or not."""

    @property
    def value(self) -> Any:
        """The value of the query. Raises the error, or `UndefinedError` if there is no value."""

    @property
    def error(self) -> RegoError | None:
        """The error that `value` raises."""

    @property
    def ledger(self) -> Ledger:
        """The calls that were made."""

    @property
    def prints(self) -> list[Print]:
        """The output of the policy's `print` calls."""

    def table(self) -> str:
        """Returns the ledger as a table for people."""

    def recording(self) -> Recording:
        """Returns the responses that a replay of this evaluation needs."""

def check(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    *,
    texts: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    product: str | None = None,
) -> list[Diagnostic]:
    """Returns the findings about policies and tests, sorted by file and line.

    The arguments are those of `Policies.load`. Nothing is contacted, and no function is called.
    """

def verdict_schema() -> pyarrow.Schema:
    """Returns the schema of what `Policies.gate_arrow` returns."""

def exit_status(outcomes: Mapping[Outcome, int]) -> int:
    """Returns the gate's exit status for the numbers of documents by outcome: 0 passed, 1 failed, 2 no verdict."""

class Policies:
    """Policies, loaded once and evaluated often, from any thread."""

    @classmethod
    def load(
        cls,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        *,
        texts: Mapping[str, str] | None = None,
        data: Mapping[str, Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        service: Service | None = None,
        replay: str | PathLike[str] | Recording | None = None,
        product: str | None = None,
        allow_warnings: bool = False,
    ) -> Policies:
        """Loads files and folders of Rego and data, and `texts` of Rego by name, such as `{"p.rego": "package p"}`.

        `data` is added to the data of the files. `functions` are those of the host by full name, such as
        `{"acme.team": team}`: their positional parameters are the arguments, and `None` is null. They may be called
        several times in an evaluation and on any thread, so they must depend on their arguments alone.
        `service` or the recording `replay` answers calls; without one a call is an error. `allow_warnings`
        lets `gate` evaluate policies with rules that no verdict uses, and the like.
        """

    def evaluate(
        self,
        query: str,
        input: Any = None,
        *,
        input_json: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Returns the value of a query, within `timeout` seconds (60).

        Without an input, `input` is undefined. Raises `UndefinedError` if the query has no value. A signal whose
        handler raises, such as Ctrl-C, ends the evaluation.
        """

    async def evaluate_async(
        self,
        query: str,
        input: Any = None,
        *,
        input_json: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Any:
        """As `evaluate`, for asyncio. It holds no thread while it waits, and cancelling it ends the evaluation."""

    def evaluation(
        self,
        query: str,
        input: Any = None,
        *,
        input_json: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Evaluation:
        """Evaluates a query, and returns its value or error with the ledger, the prints and the recording."""

    async def evaluation_async(
        self,
        query: str,
        input: Any = None,
        *,
        input_json: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Evaluation:
        """As `evaluation`, for asyncio."""

    def gate(
        self,
        documents: Mapping[str, Any],
        *,
        timeout: float | None = None,
        record: str | PathLike[str] | None = None,
    ) -> Report:
        """Returns the gate's report about documents, by name.

        `timeout` is that of each in seconds. `record` is the file for a recording.
        """

    async def gate_async(
        self,
        documents: Mapping[str, Any],
        *,
        timeout: float | None = None,
        record: str | PathLike[str] | None = None,
    ) -> Report:
        """As `gate`, for asyncio. It runs on threads of its own, and cancelling it ends them."""

    def gate_arrow(
        self,
        batch: pyarrow.RecordBatch,
        *,
        document: str = "document",
        name: str | None = None,
        timeout: float | None = None,
    ) -> pyarrow.RecordBatch:
        """Returns a record batch with a verdict for each row of documents.

        `document` is the column with the JSON, `name` one with names for messages and waivers.
        """

    def packages(self) -> list[str]:
        """Returns the names of the packages that were loaded."""

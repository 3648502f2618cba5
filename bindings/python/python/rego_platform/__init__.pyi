from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

class RegoError(Exception):
    """Policies can't be loaded or evaluated."""

    kind: str
    """Why, such as `policy`, `timed-out` or `configuration`."""
    hint: str | None
    """What to do next."""

class UndefinedError(RegoError):
    """A query has no value, which isn't a verdict."""

class Service:
    """The service, with the account that asks it."""

    def __new__(
        cls,
        *,
        token: str,
        controlplane_url: str | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        product: str = "platform",
        ca_certificate: bytes | None = None,
    ) -> Service: ...
    @staticmethod
    def from_context(*, product: str | None = None) -> Service:
        """Reads the environment, and then the configuration file of the service's command-line client.

        Without `product` it is that of the variable `REGO_PLATFORM_PRODUCT`, or `platform`.
        """

    @staticmethod
    def from_env(*, product: str | None = None) -> Service:
        """Reads the token and the addresses from the environment alone, such as `PLATFORM_TOKEN`."""

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function by its name without the product's, such as `discover`."""

    def origins(self) -> list[tuple[str, str, str]]:
        """Returns the values that are used: name, value and where it comes from. A token is only `(set)`."""

def verdict_schema() -> pyarrow.Schema:
    """Returns the schema of what `Policies.gate_arrow` returns."""

def exit_status(outcomes: Mapping[str, int]) -> int:
    """Returns the gate's exit status for the numbers of documents by outcome: 0 passed, 1 failed, 2 no verdict."""

class Policies:
    """Policies, loaded once and evaluated often, from any thread."""

    @classmethod
    def load(
        cls,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        service: Service | None = None,
        replay: str | None = None,
        product: str | None = None,
        allow_warnings: bool = False,
    ) -> Policies:
        """Loads files and folders of Rego and data.

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
        """Returns the value of a query, within `timeout` seconds.

        Without an input, `input` is undefined. Raises `UndefinedError` if the query has no value.
        """

    async def evaluate_async(
        self,
        query: str,
        input: Any = None,
        *,
        input_json: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Any:
        """As `evaluate`, on a thread of its own."""

    def gate(self, documents: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Returns the gate's report about documents, by name; `timeout` is that of each in seconds."""

    async def gate_async(
        self, documents: Mapping[str, Any], *, timeout: float | None = None
    ) -> dict[str, Any]:
        """As `gate`, on a thread of its own."""

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

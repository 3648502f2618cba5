"""The types of a gate's report, written by `report_types.py` from the report's JSON schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired


# The source of the responses to the policies' calls.
AnsweredBy = Literal["service", "emulator", "replay", "none"]


class Argument(TypedDict):
    """An account of the files that one argument names."""

    argument: str
    """The argument as it was given."""
    digest: NotRequired[str | None]
    """The pinned digest of a remote source."""
    found: int
    """The number of files that were found."""
    left_out: list[LeftOut]
    """The files that were left out, with the reason; a bounded number of them."""
    left_out_unlisted: int
    """The number of left out files that aren't listed."""
    signers: NotRequired[list[str]]
    """The signers, if they were checked: the files of keys, or identities."""
    taken: int
    """The number of files that were read."""


# A call to the service.
Call = TypedDict(
    "Call",
    {
        "arguments": "str",
        "attempts": "int",
        "bytes": "int",
        "cut": "bool",
        "form": "NotRequired[str | None]",
        "function": "str",
        "latency_us": "int",
        "needed": "bool",
        "origin": "str",
        "outcome": "str",
        "pass": "int",
        "policy": "str",
        "rereads": "NotRequired[int | None]",
        "skipped": "bool",
    },
)


class CallSite(TypedDict):
    """A place in a policy that calls the service, or a built-in that accesses the network."""

    function: str
    """The function's full name."""
    package: str
    """The package of the verdict."""
    position: Position
    """The position of the call."""
    reached: NotRequired[int | None]
    """The number of times it was reached, over all inputs, if that is known."""


class Cause(TypedDict):
    """A reason for missing verdicts, with the affected inputs."""

    error: Failure
    """The reason."""
    first: str
    """The `name` of the first of them."""
    inputs: int
    """The number of inputs."""
    policy: NotRequired[str | None]
    """The `name` of the policy; absent if the inputs as a whole have no verdict."""


class CertifiedSigner(TypedDict):
    """An account whose owner signed with a certificate that was verified."""

    claims: dict[str, str]
    """The certificate's claims about the CI job, such as `repository`, `ref` and `trigger`."""
    identity: str
    """The account: a mail address, or the URI of a workflow."""
    issuer: str
    """The provider of the account (`OpenID` Connect)."""
    signed_at: NotRequired[str | None]
    """The earliest verified time at which the signature existed (RFC 3339, UTC)."""
    signed_at_source: NotRequired[str | None]
    """The source of this time: `rekor` (a transparency log) or `rfc3161` (a timestamp authority)."""


# The class of a violation.
Class = Literal["violation", "finding", "warning"]


# The effect of a violation on the verdict.
Effect = Literal["fails", "warns", "waived", "excepted", "below_threshold", "disregarded"]


class Evidence(TypedDict):
    """An artifact attached to an image."""

    digest: str
    """`sha256:` of its bytes."""
    media_type: str
    """The media type in the registry."""
    platform: NotRequired[str | None]
    """The platform to whose image it is attached; absent if it is attached to the image that was asked for."""
    predicate_type: NotRequired[str | None]
    """The predicate type, if it is an attestation."""
    signers: NotRequired[list[Signer]]
    """The signers, if signatures are checked."""


class Failure(TypedDict):
    """The reason why there is no verdict."""

    function: NotRequired[str | None]
    """The full name of the function whose call failed."""
    hint: NotRequired[str | None]
    """A suggested action."""
    kind: str
    """A stable code, such as `timed-out`, `policy` or `wrong-shape`."""
    message: str
    """A description of the problem."""
    position: NotRequired[Position | None]
    """The position in the policy."""


class Input(TypedDict):
    """One input with its result."""

    digest: NotRequired[str | None]
    """`sha256:` of its bytes as they were read, or of the files' digests if they are combined; an image's own; absent if there is no input."""
    duration_ms: int
    """The time it took, in milliseconds."""
    error: NotRequired[Failure | None]
    """The error of reading the input, or the reason for a missing verdict although each policy has one."""
    evidence: NotRequired[list[Evidence] | None]
    """The accepted artifacts attached in its registry, if it is an image."""
    ledger: Ledger
    """The calls to the service."""
    name: str
    """The file, `<stdin>`, the address of an image, or `(no input)`; followed by `#N` if the file contains several documents."""
    outcome: Outcome
    """The verdict of all policies on this input."""
    place: NotRequired[int | None]
    """In a shard, the index of its file among the files of all shards, from 0."""
    predicate_type: NotRequired[str | None]
    """The predicate type, if it is an attestation."""
    signers: NotRequired[list[Signer]]
    """The signers, if it is an attestation whose signatures are checked."""
    subjects: NotRequired[list[Subject]]
    """The subjects, if it is an attestation; the image, if it is one."""
    verdicts: list[Verdict]
    """The verdict of each policy, in the order of the run's policies; fewer if the input couldn't be read or the run was stopped."""


class Inventory(TypedDict):
    """The inventory of a run."""

    arguments: NotRequired[dict[str, str]]
    """The arguments of policy documents that were given."""
    asked: NotRequired[list[str]]
    """The nondeterministic functions that verdicts depend on: of the service, the network, time and random numbers."""
    call_sites: list[CallSite]
    """The places in policies that call the service, or built-ins that access the network."""
    conditions: NotRequired[dict[str, str]]
    """Settings of reading inputs and limits of an evaluation that differ from the defaults."""
    engine: NotRequired[str | None]
    """The engine that evaluated the policies: `regorus`, or `both`, which had to agree. Absent for this crate's own."""
    inputs: list[Argument]
    """The files of inputs, by argument."""
    metadata: NotRequired[dict[str, str]]
    """The project, and annotations as `annotations.KEY`, in the inputs' metadata, such as `input.platform_metadata`."""
    options: list[OptionUse]
    """The options that relax the gate, so that less fails or less is evaluated."""
    packages: list[PackageUse]
    """Every package that was loaded."""
    policies: list[Argument]
    """The files of policies and data, by argument."""
    recording: NotRequired[Source | None]
    """The recording that answered calls."""
    service: Service
    """The configured service, and the source of the responses."""
    settings: NotRequired[Source | None]
    """The file from which options of the command were taken."""
    signed_by: NotRequired[SignedBy | None]
    """The required signers, if inputs are attestations whose signatures were checked."""
    token: NotRequired[TokenUse | None]
    """The identity under which requests were sent."""
    unverified: bool
    """`true` if inputs are attestations whose signatures weren't checked."""
    values: NotRequired[dict[str, str]]
    """The values added to the input, as JSON, by their paths in the input."""
    vex: NotRequired[list[Source]]
    """The VEX documents."""
    waivers: NotRequired[Source | None]
    """The file with the waivers."""


class Ledger(TypedDict):
    """The calls to the service for one input."""

    attempts: int
    """The number of requests sent for all calls."""
    calls: list[Call]
    """The listed calls, by policy, in the order of their discovery. By default only failed, cut and otherwise remarkable calls."""
    left_out: int
    """The number of calls that aren't listed."""
    origins: dict[str, int]
    """The number of responses by origin, for all calls with a response."""
    passes: int
    """The maximum number of passes that one policy took."""


class LeftOut(TypedDict):
    """A file, folder or part of a file that was found and not read."""

    path: str
    """The path, as messages show it."""
    reason: str
    """The reason for omitting it."""


# The effect of an option on the run.
OptionEffect = Literal["recorded", "took_effect"]


class OptionUse(TypedDict):
    """An option that relaxes the gate."""

    effect: OptionEffect
    """The effect on the run."""
    name: Relaxation
    """The relaxation."""
    times: int
    """The number of times it had an effect."""
    value: NotRequired[str | None]
    """The value that was given; absent for an option without one."""


# The outcome of a run or of an input.
Outcome = Literal["passed", "failed", "no_verdict"]


class PackageUse(TypedDict):
    """A package that was loaded."""

    asked: bool
    """`true` if it was evaluated."""
    calls: int
    """The number of calls to the service that its verdicts depend on, over all inputs; for inputs without a verdict, all calls that were made."""
    name: str
    """The name, or the policy document's."""
    reason: NotRequired[str | None]
    """The reason why it wasn't evaluated."""
    rules: list[str]
    """The verdict rules."""


class Part(TypedDict):
    """The shard of a run, with the facts for merging its report."""

    common_notes: int
    """The number of the run's `notes`, from the first, that don't depend on its inputs."""
    files: int
    """The number of files of all shards."""
    names: str
    """`sha256:` of the names of all these files, in the given order."""
    number: int
    """The number, from 1."""
    of: int
    """The number of shards."""
    tally: Tally
    """The counts over the run's inputs."""


class Policy(TypedDict):
    """A package that gives verdicts."""

    api_version: NotRequired[str | None]
    """The `apiVersion` of that document."""
    attestation_phases: NotRequired[list[str]]
    """The phases of an attestation in which the vendor's engine evaluates it; a gate always does."""
    auto_match: NotRequired[str | None]
    """The policy for automatic attachment of its document, which a gate doesn't evaluate: `path`, `ref` or `embedded`."""
    controls: NotRequired[list[str]]
    """The controls that it checks, from its `METADATA` annotation (`custom.controls`)."""
    description: NotRequired[str | None]
    """The description from its `METADATA` annotation."""
    digest: str
    """The `sha256:` digest of its file; of several files, that of their digests, sorted, one a line. Names don't count."""
    document: NotRequired[str | None]
    """The name of the policy document that it is from, if any."""
    effective_on: NotRequired[str | None]
    """The date (`YYYY-MM-DD`) before which its violations are warnings, from its `METADATA` annotation (`custom.effective_on`)."""
    files: list[str]
    """The paths of the files that define its package."""
    finding_type: NotRequired[str | None]
    """The type of its findings, such as `VULNERABILITY`."""
    kind: NotRequired[str | None]
    """The kind of material that it is for; absent if it is for every kind."""
    links: NotRequired[list[str]]
    """The https links from its `METADATA` annotation (`related_resources`)."""
    name: str
    """The dotted package, such as `release.licences`."""
    remediation: NotRequired[str | None]
    """The remedy of its violations, from its `METADATA` annotation (`custom.remediation`)."""
    rules: list[Rule]
    """The verdict rules."""
    severity: NotRequired[str | None]
    """The severity from its `METADATA` annotation (`custom.severity`), as written there."""
    title: NotRequired[str | None]
    """The title from its `METADATA` annotation."""


class Position(TypedDict):
    """A position in a file of the author's."""

    column: int
    """Column in characters, from 1."""
    file: str
    """The file's path as it was given to the command or to the API."""
    length: int
    """The number of characters, at least 1."""
    line: int
    """Line, from 1."""
    text: str
    """The line's text, without its line break; empty if it has more than 4,096 bytes."""


# A way in which a gate can be relaxed. Exhaustive, so that a host that words them doesn't compile until it words a new one.
Relaxation = Literal["packages", "skip", "kind", "ignore", "fail_on", "waivers", "vex", "not_found", "allowed_hosts", "no_fail", "allow_skipped", "allow_warnings", "lenient_builtins", "skip_verify", "unpinned", "without_input", "plain_http"]


class Requirement(TypedDict):
    """The status of a requirement: a row of a response of `project_compliance`. A text that the service left out is empty."""

    created_at: str
    """The time of the evaluation."""
    display_name: str
    """The name for people."""
    framework_id: str
    """The framework that it is in."""
    name: str
    """The requirement's name."""
    project_version_id: str
    """The version of the project that it is about."""
    requirement_id: str
    """The requirement's identifier."""
    requirement_version_id: str
    """The identifier of the requirement's version."""
    status: str
    """`pass`, `fail` or another status."""


class Rule(TypedDict):
    """A rule that contributes to a verdict."""

    controls: NotRequired[list[str]]
    """The controls that it checks, from its `METADATA` annotation (`custom.controls`)."""
    description: NotRequired[str | None]
    """The description from its `METADATA` annotation."""
    effective_on: NotRequired[str | None]
    """The date (`YYYY-MM-DD`) before which its violations are warnings, from its `METADATA` annotation (`custom.effective_on`)."""
    name: str
    """The name, such as `deny`."""
    position: NotRequired[Position | None]
    """The position of its first definition."""
    remediation: NotRequired[str | None]
    """The remedy of its violations, from its `METADATA` annotation (`custom.remediation`)."""
    severity: NotRequired[str | None]
    """The severity from its `METADATA` annotation, as written there."""
    title: NotRequired[str | None]
    """The title from its `METADATA` annotation."""


class Rules(TypedDict):
    """The rules by which an input fails, besides violations, as set by options."""

    allow_skipped: bool
    """`true` if an input that every policy skipped passes."""
    fail_on: NotRequired[Severity | None]
    """The least severity that fails. A violation without a known severity always fails."""
    fail_on_notes: bool
    """`true` if a run with notes has no verdict."""
    fail_on_warn: bool
    """`true` if warnings fail."""
    no_fail: bool
    """`true` if the exit status is 0 although there are violations."""


class Service(TypedDict):
    """The configured service, and the source of the responses to the policies' calls."""

    answered_by: NotRequired[AnsweredBy | None]
    """The source of responses; absent if no calls were allowed."""
    backend: NotRequired[str | None]
    """The origin of the platform backend."""
    controlplane: NotRequired[str | None]
    """The origin of the control plane."""


# The severity of a violation.
Severity = Literal["info", "low", "medium", "high", "critical"]


class SignedBy(TypedDict):
    """The required signers of attestations."""

    identities: NotRequired[list[SigningIdentity]]
    """The identities; one signature is enough."""
    keys: list[SigningKey]
    """The keys."""
    threshold: int
    """The number of required signatures."""
    trust_root: NotRequired[Source | None]
    """The trust root of the identities."""


# A signer of an attestation.
Signer = Union["SigningKey", "CertifiedSigner"]


class SigningIdentity(TypedDict):
    """An account whose owner signs."""

    identity: str
    """The account: a mail address, or the URI of a workflow. In the inventory, a pattern in which `*` stands for any text."""
    issuer: str
    """The provider of the account (`OpenID` Connect), such as `https://token.actions.githubusercontent.com`."""


class SigningKey(TypedDict):
    """A public key whose owner signs."""

    fingerprint: str
    """`sha256:` of the key in DER (`SubjectPublicKeyInfo`)."""
    key: str
    """The file of the public key, as it was given."""


class Source(TypedDict):
    """A file of policies or data."""

    digest: str
    """`sha256:` of its bytes."""
    path: str
    """The path, as given."""


# The conclusion about one policy and one input.
Status = Literal["passed", "failed", "skipped", "ignored", "no_verdict"]


class Subject(TypedDict):
    """A subject of an attestation."""

    digest: dict[str, str]
    """The digests, by algorithm."""
    name: str
    """The subject's `name` in the attestation; empty if it has none."""


class Tally(TypedDict):
    """Counts over a run's inputs that their verdicts don't include."""

    base64: int
    """The number of artifacts given as base64, in calls that verdicts depend on."""
    cut: int
    """The number of lists that were cut at a policy's own limit, in calls that verdicts depend on."""
    remarks: NotRequired[dict[str, Unread]]
    """The inputs that passed with a remark about the policy, by remark."""
    requests: int
    """The number of policies' own network requests that verdicts depend on."""
    skipped: int
    """The number of skipped AI analyses that verdicts depend on."""
    swallowed: int
    """The number of errors of built-ins that became undefined."""
    undefined: int
    """The number of calls that became undefined because of a "not found" response."""
    unknown_statuses: dict[str, dict[str, int]]
    """The rows of responses with an unknown status, by field and status."""
    unread: dict[str, Unread]
    """For each policy, by its index, the inputs that passed without a read of their values."""


class TokenUse(TypedDict):
    """The identity under which requests were sent, according to the token's own claims."""

    kind: str
    """`user` or `api`."""
    organization: NotRequired[str | None]
    """The organization that was selected."""


class Tool(TypedDict):
    """The tool that wrote a report."""

    commit: NotRequired[str | None]
    """The commit that it was built from, if that is known."""
    name: str
    """`rego-platform`."""
    version: str
    """The version of the program, such as `0.1.0`."""


class Totals(TypedDict):
    """Totals over a run."""

    attempts: int
    """The number of requests sent."""
    below_threshold: int
    """The number of violations below the severity that fails."""
    bytes: int
    """The size of the responses, in bytes."""
    calls: int
    """The number of calls to the service."""
    excepted: int
    """The number of violations and warnings excepted by policies (`exception`)."""
    failed: int
    """The number of inputs that failed."""
    inputs: int
    """The number of inputs."""
    no_verdict: int
    """The number of inputs without a verdict."""
    not_evaluated: int
    """The number of inputs that a stopped run didn't evaluate. `inputs` doesn't include them. A file or stream that wasn't read to its end counts as one, since its number of inputs isn't known."""
    passed: int
    """The number of inputs that passed."""
    skipped: int
    """The number of policies' verdicts that were skipped or ignored."""
    violations: int
    """The number of violations and findings that fail, and of warnings if those fail."""
    waived: int
    """The number of waived violations."""
    warnings: int
    """The number of warnings that don't fail."""


class Unread(TypedDict):
    """Inputs that passed a policy without a read of their values."""

    first: str
    """The name of the first input."""
    inputs: int
    """The number of inputs."""
    policy: str
    """The policy."""


class Verdict(TypedDict):
    """The verdict of one policy over one input."""

    duration_ms: int
    """The time that the policy took for the input, in milliseconds."""
    error: NotRequired[Failure | None]
    """The reason why there is no verdict."""
    exceptions: NotRequired[list[str]]
    """The names of the rules in the policy's `exception`."""
    policy: str
    """The `name` of the policy."""
    reason: NotRequired[str | None]
    """The reason why it was skipped or ignored, in the policy's words."""
    status: Status
    """The conclusion."""
    violations: list[Violation]
    """All violations of the policy, whether they count or not: violations and findings first, warnings last."""


class VexStatement(TypedDict):
    """A statement of a VEX document."""

    file: str
    """The document's file."""
    number: int
    """The statement's number in it, from 1."""
    status: VexStatus
    """The status of the vulnerability in the product."""


# The status of a vulnerability in a product.
VexStatus = Literal["not_affected", "affected", "fixed", "under_investigation"]


# A violation, finding or warning of a policy.
Violation = TypedDict(
    "Violation",
    {
        "class": "Class",
        "effect": "Effect",
        "fields": "NotRequired[dict[str, Any]]",
        "id": "NotRequired[str | None]",
        "message": "str",
        "position": "NotRequired[Position | None]",
        "rule": "str",
        "severity": "NotRequired[str | None]",
        "waiver": "NotRequired[int | None]",
    },
)


# The property by which a waiver identifies its subject.
WaivedBy = Literal["digest", "input", "name", "violation", "product"]


class Waiver(TypedDict):
    """A waiver and its matches."""

    by: WaivedBy
    """The property that `subject` is compared with."""
    expired: bool
    """`true` if that day has passed: the violations that it matches fail nevertheless."""
    expires: str
    """The last day on which it is valid, such as `2026-12-31`; empty for a VEX statement, which has none."""
    finding: NotRequired[str | None]
    """The finding that it is for; absent if it is for every finding of the policy."""
    matched: int
    """The number of violations that it matches."""
    owner: str
    """The person or team that is responsible for it; the author of a VEX document."""
    policy: NotRequired[str | None]
    """The policy that it is for; absent if it is for every policy."""
    reason: str
    """The reason for accepting the violation, as written in the file."""
    subject: str
    """The digest or glob that identifies its subject; of a VEX statement, its products, or the first of them."""
    vex: NotRequired[VexStatement | None]
    """`true` if it is a statement of a VEX document. Whether the violations that it matches fail nevertheless is said by its status."""


class Report(TypedDict):
    """A run of a gate."""

    ai: bool
    """`true` if an AI model's response contributed to any verdict."""
    answers: AnsweredBy
    """The source of the responses to the policies' calls."""
    causes: list[Cause]
    """The reasons why inputs have no verdict, each stated once."""
    duration_ms: int
    """The time it took, in milliseconds."""
    exit: int
    """The exit status: 0 passed, 1 failed, 2 no verdict."""
    failure: NotRequired[Failure | None]
    """The error that kept the run from evaluating anything, or ended it."""
    inputs: list[Input]
    """The inputs, in the given order."""
    inventory: Inventory
    """The arguments, files and options of the run, used or not."""
    notes: list[str]
    """Remarks on the run as a whole that don't affect the outcome."""
    outcome: Outcome
    """The verdict over all inputs."""
    part: NotRequired[Part | None]
    """`true` if the run evaluated only a shard of its files. The outcome is that of this shard."""
    policies: list[Policy]
    """The policies that gave verdicts, by package."""
    reasons: list[str]
    """The reasons why it didn't pass, a line each, most important first; empty if it passed."""
    requirements: NotRequired[list[Requirement]]
    """The requirements in responses of `project_compliance` that verdicts depend on."""
    requirements_cut: NotRequired[bool]
    """`true` if a response of `project_compliance` was cut at a policy's own limit: not all rows are known."""
    requirements_unlisted: NotRequired[int]
    """The number of rows beyond the limit of `requirements`. A row counts for each response."""
    rules: Rules
    """The rules by which an input fails, besides violations."""
    schema_version: int
    """The version of this format: 2."""
    sources: list[Source]
    """Every file of policies and data that was loaded."""
    started: str
    """The time at which it began, RFC 3339 in UTC."""
    tool: Tool
    """The tool that wrote the report."""
    totals: Totals
    """Counts over all inputs."""
    waivers: list[Waiver]
    """The waivers, in the order of their file."""

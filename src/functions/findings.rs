//! `findings(request)`: the security findings of a project's version.

use super::enumeration::{FINDING_SEVERITY, FINDING_STATUS, FINDING_TYPE};
use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{FINDINGS, Paging};

/// One value of an enumeration, or several.
const VALUES: Type = Type::Either(&Type::String, &Type::Array(&Type::String));

pub(crate) static REQUEST: &[Field] = &[
    Field::required("project_name", Type::String, "the name of the project"),
    Field::required("project_version_name", Type::String, "the name of the project's version"),
    Field::optional("finding_type", VALUES, "types, such as `VULNERABILITY`"),
    Field::optional("status", VALUES, "statuses, such as `OPEN`"),
    Field::optional("severity", VALUES, "severities, such as `CRITICAL`"),
];

pub(crate) static FINDING: &[Field] = &[
    Field::required("id", Type::String, "identifier"),
    Field::required(
        "external_id",
        Type::String,
        "the name of the vulnerability or rule, such as a CVE",
    ),
    Field::required("finding_type", Type::String, "its type, `FINDING_TYPE_…`"),
    Field::required("severity", Type::String, "its severity, such as `FINDING_SEVERITY_HIGH`"),
    Field::required("status", Type::String, "its status, such as `FINDING_STATUS_OPEN`"),
    Field::required("source", Type::String, "what found it"),
    Field::required("package_purl", Type::String, "the package that it is in"),
    Field::required("is_in_kev", Type::Boolean, "whether it is known to be exploited"),
    Field::required("first_seen_at", Type::Timestamp, "when it was seen first"),
    Field::required("last_seen_at", Type::Timestamp, "when it was seen last"),
    Field::required("project_name", Type::String, "the project's name"),
    Field::required("project_version_name", Type::String, "the name of the project's version"),
    Field::required("artifact_ids", Type::Array(&Type::String), "the artifacts that it is in"),
];

static RESULT: &[Field] =
    &[Field::required("results", Type::Array(&Type::Object(FINDING)), "the findings")];

pub(crate) static LISTING: Listing = Listing {
    endpoint: FINDINGS,
    paging: Paging::Offset,
    filters: REQUEST,
    result: RESULT,
    checked: &[("project_name", "project_name"), ("project_version_name", "project_version_name")],
    enumerations: &[
        ("finding_type", FINDING_TYPE),
        ("status", FINDING_STATUS),
        ("severity", FINDING_SEVERITY),
    ],
    bare: true,
};

pub(super) static FUNCTION: Function = Function {
    name: "findings",
    arguments: &[Argument {
        name: "request",
        ty: Type::Object(REQUEST),
        doc: "the project and its version, which are required, and filters",
    }],
    result: Type::Array(&Type::Object(FINDING)),
    summary: "the security findings of a project version",
    doc: "Every page is read. A filter is a string or an array; its values may be given without \
          their prefix. From the vendor's public API reference, not the interface; needs a paid plan.",
    cost: Cost::Request,
    api: FINDINGS.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Key("results"),
    parse: |arguments| LISTING.parse(arguments),
};

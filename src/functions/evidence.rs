//! `evidence(filters)`: the evidence that matches the filters.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{EVIDENCE, Paging};

pub(super) static FILTERS: &[Field] = &[
    Field::optional("project_name", Type::String, "the name of the project"),
    Field::optional("project_version_name", Type::String, "the name of the project's version"),
    Field::optional("kind", Type::Array(&Type::String), "material types, any of which matches"),
    Field::optional(
        "workflow_name",
        Type::Array(&Type::String),
        "names of workflows, any of which matches",
    ),
    Field::optional("search", Type::String, "text in the name of the evidence or of its subject"),
    Field::optional("latest", Type::Boolean, "only the latest evidence of each kind and name"),
    Field::optional("hide_attestation", Type::Boolean, "leave out the attestations themselves"),
    Field::optional("product_id", Type::String, "the product's identifier"),
    Field::optional("product_version_id", Type::String, "the identifier of the product's version"),
    Field::optional("limit", Type::Integer, "the maximum number of results, at least 1"),
];

pub(super) static EVIDENCE_ROW: &[Field] = &[
    Field::required("id", Type::String, "identifier"),
    Field::required("name", Type::String, "the evidence's name"),
    Field::required("digest", Type::Digest, "the digest of its content"),
    Field::required("kind", Type::String, "its material type, such as `SBOM_CYCLONEDX_JSON`"),
    Field::required("subject_name", Type::String, "the subject of the evidence"),
    Field::required("subject_version", Type::String, "the version of the subject"),
    Field::required("annotations", Type::Map(&Type::Any), "the annotations of its attestation"),
    Field::required("organization_id", Type::String, "the organization's identifier"),
    Field::required("organization_name", Type::String, "the organization's name"),
    Field::required("workflow_id", Type::String, "the workflow's identifier"),
    Field::required("workflow_name", Type::String, "the workflow's name"),
    Field::required("workflow_run_id", Type::String, "the identifier of the workflow's run"),
    Field::required("project_id", Type::String, "the project's identifier"),
    Field::required("project_name", Type::String, "the project's name"),
    Field::required("project_version_id", Type::String, "the identifier of the project's version"),
];

static RESULT: &[Field] =
    &[Field::required("results", Type::Array(&Type::Object(EVIDENCE_ROW)), "the evidence found")];

pub(crate) static LISTING: Listing = Listing {
    endpoint: EVIDENCE,
    paging: Paging::Cursor,
    filters: FILTERS,
    result: RESULT,
    checked: &[
        ("project_name", "project_name"),
        ("kind", "kind"),
        ("workflow_name", "workflow_name"),
    ],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "evidence",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "all keys are optional; an empty object asks for everything",
    }],
    result: Type::Object(RESULT),
    summary: "the evidence that matches the filters",
    doc: "Every page is read, unless `limit` bounds the results; reports then say that the list \
          was cut. An empty filter value is an error. Interface section 4.7; needs a paid plan.",
    cost: Cost::Request,
    api: EVIDENCE.api,
    paid_plan: true,
    optional: false,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

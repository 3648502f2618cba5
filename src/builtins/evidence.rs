//! `evidence(filters)`: the evidence that matches the filters.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Type};
use crate::client::{EVIDENCE, Paging};

pub(super) static FILTERS: &[Field] = &[
    Field::optional("project_name", Type::String, "of this project"),
    Field::optional("project_version_name", Type::String, "of this version of the project"),
    Field::optional("kind", Type::Array(&Type::String), "of one of these material types"),
    Field::optional("workflow_name", Type::Array(&Type::String), "from one of these workflows"),
    Field::optional("search", Type::String, "with this in the evidence's or the subject's name"),
    Field::optional("latest", Type::Boolean, "only the latest for each kind and name"),
    Field::optional("hide_attestation", Type::Boolean, "without the attestations themselves"),
    Field::optional("product_id", Type::String, "of this product"),
    Field::optional("product_version_id", Type::String, "of this version of the product"),
    Field::optional("limit", Type::Integer, "at most this many results, at least 1"),
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
};

pub(super) static FUNCTION: Function = Function {
    name: "evidence",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "what to look for; all keys are optional, an empty object asks for everything",
    }],
    result: Type::Object(RESULT),
    summary: "the evidence that matches the filters",
    doc: "Every page is read, unless `limit` bounds the results; reports then say that the list \
          was cut. An empty filter value is an error. Interface section 4.7; needs a paid plan.",
    cost: Cost::Request,
    paid_plan: true,
    optional: false,
    parse: |arguments| LISTING.parse(arguments),
};

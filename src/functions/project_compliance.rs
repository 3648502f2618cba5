//! `project_compliance(filters)`: the compliance of a project's version with its frameworks.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{PROJECT_COMPLIANCE, Paging};

static FILTERS: &[Field] = &[
    Field::required("project_version_id", Type::Uuid, "the identifier of the project's version"),
    Field::optional(
        "framework_ids",
        Type::Array(&Type::String),
        "only these frameworks; all frameworks of the version by default",
    ),
    Field::optional("limit", Type::Integer, "the maximum number of evaluations, at least 1"),
];

pub(super) static EVALUATION: &[Field] = &[
    Field::required("requirement_id", Type::String, "the requirement's identifier"),
    Field::required("requirement_version_id", Type::String, "the requirement's version"),
    Field::required("requirement_revision", Type::Integer, "the requirement's revision"),
    Field::required("name", Type::String, "the requirement's name"),
    Field::required("display_name", Type::String, "the requirement's display name"),
    Field::required("description", Type::String, "what the requirement asks for"),
    Field::required("project_version_id", Type::String, "the project's version"),
    Field::required("framework_id", Type::String, "the framework that the requirement is in"),
    Field::required("status", Type::String, "the outcome; `fail` is one of its values"),
    Field::required("created_at", Type::Timestamp, "when it was evaluated"),
];

static RESULT: &[Field] = &[Field::required(
    "evaluations",
    Type::Array(&Type::Object(EVALUATION)),
    "one evaluation for each requirement",
)];

pub(crate) static LISTING: Listing = Listing {
    endpoint: PROJECT_COMPLIANCE,
    paging: Paging::Cursor,
    filters: FILTERS,
    result: RESULT,
    checked: &[("project_version_id", "project_version_id"), ("framework_ids", "framework_id")],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "project_compliance",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "the project's version, which is required, and frameworks",
    }],
    result: Type::Object(RESULT),
    summary: "the compliance of a project version with its frameworks",
    doc: "Every page is read, unless `limit` bounds the evaluations; reports then say that the \
          list was cut. Interface section 4.7; needs a paid plan.",
    cost: Cost::Request,
    api: PROJECT_COMPLIANCE.api,
    paid_plan: true,
    optional: false,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

//! `projects(filters)`: the projects that match the filters.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{PROJECTS, Paging};
use crate::resources::Project;

static FILTERS: &[Field] = &[
    Field::optional("project_name", Type::String, "the project's name"),
    Field::optional("product_id", Type::String, "the product's identifier"),
    Field::optional("description", Type::String, "the project's description"),
    Field::optional("limit", Type::Integer, "the maximum number of projects, at least 1"),
];

static RESULT: &[Field] =
    &[Field::required("results", Type::Array(&Type::Object(&Project)), "the projects found")];

pub(crate) static LISTING: Listing = Listing {
    endpoint: PROJECTS,
    paging: Paging::Offset,
    filters: FILTERS,
    result: RESULT,
    checked: &[("project_name", "name")],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "projects",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "all keys are optional; an empty object asks for everything",
    }],
    result: Type::Object(RESULT),
    summary: "the projects that match the filters",
    doc: "Every page is read, unless `limit` bounds the results; reports then say that the list \
          was cut. How names and descriptions match is up to the service: compare the results. \
          A nested resource is absent when the service leaves it out. Interface sections 2.5 and \
          4.3; needs a paid plan.",
    cost: Cost::Request,
    api: PROJECTS.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

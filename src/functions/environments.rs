//! `environments(filters)`: the environments that match a search.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{ENVIRONMENTS, Paging};
use crate::resources::Environment;

static FILTERS: &[Field] = &[
    Field::optional("query", Type::String, "text in the name or description, ignoring case"),
    Field::optional("limit", Type::Integer, "the maximum number of environments, at least 1"),
];

static RESULT: &[Field] = &[Field::required(
    "environments",
    Type::Array(&Type::Object(&Environment)),
    "the environments found",
)];

pub(crate) static LISTING: Listing = Listing {
    endpoint: ENVIRONMENTS,
    paging: Paging::Offset,
    filters: FILTERS,
    result: RESULT,
    checked: &[],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "environments",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "all keys are optional; an empty object asks for everything",
    }],
    result: Type::Object(RESULT),
    summary: "the environments that match a search",
    doc: "Every page is read, unless `limit` bounds the environments; reports then say that the \
          list was cut. Interface sections 2.12 and 4.4; needs a paid plan.",
    cost: Cost::Request,
    api: ENVIRONMENTS.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

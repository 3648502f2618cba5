//! `product_compliance(filters)`: the compliance of a product's version with its frameworks.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{PRODUCT_COMPLIANCE, Paging};
use crate::resources::FrameworkCompliance;

static FILTERS: &[Field] = &[
    Field::required("product_version_id", Type::String, "the identifier of the product's version"),
    Field::optional(
        "framework_ids",
        Type::Array(&Type::String),
        "only these frameworks; all frameworks of the version by default",
    ),
];

static RESULT: &[Field] = &[Field::required(
    "frameworks",
    Type::Array(&Type::Object(&FrameworkCompliance)),
    "each framework, with an evaluation for each of its requirements",
)];

pub(crate) static LISTING: Listing = Listing {
    endpoint: PRODUCT_COMPLIANCE,
    paging: Paging::Whole,
    filters: FILTERS,
    result: RESULT,
    checked: &[
        ("framework_ids", "framework_id"),
        ("product_version_id", "evaluations.product_version_id"),
    ],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "product_compliance",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "the product's version, which is required, and frameworks",
    }],
    result: Type::Object(RESULT),
    summary: "the compliance of a product version with its frameworks, over all its projects",
    doc: "The worst of a requirement's projects is its overall status; requirements that are not \
          applicable are left out by the service. A nested resource, such as `override`, is \
          absent when the service leaves it out. Interface sections 2.14 and 4.6; needs a paid \
          plan.",
    cost: Cost::Request,
    api: PRODUCT_COMPLIANCE.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

//! `products(filters)`: the organization's products.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{PRODUCTS, Paging};
use crate::resources::ProductResource;

static FILTERS: &[Field] =
    &[Field::optional("limit", Type::Integer, "the maximum number of products, at least 1")];

static RESULT: &[Field] =
    &[Field::required("products", Type::Array(&Type::Object(&ProductResource)), "the products")];

pub(crate) static LISTING: Listing = Listing {
    endpoint: PRODUCTS,
    paging: Paging::Offset,
    filters: FILTERS,
    result: RESULT,
    checked: &[],
    enumerations: &[],
    bare: false,
};

pub(super) static FUNCTION: Function = Function {
    name: "products",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "an empty object asks for every product",
    }],
    result: Type::Object(RESULT),
    summary: "the organization's products",
    doc: "Every page is read, unless `limit` bounds the products; reports then say that the list \
          was cut. A nested resource is absent when the service leaves it out, as a product \
          without a version does with `latest_version`. Interface sections 2.3 and 4.2; needs a \
          paid plan.",
    cost: Cost::Request,
    api: PRODUCTS.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

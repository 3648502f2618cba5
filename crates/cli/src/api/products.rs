//! `api products`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::{BlockingApiClient, ProductResource};

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// List the organization's products
#[derive(Debug, Args)]
pub(crate) struct ProductsArgs {
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(api: &BlockingApiClient) -> Result<Answer, Error> {
    let products: Vec<ProductResource> = api.products().collect::<Result<_, _>>()?;
    let rows = products.iter().map(|product| {
        let version = product.latest_version.as_deref();
        vec![
            text(product.id.as_ref()),
            text(product.name.as_ref()),
            text(version.and_then(|v| v.name.as_ref())),
            text(version.and_then(|v| v.id.as_ref())),
            text(product.business_unit.as_deref().and_then(|unit| unit.name.as_ref())),
        ]
    });
    let headings = ["ID", "NAME", "LATEST VERSION", "VERSION ID", "BUSINESS UNIT"];
    Ok(Answer { tables: vec![Table::new(&headings, rows)], json: named("products", &products)? })
}

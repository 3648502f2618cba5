//! `api product-version`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::BlockingApiClient;

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// Show one version of a product, with its projects and frameworks
#[derive(Debug, Args)]
pub(crate) struct ProductVersionArgs {
    /// The product's identifier
    product_id: String,
    /// The version's identifier
    version_id: String,
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(args: &ProductVersionArgs, api: &BlockingApiClient) -> Result<Answer, Error> {
    let version = api.product_version(&args.product_id, &args.version_id)?;
    let fields = Table::of_fields([
        ("Version", text(version.name.as_ref())),
        ("Id", text(version.id.as_ref())),
        ("Product", text(version.product_id.as_ref())),
        ("Status", text(version.status.as_ref())),
        ("Created", text(version.created_at.as_ref())),
        ("Released", text(version.released_at.as_ref())),
        ("Description", text(version.description.as_ref())),
    ]);
    let projects = version.project_versions.iter().flatten().map(|link| {
        let of = link.version.as_deref();
        let latest = link.track_latest_project_version == Some(true);
        vec![
            text(link.project.as_deref().and_then(|project| project.name.as_ref())),
            text(of.and_then(|version| version.version.as_ref())),
            text(of.and_then(|version| version.id.as_ref())),
            if latest { "latest".to_owned() } else { "fixed".to_owned() },
        ]
    });
    let frameworks = version
        .frameworks
        .iter()
        .flatten()
        .map(|framework| vec![text(framework.name.as_ref()), text(framework.id.as_ref())]);
    Ok(Answer {
        tables: vec![
            fields,
            Table::new(&["PROJECT", "VERSION", "VERSION ID", "FOLLOWS"], projects),
            Table::new(&["FRAMEWORK", "ID"], frameworks),
        ],
        json: named("version", &version)?,
    })
}

//! `api environments`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::{BlockingApiClient, Environment, EnvironmentFilters};

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// List the environments that match
#[derive(Debug, Args)]
pub(crate) struct EnvironmentsArgs {
    /// Environments with this text in their name or description, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = crate::options::text)]
    query: Option<String>,
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(args: &EnvironmentsArgs, api: &BlockingApiClient) -> Result<Answer, Error> {
    let mut filters = EnvironmentFilters::new();
    filters.query.clone_from(&args.query);
    let environments: Vec<Environment> = api.environments(&filters).collect::<Result<_, _>>()?;
    let rows = environments.iter().map(|environment| {
        vec![
            text(environment.id.as_ref()),
            text(environment.name.as_ref()),
            text(environment.kind.as_ref()),
            text(environment.description.as_ref()),
        ]
    });
    Ok(Answer {
        tables: vec![Table::new(&["ID", "NAME", "TYPE", "DESCRIPTION"], rows)],
        json: named("environments", &environments)?,
    })
}

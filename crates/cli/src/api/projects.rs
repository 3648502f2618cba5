//! `api projects`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::{BlockingApiClient, Project, ProjectFilters};

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// List the projects that match
#[derive(Debug, Args)]
pub(crate) struct ProjectsArgs {
    /// Projects with this name
    #[arg(long, value_name = "NAME", value_parser = crate::options::text)]
    project_name: Option<String>,
    /// Projects of this product
    #[arg(long, value_name = "ID", value_parser = crate::options::text)]
    product_id: Option<String>,
    /// Projects with this description
    #[arg(long, value_name = "TEXT", value_parser = crate::options::text)]
    description: Option<String>,
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(args: &ProjectsArgs, api: &BlockingApiClient) -> Result<Answer, Error> {
    let mut filters = ProjectFilters::new();
    filters.project_name.clone_from(&args.project_name);
    filters.product_id.clone_from(&args.product_id);
    filters.description.clone_from(&args.description);
    let projects: Vec<Project> = api.projects(&filters).collect::<Result<_, _>>()?;
    let rows = projects.iter().map(|project| {
        let version = project.latest_version.as_deref();
        vec![
            text(project.id.as_ref()),
            text(project.name.as_ref()),
            text(version.and_then(|v| v.version.as_ref())),
            text(version.and_then(|v| v.id.as_ref())),
            text(project.description.as_ref()),
        ]
    });
    let headings = ["ID", "NAME", "LATEST VERSION", "VERSION ID", "DESCRIPTION"];
    Ok(Answer { tables: vec![Table::new(&headings, rows)], json: named("results", &projects)? })
}

//! `api product-compliance`.

use std::fmt::Write as _;

use clap::Args;
use rego_platform::Error;
use rego_platform::api::{BlockingApiClient, FrameworkCompliance, ProductComplianceFilters};

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// Show the compliance of a product's version with its frameworks
#[derive(Debug, Args)]
pub(crate) struct ProductComplianceArgs {
    /// The identifier of the product's version
    product_version_id: String,
    /// Only this framework; repeatable
    #[arg(long, value_name = "ID", value_parser = crate::options::text)]
    framework_id: Vec<String>,
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(args: &ProductComplianceArgs, api: &BlockingApiClient) -> Result<Answer, Error> {
    let mut filters = ProductComplianceFilters::new(&args.product_version_id);
    if !args.framework_id.is_empty() {
        filters = filters.framework_ids(&args.framework_id);
    }
    let frameworks = api.product_compliance(&filters)?;
    let mut tables: Vec<Table> = frameworks.iter().map(framework).collect();
    if tables.is_empty() {
        tables.push(Table::new(&[], []));
    }
    Ok(Answer { tables, json: named("frameworks", &frameworks)? })
}

fn framework(framework: &FrameworkCompliance) -> Table {
    let rows = framework.evaluations.iter().flatten().map(|evaluation| {
        let projects = evaluation.project_evaluations.iter().flatten().map(|project| {
            format!("{}: {}", text(project.project_name.as_ref()), text(project.status.as_ref()))
        });
        vec![
            text(evaluation.name.as_ref()),
            text(evaluation.overall_status.as_ref()),
            projects.collect::<Vec<_>>().join(", "),
        ]
    });
    let name = framework.framework_display_name.as_ref().or(framework.framework_name.as_ref());
    let mut title = format!("{} ({})", text(name), text(framework.framework_id.as_ref()));
    if let Some(metrics) = framework.metrics.as_deref() {
        let (passing, total) = (metrics.passing_requirements, metrics.total_requirements);
        let numbers = (passing.unwrap_or_default(), total.unwrap_or_default());
        let _ = write!(title, ": {} of {} requirements pass", numbers.0, numbers.1);
    }
    Table::new(&["REQUIREMENT", "STATUS", "PROJECTS"], rows).titled(title)
}

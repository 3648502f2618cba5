//! `api`: the documented operations from the shell.
//!
//! Owns each subcommand's request, the columns of its table, and the choice of the output format.

mod table;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use rego_platform::api::{
    AssessmentRevision, Environment, EnvironmentFilters, FrameworkCompliance, Infoz,
    ProductComplianceFilters, ProductResource, ProductVersion, Project, ProjectFilters,
};
use rego_platform::sources::Ignore;
use rego_platform::{Api, Error};
use rego_platform_client::text::escape_for_log;
use serde_json::Value;

use super::context::Context;
use super::destinations::{self, Reads};
use super::options::{self, Options};
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};
use table::Table;

#[derive(Debug, Subcommand)]
pub(super) enum ApiCommand {
    /// List the organization's products
    Products(OutputArgs),
    /// Show one version of a product, with its projects and frameworks
    ProductVersion {
        /// The product's identifier
        product_id: String,
        /// The version's identifier
        version_id: String,
        #[command(flatten)]
        form: OutputArgs,
    },
    /// List the projects that match
    Projects {
        /// Projects with this name
        #[arg(long, value_name = "NAME", value_parser = options::text)]
        project_name: Option<String>,
        /// Projects of this product
        #[arg(long, value_name = "ID", value_parser = options::text)]
        product_id: Option<String>,
        /// Projects with this description
        #[arg(long, value_name = "TEXT", value_parser = options::text)]
        description: Option<String>,
        #[command(flatten)]
        form: OutputArgs,
    },
    /// List the environments that match
    Environments {
        /// Environments with this text in their name or description, ignoring case
        #[arg(long, value_name = "TEXT", value_parser = options::text)]
        query: Option<String>,
        #[command(flatten)]
        form: OutputArgs,
    },
    /// Approve a pending revision of an assessment
    #[command(
        after_help = "It is sent only once: after an error that isn't a refusal, check the revision \
        before you approve again."
    )]
    Approve {
        /// The revision's identifier
        revision_id: String,
        /// The reviewer's note
        #[arg(long, value_name = "TEXT", value_parser = options::text)]
        note: Option<String>,
        #[command(flatten)]
        form: OutputArgs,
    },
    /// Show the compliance of a product's version with its frameworks
    ProductCompliance {
        /// The identifier of the product's version
        product_version_id: String,
        /// Only this framework; repeatable
        #[arg(long, value_name = "ID", value_parser = options::text)]
        framework_id: Vec<String>,
        #[command(flatten)]
        form: OutputArgs,
    },
    /// Show the control plane's description of itself; needs no token
    Infoz(OutputArgs),
    /// Print the specification that the service publishes; needs no token
    Openapi {
        /// Print the control plane's specification instead of the platform backend's
        #[arg(long)]
        control_plane: bool,
        /// Write to this file, atomically and unchanged
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// The output options.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct OutputArgs {
    /// Output format [default: a table on a terminal, JSON otherwise]
    #[arg(short, long, value_enum)]
    format: Option<ApiFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApiFormat {
    /// The full answer
    Json,
    /// The main fields in columns
    Table,
}

pub(super) fn run(
    command: ApiCommand,
    options: &Options,
    reporter: Reporter,
) -> Result<Exit, Error> {
    let (context, _emulator) = Context::resolve(options, reporter, &mut Stdin::default())?;
    let api = context.platform(options)?.api().blocking();
    watchdog::begin(options.timeout)?;
    // The answer in both formats: the tables, and the documented form.
    let (form, tables, json) = match command {
        ApiCommand::Products(form) => {
            let all: Vec<_> = api.products().collect::<Result<_, _>>()?;
            (form, vec![products(&all)], named("products", &all)?)
        }
        ApiCommand::ProductVersion { product_id, version_id, form } => {
            let version = api.product_version(&product_id, &version_id)?;
            (form, product_version(&version), named("version", &version)?)
        }
        ApiCommand::Projects { project_name, product_id, description, form } => {
            let mut filters = ProjectFilters::new();
            filters.project_name = project_name;
            filters.product_id = product_id;
            filters.description = description;
            let all: Vec<_> = api.projects(&filters).collect::<Result<_, _>>()?;
            (form, vec![projects(&all)], named("results", &all)?)
        }
        ApiCommand::Environments { query, form } => {
            let mut filters = EnvironmentFilters::new();
            filters.query = query;
            let all: Vec<_> = api.environments(&filters).collect::<Result<_, _>>()?;
            (form, vec![environments(&all)], named("environments", &all)?)
        }
        ApiCommand::Approve { revision_id, note, form } => {
            let revision = api.approve(&revision_id, note.as_deref())?;
            (form, vec![approved(&revision)], named("result", &revision)?)
        }
        ApiCommand::ProductCompliance { product_version_id, framework_id, form } => {
            let mut filters = ProductComplianceFilters::new(&product_version_id);
            if !framework_id.is_empty() {
                filters = filters.framework_ids(&framework_id);
            }
            let all = api.product_compliance(&filters)?;
            let tables = all.iter().map(framework).collect();
            (form, tables, named("frameworks", &all)?)
        }
        ApiCommand::Infoz(form) => {
            let infoz = api.infoz()?;
            (form, vec![described(&infoz)], json(&infoz)?)
        }
        ApiCommand::Openapi { control_plane, output: path } => {
            if let Some(path) = &path {
                destinations::check(&[path], &Reads::default(), &Ignore::default())?;
            }
            let which = if control_plane { Api::ControlPlane } else { Api::Backend };
            print_specification(&api.openapi(which)?, path.as_deref())?;
            return Ok(Exit::Passed);
        }
    };
    let table = if output::is_terminal() { ApiFormat::Table } else { ApiFormat::Json };
    let text = match form.format.unwrap_or(table) {
        ApiFormat::Json => format!("{}\n", output::json(&json)?),
        ApiFormat::Table => table::text(&tables),
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

fn json(value: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| {
        Error::internal("the response can't be written as JSON").with_source(error)
    })
}

/// Wraps a resource, or several, under the name of the documented answer.
fn named(name: &str, value: &impl serde::Serialize) -> Result<Value, Error> {
    Ok(serde_json::json!({ name: json(value)? }))
}

/// Returns a field as text: empty if the service left it out.
fn text<T: ToString>(field: Option<&T>) -> String {
    field.map(ToString::to_string).unwrap_or_default()
}

fn products(all: &[ProductResource]) -> Table {
    let rows = all.iter().map(|product| {
        let version = product.latest_version.as_deref();
        vec![
            text(product.id.as_ref()),
            text(product.name.as_ref()),
            text(version.and_then(|v| v.name.as_ref())),
            text(version.and_then(|v| v.id.as_ref())),
            text(product.business_unit.as_deref().and_then(|unit| unit.name.as_ref())),
        ]
    });
    Table::new(&["ID", "NAME", "LATEST VERSION", "VERSION ID", "BUSINESS UNIT"], rows)
}

fn product_version(version: &ProductVersion) -> Vec<Table> {
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
    let frameworks = version.frameworks.iter().flatten();
    let frameworks = frameworks.map(|one| vec![text(one.name.as_ref()), text(one.id.as_ref())]);
    vec![
        fields,
        Table::new(&["PROJECT", "VERSION", "VERSION ID", "FOLLOWS"], projects),
        Table::new(&["FRAMEWORK", "ID"], frameworks),
    ]
}

fn projects(all: &[Project]) -> Table {
    let rows = all.iter().map(|project| {
        let version = project.latest_version.as_deref();
        vec![
            text(project.id.as_ref()),
            text(project.name.as_ref()),
            text(version.and_then(|v| v.version.as_ref())),
            text(version.and_then(|v| v.id.as_ref())),
            text(project.description.as_ref()),
        ]
    });
    Table::new(&["ID", "NAME", "LATEST VERSION", "VERSION ID", "DESCRIPTION"], rows)
}

fn environments(all: &[Environment]) -> Table {
    let rows = all.iter().map(|environment| {
        vec![
            text(environment.id.as_ref()),
            text(environment.name.as_ref()),
            text(environment.kind.as_ref()),
            text(environment.description.as_ref()),
        ]
    });
    Table::new(&["ID", "NAME", "TYPE", "DESCRIPTION"], rows)
}

fn approved(revision: &AssessmentRevision) -> Table {
    let reviewer = revision.reviewer.as_deref();
    Table::of_fields([
        ("Revision", text(revision.id.as_ref())),
        ("Assessment", text(revision.assessment_id.as_ref())),
        ("Status", text(revision.approval_status.as_ref())),
        ("Reviewed", text(revision.reviewed_at.as_ref())),
        ("Reviewer", text(reviewer.and_then(|user| user.email.as_ref().or(user.id.as_ref())))),
        ("Note", text(revision.review_note.as_ref())),
    ])
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
    Table { title: Some(title), ..Table::new(&["REQUIREMENT", "STATUS", "PROJECTS"], rows) }
}

fn described(infoz: &Infoz) -> Table {
    let more = infoz.more.iter().map(|(name, value)| format!("{name}={value}"));
    // An empty field isn't shown.
    Table::of_fields([
        ("Version", infoz.version.clone()),
        ("Chart", infoz.chart_version.clone()),
        ("Login", infoz.login_url.clone()),
        ("More", more.collect::<Vec<_>>().join(", ")),
    ])
}

/// Writes the specification to a file unchanged, or prints it so that it can't control a terminal or a CI
/// system. JSON means the same afterwards.
fn print_specification(text: &str, file: Option<&Path>) -> Result<(), Error> {
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    match file {
        Some(path) => output::to_file(path, text.as_bytes()),
        // In JSON, this is only layout.
        None if is_json() => {
            output::to_stdout(output::escape_json(&text.replace('\r', "")).as_bytes())
        }
        None => output::to_stdout(escape_for_log(text).as_bytes()),
    }
}

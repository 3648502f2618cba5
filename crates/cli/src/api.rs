//! `api`: the documented operations from the shell.
//!
//! Owns the way from options to a client and the choice of the output format. Each subcommand's
//! file owns its request and the columns of its table.

mod approve;
mod environments;
mod infoz;
mod openapi;
mod product_compliance;
mod product_version;
mod products;
mod projects;
mod table;

use clap::{Args, Subcommand, ValueEnum};
use rego_platform::Error;
use serde_json::Value;

use super::context::Context;
use super::options::Options;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};
use table::Table;

#[derive(Debug, Subcommand)]
pub(super) enum ApiCommand {
    Products(products::ProductsArgs),
    ProductVersion(product_version::ProductVersionArgs),
    Projects(projects::ProjectsArgs),
    Environments(environments::EnvironmentsArgs),
    Approve(approve::ApproveArgs),
    ProductCompliance(product_compliance::ProductComplianceArgs),
    Infoz(infoz::InfozArgs),
    Openapi(openapi::OpenapiArgs),
}

/// The output options.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputArgs {
    /// Output format [default: a table on a terminal, JSON otherwise]
    #[arg(short, long, value_enum)]
    format: Option<ApiFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiFormat {
    /// The full answer
    Json,
    /// The main fields in columns
    Table,
}

/// An answer in both formats.
struct Answer {
    /// The documented form.
    json: Value,
    tables: Vec<Table>,
}

pub(super) fn run(
    command: ApiCommand,
    options: &Options,
    reporter: Reporter,
) -> Result<Exit, Error> {
    let (context, _emulator) = Context::resolve(options, reporter, &mut Stdin::default())?;
    let api = context.platform(options)?.api().blocking();
    let (form, answer) = {
        watchdog::begin(options.timeout)?;
        match command {
            ApiCommand::Products(args) => (args.form, products::ask(&api)?),
            ApiCommand::ProductVersion(args) => (args.form, product_version::ask(&args, &api)?),
            ApiCommand::Projects(args) => (args.form, projects::ask(&args, &api)?),
            ApiCommand::Environments(args) => (args.form, environments::ask(&args, &api)?),
            ApiCommand::Approve(args) => (args.form, approve::ask(&args, &api)?),
            ApiCommand::ProductCompliance(args) => {
                (args.form, product_compliance::ask(&args, &api)?)
            }
            ApiCommand::Infoz(args) => (args.form, infoz::ask(&api)?),
            ApiCommand::Openapi(args) => return openapi::run(&args, &api),
        }
    };
    let table = if output::is_terminal() { ApiFormat::Table } else { ApiFormat::Json };
    let text = match form.format.unwrap_or(table) {
        ApiFormat::Json => format!("{}\n", output::json(&answer.json)?),
        ApiFormat::Table => table::text(&answer.tables),
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// Wraps a resource, or several, under the name of the documented answer.
fn named(name: &str, value: &impl serde::Serialize) -> Result<Value, Error> {
    let value = serde_json::to_value(value).map_err(|error| {
        Error::internal("the response can't be written as JSON").with_source(error)
    })?;
    Ok(serde_json::json!({ name: value }))
}

/// Returns the text of a field, or an empty one.
fn text<T: ToString>(field: Option<&T>) -> String {
    field.map(ToString::to_string).unwrap_or_default()
}

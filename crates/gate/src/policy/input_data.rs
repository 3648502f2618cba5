//! What the data has about an input: `data.conftest.file`, the name and the folder of its file, where
//! conftest has them, and `data.attestation.signers`, those who signed it.
//!
//! Owns whether policies and queries refer to them, and queries in which they have their values.

use std::path::Path;

use rego_platform::Error;
use rego_platform::check::{INPUT_FILE, SIGNERS};
use rego_platform::evaluate::{Policies, Query};
use rego_platform::rego::Value;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::rego::syntax::tree::{FileId, With};
use rego_platform::rego::syntax::{ParseOptions, parse_query};
use rego_platform::rego::value::Object;
use rego_platform_client::text::data_reference;

use super::reach::{self, data_of};
use crate::input::signers_value;
use crate::report::model::Signer;
use crate::setting;

/// The name of all inputs combined, as in conftest.
pub(super) const COMBINED: &str = "Combined";

/// Compiles a query. `data.conftest.file` describes a file if the query or the policies refer to it. The flag
/// tells whether they do.
///
/// # Errors
/// As [`Policies::query_in`].
#[doc(hidden)]
pub fn query_about_file(
    policies: &Policies,
    text: &str,
    mut context: QueryContext,
    file: Option<&Path>,
) -> Result<(Query, bool), Error> {
    let body = parse_query(FileId(0), text, &ParseOptions::default());
    let imports = context.imports.iter().map(|import| &import.path);
    let of_query = body.iter().flat_map(data_of);
    let mut all = imports.flat_map(data_of).chain(of_query);
    let refers = all.any(|path| reach::may_reach(&path, &INPUT_FILE)) || refer(policies);
    if let Some(file) = file.filter(|_| refers) {
        context.with = of_file(file)?;
    }
    Ok((policies.query_in(text, &context)?, refers))
}

/// Returns `true` if policies refer to `data.conftest.file`.
fn refer(policies: &Policies) -> bool {
    let modules = &policies.program().compiled().modules;
    modules.iter().flat_map(data_of).any(|path| reach::may_reach(&path, &INPUT_FILE))
}

/// Returns the replacement of `data.conftest.file`, with the absolute path of the folder.
pub(crate) fn of_file(file: &Path) -> Result<Vec<With>, Error> {
    let path =
        std::path::absolute(file).map_err(|error| without_value(&INPUT_FILE).with_source(error))?;
    let text =
        |text: Option<&std::ffi::OsStr>| text.and_then(|text| text.to_str().map(Value::from));
    let missing = || without_value(&INPUT_FILE);
    let name = text(path.file_name()).ok_or_else(missing)?;
    let folder = text(path.parent().map(Path::as_os_str)).ok_or_else(missing)?;
    let value = Object::from([(Value::from("name"), name), (Value::from("dir"), folder)]);
    replacement(&INPUT_FILE, value.into())
}

/// Returns the replacement of `data.attestation.signers`.
pub(super) fn of_signers(signers: &[Signer]) -> Result<Vec<With>, Error> {
    replacement(&SIGNERS, signers_value(signers))
}

/// Returns the replacement of a path of `data`.
pub(super) fn replacement(path: &[&str], value: Value) -> Result<Vec<With>, Error> {
    let statement = format!("true with {} as {}", data_reference(path), value.to_json());
    let body = parse_query(FileId(0), &statement, &ParseOptions::default())
        .map_err(|_| without_value(path))?;
    Ok(body.iter().flat_map(|statement| statement.with.iter().cloned()).collect())
}

fn without_value(path: &[&str]) -> Error {
    let message = format!("no value of `{}` for this input", data_reference(path));
    Error::invalid_argument(message)
}

/// Returns the error of a policy that needs an input's file.
pub(super) fn no_file() -> Error {
    let message = format!("no value of `{}`: the run has no input", data_reference(&INPUT_FILE));
    Error::invalid_argument(message).by_setting(setting::INPUT_FILE)
}

/// Returns the error of a policy that needs an input's signers.
pub(super) fn no_signers() -> Error {
    without_value(&SIGNERS)
        .with_hint("evaluate attestations whose signatures are checked")
        .by_setting(setting::SIGNERS)
}

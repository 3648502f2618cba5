//! `data.conftest.file`: the name and the folder of an input's file, where conftest has them.
//!
//! Owns whether policies and queries refer to it, and queries in which it has its value.

use std::path::Path;

use rego_platform::check::INPUT_FILE;
use rego_platform::evaluate::{Policies, Query};
use rego_platform::rego::Value;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::rego::syntax::tree::{FileId, With};
use rego_platform::rego::syntax::{ParseOptions, parse_query};
use rego_platform::rego::value::Object;
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::data_reference;

use super::reach;

/// The name of all inputs combined, as in conftest.
pub(super) const COMBINED: &str = "Combined";

/// Compiles a query, in which `data.conftest.file` is about a file if the query or the policies refer
/// to it. The flag tells whether they do.
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
    let of_query = body.iter().flat_map(reach::data_of);
    let mut all = imports.flat_map(reach::data_of).chain(of_query);
    let refers = all.any(|path| reach::is_in_file(&path)) || refer(policies);
    if let Some(file) = file.filter(|_| refers) {
        context.with = replacement(file)?;
    }
    Ok((policies.query_in(text, &context)?, refers))
}

/// Returns `true` if policies refer to `data.conftest.file`.
fn refer(policies: &Policies) -> bool {
    let modules = &policies.program().compiled().modules;
    modules.iter().flat_map(reach::data_of).any(|path| reach::is_in_file(&path))
}

/// Returns the context of a query about an input's file.
pub(super) fn about(file: &Path) -> Result<QueryContext, Error> {
    Ok(QueryContext { with: replacement(file)?, ..QueryContext::default() })
}

/// Returns the replacement of `data.conftest.file`, with the absolute path of the folder.
fn replacement(file: &Path) -> Result<Vec<With>, Error> {
    let failed = || {
        let message = format!("`{}` has no value for this input", data_reference(&INPUT_FILE));
        Error::new(ErrorKind::InvalidArgument, message)
    };
    let path = std::path::absolute(file).map_err(|error| failed().with_source(error))?;
    let text =
        |text: Option<&std::ffi::OsStr>| text.and_then(|text| text.to_str().map(Value::from));
    let name = text(path.file_name()).ok_or_else(failed)?;
    let folder = text(path.parent().map(Path::as_os_str)).ok_or_else(failed)?;
    let value = Object::from([(Value::from("name"), name), (Value::from("dir"), folder)]);
    let reference = data_reference(&INPUT_FILE);
    let statement = format!("true with {reference} as {}", Value::from(value).to_json());
    let body =
        parse_query(FileId(0), &statement, &ParseOptions::default()).map_err(|_| failed())?;
    Ok(body.iter().flat_map(|statement| statement.with.iter().cloned()).collect())
}

/// The reason why a policy that needs an input's file has no verdict.
pub(super) fn missing() -> Error {
    let message =
        format!("`{}` is the file of an input, and there is no input", data_reference(&INPUT_FILE));
    Error::new(ErrorKind::InvalidArgument, message).with_hint("give it the file with `-i`")
}

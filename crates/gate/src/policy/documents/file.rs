//! The files of policy documents and groups, and the positions of values in them.

use rego_platform::sources::place;
use rego_platform::{Diagnostic, Error, Position};
use rego_platform_client::text::escape;

pub(crate) use rego_platform::rego::internal::yaml::Located;

/// A file of a policy document or a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentFile<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

/// A value with its position in a file.
#[derive(Debug, Clone)]
pub(crate) struct Placed<T> {
    pub value: T,
    pub at: Position,
}

impl DocumentFile<'_> {
    pub fn placed<T>(&self, located: Located<T>) -> Placed<T> {
        let Located { line, column, value } = located;
        Placed { value, at: place(self.path, self.text, line, column) }
    }
}

impl<T> Placed<T> {
    /// Returns the error for the value, with the next step.
    pub fn refused(&self, message: impl Into<String>, hint: Option<&str>) -> Error {
        let found = Diagnostic::error("policy-document", message.into()).at(self.at.clone());
        Error::policy(vec![match hint {
            Some(hint) => found.with_hint(hint),
            None => found,
        }])
    }

    /// Gives an error this position, unless it has one.
    pub fn placing(&self, error: Error) -> Error {
        if !error.diagnostics().is_empty() {
            return error;
        }
        let report = error.report();
        let file = format!("{}: ", escape(&self.at.file));
        let message = report.strip_prefix(&file).unwrap_or(&report);
        let mut found = Diagnostic::error("policy-document", message).at(self.at.clone());
        if let Some(hint) = error.hint() {
            found = found.with_hint(hint);
        }
        if let Some(setting) = error.setting() {
            found = found.by_setting(setting);
        }
        Error::policy(vec![found])
    }
}

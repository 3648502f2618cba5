//! The interface of reports.
//!
//! Owns the trait that each format implements. The formats of the command line, and the
//! destinations of reports, belong to the command.

use std::io::{self, Write};

use super::model::Run;

/// A report in one format.
pub trait Report {
    /// Writes the whole report.
    ///
    /// Texts in `run` that come from policies, inputs and the service aren't escaped: the
    /// implementation escapes them for the readers of its format.
    ///
    /// # Errors
    /// Only errors of writing.
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;
}

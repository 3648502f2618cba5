//! What every form of a report has in common.
//!
//! Owns the trait that forms plug into. Which forms there are on the command line, and where a
//! report goes, belongs to the command.

use std::io::{self, Write};

use super::model::Run;

/// One form of a report.
pub trait Report {
    /// Writes the whole report.
    ///
    /// Everything in `run` that policies, inputs and the service said is as they said it: the form
    /// escapes it for whoever reads that form.
    ///
    /// # Errors
    /// Only what writing fails with.
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;
}

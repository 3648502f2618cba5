//! The names of the forms that an answer has on the command line.

use clap::ValueEnum;

use crate::evaluate;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Json,
    Pretty,
    Raw,
    Values,
    Bindings,
}

impl From<Format> for evaluate::OutputFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Pretty => Self::Pretty,
            Format::Raw => Self::Raw,
            Format::Values => Self::Values,
            Format::Bindings => Self::Bindings,
        }
    }
}

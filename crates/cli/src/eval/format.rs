//! The output formats of `eval`, as the command line names them.

use clap::ValueEnum;
use rego_platform::evaluate;

/// An output format of `eval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EvalFormat {
    Json,
    Pretty,
    Raw,
    Values,
    Bindings,
}

impl From<EvalFormat> for evaluate::OutputFormat {
    fn from(format: EvalFormat) -> Self {
        match format {
            EvalFormat::Json => Self::Json,
            EvalFormat::Pretty => Self::Pretty,
            EvalFormat::Raw => Self::Raw,
            EvalFormat::Values => Self::Values,
            EvalFormat::Bindings => Self::Bindings,
        }
    }
}

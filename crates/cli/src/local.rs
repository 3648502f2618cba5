//! `--local`: an emulator in this process, and the words for its failures.

use std::path::Path;

use rego_platform::{Diagnostic, Error, ErrorKind, Position, Product};
use rego_platform_client::unreadable::unreadable;
use rego_platform_emulator::{
    Dataset, Emulator, EmulatorOptions, Error as Failure, Fault, Problem,
};

/// Starts an emulator on free ports.
pub(super) fn start(dir: &Path, product: &Product, faults: &[String]) -> Result<Emulator, Error> {
    let faults = parse_faults(faults)?;
    let product = product.to_string();
    serve(dir, EmulatorOptions { faults, product, ..EmulatorOptions::default() })
}

/// Starts an emulator over a data set.
pub(super) fn serve(dir: &Path, options: EmulatorOptions) -> Result<Emulator, Error> {
    Dataset::load(dir).and_then(|dataset| Emulator::start(dataset, options)).map_err(failed)
}

/// Parses the faults of an emulator.
pub(super) fn parse_faults(faults: &[String]) -> Result<Vec<Fault>, Error> {
    faults.iter().map(|text| text.parse().map_err(failed)).collect()
}

fn failed(failure: Failure) -> Error {
    let (message, hint) = (failure.to_string(), failure.hint());
    let new = |kind| Error::new(kind, message).with_optional_hint(hint);
    match failure {
        Failure::Unreadable { path, source } => {
            let error = unreadable("the data set", &path, source);
            let error = match (error.hint(), hint) {
                (None, Some(hint)) => error.with_hint(hint),
                _ => error,
            };
            error.by_setting(crate::hint::DATA_SET)
        }
        Failure::Dataset(problems) => Error::policy(problems.into_iter().map(finding).collect()),
        Failure::NotAFolder { .. } => {
            new(ErrorKind::Configuration).by_setting(crate::hint::DATA_SET)
        }
        Failure::Listen { source, .. } => new(ErrorKind::Configuration).with_source(source),
        Failure::Fault { .. } => new(ErrorKind::InvalidArgument),
        Failure::Start(source) => new(ErrorKind::Internal).with_source(source),
        _ => new(ErrorKind::Internal),
    }
}

fn finding(problem: Problem) -> Diagnostic {
    let Problem { code, message, hint, file, line, column, length, text, .. } = problem;
    let finding = Diagnostic::error(code, message).at(Position {
        file,
        line,
        column,
        length,
        text: text.into(),
    });
    match hint {
        Some(hint) => finding.with_hint(hint),
        None => finding,
    }
}

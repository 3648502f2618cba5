//! Which forms of a report there are, and where reports go.
//!
//! Owns the names of the forms. A new form is a variant here and an implementation of `Report`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::{human, json};
use crate::gate::model::Run;
use crate::gate::report::Report;
use crate::gate::reports;
use crate::text::escape;
use crate::{Error, ErrorKind};

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Human,
    Json,
    Junit,
    Sarif,
    Github,
    Markdown,
    Tap,
    Html,
}

impl Format {
    fn report(self, look: Look, summary: &mut Summary) -> Box<dyn Report> {
        let form = match self {
            Self::Human => {
                return Box::new(human::Human { colour: look.colour, calls: look.calls });
            }
            Self::Json => return Box::new(json::Json),
            Self::Junit => reports::Format::Junit,
            Self::Sarif => reports::Format::Sarif,
            Self::Github => reports::Format::Github,
            Self::Markdown => reports::Format::Markdown,
            Self::Tap => reports::Format::Tap,
            Self::Html => reports::Format::Html,
        };
        form.report(&reports::Options {
            folder: std::env::current_dir().unwrap_or_default(),
            // The other forms have nothing to do with it.
            summary: (form == reports::Format::Github).then(|| summary.0.take()).flatten(),
        })
    }
}

/// Where GitHub wants the summary of a step. The first report that writes it takes it: a second
/// would append the same once more.
pub(super) struct Summary(Option<PathBuf>);

impl Summary {
    pub fn from_env() -> Self {
        let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        Self(path.map(PathBuf::from))
    }
}

/// How the report for people looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub colour: bool,
    /// Whether every call is listed.
    pub calls: bool,
}

/// A report for a file.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub format: Format,
    pub file: PathBuf,
}

impl std::str::FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text
            .split_once('=')
            .ok_or("a report is a form and a file, such as `json=gate.json`")?;
        if file.is_empty() {
            return Err("the report's file has no name".to_owned());
        }
        let format = Format::from_str(format, true).map_err(|_| {
            let known: Vec<_> = Format::value_variants()
                .iter()
                .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
                .collect();
            format!("there is no form `{}`; there are {}", escape(format), known.join(", "))
        })?;
        Ok(Self { format, file: file.into() })
    }
}

/// Refuses two reports for one file: the second would replace the first.
pub(super) fn check(outputs: &[Output], attest: Option<&Path>) -> Result<(), Error> {
    let mut seen: Vec<&Path> = attest.into_iter().collect();
    for output in outputs {
        if seen.contains(&output.file.as_path()) {
            let shown = escape(&output.file.display().to_string());
            let message = format!("two reports would be written to `{shown}`");
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("give each a file of its own"));
        }
        seen.push(&output.file);
    }
    Ok(())
}

/// A whole report.
pub(super) fn write(
    format: Format,
    run: &Run,
    look: Look,
    summary: &mut Summary,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    format.report(look, summary).write(run, &mut bytes).map_err(|error| {
        Error::new(ErrorKind::Internal, "the report can't be written").with_source(error)
    })?;
    Ok(bytes)
}

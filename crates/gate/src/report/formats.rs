//! Formats of the gate's report for other tools.
//!
//! Owns the list of formats and how each is written from [`Run`]. It decides nothing: a state that
//! a format can't express (unknown, skipped, waived) is expressed by the nearest one that doesn't
//! read as a pass. The command's own formats, `human` and `json`, are elsewhere.

mod cases;
mod controls;
mod ctrf;
#[doc(hidden)]
pub mod difference;
#[doc(hidden)]
pub mod errors;
#[doc(hidden)]
pub mod facts;
mod github;
mod gitlab;
mod html;
mod junit;
mod markdown;
mod oscal;
mod results;
mod sarif;
mod tap;
#[doc(hidden)]
pub mod view;
mod words;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::model::Run;
use view::View;

pub use ctrf::Ctrf;
pub use github::GitHub;
pub use gitlab::GitLab;
pub use html::Html;
pub use junit::JUnit;
pub use markdown::Markdown;
pub use oscal::Oscal;
pub use sarif::Sarif;
#[doc(hidden)]
pub use sarif::{is_sarif_of, sarif_without};
pub use tap::Tap;

/// A report in one format.
pub trait Report {
    /// Writes the report.
    ///
    /// Texts in `run` that come from policies, inputs and the service aren't escaped: the
    /// implementation escapes them for the readers of its format.
    ///
    /// # Errors
    /// Only errors of writing.
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;
}

/// A report format for a [`Run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReportFormat {
    /// `JUnit` XML: a suite for each input, a case for each policy.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// GitHub's workflow commands, with the Markdown report as the step's summary.
    Github,
    /// GitLab's code quality.
    Gitlab,
    /// CTRF, the Common Test Report Format.
    Ctrf,
    /// OSCAL's assessment results.
    Oscal,
    /// Markdown, as GitHub and GitLab render it.
    Markdown,
    /// TAP, version 14.
    Tap,
    /// A self-contained HTML page.
    Html,
}

/// Options that some formats need.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The root of the repository: paths below it become relative to it (SARIF, GitHub, GitLab, OSCAL).
    pub folder: PathBuf,
    /// The file for the summary of a step on GitHub: `GITHUB_STEP_SUMMARY`.
    pub summary: Option<PathBuf>,
    /// The file with the complete report, to which bounded reports refer.
    pub more: Option<String>,
}

impl Options {
    fn view(&self) -> View {
        View { more: self.more.clone() }
    }
}

/// Appends `run` to the summary of a step on GitHub, for reports that don't do so themselves.
#[doc(hidden)]
pub fn summarize(run: &Run, options: &Options, path: &Path) -> io::Result<()> {
    github::append(run, &options.view(), path)
}

impl ReportFormat {
    /// The formats with their names on the command line.
    pub const NAMES: &[(&str, Self)] = &[
        ("junit", Self::Junit),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("gitlab", Self::Gitlab),
        ("ctrf", Self::Ctrf),
        ("oscal", Self::Oscal),
        ("markdown", Self::Markdown),
        ("tap", Self::Tap),
        ("html", Self::Html),
    ];

    /// Returns the report in this format.
    pub fn report(self, options: &Options) -> Box<dyn Report> {
        let (folder, view) = (options.folder.clone(), options.view());
        match self {
            Self::Junit => Box::new(JUnit),
            Self::Sarif => Box::new(Sarif { folder }),
            Self::Github => Box::new(GitHub { folder, summary: options.summary.clone(), view }),
            Self::Gitlab => Box::new(GitLab { folder }),
            Self::Ctrf => Box::new(Ctrf),
            Self::Oscal => Box::new(Oscal { folder }),
            Self::Markdown => Box::new(Markdown { view }),
            Self::Tap => Box::new(Tap),
            Self::Html => Box::new(Html { view }),
        }
    }
}

/// Writes `run` in a format.
///
/// # Errors
/// Only errors of writing.
pub fn write(
    run: &Run,
    format: ReportFormat,
    out: &mut dyn Write,
    options: &Options,
) -> io::Result<()> {
    format.report(options).write(run, out)
}

/// Writes a JSON report.
fn write_json(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

#[cfg(test)]
pub(crate) mod fixture;

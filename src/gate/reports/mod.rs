//! The forms of the gate's report that other tools read.
//!
//! Owns which forms there are and how each is written from [`Run`]. It decides nothing: what a
//! form can't say in its own terms (unknown, skipped, waived) it says in the nearest terms
//! that do not read as a pass. The command's own forms, `human` and `json`, are not here.

mod cases;
pub(crate) mod facts;
mod github;
mod html;
mod junit;
mod markdown;
mod references;
mod sarif;
mod tap;
pub(crate) mod view;
mod waterfall;
mod words;

use std::io::{self, Write};
use std::path::PathBuf;

use super::model::Run;
use super::report::Report;
use view::View;

pub use github::GitHub;
pub use html::Html;
pub use junit::JUnit;
pub use markdown::Markdown;
pub use sarif::Sarif;
pub use tap::Tap;

/// A form that other tools read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `JUnit`'s XML: a suite for each input, a case for each policy.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// GitHub's workflow commands, with the Markdown as the step's summary.
    Github,
    /// Markdown, as GitHub and GitLab read it.
    Markdown,
    /// TAP, version 14.
    Tap,
    /// One page that needs nothing else.
    Html,
}

/// What some forms have to know.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Paths below this folder become relative to it (SARIF, GitHub).
    pub folder: PathBuf,
    /// Where GitHub wants the summary of a step: `GITHUB_STEP_SUMMARY`.
    pub summary: Option<PathBuf>,
    /// True if inputs that passed are counted and not listed, where people read (GitHub, Markdown,
    /// HTML).
    pub hide_passed: bool,
    /// The file that has everything, to which reports with bounds refer.
    pub more: Option<String>,
}

impl Format {
    /// Every form and its name on the command line.
    pub const NAMES: &[(&str, Self)] = &[
        ("junit", Self::Junit),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
        ("tap", Self::Tap),
        ("html", Self::Html),
    ];

    /// What writes this form.
    pub fn report(self, options: &Options) -> Box<dyn Report> {
        let folder = options.folder.clone();
        let view = View { hide_passed: options.hide_passed, more: options.more.clone() };
        match self {
            Self::Junit => Box::new(JUnit),
            Self::Sarif => Box::new(Sarif { folder }),
            Self::Github => Box::new(GitHub { folder, summary: options.summary.clone(), view }),
            Self::Markdown => Box::new(Markdown { view }),
            Self::Tap => Box::new(Tap),
            Self::Html => Box::new(Html { view }),
        }
    }
}

/// Writes `run` in one form.
///
/// # Errors
/// Only what writing fails with.
pub fn write(run: &Run, format: Format, out: &mut dyn Write, options: &Options) -> io::Result<()> {
    format.report(options).write(run, out)
}

#[cfg(test)]
pub(super) mod fixture;

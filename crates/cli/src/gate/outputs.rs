//! The formats of reports, and their destinations.
//!
//! The formats for other tools are those of `rego_platform_gate::reports`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use rego_platform::Error;
use rego_platform::sources::Ignore;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_gate::model::Run;
use rego_platform_gate::reports;
use rego_platform_gate::reports::Report;
use rego_platform_gate::reports::ReportFormat;
use rego_platform_gate::reports::view::View;
use rego_platform_gate::repository;

use super::human::Human;
use super::{containerd, json};
use crate::destinations::{self, Reads};
use crate::output;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Human,
    Json,
    Other(ReportFormat),
    /// The line that containerd reads; no value of an option.
    Reason,
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<OutputFormat>> = LazyLock::new(|| {
            let others = ReportFormat::NAMES.iter();
            let others = others.map(|(_, format)| OutputFormat::Other(*format));
            [OutputFormat::Human, OutputFormat::Json].into_iter().chain(others).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let name = match self {
            Self::Human => "human",
            Self::Json => "json",
            Self::Reason => return None,
            Self::Other(format) => ReportFormat::NAMES.iter().find(|(_, named)| named == format)?.0,
        };
        Some(PossibleValue::new(name))
    }
}

/// The level of detail of the report for people.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    /// Set if a run that passed prints nothing, and another only why it didn't.
    pub quiet: bool,
    /// Set to print the inventory that the verdicts are based on.
    pub verbose: bool,
}

impl OutputFormat {
    /// Returns the report in this format; `more` is the file with the complete one.
    fn report(self, more: Option<String>) -> Box<dyn Report> {
        let form = match self {
            Self::Human => {
                return Box::new(Human {
                    colour: false,
                    view: View { more },
                    quiet: false,
                    verbose: false,
                    failure_elsewhere: false,
                });
            }
            Self::Json => return Box::new(json::Json),
            Self::Reason => return Box::new(containerd::Reason),
            Self::Other(format) => format,
        };
        form.report(&options(more))
    }
}

/// The variable with the file for the summary of a step on GitHub.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

fn options(more: Option<String>) -> reports::Options {
    let mut options = reports::Options::default();
    options.folder = repository();
    options.more = more;
    options
}

/// A report for a file.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub format: OutputFormat,
    pub file: PathBuf,
}

impl std::str::FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text.split_once('=').unwrap_or((text, STDOUT));
        if file.is_empty() {
            return Err("missing file name of the report".to_owned());
        }
        let second =
            file.split_once(',').and_then(|(_, more)| Some((more, more.split_once('=')?.0)));
        if let Some((more, _)) =
            second.filter(|(_, format)| OutputFormat::from_str(format, true).is_ok())
        {
            let first = text.strip_suffix(more).unwrap_or(text).trim_end_matches(',');
            let (first, more) = (escape(first), escape(more));
            return Err(format!("repeat the option for each report: `-o {first} -o {more}`"));
        }
        let format = OutputFormat::from_str(format, true).map_err(|_| {
            let known: Vec<_> = OutputFormat::value_variants()
                .iter()
                .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
                .collect();
            let message = format!(
                "unknown format `{}`; the formats are {}",
                escape(format),
                known.join(", ")
            );
            // `xml=report.xml`, `junit:report.xml` and `report.xml`.
            let file = text.split_once(['=', ':']).map_or(text, |(_, file)| file);
            match guessed(file) {
                Some(format) => format!("{message}; for a file, write `{format}={}`", escape(file)),
                None => message,
            }
        })?;
        Ok(Self { format, file: file.into() })
    }
}

/// Returns the name of the format that the name of a file suggests.
fn guessed(file: &str) -> Option<&'static str> {
    let name = Path::new(file).extension()?.to_str()?.to_ascii_lowercase();
    Some(match name.as_str() {
        "json" => "json",
        "xml" => "junit",
        "sarif" => "sarif",
        "html" | "htm" => "html",
        "md" | "markdown" => "markdown",
        "tap" => "tap",
        _ => return None,
    })
}

/// The destinations of a run's reports.
#[derive(Debug)]
pub(super) struct Reports {
    files: Vec<Output>,
    /// The format of the report on standard output.
    stdout: OutputFormat,
    look: Look,
    /// The file for the summary of a step on GitHub, until it is written: a second time, the same
    /// text would be appended again.
    summary: Option<PathBuf>,
}

/// The name that stands for standard output.
const STDOUT: &str = "-";

impl Output {
    /// Returns `true` if the report goes to standard output.
    fn is_stream(&self) -> bool {
        self.file == Path::new(STDOUT)
    }
}

impl Reports {
    pub fn new(accepted: Accepted, format: Option<OutputFormat>, look: Look) -> Self {
        let (streams, files): (Vec<Output>, Vec<Output>) =
            accepted.outputs.into_iter().partition(Output::is_stream);
        let other = streams.first().map(|output| output.format);
        let stdout = format.or(other).unwrap_or(OutputFormat::Human);
        Self { files, stdout, look, summary: accepted.summary }
    }

    /// Replaces the reports of an earlier run: however this one ends, they can't be taken for its
    /// outcome.
    pub fn begin(&mut self, run: &Run) -> Result<(), Error> {
        self.files(run)
    }

    /// Writes every report.
    pub fn write(&mut self, run: &Run) -> Result<(), Error> {
        self.files(run)?;
        let sarif = OutputFormat::Other(ReportFormat::Sarif);
        let files = self.files.iter().map(|output| output.format);
        if files.chain([self.stdout]).any(|format| format == sarif)
            && let Some(without) = reports::sarif_without(run)
        {
            output::Reporter::default().warning(&without);
        }
        self.summarize(run)?;
        self.print(run, false)
    }

    /// Writes as many reports as possible of a run that has no verdict because of `error`, which is
    /// printed elsewhere; further failures are printed.
    pub fn without_verdict(&mut self, run: &Run, error: &Error) {
        for done in [self.files(run), self.summarize(run), self.print(run, true)] {
            if let Err(other) = done
                && other.report() != error.report()
            {
                output::error(&other);
            }
        }
    }

    /// Returns the file with the complete report, if there is one.
    fn more(&self) -> Option<String> {
        let whole = |output: &&Output| output.format == OutputFormat::Json;
        self.files.iter().find(whole).map(|output| output.file.display().to_string())
    }

    /// Writes the reports to files. They come first: standard output may be a closed pipe.
    fn files(&mut self, run: &Run) -> Result<(), Error> {
        let mut first = Ok(());
        for file in &self.files {
            let report = file.format.report(self.more());
            let done = output::to_file_with(&file.file, |out| report.write(run, out));
            first = first.and(done);
        }
        first
    }

    /// Appends the summary of a step on GitHub, before anything goes to standard output: if it
    /// can't be written, there is no verdict.
    fn summarize(&mut self, run: &Run) -> Result<(), Error> {
        let Some(path) = self.summary.take() else { return Ok(()) };
        reports::summarize(run, &options(self.more()), &path).map_err(|error| {
            let shown = escape_path(path);
            Error::configuration(format!("the step's summary `{shown}` can't be written"))
                .with_source(error)
                .with_hint(format!("its path is in `{SUMMARY}`; unset that to write no summary"))
        })
    }

    /// Writes the report for standard output. If the failure of the run is printed on standard error,
    /// people need nothing else about a run that evaluated nothing.
    fn print(&mut self, run: &Run, failure_elsewhere: bool) -> Result<(), Error> {
        let report = match self.stdout {
            OutputFormat::Human if failure_elsewhere && run.inputs.is_empty() => {
                return Ok(());
            }
            OutputFormat::Human => {
                let Look { quiet, verbose } = self.look;
                let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let colour = output::is_terminal() && !no_colour;
                let view = View { more: self.more() };
                Box::new(Human { colour, view, quiet, verbose, failure_elsewhere })
            }
            format => format.report(self.more()),
        };
        output::to_stdout_with(|out| report.write(run, out))
    }
}

/// The destinations that may be written.
pub(super) struct Accepted {
    outputs: Vec<Output>,
    /// The file for the summary of a step on GitHub.
    summary: Option<PathBuf>,
}

/// Decides on destinations, before anything is written. `recording` is one as well, `read` is what
/// the run reads. Accepted ones are written even if others are refused, for the returned reason: no
/// older report may remain.
pub(super) fn accept(
    outputs: &[Output],
    format: Option<OutputFormat>,
    recording: Option<&Path>,
    (read, ignore): (&Reads<'_>, &Ignore),
) -> (Accepted, Option<Error>) {
    let (streams, files): (Vec<&Output>, Vec<&Output>) =
        outputs.iter().partition(|output| output.is_stream());
    let summary = summary(outputs, format);
    let written = files.iter().map(|output| output.file.as_path());
    let written: Vec<&Path> = written.chain(summary.as_deref()).chain(recording).collect();
    let judged = destinations::judge(&written, read, ignore);
    // In the same order as they were judged.
    let mut all = judged.iter().map(Result::is_ok);
    let mut is_accepted = || all.next().unwrap_or(false);
    let is_kept = |output: &&Output| output.is_stream() || is_accepted();
    let accepted = Accepted {
        outputs: outputs.iter().filter(is_kept).cloned().collect(),
        summary: summary.clone().filter(|_| is_accepted()),
    };
    let two_streams = !streams.is_empty() && format.is_some() || streams.len() > 1;
    let refused = two_streams.then(|| {
        let what = "two reports, such as `--format` and one for `-`, go to standard output";
        Error::configuration(what).with_hint("use only one of them")
    });
    (accepted, refused.or(judged.into_iter().find_map(Result::err)))
}

/// Returns the file for the summary of a step on GitHub, if a report is to append it.
fn summary(outputs: &[Output], format: Option<OutputFormat>) -> Option<PathBuf> {
    let mut all = outputs.iter().map(|output| output.format).chain(format);
    let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
    path.filter(|_| all.any(|format| format == OutputFormat::Other(ReportFormat::Github)))
        .map(PathBuf::from)
}

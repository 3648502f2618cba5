//! Reports as GitHub's workflow commands, which become annotations, and as the summary of a step.
//!
//! Owns the escaping of commands. Failures and missing verdicts are errors, warnings are warnings,
//! notes are notices. The summary is the Markdown report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rego_platform::Position;

use super::Report;
use super::errors::errors;
use super::results::file_of;
use super::view::{View, weight};
use super::words::line;
use super::{facts, markdown};
use crate::report::model::{Effect, Outcome, Run};
use crate::report::paths::{relative, slashes};

/// The maximum size of a summary, in bytes. GitHub discards a larger one.
const MAX_SUMMARY: usize = 1024 * 1024 - 4096;

/// The report as GitHub's workflow commands, and as the summary of a step.
#[derive(Debug, Clone, Default)]
pub struct GitHub {
    /// Paths below this folder become relative to it.
    pub folder: PathBuf,
    /// The file to which the summary is appended: `GITHUB_STEP_SUMMARY`.
    pub summary: Option<PathBuf>,
    pub(super) view: View,
}

impl Report for GitHub {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "rego-platform gate: {}", facts::headline(run))?;
        self.annotations(run, out)?;
        out.flush()?;
        self.summary.as_deref().map_or(Ok(()), |path| append(run, &self.view, path))
    }
}

/// The maximum number of annotations of one level: GitHub shows ten per step and fifty per job.
const MAX_ANNOTATIONS: usize = 50;

/// A writer of annotations, with a bound for each level.
struct Annotations<'o> {
    out: &'o mut dyn Write,
    written: BTreeMap<&'static str, usize>,
}

impl Annotations<'_> {
    fn add(&mut self, level: &'static str, place: &str, title: &str, text: &str) -> io::Result<()> {
        let written = self.written.entry(level).or_default();
        *written += 1;
        if *written > MAX_ANNOTATIONS {
            return Ok(());
        }
        writeln!(self.out, "{}", command(level, place, title, text))
    }

    /// Writes the number of omitted annotations.
    fn finish(self, view: &View) -> io::Result<()> {
        for (level, written) in self.written {
            if let Some(more) = view.more(written.saturating_sub(MAX_ANNOTATIONS)) {
                writeln!(self.out, "{}", command(level, "", "more", &more))?;
            }
        }
        Ok(())
    }
}

impl GitHub {
    fn annotations(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut all = Annotations { out, written: BTreeMap::new() };
        // Missing verdicts come before violations, of which there may be more than GitHub shows.
        if let Some(failure) = &run.failure {
            let place = self.place(failure.position.as_ref(), "");
            all.add("error", &place, "gate", &facts::failure(failure).join("; "))?;
        }
        let errors = errors(run);
        for stated in &errors {
            let input = &stated.input.name;
            let title = match stated.policy {
                Some(policy) => format!("{} ({})", line(policy), line(input)),
                None => line(input),
            };
            let text: Vec<String> =
                facts::failure(stated.error).into_iter().chain(stated.more()).collect();
            all.add("error", &self.place(None, input), &title, &text.join("; "))?;
        }
        let mut found: Vec<_> = run
            .violations()
            .filter(|(_, _, found)| matches!(found.effect, Effect::Fails | Effect::Warns))
            .collect();
        // The first ones are shown.
        found.sort_by_key(|(_, _, found)| Reverse(weight(found)));
        let nothing = found.iter().all(|(_, _, found)| !found.fails());
        for (input, verdict, found) in found {
            let title = format!("{} ({})", line(&verdict.policy), line(&input.name));
            let text = facts::violation_in_full(run, found);
            let place = self.place(found.position.as_ref(), &input.name);
            let level = if found.fails() { "error" } else { "warning" };
            all.add(level, &place, &title, &text)?;
        }
        // A run that didn't pass has an error, even if nothing is to blame.
        let unexplained = run.failure.is_none() && errors.is_empty() && nothing;
        if run.outcome != Outcome::Passed && unexplained {
            all.add("error", "", "gate", &facts::headline(run))?;
        }
        for note in &run.notes {
            all.add("notice", "", "note", &line(note))?;
        }
        all.finish(&self.view)
    }

    /// Returns the input's file, or else the position of the rule, as properties of a command. The
    /// SARIF report has the same place; the text names the rule's.
    fn place(&self, position: Option<&Position>, input: &str) -> String {
        match (file_of(input), position) {
            (Some(file), _) => format!("file={},", self.path(file)),
            (None, Some(p)) => {
                let end = p.column.saturating_add(p.length);
                let (file, line, column) = (self.path(&p.file), p.line, p.column);
                format!("file={file},line={line},col={column},endColumn={end},")
            }
            (None, None) => String::new(),
        }
    }

    fn path(&self, path: &str) -> String {
        property(&line(&slashes(&relative(path, &self.folder))))
    }
}

/// Returns a workflow command on one line.
fn command(level: &str, place: &str, title: &str, text: &str) -> String {
    format!("::{level} {place}title={}::{}", property(title), data(text))
}

/// Escapes a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which `:` and `,` would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Appends the summary, within the remaining size of the step's summary.
pub(super) fn append(run: &Run, view: &View, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let taken = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let text = markdown::render(run, view, MAX_SUMMARY.saturating_sub(taken));
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, hostile, sample, written};
    use crate::report::model::Outcome;

    type Command = (String, Vec<(String, String)>, String);

    /// Reads the level, properties and message of each command, the way the runner does.
    fn read(text: &str) -> Vec<Command> {
        let decode = |text: &str| {
            text.replace("%3A", ":")
                .replace("%2C", ",")
                .replace("%0D", "\r")
                .replace("%0A", "\n")
                .replace("%25", "%")
        };
        let mut all = Vec::new();
        for line in text.split(['\n', '\r']) {
            assert!(!line.contains("##["), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
            let Some(rest) = line.trim_start().strip_prefix("::") else { continue };
            let (head, message) = rest.split_once("::").unwrap();
            let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
            let properties = properties.split(',').map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (key.to_owned(), decode(value))
            });
            all.push((name.to_owned(), properties.collect(), decode(message)));
        }
        all
    }

    #[test]
    fn violations_become_annotations() {
        let text = written(&GitHub::default(), &sample());
        let all = read(&text);
        let levels: Vec<&str> = all.iter().map(|(level, _, _)| level.as_str()).collect();
        assert_eq!(levels, ["error", "error", "error", "error", "warning", "notice"], "{text}");
        let (_, properties, message) = &all[2];
        assert!(message.starts_with("license `GPL-3.0` is not allowed [severity high"));
        assert!(message.contains("at policies/licences.rego:7:1"), "{message}");
        let known = [("file", "build/sbom.json"), ("title", "release.licences (build/sbom.json)")];
        assert_eq!(*properties, known.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(all[1].2.contains("; help: try again"), "{}", all[1].2);
        assert!(text.starts_with("rego-platform gate: no verdict: 3 inputs"), "{text}");
        let first = text.lines().nth(1).unwrap();
        assert!(first.starts_with("::error "), "what was found comes first: {first}");
    }

    #[test]
    fn a_run_that_did_not_pass_has_an_error() {
        let mut run = sample();
        run.inputs.clear();
        for (outcome, errors) in
            [(Outcome::Failed, 1), (Outcome::NoVerdict, 1), (Outcome::Passed, 0)]
        {
            run.outcome = outcome;
            let all = read(&written(&GitHub::default(), &run));
            assert_eq!(all.iter().filter(|(level, ..)| level == "error").count(), errors);
        }
    }

    #[test]
    fn the_summary_is_appended_and_never_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        std::fs::write(&path, "before\n").unwrap();
        let github = GitHub { summary: Some(path.clone()), ..GitHub::default() };
        let mut run = sample();
        let input = run.inputs[0].clone();
        run.inputs = vec![input; 5_000];
        let annotations = written(&github, &run);
        assert_eq!(read(&annotations).iter().filter(|(level, ..)| level == "error").count(), 51);
        assert!(annotations.contains(" more in the JSON report"), "{annotations}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("before\n## "), "{}", &text[..100]);
        assert!(text.len() < 1024 * 1024, "{}", text.len());
        assert!(text.contains("4800 failed"), "it says so");
    }

    #[test]
    fn hostile_text_never_becomes_a_command() {
        let levels = |payload: &str| {
            let all = read(&written(&GitHub::default(), &hostile(payload)));
            all.into_iter().map(|(level, _, _)| level).collect::<Vec<_>>()
        };
        let plain = levels("plain");
        for payload in HOSTILE {
            assert_eq!(levels(payload), plain, "{payload:?}");
        }
    }
}

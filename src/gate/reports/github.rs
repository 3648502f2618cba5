//! Reports as GitHub's workflow commands, which become annotations, and as the summary of a step.
//!
//! Owns the escaping of commands. Failures and missing verdicts are errors, warnings are warnings;
//! waived, skipped and the like are notices. The summary is the Markdown report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::cases::{Case, State, cases};
use super::sarif::file_of;
use super::view::{Listed, View, weight};
use super::words::line;
use super::{facts, markdown};
use crate::Position;
use crate::gate::model::{Effect, Run, Violation};
use crate::gate::report::Report;

/// The size of the largest summary that GitHub accepts; it discards a larger one altogether.
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
    /// Writes the violations first, then the inputs and the provenance in folded groups.
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "rego-platform gate: {}", facts::headline(run))?;
        let (listed, rest) = self.view.inputs(run);
        self.annotations(run, &listed, &rest, out)?;
        group(out, "inputs", |out| {
            for Listed { input, .. } in &listed {
                let digest = input.digest.as_deref().unwrap_or("no digest");
                let name = line(&input.name);
                writeln!(out, "input: {name} {} {}", line(digest), facts::outcome(input.outcome))?;
                for call in facts::ledger(input) {
                    writeln!(out, "call: {name}: {call}")?;
                }
            }
            rest.iter().try_for_each(|rest| writeln!(out, "{rest}"))
        })?;
        group(out, "about this run", |out| {
            for (name, value) in facts::provenance(run) {
                writeln!(out, "{name}: {value}")?;
            }
            for policy in &run.policies {
                writeln!(out, "policy: {}", facts::policy(policy))?;
            }
            for waiver in &run.waivers {
                writeln!(out, "waiver: {}", facts::waiver(waiver))?;
            }
            run.notes.iter().try_for_each(|note| writeln!(out, "note: {}", line(note)))
        })?;
        out.flush()?;
        self.summary.as_deref().map_or(Ok(()), |path| append(run, &self.view, path))
    }
}

/// Writes a group of lines, which GitHub shows folded.
fn group(
    out: &mut dyn Write,
    title: &str,
    lines: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "::group::{title}")?;
    lines(out)?;
    writeln!(out, "::endgroup::")
}

/// The most annotations of one level: GitHub shows ten per step and fifty per job.
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

    /// Writes how many more there were.
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
    fn annotations(
        &self,
        run: &Run,
        listed: &[Listed<'_>],
        rest: &[String],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut all = Annotations { out, written: BTreeMap::new() };
        let cases = cases(run);
        // Missing verdicts come before violations, of which there may be more than GitHub shows.
        for case in cases.iter().filter(|case| case.state == State::Error) {
            self.case(case, listed, &mut all)?;
        }
        let verdicts =
            listed.iter().flat_map(|one| one.input.verdicts.iter().map(move |it| (one.input, it)));
        let mut found: Vec<_> = verdicts
            .flat_map(|(input, verdict)| {
                verdict.violations.iter().map(move |it| (input, verdict, it))
            })
            .collect();
        // The first ones are shown.
        found.sort_by_key(|(_, _, found)| Reverse(weight(found)));
        for (input, verdict, found) in found {
            let title = format!("{} ({})", line(&verdict.policy), line(&input.name));
            let text = facts::violation(run, found);
            let place = self.place(found.position.as_ref(), &input.name);
            all.add(level(found), &place, &title, &text)?;
        }
        for (package, sites) in run.inventory.never_called() {
            let place = self.place(sites.first().map(|site| &site.position), "");
            let text = facts::never_reached(package, &sites);
            all.add("notice", &place, &line(&package.name), &text)?;
        }
        for case in cases.iter().filter(|case| case.state != State::Error) {
            self.case(case, listed, &mut all)?;
        }
        if !rest.is_empty() {
            all.add("notice", "", "inputs", &rest.join("; "))?;
        }
        all.finish(&self.view)
    }

    /// Adds a case, unless its violations are annotations already.
    fn case(
        &self,
        case: &Case<'_>,
        listed: &[Listed<'_>],
        all: &mut Annotations<'_>,
    ) -> io::Result<()> {
        let own = case.input.map(|input| listed.iter().find(|one| std::ptr::eq(one.input, input)));
        let blameless = case.policy.is_none() || case.state != State::Failed;
        let level = match (case.state, own) {
            // The input isn't listed, or is in a group with the same reason.
            (_, Some(None)) => return Ok(()),
            // Another annotation states the error, and counts this one.
            (State::Error, _) if case.alike == 0 => return Ok(()),
            (State::Error, _) => "error",
            (State::Failed, _) if blameless => "error",
            (State::Skipped, _) => "notice",
            (State::Failed | State::Passed, _) => return Ok(()),
        };
        let input = case.input.map_or("", |input| input.name.as_str());
        let title = match (case.policy, case.input) {
            (Some(policy), _) => format!("{} ({})", line(policy), line(input)),
            (None, Some(_)) => line(input),
            (None, None) => "gate".to_owned(),
        };
        // The details of an error begin with the summary.
        let begun = case.details.first().is_some_and(|first| first.starts_with(&case.summary));
        let mut text: Vec<String> = if begun { Vec::new() } else { vec![case.summary.clone()] };
        text.extend(case.details.iter().cloned());
        let group = own.flatten();
        text.extend(case.more(group.map_or(0, |listed| listed.alike.len())));
        text.extend(group.and_then(|listed| listed.same(&self.view)));
        all.add(level, &self.place(None, input), &title, &text.join("; "))
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
        let path = Path::new(path);
        let path = path.strip_prefix(&self.folder).unwrap_or(path);
        property(&line(&path.to_string_lossy()))
    }
}

const fn level(found: &Violation) -> &'static str {
    match found.effect {
        Effect::Fails => "error",
        Effect::Warns => "warning",
        Effect::Waived | Effect::BelowThreshold | Effect::Disregarded => "notice",
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

/// Appends the summary, within the room that the step's other commands have left.
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
    use crate::gate::model::Outcome;
    use crate::gate::reports::fixture::{HOSTILE, hostile, sample, written};

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
            if rest.starts_with("group::") || rest == "endgroup::" {
                continue;
            }
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
        assert_eq!(
            levels,
            ["error", "error", "error", "error", "notice", "notice", "warning", "notice", "notice"],
            "{text}"
        );
        let (_, properties, message) = &all[2];
        assert!(message.starts_with("license `GPL-3.0` is not allowed [severity high"));
        assert!(message.contains("at policies/licences.rego:7:1"), "{message}");
        let known = [("file", "build/sbom.json"), ("title", "release.licences (build/sbom.json)")];
        assert_eq!(*properties, known.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(all[8].2.contains("no image here"));
        assert!(all[0].2.contains("; help: try again"), "{}", all[0].2);
        assert!(text.starts_with("rego-platform gate: no verdict: 3 inputs"), "{text}");
        assert!(text.contains("\ninput: build/sbom.json sha256:1111 failed\n"));
        let first = text.lines().nth(1).unwrap();
        assert!(first.starts_with("::error "), "what was found comes first: {first}");
        assert_eq!(text.matches("::group::").count(), text.matches("::endgroup::").count());
    }

    #[test]
    fn a_run_that_did_not_pass_has_an_error() {
        let mut run = sample();
        run.inputs.clear();
        for (outcome, errors) in
            [(Outcome::Failed, 1), (Outcome::NoVerdict, 1), (Outcome::Passed, 0)]
        {
            run.outcome = outcome;
            assert_eq!(read(&written(&GitHub::default(), &run)).len(), errors);
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

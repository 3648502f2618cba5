//! The report for people: a line for each violation, each error once, and a summary.
//!
//! Owns its wording and colours. With `--verbose`, what every input's verdict is based on comes
//! first. All text from elsewhere is escaped here, and stays on one line.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use rego_platform::Position;
use rego_platform_client::text::{counted, escape, escape_for_log, shorten};
use rego_platform_gate::model::{Effect, Failure, Input, Outcome, Run, Status, Verdict, Violation};
use rego_platform_gate::reports::Report;
use rego_platform_gate::reports::errors::errors;
use rego_platform_gate::reports::facts;
use rego_platform_gate::reports::view::View;

use super::relaxed;

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// The longest part of a message that is shown, in characters; the JSON report has all of it.
const MAX_MESSAGE: usize = 2_000;

/// The most lines of violations; the JSON report has all of them.
const MAX_LINES: usize = 1_000;

pub(super) struct Human {
    pub colour: bool,
    pub view: View,
    /// Set to print nothing about a run that passed, and only the reasons of a run that didn't.
    pub quiet: bool,
    /// Set to print the inventory that the verdicts are based on.
    pub verbose: bool,
    /// Set if the failure of the run is printed separately.
    pub failure_elsewhere: bool,
}

impl Report for Human {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        if self.quiet && run.outcome == Outcome::Passed {
            return Ok(());
        }
        if self.verbose {
            self.basis(run, out)?;
        }
        if !self.quiet {
            self.violations(run, Effect::Warns, &self.paint(YELLOW, "WARN"), out)?;
            for note in &run.notes {
                writeln!(out, "{}: {}", self.paint(YELLOW, "note"), line(note))?;
            }
        }
        self.violations(run, Effect::Fails, &self.paint(RED, "FAIL"), out)?;
        for stated in errors(run) {
            self.error(&format!("{}: ", line(&stated.input.name)), stated.error, out)?;
            if let Some(more) = stated.more() {
                writeln!(out, "  {more}")?;
            }
        }
        if let Some(failure) = run.failure.as_ref().filter(|_| !self.failure_elsewhere) {
            self.error("", failure, out)?;
        }
        let headline = facts::headline(run);
        let (word, rest) = headline.split_once(':').unwrap_or((&headline, ""));
        let style = if run.outcome == Outcome::Passed { GREEN } else { RED };
        writeln!(out, "{}:{rest}", self.paint(style, word))
    }
}

impl Human {
    fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Writes a line for each violation with this effect.
    fn violations(
        &self,
        run: &Run,
        effect: Effect,
        label: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (mut left, mut more) = (MAX_LINES, 0);
        let mut helped = HashSet::new();
        for input in &run.inputs {
            for verdict in &input.verdicts {
                let found = verdict.violations.iter().filter(|found| found.effect == effect);
                let found: Vec<_> = found.collect();
                let all = found.len();
                // Violations with the same words differ in their fields.
                let mut alike: HashMap<_, usize> = HashMap::new();
                for own in &found {
                    *alike.entry((&own.message, &own.id)).or_default() += 1;
                }
                let shown = View::heaviest(found).into_iter().take(left).collect::<Vec<_>>();
                let mut rules = BTreeSet::new();
                (left, more) = (left - shown.len(), more + all - shown.len());
                for found in shown {
                    let is_alike = alike.get(&(&found.message, &found.id)).is_some_and(|n| *n > 1);
                    let fields = facts::fields(found).filter(|_| is_alike);
                    writeln!(out, "{label} {}", self.violation(run, input, found, fields))?;
                    rules.insert(&found.rule);
                }
                // Once for each rule, after its violations in the first input.
                for rule in rules {
                    let remedy = facts::remediation(run, &verdict.policy, rule);
                    if let Some(remedy) = remedy.filter(|_| helped.insert((&verdict.policy, rule)))
                    {
                        writeln!(out, "  help: {}", shorten(&remedy, MAX_MESSAGE))?;
                    }
                }
            }
        }
        self.view.more(more).map_or(Ok(()), |more| writeln!(out, "{label} {more}"))
    }

    fn violation(
        &self,
        run: &Run,
        input: &Input,
        found: &Violation,
        fields: Option<String>,
    ) -> String {
        let severity = found.severity.as_ref().map(|severity| format!("[{}] ", line(severity)));
        let id = found.id.as_ref().filter(|id| !found.message.contains(id.as_str()));
        let id = id.map(|id| format!("{}: ", line(id)));
        let place = found.position.as_ref().map(facts::place);
        let waiver = match found.effect {
            Effect::Warns => None,
            _ => facts::effect(run, found),
        };
        let about: Vec<String> = place.into_iter().chain(waiver).collect();
        let about = if about.is_empty() {
            String::new()
        } else {
            self.paint(DIM, &format!(" ({})", about.join("; ")))
        };
        format!(
            "{}: {}{}{}{}{about}",
            line(&input.name),
            severity.unwrap_or_default(),
            id.unwrap_or_default(),
            line(&shorten(&found.message, MAX_MESSAGE)),
            fields.map(|own| format!(" {}", shorten(&own, MAX_MESSAGE))).unwrap_or_default()
        )
    }

    /// Writes an error with its place and its next step.
    fn error(&self, of: &str, failure: &Failure, out: &mut dyn Write) -> io::Result<()> {
        let label = self.paint(RED, "ERROR");
        let message = line(&shorten(&failure.message, MAX_MESSAGE));
        let place = |at: &Position| self.paint(DIM, &format!(" ({})", facts::place(at)));
        let place = failure.position.as_ref().map(place).unwrap_or_default();
        writeln!(out, "{label} {of}{message}{place}")?;
        match &failure.hint {
            Some(hint) => writeln!(out, "  help: {}", line(hint)),
            None => Ok(()),
        }
    }

    /// Writes what the verdicts are based on: each input with its verdicts and calls, and the
    /// inventory.
    fn basis(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        for input in &run.inputs {
            self.input(input, out)?;
            for verdict in &input.verdicts {
                self.verdict(run, input, verdict, out)?;
            }
            for call in facts::ledger(input) {
                writeln!(out, "  {}", self.paint(DIM, &format!("call {call}")))?;
            }
        }
        for (name, value) in facts::provenance(run) {
            writeln!(out, "{}", self.paint(DIM, &format!("{name}: {}", line(&value))))?;
        }
        let relaxed: Vec<String> = run.inventory.options.iter().map(relaxed::shown).collect();
        if !relaxed.is_empty() {
            let text = format!("relaxed by: {}", line(&relaxed.join(", ")));
            writeln!(out, "{}", self.paint(DIM, &text))?;
        }
        for waiver in &run.waivers {
            writeln!(out, "{}", self.paint(DIM, &format!("waiver: {}", facts::waiver(waiver))))?;
        }
        for left in run.inventory.policies.iter().chain(&run.inventory.inputs) {
            for left in &left.left_out {
                let text = format!("left out: {}: {}", line(&left.path), line(&left.reason));
                writeln!(out, "{}", self.paint(DIM, &text))?;
            }
        }
        for policy in &run.policies {
            writeln!(out, "{}", self.paint(DIM, &format!("policy: {}", facts::policy(policy))))?;
        }
        Ok(())
    }

    fn input(&self, input: &Input, out: &mut dyn Write) -> io::Result<()> {
        let mut parts = vec![facts::outcome(input.outcome).to_owned()];
        parts
            .extend(facts::about(input).into_iter().map(|(name, value)| format!("{name} {value}")));
        let ledger = &input.ledger;
        let calls = ledger.total();
        if calls > 0 {
            let origins = ledger.origins.iter();
            let mut from: Vec<String> =
                origins.map(|(origin, number)| format!("{number} {}", line(origin))).collect();
            let unsent = ledger.unsent();
            if unsent > 0 {
                from.push(format!("{unsent} not sent"));
            }
            let (calls, requests) = (counted(calls, "call"), counted(ledger.attempts, "request"));
            parts.push(format!("{calls} ({}), {requests}", from.join(", ")));
        }
        parts.push(format!("{:?}", Duration::from_millis(input.duration_ms)));
        let text = format!("input {}: {}", line(&input.name), parts.join("; "));
        writeln!(out, "{}", self.paint(DIM, &text))
    }

    fn verdict(
        &self,
        run: &Run,
        input: &Input,
        verdict: &Verdict,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let status = match verdict.status {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Ignored => "ignored",
            Status::NoVerdict => "no verdict",
        };
        let why = verdict.reason.as_ref().map(|why| format!(": {}", line(why)));
        let text = format!("{} {status}{}", line(&verdict.policy), why.unwrap_or_default());
        writeln!(out, "  {}", self.paint(DIM, &text))?;
        let other = |found: &&Violation| !matches!(found.effect, Effect::Fails | Effect::Warns);
        for found in verdict.violations.iter().filter(other) {
            writeln!(out, "    {}", self.violation(run, input, found, facts::fields(found)))?;
        }
        Ok(())
    }
}

/// Escapes text to stay on one line, and not to be a command for a CI system.
fn line(text: &str) -> String {
    escape_for_log(&escape(text))
}

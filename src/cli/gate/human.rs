//! The report for people: by input and policy, with each rule's position, the next step, and the
//! provenance of everything.
//!
//! Owns its wording and colours. All text from elsewhere is escaped here, line by line.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::Position;
use crate::gate::model::{
    AnsweredBy, Class, Effect, Failure, Input, OptionEffect, OptionUse, Outcome, Run, Status,
    Verdict, Violation,
};
use crate::gate::report::Report;
use crate::gate::reports::facts;
use crate::gate::reports::view::{self, Listed, View};
use crate::text::{escape, escape_for_log, shorten};

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// The longest part of a message that is shown, in characters; the JSON report has all of it.
const MAX_MESSAGE: usize = 2_000;

pub(super) struct Human {
    pub colour: bool,
    pub view: View,
    /// Set if a run that passed prints nothing, unless there is something to note.
    pub quiet: bool,
}

impl Report for Human {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        if self.quiet && is_plain_pass(run) {
            return Ok(());
        }
        let (listed, rest) = self.view.inputs(run);
        for listed in &listed {
            self.input(run, listed, out)?;
            if let Some(same) = listed.same(&self.view) {
                writeln!(out, "{} {same}", self.paint(RED, "NO VERDICT"))?;
            }
        }
        for rest in rest {
            writeln!(out, "{}", self.paint(DIM, &rest))?;
        }
        if let Some(failure) = &run.failure {
            self.failure("", failure, out)?;
        }
        for note in &run.notes {
            writeln!(out, "{}: {}", self.paint(YELLOW, "note"), line(note))?;
        }
        let answers = match run.answers {
            AnsweredBy::Service | AnsweredBy::None => "",
            AnsweredBy::Emulator => " (answered by an emulator: not evidence of compliance)",
            AnsweredBy::Replay => " (from a recording: not evidence of the present state)",
        };
        let headline = facts::headline(run);
        let (word, rest) = headline.split_once(':').unwrap_or((&headline, ""));
        let style = if run.outcome == Outcome::Passed { GREEN } else { RED };
        writeln!(out, "{}:{rest}{answers}", self.paint(style, word))?;
        for reason in facts::circumstances(run) {
            writeln!(out, "{reason}")?;
        }
        // Of a run that ended before its first input, the error above is all there is.
        if run.inputs.is_empty() && run.failure.is_some() {
            return Ok(());
        }
        let calls = count(run.totals.calls, "call");
        let ai = if run.ai { ", AI answers used" } else { "" };
        let sums = format!("{}, {calls}{ai}", count(run.policies.len() as u64, "policy"));
        writeln!(out, "{}", self.paint(DIM, &sums))?;
        self.provenance(run, out)
    }
}

impl Human {
    fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Writes the policies and the tool that were used.
    fn provenance(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let tool = &run.tool;
        let commit = tool.commit.as_ref().map_or_else(String::new, |c| format!(" ({})", line(c)));
        let (name, version) = (line(&tool.name), line(&tool.version));
        let took = Duration::from_millis(run.duration_ms);
        let text = format!("{name} {version}{commit}, {}, {}", line(&run.started), shown(took));
        writeln!(out, "{}", self.paint(DIM, &text))?;
        for (name, value) in facts::inventory(run) {
            writeln!(out, "{}", self.paint(DIM, &format!("{name}: {}", line(&value))))?;
        }
        for policy in &run.policies {
            let text = format!("policy {} {}", line(&policy.name), line(&policy.digest));
            writeln!(out, "{}", self.paint(DIM, &text))?;
        }
        Ok(())
    }

    /// Writes an input's digest, the calls made for it, and those that reports list.
    fn details(&self, input: &Input, out: &mut dyn Write) -> io::Result<()> {
        let mut parts: Vec<String> = input.digest.iter().map(|digest| line(digest)).collect();
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
            let (calls, requests) = (count(calls, "call"), count(ledger.attempts, "request"));
            parts.push(format!("{calls} ({}), {requests}", from.join(", ")));
        }
        parts.push(shown(Duration::from_millis(input.duration_ms)));
        writeln!(out, "  {}", self.paint(DIM, &parts.join("; ")))?;
        for call in &ledger.calls {
            let guess = if call.needed { "" } else { ", speculative" };
            let form = call.form.as_deref().filter(|form| *form == "base64");
            let form = form.map_or("", |_| ", given as base64, since it isn't UTF-8");
            let cut = if call.cut { ", list cut at the policy's own limit" } else { "" };
            let skipped = if call.skipped { ", the AI analysis was skipped" } else { "" };
            let unchecked = match call.unchecked {
                0 => String::new(),
                number => format!(", {} not compared", count(number, "field")),
            };
            let text = format!(
                "{} {}: {} {}, {}, in pass {} for {}{guess}{form}{cut}{skipped}{unchecked}",
                line(&call.function),
                line(&call.arguments),
                line(&call.outcome),
                facts::sent(call),
                shown(Duration::from_micros(call.latency_us)),
                call.pass,
                line(&call.policy),
            );
            writeln!(out, "    {}", self.paint(DIM, &text))?;
        }
        Ok(())
    }

    fn input(&self, run: &Run, listed: &Listed<'_>, out: &mut dyn Write) -> io::Result<()> {
        let input = listed.input;
        let outcome = match input.outcome {
            Outcome::Passed => self.paint(GREEN, "PASS"),
            Outcome::Failed => self.paint(RED, "FAIL"),
            Outcome::NoVerdict => self.paint(RED, "NO VERDICT"),
        };
        writeln!(out, "{outcome} {}", line(&input.name))?;
        for subject in &input.subjects {
            let digests: Vec<String> =
                subject.digest.iter().map(|(name, hex)| format!("{name}:{hex}")).collect();
            writeln!(out, "  subject: {} {}", line(&subject.name), line(&digests.join(" ")))?;
        }
        if let Some(predicate) = &input.predicate_type {
            writeln!(out, "  predicate type: {}", line(predicate))?;
        }
        self.details(input, out)?;
        if let Some(error) = &input.error {
            self.error("  ", run, listed, None, error, out)?;
        }
        for verdict in &input.verdicts {
            self.verdict(run, listed, verdict, out)?;
        }
        Ok(())
    }

    fn verdict(
        &self,
        run: &Run,
        listed: &Listed<'_>,
        verdict: &Verdict,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let status = match verdict.status {
            Status::Passed => self.paint(GREEN, "pass"),
            Status::Failed => self.paint(RED, "fail"),
            Status::Skipped => self.paint(YELLOW, "skipped"),
            Status::Ignored => self.paint(YELLOW, "ignored"),
            Status::NoVerdict => self.paint(RED, "no verdict"),
        };
        let policy = run.policy(&verdict.policy);
        let title = policy.and_then(|policy| policy.title.as_deref());
        let title =
            title.map_or_else(String::new, |title| self.paint(DIM, &format!(" ({})", line(title))));
        let reason = match (&verdict.reason, verdict.status) {
            (None, _) => String::new(),
            // It has violations although it skipped the input.
            (Some(why), Status::Failed) => {
                format!(", although it skipped the input: {}", line(why))
            }
            (Some(why), _) => format!(": {}", line(why)),
        };
        writeln!(out, "  {status} {}{title}{reason}", line(&verdict.policy))?;
        if let Some(error) = &verdict.error {
            self.error("    ", run, listed, Some(&verdict.policy), error, out)?;
        }
        let mut last = None;
        let (violations, more) = self.view.violations(verdict);
        for violation in violations {
            self.violation(run, violation, out)?;
            // The position once for all violations of one definition.
            if last != violation.position.as_ref() && violation.fails() {
                self.position("      ", violation.position.as_ref(), out)?;
                last = violation.position.as_ref();
            }
        }
        more.map_or(Ok(()), |more| writeln!(out, "    {}", self.paint(DIM, &more)))
    }

    fn violation(&self, run: &Run, found: &Violation, out: &mut dyn Write) -> io::Result<()> {
        let waiver = found.waiver.and_then(|index| run.waivers.get(index));
        let (mark, style) = match found.effect {
            Effect::Fails => ("✗", RED),
            Effect::Warns => ("!", YELLOW),
            Effect::Waived | Effect::BelowThreshold | Effect::Disregarded => ("-", DIM),
        };
        let severity =
            found.severity.as_ref().map_or_else(String::new, |s| format!("[{}] ", line(s)));
        let id = found.id.as_ref().map_or_else(String::new, |id| format!("{}: ", line(id)));
        let class = if found.class == Class::Warning { "warning: " } else { "" };
        let message = escape_for_log(&shorten(&found.message, MAX_MESSAGE));
        writeln!(out, "    {} {severity}{class}{id}{message}", self.paint(style, mark))?;
        match (found.effect, waiver) {
            (Effect::Waived, Some(waiver)) => writeln!(
                out,
                "      waived until {} by {}, matched by {}: {}",
                line(&waiver.expires),
                line(&waiver.owner),
                facts::waived_by(waiver.by),
                line(&waiver.reason)
            ),
            (Effect::Fails, Some(waiver)) => writeln!(
                out,
                "      the waiver of {} expired on {}: {}",
                line(&waiver.owner),
                line(&waiver.expires),
                line(&waiver.reason)
            ),
            (Effect::BelowThreshold, _) => {
                writeln!(out, "      {}", facts::below(run))
            }
            (Effect::Disregarded, _) => writeln!(out, "      ignored by the policy"),
            _ => Ok(()),
        }
    }

    /// Writes an error of an input: in full for the first input that has it, else with the name of
    /// that input.
    fn error(
        &self,
        indent: &str,
        run: &Run,
        listed: &Listed<'_>,
        policy: Option<&str>,
        error: &Failure,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let cause = run
            .causes
            .iter()
            .find(|cause| cause.policy.as_deref() == policy && cause.error == *error);
        let Some(cause) = cause else { return self.failure(indent, error, out) };
        if cause.first != listed.input.name {
            let label = self.paint(RED, "error");
            let (kind, first) = (line(&error.kind), line(&cause.first));
            return writeln!(out, "{indent}{label}: {kind}, for the same reason as {first}");
        }
        self.failure(indent, error, out)?;
        // Of these, a line about the group states how many there are.
        let group = listed.alike.len() as u64 + 1;
        if cause.inputs > group {
            let more = count(cause.inputs - 1, "more input");
            writeln!(out, "{indent}{more} for the same reason")?;
        }
        Ok(())
    }

    fn failure(&self, indent: &str, failure: &Failure, out: &mut dyn Write) -> io::Result<()> {
        let label = self.paint(RED, "error");
        let message = line(&shorten(&failure.message, MAX_MESSAGE));
        writeln!(out, "{indent}{label}: {message}")?;
        self.position(indent, failure.position.as_ref(), out)?;
        match &failure.hint {
            Some(hint) => writeln!(out, "{indent}help: {}", line(hint)),
            None => Ok(()),
        }
    }

    fn position(&self, indent: &str, at: Option<&Position>, out: &mut dyn Write) -> io::Result<()> {
        let Some(at) = at else { return Ok(()) };
        let text = if at.text.trim().is_empty() {
            String::new()
        } else {
            format!("  {}", escape_for_log(&shorten(at.text.trim(), 120)))
        };
        let place = format!("{}:{}:{}", line(&at.file), at.line, at.column);
        writeln!(out, "{indent}{}", self.paint(DIM, &format!("{place}{text}")))
    }
}

/// Returns `true` if a run passed, and no note, warning, option or answer limits what that means.
fn is_plain_pass(run: &Run) -> bool {
    let relaxed = |option: &OptionUse| option.effect == OptionEffect::TookEffect;
    run.outcome == Outcome::Passed
        && run.notes.is_empty()
        && (run.answers == AnsweredBy::Service || run.totals.calls == 0)
        && !run.inventory.options.iter().any(relaxed)
        && run.inputs.iter().all(view::is_plain)
}

/// Escapes text to stay on one line, and not to be a command for a CI system.
fn line(text: &str) -> String {
    escape_for_log(&escape(text))
}

fn count(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {what}s"),
    }
}
/// Returns a duration for display.
fn shown(duration: Duration) -> String {
    if duration.is_zero() { "0ms".to_owned() } else { format!("{duration:?}") }
}

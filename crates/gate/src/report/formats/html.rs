//! Reports as a self-contained HTML page for people.
//!
//! Owns the order of the page and its content security policy, which allows only its own style and
//! script, by hash. The drawings are in `references` and `waterfall`. All foreign text passes
//! through [`esc`] and never becomes a link, except for https links of policies; the other links
//! lead to places on the page.

use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::Report;
use super::cases::{Case, State, cases};
use super::view::{Listed, View};
use super::words::{esc, line, milliseconds};
use super::{facts, sarif};
use crate::report::model::{AnsweredBy, Outcome, Policy, Run, Severity, Violation};
use rego_platform_client::text::counted;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The report as a self-contained page.
#[derive(Debug, Clone, Default)]
pub struct Html {
    pub(super) view: View,
}

impl Report for Html {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(head(run).as_bytes())?;
        let all = cases(run);
        let (listed, rest) = self.view.inputs(run);
        writeln!(out, "<h2>Inputs</h2>")?;
        // Failures that belong to no input.
        for case in all.iter().filter(|case| case.input.is_none() && case.state >= State::Failed) {
            writeln!(out, "<div data-item>{}</div>", self.described(run, case, "the run", ""))?;
        }
        for (place, one) in listed.iter().enumerate() {
            let own = all.iter().filter(|c| c.input.is_some_and(|i| std::ptr::eq(i, one.input)));
            let own: Vec<_> = own.collect();
            out.write_all(self.of_input(run, one, &own, place < MAX_OPEN).as_bytes())?;
        }
        if let Some(rest) = &rest {
            writeln!(out, "<p class=\"dim\">{}</p>", esc(rest))?;
        }
        out.write_all(notes(run).as_bytes())?;
        out.write_all(by_policy(run, &all, &listed).as_bytes())?;
        out.write_all(waivers(run).as_bytes())?;
        out.write_all(provenance(run).as_bytes())?;
        writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")
    }
}

/// Escapes a text for elements, and turns text between backticks into code.
fn prose(text: &str) -> String {
    let text = esc(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len());
    for (index, part) in parts.iter().enumerate() {
        match (index % 2, index + 1 == parts.len()) {
            (0, _) => out.push_str(part),
            // An unmatched backtick at the end stays a backtick.
            (_, true) => out.extend(["`", part]),
            (_, false) => out.extend(["<code>", part, "</code>"]),
        }
    }
    out
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

const fn style(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NoVerdict => "unknown",
    }
}

const fn state(state: State) -> (&'static str, &'static str) {
    match state {
        State::Passed => ("passed", "passed"),
        State::Skipped => ("skipped", "skipped"),
        State::Failed => ("failed", "failed"),
        State::Error => ("unknown", "no verdict"),
    }
}

fn head(run: &Run) -> String {
    let (class, word) = (style(run.outcome), facts::outcome(run.outcome));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>gate: {word}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header class=\"{class}\"><h1>{word}</h1>\n<div>{}</div>\n",
        esc(&facts::headline(run))
    );
    list(&mut out, facts::reasons(run).iter().map(|reason| prose(reason)));
    out.push_str("</header>\n");
    if run.answers != AnsweredBy::Service {
        let answers = facts::provenance(run).into_iter().find(|(name, _)| *name == "answers");
        let text = answers.map(|(_, text)| text).unwrap_or_default();
        let _ = writeln!(out, "<p class=\"notice\">Responses: {}.</p>", esc(&text));
    }
    if run.ai {
        out.push_str("<p class=\"notice\">An AI model was used for this outcome.</p>\n");
    }
    out.push_str(
        "<p><input id=\"filter\" type=\"search\" placeholder=\"Filter\" aria-label=\"Filter\" hidden></p>\n",
    );
    out
}

fn list(out: &mut String, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        out.push_str("<ul>\n");
        for item in items {
            let _ = writeln!(out, "<li>{item}</li>");
        }
        out.push_str("</ul>\n");
    }
}

fn pairs(out: &mut String, items: impl IntoIterator<Item = (&'static str, String)>) {
    out.push_str("<dl>\n");
    for (name, value) in items {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", esc(&value));
    }
    out.push_str("</dl>\n");
}

/// Returns the result of each policy, with the inputs for which it failed or gave no verdict.
fn by_policy(run: &Run, all: &[Case<'_>], listed: &[Listed<'_>]) -> String {
    let mut out = String::from("<h2>Policies</h2>\n");
    for policy in &run.policies {
        let own = |case: &&Case<'_>| case.policy == Some(policy.name.as_str());
        let wrong: Vec<_> =
            all.iter().filter(own).filter(|case| case.state >= State::Failed).collect();
        let states = || all.iter().filter(own).map(|case| case.state);
        let (class, word) = match states().max() {
            None => ("skipped", "not evaluated"),
            // At least one pass is needed for this: a policy that was skipped everywhere didn't
            // pass.
            Some(State::Passed | State::Skipped) if states().any(|s| s == State::Passed) => {
                ("passed", "nothing failed")
            }
            Some(worst) => state(worst),
        };
        let _ = writeln!(
            out,
            "<details data-item><summary><b class=\"{class}\">{word}</b> {} \
             <span class=\"dim\">{} of {}</span></summary>",
            prose(policy.title.as_deref().unwrap_or(&policy.name)),
            wrong.len(),
            counted(all.iter().filter(own).count() as u64, "input"),
        );
        about_policy(&mut out, policy);
        let mut links = String::new();
        for case in &wrong {
            let one =
                listed.iter().find(|one| case.input.is_some_and(|i| std::ptr::eq(i, one.input)));
            if let Some(one) = one {
                let name = esc(&one.input.name);
                let at = anchor(one.index, case);
                let _ = writeln!(links, "<li><a href=\"#{at}\">{name}</a></li>");
            }
        }
        out.extend((!links.is_empty()).then(|| format!("<ul>\n{links}</ul>\n")));
        out.push_str("</details>\n");
    }
    out
}

/// Returns the id of a case on the page.
fn anchor(index: usize, case: &Case<'_>) -> String {
    let verdicts = case.input.map(|input| input.verdicts.as_slice()).unwrap_or_default();
    let own =
        case.verdict.and_then(|verdict| verdicts.iter().position(|v| std::ptr::eq(v, verdict)));
    match own {
        Some(policy) => format!("i{index}p{policy}"),
        None => format!("i{index}"),
    }
}

fn about_policy(out: &mut String, policy: &Policy) {
    let _ = writeln!(out, "<div class=\"mono dim\">{}</div>", esc(&facts::policy(policy)));
    if let Some(description) = &policy.description {
        let _ = writeln!(out, "<p>{}</p>", prose(description));
    }
    for link in policy.links.iter().filter_map(|link| sarif::https(link)) {
        let link = esc(&link);
        let _ = writeln!(
            out,
            "<div><a href=\"{link}\" rel=\"noopener noreferrer nofollow\">{link}</a></div>"
        );
    }
}

impl Html {
    /// Returns a case under a heading with all its details, failing violations first.
    fn described(&self, run: &Run, case: &Case<'_>, name: &str, id: &str) -> String {
        let (class, word) = state(case.state);
        let at = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
        let mut out =
            format!("<h3{at}><b class=\"{class}\">{word}</b> <code>{}</code></h3>\n", esc(name));
        let (shown, more) = match case.verdict {
            Some(verdict) => self.view.violations(verdict),
            None => (Vec::new(), None),
        };
        let found = |fails: bool| {
            let all = shown.iter().enumerate().filter(move |(_, found)| found.fails() == fails);
            all.map(|(number, found)| violation(run, found, &format!("{id}v{number}")))
        };
        if case.state == State::Failed && found(true).next().is_some() {
            list(&mut out, found(true));
        } else if case.details.is_empty() && !case.summary.is_empty() {
            list(&mut out, std::iter::once(prose(&case.summary)));
        } else {
            list(&mut out, case.details.iter().map(|text| prose(text)));
        }
        if found(false).next().is_some() {
            out.push_str("<div class=\"dim\">does not fail:</div>\n");
            list(&mut out, found(false));
        }
        out.extend(more.map(|more| format!("<p class=\"dim\">{}</p>\n", esc(&more))));
        out
    }

    fn of_input(&self, run: &Run, one: &Listed<'_>, own: &[&Case<'_>], open: bool) -> String {
        let Listed { index, input, .. } = one;
        let (class, word) = (style(input.outcome), facts::outcome(input.outcome));
        // The first inputs that didn't pass are shown open.
        let open = if open && input.outcome != Outcome::Passed { " open" } else { "" };
        let mut out = format!(
            "<details data-item id=\"i{index}\"{open}><summary><b class=\"{class}\">{word}</b> \
             <code>{}</code> <span class=\"dim\">{}</span></summary>\n",
            esc(&input.name),
            milliseconds(input.duration_ms)
        );
        for case in own.iter().filter(|case| case.state != State::Passed || !case.notes.is_empty())
        {
            let id = anchor(*index, case);
            let id = if case.verdict.is_some() { id } else { String::new() };
            out.push_str(&self.described(run, case, case.policy.unwrap_or("(verdict)"), &id));
            out.extend(case.more(one.alike.len()).map(|more| format!("<p>{}</p>\n", esc(&more))));
        }
        out.extend(one.same(&self.view).map(|same| format!("<p>{}</p>\n", esc(&same))));
        let passed: Vec<String> = own
            .iter()
            .filter(|case| case.state == State::Passed && case.notes.is_empty())
            .map(|case| format!("<code>{}</code>", esc(case.policy.unwrap_or("(verdict)"))))
            .collect();
        if !passed.is_empty() {
            let _ = writeln!(out, "<p><b class=\"passed\">passed</b> {}</p>", passed.join(", "));
        }
        let mut more = String::new();
        pairs(&mut more, facts::about(input));
        more.push_str("<ul class=\"mono\">\n");
        for call in input.ledger.calls.iter().take(MAX_CALLS) {
            let _ = writeln!(more, "<li>{}</li>", esc(&facts::call(call)));
        }
        more.push_str("</ul>\n");
        let listed = input.ledger.calls.len().saturating_sub(MAX_CALLS) as u64;
        let hidden = listed + input.ledger.left_out;
        if hidden > 0 {
            let _ = writeln!(more, "<p class=\"dim\">{hidden} more calls are not shown</p>");
        }
        let _ = writeln!(
            out,
            "<details><summary>Subjects and calls</summary>\n{more}</details>\n</details>"
        );
        out
    }
}

/// The maximum number of calls shown for an input.
const MAX_CALLS: usize = 300;

/// The maximum number of expanded inputs.
const MAX_OPEN: usize = 20;

/// Returns a violation: its message, followed by its details in small print.
fn violation(run: &Run, found: &Violation, id: &str) -> String {
    let mut out = format!("<span id=\"{id}\"></span>");
    if let Some(severity) = &found.severity {
        let class = Severity::parse(severity).map_or("unknown", facts::severity_name);
        let _ = write!(out, "<b class=\"severity {class}\">{}</b> ", esc(severity));
    }
    out.push_str(&prose(&found.message));
    let _ = write!(out, " <a class=\"dim\" href=\"#{id}\" aria-label=\"link to this\">#</a>");
    let place = found.position.as_ref().map(facts::place);
    let small = [
        found.id.as_deref().map(line),
        Some(format!("{} `{}`", facts::class(found.class), line(&found.rule))),
        place,
        facts::effect(run, found),
    ];
    let small: Vec<String> = small.into_iter().flatten().collect();
    let _ = write!(out, "<div class=\"mono dim\">{}</div>", prose(&small.join(" · ")));
    if !found.fields.is_empty() {
        out.push_str("<dl class=\"mono dim\">");
        for (name, value) in &found.fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", esc(name), esc(&value));
        }
        out.push_str("</dl>");
    }
    out
}

/// Returns the notes on the run as a whole.
fn notes(run: &Run) -> String {
    let mut out = String::new();
    if !run.notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n");
        for note in &run.notes {
            let _ = writeln!(out, "<p class=\"notice\">{}</p>", prose(note));
        }
    }
    out
}

fn waivers(run: &Run) -> String {
    let mut out = String::new();
    if !run.waivers.is_empty() {
        out.push_str("<h2>Waivers</h2>\n");
        list(&mut out, run.waivers.iter().map(|waiver| esc(&facts::waiver(waiver))));
    }
    out
}

fn provenance(run: &Run) -> String {
    let mut out = String::from("<h2>Where this comes from</h2>\n");
    // The outcome is shown at the top already.
    pairs(&mut out, facts::provenance(run).into_iter().filter(|(name, _)| *name != "outcome"));
    let source = |s: &crate::report::model::Source| esc(&format!("{} {}", s.path, s.digest));
    list(&mut out, run.sources.iter().map(source));
    out
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;

//! The difference of two runs for people, as lines and in Markdown.

use std::fmt::Write as _;

use rego_platform_client::text::counted;

use super::facts::{effect_word, outcome, place};
use super::markdown::{COMMENT, Page, code};
use super::words::line;
use crate::report::difference::{ChangedInput, Difference, Side, UnknownInput};
use crate::report::model::{Outcome, Violation};

/// The maximum number of changed inputs listed. The JSON report has all.
const MAX_INPUTS: usize = 200;

/// Returns the summary.
pub fn headline(difference: &Difference) -> String {
    let (changed, unknown) = (difference.changed.len() as u64, difference.unknown.len() as u64);
    let all = counted(difference.compared + unknown, "input");
    let mut out = match (unknown, changed) {
        (0, 0) if !difference.is_complete() => format!("unknown: {all}"),
        (0, 0) => format!("unchanged: {all}"),
        (0, _) => format!("changed: {changed} of {all}"),
        (_, 0) => format!("unknown: {unknown} of {all}"),
        _ => format!("unknown: {unknown} of {all}, {changed} changed"),
    };
    for (now, one, many) in
        [(Outcome::Failed, "now fails", "now fail"), (Outcome::Passed, "now passes", "now pass")]
    {
        match difference.now(now) {
            0 => {}
            1 => _ = write!(out, ", 1 {one}"),
            number => _ = write!(out, ", {number} {many}"),
        }
    }
    out
}

/// Returns everything as lines, the summary last.
pub fn lines(difference: &Difference) -> Vec<String> {
    let mut out = Vec::new();
    for input in difference.changed.iter().take(MAX_INPUTS) {
        out.push(format!("{}: {}", line(&input.name), change(input)));
        for policy in &input.policies {
            let name = line(&policy.policy);
            out.extend(policy.found.iter().map(|found| format!("  + {name}: {}", stated(found))));
            out.extend(policy.gone.iter().map(|gone| format!("  - {name}: {}", stated(gone))));
        }
    }
    let more = difference.changed.len().saturating_sub(MAX_INPUTS);
    if more > 0 {
        out.push(format!("{more} more changed inputs"));
    }
    out.extend(difference.unknown.iter().map(unknown));
    out.extend(failures(difference));
    out.push(headline(difference));
    out
}

/// Returns a comment on a pull request.
pub fn markdown(difference: &Difference) -> String {
    let mut page = Page::new(COMMENT);
    page.add(&format!("## Verdicts {}\n\n", headline(difference)));
    for input in difference.changed.iter().take(MAX_INPUTS) {
        let mut block = format!("- {}: {}\n", code(&input.name), change(input));
        for policy in &input.policies {
            for (what, list) in [("now", &policy.found), ("no longer", &policy.gone)] {
                for found in list {
                    let (policy, found) = (code(&policy.policy), code(&stated(found)));
                    let _ = writeln!(block, "  - {what} {policy}: {found}");
                }
            }
        }
        page.add(&block);
    }
    let more = difference.changed.len().saturating_sub(MAX_INPUTS);
    if more > 0 {
        page.add(&format!("- {more} more\n"));
    }
    if !difference.unknown.is_empty() {
        page.add("\n### No verdict\n\n");
    }
    for input in &difference.unknown {
        page.add(&format!("- {}\n", code(&unknown(input))));
    }
    for failure in failures(difference) {
        page.add(&format!("- {}\n", code(&failure)));
    }
    page.finish("in the JSON form")
}

/// Returns the reasons of runs without a verdict.
fn failures(difference: &Difference) -> Vec<String> {
    let sides = [("before", &difference.before), ("after", &difference.after)];
    let failure = |(when, side): (&str, &Side)| {
        Some(format!("no verdict {when}: {}", line(&side.failure.as_ref()?.message)))
    };
    sides.into_iter().filter_map(failure).collect()
}

/// Returns the change of the outcome.
fn change(input: &ChangedInput) -> String {
    let (before, after) = (outcome(input.before), outcome(input.after));
    if before == after {
        format!("{after} as before, for different reasons")
    } else {
        format!("{after} instead of {before}")
    }
}

/// Returns a violation with its severity, effect and place.
fn stated(found: &Violation) -> String {
    let severity = found.severity.as_ref().map(|name| format!("[{}] ", line(name)));
    let id = found.id.as_ref().filter(|id| !found.message.contains(id.as_str()));
    let id = id.map(|id| format!("{}: ", line(id)));
    let position = found.position.as_ref().map(place);
    let about: Vec<_> =
        effect_word(found.effect).map(str::to_owned).into_iter().chain(position).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let (severity, id) = (severity.unwrap_or_default(), id.unwrap_or_default());
    format!("{severity}{id}{}{about}", line(&found.message))
}

fn unknown(input: &UnknownInput) -> String {
    let word = |of: Option<Outcome>| of.map_or("not an input", outcome);
    let why = input.error.as_ref().map(|error| format!(": {}", line(&error.message)));
    let (before, after) = (word(input.before), word(input.after));
    let why = why.unwrap_or_default();
    format!("{}: {before} before, {after} after{why}", line(&input.name))
}

//! Inconclusive findings: statements that an evaluation reached and couldn't judge.
//!
//! Owns the order in which it is looked for, and its wording.

use super::policies::Evaluated;
use super::query::QueryOutput;
use super::survey::{OtherReading, Reached};
use crate::text::escape;
use crate::{Diagnostic, Error, Position};

/// Whether a result fails its input.
type Fails<'a> = &'a dyn Fn(&QueryOutput) -> bool;

impl Evaluated {
    /// Returns the error of a result that can't count as a pass, and its position: a call was reached that couldn't be
    /// made, or something else that couldn't be judged. `fails` tells a result that would fail the input. Needs
    /// [`EvaluateOptions::reached`](super::EvaluateOptions::reached).
    #[doc(hidden)]
    pub fn inconclusive(&self, fails: Fails<'_>) -> Option<(Error, Option<Position>)> {
        let reached = &self.reached;
        let (diagnostic, at) = unmade(reached)
            .or_else(|| misshapen(reached))
            .or_else(|| absent(reached))
            .or_else(|| misordered(reached))
            .or_else(|| unsaid(reached))
            .or_else(|| undecided(reached, fails))
            .or_else(|| undecoded(self))?;
        Some((Error::policy(vec![diagnostic]), at))
    }

    /// Takes the result away if it can't be relied on: something couldn't be judged, or `rule` is undefined. Needs
    /// [`EvaluateOptions::reached`](super::EvaluateOptions::reached).
    #[doc(hidden)]
    #[must_use]
    pub fn judged(mut self, rule: &str) -> Self {
        let Ok(output) = &self.result else { return self };
        let differs = |other: &QueryOutput| other.value() != output.value();
        if let Some((error, position)) = self.inconclusive(&differs) {
            let at = |found: &Diagnostic| match &position {
                Some(position) => found.clone().at(position.clone()),
                None => found.clone(),
            };
            self.result = Err(Error::policy(error.diagnostics().iter().map(at).collect()));
        } else if output.value().is_none() {
            let message = format!("rule undefined: `{}`", escape(rule));
            let hint = "name a rule that is defined for every input, such as a set of violations";
            self.result = Err(Error::policy_failed(message).with_hint(hint));
        }
        self
    }
}

/// An inconclusive finding, and its position.
type Unjudged = (Diagnostic, Option<Position>);

/// Describes the first of several findings of one kind, and the number of others.
fn problem<T>(
    all: &[T],
    code: &'static str,
    message: String,
    hint: impl Into<String>,
    at: Option<&Position>,
) -> Unjudged {
    let message = match all.len().saturating_sub(1) {
        0 => message,
        more => format!("{message} (and {more} more)"),
    };
    (Diagnostic::error(code, message).with_hint(hint), at.cloned())
}

/// Reports a call that was reached but skipped.
fn unmade(reached: &Reached) -> Option<Unjudged> {
    let call = reached.unmade.first()?;
    let of_input = call.field.as_ref().filter(|field| **field != call.operand);
    let why =
        of_input.map_or_else(String::new, |field| format!(": `{}` is missing", escape(field)));
    let operand = escape(&call.operand);
    if call.unfit {
        let message = format!(
            "call skipped: no definition of the function fits the arguments of `{operand}`"
        );
        let hint = "write a variable as the parameter, and look up its members in the body";
        return Some(problem(&reached.unmade, "unmade-call", message, hint, Some(&call.position)));
    }
    let message = format!("call skipped: argument `{operand}` is undefined{why}");
    let statement = escape(call.field.as_ref().unwrap_or(&call.operand));
    let hint = format!(
        "if the rule is only for inputs that have this value, add the statement `{statement}` before the call"
    );
    Some(problem(&reached.unmade, "unmade-call", message, hint, Some(&call.position)))
}

/// Reports an input of a shape that the policy doesn't read.
fn misshapen(reached: &Reached) -> Option<Unjudged> {
    let own = reached.misshapen.first()?;
    let what = if own.of_element { "an element of the input" } else { "the input" };
    let (reference, found) = (escape(&own.reference), with_article(own.found));
    let message = format!("can't read `{reference}`: {what} is {found}, not an object");
    let hint = "give inputs of the form that the policy is written for";
    Some(problem(&reached.misshapen, "other-shape", message, hint, Some(&own.position)))
}

/// Reports a read of a member that an object can't have.
fn absent(reached: &Reached) -> Option<Unjudged> {
    let own = reached.absent.first()?;
    let reference = escape(&own.reference);
    let message = format!("missing member: neither the gate nor the service set `{reference}`");
    let argument = reference.strip_prefix("input.args.").map(|rest| rest.split('.').next());
    let hint = match argument.flatten() {
        Some(name) => {
            format!("supply the argument `{name}`, or read it with a default: `object.get`")
        }
        None => "supply the value, or read it with a default: `object.get`".to_owned(),
    };
    Some(problem(&reached.absent, "absent-member", message, hint, Some(&own.position)))
}

/// Reports an ordering of values of different types.
fn misordered(reached: &Reached) -> Option<Unjudged> {
    let own = reached.misordered.first()?;
    let (left, right) = (with_article(own.types.0), with_article(own.types.1));
    let expression = escape(&own.expression);
    let message =
        format!("ordering of different types: `{expression}` compares {left} with {right}");
    let hint = "convert both sides to one type, as with `to_number`, or test the type in a \
                statement before: `is_number(…)`";
    Some(problem(&reached.misordered, "mixed-ordering", message, hint, Some(&own.position)))
}

/// Reports a violation whose message is undefined.
fn unsaid(reached: &Reached) -> Option<Unjudged> {
    let own = reached.unsaid.first()?;
    let operand = escape(&own.operand);
    let message = format!("violation without a message: `{operand}` is undefined");
    let hint = format!(
        "use `object.get` with a default in the message; if the rule is only for inputs that have this value, add the condition `{operand}`"
    );
    Some(problem(&reached.unsaid, "unreported-violation", message, hint, Some(&own.position)))
}

/// Reports a negated call without an operand that could be a violation.
fn undecided(reached: &Reached, fails: Fails<'_>) -> Option<Unjudged> {
    let mut readings = reached.readings.iter().filter(|reading| !reading.comparisons);
    let reading = readings.find(|reading| is_undecided(reading, fails))?;
    let all = &reading.missing;
    let Some(own) = all.first() else {
        let message = "call skipped: it depends on a value that is missing";
        let hint = "add a statement before the call that names the required member of the input";
        let at = reading.unmade.as_ref();
        return Some(problem(all, "undecided-call", message.to_owned(), hint, at));
    };
    let (expression, operand) = (escape(&own.expression), escape(&own.operand));
    let message = format!("neither true nor false: `{expression}`, since `{operand}` is missing");
    let hint = format!(
        "if the rule is only for inputs that have this value, add the statement `{operand}` before; otherwise, `import future.keywords.not`"
    );
    Some(problem(all, "undecided-negation", message, hint, Some(&own.position)))
}

fn is_undecided(reading: &OtherReading, fails: Fails<'_>) -> bool {
    reading.unmade.is_some() || fails(&reading.output)
}

/// Reports binary content that was searched as text.
fn undecoded(evaluated: &Evaluated) -> Option<Unjudged> {
    let all = &evaluated.reached.undecoded;
    let function = all.first()?;
    let mut sites = evaluated.sites().into_iter();
    let site = sites.find(|site| site.function == *function && site.reached > 0);
    let function = escape(function);
    let message =
        format!("content not decoded: an artifact of `{function}` is binary and given as base64");
    let hint = "decode it with `base64.decode`, or distinguish it from text with `json.is_valid`";
    Some(problem(all, "undecoded-content", message, hint, site.as_ref().map(|site| &site.position)))
}

/// Returns the name of a type with its article.
fn with_article(name: &str) -> String {
    match name {
        "array" | "object" => format!("an {name}"),
        "null" => name.to_owned(),
        _ => format!("a {name}"),
    }
}

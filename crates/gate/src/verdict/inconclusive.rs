//! What an evaluation couldn't judge: a policy that passed can't pass with it, or it is noted.
//!
//! Owns the order in which it is looked for, and its wording.

use rego_platform::evaluate::{Evaluated, MissingOperand, OtherReading, QueryOutput, Reached};
use rego_platform::rego::Value;
use rego_platform::rego::internal::engine::{ClosedObject, InputKind};
use rego_platform::{Diagnostic, Error, Position, Product};
use rego_platform_client::text::escape;

use crate::input::{ARGUMENTS, MetadataReader};

/// Whether a result fails its input.
type Fails<'a> = &'a dyn Fn(&QueryOutput) -> bool;

/// The functions of the service whose response is a list of rows, with the member that holds it.
const LISTS: [&str; 2] = ["evidence", "project_compliance"];

/// Describes an input to its evaluation: where its documents are, and which of its members only the gate
/// supplies.
pub(crate) fn describe(
    kind: &mut InputKind,
    reader: &MetadataReader,
    (closed, combined): (bool, bool),
) {
    kind.combined = combined;
    if closed {
        kind.closed.push(ClosedObject { member: None, except: [].into() });
    }
    let closed = |name: &str, except| ClosedObject { member: Some(Value::from(name)), except };
    // A policy document's arguments are those that it declares, with or without a value; where it declares none,
    // nothing is judged.
    match &reader.declared {
        None if reader.document => {}
        declared => kind.closed.push(closed(ARGUMENTS, declared.clone().unwrap_or_default())),
    }
    kind.closed.push(closed(&reader.product.metadata_field(), ["annotations".to_owned()].into()));
}

/// Returns the error for a policy that can't pass, and its place.
pub(crate) fn cannot_pass(
    evaluated: &Evaluated,
    fails: Fails<'_>,
) -> Option<(Error, Option<Position>)> {
    let reached = &evaluated.reached;
    let (diagnostic, at) = unmade(reached)
        .or_else(|| misshapen(reached))
        .or_else(|| absent(reached))
        .or_else(|| misordered(reached))
        .or_else(|| unsaid(reached))
        .or_else(|| undecided(reached, fails))
        .or_else(|| undecoded(evaluated))?;
    Some((Error::policy(vec![diagnostic]), at))
}

/// What couldn't be judged, and its place.
type Unjudged = (Diagnostic, Option<Position>);

/// Says how many more there are of one kind.
fn more(all: usize) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// A call that was reached couldn't be made.
fn unmade(reached: &Reached) -> Option<Unjudged> {
    let call = reached.unmade.first()?;
    let of_input = call.field.as_ref().filter(|field| **field != call.operand);
    let why =
        of_input.map_or_else(String::new, |field| format!(" for lack of `{}`", escape(field)));
    let message = format!(
        "the call isn't made: its operand `{}` is undefined{why}{}",
        escape(&call.operand),
        more(reached.unmade.len())
    );
    let statement = escape(call.field.as_ref().unwrap_or(&call.operand));
    let hint = format!(
        "if the rule is meant only for inputs that have it, say so in a statement before the \
         call: `{statement}`"
    );
    Some((Diagnostic::error("unmade-call", message).with_hint(hint), Some(call.position.clone())))
}

/// The input has another shape than the policy reads.
fn misshapen(reached: &Reached) -> Option<Unjudged> {
    let misshapen = reached.misshapen.first()?;
    let what = if misshapen.of_element { "an element of the input" } else { "the input" };
    let message = format!(
        "`{}` is read, and {what} is {}, not an object{}",
        escape(&misshapen.reference),
        with_article(misshapen.found),
        more(reached.misshapen.len())
    );
    let hint = "give the policy the documents that it is written for".to_owned();
    Some((
        Diagnostic::error("other-shape", message).with_hint(hint),
        Some(misshapen.position.clone()),
    ))
}

/// A member is read that an object can't have.
fn absent(reached: &Reached) -> Option<Unjudged> {
    let member = reached.absent.first()?;
    let reference = escape(&member.reference);
    let message = format!(
        "missing member: neither the gate nor the service set `{reference}`{}",
        more(reached.absent.len())
    );
    let hint = "give it, or read it with a default: `object.get`";
    Some((
        Diagnostic::error("absent-member", message).with_hint(hint),
        Some(member.position.clone()),
    ))
}

/// Values of different types were put in order.
fn misordered(reached: &Reached) -> Option<Unjudged> {
    let values = reached.misordered.first()?;
    let (left, right) = values.types;
    let message = format!(
        "ordering of different types: `{}` compares {} with {}{}",
        escape(&values.expression),
        with_article(left),
        with_article(right),
        more(reached.misordered.len())
    );
    let hint = "convert both sides to one type, as with `to_number`, or test the type in a \
                statement before: `is_number(…)`";
    Some((
        Diagnostic::error("mixed-ordering", message).with_hint(hint),
        Some(values.position.clone()),
    ))
}

/// The conditions of a violation hold, and its message has no value.
fn unsaid(reached: &Reached) -> Option<Unjudged> {
    let missing = reached.unsaid.first()?;
    let message = format!(
        "violation without a message: `{}` is undefined{}",
        escape(&missing.operand),
        more(reached.unsaid.len())
    );
    let hint = format!(
        "use `object.get` with a default in the message; if the rule is meant only for inputs that \
         have it, add the condition `{}`",
        escape(&missing.operand)
    );
    Some((
        Diagnostic::error("unreported-violation", message).with_hint(hint),
        Some(missing.position.clone()),
    ))
}

/// A negated call has no operand, and would make a violation.
fn undecided(reached: &Reached, fails: Fails<'_>) -> Option<Unjudged> {
    let mut readings = reached.readings.iter().filter(|reading| !reading.comparisons);
    let reading = readings.find(|reading| is_undecided(reading, fails))?;
    let Some(missing) = reading.missing.first() else {
        let message = "call not made: whether it is needed depends on something that is missing";
        let hint = "add a statement before it that names what the rule needs of the input";
        return Some((
            Diagnostic::error("undecided-call", message).with_hint(hint),
            reading.unmade.clone(),
        ));
    };
    let message = format!(
        "neither true nor false: `{}`, since `{}` is missing{}",
        escape(&missing.expression),
        escape(&missing.operand),
        more(reading.missing.len())
    );
    let hint = format!(
        "if the rule is meant only for inputs that have it, add the statement `{}` before; if not, \
         `import future.keywords.not`",
        escape(&missing.operand)
    );
    Some((
        Diagnostic::error("undecided-negation", message).with_hint(hint),
        Some(missing.position.clone()),
    ))
}

fn is_undecided(reading: &OtherReading, fails: Fails<'_>) -> bool {
    reading.unmade.is_some() || fails(&reading.output)
}

/// Content that isn't text was searched as if it were.
fn undecoded(evaluated: &Evaluated) -> Option<Unjudged> {
    let function = evaluated.reached.undecoded.first()?;
    let sites = evaluated.sites();
    let site = sites.into_iter().find(|site| site.function == *function && site.reached > 0);
    let message = format!(
        "content not decoded: an artifact of `{}` isn't text, so it is base64{}",
        escape(function),
        more(evaluated.reached.undecoded.len())
    );
    let hint = "give it to `base64.decode`, or tell it from text with `json.is_valid`";
    Some((
        Diagnostic::error("undecoded-content", message).with_hint(hint),
        site.map(|site| site.position),
    ))
}

/// Returns what is to be noted about a policy that passed.
pub(crate) fn remarks(
    policy: &str,
    evaluated: &Evaluated,
    fails: Fails<'_>,
    product: &Product,
) -> Vec<String> {
    let policy = escape(policy);
    let mut readings = evaluated.reached.readings.iter().filter(|reading| reading.comparisons);
    let missing = readings.find(|reading| is_undecided(reading, fails));
    let missing =
        missing.and_then(|reading| reading.missing.first()).map(|missing: &MissingOperand| {
            let (operand, at) = (escape(&missing.operand), &missing.position);
            format!(
                "the policy `{policy}` could have failed: `{operand}` is missing ({}:{})",
                escape(&at.file),
                at.line
            )
        });
    let empty = LISTS.into_iter().filter_map(|name| {
        let function = product.function(name);
        let mut answers = evaluated.answered().filter(|(own, _)| **own == *function);
        let (_, first) = answers.next()?;
        let is_empty = is_empty(first) || answers.any(|(_, answer)| is_empty(answer));
        is_empty.then(|| {
            format!("the policy `{policy}` passed with an empty response from `{function}`")
        })
    });
    missing.into_iter().chain(empty).collect()
}

/// Returns `true` for a response without rows.
fn is_empty(answer: &Value) -> bool {
    match answer {
        Value::Array(rows) => rows.is_empty(),
        Value::Object(fields) => {
            let mut lists = fields.values().filter_map(Value::as_array);
            lists.next().is_some_and(Vec::is_empty)
        }
        _ => false,
    }
}

/// Returns the name of a type with its article.
fn with_article(name: &str) -> String {
    match name {
        "array" | "object" => format!("an {name}"),
        "null" => name.to_owned(),
        _ => format!("a {name}"),
    }
}

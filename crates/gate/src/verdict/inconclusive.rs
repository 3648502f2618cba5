//! The gate's facts about an input, for its evaluation, and remarks about passes.
//!
//! What can't pass is decided by [`Evaluated::inconclusive`].

use std::sync::Arc;

use rego_platform::Product;
use rego_platform::check::{INPUT_FILE, SIGNERS};
use rego_platform::evaluate::{Evaluated, MissingOperand, OtherReading, QueryOutput};
use rego_platform::rego::Value;
use rego_platform::rego::internal::engine::{ClosedObject, InputKind};
use rego_platform_client::text::escape;

use crate::input::{ARGUMENTS, CLAIMS, MetadataReader, closed_members};

/// A function that returns `true` if a result fails its input.
type Fails<'a> = &'a dyn Fn(&QueryOutput) -> bool;

/// The functions of the service whose response is a list of rows, with the member that holds it.
const LISTS: [&str; 2] = ["evidence", "project_compliance"];

/// Describes an input for its evaluation: the location of its documents, and the members that only the gate
/// supplies.
pub(crate) fn describe(
    kind: &mut InputKind,
    reader: &MetadataReader,
    (closed, combined): (bool, bool),
) {
    kind.combined = combined;
    if closed {
        kind.closed.extend(closed_members());
    }
    let mut close = |name: &str, except: Arc<[String]>, required| {
        let path = vec![Value::from(name)];
        kind.closed.push(ClosedObject { path, except, required });
    };
    // A policy document's arguments are those that it declares, with or without a value; where it declares none,
    // nothing is judged.
    match &reader.declared {
        None if reader.document => {}
        None => close(ARGUMENTS, Arc::default(), true),
        Some(declared) => close(ARGUMENTS, Arc::clone(declared), false),
    }
    close(&reader.product.metadata_field(), ["annotations".to_owned()].into(), true);
    let claims = [&SIGNERS[..], &[CLAIMS]].concat();
    let paths = [&INPUT_FILE[..1], &INPUT_FILE, &SIGNERS[..1], &SIGNERS, &claims];
    kind.closed_data = paths.map(|path| path.iter().copied().map(Value::from).collect()).into();
}

/// Returns the remarks about a policy that passed.
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

fn is_undecided(reading: &OtherReading, fails: Fails<'_>) -> bool {
    reading.unmade.is_some() || fails(&reading.output)
}

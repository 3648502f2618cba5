//! Calls of the product's functions under `not`.
//!
//! A failed call ends the evaluation even under `not`, where authors expect the negation to hold.
//! And `not f(x).field` holds when the answer merely lacks the field.

use super::model::{Model, within};
use super::{File, Inspected};
use crate::Diagnostic;

/// Finds negated calls.
pub(super) fn check(all: &Inspected<'_>, file: &File<'_>, out: &mut Vec<Diagnostic>) {
    let Model { negations, calls, .. } = &file.model;
    for (list, _) in negations {
        let within = within(*list, all.product.as_str());
        for call in calls.iter().filter(|call| within.calls.contains(&call.span)) {
            let name = all.product.function(call.function.name);
            out.push(
                Diagnostic::warning("negated-call", format!("a call to `{name}` is negated"))
                    .with_hint(
                        "a failed call ends the evaluation with an error; it doesn't make `not` \
                         hold: bind the answer with `:=` and test its fields",
                    )
                    .at(all.position(call.span)),
            );
        }
    }
}

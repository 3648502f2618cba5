//! Calls of the functions under `not`.
//!
//! A call that fails ends the evaluation, also under `not`; authors expect the negation to hold.
//! And `not f(x).field` holds when the answer just lacks the field.

use super::walk::Model;
use crate::Diagnostic;
use crate::evaluate::load::{ModuleSyntax, bytes};

/// Finds negated calls.
pub(super) fn check(module: &ModuleSyntax<'_>, model: &Model<'_>, out: &mut Vec<Diagnostic>) {
    for (expr, not) in &model.negations {
        let (_, end) = bytes(expr);
        for call in model.calls_in((not.0, end)) {
            let name = module.all().product().function(call.function.name);
            out.push(
                Diagnostic::warning("negated-call", format!("a call of `{name}` is negated"))
                    .with_hint(
                        "a failed call is an error here, not a reason for `not` to hold: bind the \
                         answer with `:=` and say what it must or must not be",
                    )
                    .at(module.position(call.bytes.0, call.bytes.1)),
            );
        }
    }
}

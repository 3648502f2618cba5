//! Built-ins that are there to fail.
//!
//! The evaluation ends with an error when it reaches one, and a `with` may replace them. What is
//! missing altogether is the loader's to refuse.

use super::walk::Model;
use crate::Diagnostic;
use crate::evaluate::bounded::REFUSED;
use crate::evaluate::load::ModuleSyntax;

/// Finds calls that can only fail.
pub(super) fn check(module: &ModuleSyntax<'_>, model: &Model<'_>, out: &mut Vec<Diagnostic>) {
    for (name, _, (start, end)) in &model.builtins {
        if REFUSED.contains(name) {
            let message = format!("the built-in `{name}` only fails here");
            out.push(
                Diagnostic::error("unsupported-builtin", message)
                    .with_hint("pass what the policy needs to know as input or data")
                    .at(module.position(*start, *end)),
            );
        }
    }
}

//! Static checks: what is wrong with policies, without asking anybody.
//!
//! Owns the findings that come from the table of functions, and what authors get wrong around
//! them. What a policy can't be loaded with is the loader's to find; reports belong to the
//! command. Errors are found at every load, so that a wrong argument never reaches the service.

mod arguments;
mod capabilities;
mod fields;
mod ignore;
mod limit;
mod negation;
mod packages;
mod refused;
mod rules;
mod unused;
mod walk;

use crate::evaluate::Policies;
use crate::evaluate::load::{LoadOptions, Syntax};
use crate::evaluate::sources::Sources;
use crate::{Diagnostic, Error};

pub use capabilities::{capabilities, merged};
pub use rules::{RULES, Rule, rule};

/// Everything that is wrong with sources, tests included, by file and line; empty when nothing is.
///
/// # Errors
/// Only what keeps the sources from being looked at.
pub fn check(sources: &Sources, options: LoadOptions) -> Result<Vec<Diagnostic>, Error> {
    let found = match Policies::inspect(sources, options, &everything) {
        Ok((found, _)) => found,
        Err(error) if error.diagnostics().is_empty() => return Err(error),
        Err(error) => error.diagnostics().to_vec(),
    };
    Ok(found)
}

/// The errors among the findings: what every load looks for beside what the loader does.
pub(crate) fn errors(syntax: &Syntax<'_>) -> Vec<Diagnostic> {
    let found = syntax.for_each(Syntax::calls_functions, |module| {
        let mut found = Vec::new();
        arguments::check(module, &walk::walk(module), &mut found);
        found
    });
    found.into_iter().flatten().collect()
}

fn everything(syntax: &Syntax<'_>) -> Vec<Diagnostic> {
    let cut = syntax
        .for_each(Syntax::calls_functions, |module| limit::direct(module, &walk::walk(module)));
    let cut = limit::CutRules::new(syntax, cut.into_iter().flatten().collect());
    let all = syntax.for_each(
        |_, _| true,
        |module| {
            let mut found = Vec::new();
            let model = walk::walk(module);
            arguments::check(module, &model, &mut found);
            fields::check(module, &model, &mut found);
            negation::check(module, &model, &mut found);
            refused::check(module, &model, &mut found);
            unused::imports(module, &mut found);
            unused::variables(module, &model, &mut found);
            // What tests put in place of an answer isn't cut.
            if !module.is_test() {
                limit::check(module, &model, &cut, &mut found);
            }
            (found, ignore::comments(module))
        },
    );
    let mut found = Vec::new();
    let mut ignores = Vec::new();
    for (findings, comments) in all {
        found.extend(findings);
        ignores.extend(comments);
    }
    packages::check(syntax, &mut found);
    ignore::apply(ignores, &mut found);
    found
}

//! The values of documents that a statement refers to.
//!
//! Owns evaluating a reference by itself, with the statement's replacements. The answers of calls
//! are those of the evaluation that is explained; nothing is asked again.

use std::time::Instant;

use crate::Error;
use crate::evaluate::{EvaluateOptions, Policies};
use crate::rego::Value;
use crate::rego::internal::compile::QueryContext;
use crate::rego::syntax::tree::{Module, Term, With};
use crate::rego::syntax::visit;

/// The code of a variable that nothing binds.
const UNSAFE: &str = "unsafe-variable";

/// The static knowledge about the value of a term.
#[derive(Debug)]
pub(crate) enum Found {
    /// A document with its value, `None` if it is undefined.
    Document(Option<Value>),
    /// A term that is or contains a variable of the rule.
    Local,
    /// A term that can't be evaluated by itself.
    Unknown,
}

/// Evaluates references to documents.
pub(crate) struct Documents<'a> {
    pub policies: &'a Policies,
    pub input: Option<&'a Value>,
    /// Options that replay the answers of the evaluation.
    pub options: &'a EvaluateOptions,
    /// The time at which the evaluation stops.
    pub until: Instant,
}

impl Documents<'_> {
    /// Returns the value that a term of a module has with the replacements of its statement.
    pub fn value(&self, module: &Module, with: &[&With], term: &Term) -> Found {
        let texts = self.policies.program().sources();
        let mut text = format!("[found__ | found__ := {}", texts.text(term.span));
        for with in with {
            text.push(' ');
            text.push_str(texts.text(with.span));
        }
        text.push_str("\n]");
        let context = QueryContext {
            package: Some(module.package.clone()),
            imports: module.imports.clone(),
            ..QueryContext::default()
        };
        let mut names = visit::vars(term);
        for with in with {
            names.extend(visit::vars(&with.value));
        }
        if names.iter().any(|name| self.is_local(name, &context)) {
            return Found::Local;
        }
        let Ok(query) = self.policies.query_in(&text, &context) else { return Found::Unknown };
        if Instant::now() >= self.until {
            return Found::Unknown;
        }
        let evaluated = self.policies.evaluate(&query, self.input, self.options);
        let Ok(answer) = evaluated.result else { return Found::Unknown };
        match answer.value().and_then(Value::as_array) {
            Some(found) => Found::Document(found.first().cloned()),
            None => Found::Unknown,
        }
    }
    /// Returns `true` for the name of neither a document nor a function.
    fn is_local(&self, name: &str, context: &QueryContext) -> bool {
        let is_unsafe = |error: Error| error.diagnostics().iter().any(|d| d.code == UNSAFE);
        !matches!(name, "data" | "input")
            && crate::rego::internal::builtins::lookup(name).is_none()
            && self.policies.query_in(name, context).is_err_and(is_unsafe)
    }
}

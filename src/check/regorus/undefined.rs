//! Operands that may be undefined, where regorus goes on and OPA doesn't.

use std::collections::HashSet;

use super::{Places, View};
use crate::check::File;
use crate::check::model::{data_path, function_name};
use crate::load::RuleKind;
use crate::rego::internal::builtins::lookup;
use crate::rego::internal::types::terms;
use crate::rego::syntax::tree::{Body, Expr, ExprKind, Rule, Span, Term, TermKind};
use crate::rego::syntax::visit::{self, Visit};
use crate::rego::value::Value;

/// The most functions whose values are followed.
const MAX_DEPTH: usize = 8;

/// The references that are certainly defined in a file.
struct Defined<'v> {
    view: &'v View<'v>,
    references: HashSet<Span>,
    /// References that other statements of the current rule or body require: without them it has no result.
    asked: Vec<Term>,
}

impl<'v> Defined<'v> {
    fn new(view: &'v View<'_>, at: usize, file: &File<'_>) -> Defined<'v> {
        let is_defined = |term: &&&Term| {
            let is_local = !is_document_path(term);
            let of_local = || view.types.infer(at, term).is_some_and(|shape| !shape.optional);
            is_local && of_local() || view.constants.find(term).is_some() || is_document(view, term)
        };
        let references = file.model.references.iter().map(|(_, term)| term);
        let references = references.filter(is_defined).map(|term| term.span).collect();
        Defined { view, references, asked: Vec::new() }
    }

    /// Returns `true` if a term may be undefined.
    fn lacks(&self, term: &Term, depth: usize) -> bool {
        match &term.kind {
            TermKind::Ref(_) => {
                let asked = || self.asked.iter().any(|other| terms::compare(other, term).is_eq());
                !self.references.contains(&term.span) && !asked()
            }
            TermKind::Call(terms) => self.call_lacks(terms, depth),
            TermKind::Array(items) | TermKind::Set(items) => {
                items.iter().any(|item| self.lacks(item, depth))
            }
            TermKind::Object(members) => members
                .iter()
                .any(|(key, value)| self.lacks(key, depth) || self.lacks(value, depth)),
            TermKind::Group(inner) => self.lacks(inner, depth),
            _ => false,
        }
    }

    fn call_lacks(&self, terms: &[Term], depth: usize) -> bool {
        let Some((operator, arguments)) = terms.split_first() else { return false };
        let lacking = arguments.iter().any(|argument| self.lacks(argument, depth));
        let Some(name) = function_name(operator) else { return true };
        match name.strip_prefix("data.") {
            Some(path) => lacking || !self.is_total(path, depth),
            None => lacking || lookup(&name).is_none() && !self.is_service(&name),
        }
    }

    fn is_service(&self, name: &str) -> bool {
        let prefix = self.view.all.product.as_str();
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Returns `true` for a policy's function that has a value for all arguments.
    fn is_total(&self, path: &str, depth: usize) -> bool {
        let path: Vec<&str> = path.split('.').collect();
        let mut definitions = self.view.rules.get(&path).into_iter().flatten();
        definitions.any(|(_, rule)| rule.default || depth > 0 && self.always_holds(rule, depth - 1))
    }

    fn always_holds(&self, rule: &Rule, depth: usize) -> bool {
        let accepts_all = rule.head.args.iter().all(|arg| matches!(arg.kind, TermKind::Var(_)));
        let value = rule.head.value.as_ref();
        accepts_all && rule.generated_body && value.is_none_or(|value| !self.lacks(value, depth))
    }
}

/// Returns `true` for a reference to a document that always exists: a set or an object, a rule with a
/// default, loaded data.
fn is_document(view: &View<'_>, term: &Term) -> bool {
    let TermKind::Ref(parts) = &term.kind else { return false };
    // The input itself is always there.
    if parts.len() == 1 {
        return true;
    }
    let Some(path) = data_path(term) else { return false };
    if path.is_empty() || path.len() + 1 != parts.len() {
        return false;
    }
    let mut rules = view.all.packages.iter().flat_map(|package| &package.rules);
    let is_rule = rules.any(|rule| {
        let whole = rule.path.iter().eq(path.iter().map(|(key, _)| key));
        let always = matches!(rule.kind, RuleKind::PartialSet | RuleKind::PartialObject);
        whole && (always || rule.has_default)
    });
    let is_loaded =
        |value: &Value| path.iter().try_fold(value, |value, (key, _)| value.get_str(key)).is_some();
    is_rule || view.all.data.iter().any(|data| is_loaded(&data.value))
}

/// Finds negated calls that OPA takes apart, so that an operand's absence isn't negated. An equality
/// stays whole, except for what is within its operands.
pub(super) fn negated(view: &View<'_>, out: &mut Places) {
    for (at, file) in &view.files {
        let mut negations = Negations { defined: Defined::new(view, *at, file), out };
        for rule in &file.module.rules {
            negations.rule(rule);
        }
    }
}

struct Negations<'v, 'o> {
    defined: Defined<'v>,
    out: &'o mut Places,
}

impl Negations<'_, '_> {
    fn lacks(&self, term: &Term) -> bool {
        self.defined.lacks(term, MAX_DEPTH)
    }

    /// Returns `true` if something within an operand may be undefined.
    fn lacks_within(&self, term: &Term) -> bool {
        let TermKind::Ref(parts) = &term.kind else { return self.lacks(term) };
        let computed = |head: &&Term| !matches!(head.kind, TermKind::Var(_));
        let (head, keys) = (parts.first().filter(computed), parts.get(1..).unwrap_or_default());
        head.into_iter().chain(keys).any(|part| self.lacks(part))
    }

    fn is_taken_apart(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Term(term) => self.lacks_within(term),
            ExprKind::Call(terms) => {
                let name = terms.first().and_then(function_name);
                let mut operands = terms.iter().skip(1);
                match name.as_deref() {
                    Some("eq" | "equal") => operands.any(|operand| self.lacks_within(operand)),
                    _ => operands.any(|operand| self.lacks(operand)),
                }
            }
            _ => false,
        }
    }

    /// Notes the references of a term, except those in closures.
    fn ask(&mut self, term: &Term) {
        visit::walk_terms(term, &mut |term| {
            if let TermKind::Ref(_) = &term.kind {
                self.defined.asked.push(term.clone());
            }
            !matches!(term.kind, TermKind::Comprehension(..))
        });
    }
}

impl Visit for Negations<'_, '_> {
    fn rule(&mut self, rule: &Rule) {
        let before = self.defined.asked.len();
        let head = rule.head.key.iter().chain(&rule.head.value);
        head.chain(rule.head.reference.iter().skip(1)).for_each(|term| self.ask(term));
        self.body(&rule.body);
        self.head(&rule.head);
        self.defined.asked.truncate(before);
        if let Some(next) = &rule.else_rule {
            self.rule(next);
        }
    }

    fn body(&mut self, body: &Body) {
        let before = self.defined.asked.len();
        for expr in body.iter().filter(|expr| !expr.negated && expr.with.is_empty()) {
            match &expr.kind {
                ExprKind::Term(term) => self.ask(term),
                ExprKind::Call(terms) => terms.iter().for_each(|term| self.ask(term)),
                _ => {}
            }
        }
        visit::walk_body(self, body);
        self.defined.asked.truncate(before);
    }

    fn expr(&mut self, expr: &Expr) {
        if expr.negated && self.is_taken_apart(expr) {
            let message = "an operand of the negated call may be undefined";
            self.out.push((expr.span, message.to_owned()));
        }
        visit::walk_expr(self, expr);
    }
}

/// Finds values of membership, which regorus makes false where an operand is undefined.
pub(super) fn membership(view: &View<'_>, out: &mut Places) {
    for (at, file) in &view.files {
        let defined = Defined::new(view, *at, file);
        visit::walk_terms(file.module, &mut |term| {
            if let TermKind::Call(terms) = &term.kind
                && let Some((operator, operands)) = terms.split_first()
                && matches!(
                    function_name(operator).as_deref(),
                    Some("internal.member_2" | "internal.member_3")
                )
                && operands.iter().any(|operand| defined.lacks(operand, MAX_DEPTH))
                && !is_declared(file, term.span)
            {
                out.push((term.span, "an operand of `in` may be undefined".to_owned()));
            }
            true
        });
    }
}

/// Returns `true` for the membership that a `some` declares.
fn is_declared(file: &File<'_>, span: Span) -> bool {
    let mut found = false;
    visit::walk_exprs(file.module, &mut |expr| {
        if let ExprKind::Some(some) = &expr.kind {
            found |= some.symbols.iter().any(|symbol| symbol.span == span);
        }
        true
    });
    found
}

/// Finds values of `with` that may be undefined, before another `with` of the statement.
pub(super) fn with_values(view: &View<'_>, out: &mut Places) {
    for (at, file) in &view.files {
        let defined = Defined::new(view, *at, file);
        visit::walk_exprs(file.module, &mut |expr| {
            if let Some((_, earlier)) = expr.with.split_last() {
                for with in earlier {
                    if defined.lacks(&with.value, MAX_DEPTH) && is_document_path(&with.target) {
                        let message = "the value of an earlier `with` may be undefined";
                        out.push((with.span, message.to_owned()));
                    }
                }
            }
            true
        });
    }
}

/// Returns `true` for a path that begins with `input` or `data`.
pub(super) fn is_document_path(term: &Term) -> bool {
    let head = match &term.kind {
        TermKind::Ref(parts) => parts.first(),
        _ => Some(term),
    };
    head.is_some_and(
        |head| matches!(&head.kind, TermKind::Var(name) if matches!(&**name, "input" | "data")),
    )
}

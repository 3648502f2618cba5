//! Patterns, heads, declarations and literals.

use std::collections::{BTreeSet, HashMap};

use super::undefined::is_document_path;
use super::{Places, View};
use crate::check::File;
use crate::check::model::{Binding, function_name};
use crate::rego::internal::builtins::lookup;
use crate::rego::syntax::tree::{Body, Expr, ExprKind, Name, Rule, Term, TermKind};
use crate::rego::syntax::visit::{self, Visit};

/// Finds objects as patterns: in `some … in`, on the left of `:=`, unified with something, as an
/// argument.
pub(super) fn object_patterns(view: &View<'_>, out: &mut Places) {
    let mut report = |term: &Term| {
        if let Some(object) = object_in(term) {
            out.push((object.span, "an object as a pattern".to_owned()));
        }
    };
    for (_, file) in &view.files {
        visit::walk_rules(file.module, &mut |rule| rule.head.args.iter().for_each(&mut report));
        visit::walk_exprs(file.module, &mut |expr| {
            match &expr.kind {
                ExprKind::Some(some) => {
                    for symbol in &some.symbols {
                        if let TermKind::Call(terms) = &symbol.kind {
                            let pattern = terms.get(1..terms.len().saturating_sub(1));
                            pattern.unwrap_or_default().iter().for_each(&mut report);
                        }
                    }
                }
                ExprKind::Call(terms) => {
                    if let [operator, left, right] = terms.as_slice()
                        && function_name(operator).as_deref() == Some("eq")
                    {
                        for (pattern, other) in [(left, right), (right, left)] {
                            if has_variable(pattern, &|_| true) && !is_made(file, pattern, other) {
                                report(pattern);
                            }
                        }
                    }
                }
                _ => {}
            }
            true
        });
    }
}

/// Returns the first object in a pattern.
fn object_in(term: &Term) -> Option<&Term> {
    match &term.kind {
        TermKind::Object(_) => Some(term),
        TermKind::Array(items) => items.iter().find_map(object_in),
        _ => None,
    }
}

/// Returns `true` if a pattern has a variable that is `wanted`.
fn has_variable(pattern: &Term, wanted: &dyn Fn(&Name) -> bool) -> bool {
    match &pattern.kind {
        TermKind::Var(name) => wanted(name),
        TermKind::Array(items) => items.iter().any(|item| has_variable(item, wanted)),
        TermKind::Object(members) => members.iter().any(|(_, value)| has_variable(value, wanted)),
        _ => false,
    }
}

/// Returns `true` if a statement gives a variable this value.
fn is_made(file: &File<'_>, value: &Term, variable: &Term) -> bool {
    let TermKind::Var(name) = &variable.kind else { return false };
    let found = file.model.variable(name, variable.span).map(|found| found.binding);
    matches!(found, Some(Binding::Value(bound)) if bound.span == value.span)
}

/// Finds heads with a variable or an expression in their path, unless it is the only key of an object.
pub(super) fn heads(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        for rule in &file.author.rules {
            let keys = rule.head.reference.get(1..).unwrap_or_default();
            let is_constant = |key: &Term| {
                let raw = view.all.sources.text(key.span).starts_with('`');
                matches!(key.kind, TermKind::String(_)) && !raw
            };
            let several = keys.len() > 1 || rule.head.has_contains;
            if let Some(key) = keys.iter().find(|key| several && !is_constant(key)) {
                out.push((key.span, "a variable in the path of a head".to_owned()));
            }
        }
    }
}

/// Finds `with` on `some … in`.
pub(super) fn with_on_some(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        visit::walk_exprs(file.author, &mut |expr| {
            if matches!(expr.kind, ExprKind::Some(_)) && !expr.with.is_empty() {
                out.push((expr.span, "`with` on `some … in`".to_owned()));
            }
            true
        });
    }
}

/// Finds `some x in` where `x` is a rule of the package, or declared around the body, and declarations of
/// `input` and `data`.
pub(super) fn shadows(view: &View<'_>, out: &mut Places) {
    for package in view.all.packages {
        let files: Vec<_> = view.files_of(package).collect();
        let rules = files.iter().flat_map(|file| &file.author.rules);
        let names = rules.filter_map(|rule| rule.head.reference.first());
        let names: BTreeSet<Name> = names.flat_map(visit::vars).collect();
        for rule in files.iter().flat_map(|file| &file.author.rules) {
            Shadows { outer: names.clone(), declared: BTreeSet::new(), out }.rule(rule);
        }
    }
}

struct Shadows<'o> {
    /// The variables that are declared around the current body.
    outer: BTreeSet<Name>,
    /// The variables that are declared in it so far.
    declared: BTreeSet<Name>,
    out: &'o mut Places,
}

impl Visit for Shadows<'_> {
    fn rule(&mut self, rule: &Rule) {
        for argument in &rule.head.args {
            self.declared.extend(visit::vars(argument));
        }
        // The head is evaluated with the variables of its body.
        let declared = self.declared.clone();
        for expr in &rule.body {
            self.expr(expr);
        }
        self.head(&rule.head);
        self.declared = declared;
        if let Some(next) = &rule.else_rule {
            self.rule(next);
        }
    }

    fn body(&mut self, body: &Body) {
        let outer = self.outer.clone();
        let declared = std::mem::take(&mut self.declared);
        self.outer.extend(declared.iter().cloned());
        visit::walk_body(self, body);
        (self.outer, self.declared) = (outer, declared);
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Some(some) => {
                for symbol in &some.symbols {
                    let patterns = match &symbol.kind {
                        TermKind::Call(terms) => terms.get(1..terms.len().saturating_sub(1)),
                        _ => None,
                    };
                    if let TermKind::Var(name) = &symbol.kind
                        && matches!(&**name, "input" | "data")
                    {
                        self.out.push((symbol.span, format!("`{name}` as a variable")));
                    }
                    for pattern in patterns.unwrap_or_default() {
                        for name in visit::vars(pattern) {
                            if self.outer.contains(&name) {
                                let message = format!("`{name}` is declared outside too");
                                self.out.push((pattern.span, message));
                            }
                        }
                    }
                }
                visit::walk_expr(self, expr);
                for symbol in &some.symbols {
                    let patterns = match &symbol.kind {
                        TermKind::Call(terms) => {
                            terms.get(1..terms.len().saturating_sub(1)).unwrap_or_default()
                        }
                        _ => std::slice::from_ref(symbol),
                    };
                    self.declared.extend(patterns.iter().flat_map(visit::vars));
                }
            }
            ExprKind::Call(terms) => {
                visit::walk_expr(self, expr);
                if let [operator, left, _] = terms.as_slice()
                    && function_name(operator).as_deref() == Some("assign")
                {
                    self.declared.extend(visit::vars(left));
                }
            }
            _ => visit::walk_expr(self, expr),
        }
    }
}

/// Finds `=` with the variable of an `every`, also as an item of an array.
pub(super) fn every(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        // Each of them has a name of its own by now.
        let mut declared: BTreeSet<Name> = BTreeSet::new();
        visit::walk_exprs(file.module, &mut |expr| {
            if let ExprKind::Every(every) = &expr.kind {
                let terms = every.key.iter().chain([&every.value]);
                declared.extend(terms.flat_map(visit::vars));
            }
            true
        });
        let binds = |pattern: &Term| has_variable(pattern, &|name| declared.contains(name));
        visit::walk_exprs(file.module, &mut |expr| {
            if let ExprKind::Call(terms) = &expr.kind
                && let [operator, left, right] = terms.as_slice()
                && function_name(operator).as_deref() == Some("eq")
                && view.all.sources.text(operator.span) == "="
                && (binds(left) || binds(right))
            {
                out.push((expr.span, "`=` with the variable of an `every`".to_owned()));
            }
            true
        });
    }
}

/// Finds `with` whose value has a variable that is mentioned there first.
pub(super) fn open_variables(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        for rule in &file.module.rules {
            let mut first: HashMap<Name, u32> = HashMap::new();
            visit::walk_terms(rule, &mut |term| {
                if let TermKind::Var(name) = &term.kind {
                    let at = first.entry(Name::clone(name)).or_insert(u32::MAX);
                    *at = term.span.start.min(*at);
                }
                true
            });
            visit::walk_exprs(rule, &mut |expr| {
                for with in expr.with.iter().filter(|with| is_document_path(&with.target)) {
                    let within = with.span.start..with.span.end;
                    let mut open = Vec::new();
                    each_operand(&with.value, &mut |name| {
                        if lookup(name).is_none()
                            && first.get(name).is_some_and(|at| within.contains(at))
                        {
                            open.push(name);
                        }
                    });
                    if let Some(name) = open.first() {
                        let name = view.all.author_name(name);
                        out.push((
                            with.span,
                            format!("`{name}` has no value before this statement"),
                        ));
                    }
                }
                true
            });
        }
    }
}

/// Calls `work` with each variable of a term, apart from the heads of references and operators.
fn each_operand<'t>(term: &'t Term, work: &mut dyn FnMut(&'t Name)) {
    match &term.kind {
        TermKind::Var(name) => work(name),
        TermKind::Ref(parts) | TermKind::Call(parts) => {
            for part in parts.iter().skip(1) {
                each_operand(part, work);
            }
        }
        TermKind::Array(items) | TermKind::Set(items) => {
            for item in items {
                each_operand(item, work);
            }
        }
        TermKind::Object(members) => {
            for (key, value) in members {
                each_operand(key, work);
                each_operand(value, work);
            }
        }
        _ => {}
    }
}

/// Finds rules with a second body.
pub(super) fn bodies(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        // Such a body is a rule of its own, without a written head.
        let rules = file.author.rules.iter();
        for rule in rules.filter(|rule| !rule.generated_body && rule.head.span == rule.span) {
            out.push((rule.span, "a second body of a rule".to_owned()));
        }
    }
}

/// The depth of literals at which parsing takes noticeably long.
const DEEP: usize = 12;

/// Finds literals that are nested deeply.
pub(super) fn nesting(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        visit::walk_terms(file.author, &mut |term| {
            let deep = depth(term, DEEP) >= DEEP;
            if deep {
                out.push((term.span, "literals nested deeply".to_owned()));
            }
            !deep
        });
    }
}

/// Returns the depth of literals within a term, up to `most`.
fn depth(term: &Term, most: usize) -> usize {
    if most == 0 {
        return 0;
    }
    let deepest = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or_default();
    match &term.kind {
        TermKind::Array(items) | TermKind::Set(items) => {
            deepest(&mut items.iter().map(|item| depth(item, most - 1)))
        }
        TermKind::Object(members) => {
            deepest(&mut members.iter().map(|(_, value)| depth(value, most - 1)))
        }
        TermKind::Group(inner) => depth(inner, most),
        _ => 0,
    }
}

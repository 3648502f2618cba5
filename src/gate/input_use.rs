//! The way in which a rule uses `input`.
//!
//! Owns following a path below `input` through the variables of a rule, and what it requires: a
//! field requires an object, of the input itself or, with combined inputs, of each one's contents.
//! Which rules matter for a verdict belongs to `reach`.

use std::collections::{BTreeMap, BTreeSet};

use crate::rego::syntax::tree::{Every, Expr, ExprKind, Name, Span, Term, TermKind, With};
use crate::rego::syntax::visit::{Visit, walk_expr, walk_term, walk_with};

/// The way in which policies use a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InputUse {
    /// Not at all.
    #[default]
    None,
    /// By references to its fields only, which require an object.
    Fields,
    /// As a whole, or by a key that may be an index.
    Whole,
}

/// The use of a document, with the fields that are named.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentUse {
    pub how: InputUse,
    pub fields: BTreeSet<String>,
}

/// The use of `input`, and of each one's `contents` if it is the array of combined inputs.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleInput {
    pub alone: DocumentUse,
    pub contents: DocumentUse,
}

impl DocumentUse {
    fn extend(&mut self, other: &Self) {
        self.how = self.how.max(other.how);
        self.fields.extend(other.fields.iter().cloned());
    }

    /// Returns `true` if one of these fields is named.
    pub fn names(&self, fields: &[&str]) -> bool {
        fields.iter().any(|field| self.fields.contains(*field))
    }

    /// Adds the use of a path below the document.
    fn path(&mut self, path: &[Step]) {
        let how = match path.first() {
            Some(Step::Name(name)) => {
                self.fields.insert(name.clone());
                InputUse::Fields
            }
            _ => InputUse::Whole,
        };
        self.how = self.how.max(how);
    }
}

impl RuleInput {
    pub fn extend(&mut self, other: &Self) {
        self.alone.extend(&other.alone);
        self.contents.extend(&other.contents);
    }

    fn path(&mut self, path: &[Step]) {
        self.alone.path(path);
        // Policy documents get arrays in an object.
        let elements = match path {
            [Step::Name(name), rest @ ..] if name == "elements" => rest,
            [Step::Name(_), ..] => return,
            _ => path,
        };
        match elements {
            [_, Step::Name(part), rest @ ..] if part == "contents" => self.contents.path(rest),
            [_, Step::Name(_), ..] => {}
            _ => self.contents.how = InputUse::Whole,
        }
    }
}

/// A step of a path: a field's name, or anything else.
#[derive(Debug, Clone)]
enum Step {
    Name(String),
    Any,
}

/// The most variables between `input` and a reference.
const MAX_ALIASES: usize = 32;

/// A variable that stands for a reference.
#[derive(Debug)]
struct Alias {
    head: Name,
    steps: Vec<Step>,
    /// The statement that defines it.
    span: Span,
}

fn steps(operands: &[Term]) -> impl Iterator<Item = Step> {
    operands.iter().map(|term| match &term.kind {
        TermKind::String(name) => Step::Name(name.to_string()),
        _ => Step::Any,
    })
}

fn var(term: &Term) -> Option<&Name> {
    match &term.kind {
        TermKind::Var(name) => Some(name),
        _ => None,
    }
}

/// Returns the variable at the head of a reference, and its operands.
fn reference(term: &Term) -> Option<(&Name, &[Term])> {
    match &term.kind {
        TermKind::Var(name) => Some((name, &[])),
        TermKind::Ref(parts) => {
            let (head, operands) = parts.split_first()?;
            Some((var(head)?, operands))
        }
        _ => None,
    }
}

/// Returns `true` for the name of a function without dots.
fn is_function(operator: &Term, name: &str) -> bool {
    matches!(reference(operator), Some((it, [])) if **it == *name)
}

/// Returns the variables that a statement may define, each with the term whose value it gets.
fn definitions(expr: &Expr) -> Vec<(&Name, &Term)> {
    let ExprKind::Call(terms) = &expr.kind else { return Vec::new() };
    let [operator, left, right] = terms.as_slice() else { return Vec::new() };
    if !is_function(operator, "eq") || expr.negated || !expr.with.is_empty() {
        return Vec::new();
    }
    let right_defined = var(right).filter(|_| !expr.from_assignment || var(left).is_none());
    let left = var(left)
        .map(|name| (name, right))
        .into_iter()
        .chain(right_defined.map(|name| (name, left)));
    left.filter(|(name, _)| ***name != *"input").collect()
}

/// A visitor that collects the variables that stand for references.
#[derive(Debug, Default)]
struct Aliases {
    found: BTreeMap<Name, Alias>,
    /// Variables with several statements, of which all but one compare.
    compared: BTreeSet<Name>,
    defined: BTreeSet<Name>,
}

impl Aliases {
    fn add(&mut self, name: &Name, of: &Term, more: Option<Step>, span: Span) {
        if !self.defined.insert(name.clone()) {
            self.compared.insert(name.clone());
        }
        let Some((head, operands)) = reference(of) else { return };
        let steps = steps(operands).chain(more).collect();
        self.found.insert(name.clone(), Alias { head: head.clone(), steps, span });
    }

    fn get(&self, name: &Name) -> Option<&Alias> {
        self.found.get(name).filter(|_| !self.compared.contains(name))
    }

    /// Returns the path below `input` that a variable stands for, and the variables on the way.
    fn path(&self, name: &Name) -> Option<(Vec<Step>, Vec<Name>)> {
        let (mut parts, mut names) = (Vec::new(), Vec::new());
        let mut at = name;
        while **at != *"input" {
            let alias = self.get(at).filter(|_| names.len() < MAX_ALIASES)?;
            names.push(at.clone());
            parts.push(alias.steps.as_slice());
            at = &alias.head;
        }
        Some((parts.into_iter().rev().flatten().cloned().collect(), names))
    }
}

impl Visit for Aliases {
    fn expr(&mut self, expr: &Expr) {
        for (name, term) in definitions(expr) {
            self.add(name, term, None, expr.span);
        }
        if let ExprKind::Every(every) = &expr.kind {
            let Every { value, domain, .. } = &**every;
            if let Some(name) = var(value) {
                self.add(name, domain, Some(Step::Any), expr.span);
            }
        }
        walk_expr(self, expr);
    }
}

/// A visitor that collects references to `input` and `data`.
#[derive(Default)]
pub(super) struct ReferenceVisitor {
    pub input: RuleInput,
    /// The paths below `data`, with their positions.
    pub data: Vec<(Vec<String>, Span)>,
    aliases: Aliases,
    used: BTreeSet<Name>,
}

impl ReferenceVisitor {
    /// Visits a rule.
    pub fn of(rule: &crate::rego::syntax::tree::Rule) -> Self {
        let mut visitor = Self::default();
        visitor.aliases.rule(rule);
        visitor.rule(rule);
        // A variable that nothing refers to: its statement still needs the value.
        let unused = visitor.aliases.found.keys().filter(|name| !visitor.used.contains(*name));
        let unused: Vec<_> = unused.filter_map(|name| visitor.aliases.path(name)).collect();
        for (path, _) in unused {
            visitor.input.path(&path);
        }
        visitor
    }

    /// Returns the path below `input` of a reference.
    fn path(&mut self, term: &Term) -> Option<Vec<Step>> {
        let (head, operands) = reference(term)?;
        let (mut path, names) = self.aliases.path(head)?;
        self.used.extend(names);
        path.extend(steps(operands));
        Some(path)
    }

    /// Returns `true` if a statement only gives a part of `input` a name.
    fn is_alias(&self, name: &Name, span: Span) -> bool {
        self.aliases.get(name).is_some_and(|alias| alias.span == span)
            && self.aliases.path(name).is_some()
    }

    fn operands(&mut self, term: &Term) {
        for part in reference(term).map_or(&[][..], |(_, operands)| operands) {
            self.term(part);
        }
    }

    /// Visits a call that needs only the size of its argument. Returns `false` for others.
    fn count(&mut self, terms: &[Term]) -> bool {
        let [operator, argument, rest @ ..] = terms else { return false };
        if !is_function(operator, "count") {
            return false;
        }
        let Some(path) = self.path(argument) else { return false };
        match path.as_slice() {
            // The number of combined inputs.
            [] => self.input.alone.path(&path),
            _ => self.input.path(&path),
        }
        self.operands(argument);
        for term in rest {
            self.term(term);
        }
        true
    }
}

impl Visit for ReferenceVisitor {
    fn term(&mut self, term: &Term) {
        if let Some(path) = self.path(term) {
            self.input.path(&path);
            return self.operands(term);
        }
        match &term.kind {
            TermKind::Var(name) if **name == *"data" => self.data.push((Vec::new(), term.span)),
            TermKind::Ref(parts) => {
                let Some((head, rest)) = parts.split_first() else { return };
                match &head.kind {
                    TermKind::Var(name) if **name == *"data" => {
                        let keys = rest.iter().map_while(|part| match &part.kind {
                            TermKind::String(key) => Some(key.to_string()),
                            _ => None,
                        });
                        self.data.push((keys.collect(), term.span));
                    }
                    _ => self.term(head),
                }
                for part in rest {
                    self.term(part);
                }
            }
            TermKind::Call(terms) if self.count(terms) => {}
            _ => walk_term(self, term),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(terms) if expr.with.is_empty() && self.count(terms) => return,
            ExprKind::Every(every) if self.is_every(every, expr.span) => {
                self.operands(&every.domain);
                for with in &expr.with {
                    self.with(with);
                }
                return self.body(&every.body);
            }
            _ => {}
        }
        for (name, term) in definitions(expr) {
            if self.is_alias(name, expr.span) {
                return self.operands(term);
            }
        }
        walk_expr(self, expr);
    }

    fn with(&mut self, with: &With) {
        // Replacing `input` doesn't use it.
        match reference(&with.target) {
            Some((name, operands)) if operands.is_empty() || **name == *"input" => {
                self.term(&with.value);
            }
            _ => walk_with(self, with),
        }
    }
}

impl ReferenceVisitor {
    fn is_every(&self, every: &Every, span: Span) -> bool {
        var(&every.value).is_some_and(|name| self.is_alias(name, span))
    }
}

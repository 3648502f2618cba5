//! Declarations and references of a text.
//!
//! A name is local to its rule if the rule declares it (an argument, `some`, `:=`), else it is that of an
//! import or of a rule of the package. Which rule a path leads to is known only with all files: the longest
//! beginning of it that is declared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rego::BaseVersion;
use rego::syntax::tree::{Expr, ExprKind, Module, Rule, Span, Term, TermKind};
use rego::syntax::visit::{Visit, walk_expr, walk_rule, walk_term};
use rego::syntax::{ParseOptions, parse_module};

use crate::text::Text;

/// The names of a module.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The path of the package, without `data`.
    pub package: Vec<String>,
    /// The imports of data, by the names that they give.
    pub imports: BTreeMap<String, Imported>,
    pub rules: Vec<Declared>,
    pub used: Vec<Used>,
}

/// An import of data.
#[derive(Debug)]
pub(crate) struct Imported {
    pub path: Vec<String>,
    /// The end of the path.
    pub end: usize,
    /// The name after `as`.
    pub alias: Option<(usize, usize)>,
}

/// A name within a path, with its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub span: (usize, usize),
    /// The number of path elements up to this name: two for `trusted` in `lib.trusted`, of `["lib",
    /// "trusted"]`; none for `data`, and for a name that an import gives with `as`.
    pub names: usize,
    /// `true` for the name that an import gives.
    pub is_import: bool,
}

/// A definition of a rule.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The path below `data`.
    pub path: Vec<String>,
    pub parts: Vec<Part>,
    /// The first bytes of its head and of the rest.
    pub head: (usize, usize),
    /// The whole definition.
    pub span: (usize, usize),
    /// The arguments, if it is a function.
    pub arguments: Option<Vec<String>>,
    pub is_test: bool,
}

/// A name that is used.
#[derive(Debug)]
pub(crate) struct Used {
    /// The path below `data`, or a function's own name.
    pub target: Target,
    pub span: (usize, usize),
    /// The names of a path.
    pub parts: Vec<Part>,
}

impl Used {
    /// Returns the path below `data`; `None` for a function that isn't a rule.
    pub fn path(&self) -> Option<&[String]> {
        match &self.target {
            Target::Path(path) => Some(path),
            Target::Function(_) => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A path below `data`.
    Path(Vec<String>),
    /// A function that isn't a rule.
    Function(String),
}

impl Names {
    /// Returns the names of a text; `None` if it can't be parsed.
    pub fn of(text: &Text, version: BaseVersion) -> Option<Arc<Self>> {
        let options = ParseOptions::version(version);
        let module = parse_module(rego::FileId(0), &text.content, &options).ok()?;
        Some(Arc::new(Self::of_module(&module)))
    }

    fn of_module(module: &Module) -> Self {
        let mut names = Self { package: strings(module.package.path.get(1..)), ..Self::default() };
        for import in &module.imports {
            let path = path_of(&import.path);
            let Some((root, path)) = path.split_first() else { continue };
            let last = import.alias.as_ref().map(|(name, _)| name.to_string());
            let last = last.or_else(|| path.last().cloned());
            if root == "data"
                && let Some(last) = last
            {
                let span = bytes(import.path.span);
                let parts = parts(&import.path, (0, false), 1);
                names.used.push(Used { target: Target::Path(path.to_vec()), span, parts });
                let alias = import.alias.as_ref().map(|(_, span)| bytes(*span));
                let imported = Imported { path: path.to_vec(), end: span.1, alias };
                names.imports.insert(last, imported);
            }
        }
        for rule in &module.rules {
            names.declare(rule);
        }
        let own: BTreeSet<String> = names
            .rules
            .iter()
            .filter_map(|rule| rule.path.get(names.package.len()).cloned())
            .collect();
        for rule in &module.rules {
            let mut locals = Locals::default();
            locals.rule(rule);
            let mut uses = Uses { names: &mut names, own: &own, locals: &locals.0 };
            uses.rule(rule);
        }
        names
    }

    fn declare(&mut self, rule: &Rule) {
        let head = &rule.head;
        let mut path = self.package.clone();
        path.extend(strings(Some(&head.reference)));
        let is_test = path.last().is_some_and(|name| name.starts_with("test_"));
        let argument = |term: &Term| match &term.kind {
            TermKind::Var(name) if !name.starts_with('$') => name.to_string(),
            _ => "_".to_owned(),
        };
        let arguments = head.is_function().then(|| head.args.iter().map(argument).collect());
        let numbered = head.reference.iter().zip(self.package.len() + 1..=path.len());
        let part = |(term, names): (&Term, usize)| Part {
            span: bytes(term.span),
            names,
            is_import: false,
        };
        let parts = numbered.map(part).collect();
        let first = head.reference.first().map_or(head.span, |term| term.span);
        let last = head.reference.last().map_or(first, |term| term.span);
        self.rules.push(Declared {
            path,
            parts,
            head: (bytes(first).0, bytes(last).1),
            span: bytes(rule.span),
            arguments,
            is_test,
        });
    }

    /// Returns the smallest name that is used at a byte, or just before it.
    pub fn at(&self, offset: usize) -> Option<&Used> {
        let is_there = |used: &&Used| used.span.0 <= offset && offset <= used.span.1;
        self.used.iter().filter(is_there).min_by_key(|used| used.span.1 - used.span.0)
    }

    /// Returns the paths of rules, declared and used, with the names that they are written with.
    pub fn written(&self) -> impl Iterator<Item = (&[String], &[Part])> {
        let declared = self.rules.iter().map(|rule| (rule.path.as_slice(), rule.parts.as_slice()));
        let used = self.used.iter().filter_map(|used| Some((used.path()?, used.parts.as_slice())));
        declared.chain(used)
    }

    /// Returns the rule whose name is at a byte.
    pub fn declared_at(&self, offset: usize) -> Option<&Declared> {
        self.rules.iter().find(|rule| rule.head.0 <= offset && offset <= rule.head.1)
    }
}

fn bytes(span: Span) -> (usize, usize) {
    let number = |of: u32| usize::try_from(of).unwrap_or(usize::MAX);
    (number(span.start), number(span.end))
}

/// Returns the strings at the beginning of a path.
fn strings(terms: Option<&[Term]>) -> Vec<String> {
    let name = |term: &Term| match &term.kind {
        TermKind::String(name) | TermKind::Var(name) => Some(name.to_string()),
        _ => None,
    };
    terms.unwrap_or_default().iter().map_while(name).collect()
}

/// Returns the names of a reference or variable, as far as they are fixed.
fn path_of(term: &Term) -> Vec<String> {
    match &term.kind {
        TermKind::Var(name) => vec![name.to_string()],
        TermKind::Ref(parts) => {
            let Some((head, rest)) = parts.split_first() else { return Vec::new() };
            let TermKind::Var(head) = &head.kind else { return Vec::new() };
            let name = |term: &Term| match &term.kind {
                TermKind::String(name) => Some(name.to_string()),
                _ => None,
            };
            std::iter::once(head.to_string()).chain(rest.iter().map_while(name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the fixed names of a reference or variable, numbered from `next`.
fn parts(term: &Term, (names, is_import): (usize, bool), next: usize) -> Vec<Part> {
    let whole = std::slice::from_ref(term);
    let written = if let TermKind::Ref(parts) = &term.kind { parts.as_slice() } else { whole };
    let is_name = |term: &&Term| matches!(term.kind, TermKind::String(_));
    let first = written.iter().take(1).map(|term| (names, is_import, term));
    let rest = written.iter().skip(1).take_while(is_name);
    let rest = rest.enumerate().map(|(at, term)| (next + at, false, term));
    let part = |(names, is_import, term): (usize, bool, &Term)| Part {
        span: bytes(term.span),
        names,
        is_import,
    };
    first.chain(rest).map(part).collect()
}

/// The variables that a rule declares.
#[derive(Default)]
struct Locals(BTreeSet<String>);

impl Locals {
    fn variables(&mut self, term: &Term) {
        struct Variables<'a>(&'a mut BTreeSet<String>);
        impl Visit for Variables<'_> {
            fn term(&mut self, term: &Term) {
                if let TermKind::Var(name) = &term.kind {
                    self.0.insert(name.to_string());
                }
                walk_term(self, term);
            }
        }
        Variables(&mut self.0).term(term);
    }
}

impl Visit for Locals {
    fn rule(&mut self, rule: &Rule) {
        for argument in &rule.head.args {
            self.variables(argument);
        }
        walk_rule(self, rule);
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Some(declared) => {
                for term in &declared.symbols {
                    match &term.kind {
                        // `some x in xs` declares what stands before `in`.
                        TermKind::Call(terms) => {
                            let declared = terms.get(1..terms.len().saturating_sub(1));
                            declared
                                .unwrap_or_default()
                                .iter()
                                .for_each(|term| self.variables(term));
                        }
                        _ => self.variables(term),
                    }
                }
            }
            ExprKind::Every(every) => {
                for term in every.key.iter().chain([&every.value]) {
                    self.variables(term);
                }
            }
            ExprKind::Call(terms) => {
                if let [function, target, _] = terms.as_slice()
                    && path_of(function) == ["assign"]
                {
                    self.variables(target);
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Collects the names that a rule uses.
struct Uses<'a> {
    names: &'a mut Names,
    /// The rules of the package, as far as this file declares them.
    own: &'a BTreeSet<String>,
    locals: &'a BTreeSet<String>,
}

impl Uses<'_> {
    fn add(&mut self, term: &Term) {
        let path = path_of(term);
        let Some((head, rest)) = path.split_first() else { return };
        if head.starts_with('$') || head == "input" || self.locals.contains(head) {
            return;
        }
        let (full, parts) = if head == "data" {
            (rest.to_vec(), parts(term, (0, false), 1))
        } else if let Some(import) = self.names.imports.get(head) {
            let length = import.path.len();
            let own = if import.alias.is_some() { 0 } else { length };
            ([&import.path, rest].concat(), parts(term, (own, true), length + 1))
        } else {
            // A rule of the package, perhaps of another file.
            let length = self.names.package.len() + 1;
            let parts = parts(term, (length, false), length + 1);
            ([&self.names.package, path.as_slice()].concat(), parts)
        };
        let span = bytes(term.span);
        self.names.used.push(Used { target: Target::Path(full), span, parts });
    }

    fn function(&mut self, term: &Term) {
        let path = path_of(term);
        let Some(head) = path.first() else { return };
        let is_rule =
            head == "data" || self.names.imports.contains_key(head) || self.own.contains(head);
        if !is_rule && !self.locals.contains(head) {
            let target = Target::Function(path.join("."));
            self.names.used.push(Used { target, span: bytes(term.span), parts: Vec::new() });
        }
        self.add(term);
    }

    fn called(&mut self, terms: &[Term]) {
        if let Some((function, arguments)) = terms.split_first() {
            self.function(function);
            for argument in arguments {
                self.term(argument);
            }
        }
    }
}

impl Visit for Uses<'_> {
    fn term(&mut self, term: &Term) {
        match &term.kind {
            TermKind::Call(terms) => self.called(terms),
            TermKind::Var(_) => self.add(term),
            TermKind::Ref(parts) => {
                self.add(term);
                // A variable at its head is part of the path.
                let is_name = |part: &&Term| matches!(part.kind, TermKind::Var(_));
                let named = usize::from(parts.first().as_ref().is_some_and(is_name));
                for part in parts.iter().skip(named) {
                    self.term(part);
                }
            }
            _ => walk_term(self, term),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(terms) => {
                self.called(terms);
                for with in &expr.with {
                    self.with(with);
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}

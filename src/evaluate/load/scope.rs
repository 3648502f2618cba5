//! Which document or function each name of a module means.
//!
//! Owns name resolution as Rego defines it: locals hide a module's imports, imports hide the
//! package's rules, and what is left is a built-in or nothing. Every reference to something that
//! isn't local comes out as a [`Use`]. It judges none of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, Query, Rule, RuleHead, Span};

pub(super) use super::chain::{Link, chain, end, key, path};
pub(super) use super::declare::declared;
use super::declare::pattern;
use super::pieces::extent;

/// One step of a reference after its head.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A field or a quoted key.
    Key(Arc<str>),
    /// Anything that is known only in an evaluation.
    Any,
}

/// What a reference starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// `data`.
    Data,
    /// `input`.
    Input,
    /// A name that is no local, no import and no rule.
    Name(Arc<str>),
}

/// Where a reference stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its value is read.
    Read,
    /// It is called with so many arguments; `statement`: as a statement of its own.
    Call { arguments: usize, statement: bool },
    /// It is the target of `with`.
    Target,
    /// It is the replacement after `as`.
    Replacement,
}

/// One reference to something that isn't local.
#[derive(Debug, Clone)]
pub(super) struct Use {
    /// Index of the module's rule that it stands in.
    pub(super) rule: usize,
    pub(super) role: Role,
    pub(super) head: Head,
    /// The path after the head, with an import's or the package's path put in.
    pub(super) steps: Vec<Step>,
    /// Byte offset of the start and, for each step that the author wrote, of its end.
    pub(super) start: usize,
    pub(super) ends: Vec<usize>,
    /// Byte offset of the end of the name that it starts with.
    pub(super) name_end: usize,
    /// The import that its name stands for.
    pub(super) import: Option<usize>,
    /// For a replacement: the index of the target among the uses.
    pub(super) target: Option<usize>,
    /// For a call of `print`, or of a name with dots that is no rule: where its arguments stand.
    pub(super) arguments: Vec<(usize, usize)>,
}

impl Use {
    pub(super) fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.name_end)
    }

    /// The steps up to the first that isn't a key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.steps.iter().map_while(|step| match step {
            Step::Key(key) => Some(key),
            Step::Any => None,
        })
    }

    /// How many of the steps are the author's own, after the name.
    pub(super) fn written(&self) -> usize {
        self.ends.len()
    }
}

/// An import of `data` or `input`.
#[derive(Debug, Clone)]
pub(super) struct Import {
    pub(super) head: Head,
    pub(super) path: Vec<Arc<str>>,
    /// The name by which the module refers to it.
    pub(super) alias: Option<Arc<str>>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The names that a module's references may mean.
pub(super) struct Globals<'a> {
    pub(super) imports: &'a [Import],
    /// The package's path.
    pub(super) package: &'a [Arc<str>],
    /// First names of the package's rules, in whichever module.
    pub(super) rules: Option<&'a HashSet<Arc<str>>>,
    aliases: HashMap<&'a str, usize>,
}

impl<'a> Globals<'a> {
    pub(super) fn new(
        imports: &'a [Import],
        package: &'a [Arc<str>],
        rules: Option<&'a HashSet<Arc<str>>>,
    ) -> Self {
        let aliases = imports
            .iter()
            .enumerate()
            .filter_map(|(index, import)| Some((import.alias.as_deref()?, index)))
            .collect();
        Self { imports, package, rules, aliases }
    }

    pub(super) fn import(&self, name: &str) -> Option<&Import> {
        self.imports.get(*self.aliases.get(name)?)
    }

    pub(super) fn is_rule(&self, name: &str) -> bool {
        self.rules.is_some_and(|rules| rules.contains(name))
    }

    /// Whether a name that isn't local means something.
    pub(super) fn has(&self, name: &str) -> bool {
        matches!(name, "data" | "input")
            || self.aliases.contains_key(name)
            || self.rules.is_some_and(|rules| rules.contains(name))
    }
}

/// What a module's names come to.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Every reference, in the order of the rules.
    pub(super) uses: Vec<Use>,
    /// Byte ranges of locals that hide a rule of the package: the interpreter takes some of them
    /// for the rule.
    pub(super) hiding: Vec<(usize, usize)>,
    /// Byte ranges of locals that are called, or replaced by `with`.
    pub(super) called: Vec<(usize, usize)>,
    /// Byte ranges of calls whose parenthesis stands apart from the name, which Rego reads as two
    /// terms and the interpreter as one.
    pub(super) apart: Vec<(usize, usize)>,
}

/// Resolves the names of a module.
pub(super) fn names(module: &ast::Module, globals: &Globals<'_>) -> Names {
    let mut walk = Walk { globals, locals: Vec::new(), rule: 0, found: Names::default() };
    for (index, rule) in module.policy.iter().enumerate() {
        walk.rule = index;
        walk.rule(rule);
    }
    walk.found
}

/// Every reference of a query.
pub(super) fn query_uses(query: &Query) -> Vec<Use> {
    let globals = Globals::new(&[], &[], None);
    let mut walk = Walk { globals: &globals, locals: Vec::new(), rule: 0, found: Names::default() };
    walk.scoped(declared(query), |walk| walk.query(query));
    walk.found.uses
}

struct Walk<'a> {
    globals: &'a Globals<'a>,
    locals: Vec<HashSet<Arc<str>>>,
    rule: usize,
    found: Names,
}

impl Walk<'_> {
    fn scoped(&mut self, names: HashSet<Arc<str>>, work: impl FnOnce(&mut Self)) {
        self.locals.push(names);
        work(self);
        self.locals.pop();
    }

    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::Default { args, value, .. } => {
                let mut names = HashSet::new();
                for arg in args {
                    pattern(arg, &mut names);
                }
                self.scoped(names, |walk| walk.expr(value));
            }
            Rule::Spec { head, bodies, .. } => {
                let mut names = HashSet::new();
                if let RuleHead::Func { args, .. } = head {
                    for arg in args {
                        pattern(arg, &mut names);
                    }
                }
                self.scoped(names, |walk| {
                    let first = bodies.first().map(|b| declared(&b.query)).unwrap_or_default();
                    walk.scoped(first, |walk| walk.head(head));
                    for body in bodies {
                        walk.scoped(declared(&body.query), |walk| {
                            if let Some(assign) = &body.assign {
                                walk.expr(&assign.value);
                            }
                            walk.query(&body.query);
                        });
                    }
                });
            }
        }
    }

    fn head(&mut self, head: &RuleHead) {
        let (refr, value) = match head {
            RuleHead::Compr { refr, assign, .. } => (refr, assign.as_ref().map(|a| &a.value)),
            RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
            RuleHead::Func { refr, args, assign, .. } => {
                for arg in args {
                    self.expr(arg);
                }
                (refr, assign.as_ref().map(|a| &a.value))
            }
        };
        for link in &chain(refr).steps {
            if let Link::Index(index, _) = link {
                self.expr(index);
            }
        }
        if let Some(value) = value {
            self.expr(value);
        }
    }

    fn query(&mut self, query: &Query) {
        for stmt in &query.stmts {
            match &stmt.literal {
                Literal::SomeVars { vars, .. } => {
                    for span in vars {
                        self.local(span);
                    }
                }
                Literal::SomeIn { key, value, collection, .. } => {
                    if let Some(key) = key {
                        self.expr(key);
                    }
                    self.expr(value);
                    self.expr(collection);
                }
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.statement(expr),
                Literal::Every { key, value, domain, query, .. } => {
                    for span in key.iter().chain([value]) {
                        self.local(span);
                    }
                    let names =
                        key.iter().chain([value]).map(|span| Arc::from(span.text())).collect();
                    self.scoped(names, |walk| {
                        walk.expr(domain);
                        walk.query(query);
                    });
                }
            }
            for modifier in &stmt.with_mods {
                self.reference(&modifier.refr, Role::Target);
                let target = self.found.uses.len().checked_sub(1);
                let before = self.found.uses.len();
                self.in_role(&modifier.r#as, Role::Replacement);
                for found in self.found.uses.iter_mut().skip(before) {
                    if found.role == Role::Replacement {
                        found.target = target;
                    }
                }
            }
        }
    }

    /// An expression that is a whole statement: a call there may have one argument more, into
    /// which its result goes.
    fn statement(&mut self, expr: &ExprRef) {
        match expr.as_ref() {
            Expr::Call { .. } => self.call(expr, true),
            _ => self.expr(expr),
        }
    }

    fn in_role(&mut self, expr: &ExprRef, role: Role) {
        match expr.as_ref() {
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                self.reference(expr, role);
            }
            _ => self.expr(expr),
        }
    }

    fn call(&mut self, expr: &ExprRef, statement: bool) {
        if let Expr::Call { fcn, params, .. } = expr.as_ref() {
            let span = fcn.span();
            if span.source.contents().as_bytes().get(end(span)) != Some(&b'(') {
                self.found.apart.push((span.start as usize, end(span)));
            }
            let index = self.found.uses.len();
            self.reference(fcn, Role::Call { arguments: params.len(), statement });
            // No other built-in of one word is called through anything.
            if let Some(found) = self.found.uses.get_mut(index)
                && matches!(&found.head, Head::Name(name)
                    if !found.ends.is_empty() || name.as_ref() == "print")
            {
                found.arguments = params.iter().map(|param| extent(param)).collect();
            }
            for param in params {
                self.expr(param);
            }
        }
    }

    fn expr(&mut self, expr: &ExprRef) {
        match expr.as_ref() {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                self.reference(expr, Role::Read);
            }
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.expr(item);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.expr(key);
                    self.expr(value);
                }
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.comprehension(&[term], query);
            }
            Expr::ObjectCompr { key, value, query, .. } => self.comprehension(&[key, value], query),
            Expr::Call { .. } => self.call(expr, false),
            Expr::UnaryExpr { expr, .. } => self.expr(expr),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                if let Some(key) = key {
                    self.expr(key);
                }
                self.expr(value);
                self.expr(collection);
            }
        }
    }

    fn comprehension(&mut self, terms: &[&ExprRef], query: &Query) {
        self.scoped(declared(query), |walk| {
            for term in terms {
                walk.expr(term);
            }
            walk.query(query);
        });
    }

    fn reference(&mut self, expr: &ExprRef, role: Role) {
        let chain = chain(expr);
        match chain.base.as_ref() {
            Expr::Var { span, .. } => self.named(span, &chain.steps, role),
            _ => self.expr(chain.base),
        }
        for link in &chain.steps {
            if let Link::Index(index, _) = link {
                self.expr(index);
            }
        }
    }

    fn local(&mut self, span: &Span) {
        if self.globals.is_rule(span.text()) {
            self.found.hiding.push((span.start as usize, end(span)));
        }
    }

    fn named(&mut self, span: &Span, links: &[Link<'_>], role: Role) {
        let name = span.text();
        if name == "_" {
            return;
        }
        if self.locals.iter().any(|names| names.contains(name)) {
            self.local(span);
            // A local is no function, whatever the interpreter knows by that name.
            if matches!(role, Role::Call { .. } | Role::Target) {
                let end = links.last().map_or(end(span), Link::end);
                self.found.called.push((span.start as usize, end));
            }
            return;
        }
        let mut steps = Vec::new();
        let import = self.globals.aliases.get(name).copied();
        let head = if let Some(import) = import.and_then(|i| self.globals.imports.get(i)) {
            steps.extend(import.path.iter().cloned().map(Step::Key));
            import.head.clone()
        } else if self.globals.rules.is_some_and(|rules| rules.contains(name)) {
            steps.extend(self.globals.package.iter().cloned().map(Step::Key));
            steps.push(Step::Key(name.into()));
            Head::Data
        } else {
            match name {
                "data" => Head::Data,
                "input" => Head::Input,
                _ => Head::Name(name.into()),
            }
        };
        steps.extend(links.iter().map(Link::step));
        self.found.uses.push(Use {
            rule: self.rule,
            role,
            head,
            steps,
            start: span.start as usize,
            ends: links.iter().map(Link::end).collect(),
            name_end: end(span),
            import,
            target: None,
            arguments: Vec::new(),
        });
    }
}

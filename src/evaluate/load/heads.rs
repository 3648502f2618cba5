//! Heads of rules, evaluated in their bodies.
//!
//! In Rego the expressions of a rule's head are statements at the end of its body: a binding for
//! which one of them is undefined gives nothing, and the others stand. The interpreter forgets
//! what earlier bindings gave when it meets an undefined head, or ends with an error. Owns the
//! edits that do what Rego means:
//!
//! ```text
//! deny contains f(d) if some d in xs  →  deny contains __head0 if { some d in xs; __head0 := f(d) }
//! ```
//!
//! and those that give each of several bodies, `x := y if { … } { … }`, the head that the
//! interpreter gives the first one alone. What is edited is the rewritten text, in which names
//! mean what they mean to the interpreter.

use std::collections::HashSet;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Rule, RuleBody, RuleHead, Span};

use super::parts::{children, declared, pattern};
use super::pieces::{extent, opening, range, single_line};
use super::scope::{Globals, Link, chain};
use super::text::Edit;

/// The edits that make a rule of its own of each of several bodies.
pub(super) fn bodies(module: &ast::Module) -> Vec<Edit> {
    let mut edits = Vec::new();
    for rule in &module.policy {
        let Rule::Spec { head, bodies, .. } = rule.as_ref() else { continue };
        let (start, end) = range(span(head));
        for body in bodies.iter().skip(1).filter(|body| !body.is_else) {
            let at = range(&body.span).0;
            let text = module.package.span.source.get_contents();
            edits.push(Edit::copy(at, single_line(text.get(start..end).unwrap_or("")), start));
            edits.push(Edit::new(at, at, if module.rego_v1 { " if " } else { " " }));
        }
    }
    edits
}

/// The edits that bind in the body what is undefined for some bindings of it.
pub(super) fn values(module: &ast::Module, globals: &Globals<'_>) -> Vec<Edit> {
    let text = module.package.span.source.get_contents();
    let mut prefix = "__head".to_owned();
    while text.contains(&prefix) {
        prefix.push('_');
    }
    let v1 = module.rego_v1;
    let mut finder = Finder { text, globals, v1, prefix, count: 0, edits: Vec::new() };
    for rule in &module.policy {
        if let Rule::Spec { head, bodies, .. } = rule.as_ref() {
            finder.rule(head, bodies);
        }
    }
    finder.edits
}

struct Finder<'a> {
    text: &'a str,
    globals: &'a Globals<'a>,
    v1: bool,
    /// What the names of the new variables start with.
    prefix: String,
    count: usize,
    edits: Vec<Edit>,
}

/// An expression of a head: the variable in its place, its text, and where it stands.
type Moved = (String, String, usize);

impl<'a> Finder<'a> {
    fn rule(&mut self, head: &'a RuleHead, bodies: &'a [RuleBody]) {
        let (path, value) = match head {
            RuleHead::Compr { refr, assign, .. } | RuleHead::Func { refr, assign, .. } => {
                (refr, assign.as_ref().map(|assign| &assign.value))
            }
            RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
        };
        let mut arguments = HashSet::new();
        if let RuleHead::Func { args, .. } = head {
            for arg in args {
                pattern(arg, &mut arguments);
            }
        }
        let locals = |body: Option<&'a RuleBody>| {
            let mut names = arguments.clone();
            names.extend(body.into_iter().flat_map(|body| declared(&body.query)));
            names
        };
        let first = bodies.first();
        let names = locals(first);
        let mut keys = Vec::new();
        for link in chain(path).steps {
            if let Link::Index(index, _) = link
                && !self.is_defined(index, &names)
            {
                keys.push(self.moved(index));
            }
        }
        let needs_binding = |finder: &Self, value: &ExprRef, names: &HashSet<&str>| {
            // Without a body there is one binding, unless the head itself iterates.
            !finder.is_defined(value, names) && (first.is_some() || iterates(value, names))
        };
        let mut own = keys.clone();
        if let Some(value) = value.filter(|value| needs_binding(self, value, &names)) {
            own.push(self.moved(value));
        }
        match first {
            Some(body) => self.bind(body, &own),
            None => self.add_body(range(span(head)).1, &own),
        }
        for body in bodies.iter().skip(1) {
            let mut own = keys.clone();
            if let Some(assign) = &body.assign
                && needs_binding(self, &assign.value, &locals(Some(body)))
            {
                own.push(self.moved(&assign.value));
            }
            self.bind(body, &own);
        }
    }

    /// Puts a variable in the place of an expression.
    fn moved(&mut self, expr: &ExprRef) -> Moved {
        let name = format!("{}{}", self.prefix, self.count);
        self.count += 1;
        let (start, end) = extent(expr);
        opening(self.text, (start, end), &name, &mut self.edits);
        (name, single_line(self.text.get(start..end).unwrap_or("")), start)
    }

    /// Binds the variables at the end of a body.
    fn bind(&mut self, body: &RuleBody, moved: &[Moved]) {
        if moved.is_empty() {
            return;
        }
        let (Some(first), Some(last)) = (body.query.stmts.first(), body.query.stmts.last()) else {
            self.add_body(range(&body.span).1, moved);
            return;
        };
        // Without braces a body has one statement only.
        let unbraced = body.query.span.start == first.span.start;
        if unbraced {
            let at = range(&first.span).0;
            self.edits.push(Edit::new(at, at, "{ "));
        }
        let at = range(&last.span).1;
        for part in moved {
            self.edits.push(Edit::new(at, at, "; "));
            self.binding(at, part);
        }
        if unbraced {
            self.edits.push(Edit::new(at, at, " }"));
        }
    }

    /// Gives a body to what has none.
    fn add_body(&mut self, at: usize, moved: &[Moved]) {
        if moved.is_empty() {
            return;
        }
        self.edits.push(Edit::new(at, at, if self.v1 { " if { " } else { " { " }));
        for (index, part) in moved.iter().enumerate() {
            if index > 0 {
                self.edits.push(Edit::new(at, at, "; "));
            }
            self.binding(at, part);
        }
        self.edits.push(Edit::new(at, at, " }"));
    }

    fn binding(&mut self, at: usize, (name, text, source): &Moved) {
        self.edits.push(Edit::new(at, at, format!("{name} := ")));
        self.edits.push(Edit::copy(at, text.clone(), *source));
    }

    /// Whether an expression has a value once the body holds.
    fn is_defined(&self, expr: &Expr, locals: &HashSet<&str>) -> bool {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::ArrayCompr { .. }
            | Expr::SetCompr { .. }
            | Expr::ObjectCompr { .. } => true,
            Expr::UnaryExpr { expr, .. } => matches!(expr.as_ref(), Expr::Number { .. }),
            Expr::Var { span, .. } => {
                locals.contains(span.text()) || !self.globals.has(span.text())
            }
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                children(expr).into_iter().all(|child| self.is_defined(child, locals))
            }
            _ => false,
        }
    }
}

fn span(head: &RuleHead) -> &Span {
    match head {
        RuleHead::Compr { span, .. } | RuleHead::Set { span, .. } | RuleHead::Func { span, .. } => {
            span
        }
    }
}

/// Whether an expression may have several values, with `locals` bound.
fn iterates(expr: &ExprRef, locals: &HashSet<&str>) -> bool {
    match expr.as_ref() {
        Expr::RefDot { .. } | Expr::RefBrack { .. } => {
            let chain = chain(expr);
            let many = |index: &ExprRef| match index.as_ref() {
                Expr::Var { span, .. } => !locals.contains(span.text()),
                Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => true,
                _ => iterates(index, locals),
            };
            iterates(chain.base, locals)
                || chain.steps.iter().any(|link| match link {
                    Link::Index(index, _) => many(index),
                    Link::Field(..) => false,
                })
        }
        Expr::Call { fcn, .. } if fcn.span().text() == "walk" => true,
        other => children(other).into_iter().any(|child| iterates(child, locals)),
    }
}

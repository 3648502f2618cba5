//! References: checks that each operand can select something.

use std::rc::Rc;

use super::check::Checker;
use super::env::{Env, HeadEntry, PathKey, TypeTree, constant_selected, is_empty_collection};
use super::overlap::unifies;
use super::terms;
use super::ty::Type;
use super::wording::{invalid_reference, keys_of, term_text, unsupported_reference};
use crate::problem::{Problem, Problems};
use crate::syntax::tree::{Expr, ExprKind, Span, Term, TermKind};
use crate::syntax::visit::{Visit, walk_expr, walk_kind};
use crate::text::nearest;

impl Checker<'_> {
    /// Checks the references of a statement, except those within comprehensions.
    pub(super) fn check_references(&self, env: &Rc<Env>, expr: &Expr) -> Problems {
        let mut references = References { checker: self, env, problems: Vec::new() };
        references.expr(expr);
        references.problems
    }

    fn check_reference(&self, env: &Rc<Env>, parts: &[Term]) -> Result<(), Problem> {
        let Some(head) = parts.first() else { return Ok(()) };
        let tpe = env.get_ref(parts);
        if matches!(tpe, Type::Function(_)) {
            return Err(unsupported_reference(
                head.span,
                &self.as_written(parts),
                parts.len() - 1,
                &tpe,
            ));
        }
        let checked = ReferenceCheck { checker: self, env, parts, span: head.span };
        let mut scope = Some(env);
        while let Some(here) = scope {
            let found = match here.head(head) {
                HeadEntry::Var(tpe) if tpe.is_unknown() => checked.below(&TypeTree::default())?,
                HeadEntry::Var(tpe) => return checked.leaf(&tpe, 1),
                HeadEntry::Docs(tree) if tree.is_leaf() => return checked.leaf(&tree.tpe, 1),
                HeadEntry::Docs(tree) => checked.below(tree)?,
                HeadEntry::Nothing => false,
            };
            if found {
                return Ok(());
            }
            scope = here.next.as_ref();
        }
        let is_root = matches!(&head.kind, TermKind::Var(name) if terms::is_root(name));
        checked.leaf(&Type::any(), usize::from(is_root))
    }
}

/// Checks all references of a statement.
struct References<'c> {
    checker: &'c Checker<'c>,
    env: &'c Rc<Env>,
    problems: Problems,
}

impl Visit for References<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            // References in `with` are checked when the scope for the replacement is made.
            ExprKind::Call(parts) => parts.iter().skip(1).for_each(|part| self.term(part)),
            ExprKind::Term(_) | ExprKind::Not(_) => walk_kind(self, &expr.kind),
            _ => walk_expr(self, expr),
        }
    }

    fn term(&mut self, term: &Term) {
        if let Some(parts) = terms::reference(term)
            && let Err(problem) = self.checker.check_reference(self.env, parts)
        {
            self.problems.push(problem);
            return;
        }
        match &term.kind {
            TermKind::Ref(parts) => parts.iter().skip(1).for_each(|part| self.term(part)),
            TermKind::Template(_) => {}
            _ if term.is_comprehension() => {}
            _ => terms::walk_in_order(self, term),
        }
    }
}

/// The state while a reference is checked.
struct ReferenceCheck<'c> {
    checker: &'c Checker<'c>,
    env: &'c Rc<Env>,
    parts: &'c [Term],
    span: Span,
}

impl ReferenceCheck<'_> {
    fn invalid(&self, position: usize, have: &Type, want: &Type, one_of: &[String]) -> Problem {
        let parts = self.checker.as_written(self.parts);
        let problem = invalid_reference(self.span, &parts, position, have, want, one_of);
        let Some(TermKind::String(written)) = parts.get(position).map(|part| &part.kind) else {
            return problem;
        };
        let known = one_of.iter().map(|name| name.trim_matches('"'));
        match nearest(written, known) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem,
        }
    }

    /// Follows the operands through documents whose types are known by path. Returns `false` if an
    /// enclosing scope must be searched.
    fn below(&self, mut node: &TypeTree) -> Result<bool, Problem> {
        for (at, operand) in self.parts.iter().enumerate().skip(1) {
            let is_var = terms::variable(operand).is_some();
            // Names of packages and rules are strings.
            if at <= 2 && !is_var && !matches!(operand.kind, TermKind::String(_)) {
                let have = self.checker.type_of(self.env, operand);
                return Err(self.invalid(at, &have, &Type::String, &keys_of_node(node)));
            }
            if let Some(name) = terms::variable(operand) {
                let keys = node.extent().keys();
                let known = self.env.get_var(operand);
                if known.is_unknown() {
                    self.env.put_var(name, keys);
                } else if !unifies(&keys, &known) {
                    return Err(self.invalid(at, &known, &keys, &keys_of_node(node)));
                }
            }
            let Some(child) = node.child(operand) else { return Ok(false) };
            if child.is_leaf() {
                self.leaf(&child.tpe, at + 1)?;
                return Ok(true);
            }
            node = child;
        }
        Ok(true)
    }

    /// Follows the operands from a position on through a type.
    fn leaf(&self, tpe: &Type, from: usize) -> Result<(), Problem> {
        let mut tpe = tpe.clone();
        for (at, operand) in self.parts.iter().enumerate().skip(from) {
            if is_empty_collection(&tpe) {
                return self.empty(&tpe, at, operand);
            }
            let keys = tpe.keys();
            if keys.is_unknown() {
                let parts = self.checker.as_written(self.parts);
                return Err(unsupported_reference(self.span, &parts, at.saturating_sub(1), &tpe));
            }
            match &operand.kind {
                // A head about which nothing is known is checked like an operand.
                TermKind::Var(name) if at == 0 || !terms::is_root(name) => {
                    let known = self.env.get_var(operand);
                    if known.is_unknown() {
                        self.env.put_var(name, keys);
                    } else if !unifies(&known, &keys) {
                        return Err(self.invalid(at, &known, &keys, &keys_of(&tpe)));
                    }
                }
                TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_) => {
                    if !self.checker.unify(self.env, operand, &keys, false) {
                        let have = self.checker.type_of(self.env, operand);
                        return Err(self.invalid(at, &have, &keys, &[]));
                    }
                }
                _ => {
                    if let Some(inner) = terms::reference(operand) {
                        let known = self.env.get_ref(inner);
                        if !known.is_unknown() && !unifies(&known, &keys) {
                            return Err(self.invalid(at, &known, &keys, &keys_of(&tpe)));
                        }
                    } else {
                        let child = constant_selected(&tpe, operand);
                        if child.is_unknown() {
                            return Err(self.invalid(at, &Type::Unknown, &keys, &keys_of(&tpe)));
                        }
                        tpe = child;
                        continue;
                    }
                }
            }
            tpe = tpe.values();
        }
        Ok(())
    }

    /// Checks a reference into a collection that is always empty: a constant selects nothing, which
    /// is an error; a variable iterates over nothing.
    fn empty(&self, tpe: &Type, at: usize, operand: &Term) -> Result<(), Problem> {
        if operand.is_scalar() {
            return Err(self.invalid(at, &Type::Unknown, &Type::Unknown, &[]));
        }
        if let Some(name) = terms::variable(operand) {
            let (known, keys) = (self.env.get_var(operand), tpe.keys());
            if known.is_unknown() {
                self.env.put_var(name, Type::any());
            } else if !keys.is_unknown() && !unifies(&known, &keys) {
                return Err(self.invalid(at, &known, &keys, &[]));
            }
        }
        Ok(())
    }
}

fn keys_of_node(node: &TypeTree) -> Vec<String> {
    let text = |key: &PathKey| match key {
        PathKey::Value(value) => value.to_string(),
        PathKey::Var(name) => {
            term_text(&Term { kind: TermKind::Var(name.clone()), span: Span::default() })
        }
    };
    node.children.keys().map(text).collect()
}

//! Unification of terms with types: decides if a term can be of a type, and infers the types of its
//! variables.

use super::check::Checker;
use super::env::{Env, constant_selected};
use super::overlap::unifies;
use super::terms;
use super::ty::{Object, Type};
use crate::syntax::tree::{Term, TermKind};
use crate::syntax::visit::Visit;
use std::rc::Rc;

/// Gives a type to the parts of a term.
struct UnifyParts<'c>(&'c Checker<'c>, &'c Rc<Env>, &'c Type);

impl Visit for UnifyParts<'_> {
    fn term(&mut self, term: &Term) {
        self.0.unify(self.1, term, self.2, true);
    }
}

impl Checker<'_> {
    /// Returns `true` if two terms of these types can be equal. Infers the types of their
    /// variables.
    pub(super) fn unify_terms(
        &self,
        env: &Rc<Env>,
        a: &Term,
        type_a: &Type,
        b: &Term,
        type_b: &Type,
    ) -> bool {
        match (type_a.is_incomplete(), type_b.is_incomplete()) {
            (true, false) => return self.unify(env, a, type_b, false),
            (false, true) => return self.unify(env, b, type_a, false),
            (false, false) => return unifies(type_a, type_b),
            (true, true) => {}
        }
        let any = Type::any();
        match (&a.kind, &b.kind) {
            (TermKind::Array(_), _) => return self.unify_arrays(env, a, b),
            (TermKind::Object(_), _) => return self.unify_objects(env, a, b),
            _ => {}
        }
        match (terms::variable(a), terms::variable(b)) {
            (Some(_), Some(_)) => {
                return self.unify(env, a, &any, false)
                    && self.unify(env, b, &self.type_of(env, a), false);
            }
            (Some(_), None) => match &b.kind {
                TermKind::Array(_) => return self.unify_arrays(env, b, a),
                TermKind::Object(_) => return self.unify_objects(env, b, a),
                _ if terms::reference(b).is_some() => return self.unify(env, a, &any, false),
                _ => {}
            },
            (None, Some(_)) if terms::reference(a).is_some() => {
                return self.unify(env, b, &any, false);
            }
            _ => {}
        }
        // A variable without a type takes the other side's structure, as far as that is known.
        if terms::variable(a).is_some() && type_a.is_unknown() && !type_b.is_unknown() {
            return self.unify(env, a, type_b, false);
        }
        if terms::variable(b).is_some() && type_b.is_unknown() && !type_a.is_unknown() {
            return self.unify(env, b, type_a, false);
        }
        false
    }

    fn unify_arrays(&self, env: &Rc<Env>, a: &Term, b: &Term) -> bool {
        match (&a.kind, &b.kind) {
            (TermKind::Array(x), TermKind::Array(y)) => {
                x.len() == y.len()
                    && x.iter().zip(y).all(|(a, b)| {
                        self.unify_terms(env, a, &self.type_of(env, a), b, &self.type_of(env, b))
                    })
            }
            _ => self.unify_with_variable(env, a, b),
        }
    }

    fn unify_objects(&self, env: &Rc<Env>, a: &Term, b: &Term) -> bool {
        match (&a.kind, &b.kind) {
            (TermKind::Object(x), TermKind::Object(y)) => {
                let (x, y) = (terms::members(x), terms::members(y));
                x.len() == y.len()
                    && x.iter().zip(&y).all(|(a, b)| terms::compare(a.0, b.0).is_eq())
                    && x.iter().zip(&y).all(|((_, a), (_, b))| {
                        self.unify_terms(env, a, &self.type_of(env, a), b, &self.type_of(env, b))
                    })
            }
            _ => self.unify_with_variable(env, a, b),
        }
    }

    fn unify_with_variable(&self, env: &Rc<Env>, a: &Term, b: &Term) -> bool {
        terms::variable(b).is_some()
            && self.unify(env, a, &Type::any(), false)
            && self.unify(env, b, &self.type_of(env, a), false)
    }

    /// Returns `true` if a term can be of a type. Infers the types of its variables; with `union`,
    /// this type is added to those that they have.
    pub(super) fn unify(&self, env: &Rc<Env>, term: &Term, tpe: &Type, union: bool) -> bool {
        match (&term.kind, tpe) {
            (TermKind::Group(inner), _) => self.unify(env, inner, tpe, union),
            (TermKind::Array(items), Type::Array(tpe)) => {
                (items.len() == tpe.fixed().len() || !tpe.rest().is_unknown())
                    && items
                        .iter()
                        .enumerate()
                        .all(|(at, item)| self.unify(env, item, &tpe.select(at), union))
            }
            (TermKind::Object(pairs), Type::Object(tpe)) => {
                self.unify_object(env, pairs, tpe, union)
            }
            (TermKind::Set(items), Type::Set(of)) => terms::elements(items)
                .into_iter()
                .all(|element| self.unify(env, element, of, union)),
            (TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_), Type::Any(of)) => {
                if of.is_empty() {
                    terms::walk_in_order(&mut UnifyParts(self, env, tpe), term);
                    return true;
                }
                let unify = |option| self.unify(env, term, option, true);
                of.iter().fold(false, |fits, option| unify(option) || fits)
            }
            (TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_), _) => false,
            (TermKind::Var(name), _) if !terms::is_root(name) => {
                let known = self.type_of(env, term);
                if union {
                    env.put_var(name, known.or(tpe));
                } else if !known.is_unknown() {
                    return unifies(&known, tpe);
                } else {
                    env.put_var(name, tpe.clone());
                }
                true
            }
            // After the compile stages, no term contains a call.
            (TermKind::Call(_), _) => true,
            _ => unifies(&self.type_of(env, term), tpe),
        }
    }

    fn unify_object(
        &self,
        env: &Rc<Env>,
        pairs: &[(Term, Term)],
        tpe: &Object,
        union: bool,
    ) -> bool {
        let members = terms::members(pairs);
        let open = tpe.rest().is_some_and(|rest| !rest.value.is_unknown());
        if members.len() != tpe.fixed().len() && !open {
            return false;
        }
        let whole = Type::Object(std::sync::Arc::new(tpe.clone()));
        members.into_iter().all(|(key, value)| {
            if !key.is_constant() {
                // It isn't known which member this is.
                self.unify(env, value, &Type::any(), union);
                return true;
            }
            let member = constant_selected(&whole, key);
            !member.is_unknown() && self.unify(env, value, &member, union)
        })
    }
}

//! Determines the variables to which an equality gives values, if certain others have values.

use crate::syntax::tree::{Collection, Name, Term, TermKind};

use super::names::{NameMap, VarSet};
use super::order;
use super::stack::deep;
use super::vars::{self, PATTERN, SAFETY};

/// The set of variables that have values: `safe` and `more`, without `without`.
#[derive(Clone, Copy)]
pub struct SafeVars<'a> {
    pub safe: &'a VarSet,
    pub more: &'a VarSet,
    pub without: &'a VarSet,
}

impl<'a> From<&'a VarSet> for SafeVars<'a> {
    fn from(safe: &'a VarSet) -> Self {
        Self { safe, more: VarSet::none(), without: VarSet::none() }
    }
}

impl SafeVars<'_> {
    fn contains(&self, name: &str) -> bool {
        (self.safe.contains(name) || self.more.contains(name)) && !self.without.contains(name)
    }

    fn has_all(&self, names: &VarSet) -> bool {
        names.iter().all(|name| self.contains(name))
    }
}

/// Returns `true` if a reference's head has a value.
pub fn is_ref_safe(terms: &[Term], safe: SafeVars<'_>) -> bool {
    match terms.first() {
        Some(Term { kind: TermKind::Var(name), .. }) => safe.contains(name),
        Some(head) => is_safe(head, safe),
        None => true,
    }
}

/// Returns `true` if all variables of a term, except those of its closures, have values.
fn is_safe(term: &Term, safe: SafeVars<'_>) -> bool {
    safe.has_all(&vars::of(term, SAFETY))
}

/// The variables to which `a = b` gives values.
pub fn unify(safe: SafeVars<'_>, a: &Term, b: &Term) -> VarSet {
    let mut unifier = Unifier { safe, unified: VarSet::default(), unknown: NameMap::default() };
    unifier.unify(a, b);
    unifier.unified
}

struct Unifier<'a> {
    safe: SafeVars<'a>,
    unified: VarSet,
    /// The variables without a value so far, each with those whose values would determine it.
    unknown: NameMap<VarSet>,
}

impl Unifier<'_> {
    fn is_safe(&self, name: &str) -> bool {
        self.safe.contains(name) || self.unified.contains(name)
    }

    fn unify(&mut self, a: &Term, b: &Term) {
        use TermKind::{Array, Call, Comprehension, Object, Ref, Var};
        match (&a.kind, &b.kind) {
            (Var(x), Var(y)) => {
                if self.is_safe(y) {
                    self.mark_safe(x);
                } else if self.is_safe(x) {
                    self.mark_safe(y);
                } else {
                    self.mark_unknown(x, y);
                    self.mark_unknown(y, x);
                }
            }
            (Var(x), Array(_) | Object(_)) => self.unify_all(x, b),
            (Array(_) | Object(_), Var(y)) => self.unify_all(y, a),
            (Var(x), Ref(terms)) => {
                if is_ref_safe(terms, self.safe) {
                    self.mark_safe(x);
                }
            }
            (Var(x), Call(_)) => {
                if is_safe(b, self.safe) {
                    self.mark_safe(x);
                }
            }
            (Var(x), _) => self.mark_safe(x),
            (Ref(terms), _) => {
                if is_ref_safe(terms, self.safe) {
                    self.mark_pattern(b);
                }
            }
            (Call(_), _) => {
                if is_safe(a, self.safe) {
                    self.mark_pattern(b);
                }
            }
            (Comprehension(..), Var(y)) => self.mark_safe(y),
            (Comprehension(Collection::Array, _), Array(_))
            | (Comprehension(Collection::Object, _), Object(_)) => self.mark_all_safe(b),
            (Array(_), Comprehension(..)) => self.mark_all_safe(a),
            (Array(_) | Object(_), Ref(terms)) => {
                if is_ref_safe(terms, self.safe) {
                    self.mark_all_safe(a);
                }
            }
            (Array(_) | Object(_), Call(_)) => {
                if is_safe(b, self.safe) {
                    self.mark_all_safe(a);
                }
            }
            (Array(xs), Array(ys)) => {
                if xs.len() == ys.len() {
                    deep(|| {
                        for (x, y) in xs.iter().zip(ys) {
                            self.unify(x, y);
                        }
                    });
                }
            }
            (Object(xs), Object(ys)) => {
                if xs.len() == ys.len() {
                    deep(|| {
                        for (key, x) in xs {
                            // Both are sorted by key.
                            if let Ok(at) =
                                ys.binary_search_by(|(other, _)| order::terms(other, key))
                                && let Some((_, y)) = ys.get(at)
                            {
                                self.unify(x, y);
                            }
                        }
                    });
                }
            }
            (Comprehension(..) | Array(_) | Object(_), _) => {}
            (_, Var(y)) => self.mark_safe(y),
            _ => {}
        }
    }

    fn mark_pattern(&mut self, term: &Term) {
        match &term.kind {
            TermKind::Var(name) => self.mark_safe(name),
            TermKind::Array(_) | TermKind::Object(_) => self.mark_all_safe(term),
            _ => {}
        }
    }

    fn mark_all_safe(&mut self, term: &Term) {
        for name in vars::of(term, PATTERN).iter() {
            self.mark_safe(name);
        }
    }

    fn mark_safe(&mut self, name: &Name) {
        let mut todo = vec![Name::clone(name)];
        while let Some(name) = todo.pop() {
            self.unified.add(&name);
            if let Some(others) = self.unknown.remove(&name) {
                todo.extend(others.iter().cloned());
            }
            let mut known = Vec::new();
            for (other, needs) in &mut self.unknown {
                if needs.contains(&name) {
                    needs.remove(&name);
                    if needs.is_empty() {
                        known.push(Name::clone(other));
                    }
                }
            }
            todo.extend(known);
        }
    }

    fn mark_unknown(&mut self, name: &Name, needs: &Name) {
        self.unknown.entry(Name::clone(name)).or_default().add(needs);
    }

    fn unify_all(&mut self, name: &Name, pattern: &Term) {
        if self.is_safe(name) {
            return self.mark_all_safe(pattern);
        }
        let mut needs = vars::of(pattern, PATTERN);
        needs.retain(|name| !self.is_safe(name));
        if needs.is_empty() {
            self.mark_safe(name);
        } else {
            for other in needs.iter() {
                self.mark_unknown(name, other);
            }
        }
    }
}

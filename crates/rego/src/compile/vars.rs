//! Collects the variables that occur in a node.

use crate::problem::Problem;
use crate::syntax::tree::{
    Body, Every, Expr, ExprKind, Head, Module, Name, Rule, Span, Term, TermKind, With,
};
use crate::syntax::visit::{self, Visit, walk_kind, walk_term};
use crate::threads;
use crate::value::deeper;

use super::exprs;
use super::names::{NameMap, VarSet};

/// The parts of a node in which variables aren't collected.
#[derive(Clone, Copy)]
pub struct VarsParams<'a> {
    /// The heads of references.
    pub skip_ref_head: bool,
    /// The heads of the names of called functions.
    pub skip_ref_call_head: bool,
    pub skip_object_keys: bool,
    /// Comprehensions, bodies of `every`, `not`, `and`, `or`, and templates.
    pub skip_closures: bool,
    pub skip_sets: bool,
    /// If set, only the outer variables of closures without braces are collected, as determined by this
    /// function.
    pub needs: Option<&'a dyn Fn(&Body) -> VarSet>,
}

/// The parameters that collect all variables.
pub const ALL: VarsParams<'static> = VarsParams {
    skip_ref_head: false,
    skip_ref_call_head: false,
    skip_object_keys: false,
    skip_closures: false,
    skip_sets: false,
    needs: None,
};

/// The parameters of the safety checks.
pub const SAFETY: VarsParams<'static> =
    VarsParams { skip_ref_call_head: true, skip_closures: true, ..ALL };

/// The parameters for patterns: collects the variables of a term that an equality can bind.
pub const PATTERN: VarsParams<'static> =
    VarsParams { skip_ref_head: true, skip_object_keys: true, skip_closures: true, ..ALL };

/// A collector of variables.
pub struct Vars<'a> {
    params: VarsParams<'a>,
    found: VarSet,
    places: Option<NameMap<Span>>,
}

impl<'a> Vars<'a> {
    /// Creates an empty collector.
    pub fn new(params: VarsParams<'a>) -> Self {
        Self { params, found: VarSet::default(), places: None }
    }

    /// Creates a collector that adds to an existing set.
    pub fn from(params: VarsParams<'a>, found: VarSet) -> Self {
        Self { params, found, places: None }
    }

    /// The variables found, without the collector.
    pub fn take(self) -> VarSet {
        self.found
    }

    /// The variables found.
    pub fn found(&self) -> &VarSet {
        &self.found
    }

    /// Collects from a rule and its `else` branches.
    fn all_branches(&mut self, rule: &Rule) {
        for rule in rule.branches() {
            self.reference(&rule.head.reference);
            self.values(&rule.head.args);
            if let Some(value) = &rule.head.value {
                self.term(value);
            }
            self.body(&rule.body);
        }
    }

    /// Collects from several terms, such as arguments.
    pub fn values(&mut self, terms: &[Term]) {
        for term in terms {
            self.value(term);
        }
    }

    /// Collects from the terms of a reference.
    pub fn reference(&mut self, terms: &[Term]) {
        let skipped = usize::from(self.params.skip_ref_head);
        for term in terms.iter().skip(skipped) {
            self.term(term);
        }
    }

    /// Collects from a closure without braces what it needs from outside.
    fn implicit_body(&mut self, body: &Body, explicit: bool, needs: &dyn Fn(&Body) -> VarSet) {
        if !explicit {
            deeper(|| self.found.update(&needs(body)));
        }
    }

    /// Collects from a call: from its function, then from its arguments.
    fn call(&mut self, terms: &[Term]) {
        if !self.params.skip_ref_call_head {
            return self.values(terms);
        }
        let mut terms = terms.iter();
        if let Some(Term { kind: TermKind::Ref(operator), .. }) = terms.next() {
            operator.iter().skip(1).for_each(|term| self.term(term));
        }
        terms.for_each(|term| self.term(term));
    }

    /// Collects from a term.
    pub fn value(&mut self, term: &Term) {
        let params = self.params;
        match &term.kind {
            TermKind::Var(name) => {
                self.found.add(name);
            }
            TermKind::Ref(terms) => deeper(|| {
                let skipped = usize::from(params.skip_ref_head);
                terms.iter().skip(skipped).for_each(|term| self.value(term));
            }),
            TermKind::Set(_) if params.skip_sets => {}
            TermKind::Object(pairs) if params.skip_object_keys => {
                deeper(|| pairs.iter().for_each(|(_, value)| self.term(value)));
            }
            TermKind::Call(terms) => deeper(|| self.call(terms)),
            TermKind::Template(_) if params.skip_closures => {}
            _ if params.skip_closures && term.is_comprehension() => {}
            _ => walk_term(self, term),
        }
    }
}

impl Visit for Vars<'_> {
    fn expr(&mut self, expr: &Expr) {
        let VarsParams { skip_closures, needs, .. } = self.params;
        match (&expr.kind, needs) {
            (ExprKind::Every(every), _) if skip_closures => return self.term(&every.domain),
            (ExprKind::Call(terms), _) => self.call(terms),
            (ExprKind::Not(not), Some(needs)) => {
                self.implicit_body(&not.body, not.explicit, needs);
            }
            (ExprKind::And(logical) | ExprKind::Or(logical), Some(needs)) => {
                self.implicit_body(&logical.left, logical.explicit_left, needs);
                self.implicit_body(&logical.right, logical.explicit_right, needs);
            }
            (kind, _) if skip_closures && kind.has_bodies() => {}
            (kind, _) => walk_kind(self, kind),
        }
        for with in &expr.with {
            self.with(with);
        }
    }

    fn with(&mut self, with: &With) {
        if !self.params.skip_ref_call_head {
            self.value(&with.target);
            self.value(&with.value);
            return;
        }
        // A target that isn't a reference is the name of a function.
        if let TermKind::Ref(terms) = &with.target.kind {
            terms.iter().skip(1).for_each(|term| self.term(term));
        }
        match &with.value.kind {
            TermKind::Ref(terms) => terms.iter().skip(1).for_each(|term| self.term(term)),
            _ => self.term(&with.value),
        }
    }

    /// Collects from a term; if it's a variable, records its position.
    fn term(&mut self, term: &Term) {
        self.value(term);
        if let (TermKind::Var(name), Some(places)) = (&term.kind, &mut self.places) {
            places.insert(Name::clone(name), term.span);
        }
    }
}

/// The variables of a node.
pub fn of(node: &impl visit::Node, params: VarsParams<'_>) -> VarSet {
    let mut vars = Vars::new(params);
    node.accept(&mut vars);
    vars.take()
}

/// All variables of a term.
pub fn of_term(term: &Term) -> VarSet {
    of(term, ALL)
}

/// All variables of the head of a term that is a comprehension.
pub fn of_comprehension_head(term: &Term) -> Option<VarSet> {
    term.comprehension().map(|inner| of_all(inner.head(), ALL))
}

/// The problems of the variables of a term that have no value.
pub fn undeclared(term: &Term, safe: &VarSet, rewritten: &NameMap<Name>) -> Vec<Problem> {
    let problem = |name: Name| {
        let shown = exprs::show_var(rewritten.get(&name).unwrap_or(&name));
        Problem::compile(term.span, format!("var {shown} is undeclared"))
    };
    of(term, SAFETY).diff(safe).sorted().into_iter().map(problem).collect()
}

/// All variables of terms.
pub fn of_terms(terms: &[Term]) -> VarSet {
    of_all(terms, ALL)
}

/// The variables of terms.
pub fn of_all<'t>(terms: impl IntoIterator<Item = &'t Term>, params: VarsParams<'_>) -> VarSet {
    let mut vars = Vars::new(params);
    terms.into_iter().for_each(|term| vars.value(term));
    vars.take()
}

/// All variables of the modules' rules.
pub fn of_modules(modules: &[Module]) -> VarSet {
    let of_one = |module: &Module| {
        let mut vars = Vars::new(ALL);
        module.rules.iter().for_each(|rule| vars.all_branches(rule));
        vars.take()
    };
    let mut all = VarSet::default();
    threads::map(modules.iter().collect(), of_one).iter().for_each(|vars| all.update(vars));
    all
}

/// The variables that an `every` declares.
pub fn of_every(every: &Every) -> VarSet {
    every.key.iter().chain([&every.value]).flat_map(|term| of_term(term).sorted()).collect()
}

/// The variables of a rule's head, with their positions.
pub fn of_head(head: &Head) -> (VarSet, NameMap<Span>) {
    let mut vars = Vars::new(ALL);
    vars.places = Some(NameMap::default());
    vars.values(&head.args);
    for term in head.key.iter().chain(&head.value) {
        vars.term(term);
    }
    for term in head.reference.iter().skip(1) {
        vars.term(term);
    }
    (vars.found, vars.places.unwrap_or_default())
}

/// Calls `f` with each occurrence of a variable in a term, in order.
pub fn each(term: &Term, f: &mut impl FnMut(&Name)) {
    crate::syntax::walk::read(term, |node| {
        if let crate::syntax::walk::Node::Term(Term { kind: TermKind::Var(name), .. }) = node {
            f(name);
        }
        false
    });
}

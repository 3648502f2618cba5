//! Collects the variables that occur in a node.

use crate::syntax::tree::{
    Body, Every, Expr, ExprKind, Head, Logical, Module, Name, Not, Rule, Span, TemplatePart, Term,
    TermKind, With,
};
use crate::threads;

use super::names::{NameMap, VarSet};
use super::stack::deep;

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
    /// If set, of closures without braces only the variables are collected that these need from
    /// outside, which this function determines.
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
    pub fn rule(&mut self, rule: &Rule) {
        for rule in rule.branches() {
            self.reference(&rule.head.reference);
            self.values(&rule.head.args);
            if let Some(value) = &rule.head.value {
                self.term(value);
            }
            self.body(&rule.body);
        }
    }

    /// Collects from a body.
    pub fn body(&mut self, body: &Body) {
        for expr in body {
            self.expr(expr);
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

    /// Collects from an expression.
    pub fn expr(&mut self, expr: &Expr) {
        if self.params.skip_closures
            && let ExprKind::Every(every) = &expr.kind
        {
            return self.term(&every.domain);
        }
        match &expr.kind {
            ExprKind::Term(term) => self.term(term),
            ExprKind::Call(terms) => self.call(terms),
            ExprKind::Some(decl) => {
                for symbol in &decl.symbols {
                    self.term(symbol);
                }
            }
            ExprKind::Every(every) => self.every(every),
            ExprKind::Not(not) => self.not(not),
            ExprKind::And(logical) | ExprKind::Or(logical) => self.logical(logical),
        }
        for with in &expr.with {
            self.with(with);
        }
    }

    fn every(&mut self, every: &Every) {
        if let Some(key) = &every.key {
            self.value(key);
        }
        self.term(&every.value);
        self.term(&every.domain);
        deep(|| self.body(&every.body));
    }

    fn promote(&mut self, body: &Body, needs: &dyn Fn(&Body) -> VarSet) {
        for name in needs(body).iter() {
            self.found.add(name);
        }
    }

    fn not(&mut self, not: &Not) {
        if let Some(needs) = self.params.needs {
            if !not.explicit {
                deep(|| self.promote(&not.body, needs));
            }
        } else if !self.params.skip_closures {
            deep(|| self.body(&not.body));
        }
    }

    fn logical(&mut self, logical: &Logical) {
        if let Some(needs) = self.params.needs {
            if !logical.explicit_left {
                deep(|| self.promote(&logical.left, needs));
            }
            if !logical.explicit_right {
                deep(|| self.promote(&logical.right, needs));
            }
        } else if !self.params.skip_closures {
            deep(|| {
                self.body(&logical.left);
                self.body(&logical.right);
            });
        }
    }

    /// Collects from a `with`.
    pub fn with(&mut self, with: &With) {
        if !self.params.skip_ref_call_head {
            self.value(&with.target);
            self.value(&with.value);
            return;
        }
        if let TermKind::Ref(terms) = &with.target.kind {
            for term in terms.iter().skip(1) {
                self.term(term);
            }
        }
        if let TermKind::Ref(terms) = &with.value.kind {
            for term in terms.iter().skip(1) {
                self.term(term);
            }
        } else {
            self.term(&with.value);
        }
    }

    /// Collects from a call: from its function, then from its arguments.
    fn call(&mut self, terms: &[Term]) {
        if !self.params.skip_ref_call_head {
            return self.values(terms);
        }
        let mut terms = terms.iter();
        if let Some(Term { kind: TermKind::Ref(operator), .. }) = terms.next() {
            for term in operator.iter().skip(1) {
                self.term(term);
            }
        }
        for term in terms {
            self.term(term);
        }
    }

    /// Collects from a term; if it's a variable, records its position.
    pub fn term(&mut self, term: &Term) {
        self.value(term);
        if let (TermKind::Var(name), Some(places)) = (&term.kind, &mut self.places) {
            places.insert(Name::clone(name), term.span);
        }
    }

    /// Collects from a term.
    pub fn value(&mut self, term: &Term) {
        let params = self.params;
        match &term.kind {
            TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {}
            TermKind::Var(name) => {
                self.found.add(name);
            }
            TermKind::Ref(terms) => deep(|| {
                for term in terms.iter().skip(usize::from(params.skip_ref_head)) {
                    self.value(term);
                }
            }),
            TermKind::Array(terms) => deep(|| {
                for term in terms {
                    self.term(term);
                }
            }),
            TermKind::Set(terms) => {
                if !params.skip_sets {
                    deep(|| {
                        for term in terms {
                            self.term(term);
                        }
                    });
                }
            }
            TermKind::Object(pairs) => deep(|| {
                for (key, value) in pairs {
                    if !params.skip_object_keys {
                        self.term(key);
                    }
                    self.term(value);
                }
            }),
            TermKind::Call(terms) => deep(|| self.call(terms)),
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => {
                if !params.skip_closures {
                    deep(|| {
                        self.value(&comprehension.term);
                        self.body(&comprehension.body);
                    });
                }
            }
            TermKind::ObjectComprehension(comprehension) => {
                if !params.skip_closures {
                    deep(|| {
                        self.value(&comprehension.key);
                        self.value(&comprehension.value);
                        self.body(&comprehension.body);
                    });
                }
            }
            TermKind::Template(template) => {
                if !params.skip_closures {
                    deep(|| {
                        for part in &template.parts {
                            match part {
                                TemplatePart::Text(term) => self.term(term),
                                TemplatePart::Expr(expr) => self.expr(expr),
                            }
                        }
                    });
                }
            }
            TermKind::Group(term) => deep(|| self.value(term)),
        }
    }
}

/// All variables of a term.
pub fn of_term(term: &Term) -> VarSet {
    let mut vars = Vars::new(ALL);
    vars.value(term);
    vars.take()
}

/// All variables of the head of a term that is a comprehension.
pub fn of_comprehension_head(term: &Term) -> Option<VarSet> {
    match &term.kind {
        TermKind::ArrayComprehension(inner) | TermKind::SetComprehension(inner) => {
            Some(of_term(&inner.term))
        }
        TermKind::ObjectComprehension(inner) => {
            let mut vars = of_term(&inner.key);
            vars.update(&of_term(&inner.value));
            Some(vars)
        }
        _ => None,
    }
}

/// All variables of terms.
pub fn of_terms(terms: &[Term]) -> VarSet {
    let mut vars = Vars::new(ALL);
    vars.values(terms);
    vars.take()
}

/// All variables of the modules' rules.
pub fn of_modules(modules: &[Module]) -> VarSet {
    let of_one = |module: &Module| {
        let mut vars = Vars::new(ALL);
        module.rules.iter().for_each(|rule| vars.rule(rule));
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
    super::walk::read(term, |node| {
        if let super::walk::Node::Term(Term { kind: TermKind::Var(name), .. }) = node {
            f(name);
        }
        false
    });
}

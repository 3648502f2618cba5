//! Checks safety: the expressions of a body can be ordered so that every variable has a value
//! before it's needed. Also puts them in that order, in which OPA evaluates them.

use crate::problem::{Problem, ProblemCode};
use crate::syntax::print;
use crate::syntax::tree::{Body, Expr, ExprKind, Module, Name, Rule, Span, Term, TermKind, With};
use crate::syntax::visit::{self, Visit};
use crate::threads;

use super::functions::Arity;
use super::names::{NameMap, VarSet, is_generated};
use super::order;
use super::stack::deep;
use super::unify::{SafeVars, is_ref_safe, unify};
use super::vars::{self, SAFETY, Vars, VarsParams};
use super::{Compiler, exprs};
use crate::syntax::walk::{self, Node, NodeMut};

/// An expression that can't be evaluated because some of its variables have no value.
#[derive(Debug)]
pub struct Unsafe {
    span: Span,
    vars: VarSet,
    /// The variables on the left side of its `:=`.
    assigned: Vec<Name>,
    /// The variables that it looks for with `in`.
    members: Vec<Name>,
    /// `true` if it's negated.
    negated: bool,
}

impl Unsafe {
    fn new(expr: &Expr, vars: VarSet) -> Self {
        let mut assigned = Vec::new();
        if expr.from_assignment
            && let ExprKind::Call(terms) = &expr.kind
            && let [_, left, _] = terms.as_slice()
        {
            vars::each(left, &mut |name| assigned.push(Name::clone(name)));
        }
        let mut members = Vec::new();
        if let Some(parts @ [_, operator]) = exprs::operator(expr)
            && parts.first().is_some_and(|first| first.is_var("internal"))
            && matches!(&operator.kind, TermKind::String(name) if name.starts_with("member_"))
            && let [sought @ .., _collection] = exprs::operands(expr)
        {
            for term in sought {
                vars::each(term, &mut |name| members.push(Name::clone(name)));
            }
        }
        let negated = expr.negated || matches!(expr.kind, ExprKind::Not(_));
        Self { span: expr.span, vars, assigned, members, negated }
    }
}

/// The variables to which an expression gives values, if those in `safe` have values. `output` is
/// the buffer that the previous expression used; as in OPA, its contents are reused.
pub fn output_vars_for_expr(
    expr: &Expr,
    arity: &dyn Arity,
    safe: &VarSet,
    output: &mut VarSet,
) -> VarSet {
    if expr.negated || matches!(expr.kind, ExprKind::Not(_)) {
        return VarSet::default();
    }
    for with in &expr.with {
        if !vars::of(with, SAFETY).is_subset(safe) {
            return VarSet::default();
        }
    }
    match &expr.kind {
        ExprKind::Term(_) => {
            let mut output = VarSet::default();
            output_vars_for_terms(expr, safe, &mut output);
            output
        }
        ExprKind::Call(terms) if exprs::is_equality(expr) => {
            output_vars_for_equality(expr, terms, safe, output)
        }
        ExprKind::Call(terms) => {
            let Some(Term { kind: TermKind::Ref(operator), .. }) = terms.first() else {
                return VarSet::default();
            };
            let Some(arity) = arity.arity(operator) else { return VarSet::default() };
            output.clear();
            output_vars_for_terms(expr, safe, output);
            let Some((inputs, outputs)) =
                terms.split_at_checked(arity + 1).filter(|(_, rest)| !rest.is_empty())
            else {
                return output.clone();
            };
            let params = VarsParams { skip_sets: true, ..vars::PATTERN };
            let needed = vars::of_all(inputs, params);
            if !needed.iter().all(|name| output.contains(name) || safe.contains(name)) {
                return VarSet::default();
            }
            output.update(&vars::of_all(outputs, params));
            output.clone()
        }
        ExprKind::Every(every) => {
            output_vars_for_terms(&every.domain, safe, output);
            output.clone()
        }
        ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Some(_) | ExprKind::Not(_) => {
            VarSet::default()
        }
    }
}

fn output_vars_for_equality(
    expr: &Expr,
    terms: &[Term],
    safe: &VarSet,
    output: &mut VarSet,
) -> VarSet {
    let [_, left, right] = terms else { return safe.clone() };
    output.clear();
    output_vars_for_terms(expr, safe, output);
    let mut found = output.diff(safe);
    let mut without = VarSet::default();
    if expr.from_assignment {
        // The left side of `:=` doesn't give values to the variables of the right side.
        vars::each(left, &mut |name| {
            without.add(name);
            found.remove(name);
        });
    }
    let known = SafeVars { safe, more: output, without: &without };
    found.update(&unify(known, left, right).diff(safe));
    output.clear();
    found
}

/// The variables to which `left = right with …` gives values, if those in `safe` have values.
pub fn output_vars_for_pair(left: &Term, right: &Term, with: &[With], safe: &VarSet) -> VarSet {
    let mut output = VarSet::default();
    for term in
        [left, right].into_iter().chain(with.iter().flat_map(|with| [&with.target, &with.value]))
    {
        output_vars_for_terms(term, safe, &mut output);
    }
    let unified = unify(SafeVars { safe, more: &output, without: VarSet::none() }, left, right);
    output.update(&unified);
    output.diff(safe)
}

/// Adds the variables in operands of references.
fn output_vars_for_terms(place: &impl visit::Node, safe: &VarSet, output: &mut VarSet) {
    walk::read(place, |node| {
        let Node::Term(term) = node else { return false };
        match &term.kind {
            TermKind::Comprehension(..) | TermKind::Template(_) => true,
            TermKind::Ref(terms) => {
                if !is_ref_safe(terms, SafeVars::from(safe)) {
                    return true;
                }
                if !exprs::is_ground_ref(terms) {
                    let params = VarsParams { skip_ref_head: true, ..vars::ALL };
                    output.update(&vars::of_all(terms.iter().skip(1), params));
                }
                false
            }
            _ => false,
        }
    });
}

/// The variables to which a body gives values, without those in `safe`.
pub fn output_vars_for_body<'a>(
    body: impl IntoIterator<Item = &'a Expr>,
    arity: &dyn Arity,
    safe: &VarSet,
) -> VarSet {
    let mut all = safe.clone();
    let mut buffer = VarSet::default();
    for expr in body {
        let found = output_vars_for_expr(expr, arity, &all, &mut buffer);
        all.update(&found);
    }
    all.diff(safe)
}

/// The variables that a closure without braces needs from outside. For a body with one expression,
/// these are all its variables; otherwise those to which no expression gives a value, or that occur
/// in only one expression.
pub fn unsafe_implicit_body_vars(body: &Body, arity: &dyn Arity) -> VarSet {
    let mut occurrences: NameMap<usize> = NameMap::default();
    for expr in body {
        for name in vars::of(expr, SAFETY).iter() {
            *occurrences.entry(Name::clone(name)).or_default() += 1;
        }
    }
    if body.len() == 1 {
        return occurrences.into_keys().collect();
    }
    let mut safe = VarSet::reserved();
    safe.extend(occurrences.keys().cloned());
    for expr in body {
        if exprs::is_equality(expr) {
            for term in exprs::operands(expr).iter().take(2) {
                if let TermKind::Var(name) = &term.kind {
                    safe.remove(name);
                }
            }
        }
    }
    let mut bindings = VarSet::default();
    loop {
        let mut changed = false;
        for expr in body {
            if let (true, ExprKind::Call(terms)) = (exprs::is_equality(expr), &expr.kind) {
                let found = output_vars_for_equality(expr, terms, &safe, &mut VarSet::default());
                for name in found.iter() {
                    if bindings.add(name) {
                        safe.add(name);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    for expr in body {
        if let (false, ExprKind::Call(terms)) = (exprs::is_equality(expr), &expr.kind)
            && let Some(Term { kind: TermKind::Ref(operator), .. }) = terms.first()
            && let Some(arity) = arity.arity(operator)
            && let Some(outputs) = terms.get(arity + 1..)
        {
            let params = VarsParams { skip_sets: true, ..vars::PATTERN };
            bindings.update(&vars::of_all(outputs, params));
        }
    }
    let needed =
        |(name, count): (Name, usize)| (count == 1 || !bindings.contains(&name)).then_some(name);
    occurrences.into_iter().filter_map(needed).collect()
}

/// Adds the variables in the closures of an expression or of its `with`.
fn vars_in_closures(place: &impl visit::Node, found: &mut Vars<'_>) {
    walk::read(place, |node| {
        match node {
            Node::Term(term) if term.is_comprehension() => found.value(term),
            Node::Expr(expr) => {
                match &expr.kind {
                    ExprKind::Every(every) => found.body(&every.body),
                    ExprKind::Not(not) => found.body(&not.body),
                    ExprKind::And(logical) | ExprKind::Or(logical) => {
                        found.body(&logical.left);
                        found.body(&logical.right);
                    }
                    _ => return false,
                }
                expr.with.iter().for_each(|with| vars_in_closures(with, found));
            }
            _ => return false,
        }
        true
    });
}

/// The state of an expression while its body is being ordered.
struct Pending {
    /// The variables in it that have no value yet.
    needs: VarSet,
    /// The variables of its closures that also occur in the body.
    closed: VarSet,
    /// The position: at first in the original body, later in the new order.
    index: usize,
    taken: bool,
    /// `true` if variables got values since it was last examined.
    dirty: bool,
    is_unsafe: bool,
}

/// Orders the expressions of a body, and the bodies of its closures, so that each has the values
/// that it needs. If that isn't possible, also returns the expressions that lack values.
pub fn reorder_body_for_safety(
    arity: &dyn Arity,
    globals: &VarSet,
    body: Body,
) -> (Body, Vec<Unsafe>) {
    let needs = |body: &Body| unsafe_implicit_body_vars(body, arity);
    let params = VarsParams { needs: Some(&needs), ..SAFETY };
    let body_vars = vars::of(&body, params);
    let mut safe = body_vars.intersect(globals);
    let mut occurrences: NameMap<Vec<usize>> = NameMap::default();
    let mut has_every = false;
    let mut pending: Vec<Pending> = Vec::with_capacity(body.len());
    for (index, expr) in body.iter().enumerate() {
        has_every |= matches!(expr.kind, ExprKind::Every(_));
        let mut needs = vars::of(expr, params);
        let mut closed = Vars::new(vars::ALL);
        vars_in_closures(expr, &mut closed);
        let closed = closed.take();
        if body.len() > 8 {
            for name in needs.iter().chain(closed.iter()) {
                occurrences.entry(Name::clone(name)).or_default().push(index);
            }
        }
        needs.retain(|name| !safe.contains(name));
        let is_unsafe = !needs.is_empty();
        let closed = closed.intersect(&body_vars).diff(globals);
        pending.push(Pending { needs, closed, index, taken: false, dirty: true, is_unsafe });
    }
    let mut taken: Vec<usize> = Vec::with_capacity(body.len());
    // The expressions that were placed although some of their variables have no value.
    let mut leftovers: Vec<usize> = Vec::new();
    let mut output = VarSet::default();
    loop {
        let before = taken.len();
        for (at, expr) in body.iter().enumerate() {
            let Some(state) = pending.get(at) else { continue };
            // A body with `every` is examined as a whole in each round, since its result depends on
            // what an earlier expression left in `output`.
            if state.taken || !(state.dirty || has_every) {
                continue;
            }
            // OPA takes an expression for another one that is written alike and was placed at its
            // position.
            let duplicate = taken.get(state.index).and_then(|other| body.get(*other));
            if duplicate.is_some_and(|other| order::exprs(other, expr).is_eq()) {
                continue;
            }
            let found = output_vars_for_expr(expr, arity, &safe, &mut output);
            let outside = if state.closed.is_empty() || leftovers.is_empty() {
                state.closed.clone()
            } else {
                let placed = leftovers.iter().filter_map(|index| body.get(*index));
                state.closed.diff(&output_vars_for_body(placed, arity, &safe))
            };
            let Some(state) = pending.get_mut(at) else { continue };
            state.dirty = false;
            if !outside.is_empty() {
                if outside == found {
                    continue;
                }
                state.needs = outside;
                state.is_unsafe = true;
            }
            state.needs.retain(|name| !found.contains(name) && !safe.contains(name));
            if !state.needs.is_empty() {
                continue;
            }
            state.is_unsafe = false;
            state.taken = true;
            state.index = taken.len();
            taken.push(at);
            for name in found.iter() {
                if safe.add(name) {
                    if body.len() > 8 {
                        for other in occurrences.get(name).into_iter().flatten() {
                            if let Some(other) = pending.get_mut(*other) {
                                other.dirty = true;
                            }
                        }
                    } else {
                        pending.iter_mut().for_each(|other| other.dirty = true);
                    }
                }
            }
            if !vars::of(expr, params).is_subset(&safe) {
                leftovers.push(at);
            }
        }
        if taken.len() == before {
            break;
        }
    }
    let mut slots: Vec<Option<Expr>> = body.into_iter().map(Some).collect();
    let mut reordered: Body = Vec::with_capacity(slots.len());
    for index in &taken {
        reordered.extend(slots.get_mut(*index).and_then(Option::take));
    }
    let mut problems: Vec<Unsafe> = Vec::new();
    let mut rest: Body = Vec::new();
    for (slot, state) in slots.into_iter().zip(pending) {
        if let Some(expr) = slot {
            if state.is_unsafe {
                problems.push(Unsafe::new(&expr, state.needs));
            }
            rest.push(expr);
        }
    }
    let mut closures = Closures { arity, globals: globals.clone(), problems };
    let mut previous: Option<usize> = None;
    for index in 0..reordered.len() {
        if let Some(expr) = previous.and_then(|index| reordered.get(index)) {
            let mut vars = Vars::from(params, std::mem::take(&mut closures.globals));
            vars.expr(expr);
            closures.globals = vars.take();
        }
        if let Some(expr) = reordered.get_mut(index) {
            closures.expr(expr);
        }
        previous = Some(index);
    }
    reordered.extend(rest);
    (reordered, closures.problems)
}

/// Orders the bodies of closures.
struct Closures<'a> {
    arity: &'a dyn Arity,
    globals: VarSet,
    problems: Vec<Unsafe>,
}

impl Closures<'_> {
    fn expr(&mut self, expr: &mut Expr) {
        if !exprs::has_closures(expr) {
            return;
        }
        let mut lacking = VarSet::default();
        walk::change(expr, Some(order::sort), |node| match node {
            NodeMut::Body(_) => false,
            NodeMut::Expr(expr) => {
                match &mut expr.kind {
                    ExprKind::Every(every) => {
                        self.globals.update(&vars::of_every(every));
                        self.body(None, &mut every.body, &mut lacking);
                    }
                    ExprKind::Not(not) => self.body(None, &mut not.body, &mut lacking),
                    ExprKind::And(logical) | ExprKind::Or(logical) => {
                        self.body(None, &mut logical.left, &mut lacking);
                        self.body(None, &mut logical.right, &mut lacking);
                    }
                    _ => return false,
                }
                true
            }
            NodeMut::Term(term) => self.term(term, &mut lacking),
        });
        if !lacking.is_empty() {
            self.problems.push(Unsafe::new(expr, lacking));
        }
    }

    fn term(&mut self, term: &mut Term, lacking: &mut VarSet) -> bool {
        let head = vars::of_comprehension_head(term);
        let Some(inner) = term.comprehension_mut() else { return false };
        self.body(head, &mut inner.body, lacking);
        true
    }

    /// Orders a closure's body. `term` contains the variables of a comprehension's head.
    fn body(&mut self, term: Option<VarSet>, body: &mut Body, lacking: &mut VarSet) {
        if let Some(term) = term {
            let needs = |body: &Body| unsafe_implicit_body_vars(body, self.arity);
            let inner = vars::of(body, VarsParams { needs: Some(&needs), ..SAFETY });
            lacking.update(&term.diff(&inner).diff(&self.globals));
        }
        let taken = std::mem::take(body);
        let (reordered, problems) =
            deep(|| reorder_body_for_safety(self.arity, &self.globals, taken));
        *body = reordered;
        self.problems.extend(problems);
    }
}

/// The keywords that a v0 policy may have failed to import.
const FUTURE_KEYWORDS: [&str; 7] = ["in", "every", "contains", "if", "not", "and", "or"];

/// The problems of unsafe expressions: one for each variable, or, if only generated variables are
/// unsafe, one for each expression.
pub fn safety_problems(
    lacking: &[Unsafe],
    rewritten: &NameMap<Name>,
    compiler: &Compiler<'_>,
    place: Option<(&Module, &Rule)>,
) -> Vec<Problem> {
    let scope = place.map(|(module, rule)| compiler.scope(module, rule)).unwrap_or_default();
    let original = |name: &Name| rewritten.get(name).cloned().unwrap_or_else(|| Name::clone(name));
    let mut assigned = VarSet::default();
    for name in lacking.iter().flat_map(|statement| &statement.assigned) {
        assigned.add(name);
        assigned.add(&original(name));
    }
    let mut first: NameMap<Span> = NameMap::default();
    for statement in lacking {
        for name in statement.vars.iter() {
            first
                .entry(Name::clone(name))
                .and_modify(|span| {
                    if compiler.place(statement.span) < compiler.place(*span) {
                        *span = statement.span;
                    }
                })
                .or_insert(statement.span);
        }
    }
    let mut pairs: Vec<(Name, Span)> = first.into_iter().collect();
    pairs.sort_by(|(a, a_span), (b, b_span)| {
        compiler.place(*a_span).cmp(&compiler.place(*b_span)).then_with(|| a.cmp(b))
    });
    let is_assigned =
        |name: &Name, shown: &Name| assigned.contains(shown) || assigned.contains(name);
    let shown: Vec<(Name, Name, Span)> = pairs
        .into_iter()
        .map(|(name, span)| (original(&name), name, span))
        .filter(|(shown, ..)| !is_generated(shown))
        .collect();
    let others = shown.iter().any(|(shown, name, _)| !is_assigned(name, shown));
    let mut problems = Vec::new();
    for (shown, name, span) in &shown {
        if others && is_assigned(name, shown) {
            continue;
        }
        let display = if super::names::is_wildcard(shown) { "_" } else { shown };
        let mut message = format!("var {display} is unsafe{scope}");
        if FUTURE_KEYWORDS.contains(&display) {
            message.push_str(&format!(
                " (hint: `import future.keywords.{display}` to import a future keyword)"
            ));
        }
        let mut problem = Problem::new(ProblemCode::UnsafeVar, *span, message);
        let uses = || lacking.iter().filter(|usage| usage.vars.iter().any(|var| var == name));
        problem.hints.extend(super::hints::unsafe_variable(
            compiler,
            (display, place),
            uses().any(|usage| usage.members.contains(name)),
            uses().any(|usage| usage.negated),
        ));
        problems.push(problem);
    }
    if !problems.is_empty() {
        return problems;
    }
    let mut lacking: Vec<&Unsafe> = lacking.iter().collect();
    lacking.sort_by_key(|statement| compiler.place(statement.span));
    let mut seen = VarSet::default();
    for statement in lacking {
        let before = seen.len();
        for name in statement.vars.iter().filter(|name| is_generated(name)) {
            seen.add(name);
        }
        if seen.len() > before {
            let message = format!("expression is unsafe{scope}");
            problems.push(Problem::new(ProblemCode::UnsafeVar, statement.span, message));
        }
    }
    problems
}

impl Compiler<'_> {
    /// Checks that the body gives every variable of the head a value.
    pub(super) fn check_safety_rule_heads(&mut self) {
        let modules = std::mem::take(&mut self.modules);
        for module in &modules {
            for rule in module.rules.iter().flat_map(Rule::branches) {
                self.check_safety_rule_head(module, rule);
            }
        }
        self.modules = modules;
    }

    fn check_safety_rule_head(&mut self, module: &Module, rule: &Rule) {
        if !exprs::head_may_have_vars(&rule.head) {
            return;
        }
        let mut vars = Vars::from(vars::ALL, vars::of(&rule.body, SAFETY));
        vars.values(&rule.head.args);
        let (head, places) = vars::of_head(&rule.head);
        for name in head.diff(vars.found()).sorted() {
            let span = places.get(&name).copied().unwrap_or(rule.head.span);
            let shown = self.rewritten.get(&name).unwrap_or(&name);
            if !is_generated(shown) {
                let scope = self.scope(module, rule);
                let message = format!("var {} is unsafe{scope}", exprs::show_var(shown));
                let mut problem = Problem::new(ProblemCode::UnsafeVar, span, message);
                let named = (&**shown, Some((module, rule)));
                problem.hints.extend(super::hints::unsafe_variable(self, named, false, false));
                self.problem(problem);
            }
        }
    }

    /// Checks that every variable of a body has a value before it's needed, and orders the
    /// expressions.
    pub(super) fn check_safety_rule_bodies(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        let arities = self.arities();
        let failed = threads::map(modules.iter_mut().enumerate().collect(), |(at, module)| {
            let mut failed = Vec::new();
            for (index, rule) in module.rules.iter_mut().enumerate() {
                let mut next = Some(rule);
                while let Some(rule) = next {
                    let mut vars = Vars::from(vars::ALL, VarSet::reserved());
                    vars.values(&rule.head.args);
                    let body = std::mem::take(&mut rule.body);
                    let (body, lacking) = reorder_body_for_safety(&arities, vars.found(), body);
                    rule.body = body;
                    if !lacking.is_empty() {
                        failed.push((at, index, lacking));
                    }
                    next = rule.else_rule.as_deref_mut();
                }
            }
            failed
        });
        for (at, index, lacking) in failed.into_iter().flatten() {
            if let Some(module) = modules.get(at)
                && let Some(rule) = module.rules.get(index)
            {
                let place = Some((module, rule));
                let problems = safety_problems(&lacking, &self.rewritten, self, place);
                self.problems(problems);
            }
        }
        self.modules = modules;
    }

    /// ` in rule …`, if the line has rules with different names.
    fn scope(&self, module: &Module, rule: &Rule) -> String {
        let line = |rule: &Rule| self.place(rule.span).1;
        let name =
            |rule: &Rule| print::RefText(exprs::ground_prefix(&rule.head.reference)).to_string();
        let (own_line, own_name) = (line(rule), name(rule));
        let shared =
            module.rules.iter().any(|other| line(other) == own_line && name(other) != own_name);
        if shared { format!(" in rule {own_name}") } else { String::new() }
    }
}

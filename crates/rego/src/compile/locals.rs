//! Gives unique names to variables that are declared by `:=`, `some`, `every` or as arguments.

use crate::problem::Problem;
use crate::syntax::tree::{
    Body, Expr, ExprKind, Name, Rule, Span, TemplatePart, Term, TermKind, With,
};
use crate::syntax::visit::{VisitMut, walk_body_mut, walk_term_mut};
use crate::value::deeper;

use super::names::{LocalVarGenerator, NameMap, VarMap, VarSet, is_generated, is_wildcard};
use super::resolve::{declared_body_vars, declared_vars};
use super::safety::output_vars_for_pair;
use super::vars::{self, PATTERN, SAFETY, Vars, VarsParams};
use super::{Compiler, exprs, order};
use crate::syntax::walk::{self, Node, NodeMut};

const ASSIGN_IN_NEGATED: &str = "cannot assign vars inside negated expression";
const ASSIGN_IN_AND: &str = "cannot assign vars inside implicit and operand";
const ASSIGN_IN_OR: &str = "cannot assign vars inside implicit or operand";

/// The depth up to which nested closures are walked repeatedly, as OPA does; deeper ones are walked
/// once.
const MAX_REPEATED_DEPTH: usize = 8;

/// The way in which a variable came into a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occurrence {
    Argument,
    Seen,
    Assigned,
    Declared,
}

/// A variable in a scope.
#[derive(Debug, Clone)]
struct Local {
    /// The new name and the way it came into the scope; `None` if the variable is only used there.
    declared: Option<(Name, Occurrence)>,
    count: usize,
}

type Scope = VarMap<Local>;

/// The declared variables, scope by scope.
#[derive(Debug, Clone)]
pub struct LocalDeclaredVars {
    scopes: Vec<Scope>,
    /// Every new name, with the author's.
    pub rewritten: Vec<(Name, Name)>,
    /// The problems of unused variables: those declared by `some`, and in strict mode assigned
    /// ones.
    pub unused: Vec<Problem>,
}

fn new_name<'s>(scope: &'s Scope, name: &str) -> Option<&'s Name> {
    scope.get(name)?.declared.as_ref().map(|(new, _)| new)
}

impl Default for LocalDeclaredVars {
    fn default() -> Self {
        Self { scopes: vec![Scope::default()], rewritten: Vec::new(), unused: Vec::new() }
    }
}

impl LocalDeclaredVars {
    fn top(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        #[allow(clippy::indexing_slicing)] // never empty, see above
        &mut self.scopes[last]
    }

    fn push(&mut self) {
        self.scopes.push(Scope::default());
    }

    fn pop(&mut self) {
        self.scopes.pop();
    }

    fn insert(&mut self, name: &Name, new: &Name, occurrence: Occurrence) {
        let declared = Some((Name::clone(new), occurrence));
        self.top().insert(name, Local { declared, count: 1 });
        if name != new {
            self.rewritten.push((Name::clone(new), Name::clone(name)));
        }
    }

    fn declared(&self, name: &str) -> Option<&Name> {
        self.scopes.iter().rev().find_map(|scope| new_name(scope, name))
    }

    fn occurrence(&mut self, name: &str) -> Option<Occurrence> {
        Some(self.top().get(name)?.declared.as_ref()?.1)
    }

    fn global_occurrence(&self, name: &str) -> Option<Occurrence> {
        let occurrence = |scope: &Scope| Some(scope.get(name)?.declared.as_ref()?.1);
        self.scopes.iter().rev().find_map(occurrence)
    }

    fn seen(&mut self, name: &Name) {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(local) = scope.get_mut(name) {
                local.count += 1;
                return;
            }
        }
        self.top().insert(name, Local { declared: None, count: 1 });
    }

    fn count(&self, name: &str) -> usize {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).map_or(0, |local| local.count)
    }
}

/// Renames declared variables.
pub struct LocalsRewriter<'a> {
    pub generator: &'a mut LocalVarGenerator,
    pub stack: LocalDeclaredVars,
    pub strict: bool,
    pub problems: Vec<Problem>,
    depth: usize,
}

impl<'a> LocalsRewriter<'a> {
    /// Creates a rewriter with the variables that are declared already.
    pub fn new(
        generator: &'a mut LocalVarGenerator,
        stack: LocalDeclaredVars,
        strict: bool,
    ) -> Self {
        Self { generator, stack, strict, problems: Vec::new(), depth: 0 }
    }

    fn compile_problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems.push(Problem::compile(span, message));
    }

    /// Rewrites a body. The variables in `used` are used outside of it.
    pub fn scope(&mut self, body: &mut Body, used: Option<&VarSet>) {
        let before = if self.strict { Some(body.clone()) } else { None };
        let mut declared_at: Vec<(Span, VarSet)> = Vec::new();
        let first = body.first().map(|expr| expr.span).unwrap_or_default();
        if body.iter().any(|expr| matches!(expr.kind, ExprKind::Some(_))) {
            for expr in body.iter() {
                let mut declared = VarSet::default();
                declared_vars(expr, &mut declared);
                if !declared.is_empty() {
                    declared_at.push((expr.span, declared));
                }
            }
        }
        let mut result = Vec::with_capacity(body.len());
        for mut expr in std::mem::take(body) {
            let keep = match &expr.kind {
                ExprKind::Some(_) => self.some_decl(&mut expr),
                ExprKind::Every(_) => self.every(&mut expr),
                kind => {
                    match kind {
                        ExprKind::Not(_) => self.not(&mut expr),
                        ExprKind::And(_) | ExprKind::Or(_) => self.logical(&mut expr),
                        _ if exprs::is_assignment(&expr) => self.assignment(&mut expr),
                        _ => self.expr(&mut expr),
                    }
                    true
                }
            };
            if keep {
                result.push(expr);
            }
        }
        if result.is_empty() {
            result.push(exprs::truth(first));
        }
        *body = result;
        if let Some(before) = before {
            self.check_unused_assigned_vars(&before, body, used);
        }
        self.check_unused_declared_vars(first, &declared_at, used, body);
    }

    fn check_unused_assigned_vars(&mut self, before: &Body, after: &Body, used: Option<&VarSet>) {
        if !self.problems.is_empty() || !self.stack.unused.is_empty() {
            return;
        }
        let scope = self.stack.top().clone();
        let mut unused: NameMap<Name> = NameMap::default();
        for (name, local) in scope.iter() {
            let Some((new, occurrence)) = &local.declared else { continue };
            if *occurrence == Occurrence::Assigned
                && !is_wildcard(name)
                && self.stack.count(name) <= 1
                && !used.is_some_and(|used| used.contains(new))
            {
                unused.insert(Name::clone(new), Name::clone(name));
            }
        }
        for name in used.into_iter().flat_map(VarSet::iter) {
            if let Some(new) = self.stack.declared(name) {
                unused.remove(new);
            }
        }
        let mut unused: Vec<(Name, Name)> = unused.into_iter().collect();
        unused.sort();
        let place = |new: &Name, name: &Name| {
            // Except for declarations, both bodies have the same expressions.
            let found = after.iter().find(|expr| vars::of(*expr, vars::ALL).contains(new));
            let found = found.or_else(|| {
                before.iter().find(|expr| {
                    exprs::is_assignment(expr) && vars::of(*expr, vars::ALL).contains(name)
                })
            });
            found.or(before.first()).map(|expr| expr.span).unwrap_or_default()
        };
        for (new, name) in unused {
            let span = place(&new, &name);
            self.stack.unused.push(Problem::compile(span, format!("assigned var {name} unused")));
        }
    }

    fn check_unused_declared_vars(
        &mut self,
        first: Span,
        declared_at: &[(Span, VarSet)],
        used: Option<&VarSet>,
        body: &Body,
    ) {
        if !self.problems.is_empty() || !self.stack.unused.is_empty() {
            return;
        }
        let mut declared: Vec<(Name, Name)> = Vec::new();
        let scope = self.stack.top();
        for (name, local) in scope.iter() {
            if let Some((new, Occurrence::Declared)) = &local.declared {
                declared.push((Name::clone(new), Name::clone(name)));
            }
        }
        if declared.is_empty() {
            return;
        }
        let mut found = vars::of(body, vars::ALL);
        for name in used.into_iter().flat_map(VarSet::iter) {
            let new = self.stack.declared(name).unwrap_or(name);
            found.add(&Name::clone(new));
        }
        declared.sort();
        for (new, name) in declared {
            if found.contains(&new)
                || used.is_some_and(|used| used.contains(&new))
                || is_generated(&name)
            {
                continue;
            }
            let place = declared_at.iter().find(|(_, vars)| vars.contains(&name));
            let span = place.map_or(first, |(span, _)| *span);
            let name = if is_wildcard(&name) { "_" } else { &*name };
            self.stack.unused.push(Problem::compile(span, format!("declared var {name} unused")));
        }
    }

    fn declare(&mut self, name: &Name, occurrence: Occurrence, span: Span) -> Option<Name> {
        let message = match self.stack.occurrence(name) {
            None => {
                let new = self.generator.generate();
                self.stack.insert(name, &new, occurrence);
                return Some(new);
            }
            Some(Occurrence::Seen) => format!("var {} referenced above", exprs::show_var(name)),
            Some(Occurrence::Assigned) => format!("var {} assigned above", exprs::show_var(name)),
            Some(Occurrence::Declared) => format!("var {} declared above", exprs::show_var(name)),
            Some(Occurrence::Argument) => format!("arg {} redeclared", exprs::show_var(name)),
        };
        self.compile_problem(span, message);
        None
    }

    fn every(&mut self, expr: &mut Expr) -> bool {
        let span = expr.span;
        if let ExprKind::Every(every) = &mut expr.kind {
            self.term(&mut every.domain);
        }
        self.stack.push();
        let kept = self.every_scope(expr, span);
        self.stack.pop();
        kept
    }

    fn every_scope(&mut self, expr: &mut Expr, span: Span) -> bool {
        let ExprKind::Every(every) = &mut expr.kind else { return true };
        if every.key.is_none() {
            every.key = Some(exprs::var(self.generator.generate(), span));
        } else if let Some(Term { kind: TermKind::Var(name), .. }) = &mut every.key
            && !is_wildcard(name)
        {
            let Some(new) = self.declare(name, Occurrence::Declared, span) else { return false };
            *name = new;
        }
        if let TermKind::Var(name) = &mut every.value.kind
            && !is_wildcard(name)
        {
            let Some(new) = self.declare(name, Occurrence::Declared, span) else { return false };
            *name = new;
        }
        deeper(|| self.scope(&mut every.body, Some(&VarSet::default())));
        self.walk_closure_again(expr);
        true
    }

    /// Walks the expression of a closure again after its body, as OPA does.
    fn walk_closure_again(&mut self, expr: &mut Expr) {
        if self.depth < MAX_REPEATED_DEPTH {
            self.depth += 1;
            self.expr(expr);
            self.depth -= 1;
            return;
        }
        if let ExprKind::And(logical) | ExprKind::Or(logical) = &mut expr.kind {
            // Operands without braces haven't been walked yet.
            if !logical.explicit_left {
                deeper(|| walk_body_mut(self, &mut logical.left));
            }
            if !logical.explicit_right {
                deeper(|| walk_body_mut(self, &mut logical.right));
            }
        }
        for with in &mut expr.with {
            self.with(with);
        }
    }

    /// Rewrites `some`; returns `true` if the expression remains.
    fn some_decl(&mut self, expr: &mut Expr) -> bool {
        let ExprKind::Some(decl) = &mut expr.kind else { return true };
        let span = decl.span;
        let symbols = std::mem::take(&mut decl.symbols);
        for symbol in symbols {
            match symbol.into_kind() {
                TermKind::Var(name) => {
                    if self.declare(&name, Occurrence::Declared, span).is_none() {
                        return false;
                    }
                }
                TermKind::Call(terms) => return self.some_in(expr, terms, span),
                _ => {}
            }
        }
        false
    }

    fn some_in(&mut self, expr: &mut Expr, terms: Vec<Term>, span: Span) -> bool {
        let mut terms = terms.into_iter().skip(1);
        let (key, value, domain) = match (terms.next(), terms.next(), terms.next()) {
            (Some(key), Some(value), Some(domain)) => (key, value, domain),
            (Some(value), Some(domain), None) => {
                (exprs::var(self.generator.generate(), span), value, domain)
            }
            _ => return false,
        };
        let bound = vars::of_all([&key, &value], PATTERN);
        let used = vars::of(&domain, VarsParams { skip_closures: true, ..vars::ALL });
        let mut failed = false;
        for name in bound.intersect(&used).sorted() {
            if !is_wildcard(&name) {
                failed = true;
                self.compile_problem(span, format!("var {name} assigned before"));
            }
        }
        if failed {
            return false;
        }
        let in_domain = vars::of_term(&domain);
        let domain_span = domain.span;
        let mut elements = domain.into_ref_parts();
        elements.push(key);
        let right = Term { kind: TermKind::Ref(elements), span: domain_span };
        for name in output_vars_for_pair(&value, &right, &expr.with, &in_domain).sorted() {
            if self.declare(&name, Occurrence::Declared, span).is_none() {
                return false;
            }
        }
        expr.kind = ExprKind::Call(vec![exprs::function("eq", span), value, right]);
        self.expr(expr);
        true
    }

    fn not(&mut self, expr: &mut Expr) {
        let ExprKind::Not(not) = &mut expr.kind else { return };
        if !not.explicit {
            let before = self.problems.len();
            deeper(|| self.implicit_body(&mut not.body, ASSIGN_IN_NEGATED));
            if self.problems.len() == before {
                self.expr(expr);
            }
            return;
        }
        self.stack.push();
        deeper(|| self.scope(&mut not.body, Some(&VarSet::default())));
        self.walk_closure_again(expr);
        self.stack.pop();
    }

    fn logical(&mut self, expr: &mut Expr) {
        let before = self.problems.len();
        let message =
            if matches!(expr.kind, ExprKind::And(_)) { ASSIGN_IN_AND } else { ASSIGN_IN_OR };
        if let ExprKind::And(logical) | ExprKind::Or(logical) = &mut expr.kind {
            self.operand(&mut logical.left, logical.explicit_left, message);
            self.operand(&mut logical.right, logical.explicit_right, message);
        }
        if self.problems.len() == before {
            self.walk_closure_again(expr);
        }
    }

    fn operand(&mut self, body: &mut Body, explicit: bool, message: &'static str) {
        deeper(|| {
            if explicit {
                self.stack.push();
                self.scope(body, Some(&VarSet::default()));
                self.stack.pop();
            } else {
                self.implicit_body(body, message);
            }
        });
    }

    /// Rewrites the body of a closure without braces, which can't declare variables.
    fn implicit_body(&mut self, body: &mut Body, message: &'static str) {
        for expr in body {
            match &expr.kind {
                ExprKind::Call(_) if exprs::is_assignment(expr) => {
                    self.compile_problem(expr.span, message)
                }
                ExprKind::Not(_) => self.not(expr),
                ExprKind::And(_) | ExprKind::Or(_) => self.logical(expr),
                _ => {}
            }
        }
    }

    fn assignment(&mut self, expr: &mut Expr) {
        if expr.negated {
            return self.compile_problem(expr.span, ASSIGN_IN_NEGATED);
        }
        let before = self.problems.len();
        let ExprKind::Call(terms) = &mut expr.kind else { return };
        let [operator, left, right] = terms.as_mut_slice() else { return };
        self.term(right);
        for with in &mut expr.with {
            self.term(&mut with.value);
        }
        self.assignee(left);
        if self.problems.len() == before {
            *operator = exprs::function("eq", operator.span);
            expr.from_assignment = true;
        }
    }

    fn assignee(&mut self, term: &mut Term) {
        let span = term.span;
        if let Some(name) = exprs::root_document(term).cloned() {
            if let Some(new) = self.declare(&name, Occurrence::Assigned, span) {
                term.kind = TermKind::Var(new);
            }
            return;
        }
        match &mut term.kind {
            TermKind::Var(name) => {
                if let Some(new) = self.declare(name, Occurrence::Assigned, span) {
                    *name = new;
                }
            }
            TermKind::Array(terms) => {
                deeper(|| terms.iter_mut().for_each(|term| self.assignee(term)))
            }
            TermKind::Object(pairs) => {
                deeper(|| pairs.iter_mut().for_each(|(_, value)| self.assignee(value)));
            }
            _ => self.compile_problem(span, format!("cannot assign to {}", term.kind.name())),
        }
    }
}

/// Renames variables. Only comprehensions are scopes of their own here.
impl VisitMut for LocalsRewriter<'_> {
    fn term(&mut self, term: &mut Term) {
        let used = vars::of_comprehension_head(term);
        if let Some(inner) = term.comprehension_mut() {
            return deeper(|| {
                self.stack.push();
                self.scope(&mut inner.body, used.as_ref());
                inner.key.iter_mut().chain([&mut inner.value]).for_each(|term| self.term(term));
                self.stack.pop();
            });
        }
        match &mut term.kind {
            TermKind::Var(name) => {
                if let Some(new) = self.stack.declared(name).cloned() {
                    self.stack.seen(name);
                    *name = new;
                } else if self.stack.occurrence(name).is_none() {
                    let name = Name::clone(name);
                    self.stack.insert(&name, &name, Occurrence::Seen);
                }
            }
            TermKind::Ref(_) => {
                if let Some(name) = exprs::root_document(term) {
                    if self
                        .stack
                        .global_occurrence(name)
                        .is_some_and(|occurrence| occurrence != Occurrence::Seen)
                        && let Some(new) = self.stack.declared(name)
                        && new != name
                    {
                        term.kind = TermKind::Var(Name::clone(new));
                    }
                } else {
                    walk_term_mut(self, term);
                }
            }
            TermKind::Call(terms) => {
                if let Some(operator) = terms.first() {
                    let mut shadowed = false;
                    vars::each(operator, &mut |name| {
                        shadowed |= self.stack.declared(name).is_some_and(|new| new != name);
                    });
                    if shadowed {
                        let message = format!("called function {operator} shadowed");
                        self.compile_problem(term.span, message);
                    }
                }
                walk_term_mut(self, term);
            }
            _ => {
                walk_term_mut(self, term);
                order::sort(term);
            }
        }
    }

    fn with(&mut self, with: &mut With) {
        self.term(&mut with.target);
        // `with input as …` refers to the document, even if a variable is called `input`.
        if let Some(shadow) = self.stack.declared("input") {
            match &mut with.target.kind {
                TermKind::Var(name) if name == shadow => {
                    with.target.kind =
                        TermKind::Ref(vec![exprs::var("input".into(), with.target.span)]);
                }
                TermKind::Ref(terms) => {
                    if let Some(Term { kind: TermKind::Var(name), .. }) = terms.first_mut()
                        && name == shadow
                    {
                        *name = "input".into();
                    }
                }
                _ => {}
            }
        }
        self.term(&mut with.value);
    }
}

/// Rewrites the comprehensions and templates of a head, each of which is a scope of its own.
struct HeadVars<'a, 'b> {
    rewriter: LocalsRewriter<'a>,
    rewritten: &'b mut NameMap<Name>,
}

impl HeadVars<'_, '_> {
    fn scope(&mut self, rewrite: impl FnOnce(&mut LocalsRewriter<'_>)) {
        let unused = std::mem::take(&mut self.rewriter.stack.unused);
        self.rewriter.stack = LocalDeclaredVars::default();
        rewrite(&mut self.rewriter);
        self.rewritten.extend(std::mem::take(&mut self.rewriter.stack.rewritten));
        self.rewriter.stack.unused.splice(0..0, unused);
    }
}

impl VisitMut for HeadVars<'_, '_> {
    fn term(&mut self, term: &mut Term) {
        if term.is_comprehension() {
            return self.scope(|rewriter| rewriter.term(term));
        }
        if let TermKind::Template(template) = &mut term.kind {
            return self.scope(|rewriter| {
                for part in &mut template.parts {
                    if let TemplatePart::Expr(expr) = part {
                        rewriter.stack.push();
                        rewriter.expr(expr);
                        rewriter.stack.pop();
                    }
                }
            });
        }
        walk_term_mut(self, term);
        order::sort(term);
    }
}

impl Compiler<'_> {
    /// Renames the declared variables of all rules.
    pub(super) fn rewrite_local_vars(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        for rule in modules.iter_mut().flat_map(|module| &mut module.rules) {
            self.rewrite_local_vars_in_chain(rule);
        }
        self.modules = modules;
    }

    fn rewrite_local_vars_in_chain(&mut self, rule: &mut Rule) {
        let mut unused_args = VarSet::default();
        if self.options.strict {
            unused_args = vars::of_terms(&rule.head.args);
        }
        let head_span = rule.head.span;
        let mut args = LocalDeclaredVars::default();
        let mut problems = Vec::new();
        for term in &mut rule.head.args {
            rewrite_arg(term, &mut args, &mut self.generator, &mut problems);
        }
        self.problems(problems);
        let mut next = Some(rule);
        while let Some(rule) = next {
            let stack = self.rewrite_local_vars_in_rule(rule, &mut unused_args, &args);
            self.recoverable(stack.unused.clone());
            unused_args.retain(|name| stack.count(name) <= 1);
            next = rule.else_rule.as_deref_mut();
        }
        for name in unused_args.sorted() {
            if !is_wildcard(&name) {
                let message =
                    format!("unused argument {name}. (hint: use _ (wildcard variable) instead)");
                self.recoverable([Problem::compile(head_span, message)]);
            }
        }
    }

    fn rewrite_local_vars_in_rule(
        &mut self,
        rule: &mut Rule,
        unused_args: &mut VarSet,
        args: &LocalDeclaredVars,
    ) -> LocalDeclaredVars {
        let only_scalars = !exprs::head_may_have_vars(&rule.head);
        let mut used = VarSet::default();
        let strict = self.options.strict;
        if !only_scalars {
            let rewriter =
                LocalsRewriter::new(&mut self.generator, LocalDeclaredVars::default(), strict);
            let mut visitor = HeadVars { rewriter, rewritten: &mut self.rewritten };
            let head = &mut rule.head;
            for term in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
                visitor.term(term);
            }
            let LocalsRewriter { stack, problems, .. } = visitor.rewriter;
            self.problems(problems);
            self.recoverable(stack.unused);
            let operands = rule.head.reference.iter().skip(1);
            used = vars::of_all(operands.chain(&rule.head.key), vars::ALL);
            if let Some(value) = &rule.head.value {
                let in_value = vars::of_term(value);
                used.update(&in_value);
                unused_args.retain(|name| !in_value.contains(name));
            }
        }
        let mut stack = LocalDeclaredVars { unused: Vec::new(), ..args.clone() };
        self.rename_shadows(rule, &mut stack);
        let mut rewriter = LocalsRewriter::new(&mut self.generator, stack, strict);
        rewriter.scope(&mut rule.body, Some(&used));
        let LocalsRewriter { mut stack, problems, .. } = rewriter;
        self.problems(problems);
        self.rewritten.extend(std::mem::take(&mut stack.rewritten));
        if !only_scalars && let Some(scope) = stack.scopes.last() {
            let head = &mut rule.head;
            let reference = head.reference.iter_mut().skip(1);
            for term in
                head.args.iter_mut().chain(reference).chain(&mut head.key).chain(&mut head.value)
            {
                walk::change(term, Some(order::sort), |node| {
                    if let NodeMut::Term(Term { kind: TermKind::Var(name), .. }) = node
                        && let Some(new) = new_name(scope, name)
                    {
                        *name = Name::clone(new);
                    }
                    false
                });
            }
        }
        stack
    }

    /// Renames variables that have the name of a built-in function, too.
    fn rename_shadows(&mut self, rule: &Rule, stack: &mut LocalDeclaredVars) {
        let found = vars::of(&rule.body, SAFETY);
        let mut names: Vec<Name> = found
            .iter()
            .filter(|name| self.options.functions.get(name).is_some())
            .cloned()
            .collect();
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        let declared = declared_body_vars(&rule.body);
        let mut in_with = Vars::new(VarsParams { skip_ref_call_head: true, ..vars::ALL });
        walk::read(rule, |node| {
            if let Node::With(with) = node {
                in_with.value(&with.target);
                in_with.value(&with.value);
            }
            false
        });
        for name in names {
            if !declared.contains(&name)
                && !in_with.found().contains(&name)
                && stack.declared(&name).is_none()
            {
                let new = self.generator.generate();
                stack.insert(&name, &new, Occurrence::Seen);
            }
        }
    }
}

/// Renames the variables of an argument.
fn rewrite_arg(
    term: &mut Term,
    stack: &mut LocalDeclaredVars,
    generator: &mut LocalVarGenerator,
    problems: &mut Vec<Problem>,
) {
    match &mut term.kind {
        TermKind::Var(name) => {
            if let Some(new) = stack.declared(name).cloned() {
                stack.seen(name);
                *name = new;
            } else {
                let new = generator.generate();
                stack.insert(name, &new, Occurrence::Argument);
                *name = new;
            }
        }
        TermKind::Object(pairs) => deeper(|| {
            for (_, value) in pairs.iter_mut() {
                rewrite_arg(value, stack, generator, problems);
            }
        }),
        TermKind::Call(_) => {
            problems.push(Problem::compile(term.span, "rule arguments cannot contain calls"));
        }
        TermKind::Ref(terms) | TermKind::Array(terms) => deeper(|| {
            for term in terms {
                rewrite_arg(term, stack, generator, problems);
            }
        }),
        _ => {}
    }
}

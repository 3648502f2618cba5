//! Checks the targets of `with`, and hoists values that must be evaluated.

use crate::problem::Problem;
use crate::syntax::print;
use crate::syntax::tree::{Body, Expr, ExprKind, Name, Term, TermKind, With};
use crate::syntax::visit::{VisitMut, walk_body_mut, walk_expr_mut, walk_term_mut};

use super::comprehension_terms::replace_by_var;
use super::functions::function_name;
use super::names::LocalVarGenerator;
use super::{Compiler, exprs, order};
use crate::syntax::walk::{self, Node};

/// Rewrites `with`.
pub struct WithValues<'a> {
    pub compiler: &'a Compiler<'a>,
    pub generator: &'a mut LocalVarGenerator,
    pub problems: Vec<Problem>,
}

impl VisitMut for WithValues<'_> {
    /// Rewrites a body and then its closures.
    fn body(&mut self, body: &mut Body) {
        self.own(body);
        walk_body_mut(self, body);
    }

    fn expr(&mut self, expr: &mut Expr) {
        if !matches!(expr.kind, ExprKind::Some(_)) {
            return walk_expr_mut(self, expr);
        }
        for with in &mut expr.with {
            self.with(with);
        }
    }

    fn term(&mut self, term: &mut Term) {
        if !matches!(term.kind, TermKind::Template(_) | TermKind::Group(_)) {
            walk_term_mut(self, term);
            order::sort(term);
        }
    }
}

impl WithValues<'_> {
    /// Rewrites a body, without its closures. After the first problem of an expression, the rest of
    /// it remains unchanged.
    pub fn own(&mut self, body: &mut Body) {
        if body.iter().all(|expr| expr.with.is_empty()) {
            return;
        }
        let mut result = Vec::with_capacity(body.len());
        let mut shared: Option<(Vec<With>, Vec<With>)> = None;
        for mut expr in std::mem::take(body) {
            if expr.with.is_empty() {
                shared = None;
            } else if let Some((before, after)) = &shared
                && order::same_withs(before, &expr.with)
            {
                expr.with.clone_from(after);
            } else {
                let before = expr.with.clone();
                self.replacements(&mut expr, &mut result);
                shared = Some((before, expr.with.clone()));
            }
            result.push(expr);
        }
        *body = result;
    }

    fn replacements(&mut self, expr: &mut Expr, result: &mut Body) {
        for with in &mut expr.with {
            match self.validate(with) {
                Err(problem) => {
                    self.problems.push(problem);
                    return;
                }
                Ok(false) => {}
                Ok(true) => {
                    result.push(replace_by_var(self.generator, &mut with.value));
                }
            }
        }
    }

    /// Checks a `with`; returns `true` if its value must be evaluated first.
    fn validate(&self, with: &mut With) -> Result<bool, Problem> {
        let functions = &self.compiler.options.functions;
        // A variable with the name of a function refers to the function.
        if let TermKind::Var(name) = &with.value.kind
            && functions.get(name).is_some()
        {
            with.value = exprs::function(&Name::clone(name), with.value.span);
        }
        let is_builtin = self.is_builtin(&with.target)?;
        let span = with.target.span;
        let target = with.target.ref_parts();
        let root = match &with.target.kind {
            TermKind::Ref(terms) => match terms.first().map(|term| &term.kind) {
                Some(TermKind::Var(name)) => &**name,
                _ => "",
            },
            _ => "",
        };
        match root {
            "data" => {
                let last = target.len().saturating_sub(1);
                let mut node = Some(&*self.compiler.rule_tree);
                for key in target.get(1..last).unwrap_or_default() {
                    let Some(child) = node.and_then(|node| node.child(key)) else { break };
                    if !child.values.is_empty() {
                        let message = "with keyword cannot partially replace virtual document(s)";
                        return Err(Problem::compile(span, message));
                    }
                    node = Some(child);
                }
                if last > 0
                    && let Some(child) = target.get(last).and_then(|key| node?.child(key))
                    && self.has_function(&child.values)
                    && self.is_function_value(&with.value)?
                {
                    return Ok(false);
                }
                // A function that isn't called is kept as it is.
                if let TermKind::Ref(reference) = &with.value.kind
                    && let Some(node) = self.compiler.rule_tree.find(reference)
                    && self.has_function(&node.values)
                {
                    return Ok(false);
                }
            }
            "input" => {}
            _ if is_builtin => {
                if let TermKind::Var(name) = &with.target.kind {
                    with.target = exprs::function(&Name::clone(name), span);
                }
                self.validate_builtin(&with.target)?;
                if self.is_function_value(&with.value)? {
                    return Ok(false);
                }
            }
            _ => {
                let message =
                    "with keyword target must reference existing input, data, or a function";
                let mut problem = Problem::types(span, message);
                let name = print::RefText(target).to_string();
                problem.hints.extend(super::hints::with_target(self.compiler, &name));
                return Err(problem);
            }
        }
        Ok(exprs::requires_eval(&with.value))
    }

    fn has_function(&self, rules: &[super::rule_tree::RuleId]) -> bool {
        rules.iter().filter_map(|id| self.compiler.rules.get(*id)).any(|info| info.args > 0)
    }

    fn validate_builtin(&self, target: &Term) -> Result<(), Problem> {
        let reference = target.ref_parts();
        let Some(function) = self.compiler.options.functions.by_reference(reference) else {
            return Ok(());
        };
        let problem = |what: String| {
            let message = format!("with keyword replacing built-in function: {what}");
            Err(Problem::compile(target.span, message))
        };
        if matches!(&*function.name, "eq" | "rego.metadata.chain" | "rego.metadata.rule") {
            return problem(format!("replacement of {} invalid", print::quote(&function.name)));
        }
        if function.name.starts_with("internal.") {
            return problem(format!(
                "replacement of internal function {} invalid",
                print::quote(&function.name)
            ));
        }
        if function.relation {
            return problem("target must not be a relation".to_owned());
        }
        if function.void {
            return problem("target must not be a void function".to_owned());
        }
        Ok(())
    }

    /// Returns `true` if a value is a function: a rule or a built-in one.
    fn is_function_value(&self, value: &Term) -> Result<bool, Problem> {
        if let TermKind::Ref(reference) = &value.kind
            && self.compiler.rule_tree.find(reference).is_some()
        {
            return Ok(true);
        }
        self.is_builtin(value)
    }

    fn is_builtin(&self, term: &Term) -> Result<bool, Problem> {
        let (TermKind::Ref(_) | TermKind::Var(_)) = &term.kind else { return Ok(false) };
        let Some(name) = function_name(term.ref_parts()) else { return Ok(false) };
        if self
            .compiler
            .options
            .unsafe_builtins
            .iter()
            .any(|unsafe_builtin| **unsafe_builtin == *name)
        {
            let message = format!(
                "with keyword replacing built-in function: target must not be unsafe: {}",
                print::quote(&term.to_string())
            );
            return Err(Problem::compile(term.span, message));
        }
        Ok(self.compiler.options.functions.get(&name).is_some())
    }
}

impl Compiler<'_> {
    /// Rewrites `with` in all rules.
    pub(super) fn rewrite_with_values(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        let mut generator = self.generator.clone();
        let mut rewriter =
            WithValues { compiler: &*self, generator: &mut generator, problems: Vec::new() };
        for rule in modules.iter_mut().flat_map(|module| &mut module.rules) {
            if walk::any(rule, |node| matches!(node, Node::With(_))) {
                rewriter.rule(rule);
            }
        }
        let problems = rewriter.problems;
        self.generator = generator;
        self.modules = modules;
        self.problems(problems);
    }
}

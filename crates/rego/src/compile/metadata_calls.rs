//! Replaces `rego.metadata.chain()` and `rego.metadata.rule()` by their results, which are
//! constants.

use crate::annotations::AnnotationSet;
use crate::problem::Problem;
use crate::syntax::tree::{Body, Expr, ExprKind, Module, Name, Rule, Span, Term, TermKind};

use super::{Compiler, exprs, value_term};
use crate::syntax::walk::{self, Node, NodeMut};

fn is_chain(expr: &Expr) -> bool {
    exprs::calls(expr, "rego.metadata.chain")
}

fn is_rule(expr: &Expr) -> bool {
    exprs::calls(expr, "rego.metadata.rule")
}

fn first_call(rule: &Rule, is: impl Fn(&Expr) -> bool) -> Option<Span> {
    let mut found = None;
    walk::read(rule, |node| {
        if let Node::Expr(expr) = node
            && found.is_none()
            && is(expr)
        {
            found = Some(expr.span);
        }
        found.is_some()
    });
    found
}

/// Replaces the calls by the variables.
fn replace(node: NodeMut<'_>, chain: Option<&Name>, own: Option<&Name>) -> bool {
    let NodeMut::Body(body) = node else { return false };
    for expr in body {
        let name = match (chain, own) {
            (Some(name), _) if is_chain(expr) => name,
            (_, Some(name)) if is_rule(expr) => name,
            _ => continue,
        };
        let span = expr.span;
        let value = exprs::var(Name::clone(name), span);
        let mut made = match exprs::operands(expr).first() {
            Some(output) => exprs::equality(output.clone(), value, span),
            None => Expr::new(ExprKind::Term(Box::new(value)), span),
        };
        made.generated = true;
        *expr = made;
    }
    false
}

impl Compiler<'_> {
    /// Orders the annotations by what they apply to.
    pub(super) fn set_annotation_set(&mut self) {
        match AnnotationSet::build(std::mem::take(&mut self.blocks), self.sources) {
            Ok(set) => self.annotations = set,
            Err(problems) => self.problems(problems),
        }
    }

    /// Replaces the calls in all rules.
    pub(super) fn rewrite_rego_metadata_calls(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        let mut problems = Vec::new();
        for module in &mut modules {
            let mut rules = std::mem::take(&mut module.rules);
            for rule in &mut rules {
                // The calls of a branch are also found in the rule that it belongs to.
                let found = first_call(rule, |expr| is_chain(expr) || is_rule(expr)).is_some();
                let mut next = found.then_some(rule);
                while let Some(rule) = next {
                    if let Err(problem) = self.rewrite_metadata_in_rule(module, rule) {
                        problems.push(problem);
                    }
                    next = rule.else_rule.as_deref_mut();
                }
            }
            module.rules = rules;
        }
        self.modules = modules;
        self.problems(problems);
    }

    fn rewrite_metadata_in_rule(
        &mut self,
        module: &Module,
        rule: &mut Rule,
    ) -> Result<(), Problem> {
        let chain = first_call(rule, is_chain);
        let own = first_call(rule, is_rule);
        if chain.is_none() && own.is_none() {
            return Ok(());
        }
        let mut body: Body = Vec::with_capacity(rule.body.len() + 2);
        let mut names = [None, None];
        for (index, span) in [chain, own].into_iter().enumerate() {
            let Some(span) = span else { continue };
            let value = if index == 0 {
                self.annotations.chain_value(module, rule)?
            } else {
                self.annotations.rule_value(rule)?
            };
            let equality = self.generate_equality(value_term(&value, span));
            if let (Some(Term { kind: TermKind::Var(name), .. }), Some(slot)) =
                (exprs::operands(&equality).first(), names.get_mut(index))
            {
                *slot = Some(Name::clone(name));
            }
            exprs::append(&mut body, [equality]);
        }
        exprs::append(&mut body, std::mem::take(&mut rule.body));
        rule.body = body;
        let [chain, own] = &names;
        let mut visit = |node: NodeMut<'_>| replace(node, chain.as_ref(), own.as_ref());
        walk::change(&mut rule.head, None, &mut visit);
        walk::change(&mut rule.body, None, &mut visit);
        Ok(())
    }
}

//! Replaces templates by calls of `internal.template_string`.
//!
//! `$"a {x.y}"` becomes `internal.template_string(["a ", {__local0__ | __local0__ = x.y}])`. An
//! undefined value is thus an empty set and doesn't make the statement undefined.

use crate::problem::Problem;
use crate::syntax::tree::{
    Body, Collection, Expr, ExprKind, Name, Rule, Template, TemplatePart, Term, TermKind,
};
use crate::syntax::visit::{VisitMut, walk_body_mut, walk_kind_mut, walk_term_mut};
use crate::value::deeper;

use super::names::{LocalVarGenerator, NameMap, VarSet};
use super::safety::output_vars_for_body;
use super::vars;
use super::{Compiler, exprs, rule_tree};
use crate::syntax::walk;

/// Returns `true` if a term is a template.
pub fn is_template(term: &Term) -> bool {
    matches!(term.kind, TermKind::Template(_))
}

/// Rewrites templates.
pub struct TemplateRewriter<'a> {
    pub compiler: &'a Compiler<'a>,
    pub generator: &'a mut LocalVarGenerator,
    pub rewritten: &'a NameMap<Name>,
    /// Returns `true` for a reference to a rule that always has a value.
    pub defined: &'a dyn Fn(&[Term]) -> bool,
    /// The variables that have values where the visitor is.
    pub safe: VarSet,
    pub problems: Vec<Problem>,
}

impl VisitMut for TemplateRewriter<'_> {
    fn body(&mut self, body: &mut Body) {
        self.safe.update(&output_vars_for_body(&*body, self.compiler, &self.safe));
        walk_body_mut(self, body);
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Every(every) => {
                self.term(&mut every.domain);
                let outer = self.safe.clone();
                self.safe.update(&vars::of_every(every));
                deeper(|| self.body(&mut every.body));
                self.safe = outer;
            }
            // As in OPA, what these statements give values to isn't known in them.
            ExprKind::Not(not) => deeper(|| walk_body_mut(self, &mut not.body)),
            ExprKind::And(logical) | ExprKind::Or(logical) => deeper(|| {
                walk_body_mut(self, &mut logical.left);
                walk_body_mut(self, &mut logical.right);
            }),
            kind => walk_kind_mut(self, kind),
        }
        for with in &mut expr.with {
            self.with(with);
        }
    }

    /// Rewrites a term. As in OPA, elements of sets and members of objects aren't sorted again.
    fn term(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Template(_) => {
                self.template(term);
                // Its expressions may contain further templates.
                walk_term_mut(self, term);
            }
            TermKind::Comprehension(_, inner) => deeper(|| {
                let visible = self.closure(&mut inner.body);
                for term in inner.key.iter_mut().chain([&mut inner.value]) {
                    self.comprehension_term(term, &visible);
                }
            }),
            _ => walk_term_mut(self, term),
        }
    }
}

impl TemplateRewriter<'_> {
    /// Rewrites the body of a comprehension. Returns all variables that have values in it.
    fn closure(&mut self, body: &mut Body) -> VarSet {
        let outer = self.safe.clone();
        self.body(body);
        std::mem::replace(&mut self.safe, outer)
    }

    /// As in OPA, only a template that is the whole head can use the variables of the body.
    fn comprehension_term(&mut self, term: &mut Term, inner: &VarSet) {
        if is_template(term) {
            let outer = std::mem::replace(&mut self.safe, inner.clone());
            self.template(term);
            self.safe = outer;
        }
        self.term(term);
    }

    fn template(&mut self, term: &mut Term) {
        let span = term.span;
        let TermKind::Template(template) = &mut term.kind else { return };
        let template = std::mem::replace(template, Template { parts: Vec::new(), raw: false });
        let mut parts = Vec::with_capacity(template.parts.len().max(1));
        for part in template.parts {
            match part {
                TemplatePart::Text(term) => parts.push(term),
                TemplatePart::Expr(expr) => parts.extend(self.part(expr)),
            }
        }
        if parts.is_empty() {
            parts.push(Term { kind: TermKind::String("".into()), span });
        }
        let parts = Term { kind: TermKind::Array(parts), span };
        term.kind = TermKind::Call(vec![Term::internal("template_string", span), parts]);
    }

    fn part(&mut self, mut expr: Expr) -> Option<Term> {
        let span = expr.span;
        let with = std::mem::take(&mut expr.with);
        let term = match expr.into_kind() {
            ExprKind::Call(terms) => {
                if let Some(Term { kind: TermKind::Ref(operator), .. }) = terms.first()
                    && let Some(function) = self.compiler.options.functions.by_reference(operator)
                    && function.relation
                {
                    let message = format!(
                        "illegal call to relation built-in '{}' that may cause multiple outputs",
                        function.name
                    );
                    self.problems.push(Problem::compile(span, message));
                    return None;
                }
                Term { kind: TermKind::Call(terms), span }
            }
            ExprKind::Term(term) => *term,
            _ => {
                self.problems
                    .push(Problem::compile(span, "unexpected template-string expression type"));
                return None;
            }
        };
        let alone = match &term.kind {
            TermKind::Ref(reference) => (self.defined)(reference),
            TermKind::Var(_) => true,
            _ => false,
        };
        let span = term.span;
        if alone {
            return Some(Term { kind: TermKind::Set(vec![term]), span });
        }
        self.problems.extend(vars::undeclared(&term, &self.safe, self.rewritten));
        let var = exprs::var(self.generator.generate(), span);
        let mut capture = exprs::equality(var.clone(), term, span);
        capture.with = with;
        let kind = TermKind::comprehension(Collection::Set, None, var, vec![capture]);
        Some(Term { kind, span })
    }
}

impl Compiler<'_> {
    /// Replaces the templates of all rules.
    pub(super) fn rewrite_template_strings(&mut self) {
        let found = |rule: &Rule| walk::any_term(rule, is_template);
        let any = self.modules.iter().flat_map(|module| &module.rules).any(found);
        if !any {
            return;
        }
        let constant = rule_tree::constant_rules(&self.rules, &self.modules);
        let mut modules = std::mem::take(&mut self.modules);
        let mut generator = self.generator.clone();
        let this = &*self;
        let defined = |reference: &[Term]| this.is_ref_to_known_defined_rule(reference, &constant);
        let mut rewriter = TemplateRewriter {
            compiler: this,
            generator: &mut generator,
            rewritten: &this.rewritten,
            defined: &defined,
            safe: VarSet::default(),
            problems: Vec::new(),
        };
        walk::rules_mut(&mut modules, |rule| {
            if !found(rule) {
                return;
            }
            rewriter.safe = VarSet::reserved();
            rewriter.safe.update(&vars::of_terms(&rule.head.args));
            rewriter.body(&mut rule.body);
            let head = &mut rule.head;
            for term in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
                rewriter.term(term);
            }
        });
        let problems = rewriter.problems;
        self.generator = generator;
        self.modules = modules;
        self.problems(problems);
    }

    /// Returns `true` if a reference names a rule that always has a value: one with a default, a
    /// set, or a constant.
    pub(super) fn is_ref_to_known_defined_rule(
        &self,
        reference: &[Term],
        constant: &[bool],
    ) -> bool {
        if reference.len() < 2 {
            return false;
        }
        let Some(node) = self.rule_tree.find(reference) else { return false };
        let infos: Vec<_> = node.values.iter().filter_map(|id| self.rules.get(*id)).collect();
        let Some(first) = infos.first() else { return false };
        if first.args > 0 {
            return false;
        }
        if first.default || first.multi_value {
            return true;
        }
        match node.values.as_slice() {
            [only] => constant.get(only.index()).copied().unwrap_or_default(),
            _ => infos.iter().any(|info| info.default),
        }
    }
}

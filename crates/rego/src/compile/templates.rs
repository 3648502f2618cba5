//! Replaces templates by calls of `internal.template_string`.
//!
//! `$"a {x.y}"` becomes `internal.template_string(["a ", {__local0__ | __local0__ = x.y}])`. An
//! undefined value is thus an empty set and doesn't make the statement undefined.

use crate::problem::Problem;
use crate::syntax::tree::{
    Body, Comprehension, Expr, ExprKind, Name, Template, TemplatePart, Term, TermKind,
};

use super::names::{LocalVarGenerator, NameMap, VarSet};
use super::safety::output_vars_for_body;
use super::stack::deep;
use super::vars::{self, SAFETY, Vars};
use super::walk::{self, Node};
use super::{Compiler, exprs};

/// OPA's function that builds the text from a template's parts.
const TEMPLATE_STRING: [&str; 2] = ["internal", "template_string"];

/// Rewrites templates.
pub struct TemplateRewriter<'a> {
    pub compiler: &'a Compiler<'a>,
    pub generator: &'a mut LocalVarGenerator,
    pub rewritten: &'a NameMap<Name>,
    /// Returns `true` for a reference to a rule that always has a value.
    pub defined: &'a dyn Fn(&[Term]) -> bool,
    pub problems: Vec<Problem>,
}

impl TemplateRewriter<'_> {
    /// Rewrites a body, before which the variables in `globals` have values. Returns all variables
    /// that have values in it.
    pub fn body(&mut self, body: &mut Body, globals: &VarSet) -> VarSet {
        let mut safe = output_vars_for_body(&*body, self.compiler, globals);
        safe.update(globals);
        for expr in body {
            self.expr(expr, &safe);
        }
        safe
    }

    fn expr(&mut self, expr: &mut Expr, safe: &VarSet) {
        match &mut expr.kind {
            ExprKind::Term(term) => self.term(term, safe),
            ExprKind::Call(terms) => self.terms(terms, safe),
            ExprKind::Some(decl) => self.terms(&mut decl.symbols, safe),
            ExprKind::Every(every) => deep(|| {
                self.term(&mut every.domain, safe);
                let mut inner = safe.clone();
                inner.update(&vars::of_every(every));
                self.body(&mut every.body, &inner);
            }),
            ExprKind::Not(not) => deep(|| self.exprs(&mut not.body, safe)),
            ExprKind::And(logical) | ExprKind::Or(logical) => deep(|| {
                self.exprs(&mut logical.left, safe);
                self.exprs(&mut logical.right, safe);
            }),
        }
        for with in &mut expr.with {
            self.term(&mut with.target, safe);
            self.term(&mut with.value, safe);
        }
    }

    fn exprs(&mut self, body: &mut Body, safe: &VarSet) {
        for expr in body {
            self.expr(expr, safe);
        }
    }

    fn terms(&mut self, terms: &mut [Term], safe: &VarSet) {
        for term in terms {
            self.term(term, safe);
        }
    }

    /// Rewrites a term.
    pub fn term(&mut self, term: &mut Term, safe: &VarSet) {
        match &mut term.kind {
            TermKind::Template(_) => {
                self.template(term, safe);
                // Its expressions may contain further templates.
                deep(|| self.subterms(term, safe));
            }
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => deep(|| {
                let inner = self.body(&mut comprehension.body, safe);
                self.comprehension_term(&mut comprehension.term, &inner, safe);
            }),
            TermKind::ObjectComprehension(comprehension) => deep(|| {
                let inner = self.body(&mut comprehension.body, safe);
                self.comprehension_term(&mut comprehension.key, &inner, safe);
                self.comprehension_term(&mut comprehension.value, &inner, safe);
            }),
            _ => deep(|| self.subterms(term, safe)),
        }
    }

    /// As in OPA, only a template that is the whole head can use the variables of the body.
    fn comprehension_term(&mut self, term: &mut Term, inner: &VarSet, outer: &VarSet) {
        if matches!(term.kind, TermKind::Template(_)) {
            self.template(term, inner);
            deep(|| self.subterms(term, outer));
        } else {
            self.term(term, outer);
        }
    }

    fn subterms(&mut self, term: &mut Term, safe: &VarSet) {
        match &mut term.kind {
            // As in OPA, elements of sets and members of objects aren't sorted again.
            TermKind::Ref(terms)
            | TermKind::Array(terms)
            | TermKind::Call(terms)
            | TermKind::Set(terms) => {
                self.terms(terms, safe);
            }
            TermKind::Object(pairs) => {
                for (key, value) in pairs.iter_mut() {
                    self.term(key, safe);
                    self.term(value, safe);
                }
            }
            TermKind::Group(term) => self.term(term, safe),
            TermKind::Template(template) => {
                for part in &mut template.parts {
                    if let TemplatePart::Expr(expr) = part {
                        self.expr(expr, safe);
                    }
                }
            }
            _ => {}
        }
    }

    fn template(&mut self, term: &mut Term, safe: &VarSet) {
        let span = term.span;
        let TermKind::Template(template) = &mut term.kind else { return };
        let template = std::mem::replace(template, Template { parts: Vec::new(), raw: false });
        let mut parts = Vec::with_capacity(template.parts.len().max(1));
        for part in template.parts {
            match part {
                TemplatePart::Text(term) => parts.push(term),
                TemplatePart::Expr(expr) => parts.extend(self.part(expr, safe)),
            }
        }
        if parts.is_empty() {
            parts.push(Term { kind: TermKind::String("".into()), span });
        }
        let [package, name] = TEMPLATE_STRING;
        let operator = vec![
            exprs::var(package.into(), span),
            Term { kind: TermKind::String(name.into()), span },
        ];
        let operator = Term { kind: TermKind::Ref(operator), span };
        let parts = Term { kind: TermKind::Array(parts), span };
        term.kind = TermKind::Call(vec![operator, parts]);
    }

    fn part(&mut self, mut expr: Expr, safe: &VarSet) -> Option<Term> {
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
        let mut found = Vars::new(SAFETY);
        found.term(&term);
        for name in found.found().diff(safe).sorted() {
            let shown = self.rewritten.get(&name).unwrap_or(&name);
            let message = format!("var {} is undeclared", exprs::show_var(shown));
            self.problems.push(Problem::compile(span, message));
        }
        let var = exprs::var(self.generator.generate(), span);
        let mut capture = exprs::equality(var.clone(), term, span);
        capture.with = with;
        let comprehension = Comprehension { term: var, body: vec![capture], keys: Vec::new() };
        Some(Term { kind: TermKind::SetComprehension(Box::new(comprehension)), span })
    }
}

impl Compiler<'_> {
    /// Replaces the templates of all rules.
    pub(super) fn rewrite_template_strings(&mut self) {
        let is_template =
            |node: Node<'_>| matches!(node, Node::Term(Term { kind: TermKind::Template(_), .. }));
        let found = |rule: &crate::syntax::tree::Rule| walk::any_in_rule(rule, is_template);
        let any = self.modules.iter().flat_map(|module| &module.rules).any(found);
        if !any {
            return;
        }
        let constant = self.constant_rules();
        let mut modules = std::mem::take(&mut self.modules);
        let mut generator = self.generator.clone();
        let this = &*self;
        let defined = |reference: &[Term]| this.is_ref_to_known_defined_rule(reference, &constant);
        let mut rewriter = TemplateRewriter {
            compiler: this,
            generator: &mut generator,
            rewritten: &this.rewritten,
            defined: &defined,
            problems: Vec::new(),
        };
        walk::rules_mut(&mut modules, |rule| {
            if !found(rule) {
                return false;
            }
            let mut safe = VarSet::reserved();
            safe.update(&vars::of_terms(&rule.head.args));
            let safe = rewriter.body(&mut rule.body, &safe);
            for term in
                rule.head.args.iter_mut().chain(&mut rule.head.key).chain(&mut rule.head.value)
            {
                rewriter.term(term, &safe);
            }
            false
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

    /// The rules that are constants: a flag for each id.
    pub(super) fn constant_rules(&self) -> Vec<bool> {
        let constant =
            |(id, _)| self.rules.find(id, &self.modules).is_some_and(exprs::is_constant_rule);
        self.rules.iter().map(constant).collect()
    }
}

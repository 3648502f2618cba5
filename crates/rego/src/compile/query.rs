//! The compile stages of queries.

use std::sync::Arc;

use crate::problem::{Problem, Sources};
use crate::syntax::tree::{Body, FileId, Import, Name, Package, Span, Term, TermKind, With};
use crate::syntax::visit::VisitMut;

use super::comprehension_terms::ComprehensionTerms;
use super::dynamic_terms::DynamicTerms;
use super::expr_terms::ExprTerms;
use super::locals::{LocalDeclaredVars, LocalsRewriter};
use super::names::{LocalVarGenerator, NameMap, VarSet};
use super::print_calls::PrintRewriter;
use super::resolve::{Globals, Resolver, declared_body_vars};
use super::templates::{TemplateRewriter, is_template};
use super::vars;
use super::with_values::WithValues;
use super::{
    CompileOptions, Compiled, Compiler, calls, comprehension_indices, imports, normalize,
    rule_tree, safety,
};
use crate::syntax::walk;

/// The context of a query: the names that it can use.
#[derive(Debug, Clone, Default)]
pub struct QueryContext {
    /// The package whose rules the query can name.
    pub package: Option<Package>,
    /// The imports whose names the query can use.
    pub imports: Vec<Import>,
    /// Replacements for each statement. Those that the statement itself states win.
    pub with: Vec<With>,
}

impl QueryContext {
    /// Adds the replacements to the statements of a query.
    pub fn replace(&self, body: &mut Body) {
        for expr in body {
            expr.with.splice(..0, self.with.iter().cloned());
        }
    }
}

/// A query after all compile stages.
#[derive(Debug, Clone)]
pub struct CompiledQuery {
    /// The statements.
    pub body: Body,
    /// The author's name of each renamed variable.
    pub rewritten: NameMap<Name>,
    /// The terms that generated variables stand for, where the body doesn't show them.
    pub subjects: NameMap<Term>,
}

/// Creates the generator of names for one stage; each stage of a query begins anew.
fn generator(body: &Body) -> LocalVarGenerator {
    LocalVarGenerator::new("__localq", vars::of(body, vars::ALL))
}

/// Compiles a query against compiled modules.
///
/// # Errors
/// All problems of the stage that found the first one.
pub fn compile_query(
    compiled: &Compiled,
    body: Body,
    context: &QueryContext,
    sources: &Sources,
    options: &CompileOptions<'_>,
) -> Result<CompiledQuery, Vec<Problem>> {
    let mut compiler = Compiler::new(Vec::new(), sources, options);
    compiler.rule_tree = Arc::clone(&compiled.rule_tree);
    compiler.rules = Arc::clone(&compiled.rules);
    let mut query = QueryCompiler { compiler: &compiler, compiled, problems: Vec::new() };
    query.run(body, context).map_err(|mut problems| {
        crate::problem::sort_by_position(&mut problems, sources);
        problems
    })
}

struct QueryCompiler<'a> {
    compiler: &'a Compiler<'a>,
    compiled: &'a Compiled,
    problems: Vec<Problem>,
}

impl QueryCompiler<'_> {
    fn add(&mut self, problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
        self.problems.extend(problems);
        self.check()
    }

    fn check(&mut self) -> Result<(), Vec<Problem>> {
        if self.problems.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.problems)) }
    }

    fn run(
        &mut self,
        mut body: Body,
        context: &QueryContext,
    ) -> Result<CompiledQuery, Vec<Problem>> {
        let compiler = self.compiler;
        let options = compiler.options;
        if body.is_empty() {
            // The query's text comes after those of the modules.
            let file = FileId(u32::try_from(compiler.sources.len()).unwrap_or(u32::MAX));
            let span = Span { file, start: 0, end: 0 };
            return Err(vec![Problem::compile(span, "empty query cannot be compiled")]);
        }
        normalize::body(&mut body);
        if options.strict {
            self.add(imports::check_root_document_overrides_in_body(&body))?;
        }
        self.resolve(&mut body, context);

        let mut names = generator(&body);
        let mut rewriter =
            LocalsRewriter::new(&mut names, LocalDeclaredVars::default(), options.strict);
        rewriter.scope(&mut body, None);
        let LocalsRewriter { stack, problems, .. } = rewriter;
        self.problems.extend(problems);
        self.problems.extend(stack.unused);
        let rewritten: NameMap<Name> = stack.rewritten.into_iter().collect();
        self.check()?;

        self.templates(&mut body, &rewritten);
        self.check()?;
        self.add(imports::check_void_calls(compiler, &body))?;
        if options.prints {
            let mut names = generator(&body);
            let mut prints =
                PrintRewriter { arity: compiler, generator: &mut names, rewritten: &rewritten };
            self.add(prints.body(&mut body, &VarSet::reserved()))?;
        } else {
            super::print_calls::erase(&mut body);
        }
        let mut subjects = NameMap::default();
        ExprTerms::new(&mut generator(&body), &mut subjects).body(&mut body);
        ComprehensionTerms { generator: &mut generator(&body) }.body(&mut body);

        let mut names = generator(&body);
        let mut withs = WithValues { compiler, generator: &mut names, problems: Vec::new() };
        withs.own(&mut body);
        self.add(withs.problems)?;
        calls::check_undefined_funcs(compiler, &rewritten, &body, &mut self.problems);
        self.check()?;

        let (mut body, lacking) =
            safety::reorder_body_for_safety(compiler, &VarSet::reserved(), body);
        if !lacking.is_empty() {
            return Err(safety::safety_problems(&lacking, &rewritten, compiler, None));
        }
        DynamicTerms::new(&mut generator(&body)).body(&mut body);
        self.add(super::check_types::check_query(
            compiler,
            self.compiled,
            &body,
            &subjects,
            &rewritten,
        ))?;
        self.add(imports::check_unsafe_builtins(&options.unsafe_builtins, &body))?;
        if options.strict {
            self.add(imports::check_deprecated_builtins(&options.functions, &body))?;
        }
        comprehension_indices::build(compiler, VarSet::reserved(), &mut body);
        Ok(CompiledQuery { body, rewritten, subjects })
    }

    fn resolve(&self, body: &mut Body, context: &QueryContext) {
        let mut names = Vec::new();
        if let Some(package) = &context.package {
            let same = |module: &&crate::syntax::tree::Module| {
                super::order::slices(&module.package.path, &package.path).is_eq()
            };
            for rule in self.compiled.modules.iter().filter(same).flat_map(|module| &module.rules) {
                if let Some(Term { kind: TermKind::Var(name), .. }) = rule.head.reference.first() {
                    names.push(Name::clone(name));
                }
            }
        }
        let mut globals = Globals::new(context.package.as_ref(), &names, &context.imports);
        let declared = declared_body_vars(body);
        Resolver::new(&mut globals, vec![declared]).body(body);
    }

    fn templates(&mut self, body: &mut Body, rewritten: &NameMap<Name>) {
        if !walk::any_term(body, is_template) {
            return;
        }
        let compiled = self.compiled;
        let constant = rule_tree::constant_rules(&compiled.rules, &compiled.modules);
        let compiler = self.compiler;
        let defined =
            |reference: &[Term]| compiler.is_ref_to_known_defined_rule(reference, &constant);
        let mut names = generator(body);
        let mut rewriter = TemplateRewriter {
            compiler,
            generator: &mut names,
            rewritten,
            defined: &defined,
            safe: VarSet::reserved(),
            problems: Vec::new(),
        };
        rewriter.body(body);
        self.problems.extend(rewriter.problems);
    }
}

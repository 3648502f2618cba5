//! OPA's compile stages: from the parser's modules to those that are evaluated.
//!
//! Owns the stages of OPA 1.22.4's compiler, in its order and under its names, so that our tree,
//! printed after a stage, is OPA's. Each stage is explained in its file. The modules are compiled
//! in the order of their paths, which determines the names of the variables that the stages
//! generate.

mod calls;
mod check_types;
mod comprehension_indices;
mod comprehension_terms;
mod conflicts;
mod dependency_graph;
mod dynamic_terms;
mod expr_terms;
mod exprs;
mod functions;
mod hints;
mod imports;
mod locals;
mod metadata_calls;
mod names;
mod normalize;
mod order;
mod print_calls;
mod query;
mod recursion;
mod resolve;
mod rule_tree;
mod safety;
mod stack;
mod templates;
mod unify;
mod vars;
mod with_values;

use std::sync::Arc;

use super::annotations::{self, AnnotationSet, Annotations};
use super::problem::{Problem, Sources};
use super::syntax::tree::{Module, Name, Span, Term, TermKind};
use super::value::Value;

pub use dependency_graph::{DynamicDependency, Graph};
pub use functions::{Arity, Function, Functions, function_name};
pub use imports::check_v1;
pub use names::{LocalVarGenerator, NameMap, VarMap, VarSet};
pub use query::{CompiledQuery, QueryContext, compile_query};
pub use rule_tree::{ModuleTreeNode, RuleId, RuleInfo, Rules, TreeNode};

/// Defines the stages, in order: the names and the methods that run them.
macro_rules! stages {
    ($($stage:ident => $run:ident),+ $(,)?) => {
        /// A compile stage, by OPA's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // each is explained in its file
        pub enum Stage {
            $($stage),+
        }

        /// All stages, in order.
        pub const STAGES: [Stage; 33] = [$(Stage::$stage),+];

        impl Compiler<'_> {
            fn run(&mut self, stage: Stage) {
                match stage {
                    $(Stage::$stage => self.$run()),+
                }
            }
        }
    };
}

stages! {
    ResolveRefs => resolve_all_refs,
    CheckUnusedImports => check_unused_imports,
    InitLocalVarGen => init_local_var_gen,
    RewriteRuleHeadRefs => rewrite_rule_head_refs,
    CheckKeywordOverrides => check_keyword_overrides,
    CheckDuplicateImports => check_duplicate_imports,
    RemoveImports => remove_imports,
    SetModuleTree => set_module_tree,
    SetRuleTree => set_rule_tree,
    RewriteLocalVars => rewrite_local_vars,
    RewriteTemplateStrings => rewrite_template_strings,
    CheckVoidCalls => check_void_calls,
    RewritePrintCalls => rewrite_print_calls,
    RewriteExprTerms => rewrite_expr_terms,
    ParseMetadataBlocks => parse_metadata_blocks,
    SetAnnotationSet => set_annotation_set,
    RewriteRegoMetadataCalls => rewrite_rego_metadata_calls,
    SetGraph => set_graph,
    RewriteComprehensionTerms => rewrite_comprehension_terms,
    RewriteRefsInHead => rewrite_refs_in_head,
    RewriteWithValues => rewrite_with_values,
    CheckRuleConflicts => check_rule_conflicts,
    CheckUndefinedFuncs => check_undefined_funcs,
    CheckSafetyRuleHeads => check_safety_rule_heads,
    CheckSafetyRuleBodies => check_safety_rule_bodies,
    RewriteEquals => rewrite_equals,
    RewriteDynamicTerms => rewrite_dynamic_terms,
    RewriteTestRulesForTracing => rewrite_test_rules_for_tracing,
    CheckRecursion => check_recursion,
    CheckTypes => check_types,
    CheckUnsafeBuiltins => check_unsafe_builtins,
    CheckDeprecatedBuiltins => check_deprecated_builtins,
    BuildComprehensionIndices => build_comprehension_indices,
}

/// A callback that sees the modules after each stage.
pub type Observer<'a> = &'a dyn Fn(Stage, &[Module]);

/// A callback that sees the modules after each stage, with the authors' names of renamed variables,
/// and may change the modules.
pub type Hook<'a> = &'a dyn Fn(Stage, &mut [Module], &NameMap<Name>);

/// The options of a compilation.
#[derive(Clone, Default)]
pub struct CompileOptions<'a> {
    /// The functions that policies may call besides their own.
    pub functions: Arc<Functions>,
    /// The base documents, with which rules may conflict.
    pub data: Option<&'a Value>,
    /// The schemas of documents from outside.
    pub schemas: Option<Arc<super::types::Schemas>>,
    /// `true` for OPA's strict mode.
    pub strict: bool,
    /// `true` to keep calls of `print`, which are otherwise erased.
    pub prints: bool,
    /// `true` to show the operands of comparisons in traces of tests.
    pub rewrite_test_rules: bool,
    /// Existing functions that policies may not call.
    pub unsafe_builtins: Vec<Arc<str>>,
    /// The last stage to run; `None` runs all.
    pub stop_after: Option<Stage>,
    /// The observer of the modules after each stage.
    pub observer: Option<Observer<'a>>,
    /// The hook that may change the modules after each stage.
    pub hook: Option<Hook<'a>>,
}

impl CompileOptions<'_> {
    /// Creates options with these functions and OPA's defaults, except that `print` calls are kept.
    pub fn new(functions: Arc<Functions>) -> Self {
        Self { functions, prints: true, ..Self::default() }
    }
}

/// Compiled modules and the results of their analysis.
#[derive(Debug, Clone, Default)]
pub struct Compiled {
    /// The modules, in the order of their paths.
    pub modules: Vec<Module>,
    /// The rules by path.
    pub rule_tree: Arc<TreeNode>,
    /// The modules by package.
    pub module_tree: ModuleTreeNode,
    /// The rules by their ids.
    pub rules: Arc<Rules>,
    /// The dependencies between rules.
    pub graph: Graph,
    /// The author's name of each renamed variable.
    pub rewritten: NameMap<Name>,
    /// The terms that generated variables stand for, where their bodies don't show them.
    pub subjects: NameMap<Term>,
    /// All rules, each after those that it depends on.
    pub sorted: Vec<RuleId>,
    /// The functions that policies may call besides their own.
    pub functions: Arc<Functions>,
    /// The types of functions and rules.
    pub types: super::types::TypeEnv,
}

/// A compilation in progress.
pub(crate) struct Compiler<'a> {
    sources: &'a Sources,
    options: &'a CompileOptions<'a>,
    modules: Vec<Module>,
    rule_tree: Arc<TreeNode>,
    module_tree: ModuleTreeNode,
    rules: Arc<Rules>,
    graph: Graph,
    generator: LocalVarGenerator,
    rewritten: NameMap<Name>,
    subjects: NameMap<Term>,
    sorted: Vec<RuleId>,
    types: super::types::TypeEnv,
    /// The blocks of the annotations, until they are in `annotations`.
    blocks: Vec<Annotations>,
    annotations: AnnotationSet,
    unused_imports: Vec<Problem>,
    found: Vec<Problem>,
    /// `true` if later stages would report errors that only follow from those found.
    failed: bool,
}

/// Compiles modules, with a span `compile_stage` and an event for each stage.
///
/// # Errors
/// All problems of the stage that ended the compilation, and those of earlier stages after which
/// compilation could continue.
pub fn compile(
    modules: Vec<Module>,
    sources: &Sources,
    options: &CompileOptions<'_>,
) -> Result<Compiled, Vec<Problem>> {
    let mut compiler = Compiler::new(modules, sources, options);
    match annotations::of_modules(&compiler.modules, sources) {
        Ok(blocks) => compiler.blocks = blocks,
        Err(mut found) => {
            super::problem::sort_by_position(&mut found, sources);
            return Err(found);
        }
    }
    for stage in STAGES {
        let span = tracing::debug_span!("compile_stage", stage = ?stage).entered();
        compiler.run(stage);
        tracing::debug!(problems = compiler.found.len(), "stage done");
        drop(span);
        if compiler.failed {
            break;
        }
        if let Some(hook) = options.hook {
            hook(stage, &mut compiler.modules, &compiler.rewritten);
        }
        if let Some(observer) = options.observer {
            observer(stage, &compiler.modules);
        }
        if options.stop_after == Some(stage) {
            break;
        }
    }
    if !compiler.found.is_empty() {
        super::problem::sort_by_position(&mut compiler.found, sources);
        compiler.found.dedup();
        return Err(compiler.found);
    }
    Ok(Compiled {
        modules: compiler.modules,
        rule_tree: compiler.rule_tree,
        module_tree: compiler.module_tree,
        rules: compiler.rules,
        graph: compiler.graph,
        rewritten: compiler.rewritten,
        subjects: compiler.subjects,
        sorted: compiler.sorted,
        functions: Arc::clone(&options.functions),
        types: compiler.types,
    })
}

impl<'a> Compiler<'a> {
    fn new(
        mut modules: Vec<Module>,
        sources: &'a Sources,
        options: &'a CompileOptions<'a>,
    ) -> Self {
        let path =
            |module: &Module| sources.get(module.span.file).map(|source| source.path().to_owned());
        modules.sort_by_cached_key(path);
        for module in &mut modules {
            normalize::module(module);
        }
        Self {
            sources,
            options,
            modules,
            rule_tree: Arc::default(),
            module_tree: ModuleTreeNode::default(),
            rules: Arc::default(),
            graph: Graph::default(),
            generator: LocalVarGenerator::new("__local", VarSet::default()),
            rewritten: NameMap::default(),
            subjects: NameMap::default(),
            sorted: Vec::new(),
            types: super::types::TypeEnv::default(),
            blocks: Vec::new(),
            annotations: AnnotationSet::default(),
            unused_imports: Vec::new(),
            found: Vec::new(),
            failed: false,
        }
    }

    /// Does nothing: OPA's commands read the blocks when they parse, and reject invalid ones.
    fn parse_metadata_blocks(&mut self) {}

    /// Creates the generator of variable names, none of which occurs in a module.
    fn init_local_var_gen(&mut self) {
        self.generator = LocalVarGenerator::new("__local", vars::of_modules(&self.modules));
    }

    /// Adds a problem that ends the compilation after this stage.
    fn problem(&mut self, problem: Problem) {
        self.found.push(problem);
        self.failed = true;
    }

    /// Adds problems that end the compilation after this stage.
    fn problems(&mut self, problems: Vec<Problem>) {
        self.failed |= !problems.is_empty();
        self.found.extend(problems);
    }

    /// Adds problems after which later stages can report further ones.
    fn recoverable(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.found.extend(problems);
    }

    /// The path, line and column at which a span begins.
    fn place(&self, span: Span) -> (&str, u32, u32) {
        let position = self.sources.position(span);
        (position.path, position.line, position.column)
    }
}

/// Converts a value to a term.
fn value_term(value: &Value, span: Span) -> Term {
    let terms = |values: &mut dyn Iterator<Item = &Value>| -> Vec<Term> {
        values.map(|value| value_term(value, span)).collect()
    };
    let kind = match value {
        Value::Null => TermKind::Null,
        Value::Bool(value) => TermKind::Bool(*value),
        Value::Number(number) => TermKind::Number(number.clone()),
        Value::String(text) => TermKind::String(text.to_name()),
        Value::Array(items) => stack::deep(|| TermKind::Array(terms(&mut items.iter()))),
        Value::Set(items) => stack::deep(|| TermKind::Set(terms(&mut items.iter()))),
        Value::Object(members) => stack::deep(|| {
            let member =
                |(key, value): (&Value, &Value)| (value_term(key, span), value_term(value, span));
            TermKind::Object(members.iter().map(member).collect())
        }),
    };
    Term { kind, span }
}

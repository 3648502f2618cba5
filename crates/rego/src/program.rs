//! The facade: compiles texts to a program, and evaluates a program with an input.
//!
//! A [`Program`] is compiled once, is cheap to clone, and can be evaluated from any number of
//! threads.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::annotations;
use super::builtins::{self, CompiledPatterns};
use super::compile::{
    CompileOptions, Compiled, Function, Functions, NameMap, QueryContext, Stage, compile,
    compile_query,
};
use super::core::{self, Core, HostFn, Marks, QueryCore, Slot};
use super::engine::{
    self, ErrorCode, EvalError, Host, InputKind, Limits, Misordered, NoHost, Read, Reading,
    Settings, Survey, Surveyed, Tracer,
};
use super::problem::{self, Problem, Problems, Sources};
use super::syntax::tree::{FileId, Module, Name, Span};
use super::syntax::{BaseVersion, ParseOptions, parse_commented_module, parse_module, parse_query};
use super::threads;
use super::value::Value;

mod capture;
mod contents;
#[cfg(test)]
mod tests;

/// A text to compile.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SourceText {
    /// The path, as errors show it.
    pub path: String,
    /// The whole source, in UTF-8.
    pub text: String,
    /// The version of the language in which it's read, unless it imports another.
    pub version: BaseVersion,
}

impl SourceText {
    /// Creates a text in the version that OPA 1.x reads by default.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), version: BaseVersion::V1 }
    }

    /// Sets the version of the language.
    #[must_use]
    pub fn version(mut self, version: BaseVersion) -> Self {
        self.version = version;
        self
    }
}

/// A function of the host, which [`Host::call`] answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostFunction {
    /// The name, such as `platform.evidence`.
    pub name: String,
    /// The types: `string, any -> object[string: any]`.
    pub signature: String,
    /// `true` if its answer depends on more than its arguments.
    pub nondeterministic: bool,
}

impl HostFunction {
    /// Declares a function whose answer depends on its arguments alone. Arguments are separated by
    /// commas; the types are `any`, `null`, `boolean`, `number`, `string`, `array[T]`, `set[T]`,
    /// `object[K: V]` and `T | U`.
    pub fn new(name: impl Into<String>, signature: impl Into<String>) -> Self {
        Self { name: name.into(), signature: signature.into(), nondeterministic: false }
    }

    /// Declares that the answer depends on more than the arguments.
    #[must_use]
    pub fn nondeterministic(mut self) -> Self {
        self.nondeterministic = true;
        self
    }
}

/// Callbacks that see modules while they are compiled, and may change them.
#[doc(hidden)]
pub trait Hooks {
    /// Called with the modules as parsed.
    fn parsed(&mut self, texts: &Sources, modules: &mut Vec<Module>) {
        let _ = (texts, modules);
    }

    /// Called with the modules after OPA's stage `RewriteLocalVars`.
    fn resolved(&mut self, resolved: Resolved<'_>) {
        let _ = resolved;
    }
}

/// Hooks that do nothing.
struct NoHooks;

impl Hooks for NoHooks {}

/// Modules in which references are complete and local variables have unique names.
pub struct Resolved<'a> {
    /// The texts.
    pub sources: &'a Sources,
    /// The modules as parsed.
    pub authors: &'a [&'a Module],
    /// The same modules after the stage, in the same order.
    pub modules: &'a mut [Module],
    /// The authors' names of local variables.
    pub locals: &'a NameMap<Name>,
}

/// The options of a compilation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The base documents, as an object: the contents of `data` besides rules.
    pub data: Value,
    /// Functions that the host implements; policies call them like built-in ones.
    pub host_functions: Vec<HostFunction>,
    /// Built-in functions that policies may not call.
    pub unsafe_builtins: Vec<String>,
    /// The schemas of documents from outside.
    pub schemas: Option<Arc<super::types::Schemas>>,
    /// `true` for OPA's `--strict`: unused variables and imports and deprecated functions are
    /// errors.
    pub strict: bool,
    /// `true` to keep `print` calls; otherwise they are erased, as in OPA.
    pub prints: bool,
    /// `true` to refuse rules that have the path of a base document, as OPA's commands do.
    pub data_conflicts: bool,
    /// Returns `true` for the name of a rule that is a verdict: a [reading](Program::read_again) judges
    /// its conditions without its message.
    #[doc(hidden)]
    pub reports: fn(&str) -> bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: Value::new_object(),
            host_functions: Vec::new(),
            unsafe_builtins: Vec::new(),
            schemas: None,
            strict: false,
            prints: true,
            data_conflicts: true,
            reports: |_| false,
        }
    }
}

/// Compiled policies.
#[derive(Clone)]
pub struct Program(Arc<ProgramInner>);

struct ProgramInner {
    sources: Sources,
    parsed: Vec<Module>,
    compiled: Compiled,
    functions: Arc<Functions>,
    options: Options,
    core: Core,
    patterns: CompiledPatterns,
    packages: Vec<PackageInfo>,
    rules: Vec<RuleInfo>,
    call_sites: Vec<CallSiteInfo>,
}

/// A compiled query.
#[derive(Clone)]
pub struct Query(Arc<QueryInner>);

struct QueryInner {
    core: QueryCore,
    /// The slots whose values are needed.
    slots: Vec<Slot>,
    expressions: Vec<QueryExpression>,
    /// The names of variables, with their indexes in `slots`.
    bindings: Vec<(String, usize)>,
    sites: Vec<core::Site>,
}

struct QueryExpression {
    /// The index of its value in `slots`; without one, the value is `true`.
    index: Option<usize>,
    text: String,
    position: (u32, u32),
}

/// A package that at least one text declares.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PackageInfo {
    /// The path: `data.a.b`.
    pub path: String,
    /// The positions of its declarations, one for each file.
    pub spans: Vec<Span>,
}

/// The document that a rule makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleKind {
    /// One value.
    Complete,
    /// `contains`: a set, element by element.
    PartialSet,
    /// An object, or nested sets and objects.
    PartialObject,
    /// A rule with arguments.
    Function,
}

/// A rule: all definitions of one path.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuleInfo {
    /// The path up to its first variable: `data.a.b.allow`.
    pub path: String,
    /// The path of the package.
    pub package: String,
    /// The kind of document that the definitions create.
    pub kind: RuleKind,
    /// The number of arguments, for a function.
    pub arity: usize,
    /// `true` if there is a default.
    pub has_default: bool,
    /// The definitions, including `else` branches, in order.
    pub definitions: Vec<Span>,
    /// The rules that it reads directly, as indexes into [`Program::rules`].
    pub depends_on: Vec<usize>,
}

/// A position at which a host function, or a built-in function that uses the network, is called.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallSiteInfo {
    /// The name of the function.
    pub name: Arc<str>,
    /// The span of the call.
    pub span: Span,
    /// The rule that contains it, as an index into [`Program::rules`].
    pub rule: Option<usize>,
}

/// The parameters of an evaluation.
///
/// ```
/// # use rego_platform_rego::{Limits, Run, Value};
/// let input = Value::from_json(r#"{"image": "web"}"#)?;
/// let mut limits = Limits::default();
/// limits.memory = 64 << 20;
/// let run = Run::default().input(&input).limits(limits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Run<'a> {
    input: Option<&'a Value>,
    host: &'a dyn Host,
    strict_builtin_errors: bool,
    limits: Limits,
    kind: &'a InputKind,
    tracer: Option<&'a dyn Tracer>,
}

impl Default for Run<'_> {
    /// No input, no functions of a host, and the default limits.
    fn default() -> Self {
        Self::new(&NoHost)
    }
}

impl<'a> Run<'a> {
    /// Creates the parameters for a host, with the default limits and nothing else.
    pub fn new(host: &'a dyn Host) -> Self {
        Self {
            input: None,
            host,
            strict_builtin_errors: false,
            limits: Limits::default(),
            kind: InputKind::UNKNOWN,
            tracer: None,
        }
    }

    /// Sets the value of `input`, which is undefined otherwise.
    #[must_use]
    pub fn input(mut self, input: impl Into<Option<&'a Value>>) -> Self {
        self.input = input.into();
        self
    }

    /// Sets what is known of the input, for a survey.
    #[doc(hidden)]
    #[must_use]
    pub fn input_kind(mut self, kind: &'a InputKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets whether an error of a built-in function fails the evaluation, as `opa eval
    /// --strict-builtin-errors` does; otherwise the call is undefined.
    #[must_use]
    pub fn strict_builtin_errors(mut self, strict: bool) -> Self {
        self.strict_builtin_errors = strict;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the receiver of trace events.
    #[doc(hidden)]
    #[must_use]
    pub fn tracer(mut self, tracer: Option<&'a dyn Tracer>) -> Self {
        self.tracer = tracer;
        self
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("input", &self.input).finish_non_exhaustive()
    }
}

/// The outcome of an evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The solutions, none for an undefined query, or the error.
    pub result: Result<Vec<Solution>, EvalError>,
    /// The first errors of built-in functions, in the order in which they occurred, whether strict
    /// or not.
    pub builtin_errors: Vec<EvalError>,
    /// The number of times each call site was reached, by its index.
    pub calls: BTreeMap<u32, u64>,
    /// The kinds of expressions that were undefined or spared, into which a
    /// [survey](Program::survey) and [readings](Program::read_again) look.
    #[doc(hidden)]
    pub suspects: Marks,
    /// The orderings of values of different types.
    #[doc(hidden)]
    pub misordered: Vec<Misordered>,
    /// The values that were given to functions that decode.
    #[doc(hidden)]
    pub decoded: HashSet<Value>,
    /// `true` if a reference to a field of the input found something.
    pub found_field: bool,
    /// The number of steps it took.
    pub steps: u64,
    /// The approximate size, in bytes, of the values that it made.
    pub memory: u64,
}

impl Outcome {
    /// Returns `true` if the rule index left out a definition for lack of a value, although calls of the host may be
    /// reached from it.
    #[doc(hidden)]
    pub fn left_out(&self) -> bool {
        self.suspects.intersects(Marks::LEFT_OUT)
    }

    /// Returns the readings that may give something else.
    #[doc(hidden)]
    pub fn readings(&self) -> impl Iterator<Item = Reading> + use<> {
        let suspects = self.suspects;
        let comparisons = Marks::COMPARISON.with(Marks::EQUALITY);
        let all = [
            (Reading::Messages, Marks::MESSAGE),
            // A message without a value ends a body before its other conditions are reached.
            (Reading::Negations, Marks::NEGATION.with(Marks::ANY_MESSAGE)),
            (Reading::Comparisons, comparisons.with(Marks::ANY_MESSAGE)),
        ];
        all.into_iter().filter(move |(_, marks)| suspects.intersects(*marks)).map(|(own, _)| own)
    }

    /// The value of the first expression of the first solution.
    pub fn value(&self) -> Option<&Value> {
        Some(&self.result.as_ref().ok()?.first()?.expressions.first()?.value)
    }
}

/// A solution of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Solution {
    /// The values of the query's expressions, in its order.
    pub expressions: Vec<ExpressionValue>,
    /// The values of the variables.
    pub bindings: BTreeMap<String, Value>,
}

/// The value of an expression of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExpressionValue {
    /// The value it has in this solution.
    pub value: Value,
    /// The text that the author wrote.
    pub text: String,
    /// The line and the column in the query, from 1.
    pub position: (u32, u32),
}

/// Checks texts as `opa check` does, without keeping what they compile to.
///
/// ```
/// use rego_platform_rego::{Options, SourceText, check};
///
/// let text = "package p\n\nallow if inputt.user == \"ann\"\n";
/// let error = check(vec![SourceText::new("p.rego", text)], &Options::default()).unwrap_err();
/// assert_eq!(error.problems.len(), 1);
/// assert!(error.to_string().starts_with("p.rego:3: rego_unsafe_var_error: var inputt is unsafe"));
/// ```
///
/// # Errors
/// All problems of the texts, together with the texts.
pub fn check(texts: Vec<SourceText>, options: &Options) -> Result<(), LoadError> {
    Program::compile(texts, options).map(drop)
}

/// Parses a text to its tree, whose types may change with any version.
///
/// ```
/// use rego_platform_rego::{SourceText, parse};
///
/// let module = parse(SourceText::new("p.rego", "package p\n\nallow if true\n"))?;
/// assert_eq!(module.rules.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All syntax errors, together with the text.
pub fn parse(text: SourceText) -> Result<Module, LoadError> {
    let mut sources = Sources::new();
    let options = ParseOptions::version(text.version);
    let file = sources.add(text.path, text.text);
    let text = sources.get(file).map_or("", |source| source.all());
    parse_module(file, text, &options).map_err(|problems| LoadError { problems, sources })
}

impl Program {
    /// Parses, checks and compiles texts.
    ///
    /// # Errors
    /// All problems of the texts, together with the texts.
    pub fn compile(texts: Vec<SourceText>, options: &Options) -> Result<Self, LoadError> {
        Self::compile_with(texts, options, &mut NoHooks)
    }

    /// Compiles texts, and calls `hooks` with the modules in between.
    ///
    /// # Errors
    /// The same as those of [`compile`](Self::compile).
    #[doc(hidden)]
    pub fn compile_with(
        texts: Vec<SourceText>,
        options: &Options,
        hooks: &mut dyn Hooks,
    ) -> Result<Self, LoadError> {
        let mut sources = Sources::new();
        let mut modules = Vec::with_capacity(texts.len());
        let mut problems = Vec::new();
        let mut todo = Vec::with_capacity(texts.len());
        for text in texts {
            todo.push((sources.add(text.path, text.text), text.version));
        }
        let parsed = threads::map(todo, |(file, version)| {
            let text = sources.get(file).map_or("", |source| source.all());
            parse_commented_module(file, text, &ParseOptions::version(version))
                .map_err(|unparsed| (file, unparsed))
        });
        let failed = parsed.iter().any(Result::is_err);
        for parsed in parsed {
            match parsed {
                // The module's annotations are read when it is compiled.
                Ok(module) if failed => {
                    problems.extend(
                        annotations::of_modules([&module], &sources).err().into_iter().flatten(),
                    );
                }
                Ok(module) => modules.push(module),
                Err((file, unparsed)) => match sources.get(file) {
                    Some(source) => problems.extend(annotations::problems_of(unparsed, source)),
                    None => problems.extend(unparsed.problems),
                },
            }
        }
        if failed {
            return Err(LoadError { problems, sources });
        }
        hooks.parsed(&sources, &mut modules);
        Self::compile_modules(modules, sources, options, hooks)
    }

    /// Checks and compiles modules that are parsed already.
    ///
    /// # Errors
    /// All problems of the modules.
    fn compile_modules(
        modules: Vec<Module>,
        sources: Sources,
        options: &Options,
        hooks: &mut dyn Hooks,
    ) -> Result<Self, LoadError> {
        let functions = Arc::new(functions(options));
        let mut stages = CompileOptions::new(Arc::clone(&functions));
        stages.data = options.data_conflicts.then_some(&options.data);
        stages.schemas.clone_from(&options.schemas);
        stages.strict = options.strict;
        stages.prints = options.prints;
        stages.unsafe_builtins =
            options.unsafe_builtins.iter().map(|name| name.as_str().into()).collect();
        let parsed = threads::map(modules.iter().collect(), Module::clone);
        let hooks = RefCell::new(hooks);
        let hook = |stage: Stage, modules: &mut [Module], locals: &NameMap<Name>| {
            if stage == Stage::RewriteLocalVars {
                let by_file: BTreeMap<FileId, &Module> =
                    parsed.iter().map(|module| (module.span.file, module)).collect();
                let author = |module: &Module| by_file.get(&module.span.file).copied();
                let authors: Vec<&Module> = modules.iter().filter_map(author).collect();
                let resolved = Resolved { sources: &sources, authors: &authors, modules, locals };
                hooks.borrow_mut().resolved(resolved);
            }
        };
        stages.hook = Some(&hook);
        let compiled = match compile(modules, &sources, &stages) {
            Ok(compiled) => compiled,
            Err(problems) => return Err(LoadError { problems, sources }),
        };
        let host = options.host_functions.iter().map(|function| {
            let known = functions.get(&function.name);
            HostFn {
                name: function.name.as_str().into(),
                arity: known.map_or(0, |known| known.arity),
                void: known.is_some_and(|known| known.void),
            }
        });
        let input = core::Input {
            modules: &compiled.modules,
            data: options.data.clone(),
            host: host.collect(),
            builtins: &builtins::lookup,
            reports: &options.reports,
        };
        let core = match core::lower(input) {
            Ok(core) => core,
            Err(problem) => return Err(LoadError { problems: vec![problem], sources }),
        };
        let (packages, rules, by_file) = contents::describe(&core, &compiled.modules);
        let call_sites = core.sites.iter().map(|site| CallSiteInfo {
            name: Arc::clone(&site.name),
            span: site.span,
            rule: site.set.and_then(|set| by_file.get(&set).copied()),
        });
        let call_sites = call_sites.collect();
        let options = options.clone();
        Ok(Self(Arc::new(ProgramInner {
            sources,
            parsed,
            compiled,
            functions,
            options,
            core,
            patterns: CompiledPatterns::default(),
            packages,
            rules,
            call_sites,
        })))
    }

    /// Compiles a query such as `x := data.a.b; x > 1`.
    ///
    /// # Errors
    /// All problems of the query.
    pub fn query(&self, text: &str) -> Result<Query, LoadError> {
        self.query_in(text, &QueryContext::default())
    }

    /// Compiles a query in the context of a package or with imports.
    ///
    /// # Errors
    /// All problems of the query.
    #[doc(hidden)]
    pub fn query_in(&self, text: &str, context: &QueryContext) -> Result<Query, LoadError> {
        self.compile_query(text, context).map_err(|mut problems| {
            let mut sources = self.0.sources.clone();
            sources.add("", text);
            problem::sort_by_position(&mut problems, &sources);
            LoadError { problems, sources }
        })
    }

    fn compile_query(&self, text: &str, context: &QueryContext) -> Result<Query, Problems> {
        let inner = &*self.0;
        let file = FileId(u32::try_from(inner.sources.len()).unwrap_or(u32::MAX));
        let mut body = parse_query(file, text, &ParseOptions::default())?;
        context.replace(&mut body);
        capture::capture(&mut body, &inner.core, &inner.functions, context);
        let mut stages = CompileOptions::new(Arc::clone(&inner.functions));
        stages.strict = inner.options.strict;
        stages.prints = inner.options.prints;
        stages.unsafe_builtins =
            inner.options.unsafe_builtins.iter().map(|name| name.as_str().into()).collect();
        let compiled = compile_query(&inner.compiled, body, context, &inner.sources, &stages)?;
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let span = Span { file, start: 0, end };
        let (core, sites) = core::lower_query(&inner.core, &builtins::lookup, &compiled.body, span)
            .map_err(|problem| vec![problem])?;
        let source = problem::Source::new("", text);
        let mut slots = Vec::new();
        let mut expressions = Vec::new();
        for expr in compiled.body.iter().filter(|expr| !expr.generated) {
            let captured = capture::captured(expr);
            let slot = captured.and_then(|name| {
                (0..).zip(&core.scope.names).find(|(_, other)| *other == name).map(|(slot, _)| slot)
            });
            let index = slot.map(|slot| {
                slots.push(slot);
                slots.len() - 1
            });
            expressions.push(QueryExpression {
                index,
                text: source.slice(expr.span).unwrap_or_default().to_owned(),
                position: source.line_column(expr.span.start),
            });
        }
        let mut bindings = Vec::new();
        for (slot, name) in (0..).zip(&core.scope.names) {
            let name: &Name = compiled.rewritten.get(name).unwrap_or(name);
            if name.starts_with('$') || name.starts_with("__local") {
                continue;
            }
            bindings.push((name.to_string(), slots.len()));
            slots.push(slot);
        }
        Ok(Query(Arc::new(QueryInner { core, slots, expressions, bindings, sites })))
    }

    /// Makes a query for one document, such as `["a", "b", "allow"]` for `data.a.b.allow`, without
    /// parsing or checking anything.
    pub fn rule_query(&self, path: &[&str]) -> Query {
        let mut text = String::from("data");
        for part in path {
            core::push_part(&mut text, &Value::from(*part));
        }
        Query(Arc::new(QueryInner {
            core: core::lower_document(&self.0.core, path),
            slots: vec![0],
            expressions: vec![QueryExpression { index: Some(0), text, position: (1, 1) }],
            bindings: Vec::new(),
            sites: Vec::new(),
        }))
    }

    /// Evaluates a query once, on this thread.
    pub fn evaluate(&self, query: &Query, run: &Run<'_>) -> Outcome {
        let settings = Settings {
            strict: run.strict_builtin_errors,
            tracer: run.tracer,
            ..self.settings(run)
        };
        let inner = &*query.0;
        let evaluated =
            engine::evaluate(&self.0.core, &inner.core, run.input, &inner.slots, &settings);
        let result = evaluated
            .result
            .map(|solutions| query.solutions(solutions))
            .map_err(|error| self.explained(error));
        Outcome {
            result,
            builtin_errors: evaluated.errors,
            calls: evaluated.calls,
            suspects: evaluated.suspects,
            misordered: evaluated.misordered,
            decoded: evaluated.decoded,
            found_field: evaluated.found_field,
            steps: evaluated.steps,
            memory: evaluated.memory,
        }
    }

    /// Evaluates a query again, for what its evaluation with this outcome didn't show; `None` if there
    /// is nothing to look for. The host must answer the calls that were made as before. It may fail any
    /// other: nothing behind it is reached then.
    ///
    /// # Errors
    /// A limit, or the host's reason to end.
    #[doc(hidden)]
    pub fn survey(
        &self,
        query: &Query,
        run: &Run<'_>,
        outcome: &Outcome,
    ) -> Result<Option<Survey>, EvalError> {
        let core = &self.0.core;
        // The fields of an object exist, unless a loop over its members looks for fields of theirs.
        let has_fields = run.input.is_some_and(|input| {
            matches!(input, Value::Object(_))
                && (!core.iterates_input || engine::has_objects(input))
        });
        let fields =
            run.input.is_some() && core.reads_input && !(has_fields && outcome.found_field);
        let fields = fields || outcome.suspects.intersects(Marks::CLOSED);
        let kind = match (fields, outcome.suspects.intersects(Marks::CALL)) {
            (true, _) => Surveyed::CallsAndFields,
            (false, true) => Surveyed::Calls,
            (false, false) => return Ok(None),
        };
        let settings = Settings { survey: Some(kind), ..self.settings(run) };
        let query = &*query.0;
        let evaluated = engine::evaluate(&self.0.core, &query.core, run.input, &[], &settings);
        let (misordered, decoded) = (evaluated.misordered, evaluated.decoded);
        evaluated.result.map(|_| Some(Survey { misordered, decoded, ..evaluated.survey }))
    }

    /// Evaluates a query again, reading in another way what is missing. The host must answer the calls
    /// that were made as before, and fail any other.
    ///
    /// # Errors
    /// A limit, or the host's reason to end.
    #[doc(hidden)]
    pub fn read_again(
        &self,
        query: &Query,
        run: &Run<'_>,
        reading: Reading,
    ) -> Result<(Vec<Solution>, Read), EvalError> {
        let settings = Settings { reading: Some(reading), ..self.settings(run) };
        let inner = &*query.0;
        let evaluated =
            engine::evaluate(&self.0.core, &inner.core, run.input, &inner.slots, &settings);
        let (misordered, decoded) = (evaluated.misordered, evaluated.decoded);
        let read = Read { misordered, decoded, ..evaluated.read };
        evaluated.result.map(|solutions| (query.solutions(solutions), read))
    }

    fn settings<'r>(&'r self, run: &Run<'r>) -> Settings<'r> {
        Settings {
            host: run.host,
            strict: false,
            limits: run.limits,
            patterns: &self.0.patterns,
            tracer: None,
            input: run.kind,
            survey: None,
            reading: None,
        }
    }

    /// Adds the values of a conflict to its message, as OPA lists them.
    fn explained(&self, mut error: EvalError) -> EvalError {
        if error.code == ErrorCode::Conflict && !error.conflicts.is_empty() {
            error.message.push(':');
            for (span, value) in &error.conflicts {
                let position = self.0.sources.position(*span);
                let line = format!("\n  {value} at {}:{}", position.path, position.line);
                error.message.push_str(&line);
            }
            if error.more_conflicts {
                error.message.push_str("\n  ...");
            }
        }
        error
    }

    /// The texts.
    pub fn sources(&self) -> &Sources {
        &self.0.sources
    }

    /// The modules as parsed.
    #[doc(hidden)]
    pub fn modules(&self) -> &[Module] {
        &self.0.parsed
    }

    /// The modules after all compile stages, with the results of their analysis.
    #[doc(hidden)]
    pub fn compiled(&self) -> &Compiled {
        &self.0.compiled
    }

    /// The program in the form that the machine runs.
    #[doc(hidden)]
    pub fn core(&self) -> &Core {
        &self.0.core
    }

    /// The packages, in the order of their paths.
    pub fn packages(&self) -> &[PackageInfo] {
        &self.0.packages
    }

    /// The rules, in the order of their paths.
    pub fn rules(&self) -> &[RuleInfo] {
        &self.0.rules
    }

    /// The positions at which host functions are called.
    pub fn call_sites(&self) -> &[CallSiteInfo] {
        &self.0.call_sites
    }

    /// Formats an error with its position, as OPA does: `policy.rego:3: eval_conflict_error: …`.
    pub fn display_error(&self, error: &EvalError) -> String {
        match error.span {
            Some(span) => {
                let position = self.0.sources.position(span);
                format!("{}:{}: {error}", position.path, position.line)
            }
            None => error.to_string(),
        }
    }
}

impl Query {
    /// Makes solutions of the values of slots.
    fn solutions(&self, solutions: Vec<Vec<Option<Value>>>) -> Vec<Solution> {
        let query = &*self.0;
        let solution = |values: Vec<Option<Value>>| Solution {
            expressions: query
                .expressions
                .iter()
                .map(|expression| ExpressionValue {
                    value: expression
                        .index
                        .and_then(|index| values.get(index).cloned().flatten())
                        .unwrap_or(Value::Bool(true)),
                    text: expression.text.clone(),
                    position: expression.position,
                })
                .collect(),
            bindings: query
                .bindings
                .iter()
                .filter_map(|(name, index)| Some((name.clone(), values.get(*index).cloned()??)))
                .collect(),
        };
        solutions.into_iter().map(solution).collect()
    }

    /// The query in the form that the machine runs.
    #[doc(hidden)]
    pub fn core(&self) -> &QueryCore {
        &self.0.core
    }

    /// The positions at which the query itself calls host functions; numbered after the program's.
    #[doc(hidden)]
    pub fn call_sites(&self) -> &[core::Site] {
        &self.0.sites
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({} files, {} rules)", self.0.sources.len(), self.0.rules.len())
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Query").field(&self.0.core).finish()
    }
}

/// The functions that policies may call besides their own. OPA's take precedence over the host's.
fn functions(options: &Options) -> Functions {
    let mut functions: Functions = options
        .host_functions
        .iter()
        .map(|host| {
            let mut function = Function::new(host.name.as_str(), host.signature.as_str());
            function.nondeterministic = host.nondeterministic;
            function.external = true;
            function
        })
        .collect();
    for builtin in builtins::all() {
        functions.insert(Function::from(builtin));
    }
    functions
}

/// The reason for which texts or a query can't be compiled.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadError {
    /// All problems; never empty.
    pub problems: Problems,
    /// The texts to which the problems refer.
    pub sources: Sources,
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", Problem::display(problem, &self.sources))?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

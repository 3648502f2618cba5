//! Policies, which are loaded once and evaluated often.
//!
//! Owns the public interface of evaluation: loaded policies, prepared queries and results.
//! The passes belong to `pass_loop` and `batch`, the language to [`crate::rego`].

use std::collections::{BTreeMap, HashSet};
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::Instrument as _;

use super::blocking::block_on;
use super::budget::Answers;
use super::cancellation::{CancelOnDrop, cancelled};
use super::coverage::{CoverageTracer, Covered};
use super::environment::{Environment, Fixed};
use super::ledger::Ledger;
use super::options::EvaluateOptions;
use super::pass_loop::{FinalPass, WaitMode, run_passes};
use super::pool::Pool;
use super::query::QueryOutput;
use super::reachable_calls::ReachableCalls;
use super::recording::{Recording, Replay};
use super::scope::{Print, Scope};
use super::session::Session;
use crate::builtins::FunctionSet;
use crate::check;
use crate::client::{LazyRuntime, refuse_blocking};
use crate::flight::CallOutcome;
use crate::flight::Key;
use crate::load::{
    self, HostFunction, LoadOptions, Loaded, Package, TEST_CASE, diagnostic, position,
    wrong_arguments,
};
use crate::observe::EvaluationSpan;
use crate::rego::Value;
use crate::rego::compile::QueryContext;
use crate::rego::engine::{self, ErrorCode, Tracer};
use crate::rego::problem::{Problem, ProblemCode, Sources as Texts};
use crate::rego::program::{self, CallSiteInfo, Hooks, Program};
use crate::rego::syntax::tree::Span;
use crate::sources::Sources;
use crate::{Diagnostic, Error, ErrorKind, Limit, Position, Product};

/// Loaded policies, ready for evaluation. Cheap to clone and usable from any thread.
#[derive(Clone)]
pub struct Policies {
    inner: Arc<Inner>,
}

struct Inner {
    program: Program,
    packages: Vec<Package>,
    data: Value,
    product: Product,
    enabled: FunctionSet,
    /// The service's functions that the policies call.
    called: Vec<&'static str>,
    reachable: ReachableCalls,
    functions: Arc<[HostFunction]>,
    /// The thread of the asynchronous ones.
    host: Arc<LazyRuntime>,
}

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policies").field("packages", &self.inner.packages).finish_non_exhaustive()
    }
}

/// A checked query, which can be evaluated often on the policies that created it.
#[derive(Clone)]
pub struct Query {
    text: Arc<str>,
    compiled: program::Query,
    /// `true` if its evaluation can make calls.
    can_call: bool,
    of: Arc<Inner>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("text", &self.text).finish_non_exhaustive()
    }
}

impl Query {
    /// Returns the text as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    #[cfg(test)]
    pub(super) fn can_call(&self) -> bool {
        self.can_call
    }
}

/// A call site: a place where a policy calls one of the functions, with the number of times an
/// evaluation reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// The function's full name.
    pub function: String,
    /// The package of the calling rule, as a path below `data`.
    pub package: Vec<String>,
    /// The position of the call.
    pub position: Position,
    /// The number of times the exact evaluation reached it.
    pub reached: u64,
}

/// The result of an evaluation, with its prints, ledger and coverage.
#[derive(Debug)]
#[non_exhaustive]
pub struct Evaluated {
    /// The answer to the query, or the error that ended the evaluation.
    pub result: Result<QueryOutput, Error>,
    /// The position in the policy at which the evaluation failed.
    pub failed_at: Option<Position>,
    /// The policy's `print` output.
    pub prints: Vec<Print>,
    /// The calls that it made.
    pub ledger: Ledger,
    /// The evaluated expressions and rules, if coverage was requested.
    pub(crate) covered: Covered,
    /// The keys of each case of a table test that was reported.
    pub(crate) cases: Vec<Vec<Value>>,
    /// The errors of built-ins that became undefined in non-strict mode, each with code and
    /// message.
    pub swallowed: Vec<String>,
    reached: BTreeMap<engine::CallSite, u64>,
    answers: Vec<(Key, CallOutcome)>,
    fixed: Vec<Fixed>,
    policies: Option<Policies>,
}

impl Evaluated {
    fn failed(error: Error) -> Self {
        Self {
            result: Err(error),
            failed_at: None,
            prints: Vec::new(),
            ledger: Ledger::default(),
            covered: Covered::default(),
            cases: Vec::new(),
            swallowed: Vec::new(),
            reached: BTreeMap::new(),
            answers: Vec::new(),
            fixed: Vec::new(),
            policies: None,
        }
    }

    /// Returns every call site of the policies, with the number of times this evaluation reached
    /// it.
    pub fn sites(&self) -> Vec<Site> {
        self.policies
            .as_ref()
            .map(|policies| policies.sites_with(&self.reached))
            .unwrap_or_default()
    }

    /// Returns the answered calls that the result depends on, each as function, arguments as JSON,
    /// and answer.
    #[cfg(feature = "cli")]
    pub(crate) fn answered(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.answers.iter().filter_map(|(key, outcome)| {
            let answer = outcome.result.as_ref().ok()?;
            Some((&*key.function, &*key.arguments, &answer.value))
        })
    }

    /// The number of errors of built-ins that this evaluation treated as undefined.
    #[cfg(feature = "cli")]
    pub(crate) fn swallowed_errors(&self) -> u64 {
        self.swallowed.len() as u64
    }

    /// Returns a recording with everything that a replay of this evaluation needs.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] when an answer has no JSON text, [`ErrorKind::Internal`] when it can't
    /// be recorded.
    pub fn recording(&self) -> Result<Recording, Error> {
        let mut recording = Recording::new();
        for (key, outcome) in &self.answers {
            recording.add(key, outcome)?;
        }
        for (function, arguments, value) in &self.fixed {
            let arguments = super::output::compact(&Value::from(arguments.clone()))?;
            recording.add_value((*function).to_owned(), arguments, value)?;
        }
        Ok(recording)
    }
}

/// The result of one pass.
struct PassResult {
    output: Result<QueryOutput, Error>,
    prints: Vec<Print>,
    failed_at: Option<Position>,
    covered: Covered,
    cases: Vec<Vec<Value>>,
    swallowed: Vec<String>,
    reached: BTreeMap<engine::CallSite, u64>,
}

impl Policies {
    /// Checks and compiles sources.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with every problem and its position.
    pub fn load(sources: &Sources, options: LoadOptions) -> Result<Self, Error> {
        Self::of(load::compile(sources, &options, &check::errors, None), options)
    }

    /// Loads sources, and returns the warnings that a gate's reports note.
    #[cfg(feature = "cli")]
    pub(crate) fn load_with_warnings(
        sources: &Sources,
        options: LoadOptions,
    ) -> Result<(Self, Vec<Diagnostic>), Error> {
        let inspect = &check::errors_and_gate_warnings;
        let mut compiled = load::compile(sources, &options, inspect, None);
        let warns = |finding: &mut Diagnostic| finding.level == crate::Level::Warning;
        let warnings = compiled.findings.extract_if(.., warns).collect();
        Ok((Self::of(compiled, options)?, warnings))
    }

    /// Loads sources with tests, which `tests` collects.
    pub(crate) fn load_tests(
        sources: &Sources,
        options: LoadOptions,
        tests: &mut dyn Hooks,
    ) -> Result<Self, Error> {
        Self::of(load::compile(sources, &options, &check::errors, Some(tests)), options)
    }

    fn of(compiled: load::Compilation, options: LoadOptions) -> Result<Self, Error> {
        let Loaded { program, packages, data } =
            compiled.loaded.ok_or_else(|| Error::policy(compiled.findings))?;
        let LoadOptions { product, enabled, host_functions, .. } = options;
        let calls = |name: &str| {
            let full = product.function(name);
            program.call_sites().iter().any(|site| *site.name == *full)
        };
        let called = enabled.iter().map(|f| f.name).filter(|name| calls(name)).collect();
        let reachable = ReachableCalls::of(&program);
        let (functions, host) = (host_functions.into(), Arc::new(LazyRuntime::of_host()));
        let inner =
            Inner { program, packages, data, product, enabled, called, reachable, functions, host };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns all packages, by path.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.inner.packages.iter()
    }

    /// Returns the merged base documents.
    pub fn data(&self) -> &Value {
        &self.inner.data
    }

    /// Returns the compiled policies.
    pub fn program(&self) -> &Program {
        &self.inner.program
    }

    /// Returns every call site of the policies.
    pub fn sites(&self) -> Vec<Site> {
        self.sites_with(&BTreeMap::new())
    }

    fn sites_with(&self, reached: &BTreeMap<engine::CallSite, u64>) -> Vec<Site> {
        let program = &self.inner.program;
        let sites = (0..).zip(program.call_sites()).filter(|(_, info)| *info.name != *TEST_CASE);
        let site = |(index, info): (u32, &CallSiteInfo)| Site {
            function: info.name.to_string(),
            package: info
                .rule
                .and_then(|rule| program.rules().get(rule))
                .map(|rule| rule.package.split('.').skip(1).map(str::to_owned).collect())
                .unwrap_or_default(),
            position: position(program.sources(), info.span),
            reached: reached.get(&engine::CallSite(index)).copied().unwrap_or(0),
        };
        sites.map(site).collect()
    }

    /// Checks and compiles a query, which can then be evaluated often.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with every problem of the query.
    pub fn query(&self, text: &str) -> Result<Query, Error> {
        self.query_in(text, &QueryContext::default())
    }

    /// Checks and compiles a query within a package, or with imports.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_in(&self, text: &str, context: &QueryContext) -> Result<Query, Error> {
        let compiled = self.inner.program.query_in(text, context).map_err(|error| {
            let prefix = format!("undefined function {}.", self.inner.product);
            let (product, enabled) = (&self.inner.product, self.inner.enabled);
            let function = |problem: &Problem| wrong_arguments(problem, product, enabled);
            // The functions' own messages about literals are more precise than the type checker's.
            let mut literals = Vec::new();
            if error.problems.iter().any(|problem| function(problem).is_some()) {
                let host_functions = self.inner.functions.to_vec();
                let (product, rego) = (product.clone(), LoadOptions::default());
                let options = LoadOptions { product, enabled, host_functions, ..rego };
                literals = check::query_arguments(text, &options);
            }
            // A further problem about the unsafe variable of the value adds nothing.
            let of_value = |problem: &Problem| problem.message == "var _ is unsafe";
            let only_value = error.problems.iter().all(of_value);
            let is_relevant = |(index, problem): &(usize, &Problem)| {
                (!of_value(problem) || only_value && *index == 0)
                    && (literals.is_empty() || function(problem).is_none())
            };
            let all = error.problems.iter().enumerate();
            let found = all.filter(is_relevant).map(|(_, problem)| {
                let mut own = diagnostic(problem, &error.sources);
                if let Some(function) = function(problem) {
                    own = own.with_hint(function.called_as(product));
                }
                if let Some(name) = self.suggested_path(problem, &error.sources) {
                    own = own.with_hint(format!("did you mean `{name}`?"));
                }
                if problem.code == ProblemCode::UnsafeVar && own.hint.is_none() {
                    own.hint = bare_name(&problem.message).map(|name| {
                        format!("documents begin with `input` or `data`: `data.{name}`")
                    });
                }
                match (problem.message.strip_prefix(&prefix), own.position.clone()) {
                    (Some(name), Some(place)) => {
                        check::unknown_function(product, enabled, name).at(place)
                    }
                    _ => own,
                }
            });
            let found: Vec<_> = found.collect();
            Error::policy(literals.into_iter().chain(found).collect())
        })?;
        let can_call = !compiled.call_sites().is_empty() || self.inner.reachable.any();
        Ok(Query { text: text.into(), compiled, can_call, of: Arc::clone(&self.inner) })
    }

    /// Returns the path of a document whose `data.` was left out, if a query's unsafe variable
    /// begins one.
    fn suggested_path(&self, problem: &Problem, texts: &Texts) -> Option<String> {
        let name = bare_name(&problem.message)?;
        let known = self.inner.packages.iter().any(|p| p.path.first().is_some_and(|p| p == name));
        let text = texts.text(problem.span);
        let is_path = |c: char| c == '_' || c == '.' || c.is_ascii_alphanumeric();
        let path = text.split(|c| !is_path(c)).find(|path| path.split('.').next() == Some(name));
        known.then(|| format!("data.{}", path.unwrap_or(name)))
    }

    /// Returns the core that the policies are compiled to, as text, with the position and source
    /// line of each step.
    #[cfg(feature = "cli")]
    pub(crate) fn core(&self) -> String {
        let program = &self.inner.program;
        program.core().display(program.sources()).with_source_lines().to_string()
    }

    /// Returns the query for one document by its path below `data`, such as `["release", "deny"]`.
    /// Path elements need no quoting, and the query can't fail to compile.
    pub fn query_path(&self, path: &[&str]) -> Query {
        let compiled = self.inner.program.rule_query(path);
        let owned: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let text = crate::text::data_reference(&owned);
        let can_call = self.inner.reachable.document(&text);
        Query { text: text.into(), compiled, can_call, of: Arc::clone(&self.inner) }
    }

    /// Evaluates a query and waits for the result.
    ///
    /// Works on any thread, even inside an async runtime, whose thread it then blocks. Inside a
    /// token provider and an asynchronous [`HostFunction`], a query that can make calls is refused
    /// ([`ErrorKind::Configuration`]): await [`evaluate_async`](Self::evaluate_async) there.
    pub fn evaluate(
        &self,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> Evaluated {
        self.evaluate_with(query, input, options, None)
    }

    /// Evaluates a query as [`evaluate`](Self::evaluate) does, reporting each step to `tracer`.
    pub(crate) fn evaluate_watched(
        &self,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
        tracer: &dyn Tracer,
    ) -> Evaluated {
        self.evaluate_with(query, input, options, Some(tracer))
    }

    fn evaluate_with(
        &self,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
        tracer: Option<&dyn Tracer>,
    ) -> Evaluated {
        let evaluating = EvaluationSpan::begin(&query.text, options.observer.clone());
        let may_block = || if query.can_call { refuse_blocking() } else { Ok(()) };
        if let Err(error) = self.check_compatible(query, options).and_then(|()| may_block()) {
            evaluating.end(0, 0, Some(error.kind()));
            return Evaluated::failed(error);
        }
        let (session, environment) = self.begin(options);
        let span = evaluating.span.clone();
        let run = |scope: Scope| ready(Ok(self.pass(scope, query, input, options, tracer)));
        let failed = |done: &PassResult| done.output.is_err();
        let can_call = query.can_call;
        let driven =
            run_passes(&session, &environment, can_call, WaitMode::WithinPass, run, failed);
        let last = block_on(driven.instrument(span));
        self.finish(&session, &environment, last, evaluating)
    }

    /// Evaluates a query without blocking the calling task, and without holding a thread while it
    /// waits for the service.
    ///
    /// Dropping the future cancels the evaluation, and its requests unless another evaluation waits
    /// for them. A query by path ([`query_path`](Self::query_path)) for a document that can't make
    /// calls is evaluated within the task that polls, unless [`EvaluateOptions::pool`] is set; any
    /// other query on a pool. Works with any runtime.
    pub async fn evaluate_async(
        &self,
        query: Query,
        input: Option<Value>,
        mut options: EvaluateOptions,
    ) -> Evaluated {
        let evaluating = EvaluationSpan::begin(&query.text, options.observer.clone());
        if let Err(error) = self.check_compatible(&query, &options) {
            evaluating.end(0, 0, Some(error.kind()));
            return Evaluated::failed(error);
        }
        // Dropping this future also stops a pass that is running on the pool.
        let cancellation = options.cancellation.get_or_insert_default().child();
        let _dropped = CancelOnDrop(cancellation.clone());
        options.cancellation = Some(cancellation);
        let (session, environment) = self.begin(&options);
        let span = evaluating.span.clone();
        let can_call = query.can_call;
        let pool = options.pool.clone().or_else(|| can_call.then(Pool::shared));
        let given = Arc::new((query, input, options));
        let run = |scope: Scope| {
            let (policies, given, pool) = (self.clone(), Arc::clone(&given), pool.clone());
            let session = Arc::clone(&session);
            async move {
                let pass = move || {
                    let (query, input, options) = &*given;
                    policies.pass(scope, query, input.as_ref(), options, None)
                };
                match pool {
                    Some(pool) => match pool.run(pass, session.ended()?).await? {
                        Some(done) => Ok(done),
                        None if session.is_cancelled() => Err(cancelled()),
                        None => Err(session.out_of_time()),
                    },
                    None => Ok(pass()),
                }
            }
        };
        let failed = |done: &PassResult| done.output.is_err();
        let driven =
            run_passes(&session, &environment, can_call, WaitMode::BetweenPasses, run, failed);
        let last = driven.instrument(span).await;
        self.finish(&session, &environment, last, evaluating)
    }

    /// Refuses a query of other policies, and a platform that these policies weren't loaded for.
    fn check_compatible(&self, query: &Query, options: &EvaluateOptions) -> Result<(), Error> {
        if !Arc::ptr_eq(&query.of, &self.inner) {
            let message = format!("the query `{}` belongs to other policies", query.text);
            return Err(Error::new(ErrorKind::Policy, message)
                .with_hint("make it with the `query` of the policies that it is evaluated on"));
        }
        let Answers::Service(platform) = &options.answers else { return Ok(()) };
        let (ours, theirs) = (&self.inner.product, platform.product());
        let of_query = query.compiled.call_sites().iter().filter_map(|site| ours.short(&site.name));
        let of_query = of_query.filter(|name| crate::builtins::function(name).is_some());
        let mut called = self.inner.called.iter().copied().chain(of_query);
        let off = called.find(|name| !platform.functions().has(name));
        let message = if ours != theirs {
            format!(
                "the policies were loaded for the product `{ours}`, but the platform's is `{theirs}`"
            )
        } else if let Some(name) = off {
            format!("the policies call `{ours}.{name}`, which isn't enabled on the platform")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("`LoadOptions::of_platform` takes both from the platform"))
    }

    fn begin(&self, options: &EvaluateOptions) -> (Arc<Session>, Arc<Environment>) {
        let (functions, host) = (Arc::clone(&self.inner.functions), Arc::clone(&self.inner.host));
        let session = Session::new(self.inner.product.clone(), functions, host, options);
        (Arc::new(session), Arc::new(environment(&options.answers)))
    }

    /// Runs one pass.
    fn pass(
        &self,
        scope: Scope,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
        tracer: Option<&dyn Tracer>,
    ) -> PassResult {
        let program = &self.inner.program;
        let scope = scope.texts(program.sources()).cancelled_by(options.cancellation.clone());
        let covering = CoverageTracer::default();
        let run = program::Run {
            input,
            host: &scope,
            strict_builtin_errors: options.strict_builtin_errors,
            limits: engine::Limits { memory: options.budget.memory, ..engine::Limits::default() },
            tracer: tracer.or_else(|| options.coverage.then_some(&covering as &dyn Tracer)),
        };
        // A bug in the machine must not unwind into the host's thread.
        let outcome = catch_unwind(AssertUnwindSafe(|| program.evaluate(&query.compiled, &run)));
        let prints = scope.take_prints();
        let (covered, cases) = (covering.into_covered(), scope.take_cases());
        let Ok(outcome) = outcome else {
            let error = Error::new(ErrorKind::Internal, "the evaluation panicked")
                .with_hint("report this with the policy that causes it");
            let (swallowed, reached) = (Vec::new(), BTreeMap::new());
            let output = Err(error);
            return PassResult {
                output,
                prints,
                failed_at: None,
                covered,
                cases,
                swallowed,
                reached,
            };
        };
        let mut failed_at = None;
        let output = match (scope.failure(), outcome.result) {
            (Some(failure), Ok(_)) => Err(failure.clone()),
            (None, Ok(solutions)) => super::output::printable(QueryOutput::from(solutions)),
            (failure, Err(error)) => {
                let place = error.span.map(|span| self.place(query, span));
                let ours = error.source.as_ref().and_then(|e| e.downcast_ref::<Error>());
                match failure.or(ours) {
                    Some(failure) => {
                        failed_at = place;
                        Err(failure.clone())
                    }
                    None => {
                        failed_at.clone_from(&place);
                        Err(evaluation_error(&error, place))
                    }
                }
            }
        };
        let swallowed = outcome.builtin_errors.iter().map(ToString::to_string).collect();
        PassResult { output, prints, failed_at, covered, cases, swallowed, reached: outcome.calls }
    }

    fn place(&self, query: &Query, span: Span) -> Position {
        let texts = self.inner.program.sources();
        if texts.get(span.file).is_some() {
            return position(texts, span);
        }
        // The text of the query itself.
        let mut own = Texts::new();
        let file = own.add("", Arc::clone(&query.text));
        position(&own, Span { file, ..span })
    }

    fn finish(
        &self,
        session: &Session,
        environment: &Environment,
        last: FinalPass<PassResult>,
        evaluating: EvaluationSpan,
    ) -> Evaluated {
        let failure = match &last.result {
            Ok(done) => done.output.as_ref().err(),
            Err(error) => Some(error),
        };
        evaluating.end(last.passes, last.used.len(), failure.map(Error::kind));
        let ledger = session.ledger(&last.used, last.passes);
        let used: HashSet<_> = last.used.into_keys().collect();
        let done = match last.result {
            Ok(done) => done,
            Err(error) => return Evaluated { ledger, ..Evaluated::failed(error) },
        };
        Evaluated {
            result: done.output,
            failed_at: done.failed_at,
            covered: done.covered,
            cases: done.cases,
            prints: done.prints,
            swallowed: done.swallowed,
            reached: done.reached,
            ledger,
            answers: session.answers_of(&used),
            fixed: environment.given(),
            policies: Some(self.clone()),
        }
    }
}

/// Returns the name in a message about an unsafe variable.
fn bare_name(message: &str) -> Option<&str> {
    message.strip_prefix("var ")?.strip_suffix(" is unsafe").filter(|name| *name != "_")
}

/// Converts the machine's error.
fn evaluation_error(error: &engine::EvalError, place: Option<Position>) -> Error {
    match error.code {
        ErrorCode::Limit => {
            Error::new(ErrorKind::TooLarge, error.message.clone()).at_limit(Limit::Memory)
        }
        ErrorCode::Cancel => Error::new(ErrorKind::TimedOut, error.message.clone()),
        _ => {
            let diagnostic = Diagnostic::error("evaluation-error", error.to_string());
            Error::policy(vec![match place {
                Some(place) => diagnostic.at(place),
                None => diagnostic,
            }])
        }
    }
}

/// Returns the time and randomness of an evaluation: the recorded ones in a replay, otherwise new
/// ones.
fn environment(answers: &Answers) -> Environment {
    let environment = Environment::now();
    if let Answers::Replay(replay) = answers {
        preset(&environment, replay);
    }
    environment
}

fn preset(environment: &Environment, replay: &Replay) {
    for (function, arguments, value) in replay.fixed() {
        environment.preset(function, arguments, value);
    }
}

//! Policies, loaded once and evaluated often.
//!
//! Owns the public way to evaluate: what is prepared once, what one evaluation is given and what
//! it gives back. The passes belong to `drive` and `batch`, the language to [`crate::rego`].

use std::collections::{BTreeMap, HashSet};
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::Instrument as _;

use super::asks::Asks;
use super::blocking::block_on;
use super::budget::{Answers, Budget};
use super::cancellation::{CancelOnDrop, Cancellation};
use super::covered::{Covered, Tracing};
use super::drive::{Last, Waits, drive};
use super::ledger::Ledger;
use super::network::{HTTP_SEND, LOOKUP};
use super::pool::Pool;
use super::query::QueryOutput;
use super::recording::{Recording, Replay};
use super::scope::{Environment, Fixed, NONDETERMINISTIC, Scope};
use super::session::Session;
use crate::builtins::FunctionSet;
use crate::check;
use crate::flight::Key;
use crate::flight::Outcome;
use crate::http::Http;
use crate::load::HostFunction;
use crate::load::{self, LoadOptions, Loaded, Package, TEST_CASE, diagnostic, position};
use crate::observe::{Evaluating, Observer};
use crate::rego::Value;
use crate::rego::compile::QueryContext;
use crate::rego::engine::{self, ErrorCode, Tracer};
use crate::rego::problem::{Problem, Sources as Texts};
use crate::rego::program::{self, CallSiteInfo, Hooks, Program};
use crate::rego::syntax::tree::Span;
use crate::sources::Sources;
use crate::{Diagnostic, Error, ErrorKind, Limit, NotFound, Position, Product, TraceParent};

/// Policies that are loaded and ready; cheap to clone, usable from any thread.
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
    /// Those of the service's functions that the policies call.
    called: Vec<&'static str>,
    asks: Asks,
    functions: Arc<[HostFunction]>,
}

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policies").field("packages", &self.inner.packages).finish_non_exhaustive()
    }
}

/// A checked query; it can be evaluated often, on the policies that made it.
#[derive(Clone)]
pub struct Query {
    text: Arc<str>,
    compiled: program::Query,
    /// True if its evaluation can ask anybody.
    asks: bool,
    of: Arc<Inner>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("text", &self.text).finish_non_exhaustive()
    }
}

impl Query {
    /// The text as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    #[cfg(test)]
    pub(super) fn asks(&self) -> bool {
        self.asks
    }
}

/// What one evaluation is given besides a query and an input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluateOptions {
    /// Who answers calls.
    pub answers: Answers,
    /// What it may cost.
    pub budget: Budget,
    /// True if an error of a built-in ends the evaluation; true by default. A failed call does in
    /// any case.
    pub strict_builtin_errors: bool,
    /// What a policy sees when the service knows no such thing.
    pub not_found: NotFound,
    /// What sends the requests of `http.send` and looks up host names for `net.lookup_ip_addr`, to
    /// the hosts that it allows; nothing by default: a policy that asks ends with an error.
    pub http: Option<Http>,
    /// Whether to note which lines are evaluated; false by default.
    pub coverage: bool,
    /// What ends the evaluation early.
    pub cancellation: Option<Cancellation>,
    /// The threads that [`Policies::evaluate_async`] evaluates on; one of the process by default.
    pub pool: Option<Pool>,
    /// Who is told what came of it and of the calls that it sent; by default the observer of the
    /// platform that answers.
    pub observer: Option<Arc<dyn Observer>>,
    /// Where its requests belong in the caller's trace. A call that travels for several
    /// evaluations belongs to the one that sent it.
    pub trace: Option<TraceParent>,
}

impl EvaluateOptions {
    /// Options with the defaults.
    pub fn new(answers: Answers) -> Self {
        let (not_found, observer) = match &answers {
            Answers::Service(platform) => (platform.not_found(), platform.observer().clone()),
            _ => (NotFound::Error, None),
        };
        Self {
            answers,
            budget: Budget::default(),
            strict_builtin_errors: true,
            not_found,
            http: None,
            coverage: false,
            cancellation: None,
            pool: None,
            observer,
            trace: None,
        }
    }
}

/// A line that a policy printed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Print {
    /// The file of the `print`, as it was given.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// What it printed; not escaped.
    pub message: String,
}

/// A place where a policy calls one of the functions, and how often an evaluation reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// The function's full name.
    pub function: String,
    /// The package of the rule that calls, below `data`.
    pub package: Vec<String>,
    /// Where the call is.
    pub position: Position,
    /// The number of times the exact evaluation reached it.
    pub reached: u64,
}

/// The result of an evaluation, and what it took.
#[derive(Debug)]
#[non_exhaustive]
pub struct Evaluated {
    /// The answer to the query, or why there is none.
    pub result: Result<QueryOutput, Error>,
    /// Where in the policy the evaluation failed.
    pub failed_at: Option<Position>,
    /// What the policy printed.
    pub prints: Vec<Print>,
    /// What was asked.
    pub ledger: Ledger,
    /// The expressions and rules that were evaluated, when that was asked for.
    pub(crate) covered: Covered,
    /// The cases of tables that were announced: the keys of each.
    pub(crate) cases: Vec<Vec<Value>>,
    /// Errors of built-ins that became undefined, since they weren't strict: code and message.
    pub swallowed: Vec<String>,
    reached: BTreeMap<engine::CallSite, u64>,
    answers: Vec<(Key, Outcome)>,
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

    /// Every place where the policies call one of the functions, and how often this evaluation
    /// reached it.
    pub fn sites(&self) -> Vec<Site> {
        self.policies
            .as_ref()
            .map(|policies| policies.sites_with(&self.reached))
            .unwrap_or_default()
    }

    /// The calls that the result depends on and that were answered: function, arguments as JSON,
    /// answer.
    #[cfg(feature = "cli")]
    pub(crate) fn answered(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.answers.iter().filter_map(|(key, outcome)| {
            let answer = outcome.result.as_ref().ok()?;
            Some((&*key.function, &*key.arguments, &answer.value))
        })
    }

    /// The number of errors of built-ins that this evaluation took as undefined.
    #[cfg(feature = "cli")]
    pub(crate) fn swallowed_errors(&self) -> u64 {
        self.swallowed.len() as u64
    }

    /// Everything that a replay of this evaluation needs.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] when an answer has no JSON text.
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

/// What one pass gave.
struct Done {
    output: Result<QueryOutput, Error>,
    prints: Vec<Print>,
    failed_at: Option<Position>,
    covered: Covered,
    cases: Vec<Vec<Value>>,
    swallowed: Vec<String>,
    reached: BTreeMap<engine::CallSite, u64>,
}

impl Policies {
    /// Loads sources: checks and compiles them.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with everything that is wrong, each with its position.
    pub fn load(sources: &Sources, options: LoadOptions) -> Result<Self, Error> {
        Self::of(load::compile(sources, &options, &check::errors, None), options)
    }

    /// Loads sources with tests, which `tests` finds.
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
        let asks = Asks::of(&program);
        let functions = host_functions.into();
        let inner = Inner { program, packages, data, product, enabled, called, asks, functions };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// All packages, by path.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.inner.packages.iter()
    }

    /// The base documents, merged.
    pub fn data(&self) -> &Value {
        &self.inner.data
    }

    /// The compiled policies.
    pub fn program(&self) -> &Program {
        &self.inner.program
    }

    /// Every place where the policies call one of the functions.
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

    /// Checks a query; it can then be evaluated often.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with everything that is wrong with it.
    pub fn query(&self, text: &str) -> Result<Query, Error> {
        self.query_in(text, &QueryContext::default())
    }

    /// Checks a query that stands in a package, or has imports.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_in(&self, text: &str, context: &QueryContext) -> Result<Query, Error> {
        let compiled = self.inner.program.query_in(text, context).map_err(|error| {
            let prefix = format!("undefined function {}.", self.inner.product);
            // That the variable for the value is unsafe as well is beside the point.
            let several = error.problems.len() > 1;
            let said = |problem: &&Problem| !(several && problem.message == "var _ is unsafe");
            let found = error.problems.iter().filter(said).map(|problem| {
                let mut own = diagnostic(problem, &error.sources);
                if let Some(name) = self.meant(problem, &error.sources) {
                    own = own.with_hint(format!("did you mean `{name}`?"));
                }
                match (problem.message.strip_prefix(&prefix), own.position.clone()) {
                    (Some(name), Some(place)) => {
                        let (product, enabled) = (&self.inner.product, self.inner.enabled);
                        check::unknown_function(product, enabled, name).at(place)
                    }
                    _ => own,
                }
            });
            Error::policy(found.collect())
        })?;
        let asking = [self.inner.product.as_str(), HTTP_SEND, LOOKUP];
        let hosts = self.inner.functions.iter().map(HostFunction::name);
        let named = asking.into_iter().chain(hosts).any(|name| text.contains(name));
        let asks = named || self.inner.asks.any();
        Ok(Query { text: text.into(), compiled, asks, of: Arc::clone(&self.inner) })
    }

    /// The document that a query's unsafe variable begins, if there is one.
    fn meant(&self, problem: &Problem, texts: &Texts) -> Option<String> {
        let name = problem.message.strip_prefix("var ")?.strip_suffix(" is unsafe")?;
        let known = self.inner.packages.iter().any(|p| p.path.first().is_some_and(|p| p == name));
        let text = texts.text(problem.span);
        let is_path = |c: char| c == '_' || c == '.' || c.is_ascii_alphanumeric();
        let path = text.split(|c| !is_path(c)).find(|path| path.split('.').next() == Some(name));
        known.then(|| format!("data.{}", path.unwrap_or(name)))
    }

    /// What the policies are compiled to, as text, with the place and the line of each step.
    #[cfg(feature = "cli")]
    pub(crate) fn core(&self) -> String {
        let program = &self.inner.program;
        program.core().display(program.sources()).with_source_lines().to_string()
    }

    /// The query for one document by its path below `data`, such as `["release", "deny"]`; no
    /// quoting, nothing to check.
    pub fn query_path(&self, path: &[&str]) -> Query {
        let compiled = self.inner.program.rule_query(path);
        let owned: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let text = crate::text::data_reference(&owned);
        let asks = self.inner.asks.document(&text);
        Query { text: text.into(), compiled, asks, of: Arc::clone(&self.inner) }
    }

    /// Evaluates a query and waits for the result.
    ///
    /// Works on any thread, also inside an async runtime (whose thread it then blocks).
    pub fn evaluate(
        &self,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> Evaluated {
        self.evaluate_with(query, input, options, None)
    }

    /// Evaluates a query as [`evaluate`](Self::evaluate) does, and lets `tracer` watch.
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
        let evaluating = Evaluating::begin(&query.text, options.observer.clone());
        if let Err(error) = self.fits(query, options) {
            evaluating.end(0, 0, Some(error.kind()));
            return Evaluated::failed(error);
        }
        let (session, environment) = self.begin(options);
        let span = evaluating.span.clone();
        let run = |scope: Scope| ready(Ok(self.pass(scope, query, input, options, tracer)));
        let failed = |done: &Done| done.output.is_err();
        let asks = query.asks;
        let driven = drive(&session, &environment, asks, Waits::Within, run, failed);
        let last = block_on(driven.instrument(span));
        self.finish(&session, &environment, last, evaluating)
    }

    /// Evaluates a query without blocking the calling task, and without holding a thread while
    /// the service is waited for.
    ///
    /// Dropping the future cancels the evaluation: requests that nothing else waits for are
    /// dropped too. What can't reach a call of a function is evaluated within the task that polls
    /// where it is asked for by its path ([`query_path`](Self::query_path)); the rest on
    /// [`EvaluateOptions::pool`]. It works with any runtime.
    pub async fn evaluate_async(
        &self,
        query: Query,
        input: Option<Value>,
        mut options: EvaluateOptions,
    ) -> Evaluated {
        let evaluating = Evaluating::begin(&query.text, options.observer.clone());
        if let Err(error) = self.fits(&query, &options) {
            evaluating.end(0, 0, Some(error.kind()));
            return Evaluated::failed(error);
        }
        // What runs on the pool is told when this future is dropped.
        let cancellation = options.cancellation.get_or_insert_default().child();
        let _dropped = CancelOnDrop(cancellation.clone());
        options.cancellation = Some(cancellation);
        let (session, environment) = self.begin(&options);
        let span = evaluating.span.clone();
        let asks = query.asks;
        let pool = asks.then(|| options.pool.clone().unwrap_or_else(Pool::shared));
        let given = Arc::new((query, input, options));
        let run = |scope: Scope| {
            let (policies, given, pool) = (self.clone(), Arc::clone(&given), pool.clone());
            async move {
                let pass = move || {
                    let (query, input, options) = &*given;
                    policies.pass(scope, query, input.as_ref(), options, None)
                };
                match pool {
                    Some(pool) => pool.run(pass).await,
                    None => Ok(pass()),
                }
            }
        };
        let failed = |done: &Done| done.output.is_err();
        let driven = drive(&session, &environment, asks, Waits::Between, run, failed);
        let last = driven.instrument(span).await;
        self.finish(&session, &environment, last, evaluating)
    }

    /// Refuses a query that other policies made, and a platform that they weren't loaded for.
    fn fits(&self, query: &Query, options: &EvaluateOptions) -> Result<(), Error> {
        if !Arc::ptr_eq(&query.of, &self.inner) {
            let message = format!("the query `{}` belongs to other policies", query.text);
            return Err(Error::new(ErrorKind::Policy, message)
                .with_hint("make it with the `query` of the policies that it is evaluated on"));
        }
        let Answers::Service(platform) = &options.answers else { return Ok(()) };
        let (ours, theirs) = (&self.inner.product, platform.product());
        let off = self.inner.called.iter().find(|name| !platform.functions().has(name));
        let message = if ours != theirs {
            format!("the policies are loaded for `{ours}`, the platform is `{theirs}`")
        } else if let Some(name) = off {
            format!("the policies call `{ours}.{name}`, which the platform has off")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("`LoadOptions::of_platform` takes both from the platform"))
    }

    fn begin(&self, options: &EvaluateOptions) -> (Arc<Session>, Arc<Environment>) {
        let session =
            Session::new(self.inner.product.clone(), Arc::clone(&self.inner.functions), options);
        (Arc::new(session), Arc::new(environment(&options.answers)))
    }

    /// One pass.
    fn pass(
        &self,
        scope: Scope,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
        tracer: Option<&dyn Tracer>,
    ) -> Done {
        let program = &self.inner.program;
        let scope = scope.texts(program.sources()).cancelled_by(options.cancellation.clone());
        let covering = Tracing::default();
        let run = program::Run {
            input,
            host: &scope,
            strict_builtin_errors: options.strict_builtin_errors,
            limits: engine::Limits { memory: options.budget.memory, ..engine::Limits::default() },
            tracer: tracer.or_else(|| options.coverage.then_some(&covering as &dyn Tracer)),
        };
        // The machine doesn't panic; a defect in it must not take a host's thread along.
        let outcome = catch_unwind(AssertUnwindSafe(|| program.evaluate(&query.compiled, &run)));
        let prints = scope.take_prints();
        let (covered, cases) = (covering.into_covered(), scope.take_cases());
        let Ok(outcome) = outcome else {
            let error = Error::new(ErrorKind::Internal, "the evaluation panicked")
                .with_hint("report this with the policy that causes it");
            let (swallowed, reached) = (Vec::new(), BTreeMap::new());
            let output = Err(error);
            return Done { output, prints, failed_at: None, covered, cases, swallowed, reached };
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
                        Err(explained(&error, place))
                    }
                }
            }
        };
        let swallowed = outcome.builtin_errors.iter().map(ToString::to_string).collect();
        Done { output, prints, failed_at, covered, cases, swallowed, reached: outcome.calls }
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
        last: Last<Done>,
        evaluating: Evaluating,
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

/// The machine's error as ours.
fn explained(error: &engine::EvalError, place: Option<Position>) -> Error {
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

/// Time and randomness: the clock's, or the recording's.
fn environment(answers: &Answers) -> Environment {
    let environment = Environment::now();
    if let Answers::Replay(replay) = answers {
        preset(&environment, replay);
    }
    environment
}

fn preset(environment: &Environment, replay: &Replay) {
    for (function, arguments, value) in replay.fixed() {
        for name in NONDETERMINISTIC {
            if name == function {
                environment.preset(name, arguments.clone(), value.clone());
            }
        }
    }
}

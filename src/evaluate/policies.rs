//! Policies, which are loaded once and evaluated often.
//!
//! Owns the public interface of evaluation: loaded policies, prepared queries and results.
//! The passes belong to `pass_loop` and `batch`, the language to [`crate::rego`].

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::coverage::{CoverageTracer, Covered};
use super::evaluation::{Callable, Ended, Evaluation, Record, cancel_on_drop};
use super::ledger::Ledger;
use super::options::EvaluateOptions;
use super::pass_loop::PassOutcome;
use super::pool::Pool;
use super::query::QueryOutput;
use super::reachable_calls::ReachableCalls;
use super::recording::Recording;
use super::scope::{Print, Scope, Unmade};
use super::survey::{Reached, SurveyHost};
use crate::Product;
use crate::check::{self, mocks::Mocks};
use crate::functions::FunctionSet;
use crate::load::{
    self, LoadOptions, Loaded, Package, TEST_CASE, diagnostic, position, wrong_arguments,
};
use crate::observe::EvaluationSpan;
use crate::rego::internal::compile::QueryContext;
use crate::rego::internal::engine::{Reading, Tracer};
use crate::rego::internal::program::Hooks;
use crate::rego::syntax::tree::{FileId, Span, Version};
use crate::rego::syntax::{ParseOptions, parse_query};
use crate::rego::{
    self, CallSiteInfo, ErrorCode, EvalError, Limits, Outcome, Problem, ProblemCode, Program, Run,
    Sources as Texts, Value,
};
use crate::runtime::refuse_blocking;
use crate::sources::Sources;
use crate::sources::{DataSource, ModuleSource, RegoVersion};
use crate::{Diagnostic, Error, ErrorKind, Limit, Position};

/// Loaded policies, which can be evaluated. Cheap to clone and usable from any thread.
#[derive(Clone)]
pub struct Policies {
    inner: Arc<Inner>,
    /// The role of a second engine, if there is one.
    role: Option<Role>,
}

/// An engine that evaluates policies in the passes of this crate's own, with the same responses.
pub(crate) trait SecondEngine: Send + Sync {
    /// Evaluates a query in a pass. Returns its prints too.
    fn evaluate(
        &self,
        policies: &Policies,
        scope: Scope,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> (Result<QueryOutput, Error>, Vec<Print>);
}

/// The role of a second engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "regorus-core"), allow(dead_code))]
pub(crate) enum Role {
    /// The second engine's result is the evaluation's; this crate's engine finds inconclusive statements.
    Replaces,
    /// The second engine's result must equal the one of this crate's engine.
    Confirms,
}

struct Inner {
    program: Program,
    packages: Vec<Package>,
    data: Value,
    enabled: FunctionSet,
    /// The service's functions that the policies call.
    called: Vec<&'static str>,
    reachable: ReachableCalls,
    callable: Callable,
    /// The types that mocks are compared with, in tests.
    mocks: Option<Arc<Mocks>>,
    /// The second engine, once policies with a role for it were made.
    second: OnceLock<Arc<dyn SecondEngine>>,
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
    compiled: rego::Query,
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
    /// Returns its text, with the replacements of its context.
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
    /// The statements that it reached and couldn't judge; empty unless [`EvaluateOptions::reached`] is set and
    /// the evaluation has a result.
    pub reached: Reached,
    calls: BTreeMap<u32, u64>,
    record: Record,
    policies: Option<Policies>,
}

impl Evaluated {
    pub(crate) fn failed(error: Error) -> Self {
        Self::ended(Err(error))
    }

    fn ended(result: Result<QueryOutput, Error>) -> Self {
        Self {
            result,
            failed_at: None,
            prints: Vec::new(),
            ledger: Ledger::default(),
            covered: Covered::default(),
            cases: Vec::new(),
            swallowed: Vec::new(),
            reached: Reached::default(),
            calls: BTreeMap::new(),
            record: Record::default(),
            policies: None,
        }
    }

    /// Returns every call site of the policies, with the number of times this evaluation reached
    /// it.
    pub fn sites(&self) -> Vec<Site> {
        self.policies.as_ref().map(|policies| policies.sites_with(&self.calls)).unwrap_or_default()
    }

    /// Returns the answered calls that the result depends on, each as function and answer.
    #[doc(hidden)]
    pub fn answered(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.record.answered()
    }

    /// Returns the functions that the result depends on, and that may answer otherwise another time: those of the
    /// service, of the network, of time and of chance.
    #[doc(hidden)]
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.record.asked()
    }

    /// The number of errors of built-ins that this evaluation treated as undefined.
    #[doc(hidden)]
    pub fn builtin_errors(&self) -> u64 {
        self.swallowed.len() as u64
    }

    /// Returns a recording with everything that a replay of this evaluation needs.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when an answer has no JSON text, [`ErrorKind::Internal`](crate::ErrorKind::Internal) when it can't
    /// be recorded.
    pub fn recording(&self) -> Result<Recording, Error> {
        self.record.recording()
    }
}

struct PassResult {
    output: Result<QueryOutput, Error>,
    prints: Vec<Print>,
    failed_at: Option<Position>,
    covered: Covered,
    cases: Vec<Vec<Value>>,
    swallowed: Vec<String>,
    reached: Reached,
    decoded: HashSet<Value>,
    calls: BTreeMap<u32, u64>,
}

impl PassResult {
    fn of(output: Result<QueryOutput, Error>) -> Self {
        Self {
            output,
            prints: Vec::new(),
            failed_at: None,
            covered: Covered::default(),
            cases: Vec::new(),
            swallowed: Vec::new(),
            reached: Reached::default(),
            decoded: HashSet::new(),
            calls: BTreeMap::new(),
        }
    }
}

impl PassOutcome for PassResult {
    fn failure(&self) -> Option<&Error> {
        self.output.as_ref().err()
    }
}

impl Policies {
    /// Checks and compiles sources.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem and its position.
    pub fn load(sources: &Sources, options: LoadOptions) -> Result<Self, Error> {
        Self::of(load::compile(sources, &options, &check::errors, None), options, false)
    }

    /// Loads sources, and returns the warnings that a gate's reports note.
    #[doc(hidden)]
    pub fn load_with_warnings(
        sources: &Sources,
        options: LoadOptions,
    ) -> Result<(Self, Vec<Diagnostic>), Error> {
        let (policies, mut found) = Self::load_with_findings(sources, options, true);
        let Some(policies) = policies else {
            found.retain(|finding| finding.level == crate::Level::Error);
            return Err(Error::policy(found));
        };
        let warnings = policies.gate_warnings(found);
        Ok((policies, warnings))
    }

    /// Loads sources, and returns every finding about them; no policies if one of them is an error. With
    /// `network`, a built-in that contacts a host is no error.
    #[doc(hidden)]
    pub fn load_with_findings(
        sources: &Sources,
        options: LoadOptions,
        network: bool,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let inspect = if network { check::everything_but_network } else { check::everything };
        let mut compiled = load::compile(sources, &options, &inspect, None);
        let found = std::mem::take(&mut compiled.findings);
        (Self::of(compiled, options, false).ok(), found)
    }

    /// Returns the findings that a gate's reports note: those about files that aren't tests.
    #[doc(hidden)]
    pub fn gate_warnings(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let tests: HashSet<&str> = self
            .packages()
            .flat_map(|package| {
                let named = load::is_test_package(package.path.last());
                let files = package.files.iter().map(String::as_str);
                files.filter(move |file| named || load::is_test_file(file))
            })
            .collect();
        found.retain(|finding| {
            let at = finding.position.as_ref();
            check::GATE_WARNINGS.contains(&finding.code)
                && !at.is_some_and(|at| tests.contains(&*at.file))
        });
        found
    }

    /// Loads sources with tests, which `tests` collects.
    pub(crate) fn load_tests(
        sources: &Sources,
        options: LoadOptions,
        tests: &mut dyn Hooks,
    ) -> Result<Self, Error> {
        let compiled = load::compile(sources, &options, &check::errors_and_mocks, Some(tests));
        Self::of(compiled, options, true)
    }

    /// Takes compiled policies; `holds_mocks` if their mocks are compared with the types of results.
    fn of(
        compiled: load::Compilation,
        options: LoadOptions,
        holds_mocks: bool,
    ) -> Result<Self, Error> {
        let Loaded { program, packages, data, silenced_mocks } =
            compiled.loaded.ok_or_else(|| Error::policy(compiled.findings))?;
        let LoadOptions { product, enabled, host_functions, .. } = options;
        let calls = |name: &str| {
            let full = product.function(name);
            program.call_sites().iter().any(|site| *site.name == *full)
        };
        let called = enabled.iter().map(|f| f.name).filter(|name| calls(name)).collect();
        let reachable = ReachableCalls::of(&program);
        let mocks = holds_mocks.then(|| Arc::new(Mocks::new(product.clone(), silenced_mocks)));
        let callable = Callable::new(product, host_functions);
        let second = OnceLock::new();
        let inner =
            Inner { program, packages, data, enabled, called, reachable, callable, mocks, second };
        Ok(Self { inner: Arc::new(inner), role: None })
    }

    /// Returns all packages, by path.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.inner.packages.iter()
    }

    /// Returns the product whose functions they call.
    #[doc(hidden)]
    pub fn product(&self) -> &Product {
        &self.inner.callable.product
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

    fn sites_with(&self, reached: &BTreeMap<u32, u64>) -> Vec<Site> {
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
            reached: reached.get(&index).copied().unwrap_or(0),
        };
        sites.map(site).collect()
    }

    /// Checks and compiles a query, which can then be evaluated often.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem of the query.
    pub fn query(&self, text: &str) -> Result<Query, Error> {
        self.query_in(text, &QueryContext::default())
    }

    /// Checks and compiles a query within a package, or with imports.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_in(&self, text: &str, context: &QueryContext) -> Result<Query, Error> {
        let compiled = self.inner.program.query_in(text, context).map_err(|error| {
            let prefix = format!("undefined function {}.", self.inner.callable.product);
            let (product, enabled) = (&self.inner.callable.product, self.inner.enabled);
            let function = |problem: &Problem| wrong_arguments(problem, product, enabled);
            // The functions' own messages about literals are more precise than the type checker's.
            let mut literals = Vec::new();
            if error.problems.iter().any(|problem| function(problem).is_some()) {
                let host_functions = self.inner.callable.functions.to_vec();
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
        let whole = with_replacements(text, context).into();
        Ok(Query { text: whole, compiled, can_call, of: Arc::clone(&self.inner) })
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
    #[doc(hidden)]
    pub fn core(&self) -> String {
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
    /// token provider and an asynchronous [`HostFunction`](crate::load::HostFunction), a query that can make calls is refused
    /// ([`ErrorKind::Configuration`](crate::ErrorKind::Configuration)): await [`evaluate_async`](Self::evaluate_async) there.
    pub fn evaluate(
        &self,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> Evaluated {
        self.evaluate_with(query, input, options, None)
    }

    /// Returns the same policies, which the second engine `engine` evaluates too. Policies that share their
    /// program share the first one.
    #[cfg(feature = "regorus-core")]
    #[must_use]
    pub(crate) fn with_second(
        mut self,
        role: Role,
        engine: impl FnOnce() -> Arc<dyn SecondEngine>,
    ) -> Self {
        self.inner.second.get_or_init(engine);
        self.role = Some(role);
        self
    }

    /// Returns the texts and data, and the options with which they were loaded.
    #[doc(hidden)]
    pub fn sources(&self) -> (Sources, LoadOptions) {
        let program = &self.inner.program;
        let mut sources = Sources::default();
        for module in program.modules() {
            let Some(source) = program.sources().get(module.span.file) else { continue };
            let path = source.path().to_owned();
            let version = match module.version {
                Version::V0 => RegoVersion::V0,
                _ => RegoVersion::V1,
            };
            sources.versions.insert(path.clone(), version);
            sources.modules.push(ModuleSource { path, text: source.all().to_string() });
        }
        let value = self.inner.data.clone();
        sources.data.push(DataSource { path: "the data".to_owned(), value });
        let options = LoadOptions {
            product: self.inner.callable.product.clone(),
            enabled: self.inner.enabled,
            host_functions: self.inner.callable.functions.to_vec(),
            ..LoadOptions::default()
        };
        (sources, options)
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
        let evaluation = Evaluation::new(&self.inner.callable, options, query.can_call, evaluating);
        self.finish(evaluation.run(|scope| self.pass(scope, query, input, options, tracer)))
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
        let _dropped = cancel_on_drop(&mut options);
        let can_call = query.can_call;
        let evaluation = Evaluation::new(&self.inner.callable, &options, can_call, evaluating);
        let pool = options.pool.clone().or_else(|| can_call.then(Pool::shared));
        let policies = self.clone();
        let pass = move |scope| policies.pass(scope, &query, input.as_ref(), &options, None);
        self.finish(evaluation.run_on(pool, pass).await)
    }

    /// Refuses a query of other policies, and a platform that these policies weren't loaded for.
    fn check_compatible(&self, query: &Query, options: &EvaluateOptions) -> Result<(), Error> {
        if !Arc::ptr_eq(&query.of, &self.inner) {
            let message = format!("the query `{}` belongs to other policies", query.text);
            return Err(Error::policy_failed(message)
                .with_hint("make it with the `query` of the policies that it is evaluated on"));
        }
        let callable = &self.inner.callable;
        let sites = query.compiled.call_sites().iter();
        let of_query = sites.filter_map(|site| callable.product.short(&site.name));
        let of_query = of_query.filter(|name| crate::functions::function(name).is_some());
        let called = self.inner.called.iter().copied().chain(of_query);
        callable.check_answered_by(&options.answers, "the policies", called)
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
        let (Some(role), Some(second)) = (self.role, self.inner.second.get()) else {
            return self.own_pass(scope, query, input, options, tracer);
        };
        let beside = scope.sibling();
        let judges = role == Role::Confirms || options.reached;
        let mut own = if judges {
            self.own_pass(scope, query, input, options, tracer)
        } else {
            PassResult::of(Ok(QueryOutput::default()))
        };
        // The responses are missing, or the evaluation has failed whatever the other engine makes of it.
        let is_verdict = |error: &Error| error.kind() == ErrorKind::Policy;
        if !beside.is_exact() || own.output.as_ref().is_err_and(|error| !is_verdict(error)) {
            return own;
        }
        let (theirs, prints) = second.evaluate(self, beside, query, input, options);
        if role == Role::Replaces {
            own.prints = prints;
            // What this engine couldn't judge is known of its own result only.
            if !options.reached {
                own.output = theirs;
                return own;
            }
        }
        own.output = match theirs {
            Err(error) if !is_verdict(&error) => Err(error),
            theirs => match super::difference::between(&own.output, &theirs) {
                Some(difference) => Err(difference),
                None => own.output,
            },
        };
        own
    }

    /// Runs one pass on this crate's engine.
    fn own_pass(
        &self,
        scope: Scope,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
        tracer: Option<&dyn Tracer>,
    ) -> PassResult {
        let program = &self.inner.program;
        let scope = scope.texts(program.sources()).mocks(self.inner.mocks.clone());
        let covering = CoverageTracer::default();
        let run = Run::new(&scope)
            .input(input)
            .input_kind(&options.input_kind)
            .strict_builtin_errors(options.strict_builtin_errors)
            .limits(limits(options))
            .tracer(tracer.or_else(|| options.coverage.then_some(&covering as &dyn Tracer)));
        // A bug in the machine must not unwind into the host's thread.
        let outcome = catch_unwind(AssertUnwindSafe(|| program.evaluate(&query.compiled, &run)));
        let prints = scope.take_prints();
        let (covered, cases) = (covering.into_covered(), scope.take_cases());
        let Ok(outcome) = outcome else {
            let error = Error::internal("the evaluation panicked")
                .with_hint("report this with the policy that causes it");
            return PassResult { prints, covered, cases, ..PassResult::of(Err(error)) };
        };
        let mut reached = Reached::default();
        let surveyed = options.reached && scope.is_exact() && scope.failure().is_none();
        let outcome = if surveyed {
            self.survey(&scope, query, (input, options), outcome, &mut reached)
        } else {
            outcome
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
        let strict = options.strict_builtin_errors;
        let swallowed = outcome.builtin_errors.iter().filter(|_| !strict);
        let swallowed = swallowed.map(ToString::to_string).collect();
        PassResult {
            output,
            prints,
            failed_at,
            covered,
            cases,
            swallowed,
            reached,
            decoded: outcome.decoded,
            calls: outcome.calls,
        }
    }

    /// Adds what a pass with an answer reached and couldn't judge. A survey or a reading that can't be
    /// completed takes its answer away.
    fn survey(
        &self,
        scope: &Scope,
        query: &Query,
        (input, options): (Option<&Value>, &EvaluateOptions),
        mut outcome: Outcome,
        reached: &mut Reached,
    ) -> Outcome {
        let program = &self.inner.program;
        if outcome.result.is_err() {
            return outcome;
        }
        let hosts = [Unmade::Unknown, Unmade::Sent, Unmade::Supposed]
            .map(|unmade| SurveyHost { scope, unmade });
        let [unknown, sending, supposing] = hosts.each_ref().map(|host| {
            Run::new(host).input(input).input_kind(&options.input_kind).limits(limits(options))
        });
        let texts = program.sources();
        let mut decoded = std::mem::take(&mut outcome.decoded);
        let surveyed = catch_unwind(AssertUnwindSafe(|| {
            // Behind calls of a definition that the rule index left out, something may be missing.
            let run = if outcome.left_out() { &sending } else { &unknown };
            let survey = program.survey(&query.compiled, run, &outcome)?;
            let mut found =
                survey.as_ref().map_or_else(Reached::default, |own| Reached::of(own, texts));
            decoded.extend(survey.into_iter().flat_map(|own| own.decoded));
            found.add_misordered(&outcome.misordered, texts);
            for reading in outcome.readings() {
                // Only notes depend on comparisons.
                let run = if reading == Reading::Comparisons { &unknown } else { &supposing };
                let mut read = program.read_again(&query.compiled, run, reading)?;
                decoded.extend(std::mem::take(&mut read.1.decoded));
                if reading != Reading::Comparisons {
                    found.add_absent(&read.1.absent, texts);
                    found.add_misordered(&read.1.misordered, texts);
                }
                // Where the conditions decide the same without what is missing, it decides nothing.
                let decides = reading != Reading::Negations
                    || read.1.missing.is_empty()
                    || read.1.unmade.is_some()
                    || {
                        let conditions = Reading::Conditions;
                        let usual = program.read_again(&query.compiled, run, conditions)?.0;
                        QueryOutput::from(usual) != QueryOutput::from(read.0.clone())
                    };
                if decides {
                    found.add_reading(reading, read, texts);
                }
            }
            Ok(found)
        }));
        outcome.decoded = decoded;
        match surveyed {
            Ok(Ok(found)) => *reached = found,
            Ok(Err(error)) => outcome.result = Err(error),
            Err(_) => {
                let error = EvalError::new(ErrorCode::Internal, None, "the survey panicked");
                outcome.result = Err(error);
            }
        }
        outcome
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

    fn finish(&self, ended: Ended<PassResult>) -> Evaluated {
        let Ended { result, ledger, record } = ended;
        let done = match result {
            Ok(done) => done,
            Err(error) => return Evaluated { ledger, ..Evaluated::failed(error) },
        };
        let mut reached = done.reached;
        reached.undecoded = record.undecoded(&done.decoded);
        Evaluated {
            result: done.output,
            failed_at: done.failed_at,
            covered: done.covered,
            cases: done.cases,
            prints: done.prints,
            swallowed: done.swallowed,
            reached,
            calls: done.calls,
            policies: Some(self.clone()),
            ledger,
            record,
        }
    }
}

/// Returns the name in a message about an unsafe variable.
fn bare_name(message: &str) -> Option<&str> {
    message.strip_prefix("var ")?.strip_suffix(" is unsafe").filter(|name| *name != "_")
}

fn limits(options: &EvaluateOptions) -> Limits {
    let mut limits = Limits::default();
    limits.memory = options.budget.memory;
    limits
}

/// Converts the machine's error.
fn evaluation_error(error: &EvalError, place: Option<Position>) -> Error {
    match error.code {
        ErrorCode::Limit => Error::too_large(error.message.clone()).at_limit(Limit::Memory),
        ErrorCode::Cancel => Error::timed_out(error.message.clone()),
        _ => {
            let diagnostic = Diagnostic::error("evaluation-error", error.to_string());
            Error::policy(vec![match place {
                Some(place) => diagnostic.at(place),
                None => diagnostic,
            }])
        }
    }
}

/// Returns a query's text with its context's replacements in each statement.
fn with_replacements(text: &str, context: &QueryContext) -> String {
    let mut whole = String::new();
    let mut at = 0;
    if !context.with.is_empty()
        && let Ok(body) = parse_query(FileId(0), text, &ParseOptions::default())
    {
        for statement in &body {
            let end = statement.with.first().map_or(statement.span.end, |with| with.span.start);
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            let Some(part) = text.get(at..end) else { continue };
            whole.push_str(part.trim_end());
            for with in &context.with {
                let _ = write!(whole, " {with}");
            }
            whole.push(' ');
            at = end;
        }
    }
    whole.push_str(text.get(at..).unwrap_or_default());
    whole
}

//! Policies, loaded once and evaluated often.
//!
//! Owns the public way to evaluate: what is prepared once, what one evaluation is given and what
//! it gives back. The passes belong to `batch`, the answer's form to `query` and `output`.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use regorus::{Engine, Value};

use super::budget::{Answers, Budget};
use super::call::Key;
use super::drive::{Last, drive};
use super::flight::Outcome;
use super::load::{
    FunctionName, Inspection, LoadOptions, Loaded, Package, QueryForm, QueryTarget, RewrittenQuery,
    RuleKind, helpers,
};
use super::query::{Form, QueryOutput, Question, RuleIndex, RulePath};
use super::recording::{Recording, Replay};
use super::scope::{Chance, Fixed, Scope};
use super::session::Session;
use super::sources::Sources;
use super::{Ledger, bounded, contain, failures, query};
use crate::builtins::FunctionSet;
use crate::{Diagnostic, Error, ErrorKind, NotFound, Position, Product};

/// Policies that are loaded and ready; cheap to clone, usable from any thread.
#[derive(Debug, Clone)]
pub struct Policies {
    inner: Arc<Inner>,
}

struct Inner {
    loaded: Loaded,
    index: RuleIndex,
    rego_v0: bool,
    /// Never evaluated itself: every pass takes a clone.
    template: Arc<Engine>,
    /// The template with built-in errors as undefined, once it is needed: to set that in a clone
    /// copies everything that the interpreter has prepared.
    lenient: OnceLock<Arc<Engine>>,
    product: Product,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

/// A checked query; it can be evaluated often.
#[derive(Debug, Clone)]
pub struct Query {
    checked: Arc<Checked>,
}

#[derive(Debug)]
struct Checked {
    question: Question,
    /// A module that the query needs beside the loaded ones: name and text.
    module: Option<(String, String)>,
    helpers: Vec<&'static str>,
    builtins: Vec<String>,
}

impl Query {
    /// The text as its author wrote it.
    pub fn text(&self) -> &str {
        &self.checked.question.text
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
    /// Whether an error of a built-in ends the evaluation; true by default. A failed call does in
    /// any case.
    pub strict_builtin_errors: bool,
    /// What a policy sees when the service knows no such thing.
    pub not_found: NotFound,
    /// Whether to note which lines are evaluated; false by default.
    pub coverage: bool,
}

impl EvaluateOptions {
    /// Options with the defaults.
    pub fn new(answers: Answers) -> Self {
        let not_found = match &answers {
            Answers::Service(platform) => platform.not_found(),
            _ => NotFound::Error,
        };
        Self {
            answers,
            budget: Budget::default(),
            strict_builtin_errors: true,
            not_found,
            coverage: false,
        }
    }
}

/// A line that a policy printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    /// The file of the `print`, as it was given.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// What it printed; not escaped.
    pub message: String,
}

/// What came of an evaluation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Evaluated {
    /// The answer to the query, or why there is none.
    pub result: Result<QueryOutput, Error>,
    /// Where in the policy the call is that made the evaluation fail; nothing where it isn't
    /// known, since the policy swallowed the error or no call failed.
    pub failed_at: Option<Position>,
    /// What the policy printed.
    pub prints: Vec<Print>,
    /// What was asked.
    pub ledger: Ledger,
    /// The lines that were evaluated, by file, when that was asked for.
    pub lines: BTreeMap<String, BTreeSet<u32>>,
    answers: Vec<(Key, Outcome)>,
    fixed: Vec<Fixed>,
}

impl Evaluated {
    /// The calls that the result depends on and that were answered: function, arguments as JSON,
    /// answer.
    #[cfg(feature = "cli")]
    pub(crate) fn answered(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.answers.iter().filter_map(|(key, outcome)| {
            let answer = outcome.result.as_ref().ok()?;
            Some((&*key.function, &*key.arguments, &answer.value))
        })
    }

    /// The calls of the product's functions in the policies, as far as they are known, and how
    /// often this evaluation reached each: full name, place, times. Nothing until the policies say
    /// where their calls are.
    #[cfg(feature = "cli")]
    #[allow(clippy::unused_self, reason = "what is counted belongs to the evaluation")]
    pub(crate) fn sites(&self) -> impl Iterator<Item = (&str, &Position, u64)> {
        std::iter::empty()
    }

    /// How many errors of built-ins this evaluation took as undefined; nothing where nobody
    /// counts.
    #[cfg(feature = "cli")]
    #[allow(clippy::unused_self, reason = "what is counted belongs to the evaluation")]
    pub(crate) fn swallowed_errors(&self) -> Option<u64> {
        None
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
    aside: Aside,
}

/// What a pass gives besides its answer, also when it failed.
#[derive(Default)]
struct Aside {
    prints: Vec<String>,
    failed_at: Option<Position>,
    lines: BTreeMap<String, BTreeSet<u32>>,
}

impl Policies {
    /// Loads sources: checks them, refuses what would be evaluated wrongly, prepares the rest.
    ///
    /// `options` need the product and what is turned on: the functions and the built-ins that this
    /// crate provides are filled in.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with everything that is wrong, each with its position.
    pub fn load(sources: &Sources, options: LoadOptions) -> Result<Self, Error> {
        let (found, policies) = Self::inspect(sources, options, &crate::check::errors)?;
        policies.ok_or_else(|| Error::policy(found))
    }

    /// Loads sources; everything that is wrong with them, with what `more` finds, and the policies
    /// unless one of the findings is an error.
    ///
    /// # Errors
    /// Only what keeps the sources from being looked at, or the policies from being prepared.
    pub(crate) fn inspect(
        sources: &Sources,
        mut options: LoadOptions,
        more: Inspection<'_>,
    ) -> Result<(Vec<Diagnostic>, Option<Self>), Error> {
        options.functions = options
            .enabled
            .iter()
            .map(|f| FunctionName { short: f.name.to_owned(), arity: f.arity() })
            .collect();
        options.provided_builtins = bounded::provided_builtins();
        let (product, rego_v0) = (options.product.clone(), options.rego_v0);
        let enabled = options.enabled;
        let (found, loaded) = super::load::inspect(sources, &options, more)?;
        let Some(loaded) = loaded else { return Ok((found, None)) };
        Ok((found, Some(Self::prepared(loaded, product, enabled, rego_v0)?)))
    }

    fn prepared(
        loaded: Loaded,
        product: Product,
        enabled: FunctionSet,
        rego_v0: bool,
    ) -> Result<Self, Error> {
        let mut template = loaded.engine();
        let names: Vec<(String, u8)> =
            enabled.iter().map(|f| (product.function(f.name), f.arity())).collect();
        let builtins = &loaded.uses().builtins;
        bounded::install(&mut template, &names, |name| has(builtins, name))?;
        template.set_gather_prints(true);
        let template = Arc::new(prepare(template)?);
        let index = index(&loaded);
        Ok(Self {
            inner: Arc::new(Inner {
                loaded,
                index,
                rego_v0,
                template,
                lenient: OnceLock::new(),
                product,
            }),
        })
    }

    /// All packages, by path.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.inner.loaded.packages()
    }

    /// What was loaded.
    pub fn loaded(&self) -> &Loaded {
        &self.inner.loaded
    }

    /// Checks a query; it can then be evaluated often.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with everything that is wrong with it.
    pub fn query(&self, text: &str) -> Result<Query, Error> {
        let rewritten = self.inner.loaded.rewrite_query(text)?;
        let form = form(&rewritten.form, &self.inner.index);
        let RewrittenQuery { text: rewritten, module, helpers, builtins, .. } = rewritten;
        let v0 = self.inner.rego_v0;
        let question = Question { text: text.to_owned(), rewritten, form, v0 };
        Ok(Query { checked: Arc::new(Checked { question, module, helpers, builtins }) })
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
        let session = Arc::new(Session::new(
            self.inner.product.clone(),
            options.answers.clone(),
            options.not_found,
            options.budget.clone(),
        ));
        let chance = Arc::new(chance(&options.answers));
        let span = tracing::debug_span!("evaluation");
        let _entered = span.enter();
        let asks = self.asks(query);
        let run = |scope: &Arc<Scope>| self.pass(scope, query, input, options.coverage);
        let strict = options.strict_builtin_errors;
        let last = drive(&session, &chance, strict, asks, run, |done: &Done| done.output.is_err());
        self.finish(&session, &chance, last)
    }

    /// Whether the evaluation of `query` can call one of the product's functions at all.
    fn asks(&self, query: &Query) -> bool {
        let product = self.inner.product.as_str();
        !self.inner.loaded.uses().functions.is_empty() || query.text().contains(product)
    }

    /// Evaluates a query without blocking the calling task.
    pub async fn evaluate_async(
        &self,
        query: Query,
        input: Option<Value>,
        options: EvaluateOptions,
    ) -> Evaluated {
        let policies = self.clone();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let started =
            std::thread::Builder::new().name("rego-platform".to_owned()).spawn(move || {
                let _ = sender.send(policies.evaluate(&query, input.as_ref(), &options));
            });
        let failed = |message: &str| Evaluated {
            result: Err(Error::new(ErrorKind::Internal, message)),
            failed_at: None,
            prints: Vec::new(),
            ledger: Ledger::default(),
            lines: BTreeMap::new(),
            answers: Vec::new(),
            fixed: Vec::new(),
        };
        if started.is_err() {
            return failed("can't start a thread to evaluate on");
        }
        receiver.await.unwrap_or_else(|_| failed("the evaluation ended without a result"))
    }

    /// One pass on a clone of the template, which is thrown away.
    fn pass(
        &self,
        scope: &Arc<Scope>,
        query: &Query,
        input: Option<&Value>,
        coverage: bool,
    ) -> Done {
        let (policies, query, input) = (self.clone(), Arc::clone(&query.checked), input.cloned());
        let inner = Arc::clone(scope);
        let aside = Arc::new(Mutex::new(Aside::default()));
        let set_aside = Arc::clone(&aside);
        let output = contain::evaluate(scope, self.template(scope), move |engine| {
            let failed_at = Cell::new(None);
            let explain = |error: anyhow::Error| {
                let explained = failures::explained(&policies.inner.loaded, &inner, &error);
                failed_at.set(failures::position(&inner, &error, &explained));
                explained
            };
            engine.set_enable_coverage(coverage);
            let output = policies.ask(engine, &query, input, &explain);
            let prints = engine.take_prints().unwrap_or_default();
            let lines = if coverage { policies.lines(engine)? } else { BTreeMap::new() };
            *lock(&set_aside) = Aside { prints, failed_at: failed_at.into_inner(), lines };
            output
        });
        let aside = std::mem::take(&mut *lock(&aside));
        Done { output, aside }
    }

    /// What the engines of `scope` are clones of.
    fn template(&self, scope: &Scope) -> &Arc<Engine> {
        if scope.is_strict() {
            return &self.inner.template;
        }
        self.inner.lenient.get_or_init(|| {
            let mut lenient = Engine::clone(&self.inner.template);
            lenient.set_strict_builtin_errors(false);
            Arc::new(lenient)
        })
    }

    /// Puts the query to an engine.
    fn ask(
        &self,
        engine: &mut Engine,
        query: &Checked,
        input: Option<Value>,
        explain: &dyn Fn(anyhow::Error) -> Error,
    ) -> Result<QueryOutput, Error> {
        if let Some(input) = input {
            engine.set_input(input);
        }
        let installed = &self.inner.loaded.uses().builtins;
        bounded::install(engine, &[], |name| has(&query.builtins, name) && !has(installed, name))?;
        helpers::install(engine, &query.helpers)?;
        if let Some((name, text)) = &query.module {
            engine.set_rego_v0(false);
            engine.add_policy(name.clone(), text.clone()).map_err(explain)?;
        }
        query::answer(engine, &query.question, &self.inner.index, explain)
    }

    /// The lines that were evaluated. Rewriting moves nothing to another line.
    fn lines(&self, engine: &Engine) -> Result<BTreeMap<String, BTreeSet<u32>>, Error> {
        let report = engine.get_coverage_report().map_err(|error| {
            Error::new(ErrorKind::Internal, "the interpreter has no coverage").with_source(error)
        })?;
        let known = |file: &String| self.inner.loaded.has_file(file);
        let files = report.files.into_iter().filter(|file| known(&file.path));
        Ok(files.map(|file| (file.path, file.covered)).collect())
    }

    fn finish(&self, session: &Session, chance: &Chance, last: Last<Done>) -> Evaluated {
        let ledger = session.ledger(&last.used, last.passes);
        let used: HashSet<_> = last.used.into_keys().collect();
        let (result, aside) = match last.result {
            Ok(done) => (done.output, done.aside),
            Err(error) => (Err(error), Aside::default()),
        };
        let prints = aside
            .prints
            .iter()
            .map(|line| {
                let line = self.inner.loaded.print_line(line);
                Print { file: line.file, line: line.line, message: line.message }
            })
            .collect();
        Evaluated {
            result,
            failed_at: aside.failed_at,
            lines: aside.lines,
            prints,
            ledger,
            answers: session.answers_of(&used),
            fixed: chance.given(),
        }
    }
}

/// What queries can name.
fn index(loaded: &Loaded) -> RuleIndex {
    let rules = loaded.packages().flat_map(|package| &package.rules).map(|rule| RulePath {
        path: rule.path.clone(),
        reference: query::reference(&rule.path),
        is_function: matches!(rule.kind, RuleKind::Function { .. }),
        is_partial_object: rule.kind == RuleKind::PartialObject,
    });
    RuleIndex {
        rules: rules.collect(),
        packages: loaded.packages().map(|package| package.path.clone()).collect(),
        data: loaded.data().clone(),
    }
}

fn form(form: &QueryForm, index: &RuleIndex) -> Form {
    match form {
        QueryForm::Reference { path, target: QueryTarget::Root | QueryTarget::Package } => {
            Form::Package(path.clone())
        }
        QueryForm::Reference { path, target: QueryTarget::Rule } => {
            let named = |rule: &&RulePath| rule.path == *path && !rule.is_function;
            index.rules.iter().find(named).cloned().map_or(Form::Expression, Form::Rule)
        }
        QueryForm::Reference { .. } | QueryForm::Expression => Form::Expression,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a sorted list of names has `name`.
fn has(names: &[String], name: &str) -> bool {
    names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
}

/// Makes regorus do once what it would do at the first evaluation of every clone.
fn prepare(mut template: Engine) -> Result<Engine, Error> {
    let nobody = Answers::Nobody("policies are being loaded".to_owned());
    let budget = Budget::default();
    let session = Session::new(Product::default(), nobody, NotFound::Error, budget);
    let pass = Arc::new(super::batch::Pass::exact(Arc::new(session)));
    let scope = Arc::new(Scope::new(pass, Arc::new(Chance::now())));
    contain::run(&scope, move || match template.eval_query("true".to_owned(), false) {
        Ok(_) => Ok(template),
        Err(error) => Err(Error::new(ErrorKind::Policy, "the policies can't be prepared")
            .with_source(error.to_string())),
    })
}

/// Time and randomness: the clock's, or the recording's.
fn chance(answers: &Answers) -> Chance {
    let chance = Chance::now();
    if let Answers::Replay(replay) = answers {
        preset(&chance, replay);
    }
    chance
}

fn preset(chance: &Chance, replay: &Replay) {
    for (function, arguments, value) in replay.fixed() {
        for name in ["time.now_ns", "uuid.rfc4122", "rand.intn"] {
            if name == function {
                chance.preset(name, arguments.clone(), value.clone());
            }
        }
    }
}

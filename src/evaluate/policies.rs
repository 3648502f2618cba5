//! Policies, loaded once and evaluated often.
//!
//! Owns the public way to evaluate: what is prepared once, what one evaluation is given and what
//! it gives back. The passes belong to `batch`, the answer's form to `query` and `output`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regorus::{Engine, Value};

use super::batch::{Last, drive};
use super::call::Key;
use super::flight::Outcome;
use super::load::{
    FunctionName, LoadOptions, Loaded, Package, QueryForm, QueryTarget, RewrittenQuery, RuleKind,
};
use super::query::{Form, QueryOutput, Question, RuleIndex, RulePath};
use super::recording::{Recording, Replay};
use super::scope::{Chance, Fixed, Scope};
use super::session::{Answers, Budget, Session};
use super::sources::Sources;
use super::{Ledger, bounded, contain, query};
use crate::builtins::FUNCTIONS;
use crate::{Error, ErrorKind, NotFound, Position, Product};

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
    question: Question,
    /// A module that the query needs beside the loaded ones: name and text.
    module: Option<(String, String)>,
    builtins: Vec<String>,
}

impl Query {
    /// The text as its author wrote it.
    pub fn text(&self) -> &str {
        &self.question.text
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
    /// What the policy printed.
    pub prints: Vec<Print>,
    /// What was asked.
    pub ledger: Ledger,
    /// Where the interpreter stopped, when the result is an error that has no position itself.
    pub stopped_at: Option<Position>,
    /// The lines that were evaluated, by file, when that was asked for.
    pub lines: BTreeMap<String, BTreeSet<u32>>,
    answers: Vec<(Key, Outcome)>,
    fixed: Vec<Fixed>,
}

impl Evaluated {
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

impl Policies {
    /// Loads sources: checks them, refuses what would be evaluated wrongly, prepares the rest.
    ///
    /// `options` need the product only: the functions and the built-ins that this crate provides
    /// are filled in.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] with everything that is wrong, each with its position.
    pub fn load(sources: &Sources, mut options: LoadOptions) -> Result<Self, Error> {
        options.functions = FUNCTIONS
            .iter()
            .map(|f| FunctionName { short: f.name.to_owned(), arity: f.arity() })
            .collect();
        options.provided_builtins = bounded::provided_builtins();
        let (product, rego_v0) = (options.product.clone(), options.rego_v0);
        let loaded = super::load::load(sources, &options)?;
        let mut template = loaded.engine();
        let names: Vec<(String, u8)> =
            FUNCTIONS.iter().map(|f| (product.function(f.name), f.arity())).collect();
        let builtins = &loaded.uses().builtins;
        bounded::install(&mut template, &names, |name| has(builtins, name))?;
        template.set_gather_prints(true);
        let template = Arc::new(prepare(template)?);
        let index = index(&loaded);
        Ok(Self { inner: Arc::new(Inner { loaded, index, rego_v0, template, product }) })
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
        let form = form(&rewritten, &self.inner.index);
        Ok(Query {
            question: Question {
                text: text.to_owned(),
                rewritten: rewritten.text,
                form,
                v0: self.inner.rego_v0,
            },
            module: rewritten.module,
            builtins: rewritten.builtins,
        })
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
        let left = Left::default();
        lock(&left).coverage = options.coverage;
        let last = drive(&session, &chance, options.strict_builtin_errors, |scope| {
            self.pass(scope, query, input, &left)
        });
        self.finish(&session, &chance, last, &left)
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
            prints: Vec::new(),
            ledger: Ledger::default(),
            stopped_at: None,
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
        left: &Left,
    ) -> Result<QueryOutput, Error> {
        let left = Arc::clone(left);
        let coverage = lock(&left).clear();
        let (policies, query, input) = (self.clone(), query.clone(), input.cloned());
        let inner = Arc::clone(scope);
        contain::evaluate(scope, &self.inner.template, move |engine| {
            engine.set_strict_builtin_errors(inner.is_strict());
            engine.set_enable_coverage(coverage);
            if let Some(input) = input {
                engine.set_input(input);
            }
            let installed = &policies.inner.loaded.uses().builtins;
            bounded::install(engine, &[], |name| {
                has(&query.builtins, name) && !has(installed, name)
            })?;
            if let Some((name, text)) = query.module {
                engine.set_rego_v0(false);
                let added = engine.add_policy(name, text);
                added.map_err(|error| policies.explain(&inner, &error))?;
            }
            let explain = |error: anyhow::Error| policies.explain(&inner, &error);
            let index = &policies.inner.index;
            let output = query::answer(engine, &query.question, index, &explain);
            let mut left = lock(&left);
            left.prints = engine.take_prints().unwrap_or_default();
            left.lines = if coverage { policies.lines(engine)? } else { BTreeMap::new() };
            // A call's failure has no place of its own; what the interpreter made of it has one.
            if let (Some(_), Err(error)) = (inner.failure(), &output) {
                left.stopped_at = error.diagnostics().first().and_then(|d| d.position.clone());
            }
            output
        })
    }

    /// What the interpreter says, in the author's text.
    fn explain(&self, scope: &Scope, error: &anyhow::Error) -> Error {
        contain::limit(Some(scope), error)
            .unwrap_or_else(|| Error::policy(vec![self.inner.loaded.diagnose(&error.to_string())]))
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

    fn finish(
        &self,
        session: &Session,
        chance: &Chance,
        last: Last<QueryOutput>,
        left: &Left,
    ) -> Evaluated {
        let ledger = session.ledger(&last.used, last.passes);
        let used: HashSet<_> = last.used.into_keys().collect();
        let left = std::mem::take(&mut *lock(left));
        let prints = left
            .prints
            .iter()
            .map(|line| {
                let line = self.inner.loaded.print_line(line);
                Print { file: line.file, line: line.line, message: line.message }
            })
            .collect();
        Evaluated {
            stopped_at: left.stopped_at.filter(|_| last.result.is_err()),
            result: last.result,
            prints,
            ledger,
            lines: left.lines,
            answers: session.answers_of(&used),
            fixed: chance.given(),
        }
    }
}

/// What the last pass left, kept beside its result: a failed one printed too.
type Left = Arc<Mutex<Traces>>;

#[derive(Default)]
struct Traces {
    coverage: bool,
    prints: Vec<String>,
    lines: BTreeMap<String, BTreeSet<u32>>,
    stopped_at: Option<Position>,
}

impl Traces {
    /// Forgets the pass before; whether lines are to be noted.
    fn clear(&mut self) -> bool {
        *self = Self { coverage: self.coverage, ..Self::default() };
        self.coverage
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What queries can name.
fn index(loaded: &Loaded) -> RuleIndex {
    let rules = loaded.packages().flat_map(|package| &package.rules).map(|rule| RulePath {
        path: rule.path.clone(),
        is_function: matches!(rule.kind, RuleKind::Function { .. }),
    });
    RuleIndex {
        rules: rules.collect(),
        packages: loaded.packages().map(|package| package.path.clone()).collect(),
        data: loaded.data().clone(),
    }
}

fn form(query: &RewrittenQuery, index: &RuleIndex) -> Form {
    match &query.form {
        QueryForm::Reference { path, target: QueryTarget::Root | QueryTarget::Package } => {
            Form::Package(path.clone())
        }
        QueryForm::Reference { path, target: QueryTarget::Rule }
            if index.rules.iter().any(|rule| rule.path == *path && !rule.is_function) =>
        {
            Form::Rule(path.clone())
        }
        _ => Form::Expression,
    }
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

//! The calls of the functions within a pass.
//!
//! Owns which evaluation on the calling thread answers them, and Rego's own functions on other
//! interpreters.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use super::Inner;
use crate::evaluate::{Calls, Environment, EvaluateOptions, Scope};
use crate::rego::internal::builtins::{
    self, Answer, Builtin, Cache, Code, CompiledPatterns, Context, HTTP_SEND, LOOKUP, Run,
};
use crate::rego::internal::types;
use crate::rego::{Host as _, HostAnswer, HostCall, Value};
use crate::{Diagnostic, Error, ErrorKind, Limit, NotFound};

/// A pass that is running on a thread.
pub(super) struct RunningPass {
    registration: u64,
    pub(super) scope: Scope,
    /// Set if an error of a built-in ends the evaluation.
    strict: bool,
    /// The memory that the results of built-in functions may take, and have taken.
    memory_limit: u64,
    memory: Cell<u64>,
    cache: Cache,
    patterns: Arc<CompiledPatterns>,
}

impl RunningPass {
    pub(super) fn new(registration: u64, scope: Scope, options: &EvaluateOptions) -> Self {
        let (strict, memory) = (options.strict_builtin_errors, options.budget.memory);
        Self::with(registration, scope, strict, memory)
    }

    fn with(registration: u64, scope: Scope, strict: bool, memory_limit: u64) -> Self {
        static PATTERNS: LazyLock<Arc<CompiledPatterns>> = LazyLock::new(Arc::default);
        Self {
            registration,
            scope,
            strict,
            memory_limit,
            memory: Cell::new(0),
            cache: Cache::default(),
            patterns: Arc::clone(&PATTERNS),
        }
    }

    /// Returns the context of a built-in function outside of an evaluation.
    fn alone() -> Self {
        const LIMIT: Duration = Duration::from_mins(1);
        let (calls, environment) = (Arc::new(Outside), Arc::new(Environment::now()));
        let scope = Scope::new(calls, environment, Instant::now() + LIMIT, LIMIT);
        Self::with(u64::MAX, scope, true, 4 << 30)
    }
}

/// The answers to calls outside of an evaluation.
struct Outside;

impl Calls for Outside {
    fn call(&self, function: &str, _: &[Value]) -> Result<Option<Value>, Error> {
        Err(outside(function))
    }
}

fn outside(function: &str) -> Error {
    Error::configuration("called outside of the scope of its registration")
        .with_hint("evaluate with the registration, on the thread that runs its closure")
        .in_call(function)
}

thread_local! {
    /// Innermost last: a function of the host's may evaluate in its turn.
    static RUNNING: RefCell<Vec<Rc<RunningPass>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` as `pass`: the calls that it makes on this thread are answered by the pass.
pub(super) fn within<T>(pass: &Rc<RunningPass>, work: impl FnOnce() -> T) -> T {
    /// Ends the pass, even if `work` panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            RUNNING.with_borrow_mut(Vec::pop);
        }
    }
    RUNNING.with_borrow_mut(|all| all.push(Rc::clone(pass)));
    let _end = End;
    work()
}

/// The innermost pass that is running on this thread.
fn innermost() -> Option<Rc<RunningPass>> {
    RUNNING.with_borrow(|all| all.last().cloned())
}

/// Returns the end of the innermost pass that is running on this thread.
#[cfg(feature = "regorus-core")]
pub(super) fn innermost_deadline() -> Option<Instant> {
    innermost().map(|pass| pass.scope.deadline())
}

fn running(registration: u64) -> Option<Rc<RunningPass>> {
    RUNNING
        .with_borrow(|all| all.iter().rev().find(|pass| pass.registration == registration).cloned())
}

/// Returns the end of the pass of a registration that is running on this thread.
pub(super) fn deadline(registration: u64) -> Option<Instant> {
    running(registration).map(|pass| pass.scope.deadline())
}

/// Calls a function of the service or of the host.
pub(super) fn call(
    of: &Inner,
    name: &Arc<str>,
    arguments: &[Value],
) -> Result<Option<Value>, Error> {
    let Some(pass) = running(of.number) else {
        return match &of.platform {
            Some(platform) if of.direct => {
                let function = of.callable.product.short(name).unwrap_or(name);
                match platform.call(function, arguments) {
                    Err(error)
                        if error.kind() == ErrorKind::NotFound
                            && platform.not_found() == NotFound::Undefined =>
                    {
                        Ok(None)
                    }
                    answer => answer.map(Some),
                }
            }
            _ => Err(outside(name)),
        };
    };
    let fail = |error: Error| Err(pass.scope.fail(error.in_call(Arc::clone(name))));
    match pass.scope.call(&HostCall::new(name, arguments)) {
        HostAnswer::Value(value) => Ok(Some(value)),
        HostAnswer::Undefined | HostAnswer::Pending => Ok(None),
        HostAnswer::Error(error) => fail(Error::policy_failed(error.to_string())),
        // It failed, and its error is what the pass failed with.
        _ => fail(Error::internal("a call failed without an error")),
    }
}

/// Ends the innermost pass with `error`, unless it has failed before. Returns the error that ends it.
#[cfg(feature = "regorus-core")]
pub(super) fn fail(error: Error) -> Error {
    match innermost() {
        Some(pass) => pass.scope.fail(error),
        None => error,
    }
}

/// A function whose arguments are values and whose result is one.
type Plain = fn(&dyn Context, &[Value]) -> Answer;

fn plain(builtin: &Builtin) -> Option<Plain> {
    match builtin.run {
        // An operator isn't called by its name, and a relation has several results.
        Run::Plain(run) if builtin.infix.is_none() => Some(run),
        _ => None,
    }
}

fn with_arity(builtin: &'static Builtin) -> Option<(&'static Builtin, u8)> {
    plain(builtin)?;
    let function = types::Function::parse(builtin.signature).ok()?;
    Some((builtin, u8::try_from(function.args.len()).ok()?))
}

/// The functions of Rego's whose results would otherwise change from pass to pass, and the policies' own
/// requests, which are calls. Each with its number of arguments.
pub(super) fn shared_builtins() -> impl Iterator<Item = (&'static Builtin, u8)> {
    const NAMES: [&str; 5] = ["time.now_ns", "uuid.rfc4122", "rand.intn", HTTP_SEND, LOOKUP];
    NAMES.into_iter().filter_map(builtins::lookup).filter_map(with_arity)
}

/// All functions of Rego's that are called by their name, each with its number of arguments.
#[cfg(feature = "regorus-core")]
pub(super) fn all_builtins() -> impl Iterator<Item = (&'static Builtin, u8)> {
    builtins::all().iter().filter_map(with_arity)
}

/// Calls one of Rego's own functions.
pub(super) fn call_builtin(
    builtin: &'static Builtin,
    arguments: &[Value],
) -> Result<Option<Value>, Error> {
    let Some(run) = plain(builtin) else { return Ok(None) };
    // Outside of an evaluation, they still work.
    let pass = innermost().unwrap_or_else(|| Rc::new(RunningPass::alone()));
    let failed = |error: &builtins::Error| pass.scope.fail(failed(builtin.name, error));
    match run(&*pass, arguments) {
        Ok(Some(value)) => {
            pass.charge(value.size()).map_err(|error| failed(&error))?;
            Ok(Some(value))
        }
        Ok(None) => Ok(None),
        Err(error) if error.halt || pass.strict => Err(failed(&error)),
        Err(_) => Ok(None),
    }
}

fn failed(name: &str, error: &builtins::Error) -> Error {
    let code = match error.code {
        Code::Type => "eval_type_error",
        _ => "eval_builtin_error",
    };
    let message = format!("{code}: {name}: {error}");
    Error::policy(vec![Diagnostic::error("evaluation-error", message)])
}

impl Context for RunningPass {
    fn now_ns(&self) -> i64 {
        self.scope.now_ns()
    }

    fn random(&self, key: &str) -> u64 {
        self.scope.random(key)
    }

    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> Answer,
    ) -> Answer {
        self.scope.fixed(function, args, make)
    }

    fn charge(&self, bytes: u64) -> Result<(), builtins::Error> {
        let memory = self.memory.get().saturating_add(bytes);
        self.memory.set(memory);
        if memory <= self.memory_limit {
            return Ok(());
        }
        let limit = crate::text::size(self.memory_limit);
        let message = format!("values of the evaluation too large: the limit is {limit}");
        self.scope.fail(Error::too_large(message.clone()).at_limit(Limit::Memory));
        Err(builtins::Error::halt(Code::Limit, message))
    }

    fn check(&self) -> Result<(), builtins::Error> {
        let check = self.scope.check();
        check.map_err(|halt| builtins::Error::halt(Code::Cancelled, halt.message))
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn patterns(&self) -> &CompiledPatterns {
        &self.patterns
    }

    fn runtime(&self) -> Value {
        self.scope.runtime()
    }

    fn http_send(&self, request: &Value) -> Answer {
        self.scope.http_send(request)
    }

    fn lookup_host(&self, name: &str) -> Answer {
        self.scope.lookup_host(name)
    }
}

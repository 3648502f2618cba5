//! The calls of the functions within a pass on regorus.
//!
//! Owns the extensions on the engine, and which evaluation on the calling thread answers them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use regorus::{Engine, Value as EngineValue};

use super::{configuration, values};
use crate::Error;
use crate::evaluate::{Calls, Environment, Scope};
use crate::load::LoadOptions;
use crate::rego::Value;
use crate::rego::internal::builtins::{Cache, CompiledPatterns};
use crate::rego::{Host as _, HostAnswer, HostCall};

/// A pass that is running on a thread.
pub(super) struct RunningPass {
    registration: u64,
    pub(super) scope: Scope,
    /// Set if an error of a built-in ends the evaluation.
    pub(super) strict: bool,
    /// The memory that the results of built-in functions may take, and have taken.
    pub(super) memory_limit: u64,
    pub(super) memory: Cell<u64>,
    pub(super) cache: Cache,
    pub(super) patterns: Arc<CompiledPatterns>,
}

impl RunningPass {
    pub(super) fn new(registration: u64, scope: Scope, options: &EngineOptions) -> Self {
        static PATTERNS: LazyLock<Arc<CompiledPatterns>> = LazyLock::new(Arc::default);
        Self {
            registration,
            scope,
            strict: options.strict,
            memory_limit: options.memory,
            memory: Cell::new(0),
            cache: Cache::default(),
            patterns: Arc::clone(&PATTERNS),
        }
    }

    /// Returns the context of a built-in function outside of an evaluation.
    pub(super) fn alone() -> Self {
        const LIMIT: Duration = Duration::from_mins(1);
        let (calls, environment) = (Arc::new(Outside), Arc::new(Environment::now()));
        let scope = Scope::new(calls, environment, Instant::now() + LIMIT, LIMIT);
        Self::new(u64::MAX, scope, &EngineOptions { strict: true, memory: 4 << 30 })
    }
}

/// The options of an evaluation that each of its passes has.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineOptions {
    pub(super) strict: bool,
    pub(super) memory: u64,
}

/// The answers to calls outside of an evaluation.
struct Outside;

impl Calls for Outside {
    fn call(&self, function: &str, _: &[Value]) -> Result<Option<Value>, Error> {
        Err(outside(function))
    }
}

fn outside(function: &str) -> Error {
    configuration("called outside of the scope of its registration")
        .with_hint("evaluate within `Registration::evaluate`, on the thread that runs its closure")
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
pub(super) fn innermost() -> Option<Rc<RunningPass>> {
    RUNNING.with_borrow(|all| all.last().cloned())
}

fn running(registration: u64) -> Option<Rc<RunningPass>> {
    RUNNING
        .with_borrow(|all| all.iter().rev().find(|pass| pass.registration == registration).cloned())
}

/// Adds the functions of the service and of the host to the engine.
pub(super) fn add(
    engine: &mut Engine,
    registration: u64,
    options: &LoadOptions,
) -> Result<(), Error> {
    let ours = options.enabled.iter().map(|function| {
        let name: Arc<str> = options.product.function(function.name).into();
        (name, function.arity())
    });
    let hosts = options.host_functions.iter();
    let hosts = hosts.map(|function| (Arc::from(function.name()), function.arity()));
    for (name, arity) in ours.chain(hosts) {
        let called = Arc::clone(&name);
        let extension = move |arguments: Vec<EngineValue>| -> anyhow::Result<EngineValue> {
            Ok(call(registration, &called, &arguments)?)
        };
        engine.add_extension(name.to_string(), arity, Box::new(extension)).map_err(|_| {
            configuration(format!("`{name}` is registered on this engine already"))
                .with_hint("register once per engine; clones share the registration")
        })?;
    }
    Ok(())
}

fn call(
    registration: u64,
    name: &Arc<str>,
    arguments: &[EngineValue],
) -> Result<EngineValue, Error> {
    let Some(pass) = running(registration) else {
        return Err(outside(name));
    };
    let scope = &pass.scope;
    let fail = |error: Error| scope.fail(error.in_call(Arc::clone(name)));
    let arguments = values::all_from_engine(arguments).map_err(fail)?;
    match scope.call(&HostCall::new(name, &arguments)) {
        HostAnswer::Value(value) => values::to_engine(&value).map_err(fail),
        HostAnswer::Undefined | HostAnswer::Pending => Ok(EngineValue::Undefined),
        HostAnswer::Error(error) => {
            Err(fail(Error::new(crate::ErrorKind::Policy, error.to_string())))
        }
        // It failed.
        _ => Err(scope.failure().cloned().unwrap_or_else(|| {
            Error::new(crate::ErrorKind::Internal, "a call failed without an error")
        })),
    }
}

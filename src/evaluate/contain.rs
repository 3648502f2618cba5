//! Evaluation that can't take the process with it: a large stack, a deadline, caught panics.
//!
//! Owns what happens when an evaluation panics or doesn't come back, and the limits that regorus
//! itself enforces (its timer; with the feature `cli` its memory limit). The threads are
//! [`super::workers`]'. It doesn't know what is evaluated.
//!
//! What bounds an evaluation:
//! - **Stack.** A worker reserves [`workers::STACK`] bytes of address space; pages are used as they
//!   are touched. What regorus recurses over is bounded by the loader (no call cycles, bounded depth
//!   of source and of calls), so the reserve is never used up: [`CALL_DEPTH`] calls fit in it.
//! - **Time.** regorus looks at its timer between steps, every function and built-in at the
//!   deadline of its scope. What neither interrupts (comparing two huge values) is abandoned:
//!   the caller gets its error, the thread ends when it ends, and at most [`ABANDONED`] of them
//!   may be under way before new evaluations are refused.
//! - **Memory.** Built-ins are bounded by [`super::scope::Limits`]. What comprehensions and rules
//!   build is bounded by time alone, some 300 MB for each second of the deadline, unless the
//!   process sets a limit with `set_memory_limit` (feature `cli`).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, LimitError};

use super::scope::{self, Scope};
use super::workers::{self, Waited};
use crate::{Error, ErrorKind, text};

/// Calls of functions and rules inside one another that fit on a worker's stack, with room to
/// spare in a build without optimization too. The loader refuses what could go deeper.
#[cfg(test)]
pub(crate) const CALL_DEPTH: usize = 10_000;

/// Evaluations past their deadline that may be under way at a time.
pub(crate) const ABANDONED: usize = 16;

/// How long after its deadline an evaluation is waited for: regorus and the built-ins usually
/// notice by themselves and give a better error.
const GRACE: Duration = Duration::from_millis(250);

/// Steps of regorus between two looks at its timer.
const CHECK_INTERVAL: NonZeroU32 = NonZeroU32::new(64).unwrap();

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Evaluates with a clone of `template` under `scope`, and throws the clone away: after a panic an
/// engine keeps mocks and inputs that are over.
///
/// The clone is made where it is used; memory that one thread takes and another gives back is slow.
///
/// The result stands only if nothing failed under `scope`, whatever regorus made of the failure.
pub(crate) fn evaluate<T: Send + 'static>(
    scope: &Arc<Scope>,
    template: &Arc<Engine>,
    job: impl FnOnce(&mut Engine) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let inner = Arc::clone(scope);
    let template = Arc::clone(template);
    contained(scope, move || {
        let mut engine = Engine::clone(&template);
        if let Some(deadline) = inner.deadline() {
            let limit = deadline.saturating_duration_since(Instant::now());
            engine.set_execution_timer_config(ExecutionTimerConfig {
                limit,
                check_interval: CHECK_INTERVAL,
            });
        }
        let result = job(&mut engine);
        let result = match inner.failure() {
            Some(failure) => Err(failure.clone()),
            None => result,
        };
        (result, engine)
    })
}

/// Runs `job` on a worker with `scope` as its scope; on a worker already, runs it right here.
pub(crate) fn run<T: Send + 'static>(
    scope: &Arc<Scope>,
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    contained(scope, move || (job(), ()))
}

/// Runs `job`, which gives back what is to be dropped once its result is on its way.
fn contained<T: Send + 'static, L: Send + 'static>(
    scope: &Arc<Scope>,
    job: impl FnOnce() -> (Result<T, Error>, L) + Send + 'static,
) -> Result<T, Error> {
    scope.check()?;
    quiet_caught_panics();
    let inner = Arc::clone(scope);
    let job = move || match caught(move || Ok(scope::with(inner, job))) {
        Ok((result, left)) => (result, Some(left)),
        Err(panicked) => (Err(panicked), None),
    };
    if workers::is_worker() {
        return job().0;
    }
    if workers::abandoned() >= ABANDONED {
        return Err(Error::new(
            ErrorKind::Internal,
            format!("{ABANDONED} evaluations are past their deadline and can't be interrupted"),
        )
        .with_hint("restart the process, and find the policy that hangs"));
    }
    let until = scope.deadline().and_then(|deadline| deadline.checked_add(GRACE));
    match workers::run(job, until)? {
        Waited::Done(result) => result,
        Waited::Late => {
            scope.cancel();
            Err(scope.fail(scope.out_of_time()))
        }
        Waited::Lost => {
            let message = "the evaluation's thread ended without an answer";
            Err(Error::new(ErrorKind::Internal, message))
        }
    }
}

/// The result of `job`, or the panic that ended it as an error.
pub(super) fn caught<T>(job: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let outer = CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(job));
    CATCHING.set(outer);
    result.unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let place = PANICKED_AT.take().map(|at| format!(" ({at})")).unwrap_or_default();
    let message = text::shorten(message, 200);
    Error::new(ErrorKind::Internal, format!("the interpreter panicked: {message}{place}"))
        .with_hint("report this with the policy that causes it")
}

/// Keeps the host's panic hook from printing panics that become errors here. Every other panic
/// goes to the hook that was there before.
fn quiet_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let host = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                // File names of dependencies begin with a path of the machine that built them.
                let place = info.location().map(|at| {
                    let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
                    format!("{file}:{}", at.line())
                });
                PANICKED_AT.set(place);
            } else {
                host(info);
            }
        }));
    });
}

/// The limit that `error`, made by regorus, is about, as our error.
///
/// regorus passes errors through functions as text, so the text is looked at too; a policy that
/// fakes it changes the kind of its own failure and nothing else.
pub(crate) fn limit(scope: Option<&Scope>, error: &anyhow::Error) -> Option<Error> {
    let said = error.to_string();
    let memory = |limit: &str| {
        Error::new(ErrorKind::TooLarge, format!("the evaluation needs more memory than {limit}"))
            .with_hint("simplify the policy, or allow it more memory")
    };
    match error.downcast_ref::<LimitError>() {
        Some(LimitError::MemoryLimitExceeded { limit, .. }) => {
            return Some(memory(&format!("{limit} bytes")));
        }
        Some(LimitError::RegexSizeLimitExceeded { limit }) => {
            let message = format!("a regular expression compiles to more than {limit} bytes");
            return Some(Error::new(ErrorKind::TooLarge, message));
        }
        Some(LimitError::TimeLimitExceeded { .. }) | None => {}
    }
    if said.contains("execution exceeded memory limit") {
        return Some(memory("the limit"));
    }
    let timed_out = said.contains("execution exceeded time limit");
    timed_out
        .then(|| scope.map_or_else(|| Error::new(ErrorKind::TimedOut, said), Scope::out_of_time))
}

/// Bounds the memory of the whole process while regorus evaluates; `None` lifts the limit.
///
/// For a command, which does nothing else. The limit is regorus' own, is global, and is looked at
/// between steps: an evaluation that is over it ends with [`ErrorKind::TooLarge`].
#[cfg(feature = "cli")]
pub(crate) fn set_memory_limit(bytes: Option<u64>) {
    regorus::set_global_memory_limit(bytes);
}

#[cfg(test)]
#[path = "contain_tests.rs"]
mod tests;

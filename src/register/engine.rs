//! The functions on a host's own [`regorus::Engine`].
//!
//! Owns the extensions on an engine, and its evaluation in passes: each on a clone, so that the host's
//! engine stays as it is.

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value as EngineValue};

use super::{Evaluated, Registration, check, running, values};
use crate::evaluate::{Answers, EvaluateOptions, HostFunction};
use crate::load::LoadOptions;
use crate::rego::Value;
use crate::{Diagnostic, Error, Platform, Position};

/// The number of the interpreter's steps between two looks at the clock.
const STEPS: NonZeroU32 = NonZeroU32::new(64).unwrap();

impl Platform {
    /// Registers the functions on `engine`: those of the service that are enabled on this platform,
    /// and in place of regorus' own `time.now_ns`, `uuid.rfc4122`, `rand.intn`, `http.send` and
    /// `net.lookup_ip_addr`, since passes must agree on their results.
    ///
    /// Clones of the engine share the registration. The functions answer only within an evaluation of
    /// the [`Registration`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when one of the service's functions is on the engine already.
    pub fn register(&self, engine: &mut Engine) -> Result<Registration, Error> {
        self.register_with(engine, [])
    }

    /// Registers the functions as [`register`](Self::register) does, and functions of the host's
    /// beside them. Asynchronous ones are batched, remembered within an evaluation and recorded.
    ///
    /// # Errors
    /// As [`register`](Self::register); and when a name isn't valid or already taken.
    pub fn register_with(
        &self,
        engine: &mut Engine,
        functions: impl IntoIterator<Item = HostFunction>,
    ) -> Result<Registration, Error> {
        let registration = self.registration(functions)?;
        registration.add_to(engine)?;
        Ok(registration)
    }

    /// Registers the functions on `engine` for hosts that own the evaluating call: a plain
    /// `engine.eval_rule(…)` works, on any thread. Each call is sent when it is reached, one at a time, even if an
    /// equal one was answered before; there is no budget beside the platform's limits of a call, no ledger and no recording.
    /// **Nothing notices a call that is never made**: a rule whose call has an undefined argument is silent, and
    /// the input passes. [`regorus`](Self::regorus) refuses such inputs.
    ///
    /// A failed call is an error of the evaluation wherever it stands, in `not`, `default`, comprehensions and `with`.
    /// For that, this makes errors strict on the engine, which regorus is by default. **Keep it so:** after
    /// `set_strict_builtin_errors(false)`, regorus ignores the failure of a function that has a second definition. It
    /// always ignores one in the value of a `with` for a function (`with count as rule_with_a_call`): **check the policies**
    /// with the returned registration, which refuses that ([`Registration::check`]). It evaluates nothing itself.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let platform = rego_platform::Platform::from_context()?;
    /// let mut engine = rego_platform::regorus::Engine::new();
    /// let functions = platform.register_direct(&mut engine)?;
    /// engine.add_policy_from_file("release.rego")?;
    /// functions.check(&engine)?;
    /// engine.set_input_json(r#"{"image": "sha256:…"}"#)?;
    /// println!("{}", engine.eval_rule("data.release.deny".to_owned())?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_direct(&self, engine: &mut Engine) -> Result<Registration, Error> {
        let options = LoadOptions::of_platform(self);
        let registration = Registration::new(options, Some(self.clone()), true)?;
        registration.add_to(engine)?;
        engine.set_strict_builtin_errors(true);
        Ok(registration)
    }
}

impl Registration {
    /// Adds the functions to an engine, which stays as it is if a name is taken.
    pub(super) fn add_to(&self, engine: &mut Engine) -> Result<(), Error> {
        let mut registered = engine.clone();
        for (name, arity) in &self.inner.functions {
            let (of, called) = (Arc::clone(&self.inner), Arc::clone(name));
            let call = move |arguments: &[Value]| running::call(&of, &called, arguments);
            if !add(&mut registered, name, *arity, call) {
                let message = format!("`{name}` is registered on this engine already");
                let hint = "register once per engine; clones share the registration";
                return Err(Error::configuration(message).with_hint(hint));
            }
        }
        for (builtin, arity) in running::shared_builtins() {
            // A function of the host's stays. Without passes, there is nothing to agree on.
            if !self.inner.direct || crate::evaluate::is_network(builtin.name) {
                let call = |arguments: &[Value]| running::call_builtin(builtin, arguments);
                add(&mut registered, builtin.name, arity, call);
            }
        }
        *engine = registered;
        Ok(())
    }

    /// Evaluates with clones of `engine`, and waits for the result.
    ///
    /// `evaluate` runs once a pass, each time with a new clone, whose timer has the budget's time and whose errors of
    /// built-ins are as strict as the options say. It may set the input. The engine itself isn't changed, apart from
    /// what regorus prepares before its first evaluation.
    ///
    /// A `regorus::CompiledPolicy` has a timer of its own, which nobody can set: it runs to its end, and exceeding the
    /// time is an error after that. Evaluate the engine, which is as fast, or use
    /// [`evaluate_async`](Self::evaluate_async), which returns in time and leaves the thread to it.
    ///
    /// Works on any thread, even inside an async runtime, whose thread it then blocks.
    ///
    /// The result is regorus'. It may be a pass because a call was never made, or because regorus differs from OPA:
    /// [`Platform::regorus`] notices both.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let platform = rego_platform::Platform::from_context()?;
    /// let mut engine = rego_platform::regorus::Engine::new();
    /// let functions = platform.register(&mut engine)?;
    /// engine.add_policy_from_file("release.rego")?;
    /// functions.check(&engine)?;
    /// engine.set_input_json(r#"{"image": "sha256:…"}"#)?;
    /// let evaluated = functions.evaluate(&mut engine, &platform.options(), |engine| {
    ///     engine.eval_rule("data.release.deny".to_owned())
    /// });
    /// println!("{}\n{}", evaluated.result?, evaluated.ledger.table());
    /// # Ok(())
    /// # }
    /// ```
    pub fn evaluate<T>(
        &self,
        engine: &mut Engine,
        options: &EvaluateOptions,
        evaluate: impl FnMut(&mut Engine) -> anyhow::Result<T>,
    ) -> Evaluated<T> {
        let mut clones = Clones::new(engine, options, evaluate);
        let prints = Arc::clone(&clones.prints);
        let evaluated = self.passes(options, || clones.pass());
        Evaluated { prints: std::mem::take(&mut *prints.lock()), ..evaluated }
    }

    /// Evaluates as [`evaluate`](Self::evaluate) does, and as [`passes_async`](Self::passes_async) runs passes.
    pub async fn evaluate_async<T: Send + 'static>(
        &self,
        mut engine: Engine,
        options: EvaluateOptions,
        evaluate: impl FnMut(&mut Engine) -> anyhow::Result<T> + Send + 'static,
    ) -> Evaluated<T> {
        let mut clones = Clones::new(&mut engine, &options, evaluate);
        let prints = Arc::clone(&clones.prints);
        let evaluated = self.passes_async(options, move || clones.pass()).await;
        Evaluated { prints: std::mem::take(&mut *prints.lock()), ..evaluated }
    }

    /// Evaluates with a clone of `engine` in a single pass: each call blocks until it is
    /// answered. For closures that can't be run again; [`evaluate`](Self::evaluate) sends independent
    /// calls together. The limits are those of [`Budget::default`](crate::evaluate::Budget).
    ///
    /// # Errors
    /// The failed call's error, even if the interpreter ignored that failure; otherwise the
    /// interpreter's as [`ErrorKind::Policy`](crate::ErrorKind::Policy).
    pub fn run<T>(
        &self,
        engine: &mut Engine,
        evaluate: impl FnOnce(&mut Engine) -> anyhow::Result<T>,
    ) -> Result<T, Error> {
        let answers = self.inner.platform.clone().map_or_else(
            || Answers::Unavailable("evaluate with answers".to_owned()),
            Answers::Service,
        );
        let mut options = EvaluateOptions::new(answers);
        options.budget.one_at_a_time = true;
        let mut once = Some(evaluate);
        let evaluate = |engine: &mut Engine| match once.take() {
            Some(evaluate) => evaluate(engine),
            None => anyhow::bail!("an evaluation that can't be repeated was repeated"),
        };
        self.evaluate(engine, &options, evaluate).result
    }

    /// Puts this crate's built-in functions over those of the engine, so that they give OPA's
    /// answers, are bounded, and never panic. Functions that the host registered before are kept.
    /// Returns the number of functions that were replaced or added.
    ///
    /// Their last argument can't be an output any more: `count(x, n)` is `n := count(x)`.
    pub fn replace_builtins(&self, engine: &mut Engine) -> usize {
        let added = running::all_builtins().filter(|(builtin, arity)| {
            let builtin = *builtin;
            let call = move |arguments: &[Value]| running::call_builtin(builtin, arguments);
            add(engine, builtin.name, *arity, call)
        });
        added.count()
    }
}

impl Registration {
    /// Checks the policies and data of an engine as [`Policies::load`] does: misspelt functions,
    /// wrong numbers of arguments, literal arguments that the service would refuse, unsafe variables,
    /// conflicts; functions that regorus doesn't have, and the places where its result is known to differ from OPA's
    /// (`# check:ignore` in the policy allows one). Finds also what no evaluation reaches.
    ///
    /// The engine's own extensions count as functions.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem and its position.
    ///
    /// [`Policies::load`]: crate::evaluate::Policies::load
    pub fn check(&self, engine: &Engine) -> Result<(), Error> {
        let found = check::Checked::of(engine, &self.inner.options)?;
        let findings = [found.refused, found.differences].concat();
        if findings.is_empty() { Ok(()) } else { Err(Error::policy(findings)) }
    }
}

/// Adds a function to an engine. Returns `false` if its name is taken.
fn add(
    engine: &mut Engine,
    name: &str,
    arity: u8,
    call: impl Fn(&[Value]) -> Result<Option<Value>, Error> + Clone + Send + Sync + 'static,
) -> bool {
    let function: Arc<str> = name.into();
    let extension = move |arguments: Vec<EngineValue>| -> anyhow::Result<EngineValue> {
        let fail = |error: Error| running::fail(error.in_call(Arc::clone(&function)));
        let arguments = values::all_from_engine(&arguments).map_err(fail)?;
        Ok(match call(&arguments)? {
            Some(value) => values::to_engine(&value).map_err(fail)?,
            None => EngineValue::Undefined,
        })
    };
    engine.add_extension(name.to_owned(), arity, Box::new(extension)).is_ok()
}

/// Makes regorus analyze an engine's policies, once for all clones.
pub(super) fn prepare(engine: &mut Engine) {
    // There is no such rule. An error of the policies, and a panic, come again with the evaluation.
    let prepare = || stacker::grow(super::STACK, || engine.eval_rule(String::new()));
    let _ = catch_unwind(AssertUnwindSafe(prepare));
}

/// Returns a clone of an engine for a pass of the registration that is running on this thread.
pub(super) fn clone_for_pass(engine: &Engine, deadline: Option<Instant>) -> Engine {
    let mut own = engine.clone();
    if let Some(deadline) = deadline {
        let limit = deadline.saturating_duration_since(Instant::now());
        own.set_execution_timer_config(ExecutionTimerConfig { limit, check_interval: STEPS });
    }
    own
}

/// An engine, with the closure that is run with a clone of it in each pass.
struct Clones<F> {
    engine: Engine,
    evaluate: F,
    /// The prints of the last pass.
    prints: Arc<Mutex<Vec<String>>>,
}

impl<F> Clones<F> {
    fn new(engine: &mut Engine, options: &EvaluateOptions, evaluate: F) -> Self {
        prepare(engine);
        let mut engine = engine.clone();
        engine.set_strict_builtin_errors(options.strict_builtin_errors);
        engine.set_gather_prints(true);
        Self { engine, evaluate, prints: Arc::default() }
    }

    fn pass<T>(&mut self) -> Result<T, Error>
    where
        F: FnMut(&mut Engine) -> anyhow::Result<T>,
    {
        let mut engine = clone_for_pass(&self.engine, running::innermost_deadline());
        std::mem::take(&mut *self.prints.lock());
        let result = (self.evaluate)(&mut engine);
        let prints = engine.take_prints().unwrap_or_default();
        *self.prints.lock() = prints;
        result.map_err(error_of)
    }
}

/// Converts an error of regorus, or of the closure. regorus writes `\n--> file:line:column`, the line with a
/// caret, and `error: message`.
pub(super) fn error_of(error: anyhow::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(own) => return own,
        Err(error) => error,
    };
    let text = error.to_string();
    match diagnostic(&text) {
        Some(diagnostic) => Error::policy(vec![diagnostic]),
        None => Error::policy_failed(text.trim().to_owned())
            .with_source(error.reallocate_into_boxed_dyn_error_without_backtrace()),
    }
}

fn diagnostic(text: &str) -> Option<Diagnostic> {
    let (place, rest) = text.trim_start().strip_prefix("--> ")?.split_once('\n')?;
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let file = parts.next()?.to_owned();
    let (shown, message) = rest.split_once("\nerror: ")?;
    // An error within another one has the place where it happened.
    if let Some(inner) = diagnostic(message) {
        return Some(inner);
    }
    let source = shown.lines().nth(1).and_then(|line| line.split_once("| "));
    let text = source.map_or("", |(_, text)| text).to_owned();
    let position = Position { file, line, column, length: 1, text };
    Some(Diagnostic::error("evaluation-error", message.trim()).at(position))
}

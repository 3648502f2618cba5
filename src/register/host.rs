//! A regorus engine whose passes can be relied on.
//!
//! Owns the engine, its policies as this crate's engine sees them, and the end of an evaluation: a value, or
//! an error.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use regorus::Engine;

use super::check::Checked;
use super::engine::error_of;
use super::second::Regorus;
use super::{Registration, values};
use crate::evaluate::{EvaluateOptions, Evaluated, HostFunction, Policies, Role};
use crate::rego::Value;
use crate::{Error, Level, Platform};

/// A [`regorus::Engine`] with the functions, for gates: an evaluation gives a value or an error, and never a
/// pass that means nothing.
///
/// Each evaluation runs on regorus and on this crate's engine, in the same passes and with the same responses. It is an
/// error if
/// - the rule is undefined, or a call failed;
/// - a call was reached that couldn't be made, because an argument is undefined (`platform.discover(input.imge, "")`), or
///   something else that couldn't be judged was reached;
/// - the engines disagree, as about `not startswith(input.x, "a")` without `x`.
///
/// ```
/// # use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
/// use rego_platform::{Platform, Value};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let data = Dataset::load("testdata/platform".as_ref())?;
/// # let service = Emulator::start(data, EmulatorOptions::default())?;
/// # let builder = Platform::builder()
/// #     .controlplane_url(service.controlplane_url())
/// #     .base_url(service.base_url())
/// #     .token(rego_platform::Token::new(service.default_token())?);
/// # let _ = stringify! {
/// let platform = Platform::from_context()?;
/// # };
/// # let platform = builder.build()?;
/// let mut host = platform.regorus()?;
/// host.add_policy("release.rego", r#"package release
///
/// image := platform.discover(input.image, "CONTAINER_IMAGE")
///
/// deny contains "no SBOM" if count([r | some r in image.references; startswith(r.kind, "SBOM_")]) == 0"#)?;
/// host.check()?;
///
/// let digest = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";
/// let input = Value::from_json(&format!(r#"{{"image": "{digest}"}}"#))?;
/// let denied = host.eval_rule("data.release.deny", input)?;
/// assert_eq!(denied.to_json(), "[]");
///
/// let error = host.eval_rule("data.release.deny", Value::from_json("{}")?).unwrap_err();
/// assert!(error.to_string().contains("argument `input.image` is undefined"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RegorusHost {
    engine: Engine,
    registration: Registration,
    options: EvaluateOptions,
    /// The policies of the engine, once they are needed.
    loaded: OnceLock<Result<Policies, Error>>,
}

impl std::fmt::Debug for RegorusHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegorusHost").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Platform {
    /// Returns a regorus engine with the functions and with this crate's built-in functions.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) if regorus refuses a function.
    pub fn regorus(&self) -> Result<RegorusHost, Error> {
        self.regorus_with([])
    }

    /// Returns the engine as [`regorus`](Self::regorus) does, with the host's functions in addition to the service's.
    /// Asynchronous ones are batched, remembered within an evaluation and recorded.
    ///
    /// # Errors
    /// As [`regorus`](Self::regorus); and when a name isn't valid or already taken.
    pub fn regorus_with(
        &self,
        functions: impl IntoIterator<Item = HostFunction>,
    ) -> Result<RegorusHost, Error> {
        let mut engine = Engine::new();
        let registration = self.register_with(&mut engine, functions)?;
        registration.replace_builtins(&mut engine);
        let mut options = self.options();
        options.reached = true;
        Ok(RegorusHost { engine, registration, options, loaded: OnceLock::new() })
    }
}

impl RegorusHost {
    /// Adds a policy from its text, under a name for messages.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) if regorus can't parse it.
    pub fn add_policy(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<(), Error> {
        self.engine_mut().add_policy(name.into(), text.into()).map(drop).map_err(error_of)
    }

    /// Adds a policy from a file.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) if it can't be read, or regorus can't parse it.
    pub fn add_policy_from_file(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.engine_mut().add_policy_from_file(path).map(drop).map_err(error_of)
    }

    /// Adds an object to the base document `data`, member by member.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) if it isn't an object, or has another value for a member.
    pub fn add_data(&mut self, data: &Value) -> Result<(), Error> {
        let data = values::to_engine(data)?;
        self.engine_mut().add_data(data).map_err(error_of)
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the engine, for everything else. Its input, timer, strictness and prints have no effect on
    /// evaluations; an extension that is added to it can't be called by policies: see [`Platform::regorus_with`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        self.loaded = OnceLock::new();
        &mut self.engine
    }

    /// Returns the options of evaluations: the budget, a cancellation, other answers than the platform's.
    /// `reached` is always set.
    pub fn options_mut(&mut self) -> &mut EvaluateOptions {
        &mut self.options
    }

    /// Checks the policies and data: misspelt functions, wrong numbers of arguments, literal arguments that the
    /// service would refuse, unsafe variables, conflicts, and what regorus can't evaluate. Finds also what no evaluation
    /// reaches. The first evaluation checks too.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem and its position.
    pub fn check(&self) -> Result<(), Error> {
        self.policies().map(drop)
    }

    /// Evaluates a rule, such as `data.release.deny`, and waits for its value.
    ///
    /// Works on any thread, even inside an async runtime, whose thread it then blocks.
    ///
    /// # Errors
    /// See [`RegorusHost`]. None of them is a verdict: a gate must not pass.
    pub fn eval_rule(&self, rule: &str, input: Value) -> Result<Value, Error> {
        value(self.evaluate(rule, input))
    }

    /// Evaluates a rule as [`eval_rule`](Self::eval_rule) does, without blocking the calling task, and without
    /// holding a thread while it waits for the service. Dropping the future cancels the evaluation.
    ///
    /// # Errors
    /// As [`eval_rule`](Self::eval_rule).
    pub async fn eval_rule_async(&self, rule: &str, input: Value) -> Result<Value, Error> {
        value(self.evaluate_async(rule, input).await)
    }

    /// Evaluates a rule as [`eval_rule`](Self::eval_rule) does. Returns also its prints, its ledger and its recording.
    pub fn evaluate(&self, rule: &str, input: Value) -> Evaluated {
        let prepared = self.policies().and_then(|policies| Ok((policies, policies.query(rule)?)));
        let (policies, query) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Evaluated::failed(error),
        };
        policies.evaluate(&query, Some(&input), &self.options()).judged(rule)
    }

    /// Evaluates a rule as [`eval_rule_async`](Self::eval_rule_async) does. Returns also its prints, its ledger and its
    /// recording.
    pub async fn evaluate_async(&self, rule: &str, input: Value) -> Evaluated {
        let prepared = self.policies().and_then(|policies| Ok((policies, policies.query(rule)?)));
        let (policies, query) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Evaluated::failed(error),
        };
        policies.evaluate_async(query, Some(input), self.options()).await.judged(rule)
    }

    fn options(&self) -> EvaluateOptions {
        EvaluateOptions { reached: true, ..self.options.clone() }
    }

    fn policies(&self) -> Result<&Policies, Error> {
        self.loaded.get_or_init(|| self.load()).as_ref().map_err(Error::clone)
    }

    fn load(&self) -> Result<Policies, Error> {
        let Checked { sources, options, mut refused, differences } =
            Checked::of(&self.engine, &self.registration.inner.options)?;
        // Where only the result differs, the evaluation notices that.
        let fatal = differences.into_iter().filter(|found| found.level == Level::Error);
        refused.extend(fatal);
        if !refused.is_empty() {
            return Err(Error::policy(refused));
        }
        let policies = Policies::load(&sources, options)?;
        let engine = || Arc::new(Regorus::of(self.engine.clone(), self.registration.clone())) as _;
        Ok(policies.with_second(Role::Confirms, engine))
    }
}

fn value(evaluated: Evaluated) -> Result<Value, Error> {
    let output = evaluated.result?;
    output.value().cloned().ok_or_else(|| Error::internal("an evaluation without a value"))
}

//! This crate's built-in functions on regorus, which looks extensions up before its own functions.
//!
//! Owns which of them are put there: always those whose results passes must agree on, the others if
//! the host wants them.

use std::rc::Rc;

use regorus::{Engine, Value as EngineValue};

use super::calls::{RunningPass, innermost};
use super::values;
use crate::rego::Host as _;
use crate::rego::Value;
use crate::rego::internal::builtins::{
    self, Answer, Builtin, Cache, Code, CompiledPatterns, Context, HTTP_SEND, LOOKUP, Run,
};
use crate::rego::internal::types;
use crate::{Diagnostic, Error, Limit};

/// The functions whose results would otherwise change from pass to pass, and the policies' own
/// requests, which are calls.
const FIXED: [&str; 5] = ["time.now_ns", "uuid.rfc4122", "rand.intn", HTTP_SEND, LOOKUP];

/// Adds the functions that passes must agree on. Where the host has registered its own, that stays.
pub(super) fn add_fixed(engine: &mut Engine) {
    for name in FIXED {
        if let Some(builtin) = builtins::lookup(name) {
            add(engine, builtin);
        }
    }
}

/// Adds every function. Returns how many weren't there.
pub(super) fn add_all(engine: &mut Engine) -> usize {
    builtins::all().iter().filter(|builtin| add(engine, builtin)).count()
}

fn add(engine: &mut Engine, builtin: &'static Builtin) -> bool {
    // An operator isn't called by its name, and a relation has several results.
    let Run::Plain(run) = builtin.run else { return false };
    if builtin.infix.is_some() {
        return false;
    }
    let Ok(function) = types::Function::parse(builtin.signature) else { return false };
    let Ok(arity) = u8::try_from(function.args.len()) else { return false };
    let extension = move |arguments: Vec<EngineValue>| -> anyhow::Result<EngineValue> {
        Ok(call(builtin.name, run, &arguments)?)
    };
    engine.add_extension(builtin.name.to_owned(), arity, Box::new(extension)).is_ok()
}

type Plain = fn(&dyn Context, &[Value]) -> Answer;

fn call(name: &'static str, run: Plain, arguments: &[EngineValue]) -> Result<EngineValue, Error> {
    let arguments = values::all_from_engine(arguments)?;
    // Outside of an evaluation, a policy's own functions still work.
    let pass = innermost().unwrap_or_else(|| Rc::new(RunningPass::alone()));
    let fail = |error: Error| pass.scope.fail(error);
    match run(&*pass, &arguments) {
        Ok(Some(value)) => {
            pass.charge(value.size()).map_err(|error| fail(failed(name, &error)))?;
            values::to_engine(&value).map_err(fail)
        }
        Ok(None) => Ok(EngineValue::Undefined),
        Err(error) if error.halt || pass.strict => Err(fail(failed(name, &error))),
        Err(_) => Ok(EngineValue::Undefined),
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
        let message = format!("the evaluation makes values of more than {limit}");
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

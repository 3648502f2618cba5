//! What built-in functions see of an evaluation, and what it has used so far.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::{ErrorCode, EvalError, Host, Limits};
use crate::rego::builtins::{Answer, Cache, Code, Context, Error};
use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;

/// The parts of an evaluation that don't change while it calls built-in functions.
pub(super) struct World<'r> {
    pub(super) host: &'r dyn Host,
    limits: Limits,
    memory: Cell<u64>,
    now: Cell<Option<i64>>,
    cache: Cache,
    /// Random numbers by what they are for.
    drawn: RefCell<BTreeMap<String, u64>>,
    /// Why a function was told to end the evaluation.
    halted: RefCell<Option<EvalError>>,
}

impl<'r> World<'r> {
    pub(super) fn new(host: &'r dyn Host, limits: Limits) -> Self {
        Self {
            host,
            limits,
            memory: Cell::new(0),
            now: Cell::new(None),
            cache: Cache::default(),
            drawn: RefCell::default(),
            halted: RefCell::new(None),
        }
    }

    /// About how many bytes were made.
    pub(super) fn memory(&self) -> u64 {
        self.memory.get()
    }

    pub(super) fn depth(&self) -> u32 {
        self.limits.depth
    }

    /// Counts bytes that are made.
    #[inline]
    pub(super) fn spend(&self, bytes: u64) -> Result<(), EvalError> {
        let memory = self.memory.get().saturating_add(bytes);
        self.memory.set(memory);
        if memory > self.limits.memory { Err(self.too_much()) } else { Ok(()) }
    }

    #[cold]
    fn too_much(&self) -> EvalError {
        let message =
            format!("the evaluation makes values of more than {} bytes", self.limits.memory);
        EvalError::new(ErrorCode::Limit, None, message)
    }

    /// Asks the host whether to go on.
    pub(super) fn poll(&self) -> Result<(), EvalError> {
        self.host.check().map_err(|halt| EvalError {
            source: halt.source,
            ..EvalError::new(ErrorCode::Cancel, None, halt.message)
        })
    }

    /// The error that a function's failure is.
    pub(super) fn failure(&self, name: &str, span: Span, error: &Error) -> EvalError {
        if error.halt
            && let Some(halted) = self.halted.borrow_mut().take()
        {
            return EvalError { span: Some(span), ..halted };
        }
        let code = match error.code {
            Code::Type => ErrorCode::Type,
            Code::Builtin => ErrorCode::Builtin,
            Code::Limit => ErrorCode::Limit,
            Code::Cancelled => ErrorCode::Cancel,
        };
        EvalError::new(code, Some(span), format!("{name}: {error}"))
    }

    fn halt(&self, code: Code, error: EvalError) -> Error {
        let halt = Error::halt(code, error.message.clone());
        *self.halted.borrow_mut() = Some(error);
        halt
    }
}

impl Context for World<'_> {
    fn now_ns(&self) -> i64 {
        let now = self.now.get().unwrap_or_else(|| self.host.now_ns());
        self.now.set(Some(now));
        now
    }

    fn random(&self, key: &str) -> u64 {
        let mut drawn = self.drawn.borrow_mut();
        if let Some(number) = drawn.get(key) {
            return *number;
        }
        let number = self.host.random(key);
        drawn.insert(key.to_owned(), number);
        number
    }

    fn charge(&self, bytes: u64) -> Result<(), Error> {
        self.spend(bytes).map_err(|error| self.halt(Code::Limit, error))
    }

    fn check(&self) -> Result<(), Error> {
        self.poll().map_err(|error| self.halt(Code::Cancelled, error))
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn runtime(&self) -> Value {
        self.host.runtime()
    }

    fn http_send(&self, request: &Value) -> Answer {
        self.host.http_send(request)
    }

    fn lookup_host(&self, name: &str) -> Answer {
        self.host.lookup_host(name)
    }
}

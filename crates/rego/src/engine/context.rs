//! The context of built-in functions, and the resources that an evaluation has used so far.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::{ErrorCode, EvalError, Halt, Host, Limits};
use crate::builtins::{Answer, Cache, Code, CompiledPatterns, Context, Error};
use crate::syntax::tree::Span;
use crate::value::Value;

/// The number of bytes for which the host is asked at a time; the first are for nothing.
const BLOCK: u64 = 1 << 20;

/// The parts of an evaluation that stay the same while it calls built-in functions.
pub(super) struct EvalContext<'r> {
    pub(super) host: &'r dyn Host,
    limits: Limits,
    memory: Cell<u64>,
    /// The number of bytes from which on the host is asked for more, or the limit.
    next: Cell<u64>,
    now: Cell<Option<i64>>,
    cache: Cache,
    patterns: &'r CompiledPatterns,
    /// The random numbers drawn so far, by their keys.
    drawn: RefCell<BTreeMap<String, u64>>,
    /// The error that ends the evaluation, returned to a function.
    halted: RefCell<Option<EvalError>>,
}

impl<'r> EvalContext<'r> {
    pub(super) fn new(host: &'r dyn Host, limits: Limits, patterns: &'r CompiledPatterns) -> Self {
        Self {
            host,
            limits,
            memory: Cell::new(0),
            next: Cell::new(limits.memory.min(BLOCK)),
            now: Cell::new(None),
            cache: Cache::default(),
            patterns,
            drawn: RefCell::default(),
            halted: RefCell::new(None),
        }
    }

    /// The approximate number of bytes made so far.
    pub(super) fn memory(&self) -> u64 {
        self.memory.get()
    }

    /// Sets the number of bytes back, after what made them was dropped.
    pub(super) fn give_back(&self, memory: u64) {
        self.memory.set(memory);
    }

    pub(super) fn depth(&self) -> u32 {
        self.limits.depth
    }

    /// Counts bytes, and fails over the limit.
    #[inline]
    pub(super) fn spend(&self, bytes: u64) -> Result<(), EvalError> {
        let memory = self.memory.get().saturating_add(bytes);
        self.memory.set(memory);
        if memory > self.next.get() { self.grow(memory) } else { Ok(()) }
    }

    /// Asks the host for another block of memory.
    #[cold]
    fn grow(&self, memory: u64) -> Result<(), EvalError> {
        if memory > self.limits.memory {
            return Err(self.too_much());
        }
        let next = memory.saturating_add(BLOCK);
        self.host.reserve(next).map_err(|halt| halted(halt, None))?;
        self.next.set(next.min(self.limits.memory));
        Ok(())
    }

    #[cold]
    fn too_much(&self) -> EvalError {
        let message = format!(
            "the evaluation makes values of more than {}",
            crate::text::size(self.limits.memory)
        );
        EvalError::new(ErrorCode::Limit, None, message)
    }

    /// Checks with the host whether to go on.
    pub(super) fn poll(&self) -> Result<(), EvalError> {
        self.host.check().map_err(|halt| halted(halt, None))
    }

    /// Shows the host what stands in for an answer of its function.
    pub(super) fn stands_in(
        &self,
        at: Span,
        function: &str,
        answer: &Value,
    ) -> Result<(), EvalError> {
        self.host.stands_in(at, function, answer).map_err(|halt| halted(halt, Some(at)))
    }

    /// Turns a function's failure into an evaluation's error.
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

impl Context for EvalContext<'_> {
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

    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> Answer,
    ) -> Answer {
        self.host.fixed(function, args, make)
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

    fn patterns(&self) -> &CompiledPatterns {
        self.patterns
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

fn halted(halt: Halt, at: Option<Span>) -> EvalError {
    EvalError { source: halt.source, ..EvalError::new(ErrorCode::Cancel, at, halt.message) }
}

//! The context of a built-in function that decodes a response outside an evaluation.
//!
//! Owns its limits: the call's deadline, and memory, so that a small body can't decode to a huge
//! value.

use std::cell::Cell;
use std::time::Instant;

use crate::rego::builtins::{Answer, Cache, Code, Context, Error};
use crate::rego::value::Value;

/// The approximate limit on the memory of a decoded body, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// A context with a time and a memory limit, and nothing else.
pub(super) struct Bounded {
    deadline: Instant,
    left: Cell<u64>,
    cache: Cache,
}

impl Bounded {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { deadline, left: Cell::new(MAX_BYTES), cache: Cache::default() }
    }
}

impl Context for Bounded {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self, _: &str) -> u64 {
        0
    }

    fn charge(&self, bytes: u64) -> Result<(), Error> {
        let Some(left) = self.left.get().checked_sub(bytes) else {
            let message = format!("a decoded body takes more than {MAX_BYTES} bytes");
            return Err(Error::halt(Code::Limit, message));
        };
        self.left.set(left);
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Error::halt(Code::Cancelled, "no time is left for the call"))
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn runtime(&self) -> Value {
        Value::new_object()
    }

    fn http_send(&self, _: &Value) -> Answer {
        Ok(None)
    }

    fn lookup_host(&self, _: &str) -> Answer {
        Ok(None)
    }
}

//! The context of a function that reads a document outside an evaluation: limits on memory and
//! time, and no host.

use std::cell::Cell;
use std::time::Instant;

use super::{Answer, Cache, Code, CompiledPatterns, Context, Error};
use crate::value::Value;

/// A context with limits, and nothing else.
pub struct Bounded {
    left: Cell<u64>,
    too_much: &'static str,
    deadline: Option<Instant>,
    cache: Cache,
    patterns: CompiledPatterns,
}

impl Bounded {
    /// A context whose functions can make values of about `bytes` bytes, until the deadline, if
    /// there is one; `too_much` is the error beyond that size.
    pub fn new(bytes: u64, too_much: &'static str, deadline: Option<Instant>) -> Self {
        Self {
            left: Cell::new(bytes),
            too_much,
            deadline,
            cache: Cache::default(),
            patterns: CompiledPatterns::default(),
        }
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
        let left = self.left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| Error::halt(Code::Limit, self.too_much))?;
        self.left.set(left);
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        if self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return Ok(());
        }
        Err(Error::halt(Code::Cancelled, "no time is left for the call"))
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn patterns(&self) -> &CompiledPatterns {
        &self.patterns
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

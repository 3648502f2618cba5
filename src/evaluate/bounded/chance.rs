//! Time and randomness, the same in all passes of one evaluation, and what has no answer here.

use regorus::Value;
use sha2::{Digest, Sha256};

use super::arguments::{integer, string};
use super::{Fault, Outcome, Scope, operand};
use crate::{Error, ErrorKind};

/// `time.now_ns()`.
pub(super) fn now(scope: &Scope, args: &[Value]) -> Outcome {
    scope.chance().fixed("time.now_ns", args, || Ok(Value::from(scope.chance().now_ns())))
}

/// `uuid.rfc4122(key)`: a random UUID, the same one for the same key.
pub(super) fn uuid(scope: &Scope, args: &[Value]) -> Outcome {
    let key = string(args, 0)?;
    scope.chance().fixed("uuid.rfc4122", args, || {
        let bits = draw(scope, "uuid.rfc4122", key, 0);
        let id = uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid();
        Ok(Value::from(id.to_string()))
    })
}

/// `rand.intn(key, n)`: a random number from 0 to below `n`, the same one for the same arguments.
pub(super) fn intn(scope: &Scope, args: &[Value]) -> Outcome {
    let key = string(args, 0)?;
    let Some(n) = integer(args, 1)? else {
        return operand("operand 2 needs more than 64 bits");
    };
    scope.chance().fixed("rand.intn", args, || {
        let below = u128::from(n.unsigned_abs());
        // 128 random bits are so many more than 64 that no remainder is likelier than another.
        let drawn = if below == 0 { 0 } else { draw(scope, "rand.intn", key, below) % below };
        Ok(Value::from(drawn))
    })
}

/// Random bits that follow from the evaluation's seed and the call.
fn draw(scope: &Scope, function: &str, key: &str, more: u128) -> u128 {
    let mut hash = Sha256::new();
    hash.update(scope.chance().seed().to_be_bytes());
    hash.update(function.as_bytes());
    hash.update(more.to_be_bytes());
    hash.update(key.as_bytes());
    hash.finalize().iter().take(16).fold(0, |bits, byte| (bits << 8) | u128::from(*byte))
}

/// `http.send`: policies ask the service through the product's functions, and nothing else.
pub(super) fn http(_: &Scope, _: &[Value]) -> Outcome {
    Err(Fault::Refused(
        Error::new(
            ErrorKind::Policy,
            "not available: what a policy fetches itself is neither authenticated nor recorded",
        )
        .with_hint("ask the service with the platform functions, or pass the document as input"),
    ))
}

/// `opa.runtime`: there is no OPA process whose environment and configuration could be shown.
pub(super) fn runtime(_: &Scope, _: &[Value]) -> Outcome {
    Err(Fault::Refused(
        Error::new(ErrorKind::Policy, "not available: no OPA runs this evaluation")
            .with_hint("pass what the policy needs to know as input or data"),
    ))
}

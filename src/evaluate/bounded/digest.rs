//! Digests and message authentication codes.

use regorus::Value;
use sha2::{Digest, Sha256};

use super::arguments::string;
use super::{Outcome, Scope};

/// `crypto.sha256(text)`, in lower-case hexadecimal.
pub(super) fn sha256(_: &Scope, args: &[Value]) -> Outcome {
    Ok(Value::from(hex(&Sha256::digest(string(args, 0)?.as_bytes()))))
}

/// `crypto.hmac.equal(a, b)`: compares all of both, whatever they hold.
pub(super) fn equal(_: &Scope, args: &[Value]) -> Outcome {
    let (a, b) = (string(args, 0)?.as_bytes(), string(args, 1)?.as_bytes());
    let same = a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0;
    Ok(Value::from(same && a.len() == b.len()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

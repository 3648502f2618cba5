//! UUIDs.

use std::fmt::Write as _;

use super::operands::{answer, operand, string};
use super::{Answer, Context, Value};
use crate::value::Object;

/// Returns a random UUID that depends on the operand.
pub(super) fn random(context: &dyn Context, args: &[Value]) -> Answer {
    let key = operand(args, 0)?;
    context.charge(key.size())?;
    context.fixed("uuid.rfc4122", args, &mut || make(context, key))
}

fn make(context: &dyn Context, key: &Value) -> Answer {
    let half = |which: &str| u128::from(context.random(&format!("uuid.rfc4122 {which} {key}")));
    let bits = half("high") << 64 | half("low");
    // Version 4, with the usual variant.
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    answer([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

/// Parses a UUID in one of its notations.
fn read(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let body = match bytes.len() {
        36 | 32 => bytes,
        45 if bytes.get(..9)?.eq_ignore_ascii_case(b"urn:uuid:") => bytes.get(9..)?,
        // Any characters may stand in for the braces, as in OPA.
        38 => bytes.get(1..37)?,
        _ => return None,
    };
    if body.len() == 36 && [8, 13, 18, 23].iter().any(|at| body.get(*at) != Some(&b'-')) {
        return None;
    }
    let mut out = [0; 16];
    let mut at = 0;
    for byte in &mut out {
        if body.len() == 36 && matches!(at, 8 | 13 | 18 | 23) {
            at += 1;
        }
        let digit = |at: usize| body.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        *byte = u8::try_from(digit(at)? * 16 + digit(at + 1)?).ok()?;
        at += 2;
    }
    Some(out)
}

pub(super) fn parse(_: &dyn Context, args: &[Value]) -> Answer {
    let Some(bytes) = read(string(args, 0)?) else { return Ok(None) };
    let bits = u128::from_be_bytes(bytes);
    let field = |shift: u32, width: u32| {
        u64::try_from(bits >> shift & ((1 << width) - 1)).unwrap_or_default()
    };
    let version = field(76, 4);
    let variant = match field(60, 4) {
        0x8..=0xb => "RFC4122",
        0xc | 0xd => "Microsoft",
        0xe | 0xf => "Future",
        _ => "Reserved",
    };
    let mut out = Object::new();
    let mut put = |name: &str, value: Value| out.insert(Value::from(name), value);
    put("version", Value::from(version));
    put("variant", Value::from(variant));
    if version == 1 || version == 2 {
        // Units of 100 ns since October 1582.
        let time = field(96, 32) | field(80, 16) << 32 | field(64, 12) << 48;
        let time = i64::try_from(time).unwrap_or_default() - 122_192_928_000_000_000;
        let seconds = time / 10_000_000;
        let nanos = time % 10_000_000 * 100;
        put("time", Value::from(seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)));
        let mut node = String::new();
        for (index, byte) in bytes.iter().skip(10).enumerate() {
            // Writing to a string doesn't fail.
            let _ = write!(node, "{}{byte:02x}", if index > 0 { "-" } else { "" });
        }
        put("nodeid", Value::from(node));
        let variables = match field(40, 8) & 3 {
            3 => "local:multicast",
            1 => "global:multicast",
            2 => "local:unicast",
            _ => "global:unicast",
        };
        put("macvariables", Value::from(variables));
        put("clocksequence", Value::from(field(48, 14)));
        if version == 2 {
            put("id", Value::from(field(96, 32)));
            let domain = match field(48, 8) {
                0 => "Person".to_owned(),
                1 => "Group".to_owned(),
                2 => "Org".to_owned(),
                other => format!("Domain{other}"),
            };
            put("domain", Value::from(domain));
        }
    }
    answer(out)
}

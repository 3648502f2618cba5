//! Networks.

use std::net::IpAddr;

use regorus::Value;

use super::arguments::string;
use super::{Fault, Outcome, Scope, differs, native, operand, size};

/// The addresses of a network are bounded.
pub(super) fn expand(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    let (address, bits) = parse(text)?;
    let all: u8 = if address.is_ipv4() { 32 } else { 128 };
    let many = 1_u128.checked_shl(u32::from(all - bits)).unwrap_or(u128::MAX);
    size::elements(scope, many)?;
    size::bytes(scope, u64::try_from(many).unwrap_or(u64::MAX).saturating_mul(64))?;
    native::call(scope, "net.cidr_expand", args)
}

fn parse(text: &str) -> Result<(IpAddr, u8), Fault> {
    let bad =
        || Fault::Operand(format!("invalid CIDR address: `{}`", crate::text::shorten(text, 60)));
    let (address, bits) = text.split_once('/').ok_or_else(bad)?;
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    if !bits.bytes().all(|b| b.is_ascii_digit()) || bits.len() > 3 {
        return Err(bad());
    }
    let bits: u8 = bits.parse().map_err(|_| bad())?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    if bits > all { Err(bad()) } else { Ok((address, bits)) }
}

/// `net.cidr_is_valid(text)`.
pub(super) fn is_valid(_: &Scope, args: &[Value]) -> Outcome {
    Ok(Value::from(parse(string(args, 0)?).is_ok()))
}

/// `net.cidr_contains(network, network or address)`.
pub(super) fn contains(scope: &Scope, args: &[Value]) -> Outcome {
    let mapped = |text: &str| text.to_ascii_lowercase().contains("::ffff:");
    if mapped(string(args, 0)?) || mapped(string(args, 1)?) {
        return differs("IPv4 addresses in IPv6 notation");
    }
    native::call(scope, "net.cidr_contains", args)
}

/// `net.cidr_intersects(a, b)`: one of two networks that share an address holds the other.
pub(super) fn intersects(scope: &Scope, args: &[Value]) -> Outcome {
    for index in 0..2 {
        if let Err(Fault::Operand(message)) = parse(string(args, index)?) {
            return operand(message);
        }
    }
    let [a, b] = args else { return Err(Fault::Undefined) };
    let one = contains(scope, args)?;
    let other = contains(scope, &[b.clone(), a.clone()])?;
    Ok(Value::from(one == Value::from(true) || other == Value::from(true)))
}

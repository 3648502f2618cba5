//! Networks: CIDR blocks and the addresses in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::operands::{Ticks, answer, charge_elements, operand, string};
use super::{Answer, Code, Context, Error, Value};
use crate::value::Set;

/// An address; IPv4 addresses use the lowest 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    v4: bool,
    bits: u128,
}

impl Address {
    /// Parses an address; an IPv4-mapped IPv6 address becomes an IPv4 address.
    fn parse(text: &str) -> Option<Self> {
        let address = text.parse::<IpAddr>().ok()?;
        Some(match address.to_canonical() {
            IpAddr::V4(address) => Self { v4: true, bits: u128::from(u32::from(address)) },
            IpAddr::V6(address) => Self { v4: false, bits: u128::from(address) },
        })
    }

    fn width(self) -> u32 {
        if self.v4 { 32 } else { 128 }
    }

    fn text(self) -> String {
        match u32::try_from(self.bits) {
            Ok(bits) if self.v4 => Ipv4Addr::from(bits).to_string(),
            _ => Ipv6Addr::from(self.bits).to_string(),
        }
    }

    /// Returns the sort key: the bits of the address as an IPv6 address.
    fn order(self) -> u128 {
        if self.v4 { self.bits | 0xffff_0000_0000 } else { self.bits }
    }
}

/// A block of addresses.
#[derive(Debug, Clone, Copy)]
struct Network {
    /// The first address of a block in CIDR notation, or the address itself for a single address.
    address: Address,
    prefix: u32,
}

impl Network {
    fn parse(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (address, prefix) = text.split_once('/')?;
            let written: IpAddr = address.parse().ok()?;
            let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
            let prefix: u32 =
                if digits && prefix.len() < 10 { prefix.parse().ok()? } else { return None };
            let width = if written.is_ipv4() { 32 } else { 128 };
            if prefix > width {
                return None;
            }
            let bits = match written {
                IpAddr::V4(address) => u128::from(u32::from(address)),
                IpAddr::V6(address) => u128::from(address),
            };
            let bits = bits & !host_mask(width, prefix);
            // An IPv6 block whose first address is IPv4-mapped counts as an IPv4 block.
            if width == 128 && bits >> 32 == 0xffff {
                let bits = bits & 0xffff_ffff;
                return Some(Self {
                    address: Address { v4: true, bits },
                    prefix: prefix.saturating_sub(96),
                });
            }
            Some(Self { address: Address { v4: width == 32, bits }, prefix })
        };
        parse().ok_or_else(|| Error::failed(format!("invalid CIDR address: {text}")))
    }

    fn first(self) -> Address {
        let mask = host_mask(self.address.width(), self.prefix);
        Address { bits: self.address.bits & !mask, ..self.address }
    }

    fn last(self) -> Address {
        let mask = host_mask(self.address.width(), self.prefix);
        Address { bits: self.address.bits | mask, ..self.address }
    }

    fn has(self, address: Address) -> bool {
        self.address.v4 == address.v4
            && (self.address.bits ^ address.bits) & !host_mask(address.width(), self.prefix) == 0
    }

    fn text(self) -> String {
        format!("{}/{}", self.address.text(), self.prefix)
    }
}

/// Returns the mask of the bits that a prefix leaves open.
fn host_mask(width: u32, prefix: u32) -> u128 {
    let open = width.saturating_sub(prefix);
    if open >= 128 { u128::MAX } else { (1 << open) - 1 }
}

/// Parses a block operand; as in OPA, errors always refer to operand 1.
fn network(value: &Value) -> Result<Network, Error> {
    match value {
        Value::String(text) => Network::parse(text),
        other => Err(Error::operand(1, other, &["string"])),
    }
}

pub(super) fn intersects(_: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (network(operand(args, 0)?)?, network(operand(args, 1)?)?);
    answer(a.has(b.address) || b.has(a.address))
}

/// Returns `true` if a block contains an address or another block.
fn within(block: Network, value: &Value) -> Result<bool, Error> {
    let Value::String(text) = value else { return Err(Error::operand(1, value, &["string"])) };
    if let Some(address) = Address::parse(text) {
        return Ok(block.has(address));
    }
    let Ok(inner) = Network::parse(text) else {
        let message = "not a valid textual representation of an IP address or CIDR: ";
        return Err(Error::failed(format!("{message}{text}")));
    };
    Ok(block.has(inner.first()) && block.has(inner.last()))
}

pub(super) fn contains(_: &dyn Context, args: &[Value]) -> Answer {
    answer(within(network(operand(args, 0)?)?, operand(args, 1)?)?)
}

/// Returns the blocks in an operand, each with the key that identifies it in the result.
fn indexed(value: &Value, position: usize) -> Vec<(Result<Value, Error>, Value)> {
    let block = |value: &Value| match value {
        text @ Value::String(_) => Ok(text.clone()),
        Value::Array(array) if !array.is_empty() => Ok(array.first().cloned().unwrap_or_default()),
        _ => Err(Error::failed(format!(
            "operand {position}: element must be string or non-empty array"
        ))),
    };
    match value {
        text @ Value::String(_) => vec![(Ok(text.clone()), text.clone())],
        Value::Array(array) => array
            .iter()
            .enumerate()
            .map(|(index, cidr)| (block(cidr), Value::from(index)))
            .collect(),
        Value::Set(set) => set.iter().map(|element| (block(element), element.clone())).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, cidr)| (block(cidr), key.clone())).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn contains_matches(context: &dyn Context, args: &[Value]) -> Answer {
    let (outer, inner) = (indexed(operand(args, 0)?, 1), indexed(operand(args, 1)?, 2));
    let mut found = Set::new();
    let mut ticks = Ticks::new();
    for (block, key) in outer {
        let block = block?;
        let mut parsed = None;
        for (part, part_key) in &inner {
            ticks.tick(context)?;
            let part = part.clone()?;
            let block = match parsed {
                Some(block) => block,
                None => *parsed.insert(network(&block)?),
            };
            if within(block, &part)? {
                charge_elements(context, 4)?;
                found.insert(Value::from(vec![key.clone(), part_key.clone()]));
            }
        }
    }
    answer(found)
}

pub(super) fn expand(context: &dyn Context, args: &[Value]) -> Answer {
    let network = Network::parse(string(args, 0)?)?;
    let open = network.address.width() - network.prefix;
    if open > 40 {
        return Err(Error::halt(Code::Limit, "the block has too many addresses"));
    }
    let count = 1_u64 << open;
    context.charge(count.saturating_mul(64))?;
    let first = network.first();
    let mut ticks = Ticks::new();
    let mut addresses = Set::new();
    for offset in 0..count {
        ticks.tick(context)?;
        let address = Address { bits: first.bits + u128::from(offset), ..first };
        addresses.insert(Value::from(address.text()));
    }
    answer(addresses)
}

pub(super) fn is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    answer(operand(args, 0)?.as_str().is_some_and(|text| Network::parse(text).is_ok()))
}

/// Parses a block, or an IPv4 address that stands for its classful network.
fn merged_operand(value: &Value) -> Result<Network, Error> {
    let Value::String(text) = value else { return Err(Error::failed("element must be string")) };
    match Address::parse(text) {
        None => Network::parse(text),
        Some(address) if address.v4 => {
            let prefix = match address.bits >> 24 {
                0..0x80 => 8,
                0x80..0xc0 => 16,
                _ => 24,
            };
            Ok(Network { address, prefix })
        }
        Some(_) => Err(Error::failed("IPv6 invalid: needs prefix length")),
    }
}

/// A range of addresses, with the block it came from as long as it hasn't been merged.
struct Range {
    first: Address,
    last: Address,
    network: Option<Network>,
}

pub(super) fn merge(context: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    let Some(operands) = super::operands::elements(value) else {
        return Err(Error::failed("operand must be an array"));
    };
    charge_elements(context, operands.len().saturating_mul(4))?;
    let mut ranges = Vec::with_capacity(operands.len());
    for operand in operands {
        let network = merged_operand(operand)?;
        ranges.push(Range { first: network.first(), last: network.last(), network: Some(network) });
    }
    ranges.sort_by_key(|range| (range.last.order(), range.first.order()));
    // In reverse order, so that a range can absorb the ones before it.
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges.into_iter().rev() {
        match merged.last_mut() {
            Some(after) if previous(after.first) <= range.last.order() => {
                if range.first.order() < after.first.order() {
                    after.first = range.first;
                }
                after.network = None;
            }
            _ => merged.push(range),
        }
    }
    let mut out = Set::new();
    for range in merged {
        match range.network {
            Some(network) => {
                out.insert(Value::from(network.text()));
            }
            None => blocks(context, &mut out, range.first, range.last)?,
        }
    }
    answer(out)
}

/// Returns the predecessor of an address in sort order; the address itself if there is none.
fn previous(address: Address) -> u128 {
    if address.bits == 0 { address.order() } else { address.order() - 1 }
}

/// Adds the fewest blocks that cover a range exactly.
fn blocks(
    context: &dyn Context,
    out: &mut Set,
    first: Address,
    last: Address,
) -> Result<(), Error> {
    let width = first.width();
    let mut at = first.bits;
    loop {
        charge_elements(context, 4)?;
        let mut open = if at == 0 { width } else { at.trailing_zeros().min(width) };
        while open > 0 && host_mask(width, width - open) > last.bits - at {
            open -= 1;
        }
        let network = Network { address: Address { bits: at, ..first }, prefix: width - open };
        out.insert(Value::from(network.text()));
        let end = at | host_mask(width, width - open);
        if end >= last.bits {
            return Ok(());
        }
        at = end + 1;
    }
}

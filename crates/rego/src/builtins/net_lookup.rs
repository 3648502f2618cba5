//! `net.lookup_ip_addr`: the addresses of a host name, which the host looks up or refuses to.

use std::net::IpAddr;

use super::operands::{answer, string};
use super::{Answer, Context, Value};
use crate::value::Set;

pub(super) fn lookup(ctx: &dyn Context, args: &[Value]) -> Answer {
    let name = string(args, 0)?;
    // An address is its own answer, without a lookup.
    match name.parse::<IpAddr>() {
        Ok(address) => answer(Set::from([Value::from(address.to_canonical().to_string())])),
        Err(_) => ctx.lookup_host(name),
    }
}

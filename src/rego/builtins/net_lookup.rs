//! `net.lookup_ip_addr`: the addresses of a name. The host looks them up, or refuses to.

use super::operands::string;
use super::table::Family;
use super::{Answer, Context, Run, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: Family = &[("net.lookup_ip_addr", Run::Plain(lookup))];

fn lookup(ctx: &dyn Context, args: &[Value]) -> Answer {
    ctx.lookup_host(string(args, 0)?)
}

//! Built-ins that access the network, which is off unless hosts are allowed.
//!
//! Without allowed hosts, an evaluation that reaches such a call ends with an error, unless a
//! `with` replaces the function.

use super::{File, Inspected};
use crate::{Diagnostic, setting};

/// Finds calls that would fail because no host is allowed.
pub(super) fn check(all: &Inspected<'_>, file: &File<'_>, out: &mut Vec<Diagnostic>) {
    for (name, _, span) in &file.model.others {
        if matches!(name.as_str(), "http.send" | "net.lookup_ip_addr") {
            let message = format!("`{name}` isn't enabled: no host is allowed");
            out.push(
                Diagnostic::error("unsupported-builtin", message)
                    .with_hint(
                        "allow the hosts, or pass what the policy needs to know as input or data",
                    )
                    .by_setting(setting::ALLOWED_HOSTS)
                    .at(all.position(*span)),
            );
        }
    }
}

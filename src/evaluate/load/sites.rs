//! Where a function was called that is called through a rule.
//!
//! The interpreter places such a call's failure in the rule. Owns the function that calls pass an
//! argument through, which notes in the evaluation's scope where that stands:
//!
//! ```text
//! platform.discover(d, "")  →  data.hidden.f0(d, internal.call_site(3, ("")))
//! ```
//!
//! It is the last argument, so nothing but the call comes between.

use regorus::Value;

use super::super::scope;
use super::helpers::{Helper, misused};
use super::text::Edit;

const NAME: &str = "internal.call_site";

/// A call's name: file, and the bytes from where to where.
pub(super) type Site = (String, usize, usize);

pub(super) const HELPERS: [Helper; 1] = [Helper { name: NAME, arity: 2, run: note }];

fn note(args: Vec<Value>) -> anyhow::Result<Value> {
    match <[Value; 2]>::try_from(args) {
        Ok([site, value]) => {
            if let (Some(scope), Ok(site)) = (scope::current(), site.as_u64()) {
                scope.note_site(site);
            }
            Ok(value)
        }
        Err(_) => misused(NAME),
    }
}

/// The edits that pass an argument through the function.
pub(super) fn edits(site: usize, (start, end): (usize, usize)) -> [Edit; 2] {
    [Edit::new(start, start, format!("{NAME}({site}, (")), Edit::new(end, end, "))")]
}

//! `format` and `pattern`: requirements on the form of a string.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::super::regex::{Pattern, compile};
use super::super::time::layout;
use super::super::uri::Url;
use super::super::{Context, Error};
use super::mail;

/// Compiles a pattern; returns `None` if it isn't valid.
///
/// # Errors
/// Returns an error if the pattern is too large.
pub(super) fn pattern(ctx: &dyn Context, text: &str) -> Result<Option<Arc<Pattern>>, Error> {
    match compile(ctx, text) {
        Ok(pattern) => Ok(Some(pattern)),
        Err(error) if error.halt => Err(error),
        Err(_) => Ok(None),
    }
}

macro_rules! regex {
    ($name:ident, $text:literal) => {
        // These expressions are constants. An invalid one would match nothing, which a test would
        // notice.
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

regex!(
    HOSTNAME,
    r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*$"
);
regex!(URI_TEMPLATE, r"^([^{]*(\{[^}]*\})?)*$");
regex!(UUID, r"^(?i)[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$");
regex!(POINTER, r"^(?:/(?:[^~/]|~0|~1)*)*$");
regex!(RELATIVE_POINTER, r"^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)$");

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Returns `true` if a text has a format; unknown formats accept any text.
///
/// # Errors
/// Returns the errors of [`pattern`].
pub(super) fn fits(ctx: &dyn Context, format: &str, text: &str) -> Result<bool, Error> {
    let time = |layouts: &[&str]| layouts.iter().any(|layout| layout::parse(layout, text).is_ok());
    let url = || Url::parse(text).ok().filter(|_| !text.contains('\\'));
    let address = || text.parse::<IpAddr>().is_ok();
    const TIME: &str = "15:04:05";
    const ZONED_TIME: &str = "15:04:05Z07:00";
    const DATE: &str = "2006-01-02";
    const MOMENT: &str = "2006-01-02T15:04:05Z07:00";
    Ok(match format {
        "date" => time(&[DATE]),
        "time" => time(&[ZONED_TIME, TIME]),
        "date-time" => time(&[TIME, ZONED_TIME, DATE, MOMENT]),
        "hostname" => text.len() < 256 && matches(&HOSTNAME, text),
        "email" | "idn-email" => mail::is_address(text),
        "ipv4" => address() && text.contains('.'),
        "ipv6" => address() && text.contains(':'),
        "uri" | "iri" => url().is_some_and(|url| !url.scheme.is_empty()),
        "uri-reference" | "iri-reference" => url().is_some(),
        "uri-template" => {
            url().is_some_and(|url| matches(&URI_TEMPLATE, &crate::value::lossy(&url.path)))
        }
        "uuid" => matches(&UUID, text),
        "regex" => text.is_empty() || pattern(ctx, text)?.is_some(),
        "json-pointer" => matches(&POINTER, text),
        "relative-json-pointer" => matches(&RELATIVE_POINTER, text),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn the_builtin_expressions_are_valid() {
        for pattern in [&HOSTNAME, &URI_TEMPLATE, &UUID, &POINTER, &RELATIVE_POINTER] {
            assert!(pattern.is_some());
        }
        assert!(matches(&RELATIVE_POINTER, "1/a~0") && !matches(&POINTER, "a"));
    }
}

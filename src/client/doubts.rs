//! What an answer has beside its list, or in its headers, that may mean that the list isn't whole.
//!
//! `envelope` refuses what certainly says so. Owns the rest: a newer service may send something else
//! beside a list, so that what isn't known to be harmless is noted and not refused. Headers count only
//! by the words of paging, since every proxy adds some.

use reqwest::header::{HeaderMap, WARNING};

use super::envelope::{tells_of_success, tells_of_trouble, words};
use super::{Context, protocol};
use crate::Error;
use crate::rego::Value;
use crate::text::shorten;

/// The most doubts about an answer that are kept.
pub(super) const MAX_DOUBTS: usize = 10;

/// How deep undocumented objects are searched.
const MAX_DEPTH: usize = 4;

/// An undocumented key beside a list that isn't known to be harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beside {
    key: String,
    /// Its value, if it is a whole number: as the number of rows, it is harmless.
    number: Option<u64>,
}

impl Beside {
    /// Returns the doubt about a list of `rows`, if there is one.
    pub fn doubt(&self, rows: usize) -> Option<String> {
        (self.number != Some(rows as u64)).then(|| {
            format!(
                "`{}` beside its list, which isn't documented: the list may not be whole",
                self.key
            )
        })
    }
}

/// Returns the undocumented keys beside a list that aren't known to be harmless.
pub(crate) fn beside<'k>(unknown: impl Iterator<Item = (&'k str, &'k Value)>) -> Vec<Beside> {
    let mut out = Vec::new();
    unknown.for_each(|(key, value)| collect(key, value, 0, &mut out));
    out
}

fn collect(key: &str, value: &Value, depth: usize, out: &mut Vec<Beside>) {
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => fields.iter().for_each(|(key, value)| {
            collect(key.as_str().unwrap_or_default(), value, depth + 1, out);
        }),
        _ if out.len() < MAX_DOUBTS && !is_harmless(key, value) => {
            let number = match value {
                Value::String(text) => text.parse().ok(),
                other => other.as_u64(),
            };
            out.push(Beside { key: shorten(key, 80), number });
        }
        _ => {}
    }
}

fn is_harmless(key: &str, value: &Value) -> bool {
    let words = words(key);
    let is_about = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    match value {
        Value::Bool(true) => tells_of_success(key) || is_about(&CIRCUMSTANCES),
        Value::Bool(false) => tells_of_trouble(key) || is_about(&CIRCUMSTANCES),
        Value::Number(_) => value.as_u64() == Some(0) || is_about(&CIRCUMSTANCES),
        Value::String(text) => {
            let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            is_about(&CIRCUMSTANCES) || !is_number && !is_prose(text) && !is_fraction(text)
        }
        // A list with elements is refused.
        _ => true,
    }
}

/// Returns `true` for a text of several words: an identifier, a version and a time have one.
fn is_prose(text: &str) -> bool {
    text.split_whitespace().nth(1).is_some()
}

/// Returns `true` for a part of a whole, as in `1/3` or `0-9/200`.
fn is_fraction(text: &str) -> bool {
    let is_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    text.split_once('/').is_some_and(|(part, whole)| is_digits(part) && is_digits(whole))
}

/// Words for the circumstances of an answer: who made it, when, in what time and form.
const CIRCUMSTANCES: [&str; 30] = [
    "age",
    "agent",
    "api",
    "at",
    "cached",
    "copyright",
    "date",
    "debug",
    "deprecated",
    "duration",
    "elapsed",
    "generated",
    "generator",
    "id",
    "latency",
    "limit",
    "ms",
    "region",
    "request",
    "revision",
    "schema",
    "seconds",
    "server",
    "time",
    "timestamp",
    "took",
    "trace",
    "ttl",
    "uptime",
    "version",
];

/// What headers say about how much of a list an answer has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The header that says that there is more.
    pub more: Option<String>,
    /// The header that says how many rows there are, and their number.
    pub total: Option<(String, u64)>,
    /// A header that says that something may be wrong.
    pub doubt: Option<String>,
}

impl Announced {
    pub fn by(headers: &HeaderMap) -> Self {
        let mut out = Self::default();
        for (name, value) in headers {
            let (name, value) = (name.as_str(), String::from_utf8_lossy(value.as_bytes()));
            let value = value.trim();
            let words: Vec<&str> = name.split(['-', '_', '.']).collect();
            out.take(name, &words, value);
            // `x-pagination: {"total": 7}`
            if words.iter().any(|word| PAGING_WORDS.contains(word))
                && let Ok(Value::Object(fields)) = Value::from_json(value)
            {
                for (key, value) in fields.iter() {
                    let words = super::envelope::words(key.as_str().unwrap_or_default());
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let value = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
                    out.take(name, &words, &value);
                }
            }
        }
        if headers.get_all(WARNING).iter().any(|value| !value.as_bytes().trim_ascii().is_empty()) {
            out.doubt = Some("the header `warning`".to_owned());
        }
        out
    }

    fn take(&mut self, header: &str, words: &[&str], value: &str) {
        let are = |known: &[&str]| {
            words.iter().all(|word| known.contains(word) || PAGING_WORDS.contains(word))
        };
        let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
        let nothing = ["", "0", "false", "no", "none", "null"];
        if has(&MORE_WORDS) && are(&MORE_WORDS) {
            if !nothing.contains(&value.to_ascii_lowercase().as_str()) {
                self.more.get_or_insert_with(|| shorten(header, 80));
            }
        } else if has(&TOTAL_WORDS)
            && !has(&["limit", "offset", "page", "pages"])
            && are(&TOTAL_WORDS)
            && let Ok(total) = value.parse()
        {
            self.total.get_or_insert_with(|| (shorten(header, 80), total));
        } else if has(&["total"]) && has(&["pages"]) && are(&TOTAL_WORDS) {
            // The pages that come may be of another size.
            if value.parse::<u64>().is_ok_and(|pages| pages > 1) {
                self.doubt.get_or_insert_with(|| format!("the header `{}`", shorten(header, 80)));
            }
        }
    }

    /// Refuses an answer that says that there is more, unless its list goes on.
    pub fn refuse_more(&self, goes_on: bool) -> Result<(), Error> {
        match &self.more {
            Some(header) if !goes_on => Err(protocol(format!(
                "the service's answer has the header `{header}`: the list may go on"
            ))),
            _ => Ok(()),
        }
    }

    /// Checks the end of a list of `rows` that isn't cut, and notes what is doubtful.
    pub fn check_end(&self, rows: usize, context: &Context) -> Result<(), Error> {
        if let Some(contradiction) = self.contradiction(rows) {
            return Err(protocol(contradiction));
        }
        if let Some(header) = &self.doubt {
            context.doubt(format!("{header}: the list may not be whole"));
        }
        Ok(())
    }

    /// Returns how a list of `rows` contradicts the number of rows that was announced.
    fn contradiction(&self, rows: usize) -> Option<String> {
        let (header, total) = self.total.as_ref().filter(|(_, total)| *total > rows as u64)?;
        Some(format!(
            "the service announced {total} results in the header `{header}` and sent {rows}"
        ))
    }
}

/// Words of a header's name about pages, which say nothing alone.
const PAGING_WORDS: [&str; 22] = [
    "content",
    "has",
    "is",
    "items",
    "key",
    "link",
    "list",
    "marker",
    "number",
    "of",
    "offset",
    "page",
    "pages",
    "pagination",
    "paging",
    "records",
    "response",
    "result",
    "results",
    "token",
    "url",
    "x",
];

/// Words of a header's name that say that there is more.
const MORE_WORDS: [&str; 7] =
    ["continuation", "cursor", "incomplete", "more", "next", "partial", "truncated"];

/// Words of a header's name that say how many there are.
const TOTAL_WORDS: [&str; 3] = ["count", "total", "totals"];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_beside_a_list_is_noted_unless_it_is_known_to_be_harmless() {
        let keys = |text: &str, rows: usize| {
            let Ok(Value::Object(fields)) = Value::from_json(text) else { return 0 };
            let found =
                beside(fields.iter().filter_map(|(key, value)| Some((key.as_str()?, value))));
            found.iter().filter(|it| it.doubt(rows).is_some()).count()
        };
        for doubtful in [
            r#"{"in_progress":true}"#,
            r#"{"consistent":false}"#,
            r#"{"chunk":1}"#,
            r#"{"size":7}"#,
            r#"{"size":"7"}"#,
            r#"{"part":"1/3"}"#,
            r#"{"message":"1 of 7 shards answered"}"#,
            r#"{"meta":{"lossy":true}}"#,
        ] {
            assert_eq!(keys(doubtful, 2), 1, "{doubtful}");
        }
        for harmless in [
            "{}",
            r#"{"size":2,"n":"2","others":0}"#,
            r#"{"partial":false,"complete":true,"cached":true,"note":""}"#,
            r#"{"took_ms":120,"version":3,"generated_at":"2026-01-02T03:04:05Z","requestId":"a b"}"#,
            r#"{"message":"ok","links":{"self":"/x"},"etag":"W/a","name":null,"data":[]}"#,
        ] {
            assert_eq!(keys(harmless, 2), 0, "{harmless}");
        }
    }

    #[test]
    fn headers_say_by_their_words_that_there_is_more() {
        let by = |name: &'static str, value: &str| {
            let name = reqwest::header::HeaderName::from_static(name);
            Announced::by(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
        };
        for (name, value) in [
            ("x-next-page", "2"),
            ("x-has-more", "true"),
            ("x-truncated", "1"),
            ("x-partial", "true"),
            ("x-partial-results", "yes"),
            ("x-next-cursor", "a"),
            ("x-continuation-token", "a"),
            ("x-pagination", r#"{"total":7,"hasMore":true}"#),
            ("pagination", r#"{"nextPage":"/x"}"#),
        ] {
            assert!(by(name, value).more.is_some(), "{name}: {value}");
        }
        for (name, value) in [
            ("x-next-page", ""),
            ("x-has-more", "False"),
            ("x-more-info", "https://example.com"),
            ("x-nextjs-cache", "HIT"),
            ("x-ratelimit-remaining", "5"),
            ("x-prev-page", "1"),
            ("x-page", "1"),
            ("x-request-id", "next"),
            ("x-csrf-token", "a"),
            ("x-pagination", r#"{"next":null,"page":1}"#),
        ] {
            assert_eq!(by(name, value), Announced::default(), "{name}: {value}");
        }
        for (name, value) in
            [("x-total-count", "7"), ("x-total", "7"), ("x-pagination", r#"{"total":7}"#)]
        {
            assert!(by(name, value).contradiction(6).is_some(), "{name}: {value}");
            assert!(by(name, value).contradiction(7).is_none(), "{name}: {value}");
        }
        for (name, value) in [("x-total-pages", "7"), ("warning", "199 - \"x\"")] {
            assert!(by(name, value).doubt.is_some(), "{name}: {value}");
        }
        assert_eq!(by("x-total-pages", "1"), Announced::default());
    }
}

//! The keys of envelopes that aren't documented.
//!
//! Owns what such a key may not be: a documented one in another spelling, paging outside
//! `pagination`, an error, or a word about how much is missing. A reader that skipped it would take a
//! part of a list for the whole, or a failure for an empty answer. Everything else is a newer
//! service's, and is skipped.

use std::collections::BTreeMap;

use crate::rego::Value;
use crate::rego::value::Number;
use crate::resources::types::{Field, Type};
use crate::text::{same_letters, shorten};

/// Returns `true` if a key equals a documented one except for case and characters that are neither
/// letters nor digits, of which some are invisible.
fn is_misspelt(documented: &str, key: &str) -> bool {
    same_letters(documented, key)
}

/// Refuses a key that is nearly one of the documented ones.
pub(crate) fn refuse_misspelt<'k>(
    mut documented: impl Iterator<Item = &'k str>,
    key: &str,
) -> Result<(), String> {
    match documented.find(|name| is_misspelt(name, key)) {
        Some(name) => Err(format!("the key `{}` is a misspelt `{name}`", shorten(key, 80))),
        None => Ok(()),
    }
}

/// Refuses undocumented keys around a list that say that it is an error or isn't whole, in whatever
/// words an API has for it.
pub(crate) fn refuse_around_list<'k>(
    unknown: impl Iterator<Item = (&'k str, &'k Value)> + Clone,
) -> Result<(), String> {
    refuse(unknown.clone())?;
    if let Some(key) = unknown.clone().find_map(|(key, value)| incomplete(key, value, 0)) {
        return Err(format!(
            "it has `{}`: the list may not be whole, or be a failure",
            shorten(&key, 80)
        ));
    }
    match unknown.into_iter().find_map(|(key, value)| further_list(key, value, 0)) {
        Some(key) => Err(format!(
            "it has the list `{}`, which isn't documented: policies wouldn't see it",
            shorten(&key, 80)
        )),
        None => Ok(()),
    }
}

/// Refuses an envelope without the list that is called `name` if anything in it could be the list.
pub(crate) fn refuse_without_list<'k>(
    name: &str,
    mut unknown: impl Iterator<Item = (&'k str, &'k Value)>,
) -> Result<(), String> {
    match unknown.find(|(_, value)| has_structure(value)) {
        Some((key, _)) => Err(format!(
            "there is no `{name}`, and `{}` may be what it stands for",
            shorten(key, 80)
        )),
        None => Ok(()),
    }
}

/// Returns the key, of an entry or within it, of a list with elements.
fn further_list(key: &str, value: &Value, depth: usize) -> Option<String> {
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => fields.iter().find_map(|(key, value)| {
            further_list(key.as_str().unwrap_or_default(), value, depth + 1)
        }),
        Value::Object(_) => None,
        other => has_structure(other).then(|| key.to_owned()),
    }
}

/// Returns `true` for an array or an object that isn't empty, also as text.
fn has_structure(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) => !is_empty(value),
        Value::String(text) => text.trim_start().starts_with(['[', '{']),
        _ => false,
    }
}

/// Refuses a list of objects, in an object with a documented list, that may be the documented one or
/// a part of it: if that one is empty, or if any of these objects has the field that identifies its
/// rows, which is the first.
pub(crate) fn refuse_further_list(
    object: &BTreeMap<Value, Value>,
    documented: &[Field],
) -> Result<(), String> {
    for field in documented {
        let Type::Array(Type::Object(row)) = field.ty else { continue };
        let identity = row.first().map_or("", |field| field.name);
        let is_missing = object.get(&Value::from(field.name)).is_none_or(is_empty);
        let stands_for = |value: &Value| match value {
            Value::Array(items) => items.iter().any(|item| match item {
                Value::Object(_) => is_missing || item.get_str(identity).is_some(),
                _ => false,
            }),
            _ => false,
        };
        if let Some((key, _)) = undocumented(object, documented).find(|(_, it)| stands_for(it)) {
            return Err(format!(
                "it has the list `{}`, which may be of its `{}`",
                shorten(key, 80),
                field.name
            ));
        }
    }
    Ok(())
}

/// Returns the fields of an object that aren't documented.
pub(crate) fn undocumented<'k>(
    object: &'k BTreeMap<Value, Value>,
    documented: &'k [Field],
) -> impl Iterator<Item = (&'k str, &'k Value)> + Clone {
    let fields = object.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
    fields.filter(|(key, _)| !documented.iter().any(|field| field.name == *key))
}

/// Refuses undocumented keys of an object that has a list among its fields, if they say that the list
/// isn't whole. Unlike an envelope, such an object has further fields of its own, which may count
/// other things or name other pages.
pub(crate) fn refuse_beside_list(
    object: &BTreeMap<Value, Value>,
    documented: &[Field],
) -> Result<(), String> {
    let mut unknown = undocumented(object, documented);
    refuse(unknown.clone())?;
    let is_cut = |key: &str, value: &Value| {
        let denied = is_denial(value) && has_word(key, &["ok", "success", "successful"]);
        denied
            || !is_empty(value) && has_word(key, &WORDS_BESIDE)
            || is_total(key, value)
            || is_about_answer(key) && incomplete(key, value, 0).is_some()
    };
    match unknown.find(|(key, value)| is_cut(key, value)) {
        Some((key, _)) => Err(format!("it has `{}`: its list may not be whole", shorten(key, 80))),
        None => Ok(()),
    }
}

/// Refuses objects with a list, at any depth of an answer, if an undocumented key beside the list says
/// that it is cut. Unlike around the answer's own list, only what can't mean anything else counts.
pub(crate) fn refuse_cut(ty: Type, value: &Value) -> Result<(), String> {
    match (ty, value) {
        (Type::Array(item), Value::Array(items)) => {
            items.iter().try_for_each(|value| refuse_cut(*item, value))
        }
        // Members that have a documented type; the others are what people wrote.
        (Type::Map(item), Value::Object(members)) if !matches!(item, Type::Any) => {
            members.values().try_for_each(|value| refuse_cut(*item, value))
        }
        (Type::Object(fields), Value::Object(members)) => {
            refuse_cut_list(members, fields)?;
            members.iter().try_for_each(|(key, value)| {
                let documented = fields.iter().find(|field| key.as_str() == Some(field.name));
                match documented {
                    Some(field) => refuse_cut(field.ty, value),
                    None => refuse_cut_within(value),
                }
            })
        }
        _ => Ok(()),
    }
}

/// Does the same for an undocumented value.
fn refuse_cut_within(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(refuse_cut_within),
        Value::Object(members) => {
            refuse_cut_list(members, &[])?;
            members.values().try_for_each(refuse_cut_within)
        }
        _ => Ok(()),
    }
}

fn refuse_cut_list(members: &BTreeMap<Value, Value>, documented: &[Field]) -> Result<(), String> {
    if !members.values().any(|value| matches!(value, Value::Array(_))) {
        return Ok(());
    }
    let is_cut = |key: &str, value: &Value| {
        let words = words(key);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let next = has(&["next"])
            && (words.len() == 1 || has(&["cursor", "link", "offset", "page", "token", "url"]));
        let more = has(&["more"]) && has(&["has", "results", "pages", "items"]);
        // A number may count what is partial.
        let partial = has(&["incomplete", "partial"]) && value.as_number().is_none();
        let cut = partial || has(&["cursor", "pagination", "paging", "truncated"]);
        !is_empty(value) && (next || more || cut)
    };
    match undocumented(members, documented).find(|(key, value)| is_cut(key, value)) {
        Some((key, _)) => {
            Err(format!("it has `{}` beside a list, which may not be whole", shorten(key, 80)))
        }
        None => Ok(()),
    }
}

/// Refuses undocumented keys of an answer that say that it is a failure or a part. Others may be a
/// model's explanations.
pub(crate) fn refuse_failed(
    object: &BTreeMap<Value, Value>,
    documented: &[Field],
) -> Result<(), String> {
    let mut unknown = undocumented(object, documented);
    match unknown.find(|(key, value)| is_incomplete(key, value, &WORDS_FAILED)) {
        Some((key, _)) => Err(format!("it has `{}`: it may be a failure", shorten(key, 80))),
        None => Ok(()),
    }
}

/// The words of `WORDS` that say so in any answer.
const WORDS_FAILED: [&str; 7] =
    ["error", "errors", "failed", "failure", "incomplete", "partial", "truncated"];

/// Returns `true` for a key that says how many there are of what a list has.
fn is_total(key: &str, value: &Value) -> bool {
    let words = words(key);
    let is_total = |word: &String| matches!(word.as_str(), "count" | "total" | "totals");
    let of_list = |word: &String| {
        is_total(word)
            || matches!(
                word.as_str(),
                "evaluations"
                    | "items"
                    | "project"
                    | "reference"
                    | "references"
                    | "results"
                    | "versions"
            )
    };
    !is_empty(value) && words.iter().any(is_total) && words.iter().all(of_list)
}

/// Returns `true` for a key of an object about the answer itself, or about the pages that it is of.
fn is_about_answer(key: &str) -> bool {
    has_word(key, &["link", "links", "meta", "page", "paging", "response"])
}

/// The words of `WORDS` that say so in any object that has a list.
const WORDS_BESIDE: [&str; 26] = [
    "aborted",
    "capped",
    "cursor",
    "dropped",
    "error",
    "errors",
    "exceeded",
    "exception",
    "exceptions",
    "fault",
    "faults",
    "incomplete",
    "interrupted",
    "more",
    "omitted",
    "pagination",
    "paging",
    "partial",
    "remaining",
    "scroll",
    "timed",
    "timeout",
    "truncated",
    "unfinished",
    "warning",
    "warnings",
];

/// Words for a position in a list, for its length, for another list, and for what went wrong.
const WORDS: [&str; 99] = [
    "aborted",
    "after",
    "bookmark",
    "canceled",
    "cancelled",
    "capped",
    "continuation",
    "continue",
    "count",
    "cursor",
    "cut",
    "degraded",
    "denied",
    "detail",
    "details",
    "dropped",
    "edges",
    "elided",
    "entries",
    "error",
    "errors",
    "evaluated",
    "evaluations",
    "exceeded",
    "exception",
    "exceptions",
    "excluded",
    "exhausted",
    "expired",
    "failed",
    "failure",
    "failures",
    "fallback",
    "fault",
    "faults",
    "filtered",
    "forbidden",
    "hidden",
    "hit",
    "hits",
    "incomplete",
    "indexing",
    "interrupted",
    "items",
    "limited",
    "loading",
    "login",
    "lost",
    "maintenance",
    "marker",
    "matches",
    "missing",
    "more",
    "next",
    "nodes",
    "offset",
    "omitted",
    "overflow",
    "page",
    "pages",
    "pagination",
    "paging",
    "partial",
    "pending",
    "problem",
    "problems",
    "reached",
    "reason",
    "records",
    "redacted",
    "redirect",
    "refused",
    "rejected",
    "remaining",
    "results",
    "rows",
    "sampled",
    "scroll",
    "skipped",
    "stale",
    "suppressed",
    "throttled",
    "timed",
    "timeout",
    "token",
    "total",
    "totals",
    "truncated",
    "unauthorized",
    "unavailable",
    "unevaluated",
    "unfinished",
    "unknown",
    "unprocessed",
    "unreachable",
    "unread",
    "warning",
    "warnings",
    "withheld",
];

/// Words for success, of which the opposite is stated.
const SUCCESS: [&str; 24] = [
    "authenticated",
    "authorized",
    "available",
    "complete",
    "completed",
    "done",
    "end",
    "ended",
    "eof",
    "exhausted",
    "exhaustive",
    "final",
    "finished",
    "full",
    "healthy",
    "last",
    "ok",
    "passed",
    "reachable",
    "succeeded",
    "success",
    "successful",
    "valid",
    "whole",
];

/// The depth to which undocumented objects are searched.
const MAX_DEPTH: usize = 4;

/// Returns the key, of an entry or within it, that says that something is missing.
fn incomplete(key: &str, value: &Value, depth: usize) -> Option<String> {
    let coded = words(key).iter().any(|word| word == "code")
        && !is_empty(value)
        && value.as_str() != Some("0");
    if coded || is_incomplete(key, value, &WORDS) || is_unfinished(key, value) {
        return Some(key.to_owned());
    }
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => fields.iter().find_map(|(key, value)| {
            incomplete(key.as_str().unwrap_or_default(), value, depth + 1)
        }),
        _ => None,
    }
}

/// Returns `true` for an entry that has one of the words, or that denies a success.
fn is_incomplete(key: &str, value: &Value, known: &[&str]) -> bool {
    let has = |known: &[&str]| has_word(key, known);
    let denied = is_denial(value) && has(&SUCCESS);
    let code = value.as_number().and_then(Number::as_i64).unwrap_or_default();
    let text = value.as_str().unwrap_or_default();
    // The status of an HTTP answer, as problem details repeat it.
    let failed = has(&["status", "state", "result"])
        && (code >= 400 || self::words(text).iter().any(|word| is_failure(word)));
    denied || failed || !is_empty(value) && has(known)
}

/// Returns `true` for an entry with a state that isn't one of success.
fn is_unfinished(key: &str, value: &Value) -> bool {
    let states = value.as_str().filter(|text| !text.is_empty());
    has_word(key, &["status", "state"])
        && states.is_some_and(|text| {
            !words(text).iter().all(|word| SUCCESS.contains(&word.as_str()) || word == "200")
        })
}

fn has_word(key: &str, known: &[&str]) -> bool {
    words(key).iter().any(|word| known.contains(&word.as_str()))
}

/// Returns `true` for a value that says no, in whatever type.
fn is_denial(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::String(text) => ["false", "no", "0"].contains(&text.to_lowercase().as_str()),
        Value::Number(_) => *value == Value::from(0_u64),
        _ => false,
    }
}

fn is_failure(word: &str) -> bool {
    ["err", "fail", "partial", "incomplete"].iter().any(|start| word.starts_with(start))
}

/// Returns `true` for a key with a word for what may be missing or wrong.
pub(crate) fn tells_of_trouble(key: &str) -> bool {
    has_word(key, &WORDS)
}

/// Returns `true` for a key with a word for what should be.
pub(crate) fn tells_of_success(key: &str) -> bool {
    has_word(key, &SUCCESS) || has_word(key, &["evaluated"])
}

/// Words that APIs also write together with others: `hasnext`, `timedout`.
const JOINED: [&str; 8] =
    ["next", "truncated", "timed", "error", "partial", "incomplete", "cursor", "failed"];

/// Returns the words of a key, in lower case: `nextPage`, `next_page` and `Next-Page` have two.
pub(crate) fn words(key: &str) -> Vec<String> {
    let mut words = separated(key);
    let joined = |word: &String| {
        let within = JOINED.iter().filter(|it| word.starts_with(**it) || word.ends_with(**it));
        within.filter(|it| word != *it).map(|it| (*it).to_owned()).collect::<Vec<_>>()
    };
    let more: Vec<String> = words.iter().flat_map(joined).collect();
    words.extend(more);
    words
}

fn separated(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in key.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && lower {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut()
            && c.is_alphanumeric()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// Refuses undocumented keys of `pagination`: nothing there may be skipped but what looks back.
pub(crate) fn refuse_in_pagination<'k>(
    mut unknown: impl Iterator<Item = (&'k str, &'k Value)>,
) -> Result<(), String> {
    let looks_back = |key: &str, value: &Value| {
        let all = |known: &[&str]| words(key).iter().all(|word| known.contains(&word.as_str()));
        let has = |known: &[&str]| has_word(key, known);
        match value {
            Value::String(text) if has(&["limit"]) => {
                all(&["limit", "page"]) && text.bytes().all(|b| b.is_ascii_digit())
            }
            Value::Number(_) if has(&["limit"]) => all(&["limit", "page"]),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let place = ["cursor", "first", "has", "link", "page", "prev", "previous", "token"];
                has(&["first", "prev", "previous"]) && all(&place)
            }
            _ => false,
        }
    };
    // `has_more: false` says that nothing is missing; what `done: false` says is that something is.
    let is_quiet = |key: &str, value: &Value| match value {
        Value::Bool(false) => {
            let says_more = ["incomplete", "more", "next", "partial", "remaining", "truncated"];
            let denied = has_word(key, &["all", "no", "not"]) || has_word(key, &SUCCESS);
            has_word(key, &says_more) && !denied
        }
        _ => is_empty(value) && incomplete(key, value, 0).is_none(),
    };
    match unknown.find(|(key, value)| !looks_back(key, value) && !is_quiet(key, value)) {
        Some((key, _)) => Err(format!(
            "`pagination` has `{}`, which isn't documented: the list may go on",
            shorten(key, 80)
        )),
        None => Ok(()),
    }
}

/// Refuses undocumented keys of a resource that say that the answer is an error or isn't whole.
pub(crate) fn refuse<'k>(
    unknown: impl Iterator<Item = (&'k str, &'k Value)> + Clone,
) -> Result<(), String> {
    let mut stated = unknown.filter(|(_, value)| !is_empty(value));
    let is_code = |(key, _): &(&str, _)| is_misspelt("code", key);
    let explains = |(key, _): &(&str, _)| {
        ["message", "reason", "details"].iter().any(|name| is_misspelt(name, key))
    };
    let coded = stated.clone().any(|pair| is_code(&pair)) && stated.clone().any(|p| explains(&p));
    let wrong = stated.find_map(|(key, _)| {
        let shown = shorten(key, 80);
        if is_paging(key) {
            Some(format!("`{shown}` announces pages where none are expected: the list may go on"))
        } else if is_misspelt("error", key) || is_misspelt("errors", key) {
            Some(format!("it has `{shown}`, though its status is a success"))
        } else {
            None
        }
    });
    match wrong {
        Some(wrong) => Err(wrong),
        None if coded => Err("it has an error's `code`, though its status is a success".to_owned()),
        None => Ok(()),
    }
}

/// Returns `true` for a key that announces more results, in any API's words.
fn is_paging(key: &str) -> bool {
    let letters: String =
        key.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    letters.starts_with("next")
        || ["pagination", "paging", "totalcount", "totalpages", "hasmore", "morepages"]
            .contains(&letters.as_str())
}

/// Returns `true` for a value that states nothing, as when a service writes out its defaults.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        other => *other == Value::from(0_u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> bool {
        let Ok(Value::Object(object)) = Value::from_json(text) else { return false };
        let pairs: Vec<(String, Value)> = object
            .iter()
            .map(|(k, v)| (k.as_str().unwrap_or_default().to_owned(), v.clone()))
            .collect();
        refuse(pairs.iter().map(|(key, value)| (key.as_str(), value))).is_err()
    }

    #[test]
    fn errors_and_paging_are_refused_and_other_keys_are_not() {
        for bad in [
            r#"{"code":13,"message":"partial"}"#,
            r#"{"code":"13","reason":"x"}"#,
            r#"{"Code":5,"details":[{}]}"#,
            r#"{"error":{"code":13}}"#,
            r#"{"errors":["x"]}"#,
            r#"{"Error":"x"}"#,
            r#"{"nextCursor":"c"}"#,
            r#"{"next_page_token":"c"}"#,
            r#"{"next":"https://example.com"}"#,
            r#"{"hasMore":true}"#,
            r#"{"total_pages":"3"}"#,
            r#"{"Pagination":{"x":1}}"#,
        ] {
            assert!(refused(bad), "{bad}");
        }
        for good in [
            "{}",
            r#"{"code":0,"message":"ok"}"#,
            r#"{"code":7}"#,
            r#"{"message":"hello"}"#,
            r#"{"error":null,"errors":[]}"#,
            r#"{"nextCursor":"","total_count":0,"hasMore":false}"#,
            r#"{"more":1,"request_id":"x"}"#,
        ] {
            assert!(!refused(good), "{good}");
        }
    }

    /// The entries of an object.
    fn entries(text: &str) -> Vec<(String, Value)> {
        let Ok(Value::Object(object)) = Value::from_json(text) else { return Vec::new() };
        let key = |key: &Value| key.as_str().unwrap_or_default().to_owned();
        object.iter().map(|(k, v)| (key(k), v.clone())).collect()
    }

    #[test]
    fn a_list_that_may_not_be_whole_is_refused_in_any_words() {
        for bad in [
            r#"{"cursor":"c"}"#,
            r#"{"continuation_token":"c"}"#,
            r#"{"pageToken":"c"}"#,
            r#"{"pageInfo":{"hasNextPage":true}}"#,
            r#"{"links":{"next":"/x"}}"#,
            r#"{"total":5}"#,
            r#"{"totalResults":7}"#,
            r#"{"count":7}"#,
            r#"{"partial":true}"#,
            r#"{"Truncated":true}"#,
            r#"{"is_complete":false}"#,
            r#"{"warnings":["x"]}"#,
            r#"{"status":"error"}"#,
            r#"{"status":"PARTIAL_CONTENT"}"#,
            r#"{"success":false}"#,
            r#"{"error_message":"x"}"#,
            r#"{"code":"INTERNAL"}"#,
            r#"{"code":13}"#,
            r#"{"status":500,"title":"x"}"#,
            r#"{"timed_out":true}"#,
            r#"{"exception":"x"}"#,
            r#"{"done":false}"#,
            r#"{"succeeded":false}"#,
            r#"{"dropped":3}"#,
            r#"{"items":[{"id":"a"}]}"#,
            r#"{"lastEvaluatedKey":{"id":1}}"#,
            r#"{"exhausted":false}"#,
            r#"{"success":0}"#,
            r#"{"success":"false"}"#,
            r#"{"complete":"no"}"#,
            r#"{"hasnext":true}"#,
            r#"{"ISTRUNCATED":true}"#,
            r#"{"timedout":true}"#,
            r#"{"limit_reached":true}"#,
            r#"{"status":"degraded"}"#,
            r#"{"state":"PENDING"}"#,
            r#"{"scroll_id":"x"}"#,
            r#"{"meta":{"pagination":{"nextCursor":"c"}}}"#,
            "{\"n\u{435}xt_cursor\":\"c\"}",
        ] {
            let entries = entries(bad);
            let pairs = entries.iter().map(|(key, value)| (key.as_str(), value));
            assert!(!entries.is_empty() && refuse_around_list(pairs).is_err(), "{bad}");
        }
        for good in [
            "{}",
            r#"{"account":"a","discount":3,"request_id":"x","status":"ok","success":true,"done":true}"#,
            r#"{"code":0,"message":"ok","error":null,"total":0,"partial":false}"#,
            r#"{"meta":{"version":2,"links":{"self":"/x"}}}"#,
        ] {
            let entries = entries(good);
            let pairs = entries.iter().map(|(key, value)| (key.as_str(), value));
            assert!(refuse_around_list(pairs).is_ok(), "{good}");
        }
    }

    #[test]
    fn nothing_else_may_be_the_list() {
        let check = |text: &str| {
            let entries = entries(text);
            let pairs = entries.iter().map(|(key, value)| (key.as_str(), value));
            (refuse_around_list(pairs.clone()), refuse_without_list("results", pairs))
        };
        for bad in [
            r#"{"evaluation":[{"status":"fail"}]}"#,
            r#"{"data":[1]}"#,
            "{\"\u{435}valuations\":[{}]}",
            r#"{"data":{"list":[{}]}}"#,
            r#"{"content":"[{\"status\":\"fail\"}]"}"#,
        ] {
            let (beside, instead) = check(bad);
            assert!(beside.is_err() && instead.is_err(), "{bad}");
        }
        let (beside, instead) = check(r#"{"data":{"name":"x"}}"#);
        assert!(beside.is_ok() && instead.is_err());
        for good in ["{}", r#"{"data":[],"extra":{},"request_id":"x","version":2,"cached":true}"#] {
            assert_eq!(check(good), (Ok(()), Ok(())), "{good}");
        }
    }

    #[test]
    fn a_list_within_an_object_has_its_documented_name() {
        static ROW: &[Field] = &[Field::optional("digest", Type::String, "")];
        static FIELDS: &[Field] =
            &[Field::optional("references", Type::Array(&Type::Object(ROW)), "")];
        let check = |text: &str| match Value::from_json(text) {
            Ok(Value::Object(object)) => refuse_further_list(&object, FIELDS),
            _ => Err("not an object".to_owned()),
        };
        for bad in [
            r#"{"referrers":[{"x":1}]}"#,
            r#"{"references":[],"referrers":[{"x":1}]}"#,
            r#"{"references":[{}],"referrers":[{"digest":"x"}]}"#,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in [
            "{}",
            r#"{"references":[{}],"labels":[{"name":"x"}]}"#,
            r#"{"labels":["x"],"referrers":[],"metadata":{"name":"x"}}"#,
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_list_within_an_object_may_not_be_cut_either() {
        let fields = [Field::optional("references", crate::resources::types::Type::Any, "")];
        let check = |text: &str| match Value::from_json(text) {
            Ok(Value::Object(object)) => {
                let object: BTreeMap<Value, Value> =
                    object.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                refuse_beside_list(&object, &fields)
            }
            _ => Err("not an object".to_owned()),
        };
        for bad in [
            r#""partial": true"#,
            r#""truncated": true"#,
            r#""success": false"#,
            r#""total": 158"#,
            r#""referencesTotalCount": 9"#,
            r#""referencesNextCursor": "x""#,
            r#""moreReferences": true"#,
            r#""pagination": {"nextCursor": "x"}"#,
            r#""warnings": ["x"]"#,
            r#""omitted": 3"#,
            r#""timed_out": true"#,
            r#""count": 5"#,
            r#""referenceCount": 5"#,
            r#""@odata.nextLink": "x""#,
            r#""_links": {"next": "x"}"#,
            r#""meta": {"has_more": true}"#,
            r#""scroll_id": "x""#,
        ] {
            let text = format!("{{\"references\": [], {bad}}}");
            assert!(check(&text).is_err(), "{bad}");
        }
        for good in [
            r#""downloadCount": 3"#,
            r#""code": "A1""#,
            r#""tokenName": "x""#,
            r#""totalScore": 87"#,
            r#""status": "failing""#,
            r#""passed": false"#,
            r#""partial": false"#,
            r#""warnings": []"#,
        ] {
            let text = format!("{{\"references\": [], {good}}}");
            assert_eq!(check(&text), Ok(()), "{good}");
        }
    }

    #[test]
    fn nothing_in_pagination_is_skipped_but_what_looks_back() {
        for bad in ["hasNextPage", "endCursor", "after", "total", "pages", "x"] {
            assert!(refuse_in_pagination([(bad, &Value::from("5"))].into_iter()).is_err(), "{bad}");
            assert!(refuse_in_pagination([(bad, &Value::from(""))].into_iter()).is_ok(), "{bad}");
        }
        for bad in [
            "last",
            "done",
            "eof",
            "succeeded",
            "lastPage",
            "page_complete",
            "exhausted",
            "all_results",
            "noMore",
        ] {
            let value = Value::Bool(false);
            assert!(refuse_in_pagination([(bad, &value)].into_iter()).is_err(), "{bad}");
        }
        for bad in ["first_missing", "first_page_only", "prev_and_next", "limit_hit", "next"] {
            assert!(refuse_in_pagination([(bad, &Value::from(1))].into_iter()).is_err(), "{bad}");
        }
        assert!(refuse_in_pagination([("limit", &Value::from("hit"))].into_iter()).is_err());
        for bad in ["first", "limit", "previous_page"] {
            let value = Value::from_json(r#"{"next": "x"}"#).unwrap_or_default();
            assert!(refuse_in_pagination([(bad, &value)].into_iter()).is_err(), "{bad}");
        }
        assert!(refuse_in_pagination([("limit_reached", &Value::Bool(true))].into_iter()).is_err());
        assert!(refuse_in_pagination([("has_more", &Value::Bool(false))].into_iter()).is_ok());
        for good in ["prev_cursor", "previousPage", "limit", "hasPreviousPage", "first"] {
            assert!(
                refuse_in_pagination([(good, &Value::from("5"))].into_iter()).is_ok(),
                "{good}"
            );
        }
    }

    #[test]
    fn a_key_is_misspelt_by_case_and_separators_alone() {
        for key in ["References", "REFERENCES", "_references", "refer-ences"] {
            assert!(is_misspelt("references", key), "{key}");
        }
        assert!(is_misspelt("next_cursor", "nextcursor") && is_misspelt("createdAt", "createdat"));
        assert!(!is_misspelt("references", "reference") && !is_misspelt("kind", "kinds"));
    }
}

//! The keys of envelopes that aren't documented.
//!
//! Owns what such a key may not be: a documented one in another spelling, paging outside
//! `pagination`, or an error. A reader that skipped it would take a part of a list for the whole, or a
//! failure for an empty answer. Everything else is a newer service's, and is skipped.

use crate::rego::Value;
use crate::text::shorten;

/// Returns `true` if a key equals a documented one except for case, `_` and `-`.
fn is_misspelt(documented: &str, key: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
        let separator = |c: &char| matches!(c, '_' | '-');
        text.chars().filter(move |c| !separator(c)).flat_map(char::to_lowercase)
    }
    letters(documented).eq(letters(key))
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

/// Refuses undocumented keys of an envelope that say that the answer is an error or isn't whole.
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
            Some(format!("`{shown}` is where there is no paging: the list may go on"))
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

    #[test]
    fn a_key_is_misspelt_by_case_and_separators_alone() {
        for key in ["References", "REFERENCES", "_references", "refer-ences"] {
            assert!(is_misspelt("references", key), "{key}");
        }
        assert!(is_misspelt("next_cursor", "nextcursor") && is_misspelt("createdAt", "createdat"));
        assert!(!is_misspelt("references", "reference") && !is_misspelt("kind", "kinds"));
    }
}

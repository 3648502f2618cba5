//! Checks of recordings and recorded answers, before a policy sees them.
//!
//! Owns the checks that a replay can make without the service: that the file has no duplicate keys
//! and no failure of an unknown kind, that content hashes to its digest, and that an answer has the
//! fields on which policies rely. Whether a recording's lists are those of the service can't be
//! checked: a recording is trusted like the policy.

use crate::rego::value::{JsonError, JsonLimits, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error as _};
use sha2::{Digest as _, Sha256};

use crate::flight::Key;
use crate::functions::{self, ContentForm};
use crate::resources::validate::validate;
use crate::text::shorten;
use crate::{Error, ErrorKind};

/// Refuses a text in which an object has a key twice: parsers differ in which of the two they take,
/// so the value that a reviewer read might not be the one that is used.
///
/// # Errors
/// A duplicate key, or text that isn't JSON.
pub fn reject_duplicate_keys(text: &[u8]) -> Result<(), JsonError> {
    let limits = JsonLimits::default().unique_keys();
    Value::from_json_bytes(text, limits).map(|_| ())
}

/// Deserializes the kind of a recorded failure. An unknown kind is refused rather than taken for
/// another.
pub(super) fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ErrorKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    ErrorKind::ALL.iter().copied().find(|kind| kind.as_str() == name).ok_or_else(|| {
        D::Error::custom(format!("`{}` isn't a kind of failure", shorten(&name, 80)))
    })
}

/// Returns the error for a recorded answer that the service can't have given.
pub(super) fn tampered(key: &Key, what: &str) -> Error {
    let arguments = shorten(&key.arguments, 200);
    let message = format!("the recorded response to the call with {arguments} {what}");
    Error::tampered(message).with_hint("record again: the recording was altered or is damaged")
}

/// Checks that `value` can be the answer to the call, which isn't one of the host's. Returns the form
/// of downloaded content, or the problem.
pub(super) fn check(key: &Key, value: &Value) -> Result<Option<ContentForm>, String> {
    let short = key.function.rsplit('.').next().unwrap_or_default();
    // A recorded value of a built-in isn't an answer of the product.
    let Some(function) = functions::function(short) else { return Ok(None) };
    let first = || {
        let arguments = Value::from_json(&key.arguments).ok()?;
        arguments.as_array()?.first()?.as_str().map(str::to_owned)
    };
    match short {
        "download_artifact" => {
            return check_content(first().as_deref().unwrap_or_default(), value).map(Some);
        }
        "discover" if value.get_str("digest").and_then(Value::as_str) != first().as_deref() => {
            return Err("is about a different digest than the requested one".to_owned());
        }
        _ => {}
    }
    validate(function.result, value, "the answer").map(|()| None)
}

/// Checks that the call, which isn't one of the host's, can have failed so: only these two functions ask for one thing, which may be
/// missing, and a host may make that undefined.
pub(super) fn check_failure(key: &Key, kind: ErrorKind) -> Result<(), String> {
    let short = key.function.rsplit('.').next().unwrap_or_default();
    if kind == ErrorKind::NotFound && !["discover", "download_artifact"].contains(&short) {
        return Err("is a failure that this function doesn't have".to_owned());
    }
    Ok(())
}

/// Checks that content hashes to its digest: text as it is, or bytes that aren't text as base64.
/// Base64 of text is refused.
fn check_content(digest: &str, value: &Value) -> Result<ContentForm, String> {
    let text = value.as_str().ok_or_else(|| "isn't text".to_owned())?;
    let is = |bytes: &[u8]| {
        let hash = Sha256::digest(bytes);
        digest.strip_prefix("sha256:").is_some_and(|hex| {
            hex.len() == 64
                && hash.iter().zip(hex.as_bytes().chunks(2)).all(|(byte, pair)| {
                    std::str::from_utf8(pair).is_ok_and(|pair| *pair == format!("{byte:02x}"))
                })
        })
    };
    let as_base64 = || {
        STANDARD.decode(text.as_bytes()).is_ok_and(|b| std::str::from_utf8(&b).is_err() && is(&b))
    };
    if is(text.as_bytes()) {
        return Ok(ContentForm::Text);
    }
    if as_base64() {
        return Ok(ContentForm::Base64);
    }
    Err("doesn't hash to its digest".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check_answer(
        function: &str,
        argument: &str,
        answer: &str,
    ) -> Result<Option<ContentForm>, String> {
        let arguments = format!("[\"{argument}\",\"\"]");
        let key =
            Key { function: format!("product.{function}").into(), arguments: arguments.into() };
        check(&key, &Value::from_json(answer).unwrap())
    }

    #[test]
    fn a_duplicate_key_is_refused_at_any_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"[{"b": {"c": [1.5, {"d": null, "e": true, "d": "x"}]}}]"#,
        ] {
            let error = reject_duplicate_keys(text.as_bytes()).unwrap_err();
            assert!(error.message.contains("appears twice"), "{text}: {error}");
        }
        for text in ["null", r#"{"a": {"a": {"b": [1, -1, 1e400, "b", {}]}}, "b": []}"#] {
            assert_eq!(reject_duplicate_keys(text.as_bytes()), Ok(()));
        }
    }

    #[test]
    fn content_must_hash_to_its_digest() {
        // The hashes of `abc`, of `YWJj` (its base64) and of the byte 0xff.
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let byte = "sha256:a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89";
        assert!(check_answer("download_artifact", abc, "\"abc\"").is_ok());
        assert!(check_answer("download_artifact", byte, "\"/w==\"").is_ok());
        for (digest, content) in [
            (abc, "\"abd\""),
            (abc, "\"\""),
            (abc, "\"YWJj\""),
            (abc, "null"),
            (byte, "\"/g==\""),
            ("sha256:", "\"abc\""),
            ("", "\"abc\""),
        ] {
            assert!(
                check_answer("download_artifact", digest, content).is_err(),
                "{digest} {content}"
            );
        }
    }

    #[test]
    fn answers_must_have_their_documented_fields() {
        let root = r#""kind": "K", "downloadable": true, "public": false, "createdAt": """#;
        let whole = format!(r#"{{"digest": "sha256:a", {root}, "references": []}}"#);
        assert!(check_answer("discover", "sha256:a", &whole).is_ok());
        assert!(check_answer("discover", "sha256:a", &whole.replace("\"K\"", "7")).is_err());
        let refers = whole.replace("[]", r#"[{"kind": "K"}]"#);
        assert!(check_answer("discover", "sha256:a", &refers).is_err());
        assert!(check_answer("projects", "", r#"{"results": [{"id": 1}]}"#).is_err());
        assert!(check_answer("environments", "", r#"{"results": []}"#).is_err());
        assert!(
            check_answer("evidence", "", r#"{"results": [], "error": "x", "next": 1}"#).is_ok()
        );
        assert!(check_answer("project_compliance", "", r#"{"evaluations": []}"#).is_ok());
        assert!(
            check_answer("evidence_prompt", "x", r#"{"skipped": true, "violations": []}"#).is_ok()
        );
        for (function, answer) in [
            ("discover", "null"),
            ("discover", "{}"),
            ("discover", r#"{"digest": "sha256:a"}"#),
            ("discover", r#"{"digest": "sha256:b", "references": []}"#),
            ("discover", r#"{"digest": "sha256:a", "references": {}}"#),
            ("evidence", "[]"),
            ("evidence", r#"{"results": null}"#),
            ("project_compliance", "{}"),
            ("evidence_prompt", r#"{"violations": []}"#),
            ("evidence_prompt", r#"{"skipped": "no", "violations": []}"#),
            ("evidence_prompt", r#"{"skipped": false}"#),
        ] {
            assert!(check_answer(function, "sha256:a", answer).is_err(), "{function} {answer}");
        }
    }
}

//! A policy's own network requests as calls: `http.send` and `net.lookup_ip_addr`.
//!
//! Owns when two of them are equal, which ones may be sent on a guess, and the form in which
//! recordings keep them. Sending them belongs to [`crate::http`].

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::call::{CheckedCall, Target, key};
use crate::Error;
use crate::rego::Value;
use crate::rego::internal::builtins::HttpRequest;
use crate::rego::value::{Object, Set};
use crate::text::hex;

pub(crate) use crate::rego::internal::builtins::{HTTP_SEND, LOOKUP};

/// Returns `true` if a function asks the network rather than the service.
#[doc(hidden)]
pub fn is_network(function: &str) -> bool {
    matches!(function, HTTP_SEND | LOOKUP)
}

impl CheckedCall {
    /// Checks a call of one of the built-ins that ask the network; `None` for other functions.
    pub fn of_network(function: &str, arguments: &[Value]) -> Option<Result<Self, Error>> {
        match function {
            HTTP_SEND => Some(of_request(arguments)),
            LOOKUP => Some(of_name(arguments)),
            _ => None,
        }
    }
}

fn mistyped(function: &str) -> Error {
    Error::internal("a call with arguments of other types").in_call(function)
}

fn of_request(arguments: &[Value]) -> Result<CheckedCall, Error> {
    let [Value::Object(object)] = arguments else { return Err(mistyped(HTTP_SEND)) };
    let request = HttpRequest::read(object)
        .map_err(|error| Error::invalid_argument(error.message.into_owned()).in_call(HTTP_SEND))?;
    let ignores = object.contains_key(&Value::from("cache_ignored_headers"));
    let told_by = if ignores { request.key.as_object() } else { Some(&**object) };
    let shown = without_secrets(told_by.unwrap_or(object));
    let key = key(HTTP_SEND.into(), vec![shown])?;
    Ok(CheckedCall { key, target: Target::Http(Arc::new(request)) })
}

fn of_name(arguments: &[Value]) -> Result<CheckedCall, Error> {
    let [Value::String(name)] = arguments else { return Err(mistyped(LOOKUP)) };
    let key = key(LOOKUP.into(), arguments.to_vec())?;
    Ok(CheckedCall { key, target: Target::Lookup(name.to_string().into()) })
}

/// Returns a request as recordings and reports may show it: each secret is replaced by its hash, so
/// that requests with different secrets stay different.
fn without_secrets(request: &Object) -> Value {
    let shown = request.iter().map(|(name, value)| {
        let shown = match (name.as_str().unwrap_or_default(), value) {
            ("headers", Value::Object(headers)) => {
                let headers = headers.iter().map(|(name, value)| {
                    let secret = name.as_str().is_some_and(is_secret);
                    (name.clone(), if secret { hashed(value) } else { value.clone() })
                });
                Value::from(headers.collect::<Object>())
            }
            ("tls_client_key", value) => hashed(value),
            ("url", Value::String(url)) => Value::from(without_password(url).into_owned()),
            _ => value.clone(),
        };
        (name.clone(), shown)
    });
    Value::from(shown.collect::<Object>())
}

/// Returns `true` if a header of this name is likely to hold a secret.
fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 8] =
        ["auth", "cookie", "token", "key", "secret", "password", "credential", "signature"];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

fn hashed(value: &Value) -> Value {
    Value::from(hash(&value.to_json()))
}

fn hash(text: &str) -> String {
    format!("sha256:{}", hex(&Sha256::digest(text)))
}

fn without_password(text: &str) -> Cow<'_, str> {
    let Ok(mut url) = url::Url::parse(text) else { return without_user(text) };
    let Some(password) = url.password().map(hash) else { return Cow::Borrowed(text) };
    let _ = url.set_password(Some(&password));
    Cow::Owned(url.into())
}

/// Hides the text before the host if it isn't a URL: it may contain a password.
fn without_user(text: &str) -> Cow<'_, str> {
    let (scheme, rest) = text.split_once("//").unwrap_or(("", text));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => {
            let rest = rest.get(user.len()..).unwrap_or_default();
            let slashes = if scheme.is_empty() { "" } else { "//" };
            Cow::Owned(format!("{scheme}{slashes}{}{rest}", hash(user)))
        }
        None => Cow::Borrowed(text),
    }
}

/// Returns a recorded answer in the function's own type: JSON has no sets, so a list of addresses
/// becomes one.
pub(super) fn replayed(target: &Target, value: Value) -> Result<Value, String> {
    match (target, value) {
        (Target::Http(_), value) => {
            let status = value.get_str("status_code").and_then(Value::as_number);
            status.map(|_| value.clone()).ok_or_else(|| "has no `status_code`".to_owned())
        }
        (Target::Lookup(_), Value::Array(names))
            if names.iter().all(|name| name.as_str().is_some()) =>
        {
            Ok(Value::from(names.iter().cloned().collect::<Set>()))
        }
        (Target::Lookup(_), _) => Err("isn't a list of addresses".to_owned()),
        (_, value) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(request: &str) -> String {
        let request = Value::from_json(request).unwrap();
        CheckedCall::of_network(HTTP_SEND, &[request]).unwrap().unwrap().key.arguments.to_string()
    }

    #[test]
    fn secrets_are_distinguished_but_not_shown() {
        let with = |secret: &str| {
            key(&format!(
                r#"{{"method":"get","url":"https://me:{secret}@a.test/?q=1","tls_client_key":"{secret}",
                "headers":{{"Authorization":"Bearer {secret}","X-Api-Key":"{secret}","Accept":"x"}}}}"#
            ))
        };
        let (one, other) = (with("canary-1"), with("canary-2"));
        assert_ne!(one, other);
        assert_eq!(one, with("canary-1"));
        assert!(!one.contains("canary") && one.contains(r#""Accept":"x""#), "{one}");
        for broken in ["http://me:canary@[x/", "https://canary:@a b/", "me:canary@a.test/"] {
            let shown = without_user(broken);
            assert!(!shown.contains("canary") && shown.contains('@'), "{shown}");
        }
    }

    #[test]
    fn plain_requests_are_recorded_as_they_are() {
        let text = r#"{"method":"get","url":"http://a.test/"}"#;
        assert_eq!(key(text), format!("[{text}]"));
        let ignoring = |value: u8| {
            key(&format!(
                r#"{{"method":"get","url":"http://a.test/","headers":{{"x-id":"{value}"}},
                "cache_ignored_headers":["x-id"]}}"#
            ))
        };
        assert_eq!(ignoring(1), ignoring(2));
        let is_shared = |request: &str| {
            let request = Value::from_json(request).unwrap();
            CheckedCall::of_network(HTTP_SEND, &[request]).unwrap().unwrap().is_shared()
        };
        assert!(is_shared(text));
        let ignoring = r#", "cache_ignored_headers": ["x-id"]}"#;
        assert!(!is_shared(&text.replace('}', ignoring)), "the answer may be another user's");
    }

    #[test]
    fn only_reads_are_guessed() {
        for (method, guessed) in [
            ("get", true),
            ("HEAD", true),
            ("", true),
            ("post", false),
            ("delete", false),
            ("PUT", false),
        ] {
            let request = format!(r#"{{"method":"{method}","url":"http://a.test/"}}"#);
            let request = Value::from_json(&request).unwrap();
            let call = CheckedCall::of_network(HTTP_SEND, &[request]).unwrap().unwrap();
            assert_eq!(call.may_be_guessed(true), guessed, "{method}");
        }
    }
}

//! `http.send`: its request and response.
//!
//! Owns the request object, which is read and checked before anything is sent, and the response
//! object. The host sends the request ([`Context::http_send`]) or refuses to, and honours
//! `raise_error`.

use serde_json::value::RawValue;

use super::operands::{answer, object, operand};
use super::{Answer, Code, Context, Error};
use crate::value::{JsonLimits, Object, Set, Value};

/// The function that sends an HTTP request.
pub const HTTP_SEND: &str = "http.send";

/// The function that looks up the addresses of a host name.
pub const LOOKUP: &str = "net.lookup_ip_addr";

/// The members that a request may have.
const MEMBERS: &[&str] = &[
    "body",
    "cache",
    "cache_ignored_headers",
    "caching_mode",
    "enable_redirect",
    "force_cache",
    "force_cache_duration_seconds",
    "force_json_decode",
    "force_yaml_decode",
    "headers",
    "max_retry_attempts",
    "method",
    "raise_error",
    "raw_body",
    "timeout",
    "tls_ca_cert",
    "tls_ca_cert_env_variable",
    "tls_ca_cert_file",
    "tls_client_cert",
    "tls_client_cert_env_variable",
    "tls_client_cert_file",
    "tls_client_key",
    "tls_client_key_env_variable",
    "tls_client_key_file",
    "tls_insecure_skip_verify",
    "tls_server_name",
    "tls_use_system_certs",
    "url",
];

pub(super) fn send(ctx: &dyn Context, args: &[Value]) -> Answer {
    let request = object(args, 0)?;
    let raise = raises(request)?;
    match check_members(request, 1).and_then(|()| HttpRequest::read(request)) {
        Ok(_) => ctx.http_send(operand(args, 0)?),
        Err(error) if raise || error.halt => Err(error),
        Err(error) => {
            let code = if error.code == Code::Type { "type" } else { "builtin" };
            let message = format!("eval_{code}_error: http.send: {}", error.message);
            answer(http_failure("eval_http_send_internal_error", &message))
        }
    }
}

/// Returns `true` if failures are to be raised as errors.
fn raises(request: &Object) -> Result<bool, Error> {
    match request.get(&Value::from("raise_error")) {
        None => Ok(true),
        Some(Value::Bool(raise)) => Ok(*raise),
        Some(_) => Err(Error::failed("invalid value for raise_error field")),
    }
}

/// Returns the response object for a failed request whose policy doesn't want errors raised.
pub fn http_failure(code: &str, message: &str) -> Value {
    let problem = Object::from([
        (Value::from("code"), Value::from(code)),
        (Value::from("message"), Value::from(message)),
    ]);
    Value::from(Object::from([
        (Value::from("error"), Value::from(problem)),
        (Value::from("status_code"), Value::from(0_i64)),
    ]))
}

/// Checks that a request has all required members, and no unknown ones.
pub(super) fn check_members(request: &Object, position: usize) -> Result<(), Error> {
    let wrong = |what: &str, names: Set| {
        let names = Value::from(names);
        super::operands::operand_error(position, &format!("{what} request parameters(s): {names}"))
    };
    let unknown: Set = request
        .keys()
        .filter(|key| !key.as_str().is_some_and(|key| MEMBERS.contains(&key)))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(wrong("invalid", unknown));
    }
    let missing: Set = ["method", "url"]
        .into_iter()
        .map(Value::from)
        .filter(|name| !request.contains_key(name))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(wrong("missing required", missing)) }
}

/// A request as read from its object: what to send, and how.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)]
pub struct HttpRequest {
    /// The method, in uppercase.
    pub method: String,
    /// The URL, as written.
    pub url: String,
    /// The headers, with names in canonical form.
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
    /// `true` if redirects are followed.
    pub redirect: bool,
    /// The timeout in nanoseconds, if given. Zero or less means no timeout.
    pub timeout: Option<i64>,
    /// The number of retries after a network failure.
    pub retries: u64,
    /// The TLS settings for both sides.
    pub tls: HttpTls,
    /// `true` if the body is decoded as JSON whatever its content type.
    pub force_json: bool,
    /// `true` if the body is decoded as YAML whatever its content type.
    pub force_yaml: bool,
    /// `true` if failures are raised as errors.
    pub raise: bool,
    /// `true` if the response may be cached for other evaluations.
    pub cache: bool,
    /// The number of seconds to cache the response for, overriding its headers.
    pub force_cache_seconds: Option<i32>,
    /// The identity of the request: the request object without the headers that are ignored.
    pub key: Value,
    /// `true` if the key leaves headers out.
    pub ignores_headers: bool,
}

/// The TLS members of a request. Certificates and keys are PEM text, given inline, as a file name
/// or as the name of an environment variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct HttpTls {
    /// The certificates of trusted authorities.
    pub ca: HttpPem,
    /// `true` if the system's authorities are trusted as well.
    pub system_roots: bool,
    /// The client certificate.
    pub certificate: HttpPem,
    /// The private key of the client certificate.
    pub key: HttpPem,
    /// `true` if the server's certificate isn't verified.
    pub insecure: bool,
    /// The name expected in the server's certificate, if it isn't the URL's host.
    pub server_name: String,
}

/// PEM text from one or several sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct HttpPem {
    /// The text itself.
    pub text: String,
    /// The name of a file.
    pub file: String,
    /// The name of an environment variable.
    pub variable: String,
}

impl HttpRequest {
    /// Reads a request object.
    ///
    /// # Errors
    /// Returns an error if a member has the wrong type or value.
    #[allow(clippy::too_many_lines)]
    pub fn read(request: &Object) -> Result<Self, Error> {
        let get = |name: &str| request.get(&Value::from(name));
        let flag = |name: &str| match get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Error::failed(format!("invalid value for \"{name}\" field"))),
        };
        // Members that OPA parses with Go's `strconv.ParseBool`.
        let loose = |name: &str| match get(name) {
            None => Ok(false),
            Some(value) => parse_bool(&value.to_string()),
        };
        let text = |name: &str| match get(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.trim_matches('"').to_owned()),
            Some(_) => Err(Error::failed(format!("\"{name}\" must be a string"))),
        };
        let pem = |name: &str| {
            Ok::<_, Error>(HttpPem {
                text: text(name)?,
                file: text(&format!("{name}_file"))?,
                variable: text(&format!("{name}_env_variable"))?,
            })
        };
        let key = key(request)?;
        let cache = flag("cache")?;
        let force_cache_seconds =
            if flag("force_cache")? { Some(force_seconds(request)?) } else { None };
        let headers = match get("headers") {
            None => Vec::new(),
            Some(Value::Object(headers)) => read_headers(headers)?,
            Some(_) => return Err(Error::failed("invalid type for headers key")),
        };
        let raw_body = get("raw_body").map(|_| text("raw_body")).transpose()?;
        let body = match (raw_body, get("body")) {
            (Some(raw), _) => raw.into_bytes(),
            (None, Some(body)) => body.to_go_json().into_bytes(),
            (None, None) => Vec::new(),
        };
        let retries = match get("max_retry_attempts") {
            None => 0,
            Some(value) => {
                let count = value.as_number().and_then(|number| number.text().parse().ok());
                count.ok_or_else(|| {
                    let field = "\"max_retry_attempts\"";
                    Error::failed(format!("invalid value {value} for field {field}"))
                })?
            }
        };
        let mut tls = HttpTls {
            ca: pem("tls_ca_cert")?,
            system_roots: loose("tls_use_system_certs")?,
            certificate: pem("tls_client_cert")?,
            key: pem("tls_client_key")?,
            insecure: loose("tls_insecure_skip_verify")?,
            server_name: text("tls_server_name")?,
        };
        tls.ca.text = tls.ca.text.replace("\\n", "\n");
        if tls.server_name.is_empty()
            && let Some((_, host)) = headers.iter().find(|(name, _)| name == "Host")
        {
            tls.server_name.clone_from(host);
        }
        Ok(Self {
            method: text("method")?.to_uppercase(),
            url: text("url")?,
            headers,
            body,
            redirect: loose("enable_redirect")?,
            timeout: get("timeout").map(timeout).transpose()?,
            retries,
            tls,
            raise: raises(request)?,
            force_json: flag("force_json_decode")?,
            force_yaml: flag("force_yaml_decode")?,
            cache: cache || force_cache_seconds.is_some(),
            force_cache_seconds: force_cache_seconds.filter(|seconds| *seconds > 0),
            key,
            ignores_headers: get("cache_ignored_headers").is_some(),
        })
    }
}

/// Returns the request without the headers that don't identify it.
fn key(request: &Object) -> Result<Value, Error> {
    let mut key = request.clone();
    let ignored = request.get(&Value::from("cache_ignored_headers"));
    let headers = request.get(&Value::from("headers"));
    if let (Some(ignored), Some(Value::Object(headers))) = (ignored, headers) {
        let wrong = || Error::failed("cache_ignored_headers must be an array of strings");
        let ignored = ignored.as_array().ok_or_else(wrong)?;
        if !ignored.iter().all(|name| name.as_str().is_some()) {
            return Err(wrong());
        }
        let kept = headers.iter().filter(|(name, _)| !ignored.contains(name));
        let kept: Object = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        key.insert(Value::from("headers"), Value::from(kept));
    }
    key.insert(Value::from("cache_ignored_headers"), Value::Null);
    Ok(Value::from(key))
}

fn force_seconds(request: &Object) -> Result<i32, Error> {
    let value = request.get(&Value::from("force_cache_duration_seconds")).ok_or_else(|| {
        let missing = "'force_cache_duration_seconds' parameter is missing";
        Error::failed(format!("'force_cache' set but {missing}"))
    })?;
    let text = value.to_string();
    text.parse().map_err(|_| Error::failed(format!("parsing {text:?}: invalid syntax")))
}

fn parse_bool(text: &str) -> Result<bool, Error> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(Error::failed(format!("parsing {text:?}: invalid syntax"))),
    }
}

/// Reads a timeout in nanoseconds: a number, a number as text, or a duration with units.
fn timeout(value: &Value) -> Result<i64, Error> {
    match value {
        Value::Number(number) => number.text().parse().map_err(|_| {
            Error::failed(format!("invalid timeout number value {value}, must be int64"))
        }),
        Value::String(text) => match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => super::time::duration::parse(text).map_err(|error| {
                Error::failed(format!("invalid timeout value {value}: {}", error.message))
            }),
        },
        other => {
            let kind = other.type_name();
            let what = format!("'timeout' must be one of {{string, number}} but got {kind}");
            Err(super::operands::operand_error(1, &what))
        }
    }
}

fn read_headers(headers: &Object) -> Result<Vec<(String, String)>, Error> {
    let mut read: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let name = name.as_str().map_or_else(|| name.to_json(), str::to_owned);
        let name = canonical_name(&name);
        let Some(value) = value.as_str() else {
            let shown = match value {
                Value::Number(number) => format!("\"{}\"", number.text()),
                other => other.to_string(),
            };
            return Err(Error::failed(format!("invalid type for headers value {shown}")));
        };
        // If names differ only in case, the last value is sent.
        match read.iter_mut().find(|(known, _)| *known == name) {
            Some((_, kept)) => value.clone_into(kept),
            None => read.push((name, value.to_owned())),
        }
    }
    Ok(read)
}

/// Returns a header name in canonical form; names with unusual characters are unchanged.
fn canonical_name(name: &str) -> String {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(token) {
        return name.to_owned();
    }
    let words = name.split('-').map(|word| {
        let mut word = word.to_ascii_lowercase();
        if let Some(first) = word.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        word
    });
    words.collect::<Vec<_>>().join("-")
}

/// A response as received.
#[derive(Debug, Clone, Default)]
pub struct HttpResponse {
    /// The status code, such as 200.
    pub status: u16,
    /// The status text, such as `200 OK`.
    pub status_text: String,
    /// All headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<String> {
        let header =
            self.headers.iter().find(|(header_name, _)| header_name.eq_ignore_ascii_case(name));
        header.map(|(_, value)| crate::value::lossy(value))
    }

    /// Returns the response object for the policy.
    ///
    /// # Errors
    /// Returns an error if decoding needs more than `ctx` allows.
    pub fn to_value(&self, ctx: &dyn Context, request: &HttpRequest) -> Result<Value, Error> {
        let kind = self.header("content-type").unwrap_or_default();
        let body = if request.force_json || is_json(&kind) {
            ctx.charge((self.body.len() as u64).saturating_mul(8))?;
            read_json(&self.body)
        } else if request.force_yaml || is_yaml(&kind) {
            let text = crate::value::lossy(&self.body);
            match super::from_yaml(ctx, &text) {
                Err(error) if error.halt => return Err(error),
                read => read.ok(),
            }
        } else {
            None
        };
        let mut headers = std::collections::BTreeMap::<String, Vec<Value>>::new();
        for (name, value) in &self.headers {
            let value = Value::from(crate::value::lossy(value));
            headers.entry(name.to_ascii_lowercase()).or_default().push(value);
        }
        let headers: Object = headers
            .into_iter()
            .map(|(name, values)| (Value::from(name), Value::from(values)))
            .collect();
        Ok(Value::from(Object::from([
            (Value::from("body"), body.unwrap_or_default()),
            (Value::from("headers"), Value::from(headers)),
            (Value::from("raw_body"), Value::from(crate::value::lossy(&self.body))),
            (Value::from("status"), Value::from(self.status_text.as_str())),
            (Value::from("status_code"), Value::from(i64::from(self.status))),
        ])))
    }
}

fn is_yaml(kind: &str) -> bool {
    kind.contains("application/yaml") || kind.contains("application/x-yaml")
}

/// Reads JSON; anything after the first value is ignored, as in OPA.
fn read_json(body: &[u8]) -> Option<Value> {
    let read = |text: &[u8]| Value::from_json_bytes(text, JsonLimits::default()).ok();
    read(body).or_else(|| {
        let mut values = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
        read(values.next()?.ok()?.get().as_bytes())
    })
}

/// Returns `true` for `application/json` and `application/….+json`, with or without parameters.
fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kind = kind.strip_prefix("application/");
    kind.is_some_and(|kind| kind == "json" || (kind.ends_with("+json") && !kind.contains('/')))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    fn read(json: &str) -> Result<HttpRequest, Error> {
        HttpRequest::read(Value::from_json(json).unwrap().as_object().unwrap())
    }

    #[test]
    fn members_are_read_as_opa_reads_them() {
        let request = read(
            r#"{"method":"post","url":"\"http://x\"","headers":{"x-a":"1","HOST":"h"},
                "body":{"a":"<"},"timeout":"1.5s","enable_redirect":"true","max_retry_attempts":2,
                "cache_ignored_headers":["x-a"],"force_cache":true,
                "force_cache_duration_seconds":7}"#,
        );
        // A string isn't a boolean that Go would parse, since its quotes are part of the text.
        assert!(request.is_err());
        let request = read(
            r#"{"method":"post","url":"\"http://x\"","headers":{"x-a":"1","HOST":"h"},
                "body":{"a":"<"},"timeout":"1.5s","enable_redirect":true,"max_retry_attempts":2,
                "cache_ignored_headers":["x-a"],"force_cache":true,
                "force_cache_duration_seconds":7}"#,
        )
        .unwrap();
        assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", "http://x"));
        assert_eq!(request.body, br#"{"a":"\u003c"}"#);
        assert_eq!(request.timeout, Some(1_500_000_000));
        assert_eq!((request.tls.server_name.as_str(), request.retries), ("h", 2));
        assert_eq!(request.force_cache_seconds, Some(7));
        assert_eq!(request.key.get_str("headers").unwrap().to_json(), r#"{"HOST":"h"}"#);
    }

    #[test]
    fn the_content_type_decides_how_a_body_is_read() {
        for json in
            ["application/json; charset=utf-8", "application/vnd.x+json", "Application/JSON"]
        {
            assert!(is_json(json));
        }
        assert_eq!(read_json(b"{\"a\":1} and more").unwrap().to_json(), r#"{"a":1}"#);
        assert!(read_json(b"{\"a\":1").is_none() && read_json(b"").is_none());
        assert!(!is_json("text/json") && !is_json("application/jsonp") && !is_json("json"));
    }
}

//! The parameters of a request's address.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use rego_platform::Value;
use url::form_urlencoded;

use super::answer::Refusal;

/// The parameters of a request's address, in their order.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the parameters.
    pub fn of(uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default();
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// Returns the last value of a parameter.
    pub fn last(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().rev().filter(|(other, _)| other == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// Returns `true` for a parameter that is alone and has no value, or one of whose values is `true`.
    pub fn is_set(&self, name: &str) -> bool {
        let named: Vec<&str> = self
            .0
            .iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
            .collect();
        named == [""] || named.iter().any(|value| value.eq_ignore_ascii_case("true"))
    }

    pub fn is_pretty(&self) -> bool {
        self.is_set("pretty")
    }

    /// Returns the metrics of an evaluation if they are asked for.
    pub fn metrics(&self, metrics: Value) -> Option<Value> {
        Some(metrics).filter(|_| self.is_set("metrics") || self.is_set("instrument"))
    }
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Refusal;

    /// Reads them; refuses those of OPA's that change an answer and aren't supported.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let parameters = Self::of(&parts.uri);
        if parameters.last("explain").is_some_and(|mode| mode != "off") {
            let message = "explanations aren't supported: use `rego-platform eval`";
            return Err(Refusal::invalid(message));
        }
        if parameters.is_set("rule_labels") {
            return Err(Refusal::invalid("the labels of rules aren't supported"));
        }
        Ok(parameters)
    }
}

/// The units of a duration, with their lengths in seconds. Longer names come first.
const UNITS: [(&str, f64); 7] = [
    ("ms", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Reads the time that a client waits, as Go and the server of Kubernetes write it: `10s`, `1m30s`, `1.5s`.
pub(crate) fn timeout(text: &str) -> Result<Duration, Refusal> {
    let wrong = || {
        let shown = rego_platform::text::escape(text);
        Refusal::invalid(format!(
            "invalid parameter 'timeout': `{shown}`: expected a time such as `5s`"
        ))
    };
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit =
            UNITS.iter().find_map(|(name, length)| Some((after.strip_prefix(name)?, length)));
        let (after, length) = unit.ok_or_else(wrong)?;
        (rest, seconds) = (after, seconds + number * length);
    }
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if time.is_zero() { Err(wrong()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_go_writes_it() {
        for (text, millis) in [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("1.5s", 1500),
            ("250ms", 250),
            ("1h0m0s", 3_600_000),
        ] {
            let time = timeout(text).map_err(|refusal| refusal.reason());
            assert_eq!(time, Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "0s", "10", "s", "-1s", "1x", "1 s", "1..5s", "1e400s", "99999999999999999999h"]
        {
            assert!(timeout(text).is_err(), "{text}");
        }
    }
}

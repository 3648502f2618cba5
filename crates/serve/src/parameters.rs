//! The parameters of a request's address.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rego_platform::Value;
use url::form_urlencoded;

use super::answer::Refusal;

/// The parameters of a request's address, in their order.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
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
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let parameters = Self(pairs);
        if parameters.last("explain").is_some_and(|mode| mode != "off") {
            let message = "explanations aren't supported here; `rego-platform eval` gives them";
            return Err(Refusal::invalid(message));
        }
        if parameters.is_set("rule_labels") {
            return Err(Refusal::invalid("the labels of rules aren't supported"));
        }
        Ok(parameters)
    }
}

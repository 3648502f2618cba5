//! The parameters of a request's address.

use axum::http::Uri;
use url::form_urlencoded;

use super::answer::Refusal;

/// The parameters of a request's address, in their order.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads them; refuses those of OPA's that change an answer and aren't supported.
    pub fn of(uri: &Uri) -> Result<Self, Refusal> {
        let query = uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let parameters = Self(pairs);
        if parameters.last("explain").is_some_and(|mode| mode != "off") {
            let message =
                "explanations aren't supported here; `rego-platform eval --explain` gives them";
            return Err(Refusal::invalid(message));
        }
        if parameters.is_set("rule_labels") {
            return Err(Refusal::invalid("the labels of rules aren't supported"));
        }
        Ok(parameters)
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
}

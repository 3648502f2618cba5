//! The control plane's description of itself (interface 1.6).

/// The answer to `GET /infoz` (interface 1.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Infoz {
    /// The address where people log in.
    #[serde(rename = "loginURL")]
    pub login_url: String,
    /// The control plane's version.
    pub version: String,
    /// The version of the chart that it was installed from.
    #[serde(rename = "chartVersion")]
    pub chart_version: String,
    /// Every other field of the answer.
    #[serde(flatten)]
    pub more: std::collections::BTreeMap<String, serde_json::Value>,
}

impl Infoz {
    /// Returns `true` if none of the documented fields is there.
    pub(super) fn is_empty(&self) -> bool {
        [&self.login_url, &self.version, &self.chart_version].into_iter().all(String::is_empty)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn no_field_is_lost() {
        let text =
            r#"{"loginURL":"l","version":"v","chartVersion":"","restricted":true,"n":{"x":1}}"#;
        let infoz: Infoz = serde_json::from_str(text).unwrap();
        let given: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&infoz).unwrap(), given);
        let other: Infoz = serde_json::from_str(r#"{"other": 1}"#).unwrap();
        assert!(other.is_empty() && !infoz.is_empty());
    }
}

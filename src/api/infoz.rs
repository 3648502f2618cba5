//! What the control plane says of itself (interface 1.6).

/// What `GET /infoz` says (interface 1.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Infoz {
    /// Where people log in.
    #[serde(rename = "loginURL")]
    pub login_url: String,
    /// The control plane's version.
    pub version: String,
    /// The version of the chart that it was installed from.
    #[serde(rename = "chartVersion")]
    pub chart_version: String,
}

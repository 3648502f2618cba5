//! The addresses of the service and the paths below them.
//!
//! Owns the table of paths (defaults and overrides) and builds request URLs from it. Requests and
//! answers belong to the functions.

use std::collections::BTreeMap;

use url::Url;

use crate::http::origin::is_exposed;
use crate::text::{did_you_mean, escape, shorten};
use crate::{Error, setting};

/// One of the service's two addresses (interface section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// Organizations, workflows, discovery, artifacts.
    ControlPlane,
    /// Evidence, compliance, agents and the other resources.
    Backend,
}

/// A row of the table of endpoints: an operation's name, its address and its default path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    pub name: &'static str,
    pub api: Api,
    pub path: &'static str,
}

macro_rules! endpoints {
    ($($ident:ident: $name:literal, $api:ident, $path:literal;)*) => {
        $(pub const $ident: Endpoint =
            Endpoint { name: $name, api: Api::$api, path: $path };)*
        const ALL: &[Endpoint] = &[$($ident),*];
    };
}

endpoints! {
    DISCOVER: "discover", ControlPlane, "/discover/{digest}";
    DOWNLOAD: "download", ControlPlane, "/download/{digest}";
    INFOZ: "infoz", ControlPlane, "/infoz";
    EVIDENCE: "evidence", Backend, "/v1/evidence";
    PROJECT_COMPLIANCE: "project_compliance", Backend, "/v1/compliance/project";
    EVALUATE_EVIDENCE: "evaluate_evidence", Backend, "/v1/agents/evaluate-evidence";
    OPERATION: "operation", Backend, "/v1/operations/{operation_id}";
    PRODUCTS: "products", Backend, "/v1/products";
    PRODUCT_VERSION: "product_version", Backend, "/v1/products/{product_id}/versions/{version_id}";
    PROJECTS: "projects", Backend, "/v1/projects";
    ENVIRONMENTS: "environments", Backend, "/v1/environments";
    APPROVE_ASSESSMENT: "approve_assessment", Backend,
        "/v1/assessments/revisions/{revision_id}/approve";
    PRODUCT_COMPLIANCE: "product_compliance", Backend, "/v1/compliance/product";
    FINDINGS: "findings", Backend, "/v1/findings";
    EFFECTIVE_ASSESSMENTS: "effective_assessments", Backend, "/v1/assessments/list-effective";
    OPENAPI: "openapi", Backend, "/openapi.yaml";
    OPENAPI_CONTROLPLANE: "openapi_controlplane", ControlPlane, "/openapi.yaml";
}

/// The service's addresses and paths, validated.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    control_plane: Option<Url>,
    backend: Option<Url>,
    /// The control plane's gRPC address, used in the absence of its HTTP address.
    #[cfg(feature = "grpc")]
    grpc: Option<Url>,
    /// The content store's gRPC address, used with `grpc`.
    #[cfg(feature = "grpc")]
    store: Option<Url>,
    overrides: BTreeMap<&'static str, String>,
}

impl Endpoints {
    /// Sets another path for an endpoint.
    pub fn set_path(&mut self, name: &str, path: &str) -> Result<(), Error> {
        let endpoint = ALL.iter().find(|e| e.name == name).ok_or_else(|| unknown(name))?;
        check_path(endpoint, path)?;
        self.overrides.insert(endpoint.name, path.to_owned());
        Ok(())
    }

    /// Sets the HTTP address of an API.
    pub fn set_http(&mut self, api: Api, text: &str, insecure: bool) -> Result<(), Error> {
        let (name, address) = match api {
            Api::ControlPlane => ("control plane", &mut self.control_plane),
            Api::Backend => ("platform backend", &mut self.backend),
        };
        *address = Some(parse_address(name, text, insecure)?);
        Ok(())
    }

    /// Sets the control plane's gRPC address, in the form `host:port`.
    #[cfg(feature = "grpc")]
    pub fn set_grpc(&mut self, text: &str, plain_text: bool, insecure: bool) -> Result<(), Error> {
        self.grpc = Some(parse_host_and_port("control plane", text, plain_text, insecure)?);
        Ok(())
    }

    /// Sets the content store's gRPC address, in the form `host:port`.
    #[cfg(feature = "grpc")]
    pub fn set_store(&mut self, text: &str, plain_text: bool, insecure: bool) -> Result<(), Error> {
        self.store = Some(parse_host_and_port("content store", text, plain_text, insecure)?);
        Ok(())
    }

    /// Returns the control plane's gRPC address, unless its HTTP address is set, which takes precedence.
    #[cfg(feature = "grpc")]
    pub fn grpc(&self) -> Option<&Url> {
        self.grpc.as_ref().filter(|_| self.control_plane.is_none())
    }

    /// Returns the content store's gRPC address, if the control plane's is used.
    #[cfg(feature = "grpc")]
    pub fn store(&self) -> Option<&Url> {
        self.store.as_ref().filter(|_| self.grpc().is_some())
    }

    /// Returns the addresses that are used.
    pub fn addresses(&self) -> impl Iterator<Item = &Url> {
        let apis = [Api::ControlPlane, Api::Backend].map(|api| self.address(api));
        #[cfg(feature = "grpc")]
        let apis = apis.into_iter().chain([self.store()]);
        apis.into_iter().flatten()
    }

    /// Returns the address where an API's functions are called.
    pub fn address(&self, api: Api) -> Option<&Url> {
        match api {
            #[cfg(feature = "grpc")]
            Api::ControlPlane => self.control_plane.as_ref().or(self.grpc.as_ref()),
            #[cfg(not(feature = "grpc"))]
            Api::ControlPlane => self.control_plane.as_ref(),
            Api::Backend => self.backend.as_ref(),
        }
    }

    /// Returns the HTTP address of an API.
    fn http(&self, api: Api) -> Option<&Url> {
        match api {
            Api::ControlPlane => self.control_plane.as_ref(),
            Api::Backend => self.backend.as_ref(),
        }
    }

    /// Returns the error of a call to an API whose address isn't set.
    pub fn unset(&self, api: Api, product: &crate::Product) -> Error {
        let (what, suffix, setting, why) = match api {
            Api::ControlPlane => (
                "control plane",
                "CONTROLPLANE_URL",
                setting::CONTROL_PLANE,
                "this call needs HTTP, not gRPC: ",
            ),
            Api::Backend => (
                "platform backend",
                "BASE_URL",
                setting::BACKEND,
                "for a self-hosted control plane, ",
            ),
        };
        let why = if self.address(Api::ControlPlane).is_some() { why } else { "" };
        let hint = format!("{why}set the environment variable `{}`", product.env(suffix));
        Error::configuration(format!("missing address of the {what}"))
            .with_hint(hint)
            .by_setting(setting)
    }

    /// Returns the URL of `endpoint`, with each placeholder replaced by one of `values`, as one
    /// path segment each.
    pub fn url(
        &self,
        endpoint: Endpoint,
        values: &[impl AsRef<str>],
        product: &crate::Product,
    ) -> Result<Url, Error> {
        let base = self.http(endpoint.api).ok_or_else(|| self.unset(endpoint.api, product))?;
        let path = self.overrides.get(endpoint.name).map_or(endpoint.path, String::as_str);
        let mut url = base.clone();
        let mut values = values.iter();
        {
            let mut segments = url
                .path_segments_mut()
                .map_err(|()| Error::configuration("no path in the service's address"))?;
            segments.pop_if_empty();
            for segment in path.split('/').skip(1) {
                if segment.starts_with('{') && segment.ends_with('}') {
                    segments.push(path_segment(values.next().map_or("", AsRef::as_ref))?);
                } else {
                    segments.push(segment);
                }
            }
        }
        Ok(url)
    }
}

/// Returns the value of a placeholder if it can be one segment; `.` and `..` can't.
fn path_segment(value: &str) -> Result<&str, Error> {
    // Encoded dots count as dots to URL parsers, and `push` drops bare ones.
    let dots = value.replace("%2e", ".").replace("%2E", ".");
    if value.is_empty() || dots == "." || dots == ".." || value.chars().any(char::is_control) {
        return Err(Error::protocol(format!("invalid path segment: `{}`", shorten(value, 80))));
    }
    Ok(value)
}

fn unknown(name: &str) -> Error {
    let error = Error::configuration(format!("unknown endpoint `{}`", escape(name)));
    let all: Vec<_> = ALL.iter().map(|e| format!("`{}`", e.name)).collect();
    let all = format!("use one of {}", all.join(", "));
    error.with_hint(did_you_mean(name, ALL.iter().map(|e| e.name), all))
}

fn check_path(endpoint: &Endpoint, path: &str) -> Result<(), Error> {
    let bad = |why: &str| {
        Err(Error::configuration(format!(
            "the path `{}` of endpoint `{}` {why}",
            escape(path),
            endpoint.name
        ))
        .with_hint(format!("write a path such as `{}`, without a host", endpoint.path)))
    };
    let Some(rest) = path.strip_prefix('/') else { return bad("doesn't start with `/`") };
    if path.chars().any(|c| c.is_control() || matches!(c, '?' | '#' | '\\' | '%')) {
        return bad("has a reserved character");
    }
    if rest.split('/').any(|s| s.is_empty() || s == "." || s == "..") {
        return bad("has an empty segment, `.` or `..`");
    }
    let placeholders = |path: &str| -> Vec<String> {
        path.split('/').filter(|s| s.contains(['{', '}'])).map(str::to_owned).collect()
    };
    if placeholders(path) != placeholders(endpoint.path) {
        return bad(
            "lacks the placeholders of the default path, each a whole segment, in their order",
        );
    }
    Ok(())
}

fn parse_address(name: &str, text: &str, insecure: bool) -> Result<Url, Error> {
    // The text isn't repeated: it may contain credentials.
    let bad = |why: &str| {
        Error::configuration(format!("the address of the {name} {why}"))
            .with_hint("write an address such as `https://api.example.com`")
    };
    if text.trim().is_empty() {
        return Err(bad("is empty"));
    }
    let url = Url::parse(text.trim());
    // `localhost:8080` parses: its host looks like a scheme.
    let lacks_scheme = !text.contains("://");
    if lacks_scheme {
        return Err(bad("has no scheme").with_hint("add a scheme, such as `https://`"));
    }
    let url = url.map_err(|error| bad(&format!("isn't a valid URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("has a user name or password")
            .with_hint("remove the credentials, and set the token"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("is neither https nor http"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has a query or a fragment"));
    }
    if !insecure && is_exposed(&url) {
        return Err(bad("is plain HTTP, which exposes the token")
            .with_hint("use https")
            .by_setting(setting::PLAIN_HTTP));
    }
    Ok(url)
}

/// Parses the gRPC address of `name`, `host:port`. Without `plain_text` it is TLS.
#[cfg(feature = "grpc")]
fn parse_host_and_port(
    name: &str,
    text: &str,
    plain_text: bool,
    insecure: bool,
) -> Result<Url, Error> {
    let bad = |why: &str| {
        let message = format!("the gRPC address of the {name} {why}");
        Error::configuration(message).with_hint("write an address such as `api.example.com:443`")
    };
    let text = text.trim();
    let scheme = if plain_text { "http" } else { "https" };
    let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port != 0)
    });
    if !has_port {
        return Err(bad("has no port"));
    }
    let url = Url::parse(&format!("{scheme}://{text}"))
        .ok()
        .filter(|url| url.path() == "/" && !text.contains(['/', '?', '#', '@', '\\']))
        .ok_or_else(|| bad("isn't `host:port`"))?;
    if !insecure && is_exposed(&url) {
        return Err(bad("is plain text, which exposes the token")
            .with_hint("use TLS")
            .by_setting(setting::PLAIN_HTTP));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ErrorKind;
    use crate::Product;

    fn endpoints(base: &str) -> Result<Endpoints, Error> {
        let mut endpoints = Endpoints::default();
        endpoints.set_http(Api::ControlPlane, base, false)?;
        endpoints.set_http(Api::Backend, base, false)?;
        Ok(endpoints)
    }

    #[test]
    fn the_reference_has_every_path() {
        let page = include_str!("../../../../docs/reference/configuration.md");
        for endpoint in ALL {
            let api = match endpoint.api {
                Api::ControlPlane => "control plane",
                Api::Backend => "backend",
            };
            let row = format!("| `{}` | {api} | `{}` |\n", endpoint.name, endpoint.path);
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn placeholders_stay_one_segment() {
        let endpoints = endpoints("https://api.example.com/prefix/").unwrap();
        let url = |id: &str| endpoints.url(OPERATION, &[id], &Product::default());
        assert_eq!(
            url("a/../b?c#d%2fé\\").unwrap().as_str(),
            "https://api.example.com/prefix/v1/operations/a%2F..%2Fb%3Fc%23d%252f%C3%A9%5C"
        );
        for bad in ["", ".", "..", "%2e%2E", ".%2e", "a\nb"] {
            assert_eq!(url(bad).unwrap_err().kind(), ErrorKind::Protocol, "{bad}");
        }
    }

    #[test]
    fn placeholders_are_filled_in_their_order() {
        let endpoints = endpoints("https://a.example").unwrap();
        let url = |ids: &[&str]| endpoints.url(PRODUCT_VERSION, ids, &Product::default());
        let full = url(&["a/b", "c"]).unwrap();
        assert_eq!(full.as_str(), "https://a.example/v1/products/a%2Fb/versions/c");
        assert!(url(&["a"]).is_err());
    }

    #[test]
    fn addresses_are_checked_and_credentials_never_repeated() {
        for bad in [
            "",
            "  ",
            "nonsense",
            "ftp://example.com",
            "https://user:canary@example.com",
            "https://example.com?canary=1",
            "https://example.com#canary",
            "http://example.com",
            "http://localhost.example.com",
            "http://[::2]",
        ] {
            let error = endpoints(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{bad}");
            assert!(!error.report().contains("canary"));
        }
        for good in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://localhost",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(endpoints(good).is_ok(), "{good}");
        }
        let mut insecure = Endpoints::default();
        assert!(insecure.set_http(Api::Backend, "http://example.com", true).is_ok());
    }

    #[test]
    fn overrides_are_paths_only() {
        let set = |name: &str, path: &str| {
            let mut endpoints = endpoints("https://a.example")?;
            endpoints.set_path(name, path).map(|()| endpoints)
        };
        let good = set("discover", "/api/x/{digest}").unwrap();
        let url = good.url(DISCOVER, &["sha256:ab"], &Product::default()).unwrap();
        assert_eq!(url.as_str(), "https://a.example/api/x/sha256:ab");
        for bad in [
            "x/{digest}",
            "//evil.example/{digest}",
            "/x",
            "/x/a{digest}",
            "/x/{digest}/{digest}",
            "/../{digest}",
            "/x?{digest}",
            "https://evil.example/{digest}",
        ] {
            assert!(set("discover", bad).is_err(), "{bad}");
        }
        assert!(set("discoverr", "/x").unwrap_err().hint().unwrap().contains("discover"));
    }
}

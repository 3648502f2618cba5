//! Origins: the scope of credentials, and loopback addresses.

use std::net::IpAddr;

use reqwest::header::{self, HeaderMap, HeaderName};
use url::{Host, Url};

use crate::text::escape;

/// The headers that belong to one origin.
const CREDENTIALS: [HeaderName; 5] = [
    header::AUTHORIZATION,
    header::WWW_AUTHENTICATE,
    header::COOKIE,
    HeaderName::from_static("cookie2"),
    header::HOST,
];

/// Removes the headers that belong to the origin of `from`, unless `to` has the same origin.
pub fn strip_credentials(headers: &mut HeaderMap, from: &Url, to: &Url) {
    if from.origin() != to.origin() {
        for name in &CREDENTIALS {
            headers.remove(name);
        }
    }
}

/// Returns the origin of a URL for messages: paths and queries can contain signatures.
pub fn origin(url: &Url) -> String {
    escape(&url.origin().ascii_serialization())
}

/// Returns `true` if `url` stays on this machine. `localhost` does: connections resolve it
/// themselves.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).to_canonical().is_loopback(),
        None => false,
    }
}

/// Returns `true` if a third party could read a request to `url`: without TLS, beyond this machine.
pub fn is_exposed(url: &Url) -> bool {
    url.scheme() != "https" && !is_loopback(url)
}

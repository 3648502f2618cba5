//! Proxies, and the hosts without one.
//!
//! Owns that a proxy is for https alone, so that it never sees a token, and never for loopback.

use reqwest::{NoProxy, Proxy};
use url::Url;

use crate::{Error, environment};

/// The hosts that are never proxied, in the form of `NO_PROXY`.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1,::ffff:127.0.0.0/104";

/// Returns the proxy at an address, except for the hosts of `no_proxy`.
///
/// # Errors
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for an address that isn't a URL.
pub fn https(address: &str, no_proxy: &str) -> Result<Proxy, Error> {
    let proxy = parse(address).and_then(|url| Proxy::https(url).ok());
    let proxy = proxy.ok_or_else(|| {
        // The text isn't repeated: it may contain a password.
        Error::configuration("invalid URL of the proxy")
            .with_hint("set `HTTPS_PROXY` to a URL such as `http://proxy.example.com:3128`")
    })?;
    Ok(proxy.no_proxy(NoProxy::from_string(&format!("{no_proxy},{LOOPBACK}"))))
}

/// Returns the proxy of the environment's variables.
pub fn from_environment() -> Result<Option<Proxy>, Error> {
    let Some(address) = environment::proxy()? else { return Ok(None) };
    let except = environment::no_proxy()?.unwrap_or_default();
    https(&address, &except).map(Some)
}

/// Returns the host and port of a proxy's address, for a hint.
pub fn host_and_port(address: &str) -> Option<String> {
    let url = parse(address)?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// Parses a proxy's address, which is often written as `host:port`.
fn parse(text: &str) -> Option<Url> {
    let text = text.trim();
    let url =
        if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    url.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

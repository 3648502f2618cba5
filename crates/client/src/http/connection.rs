//! Connections: HTTP clients without automatic behavior, and the classification of their failures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::{AlertDescription, ClientConfig};

use super::retry::Failed;
use super::{proxy, tls};
use crate::{Error, ErrorKind, setting};

/// The time for a connection to a server other than the service.
const CONNECT: Duration = Duration::from_secs(5);

/// The time without a byte after which a connection to such a server counts as broken.
const IDLE: Duration = Duration::from_secs(10);

/// The addresses of `localhost`, independent of the resolver.
const LOCALHOST: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];

/// Returns the builder of a client without redirects, retries, decompression and proxies.
pub fn bare_client(tls: ClientConfig) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Whatever features of the library the host's build enables.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .user_agent(concat!("rego-platform/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
}

/// Returns the builder of a client for servers that the user has named, through the proxy if there is one.
pub fn named_client(
    tls: ClientConfig,
    connect_timeout: Duration,
    idle_timeout: Duration,
    proxy: Option<reqwest::Proxy>,
) -> ClientBuilder {
    let builder = bare_client(tls)
        .connect_timeout(connect_timeout)
        .read_timeout(idle_timeout)
        .resolve_to_addrs("localhost", &LOCALHOST);
    match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder,
    }
}

/// Builds a client.
pub fn build(builder: ClientBuilder) -> Result<Client, Error> {
    builder.build().map_err(|error| {
        Error::configuration("can't set up the HTTP client")
            .with_source(error.without_url().to_string())
    })
}

/// Returns a client for servers besides the service. It trusts further authorities (PEM) and uses the
/// environment's proxy.
pub fn outside_client(authorities: &[Vec<u8>]) -> Result<Client, Error> {
    let authorities: Result<Vec<_>, _> =
        authorities.iter().map(|pem| tls::authorities(pem)).collect();
    let provider = tls::crypto_provider(None)?;
    let tls = tls::system_config(provider, authorities?.concat(), false, &tls::HTTP_2_OR_1)?;
    build(named_client(tls, CONNECT, IDLE, proxy::from_environment()?))
}

/// Classifies a broken exchange. The URL is left out of the message: it may be signed.
pub fn failed(error: reqwest::Error, origin: &str, proxy: Option<&str>) -> Failed {
    let error = error.without_url();
    let (unsent, untrusted) = (error.is_connect(), is_certificate(&error));
    let other_protocol = other_protocol(&error);
    let broken = if error.is_builder() {
        Error::configuration(format!("can't create the request for {origin}"))
    } else if untrusted {
        Error::unavailable(format!("untrusted certificate of {origin}"))
    } else if unsent {
        Error::unavailable(format!("can't connect to {origin}"))
    } else if error.is_timeout() {
        Error::timed_out(format!("timed out waiting for {origin}"))
    } else {
        Error::unavailable(format!("connection lost before the response of {origin} was complete"))
    };
    // A timeout has waited long enough, and a server won't have another certificate or protocol the next
    // time.
    let retryable =
        broken.kind() == ErrorKind::Unavailable && !untrusted && other_protocol.is_none();
    let broken = broken.with_source(Cause::of(&error));
    let error = match (other_protocol, proxy) {
        (Some(hint), _) => broken.with_hint(hint),
        (None, _) if untrusted => broken
            .with_hint("name the certificate authority, or correct the certificate")
            .by_setting(setting::CERTIFICATE_AUTHORITIES),
        (None, Some(proxy)) if unsent => {
            broken.with_hint(format!("check the proxy `{proxy}`, the address and the network"))
        }
        (None, None) if unsent => broken.with_hint("check the address and the network"),
        _ => broken,
    };
    Failed { retryable, unsent: unsent && !untrusted, ..Failed::permanent(error) }
}

/// The message of the innermost cause. The layers above repeat each other, and some contain the URL.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    pub fn of(error: &reqwest::Error) -> Self {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Self(crate::text::shorten(&cause.to_string(), 300))
    }
}

/// Returns a hint if the server uses a different protocol.
pub fn other_protocol(error: &reqwest::Error) -> Option<&'static str> {
    match caused_by(error) {
        Some(rustls::Error::InvalidMessage(_)) => {
            return Some("check the address: the server doesn't use TLS");
        }
        Some(
            rustls::Error::NoApplicationProtocol
            | rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol),
        ) => return Some("check the address: the server doesn't support HTTP/2, which gRPC needs"),
        _ => {}
    }
    let answer = caused_by::<hyper::Error>(error)?;
    answer.is_parse().then_some(
        "check the address: the server doesn't use HTTP/1.1; set the HTTP address, not the gRPC address",
    )
}

fn is_certificate(error: &reqwest::Error) -> bool {
    matches!(caused_by(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// Returns the outermost cause of this type.
pub(super) fn caused_by<T: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref() {
            return Some(found);
        }
        // I/O errors, in which others are wrapped several deep, hide those from `source`.
        cause = match next.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => next.source(),
        };
    }
    None
}

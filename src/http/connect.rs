//! One hop: the connection, whom it trusts, and through which proxy it goes.
//!
//! Owns turning a checked URL into a client that can connect to nothing but the addresses that
//! were checked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::{Failure, Options};
use crate::rego::builtins::{HttpPem, HttpTls};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// A client for one hop.
pub(super) fn client(
    options: &Options,
    tls: &HttpTls,
    url: &Url,
    addresses: &[SocketAddr],
) -> Result<reqwest::Client, Failure> {
    let failed = |error: reqwest::Error| {
        Failure::Request(format!("the HTTP client can't be set up: {}", error.without_url()))
    };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(config(options, tls)?)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("rego-platform/", env!("CARGO_PKG_VERSION")))
        .no_proxy();
    match proxy(options, url)? {
        Some(proxy) => builder = builder.proxy(proxy),
        None => {
            if let Some(host) = url.domain() {
                builder = builder.resolve_to_addrs(host, addresses);
            }
        }
    }
    builder.build().map_err(failed)
}

/// Whether a URL is asked through the proxy: only https is, and never what is local.
pub(super) fn is_proxied(options: &Options, url: &Url) -> bool {
    options.proxy.is_some() && url.scheme() == "https" && !is_excepted(options, url)
}

fn proxy(options: &Options, url: &Url) -> Result<Option<reqwest::Proxy>, Failure> {
    let Some(text) = options.proxy.as_deref().filter(|_| is_proxied(options, url)) else {
        return Ok(None);
    };
    // `host:port` is how many write it.
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    // Its text isn't repeated: it may hold a password.
    reqwest::Proxy::https(text)
        .map(Some)
        .map_err(|_| Failure::Request("the address of the proxy is no URL".to_owned()))
}

/// Whether a URL's host is one that `NO_PROXY` names, or loopback.
fn is_excepted(options: &Options, url: &Url) -> bool {
    let (name, address) = match url.host() {
        Some(url::Host::Domain(name)) => (name.to_ascii_lowercase(), None),
        Some(url::Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::V4(address))),
        Some(url::Host::Ipv6(address)) => {
            let address = IpAddr::V6(address).to_canonical();
            (address.to_string(), Some(address))
        }
        None => return true,
    };
    if name == "localhost" || address.is_some_and(|it| it.is_loopback()) {
        return true;
    }
    let list = options.no_proxy.as_deref().unwrap_or_default();
    list.split(',').map(str::trim).filter(|it| !it.is_empty()).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let (Some(address), Some((network, bits))) = (address, entry.split_once('/')) {
            let network = network.parse().ok().zip(bits.parse().ok());
            return network.is_some_and(|(network, bits)| within(network, bits, address));
        }
        let entry = entry.trim_start_matches("*.").trim_start_matches('.');
        name == entry || name.strip_suffix(entry).is_some_and(|before| before.ends_with('.'))
    })
}

fn within(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) if bits <= 32 => {
            let differ = u32::from(a) ^ u32::from(b);
            bits == 0 || differ >> (32 - bits) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) if bits <= 128 => {
            let differ = u128::from(a) ^ u128::from(b);
            bits == 0 || differ >> (128 - bits) == 0
        }
        _ => false,
    }
}

// --- TLS -------------------------------------------------------------------------------------

fn tls_failure(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Request(format!("{what}: {error}"))
}

/// PEM text; files and variables of this machine are not read for a policy.
fn inline<'p>(pem: &'p HttpPem, name: &str) -> Result<&'p str, Failure> {
    if pem.file.is_empty() && pem.variable.is_empty() {
        return Ok(&pem.text);
    }
    let kind = if pem.file.is_empty() { "env_variable" } else { "file" };
    Err(Failure::Refused(format!("`{name}_{kind}` is not supported: give the PEM text as `{name}`")))
}

fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = read.map_err(|error| tls_failure(what, &error))?;
    if certificates.is_empty() {
        return Err(Failure::Request(format!("{what}: could not append certificates")));
    }
    Ok(certificates)
}

fn config(options: &Options, tls: &HttpTls) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_failure("TLS can't be set up", &error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier(options, tls, &provider)?);
    let certificate = inline(&tls.certificate, "tls_client_cert")?;
    let key = inline(&tls.key, "tls_client_key")?;
    let mut config = if certificate.is_empty() || key.is_empty() {
        builder.with_no_client_auth()
    } else {
        let chain = certificates(certificate, "tls_client_cert")?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|error| tls_failure("tls_client_key", &error))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| tls_failure("tls_client_cert", &error))?
    };
    // A server by another name is asked in HTTP/1.1, where the `Host` is a header of its own.
    config.alpn_protocols = if tls.server_name.is_empty() {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    Ok(config)
}

fn verifier(
    options: &Options,
    tls: &HttpTls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
    if tls.insecure {
        return Ok(Arc::new(Unchecked(Arc::clone(provider))));
    }
    let given = inline(&tls.ca, "tls_ca_cert")?;
    if !given.is_empty() && !tls.system_roots {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in certificates(given, "tls_ca_cert")? {
            roots.add(certificate).map_err(|error| tls_failure("tls_ca_cert", &error))?;
        }
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::clone(provider),
        );
        let verifier = verifier.build().map_err(|error| tls_failure("tls_ca_cert", &error))?;
        return Ok(verifier);
    }
    let mut extra = Vec::new();
    for pem in &options.ca_certificates {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        extra.extend(read.map_err(|error| tls_failure("the CA certificate can't be read", &error))?);
    }
    if !given.is_empty() {
        extra.extend(certificates(given, "tls_ca_cert")?);
    }
    let verifier =
        rustls_platform_verifier::Verifier::new_with_extra_roots(extra, Arc::clone(provider));
    let verifier =
        verifier.map_err(|error| tls_failure("the certificate store can't be set up", &error))?;
    Ok(Arc::new(verifier))
}

/// Takes every certificate, for `tls_insecure_skip_verify`; signatures are still checked.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn what_is_local_or_excepted_is_asked_directly() {
        let options = Options {
            proxy: Some("proxy:3128".into()),
            no_proxy: Some("corp.test, .inner.test,10.0.0.0/8".into()),
            ..Options::default()
        };
        let proxied = |url: &str| is_proxied(&options, &Url::parse(url).unwrap());
        assert!(proxied("https://example.com/") && proxied("https://11.0.0.1/"));
        for direct in [
            "http://example.com/",
            "https://corp.test/",
            "https://a.corp.test/",
            "https://b.inner.test/",
            "https://10.9.8.7/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://localhost/",
        ] {
            assert!(!proxied(direct), "{direct}");
        }
    }
}

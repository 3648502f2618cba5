//! Connections to a host: the addresses that are allowed, and the certificates that are trusted.
//!
//! Owns the HTTP clients. Each is for one host and port, looks that host up itself, and connects to
//! no address that it hasn't checked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolving};
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::allow::Grant;
use super::{AllowedHosts, Failure, Options};
use crate::client::certificates::SystemVerifier;
use rego::internal::builtins::{HttpPem, HttpTls};

/// The time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The time that an idle connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(5);

/// The number of clients that are kept.
const CLIENTS: usize = 64;

/// The limit on a response's headers over HTTP/2, in bytes; over HTTP/1.1 it is 100 headers.
const HEADERS: u32 = 256 << 10;

/// Looks up the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String, u16) -> LookupFuture + Send + Sync>;
type LookupFuture = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;

/// Returns the system's resolver.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
    })
}

/// The target of a connection: a host as it is in a URL, and a port that is allowed there.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) host: url::Host,
    pub(super) port: u16,
    pub(super) grant: Grant,
}

/// The error of a host none of whose addresses may be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("disallowed host: {0} resolves to addresses that may not be reached")]
pub(super) struct OutOfReach(pub(super) String);

impl Target {
    /// Returns its addresses that may be connected to.
    async fn addresses(
        &self,
        allowed: &AllowedHosts,
        lookup: &Lookup,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found = match &self.host {
            url::Host::Ipv4(address) => vec![SocketAddr::from((*address, self.port))],
            url::Host::Ipv6(address) => vec![SocketAddr::from((*address, self.port))],
            url::Host::Domain(name) => lookup(name.clone(), self.port)
                .await
                .map_err(|error| std::io::Error::other(format!("lookup {name}: {error}")))?,
        };
        let reached = found.into_iter().map(|address| SocketAddr::new(address.ip(), self.port));
        let reached: Vec<_> = reached
            .filter(|address| allowed.reaches(self.grant, address.ip(), self.port))
            .collect();
        if reached.is_empty() {
            return Err(Box::new(OutOfReach(self.host.to_string())));
        }
        Ok(reached)
    }
}

/// Resolves every name that a client asks for to the checked addresses of its one target.
struct Pinned {
    target: Target,
    allowed: AllowedHosts,
    lookup: Lookup,
}

impl reqwest::dns::Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let (target, allowed) = (self.target.clone(), self.allowed.clone());
        let lookup = Arc::clone(&self.lookup);
        Box::pin(async move {
            let addresses = target.addresses(&allowed, &lookup).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The key of a client: scheme, host, port, and TLS settings.
type ClientKey = (String, String, u16, HttpTls);

/// The clients created so far.
#[derive(Default)]
pub(super) struct Clients {
    made: Mutex<HashMap<ClientKey, reqwest::Client>>,
    /// The verifier with the system's certificates.
    system_verifier: Mutex<Option<Arc<dyn ServerCertVerifier>>>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clients")
    }
}

impl Clients {
    /// Returns a client for one target.
    pub(super) fn get(
        &self,
        options: &Options,
        tls: &HttpTls,
        url: &Url,
        target: &Target,
    ) -> Result<reqwest::Client, Failure> {
        if let url::Host::Ipv4(_) | url::Host::Ipv6(_) = &target.host {
            // Connectors don't resolve a host that is an address already.
            let ip = match target.host {
                url::Host::Ipv4(address) => address.into(),
                url::Host::Ipv6(address) => address.into(),
                url::Host::Domain(_) => std::net::IpAddr::from([0, 0, 0, 0]),
            };
            if !options.allowed.reaches(target.grant, ip, target.port) {
                return Err(Failure::Disallowed(OutOfReach(target.host.to_string()).to_string()));
            }
        }
        let key = (url.scheme().to_owned(), target.host.to_string(), target.port, tls.clone());
        if let Some(client) = lock(&self.made).get(&key) {
            return Ok(client.clone());
        }
        let client = self.make(options, tls, target)?;
        let mut made = lock(&self.made);
        if made.len() >= CLIENTS {
            made.clear();
        }
        made.insert(key, client.clone());
        Ok(client)
    }

    fn make(
        &self,
        options: &Options,
        tls: &HttpTls,
        target: &Target,
    ) -> Result<reqwest::Client, Failure> {
        let failed = |error: reqwest::Error| {
            Failure::Request(format!("the HTTP client can't be set up: {}", error.without_url()))
        };
        let config = self.config(options, tls)?;
        let pinned = Pinned {
            target: target.clone(),
            allowed: options.allowed.clone(),
            lookup: Arc::clone(&options.lookup),
        };
        // A proxy would resolve the host itself, and the checks here would be void.
        crate::client::bare_client(config)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(16)
            .http2_max_header_list_size(HEADERS)
            .dns_resolver(Arc::new(pinned))
            .build()
            .map_err(failed)
    }

    fn config(&self, options: &Options, tls: &HttpTls) -> Result<ClientConfig, Failure> {
        // The host's mistake, which a policy's `raise_error` mustn't hide.
        let provider = crate::client::crypto_provider(None).map_err(Failure::Halt)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_failure("TLS can't be set up", &error))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(options, tls, &provider)?);
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
        // For a server with another name HTTP/1.1 is used, where `Host` is a header of its own.
        config.alpn_protocols = if tls.server_name.is_empty() {
            vec![b"h2".to_vec(), b"http/1.1".to_vec()]
        } else {
            vec![b"http/1.1".to_vec()]
        };
        Ok(config)
    }

    fn verifier(
        &self,
        options: &Options,
        tls: &HttpTls,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
        if tls.insecure {
            return Ok(Arc::new(AcceptAnyCertificate(Arc::clone(provider))));
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
        if given.is_empty()
            && let Some(verifier) = &*lock(&self.system_verifier)
        {
            return Ok(Arc::clone(verifier));
        }
        let mut extra = Vec::new();
        for pem in &options.ca_certificates {
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            let read = read.map_err(|e| tls_failure("the CA certificate can't be read", &e))?;
            extra.extend(read);
        }
        if !given.is_empty() {
            extra.extend(certificates(given, "tls_ca_cert")?);
        }
        let provider = Arc::clone(provider);
        let verifier = SystemVerifier::new(provider, extra)
            .map_err(|error| tls_failure("the CA certificate can't be read", &error))?;
        let verifier: Arc<dyn ServerCertVerifier> = Arc::new(verifier);
        if given.is_empty() {
            *lock(&self.system_verifier) = Some(Arc::clone(&verifier));
        }
        Ok(verifier)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tls_failure(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Request(format!("{what}: {error}"))
}

/// Returns the PEM text; files and environment variables of this machine aren't read for a policy.
fn inline<'p>(pem: &'p HttpPem, name: &str) -> Result<&'p str, Failure> {
    if pem.file.is_empty() && pem.variable.is_empty() {
        return Ok(&pem.text);
    }
    let form = if pem.file.is_empty() { "env_variable" } else { "file" };
    Err(Failure::Request(format!(
        "`{name}_{form}` is not supported: give the PEM text as `{name}`"
    )))
}

fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = read.map_err(|error| tls_failure(what, &error))?;
    if certificates.is_empty() {
        return Err(Failure::Request(format!("{what}: could not append certificates")));
    }
    Ok(certificates)
}

/// Accepts every certificate, for `tls_insecure_skip_verify`; signatures are still checked.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
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

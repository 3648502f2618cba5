//! Connections to a host: allowed addresses and trusted certificates.
//!
//! Owns the HTTP clients. Each is for one host and port, looks that host up itself, and connects to
//! no address that it hasn't checked.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quick_cache::sync::Cache;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolving};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::super::allow::{AllowedHosts, Grant};
use super::super::connection::bare_client;
use super::super::tls::{self, CertificateVerifier};
use super::{Failure, Options};
use rego::internal::builtins::{HttpPem, HttpTls};

/// The time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The time limit of idle connections.
const IDLE: Duration = Duration::from_secs(5);

/// The number of cached clients.
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

/// The target of a connection: a host as written in a URL, and an allowed port.
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
    /// Returns the allowed addresses of the target.
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

/// A resolver that returns the checked addresses of one target for every name.
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
#[derive(Debug)]
pub(super) struct Clients {
    made: Cache<ClientKey, reqwest::Client>,
    /// The verifier with the system's certificates.
    system_verifier: OnceLock<Arc<dyn ServerCertVerifier>>,
}

impl Default for Clients {
    fn default() -> Self {
        Self { made: Cache::new(CLIENTS), system_verifier: OnceLock::new() }
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
        // Connectors don't resolve a host that is an address already.
        let address = match target.host {
            url::Host::Ipv4(address) => Some(address.into()),
            url::Host::Ipv6(address) => Some(address.into()),
            url::Host::Domain(_) => None,
        };
        let reaches = |ip| options.allowed.reaches(target.grant, ip, target.port);
        if !address.is_none_or(reaches) {
            return Err(Failure::Disallowed(OutOfReach(target.host.to_string()).to_string()));
        }
        let key = (url.scheme().to_owned(), target.host.to_string(), target.port, tls.clone());
        if let Some(client) = self.made.get(&key) {
            return Ok(client);
        }
        let client = self.make(options, tls, target)?;
        self.made.insert(key, client.clone());
        Ok(client)
    }

    fn make(
        &self,
        options: &Options,
        tls: &HttpTls,
        target: &Target,
    ) -> Result<reqwest::Client, Failure> {
        let failed = |error: reqwest::Error| {
            Failure::Request(format!("can't set up the HTTP client: {}", error.without_url()))
        };
        let config = self.config(options, tls)?;
        let pinned = Pinned {
            target: target.clone(),
            allowed: options.allowed.clone(),
            lookup: Arc::clone(&options.lookup),
        };
        // A proxy would resolve the host itself, and the checks here would be void.
        bare_client(config)
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
        let provider = tls::crypto_provider(None).map_err(Failure::Halt)?;
        let verifier = self.verifier(options, tls, &provider)?;
        let certificate = inline(&tls.certificate, "tls_client_cert")?;
        let key = inline(&tls.key, "tls_client_key")?;
        let identity = if certificate.is_empty() || key.is_empty() {
            None
        } else {
            let chain = certificates(certificate, "tls_client_cert")?;
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
                .map_err(|error| tls_failure("tls_client_key", &error))?;
            Some((chain, key))
        };
        // For a server with another name HTTP/1.1 is used, where `Host` is a header of its own.
        let protocols: &[&[u8]] =
            if tls.server_name.is_empty() { &tls::HTTP_2_OR_1 } else { &[tls::HTTP_1] };
        let what = if identity.is_some() { "tls_client_cert" } else { "can't set up TLS" };
        tls::config(provider, verifier, identity, protocols)
            .map_err(|error| tls_failure(what, &error))
    }

    fn verifier(
        &self,
        options: &Options,
        tls: &HttpTls,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
        let provider = Arc::clone(provider);
        if tls.insecure {
            return Ok(Arc::new(CertificateVerifier::accepting_any(provider)));
        }
        let given = inline(&tls.ca, "tls_ca_cert")?;
        let own = if given.is_empty() { Vec::new() } else { certificates(given, "tls_ca_cert")? };
        if !given.is_empty() && !tls.system_roots {
            return tls::only(provider, &own).map_err(|error| tls_failure("tls_ca_cert", &error));
        }
        if given.is_empty()
            && let Some(verifier) = self.system_verifier.get()
        {
            return Ok(Arc::clone(verifier));
        }
        let unreadable = "can't read the CA certificate";
        let read = options.ca_certificates.iter().map(|pem| tls::parse_certificates(pem));
        let read: Result<Vec<_>, _> = read.collect();
        let read = read.map_err(|error| tls_failure(unreadable, &error))?;
        let verifier = CertificateVerifier::new(provider, [read.concat(), own].concat())
            .map_err(|error| tls_failure(unreadable, &error))?;
        let verifier: Arc<dyn ServerCertVerifier> = Arc::new(verifier);
        if !given.is_empty() {
            return Ok(verifier);
        }
        Ok(Arc::clone(self.system_verifier.get_or_init(|| verifier)))
    }
}

fn tls_failure(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Request(format!("{what}: {error}"))
}

/// Returns the PEM text. Policies can't read files and environment variables of this machine.
fn inline<'p>(pem: &'p HttpPem, name: &str) -> Result<&'p str, Failure> {
    if pem.file.is_empty() && pem.variable.is_empty() {
        return Ok(&pem.text);
    }
    let form = if pem.file.is_empty() { "env_variable" } else { "file" };
    Err(Failure::Request(format!(
        "unsupported option `{name}_{form}`: give the PEM text as `{name}`"
    )))
}

fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let certificates = tls::parse_certificates(pem.as_bytes());
    let certificates = certificates.map_err(|error| tls_failure(what, &error))?;
    if certificates.is_empty() {
        return Err(Failure::Request(format!("{what}: could not append certificates")));
    }
    Ok(certificates)
}

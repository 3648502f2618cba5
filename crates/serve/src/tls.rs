//! Encryption: the server's certificate, and those of its clients.

use std::fmt;
use std::sync::Arc;

use rego_platform::Error;
use rego_platform_client::http::tls::{parse_certificates, roots};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

/// The certificate of a server, and whose certificates clients must show.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    knows_clients: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("knows_clients", &self.knows_clients).finish_non_exhaustive()
    }
}

fn unusable(message: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::configuration(message).with_source(error)
}

fn certificates(pem: &[u8], message: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = parse_certificates(pem).map_err(|error| unusable(message, error))?;
    if found.is_empty() {
        let message = format!("{message}: no certificate found");
        return Err(Error::configuration(message));
    }
    Ok(found)
}

impl Tls {
    /// Creates it from PEM: the certificate with its chain, its private key, and the authorities of
    /// clients' certificates. With these, a client without such a certificate is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when one of them can't be used.
    pub fn new(
        certificate: &[u8],
        key: &[u8],
        client_authorities: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let chain = certificates(certificate, "the server's certificate can't be used")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| unusable("the server's private key can't be used", error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("encryption can't be set up", error))?;
        let builder = match client_authorities {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let message = "the authorities of clients' certificates can't be used";
                let roots = roots(&certificates(pem, message)?)
                    .map_err(|error| unusable(message, error))?;
                let roots = Arc::new(roots);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| unusable(message, error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            unusable("the server's certificate and private key don't match", error)
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), knows_clients: client_authorities.is_some() })
    }

    /// Returns `true` if clients must show a certificate.
    pub(crate) const fn knows_clients(&self) -> bool {
        self.knows_clients
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

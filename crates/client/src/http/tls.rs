//! TLS: trusted certificates, and the configuration of connections.
//!
//! Owns when the system's store is read, which takes longer than a call to a service nearby: when the first
//! certificate is verified. Connections without TLS don't need it.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::Error;

/// The protocols that a connection may negotiate.
pub const HTTP_1: &[u8] = b"http/1.1";
pub const HTTP_2: &[u8] = b"h2";
pub const HTTP_2_OR_1: [&[u8]; 2] = [HTTP_2, HTTP_1];

/// Returns the provider of cryptography: the host's, the one installed for the process, or ring.
pub fn crypto_provider(given: Option<&Arc<CryptoProvider>>) -> Result<Arc<CryptoProvider>, Error> {
    let given = given.cloned().or_else(|| CryptoProvider::get_default().cloned());
    #[cfg(feature = "ring")]
    let given = given.or_else(|| Some(Arc::new(rustls::crypto::ring::default_provider())));
    given.ok_or_else(|| {
        Error::configuration("no TLS provider").with_hint(
            "enable the feature `ring`, or pass a provider to `PlatformBuilder::crypto_provider`",
        )
    })
}

/// Parses certificates from PEM; there may be none.
pub fn parse_certificates(
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

/// Returns a store of authorities.
///
/// # Errors
/// One of them isn't a valid certificate.
pub fn roots(authorities: &[CertificateDer<'static>]) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    Ok(roots)
}

/// Reads the certificates of authorities from PEM; there must be at least one.
pub fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bad = |message: &str| {
        Error::configuration(message)
            .with_hint("give a file of PEM certificates (`-----BEGIN CERTIFICATE-----`)")
    };
    let found = parse_certificates(pem)
        .map_err(|error| bad("can't read the CA certificate").with_source(error.to_string()))?;
    if found.is_empty() {
        return Err(bad("no certificate in the file of CA certificates"));
    }
    roots(&found).map_err(|_| bad("invalid CA certificate"))?;
    Ok(found)
}

/// Returns the certificates embedded in a setting of the vendor's client, as PEM or as base64 of PEM, which
/// `config save` writes; `None` for the path of a file.
pub fn inline(text: &str) -> Option<Vec<u8>> {
    let is_pem = |bytes: &[u8]| memchr::memmem::find(bytes, b"-----BEGIN").is_some();
    if is_pem(text.as_bytes()) {
        return Some(text.as_bytes().to_vec());
    }
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim());
    decoded.ok().filter(|bytes| is_pem(bytes))
}

/// Returns the configuration of connections that trust the system's store and further authorities. The
/// store is read at once if it is certain to be used.
pub fn system_config(
    provider: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    is_used: bool,
    protocols: &[&[u8]],
) -> Result<ClientConfig, Error> {
    let failed = |message: &str, error: rustls::Error| {
        Error::configuration(message).with_source(error.to_string())
    };
    let verifier = CertificateVerifier::new(Arc::clone(&provider), authorities)
        .map_err(|error| failed("can't set up TLS", error))?;
    if is_used {
        verifier.ready().map_err(|error| failed("can't set up the certificate store", error))?;
    }
    config(provider, Arc::new(verifier), None, protocols)
        .map_err(|error| failed("can't set up TLS", error))
}

/// Returns the configuration of connections to servers that `verifier` accepts, with an optional client
/// certificate.
pub fn config(
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    protocols: &[&[u8]],
) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match identity {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

/// Returns a verifier that trusts only these authorities.
pub fn only(
    provider: Arc<CryptoProvider>,
    authorities: &[CertificateDer<'static>],
) -> Result<Arc<dyn ServerCertVerifier>, Box<dyn std::error::Error>> {
    let roots = Arc::new(roots(authorities)?);
    Ok(WebPkiServerVerifier::builder_with_provider(roots, provider).build()?)
}

/// Verifies servers' certificates, by the system's store and further authorities or not at all. The
/// signatures of handshakes are verified in any case.
#[derive(Debug)]
pub struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    /// The verifier once it is used; `None` if every certificate is accepted.
    verifier: Option<OnceLock<Verifier>>,
}

impl CertificateVerifier {
    /// Creates a verifier without reading the system's store yet.
    ///
    /// # Errors
    /// One of the authorities isn't a valid certificate.
    pub fn new(
        provider: Arc<CryptoProvider>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, rustls::Error> {
        roots(&authorities)?;
        Ok(Self { provider, authorities, verifier: Some(OnceLock::new()) })
    }

    /// Returns a verifier that accepts every certificate, for `tls_insecure_skip_verify`.
    pub const fn accepting_any(provider: Arc<CryptoProvider>) -> Self {
        Self { provider, authorities: Vec::new(), verifier: None }
    }

    /// Returns the verifier, reading the system's store at the first call.
    ///
    /// # Errors
    /// The store can't be read, or there are no certificates in it.
    pub fn ready(&self) -> Result<Option<&Verifier>, rustls::Error> {
        let Some(once) = &self.verifier else { return Ok(None) };
        if let Some(verifier) = once.get() {
            return Ok(Some(verifier));
        }
        // A failure isn't kept: the next connection tries again.
        let authorities = self.authorities.iter().cloned();
        let verifier = Verifier::new_with_extra_roots(authorities, Arc::clone(&self.provider))?;
        Ok(Some(once.get_or_init(|| verifier)))
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = self.ready()? else { return Ok(ServerCertVerified::assertion()) };
        verifier.verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_holds_certificates_as_pem_or_base64_or_is_a_path() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let base64 = base64::engine::general_purpose::STANDARD.encode(pem);
        for text in [pem, &base64, &format!("{base64}\n")] {
            assert_eq!(inline(text).as_deref(), Some(pem.as_bytes()), "{text}");
        }
        for path in ["ca.pem", "/etc/ssl/ca", "YWJj", ""] {
            assert_eq!(inline(path), None, "{path}");
        }
    }
}

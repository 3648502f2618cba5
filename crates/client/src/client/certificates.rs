//! The certificates that are trusted: those of the system's store, and further authorities.
//!
//! Owns when the store is read, which takes longer than a call to a service nearby: when the first
//! certificate is verified. Connections without TLS don't need it.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::{Error, ErrorKind};

/// Reads the certificates of authorities from PEM; there must be at least one.
pub fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bad = |message: &str| {
        Error::new(ErrorKind::Configuration, message)
            .with_hint("it is a file of PEM certificates (`-----BEGIN CERTIFICATE-----`)")
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let unreadable = |error: rustls::pki_types::pem::Error| {
        bad("the CA certificate can't be read").with_source(error.to_string())
    };
    let found = found.map_err(unreadable)?;
    if found.is_empty() {
        return Err(bad("the CA certificate file holds no certificate"));
    }
    let mut valid = RootCertStore::empty();
    if found.iter().any(|certificate| valid.add(certificate.clone()).is_err()) {
        return Err(bad("the CA certificate isn't one"));
    }
    Ok(found)
}

/// Returns the certificates that a setting of the vendor's client holds itself, as PEM or as base64 of it, which
/// `config save` writes; `None` for the path of a file.
pub fn inline(text: &str) -> Option<Vec<u8>> {
    let is_pem = |bytes: &[u8]| memchr::memmem::find(bytes, b"-----BEGIN").is_some();
    if is_pem(text.as_bytes()) {
        return Some(text.as_bytes().to_vec());
    }
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim());
    decoded.ok().filter(|bytes| is_pem(bytes))
}

/// Verifies certificates by the system's store and further authorities.
#[derive(Debug)]
pub struct SystemVerifier {
    provider: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    verifier: OnceLock<Verifier>,
}

impl SystemVerifier {
    /// Returns a verifier that hasn't read the system's store yet.
    ///
    /// # Errors
    /// One of the authorities isn't a valid certificate.
    pub fn new(
        provider: Arc<CryptoProvider>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, rustls::Error> {
        let mut valid = RootCertStore::empty();
        for authority in &authorities {
            valid.add(authority.clone())?;
        }
        Ok(Self { provider, authorities, verifier: OnceLock::new() })
    }

    /// Returns the verifier, which reads the system's store at the first time.
    ///
    /// # Errors
    /// The store can't be read, or there are no certificates in it.
    pub fn ready(&self) -> Result<&Verifier, rustls::Error> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        // A failure isn't kept: the next connection tries again.
        let authorities = self.authorities.iter().cloned();
        let verifier = Verifier::new_with_extra_roots(authorities, Arc::clone(&self.provider))?;
        Ok(self.verifier.get_or_init(|| verifier))
    }
}

impl ServerCertVerifier for SystemVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.ready()?.verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.ready()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.ready()?.verify_tls13_signature(message, certificate, signature)
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

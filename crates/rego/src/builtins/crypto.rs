//! `crypto.*`: hashes, authentication codes, certificates and keys.
//!
//! Owns the functions that policies call. The modules that implement them are shared with
//! `io.jwt.*`.

pub(super) mod certificate;
mod chain;
mod der;
pub(super) mod jwk;
pub(super) mod keys;
mod mailbox;
mod p224;
pub(super) mod pem;
pub(super) mod signature;

pub(super) use hmac::{Hmac, KeyInit, Mac};
pub(super) use md5::Md5;
pub(super) use sha1::Sha1;
use sha2::Digest;
pub(super) use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::encoding_rules::{base64, hex, to_base64};
use super::operands::{object, string};
use super::{Answer, Context, Error};
use crate::value::Value;
use certificate::Certificate;

pub(super) fn hash<D: Digest>(_: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    Ok(Some(Value::from(hex(&D::digest(text.as_bytes())))))
}

/// `crypto.hmac.*`
pub(super) fn hmac<M: Mac + KeyInit>(_: &dyn Context, args: &[Value]) -> Answer {
    let (message, key) = (string(args, 0)?, string(args, 1)?);
    Ok(Some(Value::from(hex(&signature::code::<M>(key.as_bytes(), message.as_bytes())))))
}

/// `crypto.hmac.equal`
pub(super) fn hmac_equal(_: &dyn Context, args: &[Value]) -> Answer {
    let one = string(args, 0)?;
    let other = string(args, 1)?;
    Ok(Some(Value::from(bool::from(one.as_bytes().ct_eq(other.as_bytes())))))
}

/// `crypto.x509.parse_certificates`
pub(super) fn parse_certificates(ctx: &dyn Context, args: &[Value]) -> Answer {
    let certificates = certificates(ctx, string(args, 0)?)?;
    Ok(Some(list(certificates.iter(), true)))
}

/// `crypto.x509.parse_and_verify_certificates`
pub(super) fn parse_and_verify_certificates(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    verify(ctx, text, || Ok(chain::Options::default()), true)
}

/// `crypto.x509.parse_and_verify_certificates_with_options`
pub(super) fn parse_and_verify_certificates_with_options(
    ctx: &dyn Context,
    args: &[Value],
) -> Answer {
    let text = string(args, 0)?;
    let options = object(args, 1)?;
    verify(ctx, text, || chain::Options::read(options), false)
}

/// Verifies certificates: the first is the root, the last the leaf, and those between may be part
/// of the chain.
fn verify(
    ctx: &dyn Context,
    text: &str,
    options: impl FnOnce() -> Result<chain::Options, Error>,
    uris: bool,
) -> Answer {
    let certificates = match certificates(ctx, text) {
        Ok(certificates) => certificates,
        Err(error) if error.halt => return Err(error),
        Err(_) => return Ok(Some(unverified())),
    };
    match chain::verify(ctx, &certificates, &options()?) {
        Ok(chain) => Ok(Some(Value::from(vec![Value::from(true), list(chain.into_iter(), uris)]))),
        Err(error) if error.halt => Err(error),
        Err(_) => Ok(Some(unverified())),
    }
}

fn unverified() -> Value {
    Value::from(vec![Value::from(false), Value::new_array()])
}

fn list<'a>(certificates: impl Iterator<Item = &'a Certificate>, uris: bool) -> Value {
    Value::from(certificates.map(|certificate| certificate.to_value(uris)).collect::<Vec<_>>())
}

/// Parses certificates from PEM, base64 of PEM, or base64 of consecutive DER certificates.
fn certificates(ctx: &dyn Context, text: &str) -> Result<Vec<Certificate>, Error> {
    // The value of a certificate contains its bytes about eight times, as text.
    ctx.charge(text.len() as u64 * 12)?;
    if text.starts_with("-----BEGIN") {
        return pem_certificates(ctx, text.as_bytes());
    }
    let bytes = base64(text.as_bytes())?;
    if bytes.starts_with(b"-----BEGIN") {
        return pem_certificates(ctx, &bytes);
    }
    Certificate::parse_all(ctx, &bytes)
}

fn pem_certificates(ctx: &dyn Context, mut text: &[u8]) -> Result<Vec<Certificate>, Error> {
    let mut bytes = Vec::new();
    while let Some((block, rest)) = pem::decode(text) {
        ctx.check()?;
        if block.kind != "CERTIFICATE" {
            let kind = block.kind;
            return Err(Error::failed(format!("PEM block type is '{kind}', expected CERTIFICATE")));
        }
        bytes.extend_from_slice(&block.bytes);
        text = rest;
    }
    Certificate::parse_all(ctx, &bytes)
}

/// `crypto.x509.parse_certificate_request`
pub(super) fn parse_certificate_request(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    ctx.charge(text.len() as u64 * 12)?;
    let decoded;
    let mut bytes = text.as_bytes();
    if !text.starts_with("-----BEGIN CERTIFICATE REQUEST-----") {
        decoded = base64(bytes)?;
        bytes = &decoded;
    }
    let block = pem::decode(bytes).map(|(block, _)| block);
    if let Some(block) = &block {
        if block.kind != "CERTIFICATE REQUEST" {
            return Err(Error::failed("invalid PEM-encoded certificate signing request"));
        }
        bytes = &block.bytes;
    }
    certificate::request_value(bytes).map(Some)
}

/// `crypto.x509.parse_keypair`
pub(super) fn parse_keypair(ctx: &dyn Context, args: &[Value]) -> Answer {
    let certificate = string(args, 0)?;
    // OPA reports the key as the first operand, too.
    let key = args.get(1).unwrap_or(&Value::Null);
    let key = key.as_str().ok_or_else(|| Error::operand(1, key, &["string"]))?;
    ctx.charge((certificate.len() + key.len()) as u64 * 12)?;
    let certificate = to_pem(certificate, "CERTIFICATE")?;
    let key = to_pem(key, "PRIVATE KEY")?;
    let mut chain = Vec::new();
    let mut rest = certificate.as_slice();
    while let Some((block, after)) = pem::decode(rest) {
        ctx.check()?;
        if block.kind == "CERTIFICATE" {
            chain.push(block.bytes);
        }
        rest = after;
    }
    let Some(leaf) = chain.first() else {
        return Err(Error::failed("tls: failed to find any PEM data in certificate input"));
    };
    let mut rest = key.as_slice();
    let key = loop {
        ctx.check()?;
        let Some((block, after)) = pem::decode(rest) else {
            return Err(Error::failed("tls: failed to find any PEM data in key input"));
        };
        if block.kind == "PRIVATE KEY" || block.kind.ends_with(" PRIVATE KEY") {
            break block.bytes;
        }
        rest = after;
    };
    let leaf = Certificate::parse(leaf)?;
    let key = keys::PrivateKey::parse_any(&key)?;
    if !leaf.public_key().is_some_and(|public| key.belongs_to(public)) {
        return Err(Error::failed("tls: private key does not match public key"));
    }
    Ok(Some(keys::object([
        (
            "Certificate",
            Value::from(chain.iter().map(|der| Value::from(to_base64(der))).collect::<Vec<_>>()),
        ),
        ("Leaf", leaf.to_value(false)),
        ("OCSPStaple", Value::Null),
        ("PrivateKey", key.to_value()),
        ("SignedCertificateTimestamps", Value::Null),
        ("SupportedSignatureAlgorithms", Value::Null),
    ])))
}

/// Converts PEM, base64 of PEM, or base64 of DER to PEM.
fn to_pem(text: &str, kind: &str) -> Result<Vec<u8>, Error> {
    if text.starts_with("-----BEGIN ") {
        return Ok(text.as_bytes().to_vec());
    }
    let bytes = base64(text.as_bytes())?;
    if bytes.starts_with(b"-----BEGIN ") {
        return Ok(bytes);
    }
    Ok(pem::encode(kind, &bytes).into_bytes())
}

/// `crypto.parse_private_keys`
pub(super) fn parse_private_keys(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    if text.is_empty() {
        return Ok(Some(Value::Null));
    }
    let keys = private_keys(ctx, text)?;
    Ok(Some(Value::from(keys.iter().map(keys::PrivateKey::to_value).collect::<Vec<_>>())))
}

/// `crypto.x509.parse_rsa_private_key`: any private key, as a JWK.
pub(super) fn parse_rsa_private_key(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    if text.is_empty() {
        return Err(Error::failed("input PEM data was empty"));
    }
    let decoded;
    let mut pem = text;
    if !text.starts_with("-----BEGIN") {
        decoded = crate::value::lossy(&base64(text.as_bytes())?);
        pem = &decoded;
    }
    match private_keys(ctx, pem)?.first() {
        Some(key) => key.to_jwk().map(Some),
        None => Ok(Some(Value::Null)),
    }
}

fn private_keys(ctx: &dyn Context, text: &str) -> Result<Vec<keys::PrivateKey>, Error> {
    ctx.charge(text.len() as u64 * 8)?;
    let decoded = base64(text.as_bytes());
    let mut rest = decoded.as_deref().unwrap_or(text.as_bytes());
    let mut keys = Vec::new();
    while let Some((block, after)) = pem::decode(rest) {
        ctx.check()?;
        rest = after;
        keys.push(match block.kind.as_str() {
            "RSA PRIVATE KEY" => keys::PrivateKey::parse_pkcs1(&block.bytes)?,
            "PRIVATE KEY" => keys::PrivateKey::parse_pkcs8(&block.bytes)?,
            "EC PRIVATE KEY" => keys::PrivateKey::parse_sec1(&block.bytes)?,
            _ => continue,
        });
    }
    Ok(keys)
}

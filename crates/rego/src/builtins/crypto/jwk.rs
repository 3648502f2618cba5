//! JSON web keys, and sets of them.
//!
//! Owns the distinction between keys and other text: members with a known name must have the right
//! type, and a set with a key that isn't understood is rejected as a whole.

use num_bigint::BigUint;

use super::super::encoding_rules::base64_any;
use super::super::{Context, Error};
use super::certificate::Certificate;
use super::keys::{Curve, PrivateKey, PublicKey, RsaPrivate};
use super::pem;
use crate::value::{Object, Value};

/// A key with its metadata.
pub(in super::super) struct Jwk {
    /// The algorithm, or an empty string.
    pub alg: String,
    /// The identifier, or an empty string.
    pub kid: String,
    pub key: Key,
}

/// A key for signing or verifying.
pub(in super::super) enum Key {
    Public(PublicKey),
    Private(PrivateKey),
    Secret(Vec<u8>),
}

/// The limit on the number of keys in a set.
const MAX_KEYS: usize = 1000;

const OTHER_ALGORITHMS: &[&str] = &[
    "A128CBC-HS256",
    "A128GCM",
    "A128GCMKW",
    "A128KW",
    "A192CBC-HS384",
    "A192GCM",
    "A192GCMKW",
    "A192KW",
    "A256CBC-HS512",
    "A256GCM",
    "A256GCMKW",
    "A256KW",
    "ECDH-ES",
    "ECDH-ES+A128KW",
    "ECDH-ES+A192KW",
    "ECDH-ES+A256KW",
    "ES256K",
    "Ed25519",
    "PBES2-HS256+A128KW",
    "PBES2-HS384+A192KW",
    "PBES2-HS512+A256KW",
    "RSA-OAEP",
    "RSA-OAEP-256",
    "RSA-OAEP-384",
    "RSA-OAEP-512",
    "RSA1_5",
    "dir",
    "none",
];

/// Reads the key or keys in a text: a certificate or public key in PEM, a JWK, or a set of JWKs.
///
/// # Errors
/// Returns an error if the text is none of these.
pub(in super::super) fn keys(ctx: &dyn Context, text: &str) -> Result<Vec<Jwk>, Error> {
    let Some((block, rest)) = pem::decode(text.as_bytes()) else {
        let keys = parse(ctx, text)
            .map_err(|error| context(error, "failed to parse a JWK key (set)"))?
            .into_iter()
            .map(Parsed::export)
            .collect::<Result<Vec<_>, _>>()?;
        let known = |jwk: &Jwk| {
            jwk.alg.is_empty() || super::signature::Algorithm::from_name(&jwk.alg).is_some()
        };
        return Ok(keys.into_iter().filter(known).collect());
    };
    if !rest.is_empty() {
        return Err(Error::failed("extra data after a PEM certificate block"));
    }
    let key = match block.kind.as_str() {
        "CERTIFICATE" => Certificate::parse(&block.bytes)
            .map_err(|error| context(error, "failed to parse a PEM certificate"))?
            .public_key()
            .cloned(),
        "PUBLIC KEY" => PublicKey::parse_pkix(&block.bytes)
            .map_err(|error| context(error, "failed to parse a PEM public key"))
            .map(Some)?,
        _ => return Err(Error::failed("failed to extract a Key from the PEM certificate")),
    };
    // A certificate whose kind of key is unknown verifies nothing.
    let key = key.unwrap_or(PublicKey::X25519);
    Ok(vec![Jwk { alg: String::new(), kid: String::new(), key: Key::Public(key) }])
}

fn context(error: Error, what: &str) -> Error {
    Error { message: format!("{what}: {}", error.message).into(), ..error }
}

/// Returns the first key of a JWK or a set, for signing.
///
/// # Errors
/// Returns an error if the text is neither, or if one of its keys isn't understood.
pub(in super::super) fn signing_key(ctx: &dyn Context, text: &str) -> Result<Key, Error> {
    let first = parse(ctx, text)?.into_iter().next();
    Ok(first.ok_or_else(|| Error::failed("no keys found in JWK set"))?.export()?.key)
}

fn parse(ctx: &dyn Context, text: &str) -> Result<Vec<Parsed>, Error> {
    let failed = |error: String| Error::failed(format!("failed to unmarshal data: {error}"));
    let (value, alone) = match Value::from_json(text) {
        Ok(value) => (value, true),
        Err(error) => {
            // Anything after a single key is ignored.
            let mut stream =
                serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
            stream.next();
            let first = text.get(..stream.byte_offset()).filter(|first| !first.is_empty());
            let first = first.ok_or_else(|| failed(error.to_string()))?;
            (Value::from_json(first).map_err(|error| failed(error.to_string()))?, false)
        }
    };
    let Value::Object(object) = &value else {
        return Err(failed("not an object".to_owned()));
    };
    let Some(keys) = value.get_str("keys").filter(|_| alone) else {
        return Ok(vec![Parsed::read(ctx, object)?]);
    };
    let keys = keys.as_array().ok_or_else(|| failed("`keys` must be an array".to_owned()))?;
    if keys.len() > MAX_KEYS {
        return Err(failed(format!("too many keys in `keys` array: max {MAX_KEYS}")));
    }
    let mut parsed = Vec::new();
    for key in keys {
        ctx.check()?;
        let Value::Object(object) = key else {
            return Err(failed("a key must be an object".to_owned()));
        };
        parsed.push(Parsed::read(ctx, object)?);
    }
    Ok(parsed)
}

/// A key whose members have the right types, but which may not be usable.
struct Parsed {
    alg: String,
    kid: String,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8>, private: Option<Vec<Option<Vec<u8>>>> },
    Ec { curve: Curve, point: Vec<u8>, d: Option<Vec<u8>> },
    Okp { curve: String, x: Vec<u8>, d: Option<Vec<u8>> },
    Oct(Vec<u8>),
}

impl Parsed {
    fn read(ctx: &dyn Context, object: &Object) -> Result<Self, Error> {
        let wrong = |name: &str| Error::failed(format!("failed to decode value for key {name}"));
        let text = |name: &'static str| match object.get(&Value::from(name)) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some("")),
            Some(Value::String(text)) => Ok(Some(text.as_ref())),
            Some(_) => Err(wrong(name)),
        };
        let bytes = |name: &'static str| {
            text(name)?.map(|text| base64_any(text).map_err(|_| wrong(name))).transpose()
        };
        let needed = |name: &'static str| {
            bytes(name)?.ok_or_else(|| Error::failed(format!("required field {name} is missing")))
        };
        let kind = text("kty")?.unwrap_or_default();
        let private = object.contains_key(&Value::from("d"));
        let alg = text("alg")?;
        let known = |alg: &str| {
            super::signature::Algorithm::from_name(alg).is_some() || OTHER_ALGORITHMS.contains(&alg)
        };
        if alg.is_some_and(|alg| !known(alg)) {
            return Err(wrong("alg"));
        }
        for name in ["use", "x5t", "x5t#S256", "x5u"] {
            text(name)?;
        }
        match object.get(&Value::from("key_ops")) {
            None | Some(Value::Null) => {}
            Some(Value::Array(list))
                if list.iter().all(|item| matches!(item, Value::String(_) | Value::Null)) => {}
            Some(_) => return Err(wrong("key_ops")),
        }
        if let Some(chain) = object.get(&Value::from("x5c")) {
            certificates(ctx, chain).ok_or_else(|| wrong("x5c"))?;
        }
        let material = match kind {
            "RSA" => {
                let (n, e) = (needed("n")?, needed("e")?);
                exponent(&n, &e)?;
                let names = ["d", "p", "q", "dp", "dq", "qi"];
                let private = private
                    .then(|| names.into_iter().map(bytes).collect::<Result<Vec<_>, _>>())
                    .transpose()?;
                if let Some([Some(d), ..]) = private.as_deref()
                    && d.is_empty()
                {
                    return Err(Error::failed("missing \"d\" value"));
                }
                Material::Rsa { n, e, private }
            }
            "EC" => {
                let curve = text("crv")?.and_then(Curve::from_name).ok_or_else(|| wrong("crv"))?;
                let (x, y) = (needed("x")?, needed("y")?);
                let d = private.then(|| needed("d")).transpose()?;
                let size = |part: &Vec<u8>| part.len() == curve.size();
                let point = [&[4], x.as_slice(), &y].concat();
                if !size(&x) || !size(&y) || !d.as_ref().is_none_or(size) || !curve.contains(&point)
                {
                    return Err(Error::failed("invalid ECDSA key"));
                }
                Material::Ec { curve, point, d }
            }
            "OKP" => {
                let curve = text("crv")?.unwrap_or_default();
                let curves = ["Ed25519", "Ed448", "P-256", "P-384", "P-521", "X25519", "X448"];
                let x = needed("x")?;
                let d = private.then(|| needed("d")).transpose()?;
                let short = matches!(curve, "Ed25519" | "X25519");
                let fits = |part: &Vec<u8>| !part.is_empty() && (!short || part.len() == 32);
                if !curves.contains(&curve) || !fits(&x) || !d.as_ref().is_none_or(fits) {
                    return Err(Error::failed("invalid octet key pair"));
                }
                Material::Okp { curve: curve.to_owned(), x, d }
            }
            "oct" => {
                let secret = needed("k")?;
                if secret.is_empty() {
                    return Err(Error::failed("missing \"k\" field"));
                }
                Material::Oct(secret)
            }
            _ => return Err(Error::failed(format!("invalid key type from JSON ({kind})"))),
        };
        let kid = text("kid")?.unwrap_or_default().to_owned();
        Ok(Self { alg: alg.unwrap_or_default().to_owned(), kid, material })
    }

    /// Converts the members into a key.
    fn export(self) -> Result<Jwk, Error> {
        let missing = |name: &str| Error::failed(format!("missing \"{name}\" value"));
        let key = match self.material {
            Material::Rsa { n, e, private } => {
                let e = exponent(&n, &e)?;
                let n = BigUint::from_bytes_be(&n);
                match private {
                    None => Key::Public(PublicKey::Rsa { n, e }),
                    Some(parts) => {
                        let mut parts = parts
                            .into_iter()
                            .map(|part| part.map(|part| BigUint::from_bytes_be(&part)));
                        let mut next = || parts.next().flatten();
                        let d = next().ok_or_else(|| missing("d"))?;
                        let p = next().ok_or_else(|| missing("p"))?;
                        let q = next().ok_or_else(|| missing("q"))?;
                        let given = match (next(), next(), next()) {
                            (Some(dp), Some(dq), Some(qinv)) => {
                                Some(super::keys::Crt { dp, dq, qinv })
                            }
                            _ => None,
                        };
                        let primes = vec![p, q];
                        Key::Private(PrivateKey::Rsa(RsaPrivate { n, e, d, primes, given }))
                    }
                }
            }
            Material::Ec { curve, point, d: None } => Key::Public(PublicKey::Ec { curve, point }),
            Material::Ec { curve, point, d: Some(d) } => {
                Key::Private(PrivateKey::Ec { curve, d, point })
            }
            Material::Okp { curve, x, d } => match (curve.as_str(), d) {
                ("Ed25519", None) => Key::Public(PublicKey::Ed25519(x)),
                ("X25519", None) => Key::Public(PublicKey::X25519),
                ("Ed25519", Some(d)) => {
                    let key = PrivateKey::ed25519(d)?;
                    if key.public() != PublicKey::Ed25519(x) {
                        return Err(Error::failed("ed25519: invalid x value given d value"));
                    }
                    Key::Private(key)
                }
                ("X25519", Some(_)) => Key::Private(PrivateKey::X25519),
                _ => return Err(Error::failed(format!("invalid curve algorithm {curve}"))),
            },
            Material::Oct(secret) => Key::Secret(secret),
        };
        Ok(Jwk { alg: self.alg, kid: self.kid, key })
    }
}

/// Returns the exponent of an RSA key, which must be odd and fit into 63 bits.
fn exponent(n: &[u8], e: &[u8]) -> Result<u64, Error> {
    if n.iter().all(|byte| *byte == 0) {
        return Err(Error::failed("missing \"n\" value"));
    }
    let zeros = e.iter().take_while(|byte| **byte == 0).count();
    let digits = e.get(zeros..).unwrap_or_default();
    let value = digits.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    if digits.len() > 8 || value & 1 == 0 || value >> 63 == 1 {
        return Err(Error::failed("invalid rsa public exponent"));
    }
    Ok(value)
}

/// Checks the certificate chain that a key may have.
fn certificates(ctx: &dyn Context, chain: &Value) -> Option<()> {
    let chain = chain.as_array().filter(|chain| chain.len() <= 10)?;
    for certificate in chain {
        ctx.check().ok()?;
        let text: String = certificate.as_str()?.split_ascii_whitespace().collect();
        let bytes = super::super::encoding_rules::base64(text.as_bytes()).ok()?;
        (bytes.len() <= 256 * 1024).then(|| Certificate::parse(&bytes).ok()).flatten()?;
    }
    Some(())
}

//! Signatures of bundles (`.signatures.json`), as `opa sign` and `opa build` write them.
//!
//! Owns whose keys sign, and that a signature is about exactly the files of a bundle: each of them, whether
//! it is read or left out.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::super::{documents, json};
use super::last_of;
use crate::rego::Value;
use crate::rego::internal::builtins::{Bounded, Run, lookup};
use crate::text::{escape, hex};
use crate::{Diagnostic, Error};

/// Public keys, one of which must sign each bundle.
///
/// # Examples
/// ```
/// use rego_platform::sources::{BundleKeys, ReadOptions};
///
/// # fn options(pem: &str) -> Result<(), rego_platform::Error> {
/// let keys = BundleKeys::new([("release.pub", pem)])?;
/// let mut options = ReadOptions::default();
/// options.bundle_keys = Some(&keys);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BundleKeys(Vec<(String, String)>);

/// The ways to sign a token with a key whose public half verifies it, and the functions that do.
const ALGORITHMS: [(&str, &str); 9] = [
    ("ES256", "io.jwt.verify_es256"),
    ("ES384", "io.jwt.verify_es384"),
    ("ES512", "io.jwt.verify_es512"),
    ("PS256", "io.jwt.verify_ps256"),
    ("PS384", "io.jwt.verify_ps384"),
    ("PS512", "io.jwt.verify_ps512"),
    ("RS256", "io.jwt.verify_rs256"),
    ("RS384", "io.jwt.verify_rs384"),
    ("RS512", "io.jwt.verify_rs512"),
];

/// The memory that checking a signature may take.
const MAX_MEMORY: u64 = 1 << 30;

/// The name that OPA's tools give to the hash they use.
const HASH: &str = "SHA-256";

#[derive(Deserialize)]
struct Signatures {
    signatures: Vec<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

#[derive(Deserialize)]
struct Payload {
    files: Vec<File>,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    hash: String,
    algorithm: String,
}

/// The hashes of a bundle's files, which a signature has to cover.
#[derive(Debug, Default)]
pub(super) struct Hashes(BTreeMap<String, String>);

impl BundleKeys {
    /// Reads public keys, each from the PEM text of a file: RSA, or ECDSA over P-256, P-384 or P-521.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a text that isn't such a key, and if there is none;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) without the feature `crypto`.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let keys: Vec<_> =
            files.into_iter().map(|(file, pem)| (file.to_owned(), pem.to_owned())).collect();
        let wrong = |message: String| {
            Error::configuration(message)
                .with_hint("it begins with `-----BEGIN PUBLIC KEY-----`, and is RSA or ECDSA")
        };
        if keys.is_empty() {
            return Err(wrong("no bundle key is given".to_owned()));
        }
        for (file, pem) in &keys {
            let is_public = pem.trim_start().starts_with("-----BEGIN PUBLIC KEY-----");
            // A token that nobody signed is merely invalid, with a key that can be used.
            if !is_public || verifies("ES256", "e30.e30.AAAA", pem).is_err() {
                return Err(wrong(format!("`{}` isn't a public key in PEM", escape(file))));
            }
        }
        Ok(Self(keys))
    }

    /// Checks that one of the keys signed exactly these files. Returns its name.
    pub(super) fn signer(&self, signatures: &[u8], found: &Hashes) -> Result<&str, String> {
        let broken = |error: serde_json::Error| {
            format!("has a `.signatures.json` that isn't valid: {error}")
        };
        let read: Signatures = serde_json::from_slice(signatures).map_err(broken)?;
        let [token] = read.signatures.as_slice() else {
            return Err(format!("has {} signatures, and needs one", read.signatures.len()));
        };
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, _] = parts.as_slice() else {
            return Err("has a signature that isn't a token (JWT)".to_owned());
        };
        let decode = |part: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(part);
            bytes.map_err(|_| "has a signature that isn't a token (JWT)".to_owned())
        };
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(broken)?;
        let mut signer = None;
        for (file, pem) in &self.0 {
            if verifies(&header.alg, token, pem)? {
                signer = Some(file.as_str());
                break;
            }
        }
        let signer = signer.ok_or_else(|| {
            format!("is signed, but not by a key that is trusted (`{}`)", escape(&header.alg))
        })?;
        // Nothing of it is read before.
        let payload: Payload = serde_json::from_slice(&decode(payload)?).map_err(broken)?;
        if payload.scope.is_some_and(|scope| !scope.is_empty()) {
            return Err("is signed for a scope, and none is asked for".to_owned());
        }
        found.compare(payload.files)?;
        Ok(signer)
    }
}

/// Returns `true` if a key signed a token with this algorithm.
fn verifies(algorithm: &str, token: &str, pem: &str) -> Result<bool, String> {
    let known = ALGORITHMS.iter().find(|(name, _)| *name == algorithm);
    let Some((_, function)) = known else {
        let names = ALGORITHMS.map(|(name, _)| name).join(", ");
        return Err(format!("is signed with `{}`; expected one of {names}", escape(algorithm)));
    };
    let Some(Run::Plain(run)) = lookup(function).map(|builtin| builtin.run) else {
        return Err("can't be verified: this program has no `io.jwt`".to_owned());
    };
    let context = Bounded::new(MAX_MEMORY, "the signature takes too much memory", None);
    let answer = run(&context, &[Value::from(token), Value::from(pem)]);
    let answer =
        answer.map_err(|error| format!("has a signature that can't be read: {}", error.message))?;
    Ok(answer == Some(Value::from(true)))
}

impl Hashes {
    /// Takes a file. Data and the manifest have the hash of their value, written without spaces and with
    /// their keys in order; every other file that of its bytes.
    pub fn take(&mut self, path: &str, name: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
        let is_yaml = match last_of(name) {
            "data.json" | ".manifest" => Some(false),
            "data.yaml" | "data.yml" => Some(true),
            _ => None,
        };
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let hash = match is_yaml {
            None => Sha256::digest(bytes),
            Some(is_yaml) => {
                let value = match json::read(text) {
                    Ok(value) if is_yaml => value,
                    _ => documents::of_bundle(path, text, is_yaml)?.value,
                };
                Sha256::digest(value.to_json())
            }
        };
        self.0.insert(name.to_owned(), hex(&hash));
        Ok(())
    }

    /// Compares the files of a bundle with those that were signed.
    fn compare(&self, signed: Vec<File>) -> Result<(), String> {
        let mut all = BTreeMap::new();
        for File { name, hash, algorithm } in signed {
            let shown = escape(&name);
            if algorithm != HASH {
                let algorithm = escape(&algorithm);
                return Err(format!("has the hash of `{shown}` as `{algorithm}`, not as {HASH}"));
            }
            if all.insert(name, hash.to_ascii_lowercase()).is_some() {
                return Err(format!("has `{shown}` twice in its signature"));
            }
        }
        for (name, hash) in &self.0 {
            let shown = escape(name);
            match all.remove(name) {
                Some(signed) if signed == *hash => {}
                Some(_) => return Err(format!("holds `{shown}`, which isn't what was signed")),
                None => return Err(format!("holds `{shown}`, which wasn't signed")),
            }
        }
        match all.keys().next() {
            Some(name) => Err(format!("lacks `{}`, which was signed", escape(name))),
            None => Ok(()),
        }
    }
}

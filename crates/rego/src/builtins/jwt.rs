//! `io.jwt.*`: JSON web tokens.
//!
//! Owns the structure of tokens, the checks of claims, and the distinction between failures that
//! are errors and failures that mean "not verified". Keys and signatures belong to `crypto`.

#[cfg(test)]
mod vectors_tests;

use std::sync::Arc;

use subtle::ConstantTimeEq as _;

use super::crypto::jwk::{self, Jwk, Key};
use super::crypto::signature::{self, Algorithm, Hash, Padding};
use super::encoding_rules::{base64url, hex, to_base64url};
use super::operands::{answer, object, operand, string};
use super::{Answer, Context, Error};
use crate::value::{JsonLimits, Number, Object, Shared, Value, lossy};

/// The three sections of a token, still encoded.
struct Token<'a> {
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Token<'a> {
    fn split(text: &'a str) -> Result<Self, Error> {
        let mut parts = text.split('.');
        if let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            return Ok(Self { header, payload, signature });
        }
        if !text.contains('.') {
            return Err(Error::failed("encoded JWT had no period separators"));
        }
        let found = text.split('.').count();
        Err(Error::failed(format!("encoded JWT must have 3 sections, found {found}")))
    }

    fn header(&self) -> Result<Shared<Object>, Error> {
        let bytes = base64url(self.header)
            .map_err(|error| Error::failed(format!("JWT header had invalid encoding: {error}")))?;
        let header = json_object(&bytes)
            .map_err(|error| Error::failed(format!("bad JWT header: {error}")))?;
        if header.contains_key(&Value::from("enc")) {
            return Err(Error::failed("JWT is a JWE object, which is not supported"));
        }
        Ok(header)
    }

    fn payload(&self) -> Result<Vec<u8>, Error> {
        base64url(self.payload)
            .map_err(|error| Error::failed(format!("JWT payload had invalid encoding: {error}")))
    }

    /// Returns the text that is signed.
    fn signed(&self) -> String {
        format!("{}.{}", self.header, self.payload)
    }
}

fn json_object(bytes: &[u8]) -> Result<Shared<Object>, Error> {
    let limits = JsonLimits { ends_at_null: true, ..JsonLimits::default() };
    match Value::from_json_bytes(bytes, limits) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Error::failed("decoded JSON type was not an Object")),
        Err(error) => Err(Error::failed(format!("invalid JSON: {error}"))),
    }
}

/// The limit on tokens nested in tokens.
const MAX_NESTING: usize = 64;

pub(super) fn decode(ctx: &dyn Context, args: &[Value]) -> Answer {
    let mut text = string(args, 0)?.to_owned();
    for _ in 0..MAX_NESTING {
        ctx.charge(text.len() as u64 * 4)?;
        let token = Token::split(&text)?;
        let header = token.header()?;
        let payload = token.payload()?;
        if let Some(kind) = header.get(&Value::from("cty")) {
            let kind = kind.as_str().ok_or_else(|| Error::failed("cty: must be a string"))?;
            if kind == "JWT" {
                lossy(&payload).trim_matches(['"', '\'']).clone_into(&mut text);
                continue;
            }
        }
        let payload = json_object(&payload)?;
        let signature = base64url(token.signature).map_err(|error| {
            Error::failed(format!("JWT signature had invalid encoding: {error}"))
        })?;
        return answer(vec![
            Value::Object(header),
            Value::Object(payload),
            Value::from(hex(&signature)),
        ]);
    }
    Err(nested())
}

fn nested() -> Error {
    Error::halt(super::Code::Limit, format!("tokens are nested in more than {MAX_NESTING} levels"))
}

/// The members of a header that matter here.
#[derive(Default)]
struct Header {
    alg: String,
    kid: String,
    cty: String,
    /// `true` if `crit` names a member that isn't supported.
    critical: bool,
}

impl Header {
    fn read(object: &Object) -> Result<Self, Error> {
        let mut header = Self::default();
        let mut unknown = Vec::new();
        let mut critical = Vec::new();
        for (key, value) in object {
            let key = key.as_str().unwrap_or_default();
            let text = || {
                let text = value.as_str().map(str::to_owned);
                text.ok_or_else(|| Error::failed(format!("{key}: must be a string")))
            };
            match key {
                "alg" => header.alg = text()?,
                "kid" => header.kid = text()?,
                "cty" => header.cty = text()?,
                "typ" => drop(text()?),
                "crit" => {
                    let list = value.as_array();
                    let list = list.ok_or_else(|| Error::failed("crit: must be a list"))?;
                    // The first element that isn't a string ends the list.
                    critical = list.iter().map_while(Value::as_str).collect();
                    if critical.is_empty() {
                        return Err(Error::failed("crit: must be a nonempty list"));
                    }
                }
                _ => unknown.push(key),
            }
        }
        header.critical = unknown.iter().any(|name| critical.contains(name));
        Ok(header)
    }
}

/// The signature scheme of a `verify_*` function; the key's own type and curve decide the rest.
#[derive(Clone, Copy)]
pub(super) enum Check {
    Rsa(Hash),
    Pss(Hash),
    Ecdsa(Hash),
    EdDsa,
}

impl Check {
    fn valid(self, key: &Key, text: &[u8], signature: &[u8]) -> Result<bool, Error> {
        use super::crypto::keys::PublicKey::{Ec, Ed25519, Rsa};
        // Only public keys: unlike elsewhere, OPA doesn't derive one from a private key here.
        let Key::Public(key) = key else { return Ok(false) };
        match (self, key) {
            (Self::Rsa(hash), Rsa { n, e }) => {
                signature::rsa((n, *e), Padding::Pkcs1, hash, text, signature)
            }
            (Self::Pss(hash), Rsa { n, e }) => {
                signature::rsa((n, *e), Padding::PssAnySalt, hash, text, signature)
            }
            (Self::Ecdsa(hash), Ec { curve, point }) => {
                let (r, s) = signature.split_at(signature.len() / 2);
                Ok(signature::ecdsa((*curve, point), &hash.digest(text), r, s))
            }
            (Self::EdDsa, Ed25519(key)) => Ok(signature::ed25519(key, text, signature)),
            _ => Ok(false),
        }
    }
}

pub(super) fn verify(ctx: &dyn Context, args: &[Value], check: Check) -> Answer {
    let token = Token::split(string(args, 0)?)?;
    let keys = keys(ctx, string(args, 1)?)?;
    let signature = base64url(token.signature)?;
    let object = token.header()?;
    let header = Header::read(&object)?;
    let signed = token.signed();
    let valid =
        first_valid(ctx, &keys, &header, |key| check.valid(key, signed.as_bytes(), &signature))?;
    answer(valid)
}

/// Returns the keys in a text, cached for the evaluation.
fn keys(ctx: &dyn Context, text: &str) -> Result<Arc<Vec<Jwk>>, Error> {
    ctx.cache().get("io.jwt keys", text, || {
        ctx.charge(text.len() as u64 * 4)?;
        jwk::keys(ctx, text)
    })
}

/// Returns `true` if the check succeeds for the key that the header names, or else for any key that
/// has the header's algorithm or none.
fn first_valid(
    ctx: &dyn Context,
    keys: &[Jwk],
    header: &Header,
    check: impl Fn(&Key) -> Result<bool, Error>,
) -> Result<bool, Error> {
    if !header.kid.is_empty()
        && let Some(key) = keys.iter().find(|key| key.kid == header.kid)
    {
        return check(&key.key);
    }
    for key in keys {
        ctx.check()?;
        if (key.alg.is_empty() || key.alg == header.alg) && check(&key.key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn verify_secret(args: &[Value], hash: Hash) -> Answer {
    let text = string(args, 0)?;
    let secret = string(args, 1)?;
    let token = Token::split(text)?;
    let code = signature::mac(hash, secret.as_bytes(), token.signed().as_bytes());
    answer(bool::from(base64url(token.signature)?.ct_eq(&code)))
}

// --- Verifying and checking at once ------------------------------------------------------------

/// The constraints that a token must meet.
struct Constraints {
    keys: Option<Arc<Vec<Jwk>>>,
    secret: String,
    alg: String,
    iss: String,
    aud: String,
    /// The time in nanoseconds.
    time: f64,
}

impl Constraints {
    fn read(ctx: &dyn Context, object: &Object) -> Result<Self, Error> {
        let mut read = Self {
            keys: None,
            secret: String::new(),
            alg: String::new(),
            iss: String::new(),
            aud: String::new(),
            time: -1.0,
        };
        for (key, value) in object {
            let name = key.as_str().unwrap_or_default();
            let text = || {
                let text = value.as_str();
                text.ok_or_else(|| Error::failed(format!("{name} constraint: must be a string")))
            };
            match name {
                "cert" => read.keys = Some(keys(ctx, text()?)?),
                "secret" => text()?.clone_into(&mut read.secret),
                "alg" => text()?.clone_into(&mut read.alg),
                "iss" => text()?.clone_into(&mut read.iss),
                "aud" => text()?.clone_into(&mut read.aud),
                "time" => {
                    let failed =
                        |what: &str| Error::failed(format!("token time constraint: {what}"));
                    let number = value.as_number().ok_or_else(|| failed("must be a number"))?;
                    let time = number.as_finite_f64();
                    read.time = time.ok_or_else(|| failed("unvalid float64"))?;
                    if read.time < 0.0 {
                        return Err(failed("must not be negative"));
                    }
                }
                _ => {
                    let message = format!("unknown token validation constraint: {name}");
                    return Err(Error::failed(message));
                }
            }
        }
        if read.time < 0.0 {
            read.time = Number::from(ctx.now_ns()).as_f64();
        }
        match (&read.keys, read.secret.is_empty()) {
            (Some(_), false) => Err(Error::failed("duplicate key constraints")),
            (None, true) => Err(Error::failed("no key constraint")),
            _ => Ok(read),
        }
    }

    fn signature_valid(
        &self,
        ctx: &dyn Context,
        header: &Header,
        token: &Token<'_>,
        bytes: &[u8],
    ) -> Result<bool, Error> {
        let signed = token.signed();
        // `Ed25519` is an alias of `EdDSA` here, and only here.
        let name = if header.alg == "Ed25519" { "EdDSA" } else { &header.alg };
        let algorithm = Algorithm::from_name(name);
        let check = |key: &Key| match (algorithm, key) {
            (None, _) => Ok(false),
            (Some(Algorithm::Hmac(hash)), Key::Secret(secret)) => {
                Ok(signature::mac(hash, secret, signed.as_bytes()).ct_eq(bytes).into())
            }
            (Some(_), Key::Secret(_)) => Ok(false),
            (Some(algorithm), Key::Public(key)) => algorithm.verify(key, signed.as_bytes(), bytes),
            (Some(algorithm), Key::Private(key)) => {
                algorithm.verify(&key.public(), signed.as_bytes(), bytes)
            }
        };
        match &self.keys {
            Some(keys) => first_valid(ctx, keys, header, check),
            None => check(&Key::Secret(self.secret.as_bytes().to_vec())),
        }
    }

    fn audience_valid(&self, audience: &Value) -> bool {
        match audience {
            Value::String(audience) => **audience == *self.aud,
            Value::Array(list) => list.iter().any(|item| item.as_str() == Some(&self.aud)),
            _ => false,
        }
    }

    fn claims_valid(&self, payload: &Object) -> Result<bool, Error> {
        let claim = |name: &str| payload.get(&Value::from(name));
        if !self.iss.is_empty() {
            let Some(issuer) = claim("iss") else { return Ok(false) };
            let issuer =
                issuer.as_str().ok_or_else(|| Error::failed("iss value must be a string"))?;
            if issuer != self.iss {
                return Ok(false);
            }
        }
        match claim("aud") {
            Some(audience) if !self.audience_valid(audience) => return Ok(false),
            None if !self.aud.is_empty() => return Ok(false),
            _ => {}
        }
        let now = Number::from_f64(self.time / 1e9)
            .ok_or_else(|| Error::failed("time must be a finite number"))?;
        let time = |name: &'static str| match claim(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(_) => Err(Error::failed(format!("{name} value must be a number"))),
        };
        if time("exp")?.is_some_and(|expires| now >= *expires) {
            return Ok(false);
        }
        Ok(time("nbf")?.is_none_or(|begins| now >= *begins))
    }
}

pub(super) fn decode_verify(ctx: &dyn Context, args: &[Value]) -> Answer {
    let constraints = Constraints::read(ctx, object(args, 1)?)?;
    let unverified = || answer(vec![Value::from(false), Value::new_object(), Value::new_object()]);
    let mut text = string(args, 0)?.to_owned();
    for _ in 0..MAX_NESTING {
        ctx.charge(text.len() as u64 * 4)?;
        let token = Token::split(&text)?;
        let object = token.header()?;
        let header = Header::read(&object)?;
        let wrong = !constraints.alg.is_empty() && constraints.alg != header.alg;
        if header.alg.is_empty() || header.critical || wrong {
            return unverified();
        }
        let bytes = base64url(token.signature)?;
        if !constraints.signature_valid(ctx, &header, &token, &bytes)? {
            return unverified();
        }
        let payload = token.payload()?;
        if header.cty.eq_ignore_ascii_case("JWT") {
            text = lossy(&payload);
            continue;
        }
        let payload = json_object(&payload)?;
        if !constraints.claims_valid(&payload)? {
            return unverified();
        }
        return answer(vec![Value::from(true), Value::Object(object), Value::Object(payload)]);
    }
    Err(nested())
}

// --- Making tokens ---------------------------------------------------------------------------

pub(super) fn encode_sign(ctx: &dyn Context, args: &[Value]) -> Answer {
    let json = |index| -> Result<String, Error> {
        let value = operand(args, index)?;
        ctx.charge(value.size())?;
        Ok(value.to_go_json())
    };
    sign(ctx, &json(0)?, &json(1)?, &json(2)?)
}

pub(super) fn encode_sign_raw(ctx: &dyn Context, args: &[Value]) -> Answer {
    let key = string(args, 2)?;
    sign(ctx, string(args, 0)?, string(args, 1)?, key)
}

fn sign(ctx: &dyn Context, header: &str, payload: &str, key: &str) -> Answer {
    ctx.charge((header.len() + payload.len()) as u64 * 4)?;
    let key = jwk::signing_key(ctx, key)?;
    let object = Value::from_json(header).ok();
    let member = |name| object.as_ref().and_then(|object| object.get_str(name)?.as_str());
    let name = member("alg").ok_or_else(|| Error::failed("missing or invalid 'alg' header"))?;
    let algorithm = Algorithm::from_name(name)
        .ok_or_else(|| Error::failed(format!("unknown JWS algorithm: {name}")))?;
    if member("typ").is_none_or(|kind| kind == "JWT") && Value::from_json(payload).is_err() {
        return Err(Error::failed("type is JWT but payload is not JSON"));
    }
    let mut token = to_base64url(header.as_bytes());
    token.push('.');
    token.push_str(&to_base64url(payload.as_bytes()));
    let bytes = match (algorithm, &key) {
        (Algorithm::Hmac(hash), Key::Secret(secret)) => {
            signature::mac(hash, secret, token.as_bytes())
        }
        (algorithm, Key::Private(key)) => algorithm.sign(key, token.as_bytes())?,
        _ => return Err(Error::failed("invalid key type for the algorithm")),
    };
    token.push('.');
    token.push_str(&to_base64url(&bytes));
    answer(token)
}

//! Public and private keys.
//!
//! Owns their DER forms, the rules for which of them are accepted, and their values: the structure
//! that OPA shows, and JWK.

use num_bigint::{BigInt, BigUint, Sign};

use super::super::encoding_rules::{to_base64, to_base64url};
use super::super::{Code, Error};
use super::der::{self, Der, INTEGER, OCTET_STRING, Oid, OrInvalid, SEQUENCE, invalid};
use super::p224;
use crate::value::{Number, Value};

pub(super) const RSA: &[u32] = &[1, 2, 840, 113_549, 1, 1, 1];
pub(super) const DSA: &[u32] = &[1, 2, 840, 10040, 4, 1];
pub(super) const EC: &[u32] = &[1, 2, 840, 10045, 2, 1];
pub(super) const X25519: &[u32] = &[1, 3, 101, 110];
pub(super) const ED25519: &[u32] = &[1, 3, 101, 112];

/// An elliptic curve for ECDSA keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Curve {
    P224,
    P256,
    P384,
    P521,
}

impl Curve {
    fn from_oid(oid: &[u32]) -> Option<Self> {
        match oid {
            [1, 3, 132, 0, 33] => Some(Self::P224),
            [1, 2, 840, 10045, 3, 1, 7] => Some(Self::P256),
            [1, 3, 132, 0, 34] => Some(Self::P384),
            [1, 3, 132, 0, 35] => Some(Self::P521),
            _ => None,
        }
    }

    /// Returns the curve with this name in a JWK.
    pub(in super::super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "P-256" => Some(Self::P256),
            "P-384" => Some(Self::P384),
            "P-521" => Some(Self::P521),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::P224 => "P-224",
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Returns the number of bytes in a coordinate.
    pub(in super::super) fn size(self) -> usize {
        match self {
            Self::P224 => 28,
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Returns `true` if `point` is an uncompressed point on the curve.
    pub(in super::super) fn contains(self, point: &[u8]) -> bool {
        if point.len() != 1 + 2 * self.size() || point.first() != Some(&4) {
            return false;
        }
        match self {
            Self::P224 => p224::is_on_curve(point),
            Self::P256 => p256::PublicKey::from_sec1_bytes(point).is_ok(),
            Self::P384 => p384::PublicKey::from_sec1_bytes(point).is_ok(),
            Self::P521 => p521::PublicKey::from_sec1_bytes(point).is_ok(),
        }
    }

    /// Computes the public point of a private number.
    fn point(self, d: &[u8]) -> Result<Vec<u8>, Error> {
        macro_rules! point {
            ($curve:ident) => {{
                use $curve::elliptic_curve::sec1::ToSec1Point as _;
                $curve::SecretKey::from_slice(d)
                    .map(|key| key.public_key().to_sec1_point(false).as_bytes().to_vec())
            }};
        }
        let invalid = || Error::failed("ecdsa: invalid private key");
        match self {
            Self::P224 => return p224::point(d).ok_or_else(invalid),
            Self::P256 => point!(p256),
            Self::P384 => point!(p384),
            Self::P521 => point!(p521),
        }
        .map_err(|_| invalid())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum PublicKey {
    Rsa {
        n: BigUint,
        e: u64,
    },
    /// The point is uncompressed and on the curve.
    Ec {
        curve: Curve,
        point: Vec<u8>,
    },
    Ed25519(Vec<u8>),
    X25519,
    Dsa {
        p: BigUint,
        q: BigUint,
        g: BigUint,
        y: BigUint,
    },
}

fn positive(number: BigInt) -> Option<BigUint> {
    (number.sign() == Sign::Plus).then(|| number.into_parts().1)
}

impl PublicKey {
    /// Reads the key that an algorithm identifier (without its header) and a bit string describe.
    /// Returns `None` if the algorithm is unknown.
    pub(super) fn from_parts(
        oid: &[u32],
        parameters: &[u8],
        data: &[u8],
    ) -> Result<Option<Self>, Error> {
        let mut parameters_der = Der(parameters);
        let mut der = Der(data);
        Ok(Some(match oid {
            RSA => {
                if parameters != [5, 0] {
                    return Err(invalid("RSA key missing NULL parameters"));
                }
                let mut der = der.read(SEQUENCE).or_invalid("invalid RSA public key")?;
                let n = der.integer().or_invalid("invalid RSA modulus")?;
                let e = der.small_integer().or_invalid("invalid RSA public exponent")?;
                let n = positive(bounded(n)?).or_invalid("RSA modulus is not a positive number")?;
                let e = u64::try_from(e).ok().filter(|e| *e > 0);
                let e = e.or_invalid("RSA public exponent is not a positive number")?;
                Self::Rsa { n, e }
            }
            EC => {
                let oid = parameters_der.oid().or_invalid("invalid ECDSA parameters")?;
                let curve = Curve::from_oid(&oid).or_invalid("unsupported elliptic curve")?;
                if !curve.contains(data) {
                    return Err(Error::failed("ecdsa: invalid uncompressed public key"));
                }
                Self::Ec { curve, point: data.to_vec() }
            }
            ED25519 if !parameters.is_empty() => {
                return Err(invalid("Ed25519 key encoded with illegal parameters"));
            }
            ED25519 if data.len() != 32 => return Err(invalid("wrong Ed25519 public key size")),
            ED25519 => Self::Ed25519(data.to_vec()),
            X25519 if !parameters.is_empty() => {
                return Err(invalid("X25519 key encoded with illegal parameters"));
            }
            X25519 if data.len() != 32 => return Err(Error::failed("ecdh: invalid public key")),
            X25519 => Self::X25519,
            DSA => {
                let y = der.integer().or_invalid("invalid DSA public key")?;
                let mut read = || {
                    let mut sequence = parameters_der.read(SEQUENCE)?;
                    Some((sequence.integer()?, sequence.integer()?, sequence.integer()?))
                };
                let (p, q, g) = read().or_invalid("invalid DSA parameters")?;
                let [p, q, g, y] = [bounded(p)?, bounded(q)?, bounded(g)?, bounded(y)?];
                match (positive(p), positive(q), positive(g), positive(y)) {
                    (Some(p), Some(q), Some(g), Some(y)) => Self::Dsa { p, q, g, y },
                    _ => return Err(invalid("zero or negative DSA parameter")),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// Parses a PKIX structure (`PUBLIC KEY`).
    pub(in super::super) fn parse_pkix(bytes: &[u8]) -> Result<Self, Error> {
        let mut outer = Der(bytes);
        let mut read = || {
            let mut der = outer.read(SEQUENCE)?;
            let algorithm = algorithm(der.read(SEQUENCE)?)?;
            let (bits, padding) = der.bits()?;
            Some((algorithm, right_align(bits, padding)))
        };
        let ((oid, parameters), data) =
            read().ok_or_else(|| Error::failed("asn1: structure error"))?;
        if !outer.is_empty() {
            return Err(invalid("trailing data after ASN.1 of public-key"));
        }
        Self::from_parts(&oid, parameters, &data)?.or_invalid("unknown public key algorithm")
    }

    /// Returns the key as OPA shows it.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Rsa { n, e } => object([("E", Value::from(*e)), ("N", big(n))]),
            Self::Ec { curve, point } => object(ec_members(*curve, point)),
            Self::Ed25519(bytes) => Value::from(to_base64(bytes)),
            Self::X25519 => Value::new_object(),
            Self::Dsa { p, q, g, y } => {
                object([("G", big(g)), ("P", big(p)), ("Q", big(q)), ("Y", big(y))])
            }
        }
    }
}

fn coordinates(curve: Curve, point: &[u8]) -> (&[u8], &[u8]) {
    point.get(1..).unwrap_or_default().split_at_checked(curve.size()).unwrap_or_default()
}

fn ec_members(curve: Curve, point: &[u8]) -> [(&'static str, Value); 3] {
    let (x, y) = coordinates(curve, point);
    let number = |bytes| big(&BigUint::from_bytes_be(bytes));
    [("Curve", Value::new_object()), ("X", number(x)), ("Y", number(y))]
}

/// Reads an algorithm identifier: the object identifier, and the parameters with their header.
pub(super) fn algorithm(mut der: Der<'_>) -> Option<(Oid, &[u8])> {
    let oid = der.oid()?;
    if der.is_empty() {
        return Some((oid, &[]));
    }
    let (_, parameters, _) = der.any()?;
    Some((oid, parameters))
}

/// Shifts bits to the end of their bytes.
pub(super) fn right_align(bytes: &[u8], padding: u8) -> Vec<u8> {
    if padding == 0 || bytes.is_empty() {
        return bytes.to_vec();
    }
    let mut before = 0;
    bytes
        .iter()
        .map(|byte| {
            let moved = before << (8 - padding) | byte >> padding;
            before = *byte;
            moved
        })
        .collect()
}

#[derive(Debug, Clone)]
pub(in super::super) enum PrivateKey {
    Rsa(RsaPrivate),
    Ec { curve: Curve, d: Vec<u8>, point: Vec<u8> },
    Ed25519 { seed: Vec<u8>, public: Vec<u8> },
    X25519,
}

/// An RSA private key.
#[derive(Debug, Clone)]
pub(in super::super) struct RsaPrivate {
    pub n: BigUint,
    pub e: u64,
    pub d: BigUint,
    /// The prime factors; more than two in an obsolete kind of key.
    pub primes: Vec<BigUint>,
    /// The CRT values that came with the key.
    pub given: Option<Crt>,
}

/// The values of the Chinese remainder theorem that speed up RSA computations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Crt {
    pub dp: BigUint,
    pub dq: BigUint,
    pub qinv: BigUint,
}

/// The limit on the size of a modulus; larger ones are refused before any computation.
const MAX_RSA_BITS: u64 = 16_384;

impl RsaPrivate {
    /// Checks that the primes and exponents are consistent.
    pub(super) fn validate(&self) -> Result<(), Error> {
        let bad = |what: &'static str| Error::failed(format!("crypto/rsa: {what}"));
        let numbers = self.primes.iter().chain([&self.n, &self.d]);
        if self.primes.len() > 8 || numbers.into_iter().any(|number| number.bits() > MAX_RSA_BITS) {
            return Err(Error::halt(Code::Limit, "the RSA key is too large"));
        }
        if !self.n.bit(0) {
            return Err(bad("public modulus is even"));
        }
        if self.e < 2 || self.e & 1 == 0 || self.e > (1 << 31) - 1 {
            return Err(bad("invalid public exponent"));
        }
        let one = BigUint::from(1_u32);
        let [p, q] = self.primes.as_slice() else {
            return if self.primes.iter().any(|prime| *prime <= one) {
                Err(bad("prime factor is <= 1"))
            } else {
                self.crt().map(|_| ())
            };
        };
        if *p <= one || *q <= one || p * q != self.n {
            return Err(bad("p * q != n"));
        }
        let crt = self.given.clone().map_or_else(|| self.crt(), Ok)?;
        let e = BigUint::from(self.e);
        for (prime, exponent) in [(p, &crt.dp), (q, &crt.dq)] {
            let order = prime - &one;
            if *exponent >= order || (&e * exponent) % &order != &one % &order {
                return Err(bad("invalid CRT exponent"));
            }
            if &self.d % &order != *exponent {
                return Err(bad("d does not match its CRT exponents"));
            }
        }
        if (q * &crt.qinv) % p != one || crt.qinv >= *p {
            return Err(bad("invalid CRT coefficient"));
        }
        Ok(())
    }

    /// Computes the CRT values of the first two primes.
    pub(super) fn crt(&self) -> Result<Crt, Error> {
        let one = BigUint::from(1_u32);
        let [p, q, ..] = self.primes.as_slice() else {
            return Err(Error::failed("crypto/rsa: missing primes"));
        };
        if *p <= one || *q <= one {
            return Err(Error::failed("crypto/rsa: invalid prime"));
        }
        let qinv = q
            .modinv(p)
            .ok_or_else(|| Error::failed("crypto/rsa: prime factors are not relatively prime"))?;
        Ok(Crt { dp: &self.d % (p - &one), dq: &self.d % (q - &one), qinv })
    }

    fn to_value(&self) -> Value {
        let mut members = vec![
            ("D", big(&self.d)),
            ("E", Value::from(self.e)),
            ("N", big(&self.n)),
            ("Primes", Value::from(self.primes.iter().map(big).collect::<Vec<_>>())),
        ];
        if let Ok(crt) = self.crt() {
            members.push((
                "Precomputed",
                object([
                    ("CRTValues", Value::from(self.more_crt())),
                    ("Dp", big(&crt.dp)),
                    ("Dq", big(&crt.dq)),
                    ("Qinv", big(&crt.qinv)),
                ]),
            ));
        }
        object(members)
    }

    /// Returns the CRT values of the third prime and later ones.
    fn more_crt(&self) -> Vec<Value> {
        let mut product: BigUint = self.primes.iter().take(2).product();
        let one = BigUint::from(1_u32);
        let mut values = Vec::new();
        for prime in self.primes.iter().skip(2) {
            let coefficient = product.modinv(prime).unwrap_or_default();
            values.push(object([
                ("Coeff", big(&coefficient)),
                ("Exp", big(&(&self.d % (prime - &one)))),
                ("R", big(&product)),
            ]));
            product *= prime;
        }
        values
    }
}

impl PrivateKey {
    /// Parses a key in any of the DER forms.
    pub(super) fn parse_any(bytes: &[u8]) -> Result<Self, Error> {
        let parsers = [Self::parse_pkcs1, Self::parse_pkcs8, Self::parse_sec1];
        for parse in parsers {
            match parse(bytes) {
                Ok(Self::X25519) => {
                    let message = "tls: found unknown private key type in PKCS#8 wrapping";
                    return Err(Error::failed(message));
                }
                Err(error) if error.halt => return Err(error),
                Ok(key) => return Ok(key),
                Err(_) => {}
            }
        }
        Err(Error::failed("tls: failed to parse private key"))
    }

    /// Parses an `RSA PRIVATE KEY`.
    pub(in super::super) fn parse_pkcs1(bytes: &[u8]) -> Result<Self, Error> {
        let mut outer = Der(bytes);
        let key = read_pkcs1(&mut outer).or_invalid("failed to parse RSA private key")?;
        if !outer.is_empty() {
            return Err(Error::failed("asn1: syntax error: trailing data"));
        }
        let key = key.or_invalid("private key contains zero or negative value")?;
        key.validate()?;
        Ok(Self::Rsa(key))
    }

    /// Parses a `PRIVATE KEY`.
    pub(in super::super) fn parse_pkcs8(bytes: &[u8]) -> Result<Self, Error> {
        let mut outer = Der(bytes);
        let mut read = || {
            let mut der = outer.read(SEQUENCE)?;
            der.small_integer()?;
            let algorithm = algorithm(der.read(SEQUENCE)?)?;
            Some((algorithm, der.read(OCTET_STRING)?.0))
        };
        let ((oid, parameters), key) = read().or_invalid("failed to parse PKCS#8 private key")?;
        match oid.as_slice() {
            RSA => Self::parse_pkcs1(key),
            EC => Self::ec(Der(parameters).oid().as_deref(), key),
            ED25519 | X25519 => {
                if !parameters.is_empty() {
                    return Err(invalid("invalid private key parameters"));
                }
                let seed = Der(key).read(OCTET_STRING).map(|der| der.0);
                let seed = seed.filter(|seed| seed.len() == 32);
                let seed = seed.or_invalid("invalid private key length")?.to_vec();
                if oid == X25519 { Ok(Self::X25519) } else { Self::ed25519(seed) }
            }
            _ => Err(invalid("PKCS#8 wrapping contained private key with unknown algorithm")),
        }
    }

    /// Parses an `EC PRIVATE KEY`.
    pub(in super::super) fn parse_sec1(bytes: &[u8]) -> Result<Self, Error> {
        Self::ec(None, bytes)
    }

    fn ec(outer: Option<&[u32]>, bytes: &[u8]) -> Result<Self, Error> {
        let read = || {
            let mut der = Der(bytes).read(SEQUENCE)?;
            let version = der.small_integer()?;
            let d = der.read(OCTET_STRING)?.0;
            let curve = match der.optional(der::explicit(0))? {
                Some(mut inner) => Some(inner.oid()?),
                None => None,
            };
            if let Some(mut inner) = der.optional(der::explicit(1))? {
                inner.bits()?;
            }
            Some((version, d, curve))
        };
        let (version, d, inner) = read().or_invalid("failed to parse EC private key")?;
        if version != 1 {
            return Err(invalid(&format!("unknown EC private key version {version}")));
        }
        let oid = outer.or(inner.as_deref()).unwrap_or_default();
        let curve = Curve::from_oid(oid).or_invalid("unknown elliptic curve")?;
        let d = padded(d, curve.size()).or_invalid("invalid private key length")?;
        let point = curve.point(&d)?;
        Ok(Self::Ec { curve, d, point })
    }

    /// Returns the key of a seed.
    pub(in super::super) fn ed25519(seed: Vec<u8>) -> Result<Self, Error> {
        use ring_crypto::signature::KeyPair as _;
        let pair = ring_crypto::signature::Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|_| Error::failed("ed25519: wrong private key size"))?;
        let public = pair.public_key().as_ref().to_vec();
        Ok(Self::Ed25519 { seed, public })
    }

    /// Returns the matching public key.
    pub(in super::super) fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => PublicKey::Rsa { n: key.n.clone(), e: key.e },
            Self::Ec { curve, point, .. } => PublicKey::Ec { curve: *curve, point: point.clone() },
            Self::Ed25519 { public, .. } => PublicKey::Ed25519(public.clone()),
            Self::X25519 => PublicKey::X25519,
        }
    }

    /// Returns `true` if this is the private key for `public`.
    pub(super) fn belongs_to(&self, public: &PublicKey) -> bool {
        !matches!(self, Self::X25519) && self.public() == *public
    }

    /// Returns the key as OPA shows it.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Rsa(key) => key.to_value(),
            Self::Ec { curve, d, point } => object(
                ec_members(*curve, point)
                    .into_iter()
                    .chain([("D", big(&BigUint::from_bytes_be(d)))]),
            ),
            Self::Ed25519 { seed, public } => {
                Value::from(to_base64(&[seed.as_slice(), public].concat()))
            }
            Self::X25519 => Value::new_object(),
        }
    }

    /// Returns the key as a JWK.
    pub(super) fn to_jwk(&self) -> Result<Value, Error> {
        let text = |bytes: &[u8]| Value::from(to_base64url(bytes));
        let number = |value: &BigUint| Value::from(to_base64url(&value.to_bytes_be()));
        Ok(match self {
            Self::Rsa(key) => {
                let [p, q] = key.primes.as_slice() else {
                    let message = "invalid number of primes in rsa.PrivateKey: need 0 to 2";
                    return Err(Error::failed(message));
                };
                let crt = key.crt()?;
                object([
                    ("d", number(&key.d)),
                    ("dp", number(&crt.dp)),
                    ("dq", number(&crt.dq)),
                    ("e", number(&BigUint::from(key.e))),
                    ("kty", Value::from("RSA")),
                    ("n", number(&key.n)),
                    ("p", number(p)),
                    ("q", number(q)),
                    ("qi", number(&crt.qinv)),
                ])
            }
            // As in OPA, whose library has no name for the curve.
            Self::Ec { curve: Curve::P224, .. } => {
                return Err(Error::failed("a key on the curve P-224 can't be written as a JWK"));
            }
            Self::Ec { curve, d, point } => {
                let (x, y) = coordinates(*curve, point);
                object([
                    ("crv", Value::from(curve.name())),
                    ("d", text(d)),
                    ("kty", Value::from("EC")),
                    ("x", text(x)),
                    ("y", text(y)),
                ])
            }
            Self::Ed25519 { seed, public } => object([
                ("crv", Value::from("Ed25519")),
                ("d", text(seed)),
                ("kty", Value::from("OKP")),
                ("x", text(public)),
            ]),
            Self::X25519 => {
                return Err(Error::halt(Code::Builtin, "keys for X25519 are not supported"));
            }
        })
    }
}

/// Reads the numbers of an RSA private key; the inner `None` means that one isn't positive.
#[allow(clippy::option_option)]
fn read_pkcs1(outer: &mut Der<'_>) -> Option<Option<RsaPrivate>> {
    let mut der = outer.read(SEQUENCE)?;
    let version = der.small_integer()?;
    if version > 1 {
        return None;
    }
    let n = der.integer()?;
    let e = der.small_integer()?;
    let (d, p, q) = (der.integer()?, der.integer()?, der.integer()?);
    let mut given = Vec::new();
    while given.len() < 3 && der.at(INTEGER) {
        given.push(der.integer()?);
    }
    let mut primes = vec![p, q];
    if let Some(mut more) = der.optional(SEQUENCE)? {
        while !more.is_empty() {
            let mut prime = more.read(SEQUENCE)?;
            primes.push(prime.integer()?);
            prime.integer()?;
            prime.integer()?;
        }
    }
    let key = || {
        let given: Vec<BigUint> = given.into_iter().map(positive).collect::<Option<_>>()?;
        let given = match <[BigUint; 3]>::try_from(given) {
            Ok([dp, dq, qinv]) => Some(Crt { dp, dq, qinv }),
            Err(_) => None,
        };
        Some(RsaPrivate {
            n: positive(n)?,
            // A negative exponent is rejected along with even ones.
            e: u64::try_from(e).unwrap_or(0),
            d: positive(d)?,
            primes: primes.into_iter().map(positive).collect::<Option<_>>()?,
            given,
        })
    };
    Some(key())
}

/// Converts a number of any size.
pub(super) fn big(value: &BigUint) -> Value {
    Number::parse(&value.to_string()).map_or(Value::Null, Value::from)
}

/// Builds an object from members.
pub(super) fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    members.into_iter().collect()
}

/// The limit on the bits of integers in values: writing longer ones takes too long.
const MAX_BITS: u64 = 1 << 17;

/// Checks that an integer isn't too large to be written.
pub(super) fn bounded(number: BigInt) -> Result<BigInt, Error> {
    if number.bits() <= MAX_BITS {
        return Ok(number);
    }
    Err(Error::halt(
        Code::Limit,
        format!("an integer of {} bits is above the limit", number.bits()),
    ))
}

/// Returns a number in exactly `size` bytes, if it fits.
pub(super) fn padded(number: &[u8], size: usize) -> Option<Vec<u8>> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = number.get(zeros..)?;
    let mut bytes = vec![0; size.checked_sub(digits.len())?];
    bytes.extend_from_slice(digits);
    Some(bytes)
}

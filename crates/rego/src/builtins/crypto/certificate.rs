//! X.509 certificates and certificate requests.
//!
//! Owns their parsing, exactly as strict as OPA's, and their values: all the fields that OPA shows,
//! under its names. The validity of chains is in `chain`.

use std::net::IpAddr;

use chrono::{DateTime, FixedOffset, NaiveDate};
use num_bigint::{BigInt, Sign};

use super::super::encoding_rules::to_base64;
use super::super::uri::Url;
use super::super::{Context, Error};
use super::der::{
    self, Der, GENERALIZED_TIME, OBJECT_IDENTIFIER, OCTET_STRING, Oid, OrInvalid, SEQUENCE, SET,
    UTC_TIME, invalid,
};
use super::keys::{self, PublicKey, algorithm, bounded, object, right_align};
use super::mailbox::mailbox;
use super::signature::{Hash, Padding};
use crate::value::{Number, Value, lossy};

/// The signature algorithm of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureAlgorithm {
    Rsa(Padding, Hash),
    Ecdsa(Hash),
    Ed25519,
    /// Known but never valid: MD5, SHA-1, DSA.
    Insecure,
    Unknown,
}

/// An X.509 certificate.
pub(in super::super) struct Certificate {
    pub(super) raw: Vec<u8>,
    pub(super) raw_tbs: Vec<u8>,
    raw_spki: Vec<u8>,
    pub(super) raw_subject: Vec<u8>,
    pub(super) raw_issuer: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) algorithm: (i64, SignatureAlgorithm),
    key_algorithm: i64,
    key: Option<PublicKey>,
    pub(super) version: i64,
    serial: BigInt,
    issuer: Name,
    subject: Name,
    pub(super) not_before: Time,
    pub(super) not_after: Time,
    pub(super) extensions: Vec<Extension>,
    pub(super) decoded: DecodedExtensions,
}

/// The decoded extensions of a certificate.
#[derive(Default)]
pub(super) struct DecodedExtensions {
    pub unhandled: Vec<Oid>,
    pub key_usage: i64,
    /// The CA flag, and the maximum length of the path below; negative if unlimited.
    pub basic_constraints: Option<(bool, i64)>,
    pub names: Names,
    pub constraints: Option<Constraints>,
    pub distribution_points: Vec<String>,
    pub authority_key_id: Option<Vec<u8>>,
    pub subject_key_id: Option<Vec<u8>>,
    pub require_explicit_policy: Option<i64>,
    pub inhibit_policy_mapping: Option<i64>,
    pub inhibit_any_policy: Option<i64>,
    pub usages: Vec<i64>,
    pub unknown_usages: Vec<Oid>,
    pub policies: Option<Vec<Vec<u8>>>,
    pub policy_mappings: Vec<(Vec<u8>, Vec<u8>)>,
    ocsp: Vec<String>,
    issuing: Vec<String>,
}

/// The alternative names of a subject.
#[derive(Default)]
pub(super) struct Names {
    pub dns: Vec<String>,
    pub emails: Vec<String>,
    pub addresses: Vec<Vec<u8>>,
    pub uris: Vec<Url>,
}

/// The constraints on the names that an authority may vouch for.
#[derive(Default)]
pub(super) struct Constraints {
    pub permitted: Subtrees,
    pub excluded: Subtrees,
    critical: bool,
}

/// A set of subtrees in the name space.
#[derive(Default)]
pub(super) struct Subtrees {
    pub dns: Vec<String>,
    /// Pairs of address and mask.
    pub addresses: Vec<(Vec<u8>, Vec<u8>)>,
    pub emails: Vec<String>,
    pub uris: Vec<String>,
}

/// An extension whose value isn't decoded yet.
pub(super) struct Extension {
    pub oid: Oid,
    critical: bool,
    pub value: Vec<u8>,
}

pub(super) const SUBJECT_ALT_NAME: &[u32] = &[2, 5, 29, 17];
const EXTENSION_REQUEST: &[u32] = &[1, 2, 840, 113_549, 1, 9, 14];
const AUTHORITY_INFO_ACCESS: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 1, 1];

/// The index of "any purpose" in [`USAGES`].
pub(super) const ANY_USAGE: i64 = 0;

/// Extended key usages, at the indexes by which Go refers to them.
pub(super) const USAGES: [(&str, &[u32]); 14] = [
    ("KeyUsageAny", &[2, 5, 29, 37, 0]),
    ("KeyUsageServerAuth", &[1, 3, 6, 1, 5, 5, 7, 3, 1]),
    ("KeyUsageClientAuth", &[1, 3, 6, 1, 5, 5, 7, 3, 2]),
    ("KeyUsageCodeSigning", &[1, 3, 6, 1, 5, 5, 7, 3, 3]),
    ("KeyUsageEmailProtection", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("KeyUsageIPSECEndSystem", &[1, 3, 6, 1, 5, 5, 7, 3, 5]),
    ("KeyUsageIPSECTunnel", &[1, 3, 6, 1, 5, 5, 7, 3, 6]),
    ("KeyUsageIPSECUser", &[1, 3, 6, 1, 5, 5, 7, 3, 7]),
    ("KeyUsageTimeStamping", &[1, 3, 6, 1, 5, 5, 7, 3, 8]),
    ("KeyUsageOCSPSigning", &[1, 3, 6, 1, 5, 5, 7, 3, 9]),
    ("KeyUsageMicrosoftServerGatedCrypto", &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3]),
    ("KeyUsageNetscapeServerGatedCrypto", &[2, 16, 840, 1, 113_730, 4, 1]),
    ("KeyUsageMicrosoftCommercialCodeSigning", &[1, 3, 6, 1, 4, 1, 311, 2, 1, 22]),
    ("KeyUsageMicrosoftKernelCodeSigning", &[1, 3, 6, 1, 4, 1, 311, 61, 1, 1]),
];

impl Certificate {
    /// Parses certificates that follow one another.
    pub(super) fn parse_all(ctx: &dyn Context, mut bytes: &[u8]) -> Result<Vec<Self>, Error> {
        let mut certificates = Vec::new();
        while !bytes.is_empty() {
            ctx.check()?;
            let certificate = Self::parse_first(bytes)?;
            bytes = bytes.get(certificate.raw.len()..).unwrap_or_default();
            certificates.push(certificate);
        }
        Ok(certificates)
    }

    /// Parses a single certificate, with nothing after it.
    pub(in super::super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let certificate = Self::parse_first(bytes)?;
        if certificate.raw.len() == bytes.len() {
            Ok(certificate)
        } else {
            Err(invalid("trailing data"))
        }
    }

    fn parse_first(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = || invalid("malformed certificate");
        let raw = Der(bytes).element(SEQUENCE).ok_or_else(malformed)?;
        let mut outer = Der(raw).read(SEQUENCE).ok_or_else(malformed)?;
        let raw_tbs = outer.element(SEQUENCE).or_invalid("malformed tbs certificate")?;
        let mut tbs = Der(raw_tbs).read(SEQUENCE).or_invalid("malformed tbs certificate")?;
        let version = version(&mut tbs).or_invalid("malformed version")? + 1;
        if version > 3 {
            return Err(invalid("invalid version"));
        }
        let serial = tbs.integer().or_invalid("malformed serial number")?;
        if serial.sign() == Sign::Minus {
            return Err(invalid("negative serial number"));
        }
        let serial = bounded(serial)?;
        let malformed = || invalid("malformed signature algorithm identifier");
        let algorithm_der = tbs.read(SEQUENCE).ok_or_else(malformed)?;
        let outer_algorithm = outer.read(SEQUENCE).ok_or_else(malformed)?;
        if algorithm_der.0 != outer_algorithm.0 {
            return Err(invalid("inner and outer signature algorithm identifiers don't match"));
        }
        let (oid, parameters) = algorithm(algorithm_der).ok_or_else(malformed)?;
        let raw_issuer = tbs.element(SEQUENCE).or_invalid("malformed issuer")?;
        let issuer = Name::parse(raw_issuer)?;
        let mut validity = tbs.read(SEQUENCE).or_invalid("malformed validity")?;
        let not_before = Time::read(&mut validity)?;
        let not_after = Time::read(&mut validity)?;
        let raw_subject = tbs.element(SEQUENCE).or_invalid("malformed subject")?;
        let subject = Name::parse(raw_subject)?;
        let raw_spki = tbs.element(SEQUENCE).or_invalid("malformed spki")?;
        let (key_algorithm, key) = subject_key(raw_spki)?;
        let mut extensions = Vec::new();
        if version > 1 {
            for tag in [1, 2] {
                tbs.optional(der::context(tag)).or_invalid("malformed unique id")?;
            }
        }
        if version == 3 {
            let present = tbs.optional(der::explicit(3)).or_invalid("malformed extensions")?;
            if let Some(mut der) = present {
                let list = der.read(SEQUENCE).or_invalid("malformed extensions")?;
                extensions = read_extensions(list)?;
            }
        }
        let decoded = DecodedExtensions::read(&extensions)?;
        let (signature, padding) = outer.bits().or_invalid("malformed signature")?;
        Ok(Self {
            raw: raw.to_vec(),
            raw_tbs: raw_tbs.to_vec(),
            raw_spki: raw_spki.to_vec(),
            raw_subject: raw_subject.to_vec(),
            raw_issuer: raw_issuer.to_vec(),
            signature: right_align(signature, padding),
            algorithm: signature_algorithm(&oid, parameters),
            key_algorithm,
            key,
            version,
            serial,
            issuer,
            subject,
            not_before,
            not_after,
            extensions,
            decoded,
        })
    }

    /// Returns the subject's key, if its algorithm is known.
    pub(in super::super) fn public_key(&self) -> Option<&PublicKey> {
        self.key.as_ref()
    }

    /// Returns the properties that identify the holder of a key.
    pub(super) fn identity(&self) -> (&[u8], &[u8], Option<&[u8]>) {
        let names = self.extensions.iter().find(|extension| extension.oid == SUBJECT_ALT_NAME);
        (&self.raw_subject, &self.raw_spki, names.map(|name| name.value.as_slice()))
    }

    /// Returns the certificate as OPA shows it; if `uris`, with the text of URIs as well.
    pub(super) fn to_value(&self, uris: bool) -> Value {
        let decoded = &self.decoded;
        let bytes = |bytes: &[u8]| Value::from(to_base64(bytes));
        let optional = |value: Option<&Vec<u8>>| {
            value.map_or(Value::Null, |bytes| Value::from(to_base64(bytes)))
        };
        let names = &decoded.names;
        let none = Constraints::default();
        let constraints = decoded.constraints.as_ref().unwrap_or(&none);
        let (permitted, excluded) = (&constraints.permitted, &constraints.excluded);
        let (ca, length) = decoded.basic_constraints.unwrap_or((false, 0));
        let mut members = vec![
            ("Raw", bytes(&self.raw)),
            ("RawTBSCertificate", bytes(&self.raw_tbs)),
            ("RawSubjectPublicKeyInfo", bytes(&self.raw_spki)),
            ("RawSubject", bytes(&self.raw_subject)),
            ("RawIssuer", bytes(&self.raw_issuer)),
            ("Signature", bytes(&self.signature)),
            ("SignatureAlgorithm", Value::from(self.algorithm.0)),
            ("PublicKeyAlgorithm", Value::from(self.key_algorithm)),
            ("PublicKey", self.key.as_ref().map_or(Value::Null, PublicKey::to_value)),
            ("Version", Value::from(self.version)),
            ("SerialNumber", integer(&self.serial)),
            ("Issuer", self.issuer.to_value()),
            ("Subject", self.subject.to_value()),
            ("NotBefore", self.not_before.to_value()),
            ("NotAfter", self.not_after.to_value()),
            ("KeyUsage", Value::from(decoded.key_usage)),
            ("Extensions", list(&self.extensions, Extension::to_value)),
            ("ExtraExtensions", Value::Null),
            ("UnhandledCriticalExtensions", list(&decoded.unhandled, |oid| oid_value(oid))),
            ("ExtKeyUsage", list(&decoded.usages, |usage| Value::from(*usage))),
            ("UnknownExtKeyUsage", list(&decoded.unknown_usages, |oid| oid_value(oid))),
            ("BasicConstraintsValid", Value::from(decoded.basic_constraints.is_some())),
            ("IsCA", Value::from(ca)),
            ("MaxPathLen", Value::from(length)),
            ("MaxPathLenZero", Value::from(decoded.basic_constraints.is_some() && length == 0)),
            ("SubjectKeyId", optional(decoded.subject_key_id.as_ref())),
            ("AuthorityKeyId", optional(decoded.authority_key_id.as_ref())),
            ("OCSPServer", texts(&decoded.ocsp)),
            ("IssuingCertificateURL", texts(&decoded.issuing)),
            ("DNSNames", texts(&names.dns)),
            ("EmailAddresses", texts(&names.emails)),
            ("IPAddresses", list(&names.addresses, |ip| address(ip))),
            ("URIs", list(&names.uris, url_value)),
            ("PermittedDNSDomainsCritical", Value::from(constraints.critical)),
            ("PermittedDNSDomains", texts(&permitted.dns)),
            ("ExcludedDNSDomains", texts(&excluded.dns)),
            ("PermittedIPRanges", list(&permitted.addresses, range)),
            ("ExcludedIPRanges", list(&excluded.addresses, range)),
            ("PermittedEmailAddresses", texts(&permitted.emails)),
            ("ExcludedEmailAddresses", texts(&excluded.emails)),
            ("PermittedURIDomains", texts(&permitted.uris)),
            ("ExcludedURIDomains", texts(&excluded.uris)),
            ("CRLDistributionPoints", texts(&decoded.distribution_points)),
        ];
        let policies = decoded.policies.as_deref();
        let oids: Option<Vec<Value>> = policies.map(|policy| {
            policy
                .iter()
                .filter_map(|policy| der::oid(policy))
                .map(|policy| oid_value(&policy))
                .collect()
        });
        members.extend([
            ("PolicyIdentifiers", oids.map_or(Value::Null, Value::from)),
            (
                "Policies",
                list(policies.unwrap_or_default(), |policy| Value::from(der::oid_text(policy))),
            ),
            (
                "PolicyMappings",
                list(&decoded.policy_mappings, |(issuer, subject)| {
                    object([
                        ("IssuerDomainPolicy", Value::from(der::oid_text(issuer))),
                        ("SubjectDomainPolicy", Value::from(der::oid_text(subject))),
                    ])
                }),
            ),
        ]);
        for (name, zero, value) in [
            ("InhibitAnyPolicy", "InhibitAnyPolicyZero", decoded.inhibit_any_policy),
            ("InhibitPolicyMapping", "InhibitPolicyMappingZero", decoded.inhibit_policy_mapping),
            ("RequireExplicitPolicy", "RequireExplicitPolicyZero", decoded.require_explicit_policy),
        ] {
            members.push((name, Value::from(value.unwrap_or(0))));
            members.push((zero, Value::from(value == Some(0))));
        }
        if uris {
            members.push(("URIStrings", list(&names.uris, |uri| Value::from(uri.to_string()))));
        }
        object(members)
    }
}

/// Parses a certificate request into the value that OPA shows.
pub(super) fn request_value(bytes: &[u8]) -> Result<Value, Error> {
    let malformed = || invalid("malformed certificate request");
    let mut outer = Der(bytes);
    let raw = outer.element(SEQUENCE).ok_or_else(malformed)?;
    let mut der = Der(raw).read(SEQUENCE).ok_or_else(malformed)?;
    let raw_tbs = der.element(SEQUENCE).ok_or_else(malformed)?;
    let (oid, parameters) = der.read(SEQUENCE).and_then(algorithm).ok_or_else(malformed)?;
    let (signature, padding) = der.bits().ok_or_else(malformed)?;
    if !outer.is_empty() {
        return Err(Error::failed("asn1: syntax error: trailing data"));
    }
    let mut tbs = Der(raw_tbs).read(SEQUENCE).ok_or_else(malformed)?;
    let version = tbs.small_integer().ok_or_else(malformed)?;
    let (_, raw_subject, _) = tbs.any().ok_or_else(malformed)?;
    let raw_spki = tbs.element(SEQUENCE).ok_or_else(malformed)?;
    let rest = tbs.read(der::explicit(0)).ok_or_else(malformed)?;
    let attributes = rest.all(|rest| Some(rest.any()?.1)).ok_or_else(malformed)?;
    let (key_algorithm, key) = subject_key(raw_spki)?;
    let subject = Name::parse_loosely(raw_subject)?;
    let mut extensions = Vec::new();
    for attribute in &attributes {
        let read = || {
            let mut der = Der(attribute).read(SEQUENCE)?;
            let oid = der.oid()?;
            let mut values = der.read(SET)?;
            let first = values.any()?.1;
            // Malformed attributes are skipped, whichever value is malformed.
            while !values.is_empty() {
                values.any()?;
            }
            Some((oid, first))
        };
        let Some((oid, first)) = read() else { continue };
        if oid == EXTENSION_REQUEST {
            let list = Der(first).read(SEQUENCE).ok_or_else(malformed)?;
            extensions.extend(read_extensions(list)?);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    if !extensions.iter().all(|extension| seen.insert(&extension.oid)) {
        return Err(invalid("certificate request contains duplicate requested extensions"));
    }
    let names = match extensions.iter().rev().find(|extension| extension.oid == SUBJECT_ALT_NAME) {
        Some(extension) => Names::read(&extension.value)?,
        None => Names::default(),
    };
    let attributes: Vec<Value> = attributes.iter().filter_map(|parsed| attribute(parsed)).collect();
    let bytes = |bytes: &[u8]| Value::from(to_base64(bytes));
    Ok(object([
        ("Raw", bytes(raw)),
        ("RawTBSCertificateRequest", bytes(raw_tbs)),
        ("RawSubjectPublicKeyInfo", bytes(raw_spki)),
        ("RawSubject", bytes(raw_subject)),
        ("Version", Value::from(version)),
        ("Signature", bytes(&right_align(signature, padding))),
        ("SignatureAlgorithm", Value::from(signature_algorithm(&oid, parameters).0)),
        ("PublicKeyAlgorithm", Value::from(key_algorithm)),
        ("PublicKey", key.map_or(Value::Null, |key| key.to_value())),
        ("Subject", subject.to_value()),
        ("Attributes", list(&attributes, Value::clone)),
        ("Extensions", list(&extensions, Extension::to_value)),
        ("ExtraExtensions", Value::Null),
        ("DNSNames", texts(&names.dns)),
        ("EmailAddresses", texts(&names.emails)),
        ("IPAddresses", list(&names.addresses, |ip| address(ip))),
        ("URIs", list(&names.uris, url_value)),
    ]))
}

/// Converts an attribute of a request, if it is a set of lists of typed values.
fn attribute(bytes: &[u8]) -> Option<Value> {
    let mut der = Der(bytes).read(SEQUENCE)?;
    let oid = der.oid()?;
    let lists = der.read(SET)?.all(|set| {
        let values = set.read(SEQUENCE)?.all(|sequence| {
            let mut pair = sequence.read(SEQUENCE)?;
            let oid = oid_value(&pair.oid()?);
            let (tag, _, content) = pair.any()?;
            Some(object([("Type", oid), ("Value", loose_value(tag, content.0)?)]))
        });
        values.map(Value::from)
    })?;
    Some(object([("Type", oid_value(&oid)), ("Value", Value::from(lists))]))
}

fn version(tbs: &mut Der<'_>) -> Option<i64> {
    let Some(mut inner) = tbs.optional(der::explicit(0))? else { return Some(0) };
    let version = inner.small_integer()?;
    (inner.is_empty() && (0..i64::MAX).contains(&version)).then_some(version)
}

/// Reads a subject's key: the number of its algorithm, and the key itself if the algorithm is
/// known.
fn subject_key(raw: &[u8]) -> Result<(i64, Option<PublicKey>), Error> {
    let mut der = Der(raw).read(SEQUENCE).or_invalid("malformed spki")?;
    let identifier = der.read(SEQUENCE).and_then(algorithm);
    let (oid, parameters) = identifier.or_invalid("malformed public key algorithm identifier")?;
    let (bits, padding) = der.bits().or_invalid("malformed subjectPublicKey")?;
    let number = match oid.as_slice() {
        keys::RSA => 1,
        keys::DSA => 2,
        keys::EC => 3,
        keys::ED25519 => 4,
        _ => return Ok((0, None)),
    };
    Ok((number, PublicKey::from_parts(&oid, parameters, &right_align(bits, padding))?))
}

/// Returns the number of a signature algorithm, and the algorithm itself.
fn signature_algorithm(oid: &[u32], parameters: &[u8]) -> (i64, SignatureAlgorithm) {
    use SignatureAlgorithm::{Ecdsa, Ed25519, Insecure, Rsa, Unknown};
    match oid {
        [1, 2, 840, 113_549, 1, 1, 4] => (2, Insecure),
        [1, 2, 840, 113_549, 1, 1, 5] | [1, 3, 14, 3, 2, 29] => (3, Insecure),
        [1, 2, 840, 113_549, 1, 1, 11] => (4, Rsa(Padding::Pkcs1, Hash::Sha256)),
        [1, 2, 840, 113_549, 1, 1, 12] => (5, Rsa(Padding::Pkcs1, Hash::Sha384)),
        [1, 2, 840, 113_549, 1, 1, 13] => (6, Rsa(Padding::Pkcs1, Hash::Sha512)),
        [1, 2, 840, 113_549, 1, 1, 10] => match pss_hash(parameters) {
            Some(hash @ Hash::Sha256) => (13, Rsa(Padding::Pss, hash)),
            Some(hash @ Hash::Sha384) => (14, Rsa(Padding::Pss, hash)),
            Some(hash @ Hash::Sha512) => (15, Rsa(Padding::Pss, hash)),
            _ => (0, Unknown),
        },
        [1, 2, 840, 10040, 4, 3] => (7, Insecure),
        [2, 16, 840, 1, 101, 3, 4, 3, 2] => (8, Insecure),
        [1, 2, 840, 10045, 4, 1] => (9, Insecure),
        [1, 2, 840, 10045, 4, 3, 2] => (10, Ecdsa(Hash::Sha256)),
        [1, 2, 840, 10045, 4, 3, 3] => (11, Ecdsa(Hash::Sha384)),
        [1, 2, 840, 10045, 4, 3, 4] => (12, Ecdsa(Hash::Sha512)),
        keys::ED25519 if parameters.is_empty() => (16, Ed25519),
        _ => (0, Unknown),
    }
}

/// Returns the hash in PSS parameters. It must be the same in both places, with a salt of its
/// length and the usual trailer.
fn pss_hash(parameters: &[u8]) -> Option<Hash> {
    let mut der = Der(parameters).read(SEQUENCE)?;
    let plain = |parameters: &[u8]| parameters.is_empty() || parameters == [5, 0];
    let (hash, hash_parameters) = algorithm(der.read(der::explicit(0))?.read(SEQUENCE)?)?;
    let (mgf, inner) = algorithm(der.read(der::explicit(1))?.read(SEQUENCE)?)?;
    let (mgf_hash, mgf_parameters) = algorithm(Der(inner).read(SEQUENCE)?)?;
    let salt = der.read(der::explicit(2))?.small_integer()?;
    let trailer = match der.optional(der::explicit(3))? {
        Some(mut inner) => inner.small_integer()?,
        None => 1,
    };
    let usual = plain(hash_parameters)
        && plain(mgf_parameters)
        && mgf == [1, 2, 840, 113_549, 1, 1, 8]
        && mgf_hash == hash
        && trailer == 1;
    match (hash.as_slice(), salt) {
        _ if !usual => None,
        ([2, 16, 840, 1, 101, 3, 4, 2, 1], 32) => Some(Hash::Sha256),
        ([2, 16, 840, 1, 101, 3, 4, 2, 2], 48) => Some(Hash::Sha384),
        ([2, 16, 840, 1, 101, 3, 4, 2, 3], 64) => Some(Hash::Sha512),
        _ => None,
    }
}

fn read_extensions(mut list: Der<'_>) -> Result<Vec<Extension>, Error> {
    let mut seen = std::collections::BTreeSet::new();
    let mut extensions = Vec::new();
    while !list.is_empty() {
        let mut read = || {
            let mut der = list.read(SEQUENCE)?;
            let oid = der.oid()?;
            let critical = if der.at(der::BOOLEAN) { der.boolean()? } else { false };
            Some(Extension { oid, critical, value: der.read(OCTET_STRING)?.0.to_vec() })
        };
        let extension = read().or_invalid("malformed extension")?;
        if !seen.insert(extension.oid.clone()) {
            return Err(invalid("certificate contains duplicate extension"));
        }
        extensions.push(extension);
    }
    Ok(extensions)
}

impl Extension {
    fn not_critical(&self, name: &str) -> Result<(), Error> {
        (!self.critical).then_some(()).or_invalid(&format!("{name} incorrectly marked critical"))
    }

    fn to_value(&self) -> Value {
        object([
            ("Id", oid_value(&self.oid)),
            ("Critical", Value::from(self.critical)),
            ("Value", Value::from(to_base64(&self.value))),
        ])
    }
}

impl DecodedExtensions {
    fn read(extensions: &[Extension]) -> Result<Self, Error> {
        let mut decoded = Self::default();
        for extension in extensions {
            let unhandled = decoded.extension(extension)?;
            if extension.critical && unhandled {
                decoded.unhandled.push(extension.oid.clone());
            }
        }
        Ok(decoded)
    }

    /// Decodes one extension; returns `true` if it wasn't understood.
    fn extension(&mut self, extension: &Extension) -> Result<bool, Error> {
        let mut der = Der(&extension.value);
        match extension.oid.as_slice() {
            AUTHORITY_INFO_ACCESS => {
                extension.not_critical("authority info access")?;
                self.info_access(der).or_invalid("invalid authority info access")?;
            }
            [2, 5, 29, 14] => {
                extension.not_critical("subject key identifier")?;
                let id = der.read(OCTET_STRING).or_invalid("invalid subject key identifier")?;
                self.subject_key_id = Some(id.0.to_vec());
            }
            [2, 5, 29, 15] => {
                let (bits, _) = der.bits().or_invalid("invalid key usage")?;
                self.key_usage = (0..9)
                    .filter(|bit| {
                        bits.get(bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
                    })
                    .fold(0, |usage, bit| usage | 1 << bit);
            }
            SUBJECT_ALT_NAME => {
                self.names = Names::read(&extension.value)?;
                return Ok(self.names.is_empty());
            }
            [2, 5, 29, 19] => {
                let constraints = basic_constraints(der).or_invalid("invalid basic constraints")?;
                self.basic_constraints = Some(constraints);
            }
            [2, 5, 29, 30] => {
                let (constraints, unhandled) = Constraints::read(extension)?;
                self.constraints = Some(constraints);
                return Ok(unhandled);
            }
            [2, 5, 29, 31] => {
                self.distribution_points =
                    distribution_points(der).or_invalid("invalid CRL distribution points")?;
            }
            [2, 5, 29, 32] => {
                self.policies = Some(policies(der).or_invalid("invalid certificate policies")?);
            }
            [2, 5, 29, 33] => {
                self.policy_mappings =
                    policy_mappings(der).or_invalid("invalid policy mappings extension")?;
            }
            [2, 5, 29, 35] => {
                extension.not_critical("authority key identifier")?;
                let id = der.read(SEQUENCE).and_then(|mut inner| inner.optional(der::context(0)));
                let id = id.or_invalid("invalid authority key identifier")?;
                self.authority_key_id = id.map(|id| id.0.to_vec());
            }
            [2, 5, 29, 36] => {
                self.policy_constraints(der).or_invalid("invalid policy constraints extension")?;
            }
            [2, 5, 29, 37] => {
                self.usages(der).or_invalid("invalid extended key usages")?;
            }
            [2, 5, 29, 54] => {
                let count = der.small_integer();
                self.inhibit_any_policy =
                    Some(count.or_invalid("invalid inhibit any policy extension")?);
            }
            _ => return Ok(true),
        }
        Ok(false)
    }

    fn info_access(&mut self, mut der: Der<'_>) -> Option<()> {
        let mut list = der.read(SEQUENCE)?;
        while !list.is_empty() {
            let mut access = list.read(SEQUENCE)?;
            let method = access.oid()?;
            if !access.at(der::context(6)) {
                continue;
            }
            let place = lossy(access.read(der::context(6))?.0);
            match method.as_slice() {
                [1, 3, 6, 1, 5, 5, 7, 48, 1] => self.ocsp.push(place),
                [1, 3, 6, 1, 5, 5, 7, 48, 2] => self.issuing.push(place),
                _ => {}
            }
        }
        Some(())
    }

    fn policy_constraints(&mut self, mut der: Der<'_>) -> Option<()> {
        let mut list = der.read(SEQUENCE)?;
        for (tag, place) in [
            (der::context(0), &mut self.require_explicit_policy),
            (der::context(1), &mut self.inhibit_policy_mapping),
        ] {
            if list.at(tag) {
                *place = Some(list.small_integer_tagged(tag)?);
            }
        }
        Some(())
    }

    fn usages(&mut self, mut der: Der<'_>) -> Option<()> {
        let mut list = der.read(SEQUENCE)?;
        while !list.is_empty() {
            let oid = list.oid()?;
            match USAGES.iter().zip(0_i64..).find(|((_, known), _)| *known == oid) {
                Some((_, number)) => self.usages.push(number),
                None => self.unknown_usages.push(oid),
            }
        }
        Some(())
    }
}

fn basic_constraints(mut der: Der<'_>) -> Option<(bool, i64)> {
    let mut list = der.read(SEQUENCE)?;
    let ca = if list.at(der::BOOLEAN) { list.boolean()? } else { false };
    let mut length = -1;
    if list.at(der::INTEGER) {
        length = list.small_integer().filter(|length| *length >= 0)?;
    }
    Some((ca, length))
}

fn distribution_points(mut der: Der<'_>) -> Option<Vec<String>> {
    let mut list = der.read(SEQUENCE)?;
    let mut points = Vec::new();
    while !list.is_empty() {
        let mut point = list.read(SEQUENCE)?;
        let Some(mut name) = point.optional(der::explicit(0))? else { continue };
        let mut names = name.read(der::explicit(0))?;
        while names.at(der::context(6)) {
            points.push(lossy(names.read(der::context(6))?.0));
        }
    }
    Some(points)
}

fn policies(mut der: Der<'_>) -> Option<Vec<Vec<u8>>> {
    let mut seen = std::collections::BTreeSet::new();
    der.read(SEQUENCE)?.all(|list| {
        let oid = list.read(SEQUENCE)?.read(OBJECT_IDENTIFIER)?.0;
        let ended = oid.last()? & 0x80 == 0;
        let shortest = oid.first() != Some(&0x80)
            && !oid
                .windows(2)
                .any(|pair| matches!(pair, [last, first] if last & 0x80 == 0 && *first == 0x80));
        (ended && shortest && seen.insert(oid)).then(|| oid.to_vec())
    })
}

fn policy_mappings(mut der: Der<'_>) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    der.read(SEQUENCE)?.all(|list| {
        let mut pair = list.read(SEQUENCE)?;
        let issuer = pair.read(OBJECT_IDENTIFIER)?.0.to_vec();
        Some((issuer, pair.read(OBJECT_IDENTIFIER)?.0.to_vec()))
    })
}

impl Names {
    fn is_empty(&self) -> bool {
        self.dns.is_empty()
            && self.emails.is_empty()
            && self.addresses.is_empty()
            && self.uris.is_empty()
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut names = Self::default();
        let mut list = Der(bytes).read(SEQUENCE).or_invalid("invalid subject alternative names")?;
        while !list.is_empty() {
            let (tag, _, content) = list.any().or_invalid("invalid subject alternative name")?;
            match tag ^ 0x80 {
                1 => names.emails.push(ascii(content.0, "SAN rfc822Name is malformed")?),
                2 => names.dns.push(ascii(content.0, "SAN dNSName is malformed")?),
                6 => {
                    let what = "SAN uniformResourceIdentifier is malformed";
                    let text = ascii(content.0, what)?;
                    let url = Url::parse(&text)
                        .map_err(|error| invalid(&format!("cannot parse URI {text:?}: {error}")))?;
                    if !domain_valid(&lossy(&url.host), false) {
                        return Err(invalid(&format!("cannot parse URI {text:?}: invalid domain")));
                    }
                    names.uris.push(url);
                }
                7 if matches!(content.0.len(), 4 | 16) => names.addresses.push(content.0.to_vec()),
                7 => {
                    let length = content.0.len();
                    return Err(invalid(&format!("cannot parse IP address of length {length}")));
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

/// Converts bytes that must be ASCII.
fn ascii(bytes: &[u8], otherwise: &str) -> Result<String, Error> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| text.is_ascii())
        .map(str::to_owned)
        .ok_or_else(|| invalid(otherwise))
}

/// Returns `true` if a domain name is valid in a certificate; constraints may begin with a dot.
pub(super) fn domain_valid(domain: &str, constraint: bool) -> bool {
    if domain.is_empty() {
        return true;
    }
    if domain.ends_with('.') {
        return false;
    }
    let domain = if constraint { domain.strip_prefix('.').unwrap_or(domain) } else { domain };
    domain.bytes().all(|byte| (33..=126).contains(&byte))
        && domain.split('.').all(|label| !label.is_empty())
}

impl Constraints {
    /// Reads the constraints; the flag is set if one is of a kind that isn't checked.
    fn read(extension: &Extension) -> Result<(Self, bool), Error> {
        let mut outer = Der(&extension.value);
        let mut read = || {
            let mut list = outer.read(SEQUENCE)?;
            let permitted = list.optional(der::explicit(0))?;
            let excluded = list.optional(der::explicit(1))?;
            (list.is_empty() && outer.is_empty()).then_some((permitted, excluded))
        };
        let (permitted, excluded) = read().or_invalid("invalid NameConstraints extension")?;
        let permitted = permitted.unwrap_or(Der(&[]));
        let excluded = excluded.unwrap_or(Der(&[]));
        if permitted.is_empty() && excluded.is_empty() {
            return Err(invalid("empty name constraints extension"));
        }
        let mut unhandled = false;
        let permitted = Subtrees::read(permitted, &mut unhandled)?;
        let excluded = Subtrees::read(excluded, &mut unhandled)?;
        Ok((Self { permitted, excluded, critical: extension.critical }, unhandled))
    }
}

impl Subtrees {
    fn read(mut der: Der<'_>, unhandled: &mut bool) -> Result<Self, Error> {
        let mut subtrees = Self::default();
        while !der.is_empty() {
            let read = der.read(SEQUENCE).and_then(|mut sequence| sequence.any());
            let (tag, _, content) = read.or_invalid("invalid NameConstraints extension")?;
            match tag ^ 0x80 {
                kind @ (1 | 2 | 6) => {
                    let text = ascii(content.0, "invalid constraint value")?;
                    let (name, valid, names) = match kind {
                        1 if text.contains('@') => {
                            ("rfc822Name", mailbox(&text).is_some(), &mut subtrees.emails)
                        }
                        1 => ("rfc822Name", domain_valid(&text, true), &mut subtrees.emails),
                        2 => ("dnsName", domain_valid(&text, true), &mut subtrees.dns),
                        _ => {
                            let is_address = text.parse::<IpAddr>().is_ok();
                            ("URI", !is_address && domain_valid(&text, true), &mut subtrees.uris)
                        }
                    };
                    if !valid {
                        return Err(invalid(&format!(
                            "failed to parse {name} constraint {text:?}"
                        )));
                    }
                    names.push(text);
                }
                7 => {
                    let bytes = content.0;
                    if !matches!(bytes.len(), 8 | 32) {
                        let length = bytes.len();
                        return Err(invalid(&format!(
                            "IP constraint contained value of length {length}"
                        )));
                    }
                    let (address, mask) = bytes.split_at(bytes.len() / 2);
                    if !mask_valid(mask) {
                        return Err(invalid("IP constraint contained invalid mask"));
                    }
                    subtrees.addresses.push((address.to_vec(), mask.to_vec()));
                }
                _ => *unhandled = true,
            }
        }
        Ok(subtrees)
    }
}

/// Returns `true` if the mask consists of ones followed by zeros.
fn mask_valid(mask: &[u8]) -> bool {
    let ones: u32 = mask.iter().map(|byte| byte.leading_ones()).sum();
    let set: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
    let rest = mask.iter().skip_while(|byte| **byte == 0xff).skip(1);
    ones == set && rest.copied().all(|byte| byte == 0)
}

/// A point in time with the offset as written, since OPA shows it.
#[derive(Clone, Copy)]
pub(super) struct Time(pub DateTime<FixedOffset>);

impl Time {
    fn read(der: &mut Der<'_>) -> Result<Self, Error> {
        let (tag, kind) = if der.at(UTC_TIME) {
            (UTC_TIME, "UTCTime")
        } else if der.at(GENERALIZED_TIME) {
            (GENERALIZED_TIME, "GeneralizedTime")
        } else {
            return Err(invalid("unsupported time format"));
        };
        let text = der.read(tag).and_then(|content| std::str::from_utf8(content.0).ok());
        text.and_then(|text| Self::parse(text, tag == UTC_TIME))
            .or_invalid(&format!("malformed {kind}"))
    }

    fn parse(text: &str, short: bool) -> Option<Self> {
        let split = text.find(|c: char| !c.is_ascii_digit())?;
        let (digits, zone) = text.split_at(split);
        let year_digits = if short { 2 } else { 4 };
        let (year, rest) = digits.split_at_checked(year_digits)?;
        let mut year: i32 = year.parse().ok()?;
        if short {
            // Two-digit years are in 1950 to 2049.
            year += if year >= 50 { 1900 } else { 2000 };
        }
        // A UTCTime may have no seconds.
        if !(rest.len() == 10 || (short && rest.len() == 8)) {
            return None;
        }
        let part = |index: usize| match rest.get(index * 2..index * 2 + 2) {
            Some(part) => part.parse::<u32>().ok(),
            None => Some(0),
        };
        let offset = match zone.as_bytes() {
            b"Z" => 0,
            [sign @ (b'+' | b'-'), a, b, c, d] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(10);
                let hours = digit(a)? * 10 + digit(b)?;
                let minutes = digit(c)? * 10 + digit(d)?;
                if hours > 23 || minutes > 59 || hours + minutes == 0 {
                    return None;
                }
                let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return None,
        };
        let date = NaiveDate::from_ymd_opt(year, part(0)?, part(1)?)?;
        let time = date.and_hms_opt(part(2)?, part(3)?, part(4)?)?;
        let zone = FixedOffset::east_opt(offset)?;
        Some(Self(time.and_local_timezone(zone).single()?))
    }

    fn to_value(self) -> Value {
        Value::from(self.0.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
    }
}

/// A distinguished name: its attributes, in order.
#[derive(Default)]
struct Name(Vec<(Oid, Value)>);

impl Name {
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Self::read(bytes, |tag, content| text(tag, content).map(Value::from))
            .or_invalid("invalid RDNSequence")
    }

    /// Parses a name in a request, whose values need not be text.
    fn parse_loosely(bytes: &[u8]) -> Result<Self, Error> {
        Self::read(bytes, loose_value).or_invalid("invalid RDNSequence")
    }

    fn read(bytes: &[u8], value: impl Fn(u8, &[u8]) -> Option<Value>) -> Option<Self> {
        let mut name = Self::default();
        let mut sequence = Der(bytes).read(SEQUENCE)?;
        while !sequence.is_empty() {
            let mut set = sequence.read(SET)?;
            while !set.is_empty() {
                let mut pair = set.read(SEQUENCE)?;
                let oid = pair.oid()?;
                let (tag, _, content) = pair.any()?;
                name.0.push((oid, value(tag, content.0)?));
            }
        }
        Some(name)
    }

    fn to_value(&self) -> Value {
        let texts = |kind: u32| {
            self.0.iter().filter_map(move |(oid, value)| {
                (*oid == [2, 5, 4, kind] && value.as_str().is_some()).then(|| value.clone())
            })
        };
        let many = |kind| {
            let values: Vec<Value> = texts(kind).collect();
            if values.is_empty() { Value::Null } else { Value::from(values) }
        };
        let last = |kind| texts(kind).last().unwrap_or_else(|| Value::from(""));
        object([
            ("CommonName", last(3)),
            ("SerialNumber", last(5)),
            ("Country", many(6)),
            ("Locality", many(7)),
            ("Province", many(8)),
            ("StreetAddress", many(9)),
            ("Organization", many(10)),
            ("OrganizationalUnit", many(11)),
            ("PostalCode", many(17)),
            ("ExtraNames", Value::Null),
            (
                "Names",
                list(&self.0, |(oid, value)| {
                    object([("Type", oid_value(oid)), ("Value", value.clone())])
                }),
            ),
        ])
    }
}

/// Decodes a string of one of the supported types.
fn text(tag: u8, bytes: &[u8]) -> Option<String> {
    let ascii =
        |allowed: fn(u8) -> bool| bytes.iter().all(|byte| allowed(*byte)).then(|| lossy(bytes));
    match tag {
        12 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        18 => ascii(|byte| byte.is_ascii_digit() || byte == b' '),
        19 => ascii(|byte| byte.is_ascii_alphanumeric() || b"'()+,-./ :=?*&".contains(&byte)),
        20 => Some(bytes.iter().copied().map(char::from).collect()),
        22 => ascii(|byte| byte.is_ascii()),
        30 => {
            let bytes =
                bytes.strip_suffix(&[0, 0]).filter(|rest| rest.len() % 2 == 0).unwrap_or(bytes);
            let (pairs, rest) = bytes.as_chunks::<2>();
            let char = |pair: &[u8; 2]| match u16::from_be_bytes(*pair) {
                0xfffe | 0xffff | 0xfdd0..=0xfdef => None,
                point => char::from_u32(u32::from(point)),
            };
            if rest.is_empty() { pairs.iter().map(char).collect() } else { None }
        }
        _ => None,
    }
}

/// Decodes a value of any type, as Go's general ASN.1 decoder does; returns `None` if it is
/// malformed.
fn loose_value(tag: u8, bytes: &[u8]) -> Option<Value> {
    Some(match tag {
        1 => match bytes {
            [0] => Value::from(false),
            [0xff] => Value::from(true),
            _ => return None,
        },
        2 => {
            let header = u8::try_from(bytes.len()).ok().filter(|length| *length <= 8)?;
            Value::from(Der(&[&[2, header], bytes].concat()).small_integer()?)
        }
        3 => {
            let (padding, bits) = bytes.split_first()?;
            let length = (bits.len() * 8).checked_sub(usize::from(*padding))?;
            object([("Bytes", Value::from(to_base64(bits))), ("BitLength", Value::from(length))])
        }
        4 => Value::from(to_base64(bytes)),
        6 => oid_value(&der::oid(bytes)?),
        UTC_TIME | GENERALIZED_TIME => {
            let text = std::str::from_utf8(bytes).ok()?;
            Time::parse(text, tag == UTC_TIME)?.to_value()
        }
        12 | 18 | 19 | 22 | 30 => Value::from(text(tag, bytes)?),
        20 => Value::from(lossy(bytes)),
        _ => Value::Null,
    })
}

/// Converts a list; an empty one becomes null, as in Go.
fn list<T>(items: &[T], show: impl Fn(&T) -> Value) -> Value {
    if items.is_empty() {
        Value::Null
    } else {
        Value::from(items.iter().map(show).collect::<Vec<_>>())
    }
}

fn texts(items: &[String]) -> Value {
    list(items, |item| Value::from(item.as_str()))
}

fn oid_value(oid: &[u32]) -> Value {
    Value::from(oid.iter().map(|component| Value::from(*component)).collect::<Vec<_>>())
}

fn integer(number: &BigInt) -> Value {
    Number::parse(&number.to_string()).map_or(Value::Null, Value::from)
}

/// Returns an address of 4 or 16 bytes; IPv4-mapped addresses become IPv4.
pub(super) fn canonical(bytes: &[u8]) -> Option<IpAddr> {
    match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
        (Ok(four), _) => Some(IpAddr::from(four)),
        (_, Ok(sixteen)) => Some(IpAddr::from(sixteen).to_canonical()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Value {
    canonical(bytes).map_or(Value::Null, |address| Value::from(address.to_string()))
}

fn range((ip, mask): &(Vec<u8>, Vec<u8>)) -> Value {
    object([("IP", address(ip)), ("Mask", Value::from(to_base64(mask)))])
}

fn url_value(url: &Url) -> Value {
    let text = |text: &str| Value::from(text);
    object([
        ("Scheme", text(&url.scheme)),
        ("Opaque", text(&url.opaque)),
        ("User", url.user.as_ref().map_or(Value::Null, |_| Value::new_object())),
        ("Host", Value::from(lossy(&url.host))),
        ("Path", Value::from(lossy(&url.path))),
        ("Fragment", Value::from(lossy(&url.fragment))),
        ("RawQuery", text(&url.raw_query)),
        ("RawPath", Value::from(lossy(&url.raw_path))),
        ("RawFragment", text(&url.raw_fragment)),
        ("ForceQuery", Value::from(url.force_query)),
        ("OmitHost", Value::from(url.omit_host)),
    ])
}

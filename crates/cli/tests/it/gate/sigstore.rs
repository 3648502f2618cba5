//! An instance of Sigstore: a certificate authority, a log of certificates, a transparency log and a timestamp
//! authority, with keys of its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType, SigningKey as _, date_time_ymd,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Payload type of in-toto statements.
const IN_TOTO: &str = "application/vnd.in-toto+json";

/// The beginning of 2025, from which certificates are valid for ten minutes.
pub(super) const BEGIN: i64 = 1_735_689_600;

/// A bundle of a version, and the certificate's field in it.
pub(crate) const V03: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
pub(super) const V02: &str = "application/vnd.dev.sigstore.bundle+json;version=0.2";
pub(super) const V01: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

pub(crate) struct Sigstore {
    authority: Issuer<'static, KeyPair>,
    authority_der: Vec<u8>,
    certificates: KeyPair,
    log: KeyPair,
    /// The timestamp authority, its certificate and the name of its key.
    clock: (KeyPair, Vec<u8>, Vec<u8>),
}

/// The version of the transparency log that has an entry of the signature.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Log {
    None,
    First,
    /// Its entries have no time.
    Second,
}

/// How an attestation is signed.
pub(crate) struct Signing {
    pub issuer: &'static str,
    pub identity: &'static str,
    pub log: Log,
    /// The time that the transparency log states.
    pub at: i64,
    /// The time that the timestamp authority states (`GeneralizedTime`).
    pub stamp: Option<&'static str>,
    /// The type that is signed; the envelope's is that of statements.
    pub payload_type: &'static str,
    pub version: &'static str,
    /// Set if the certificate is in the log of certificates.
    pub has_sct: bool,
    /// Set if it is a certificate for signing code.
    pub is_for_code: bool,
    /// The claims about a CI job: the last number of an extension, and its text
    /// (<https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md>).
    pub claims: &'static [(u64, &'static str)],
}

impl Default for Signing {
    fn default() -> Self {
        Self {
            issuer: "https://ci.example",
            identity: "https://ci.example/acme/app/release.yml@refs/tags/v1",
            log: Log::First,
            at: BEGIN + 300,
            stamp: None,
            version: V03,
            payload_type: IN_TOTO,
            has_sct: true,
            is_for_code: true,
            claims: &[],
        }
    }
}

fn hash(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id(key: &KeyPair) -> Vec<u8> {
    hash(&key.subject_public_key_info())
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

/// Returns text with its length before it, in as many bytes.
fn prefixed(length: usize, bytes: &[u8]) -> Vec<u8> {
    let size = (bytes.len() as u64).to_be_bytes();
    [&size[8 - length..], bytes].concat()
}

/// Returns a value of DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = content.len().to_be_bytes();
    let size = match (high, low) {
        (0, 0..128) => vec![low],
        (0, _) => vec![0x81, low],
        _ => vec![0x82, high, low],
    };
    [&[tag][..], &size, content].concat()
}

/// Returns the part of a certificate that is signed.
fn signed_part(certificate: &[u8]) -> &[u8] {
    let header = |at: usize| match certificate[at + 1] {
        0x81 => (3, certificate[at + 2] as usize),
        0x82 => (4, usize::from(certificate[at + 2]) << 8 | usize::from(certificate[at + 3])),
        length => (2, length as usize),
    };
    let (begin, _) = header(0);
    let (size, length) = header(begin);
    &certificate[begin..begin + size + length]
}

/// Returns what an envelope's signature is about.
pub(super) fn signed_bytes(kind: &str, payload: &str) -> Vec<u8> {
    format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).into_bytes()
}

impl Sigstore {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2040, 1, 1));
        let authority_der = params.self_signed(&key).unwrap().der().to_vec();
        let authority = Issuer::new(params.clone(), key);
        let clock = KeyPair::generate().unwrap();
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping];
        let clock_der = params.signed_by(&clock, &authority).unwrap().der().to_vec();
        let clock_name = params.key_identifier(&clock);
        Self {
            authority,
            authority_der,
            certificates: KeyPair::generate().unwrap(),
            log: KeyPair::generate().unwrap(),
            clock: (clock, clock_der, clock_name),
        }
    }

    /// Returns its `trusted_root.json`.
    pub(crate) fn trust_root(&self) -> Value {
        let valid = json!({"start": "2020-01-01T00:00:00Z"});
        let log = |key: &KeyPair| {
            json!([{
                "baseUrl": "https://log.example",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": STANDARD.encode(key.subject_public_key_info()),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": valid,
                },
                "logId": {"keyId": STANDARD.encode(id(key))},
            }])
        };
        let authority = |chain: &[&Vec<u8>]| {
            let raw = |der: &&Vec<u8>| json!({"rawBytes": STANDARD.encode(der)});
            let chain: Value = chain.iter().map(raw).collect();
            json!([{
                "uri": "https://ca.example",
                "certChain": {"certificates": chain},
                "validFor": valid,
            }])
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": log(&self.log),
            "ctlogs": log(&self.certificates),
            "certificateAuthorities": authority(&[&self.authority_der]),
            "timestampAuthorities": authority(&[&self.clock.1, &self.authority_der]),
        })
    }

    /// Returns the certificate of a key.
    fn certificate(&self, key: &KeyPair, signing: &Signing) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let san = signing.identity.try_into().unwrap();
        let is_mail = !signing.identity.contains("://");
        params.subject_alt_names =
            vec![if is_mail { SanType::Rfc822Name(san) } else { SanType::URI(san) }];
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = params.not_before + std::time::Duration::from_mins(10);
        params.serial_number = Some(7.into());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![if signing.is_for_code {
            ExtendedKeyUsagePurpose::CodeSigning
        } else {
            ExtendedKeyUsagePurpose::ServerAuth
        }];
        let issuer = der(0x0c, signing.issuer.as_bytes());
        let oid = [1, 3, 6, 1, 4, 1, 57264, 1, 8];
        params.custom_extensions = vec![CustomExtension::from_oid_content(&oid, issuer)];
        for (number, text) in signing.claims {
            let oid = [1, 3, 6, 1, 4, 1, 57264, 1, *number];
            // The extensions up to the seventh hold the text itself.
            let text = text.as_bytes();
            let content = if *number < 8 { text.to_vec() } else { der(0x0c, text) };
            params.custom_extensions.push(CustomExtension::from_oid_content(&oid, content));
        }
        let issue = |params: &CertificateParams| {
            params.signed_by(key, &self.authority).unwrap().der().to_vec()
        };
        if signing.has_sct {
            let oid = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
            let sct = self.timestamp(signed_part(&issue(&params)));
            params.custom_extensions.push(CustomExtension::from_oid_content(&oid, sct));
        }
        issue(&params)
    }

    /// Returns the timestamp by which a certificate is in the log of certificates.
    fn timestamp(&self, certificate: &[u8]) -> Vec<u8> {
        let time = (u64::try_from(BEGIN).unwrap() * 1000).to_be_bytes();
        let issuer = hash(&self.authority.key().subject_public_key_info());
        let signed =
            [&[0, 0][..], &time, &[0, 1], &issuer, &prefixed(3, certificate), &[0, 0]].concat();
        let signature = prefixed(2, &self.certificates.sign(&signed).unwrap());
        let sct = [&[0][..], &id(&self.certificates), &time, &[0, 0, 4, 3], &signature].concat();
        der(4, &prefixed(2, &prefixed(2, &sct)))
    }

    /// Returns the entry of the transparency log's first version for an envelope's signature.
    fn entry(&self, payload: &str, signature: &[u8], certificate: &[u8], at: i64) -> Value {
        let digest = json!({"algorithm": "sha256", "value": hex(&hash(payload.as_bytes()))});
        let verifier = STANDARD.encode(pem(certificate));
        let spec = json!({
            "envelopeHash": digest,
            "payloadHash": digest,
            "signatures": [{"signature": STANDARD.encode(signature), "verifier": verifier}],
        });
        self.promised("dsse", spec, at)
    }

    /// Returns an entry with the promise of the transparency log's first version.
    fn promised(&self, kind: &str, spec: Value, at: i64) -> Value {
        let body = json!({"apiVersion": "0.0.1", "kind": kind, "spec": spec}).to_string();
        let promise = format!(
            "{{\"body\":\"{}\",\"integratedTime\":{at},\"logID\":\"{}\",\"logIndex\":0}}",
            STANDARD.encode(&body),
            hex(&id(&self.log))
        );
        let mut entry = self.proven(kind, "0.0.1", &body);
        entry["integratedTime"] = at.to_string().into();
        entry["inclusionPromise"] = json!({
            "signedEntryTimestamp": STANDARD.encode(self.log.sign(promise.as_bytes()).unwrap()),
        });
        entry
    }

    /// Returns the annotations with which cosign keeps an identity's signature of bytes beside them.
    pub(crate) fn annotated(&self, bytes: &str, signing: &Signing) -> Value {
        let key = KeyPair::generate().unwrap();
        let certificate = self.certificate(&key, signing);
        let signature = STANDARD.encode(key.sign(bytes.as_bytes()).unwrap());
        let spec = json!({
            "data": {"hash": {"algorithm": "sha256", "value": hex(&hash(bytes.as_bytes()))}},
            "signature": {
                "content": signature,
                "publicKey": {"content": STANDARD.encode(pem(&certificate))},
            },
        });
        let entry = self.promised("hashedrekord", spec, signing.at);
        self.annotations(&signature, &certificate, &entry)
    }

    /// Returns an envelope that an identity signed, and the annotations that cosign keeps beside it.
    pub(crate) fn annotated_envelope(&self, statement: &str, signing: &Signing) -> (Value, Value) {
        let bundle = self.sign(statement, &Signing { version: V01, ..*signing });
        let material = &bundle["verificationMaterial"];
        let certificate = &material["x509CertificateChain"]["certificates"][0]["rawBytes"];
        let certificate = STANDARD.decode(certificate.as_str().unwrap()).unwrap();
        let annotations = self.annotations("", &certificate, &material["tlogEntries"][0]);
        (bundle["dsseEnvelope"].clone(), annotations)
    }

    fn annotations(&self, signature: &str, certificate: &[u8], entry: &Value) -> Value {
        let promise = json!({
            "SignedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
            "Payload": {
                "body": entry["canonicalizedBody"],
                "integratedTime": entry["integratedTime"].as_str().unwrap().parse::<i64>().unwrap(),
                "logIndex": 0,
                "logID": hex(&id(&self.log)),
            },
        });
        json!({
            "dev.cosignproject.cosign/signature": signature,
            "dev.sigstore.cosign/certificate": pem(certificate),
            "dev.sigstore.cosign/chain": pem(&self.authority_der),
            "dev.sigstore.cosign/bundle": promise.to_string(),
        })
    }

    /// Returns the entry of the transparency log's second version for a signature.
    fn second_entry(&self, signed: &[u8], signature: &[u8], certificate: &[u8]) -> Value {
        let body = json!({
            "apiVersion": "0.0.2",
            "kind": "hashedrekord",
            "spec": {"hashedRekordV002": {
                "data": {"algorithm": "SHA2_256", "digest": STANDARD.encode(hash(signed))},
                "signature": {
                    "content": STANDARD.encode(signature),
                    "verifier": {
                        "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                        "x509Certificate": {"rawBytes": STANDARD.encode(certificate)},
                    },
                },
            }},
        });
        self.proven("hashedrekord", "0.0.2", &body.to_string())
    }

    /// Returns an entry that is the only one of the transparency log.
    fn proven(&self, kind: &str, version: &str, body: &str) -> Value {
        let log = id(&self.log);
        let root = STANDARD.encode(hash(&[&[0], body.as_bytes()].concat()));
        let tree = format!("log.example\n1\n{root}\n");
        let signed = [&log[..4], &self.log.sign(tree.as_bytes()).unwrap()].concat();
        let checkpoint = format!("{tree}\n— log.example {}\n", STANDARD.encode(signed));
        json!({
            "logIndex": "0",
            "logId": {"keyId": STANDARD.encode(&log)},
            "kindVersion": {"kind": kind, "version": version},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": root,
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": checkpoint},
            },
            "canonicalizedBody": STANDARD.encode(body),
        })
    }

    /// Returns the token with which the timestamp authority states the time of a signature (RFC 3161).
    fn stamp(&self, signature: &[u8], time: &str) -> Vec<u8> {
        let oid = |bytes: &[u8]| der(6, bytes);
        let sequence = |parts: &[Vec<u8>]| der(0x30, &parts.concat());
        let set = |parts: &[Vec<u8>]| der(0x31, &parts.concat());
        let number = |number: u8| der(2, &[number]);
        let sha256 = sequence(&[oid(&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1])]);
        let rsadsi = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1];
        let of_rsadsi = |rest: &[u8]| oid(&[&rsadsi, rest].concat());
        let info_type = of_rsadsi(&[9, 16, 1, 4]);
        let (key, _, name) = &self.clock;
        let info = sequence(&[
            number(1),
            oid(&[0x2a, 3, 4]),
            sequence(&[sha256.clone(), der(4, &hash(signature))]),
            number(1),
            der(0x18, time.as_bytes()),
        ]);
        let attributes = [
            sequence(&[of_rsadsi(&[9, 3]), set(std::slice::from_ref(&info_type))]),
            sequence(&[of_rsadsi(&[9, 4]), set(&[der(4, &hash(&info))])]),
        ];
        let signature = key.sign(&set(&attributes)).unwrap();
        let signer = sequence(&[
            number(3),
            der(0x80, name),
            sha256.clone(),
            der(0xa0, &attributes.concat()),
            sequence(&[oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])]),
            der(4, &signature),
        ]);
        let content = sequence(&[info_type, der(0xa0, &der(4, &info))]);
        let data = sequence(&[number(3), set(&[sha256]), content, set(&[signer])]);
        sequence(&[of_rsadsi(&[7, 2]), der(0xa0, &data)])
    }

    /// Returns the bundle of a statement that an identity signed.
    pub(crate) fn sign(&self, statement: &str, signing: &Signing) -> Value {
        let key = KeyPair::generate().unwrap();
        let certificate = self.certificate(&key, signing);
        let signed = signed_bytes(signing.payload_type, statement);
        let signature = key.sign(&signed).unwrap();
        let own = json!({"rawBytes": STANDARD.encode(&certificate)});
        let mut material = json!({"tlogEntries": match signing.log {
            Log::None => json!([]),
            Log::First => json!([self.entry(statement, &signature, &certificate, signing.at)]),
            Log::Second => json!([self.second_entry(&signed, &signature, &certificate)]),
        }});
        if let Some(time) = signing.stamp {
            let token = STANDARD.encode(self.stamp(&signature, time));
            material["timestampVerificationData"] =
                json!({"rfc3161Timestamps": [{"signedTimestamp": token}]});
        }
        if signing.version == V03 {
            material["certificate"] = own;
        } else {
            material["x509CertificateChain"] = json!({"certificates": [own]});
        }
        json!({
            "mediaType": signing.version,
            "verificationMaterial": material,
            "dsseEnvelope": {
                "payloadType": IN_TOTO,
                "payload": STANDARD.encode(statement),
                "signatures": [{"sig": STANDARD.encode(signature)}],
            },
        })
    }
}

//! Sigstore bundles from the annotations of signatures by cosign before version 3: certificate, chain and log
//! entry.
//!
//! Owns nothing but the translation: what it makes is checked as any bundle is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::json;
use sigstore_verify::types::Sha256Hash;

use super::{LayerSignature, decode, refused, unverified};

/// The version of bundles with an inclusion promise of the log instead of a proof.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

/// The supported types of log entries.
const ENTRIES: [(&str, &str); 3] =
    [("hashedrekord", "0.0.1"), ("dsse", "0.0.1"), ("intoto", "0.0.2")];

/// The inclusion promise of the log.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Promise {
    signed_entry_timestamp: String,
    payload: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    body: String,
    integrated_time: i64,
    log_index: u64,
    #[serde(rename = "logID")]
    log_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    kind: String,
    api_version: String,
}

/// Returns the bundle without the signed content.
pub(super) fn bundle(kept: &LayerSignature) -> Result<Value, Error> {
    if kept.certificate.is_empty() {
        return Err(refused("not signed by an identity: no certificate"));
    }
    if kept.bundle.is_empty() {
        return Err(unverified("no entry of a transparency log"));
    }
    let material = json!({
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": certificates(kept)?},
            "tlogEntries": [entry(&kept.bundle)?],
        },
    });
    Value::from_serialize(&material)
        .map_err(|error| unverified("unusable bundle").with_source(error))
}

/// Returns a bundle around an envelope.
pub(super) fn around(kept: &LayerSignature, envelope: &Value) -> Result<Value, Error> {
    let mut bundle = bundle(kept)?.as_object().cloned().unwrap_or_default();
    bundle.insert(Value::from("dsseEnvelope"), envelope.clone());
    Ok(bundle.into())
}

/// Returns the signer's certificate and the certificates that follow.
fn certificates(kept: &LayerSignature) -> Result<Vec<serde_json::Value>, Error> {
    let read = |pem: &str| -> Result<Vec<serde_json::Value>, Error> {
        let all = CertificateDer::pem_slice_iter(pem.as_bytes());
        let raw = |der: CertificateDer<'_>| json!({"rawBytes": STANDARD.encode(der)});
        all.map(|der| der.map(raw)).collect::<Result<_, _>>().map_err(|error| {
            unverified("can't read the certificates").with_source(error.to_string())
        })
    };
    let mut all = read(&kept.certificate)?;
    if all.len() != 1 {
        return Err(unverified("unexpected number of certificates: expected one in PEM"));
    }
    all.extend(read(&kept.chain)?);
    Ok(all)
}

/// Returns the entry of a transparency log.
fn entry(bundle: &str) -> Result<serde_json::Value, Error> {
    let broken = |error: &dyn ToString| {
        unverified("can't read the entry of the transparency log").with_source(error.to_string())
    };
    let promise: Promise = serde_json::from_str(bundle).map_err(|error| broken(&error))?;
    let Promise { signed_entry_timestamp, payload } = promise;
    let body = decode(&payload.body).map_err(|error| broken(&error))?;
    let Body { kind, api_version } =
        serde_json::from_slice(&body).map_err(|error| broken(&error))?;
    if !ENTRIES.contains(&(&kind, &api_version)) {
        let (kind, version) = (escape(&kind), escape(&api_version));
        return Err(unverified(&format!(
            "unsupported entry of the transparency log: `{kind}` {version}"
        )));
    }
    let log = Sha256Hash::from_hex(&payload.log_id).map_err(|error| broken(&error))?;
    Ok(json!({
        "logIndex": payload.log_index.to_string(),
        "logId": {"keyId": STANDARD.encode(log.as_bytes())},
        "kindVersion": {"kind": kind, "version": api_version},
        "integratedTime": payload.integrated_time.to_string(),
        "inclusionPromise": {"signedEntryTimestamp": signed_entry_timestamp},
        "canonicalizedBody": STANDARD.encode(body),
    }))
}

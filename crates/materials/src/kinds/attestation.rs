//! `ATTESTATION` and `SLSA_PROVENANCE`: signed statements. Signatures are verified elsewhere.

use super::typed;
use crate::file::File;
use crate::json::{self, Json};
use crate::material::{Material, NotOfKind};
use crate::types::{self, Types};

pub(super) const TYPES: &str = include_str!("../types/bundle.txt");

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of the predicate of the vendor's attestations.
pub const RUN_PREDICATE: &str = "chainloop.dev/attestation/v0.2";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// Reads an attestation of the vendor's, in an envelope or a bundle. The input is its statement.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let payload = match bundle_payload(file) {
        Ok((payload, true)) => payload,
        _ => {
            let (document, _) = typed(file, TYPES, "Plain")?;
            let envelope = document.root();
            require_payload_type(&envelope.text_at(&["payloadType"]))?;
            let payload = envelope.text_at(&["payload"]);
            types::padded_bytes(&payload)
                .ok_or_else(|| NotOfKind::new("invalid payload: expected base64"))?
        }
    };
    statement(&payload, RUN_PREDICATE)?;
    Ok(Material::new(file, json::input(json::first(&payload)?)))
}

/// Reads provenance in a bundle. The input is the bundle.
pub(crate) fn read_provenance(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (payload, _) = bundle_payload(file)?;
    statement(&payload, PROVENANCE)?;
    Ok(Material::new(file, json::input(json::first(file.bytes)?)))
}

/// Returns the payload of a bundle's envelope, and whether the bundle has a media type.
fn bundle_payload(file: &File<'_>) -> Result<(Vec<u8>, bool), NotOfKind> {
    let (document, _) = typed(file, TYPES, "Bundle")?;
    let bundle = document.root();
    let one_of = |value: Json<'_>, names: &[(&str, &str)]| {
        let all = names.iter().filter_map(|(camel, snake)| member(value, camel, snake));
        if all.count() > 1 { Err(NotOfKind::new("duplicate member of the bundle")) } else { Ok(()) }
    };
    one_of(
        bundle,
        &[("messageSignature", "message_signature"), ("dsseEnvelope", "dsse_envelope")],
    )?;
    if let Some(material) = member(bundle, "verificationMaterial", "verification_material") {
        let chain = ("x509CertificateChain", "x509_certificate_chain");
        one_of(material, &[("publicKey", "public_key"), chain, ("certificate", "certificate")])?;
    }
    let Some(envelope) = member(bundle, "dsseEnvelope", "dsse_envelope") else {
        return Err(NotOfKind::new("missing envelope of the bundle"));
    };
    let has_media_type = !text(bundle, "mediaType", "media_type").is_empty();
    if has_media_type {
        require_payload_type(&text(envelope, "payloadType", "payload_type"))?;
    }
    let payload = types::bytes(&text(envelope, "payload", "payload")).unwrap_or_default();
    Ok((payload, has_media_type))
}

fn require_payload_type(found: &str) -> Result<(), NotOfKind> {
    if found == PAYLOAD_TYPE {
        return Ok(());
    }
    Err(NotOfKind::new(format!(
        "unexpected type of the payload: expected `{PAYLOAD_TYPE}`, found `{found}`"
    )))
}

/// Checks that a payload is a statement with a type of predicate.
fn statement(payload: &[u8], predicate_type: &str) -> Result<(), NotOfKind> {
    let text = std::str::from_utf8(payload)
        .map_err(|_| NotOfKind::new("invalid payload: expected UTF-8"))?;
    let document = json::only(text.as_bytes())?;
    let root = document.root();
    Types::new(TYPES).check(root, "Statement")?;
    let found = self::text(root, "predicateType", "predicate_type");
    if root.is_null() || found != predicate_type {
        let message =
            format!("unexpected predicateType: expected `{predicate_type}`, found `{found}`");
        return Err(NotOfKind::new(message));
    }
    Ok(())
}

/// Returns a member of a message under either of its names, unless it is `null`.
fn member<'a>(message: Json<'a>, camel: &str, snake: &str) -> Option<Json<'a>> {
    message.member(camel).or_else(|| message.member(snake)).filter(|value| !value.is_null())
}

fn text(message: Json<'_>, camel: &str, snake: &str) -> String {
    member(message, camel, snake).and_then(Json::text).unwrap_or_default()
}

//! Attestations: in-toto statements, alone, in envelopes (DSSE) or in Sigstore bundles.
//!
//! Owns what each of these looks like. Nothing of a statement is read before `signature` has found out who
//! signed it.

use rego_platform::Error;
use rego_platform::rego::Value;

use super::parser::{MAX_VALUES, Parsed, Parser};
use crate::provenance::{PAYLOAD_TYPE, Signatures, decode};
#[cfg(feature = "signatures")]
use crate::provenance::{SignatureForm, Signed};
use crate::report::model::{Signer, Subject};
use crate::setting;

/// The prefix of the type of every in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/";

/// The members that identify a bundle, a bundle of a file's signature, an envelope, a statement, and an entry
/// of `gh attestation`.
const FORMS: [&str; 5] = ["dsseEnvelope", "messageSignature", "payload", "_type", "attestation"];

/// Returns the attestations of a document: the elements of an array, or itself.
pub(crate) fn each(document: Value) -> Result<Vec<Value>, Error> {
    match document.as_array() {
        Some(all) if all.is_empty() => {
            Err(Error::invalid_argument("no attestation: the array is empty"))
        }
        Some(all) => Ok(all.clone()),
        None => Ok(vec![document]),
    }
}

/// Returns `true` for a statement without an envelope.
pub(super) fn is_bare(document: &Value) -> bool {
    FORMS.map(|name| document.get_str(name).is_some()) == [false, false, false, true, false]
}

/// Returns the attestation of a bundle, of an envelope, or of a bare statement. A document that is more than
/// one of these could be read in two ways.
pub(crate) fn open(document: &Value, signatures: &Signatures) -> Result<Parsed, Error> {
    match FORMS.map(|name| document.get_str(name)) {
        [Some(envelope), None, None, None, None] => unwrap(envelope, Some(document), signatures),
        [None, Some(_), None, None, None] => Err(Error::invalid_argument(
            "no statement in the bundle: it holds the signature of a file",
        )
        .with_hint("create the bundle with `cosign attest-blob`")),
        [None, None, Some(_), None, None] => unwrap(document, None, signatures),
        [None, None, None, Some(_), None] => match signatures {
            Signatures::Unverified => statement(document.clone(), None),
            #[cfg(feature = "signatures")]
            _ => Err(Error::invalid_argument("unsigned statement: expected a DSSE envelope")
                .by_setting(setting::SIGNATURES)),
        },
        // What `gh` found out about it isn't believed.
        [None, None, None, None, Some(attestation)] => match attestation.get_str("bundle") {
            Some(bundle) => open(bundle, signatures),
            None => Err(Error::invalid_argument("missing member `bundle` of `attestation`")),
        },
        [None, None, None, None, None] => Err(Error::invalid_argument(
            "not an attestation: expected a DSSE envelope or an in-toto statement",
        )
        .by_setting(setting::ATTESTATIONS)),
        _ => {
            Err(Error::invalid_argument("ambiguous attestation: it has members of several formats")
                .with_hint(format!(
                    "keep one of {}",
                    FORMS.map(|name| format!("`{name}`")).join(", ")
                )))
        }
    }
}

/// Returns the attestation in an envelope, alone or in a bundle.
#[cfg_attr(not(feature = "signatures"), allow(unused_variables))]
fn unwrap(
    envelope: &Value,
    bundle: Option<&Value>,
    signatures: &Signatures,
) -> Result<Parsed, Error> {
    if envelope.get_str("payloadType").and_then(Value::as_str) != Some(PAYLOAD_TYPE) {
        return Err(Error::invalid_argument("unexpected `payloadType` of the envelope")
            .with_hint(format!("create the envelope with the `payloadType` `{PAYLOAD_TYPE}`")));
    }
    let payload = envelope.get_str("payload").and_then(Value::as_str).ok_or_else(|| {
        Error::invalid_argument("invalid `payload` of the envelope: expected a string")
    })?;
    let payload = decode(payload).map_err(|error| {
        Error::invalid_argument("invalid `payload` of the envelope: expected base64")
            .with_source(error)
    })?;
    // A value, the first or another one, follows each of these.
    let values = payload.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if values > MAX_VALUES {
        return Err(Error::invalid_argument(format!(
            "too many values in the statement: the limit is {MAX_VALUES}"
        )));
    }
    // Nothing of it is read before.
    let signers = match signatures {
        Signatures::Unverified => None,
        #[cfg(feature = "signatures")]
        trusted => Some(trusted.signers(&Signed {
            payload: &payload,
            signatures: &signatures_of(envelope)?,
            form: SignatureForm::Envelope { payload_type: PAYLOAD_TYPE, bundle },
        })?),
    };
    let payload = String::from_utf8(payload).map_err(|_| {
        Error::invalid_argument("invalid `payload` of the envelope: expected UTF-8")
    })?;
    statement(Parser::Json.value(&payload, "payload", 1)?, signers)
}

/// Returns the signatures of an envelope.
#[cfg(feature = "signatures")]
fn signatures_of(envelope: &Value) -> Result<Vec<Vec<u8>>, Error> {
    let broken = || {
        Error::invalid_argument("invalid `signatures` of the envelope: they don't conform to DSSE")
    };
    let all = envelope.get_str("signatures").map(|all| all.as_array().ok_or_else(broken));
    let all = all.transpose()?.map_or(&[][..], Vec::as_slice);
    let signature = |one: &Value| {
        decode(one.get_str("sig").and_then(Value::as_str).ok_or_else(broken)?).map_err(|_| broken())
    };
    all.iter().map(signature).collect()
}

/// Returns a statement with its subjects.
fn statement(statement: Value, signers: Option<Vec<Signer>>) -> Result<Parsed, Error> {
    if !statement.get_str("_type").and_then(Value::as_str).is_some_and(is_statement) {
        return Err(Error::invalid_argument(
            "unexpected `_type`: expected that of an in-toto statement",
        )
        .by_setting(setting::ATTESTATIONS));
    }
    let broken = || {
        Error::invalid_argument("invalid `subject` of the statement: it doesn't conform to in-toto")
    };
    let list = statement.get_str("subject").ok_or_else(broken)?;
    let subjects: Vec<Subject> = list.deserialize().map_err(|_| broken())?;
    let predicate_type =
        statement.get_str("predicateType").and_then(Value::as_str).map(str::to_owned);
    Ok(Parsed { value: statement, subjects, predicate_type, signers })
}

/// Returns `true` for a statement type of any version.
fn is_statement(sort: &str) -> bool {
    let version = sort.strip_prefix(STATEMENT).and_then(|rest| rest.strip_prefix('v'));
    version.is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use base64::Engine as _;

    use super::*;

    #[test]
    fn a_document_with_two_readings_is_refused() {
        let statement = r#"{"_type": "https://in-toto.io/Statement/v1", "subject": []}"#;
        let engine = base64::engine::general_purpose::STANDARD;
        let payload = engine.encode(statement);
        let dsse =
            format!(r#""payloadType": "application/vnd.in-toto+json", "payload": "{payload}""#);
        let twice = engine.encode(statement.replace("\"subject\"", "\"_type\": 1, \"subject\""));
        let read = |text: &str| open(&Parser::Json.value(text, "x", 1)?, &Signatures::Unverified);
        let plain = format!("{{{dsse}, \"unknown\": 1, \"signatures\": []}}");
        read(&plain).unwrap();
        read(&format!("{{\"dsseEnvelope\": {plain}, \"mediaType\": \"m\"}}")).unwrap();
        for (text, expected) in [
            (format!("{{{dsse}, \"dsseEnvelope\": {plain}}}"), "ambiguous attestation"),
            (format!("{{{dsse}, \"_type\": \"x\"}}"), "ambiguous attestation"),
            (format!("{{{dsse}, \"payload\": \"{payload}\"}}"), "appears twice"),
            (format!("{{{}}}", dsse.replace(&payload, &twice)), "appears twice"),
            (
                format!("{{{}}}", dsse.replace("+json", "+json; x")),
                "unexpected `payloadType` of the envelope",
            ),
            (format!("{{{}}}", dsse.replace(&payload, "!")), "expected base64"),
            (
                "{\"dsseEnvelope\": {\"_type\": \"x\"}}".to_owned(),
                "unexpected `payloadType` of the envelope",
            ),
            (format!("{{{}}}", dsse.replace("\"payload\"", "\"payl\"")), "not an attestation"),
            (
                format!("{{\"dsseEnvelope\": {{{}}}}}", dsse.replace("\"payload\"", "\"payl\"")),
                "invalid `payload` of the envelope: expected a string",
            ),
            (
                format!("{{\"dsseEnvelope\": {plain}, \"messageSignature\": {{}}}}"),
                "ambiguous attestation",
            ),
            ("{\"messageSignature\": {}}".to_owned(), "signature of a file"),
            (statement.replace("Statement/v1", "Statement/x"), "`_type`"),
            (statement.replace("subject", "Subject"), "`subject`"),
            ("[]".to_owned(), "not an attestation"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn attestations_are_unwrapped() {
        let statement = r#"{"_type": "https://in-toto.io/Statement/v1", "predicateType": "t",
            "subject": [{"name": "n>?", "digest": {"sha256": "aa"}}]}"#;
        let engine = base64::engine::general_purpose::STANDARD;
        let payload = engine.encode(statement);
        let envelope =
            format!(r#"{{"payloadType": "application/vnd.in-toto+json", "payload": "{payload}"}}"#);
        let url_safe =
            envelope.replace('+', "-").replace('/', "_").replace("vnd.in-toto-", "vnd.in-toto+");
        let url_safe = url_safe.replace("application_", "application/").replace('=', "");
        let bundle = format!(r#"{{"dsseEnvelope": {envelope}}}"#);
        for text in [statement, &envelope, &url_safe, &bundle] {
            let parsed = open(&Value::from_json(text).unwrap(), &Signatures::Unverified).unwrap();
            assert_eq!(parsed.predicate_type.as_deref(), Some("t"));
            assert_eq!(parsed.subjects.first().unwrap().name, "n>?");
        }
    }
}

//! Which of the caller's identities signed something: Sigstore's bundles without a key of one's own.
//!
//! Owns patterns of identities, and the words for what doesn't hold of a bundle. Certificates, logs and
//! timestamps are checked by `sigstore-verify`.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::{escape, size};
use sigstore_verify::crypto::FulcioCiClaims;
use sigstore_verify::types::bundle::{
    MessageSignature, VerificationMaterial, VerificationMaterialContent,
};
use sigstore_verify::types::{
    Artifact, ArtifactDigest, Bundle, DsseEnvelope, DsseSignature, HashAlgorithm, KeyId, MediaType,
    PayloadBytes, Sha512Hash, SignatureBytes, SignatureContent, Statement, Subject,
};
use sigstore_verify::{CertificateError, Error as Failure, VerificationResult};

use super::trust_root::TrustRoot;
use super::{MAX_SIGNATURES, SignatureForm, Signed, cosign, first_success, refused, unverified};
use crate::pattern;
use crate::report::model::{CertifiedSigner, SigningIdentity, Source};

/// The maximum size of the verification material of a bundle, in bytes. It bounds the time of the check.
const MAX_MATERIAL: usize = 1 << 20;

/// The maximum number of certificates, log entries and timestamps of a bundle each. Their combinations are
/// checked.
const MAX_PARTS: usize = 8;

/// Identities, one of which must sign an attestation, and their trust root.
///
/// # Examples
/// ```
/// use rego_platform_gate::{Identities, TrustRoot};
///
/// let workflow = "https://token.actions.githubusercontent.com\
///     =https://github.com/acme/app/.github/workflows/release.yml@refs/tags/*";
/// let identities = Identities::new([workflow], TrustRoot::public_good()?)?;
/// # Ok::<_, rego_platform::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Identities {
    patterns: Vec<SigningIdentity>,
    trust_root: TrustRoot,
}

impl Identities {
    /// Reads identities, each as `ISSUER=IDENTITY`: the issuer in the certificate, and the complete identity,
    /// a mail address or a URI, where `*` matches any string.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a text without `=`, or with nothing on one side of it, and if there is no
    /// identity.
    pub fn new<'a>(
        identities: impl IntoIterator<Item = &'a str>,
        trust_root: TrustRoot,
    ) -> Result<Self, Error> {
        let invalid_identity = |message: String| {
            Error::configuration(message).with_hint(
                "write `ISSUER=IDENTITY`, such as `https://accounts.google.com=jane@example.com`",
            )
        };
        let mut patterns = Vec::new();
        for text in identities {
            let shown = escape(text);
            match text.split_once('=') {
                Some((issuer, identity)) if !issuer.is_empty() && !identity.is_empty() => patterns
                    .push(SigningIdentity {
                        issuer: issuer.to_owned(),
                        identity: identity.to_owned(),
                    }),
                _ => return Err(invalid_identity(format!("invalid identity `{shown}`"))),
            }
        }
        if patterns.is_empty() {
            return Err(invalid_identity("no identity".to_owned()));
        }
        Ok(Self { patterns, trust_root })
    }

    /// Returns the identities for reports.
    pub(super) fn shown(&self) -> Vec<SigningIdentity> {
        self.patterns.clone()
    }

    /// Returns the trust root for reports.
    pub(super) fn trust_root(&self) -> Source {
        self.trust_root.source().clone()
    }

    /// Returns the identity that signed an artifact.
    ///
    /// # Errors
    /// If none did, or if it isn't known.
    pub(super) fn signer(&self, signed: &Signed<'_>) -> Result<CertifiedSigner, Error> {
        match signed.form {
            SignatureForm::Envelope { payload_type, bundle } => {
                self.signer_of_envelope(signed, payload_type, bundle)
            }
            SignatureForm::Bytes(kept) => {
                let tried = kept.iter().zip(signed.signatures).take(MAX_SIGNATURES);
                let tried = tried.map(|(kept, signature)| {
                    let signature = MessageSignature::new(SignatureBytes::from_bytes(signature));
                    let content = SignatureContent::MessageSignature(signature);
                    let bundle = read(&cosign::bundle(kept)?, content)?;
                    self.trusted(&bundle, || Artifact::Blob(signed.payload))
                });
                first_success(tried).unwrap_or_else(|| Err(refused("no signature")))
            }
        }
    }

    fn signer_of_envelope(
        &self,
        signed: &Signed<'_>,
        payload_type: &str,
        bundle: Option<&Value>,
    ) -> Result<CertifiedSigner, Error> {
        let bundle =
            bundle.ok_or_else(|| refused("not signed by an identity: no Sigstore bundle"))?;
        let [signature] = signed.signatures else {
            let count = signed.signatures.len();
            return Err(unverified(&format!(
                "unexpected number of signatures in the envelope: expected 1, found {count}"
            )));
        };
        let content = SignatureContent::DsseEnvelope(DsseEnvelope::new(
            payload_type,
            PayloadBytes::from_bytes(signed.payload),
            DsseSignature::new(SignatureBytes::from_bytes(signature), KeyId::default()),
        ));
        let bundle = read(bundle, content)?;
        if bundle.signing_certificate().is_none() {
            return Err(refused("not signed by an identity: no certificate in the bundle"));
        }
        let digest = digest_of(signed.payload)?;
        self.trusted(&bundle, || Artifact::Digest(digest.clone()))
    }

    /// Returns the identity that created the signature in a bundle.
    fn trusted<'a>(
        &self,
        bundle: &Bundle,
        artifact: impl Fn() -> Artifact<'a>,
    ) -> Result<CertifiedSigner, Error> {
        let signer = self.verified(bundle, artifact)?;
        let is_trusted = |own: &SigningIdentity| {
            own.issuer == signer.issuer && pattern::matches(&own.identity, &signer.identity)
        };
        if self.patterns.iter().any(is_trusted) {
            return Ok(signer);
        }
        let (identity, issuer) = (escape(&signer.identity), escape(&signer.issuer));
        Err(refused(format!("untrusted identity: `{identity}`, issuer `{issuer}`")))
    }

    /// Returns the signer of the artifact of a bundle.
    fn verified<'a>(
        &self,
        bundle: &Bundle,
        artifact: impl Fn() -> Artifact<'a>,
    ) -> Result<CertifiedSigner, Error> {
        let roots = self.trust_root.roots().iter();
        let tried = roots.map(|root| root.verifier.verify(artifact(), bundle, &root.policy));
        match first_success(tried) {
            Some(Ok(result)) => identity(&result),
            Some(Err(error)) => Err(unverified(reason(&error)).with_source(error)),
            None => Err(unverified("no trust root")),
        }
    }
}

/// Returns a bundle. Its `content` is made of the bytes that the policies get, so these are what is checked,
/// in a time that is bounded.
fn read(document: &Value, content: SignatureContent) -> Result<Bundle, Error> {
    let none = || unverified("no Sigstore bundle");
    let media_type = document.get_str("mediaType").and_then(Value::as_str).ok_or_else(none)?;
    let media_type = MediaType::from_str(media_type).map_err(|error| none().with_source(error))?;
    let material = document.get_str("verificationMaterial").ok_or_else(none)?.to_json();
    if material.len() > MAX_MATERIAL {
        let limit = size(MAX_MATERIAL as u64);
        return Err(unverified(&format!("verification material too large: the limit is {limit}")));
    }
    let material: VerificationMaterial =
        serde_json::from_str(&material).map_err(|error| none().with_source(error))?;
    let bundle = Bundle::new(media_type, material, content);
    let material = &bundle.verification_material;
    let certificates = match &material.content {
        VerificationMaterialContent::X509CertificateChain { certificates } => certificates.len(),
        _ => 1,
    };
    let timestamps = &material.timestamp_verification_data.rfc3161_timestamps;
    for (count, what) in [
        (certificates, "certificates"),
        (material.tlog_entries.len(), "log entries"),
        (timestamps.len(), "timestamps"),
    ] {
        if count > MAX_PARTS {
            return Err(unverified(&format!(
                "too many {what} in the bundle: {count}, the limit is {MAX_PARTS}"
            )));
        }
    }
    Ok(bundle)
}

/// Returns the digest of one of a statement's subjects. The bundle is about the statement, whatever its
/// subjects are; but they are held against an artifact, and this is the one.
fn digest_of(payload: &[u8]) -> Result<ArtifactDigest, Error> {
    let statement: Statement = serde_json::from_slice(payload).map_err(|error| {
        unverified("unexpected payload: expected a statement").with_source(error)
    })?;
    let digest = |subject: &Subject| {
        let sha512 = |hash: Sha512Hash| ArtifactDigest::new(HashAlgorithm::Sha2512, hash);
        let sha256 = subject.digest.sha256.map(ArtifactDigest::sha256);
        sha256.or_else(|| sha512(subject.digest.sha512?).ok())
    };
    statement
        .subject
        .iter()
        .find_map(digest)
        .ok_or_else(|| unverified("no `sha256` or `sha512` of a subject in the statement"))
}

/// Returns the identity in a certificate that was verified, with the time of signing and the claims.
fn identity(result: &VerificationResult) -> Result<CertifiedSigner, Error> {
    let (Some(issuer), Some(identity), true) =
        (result.issuer(), result.identity(), result.certificate_verified())
    else {
        return Err(unverified("no identity with an issuer in the certificate"));
    };
    let signed_at = result.verified_timestamps().iter().min();
    let source = |time| if result.integrated_time() == Some(time) { "rekor" } else { "rfc3161" };
    let claims = result.certificate().map(|own| claims(issuer, &own.ci_claims));
    Ok(CertifiedSigner {
        issuer: issuer.to_owned(),
        identity: identity.as_str().to_owned(),
        signed_at: signed_at.map(ToString::to_string),
        signed_at_source: signed_at.map(|time| source(*time).to_owned()),
        claims: claims.unwrap_or_default(),
    })
}

/// Returns the claims of a certificate under the names that policies use. Fulcio has replaced some extensions; a
/// certificate may have only those that were replaced.
fn claims(issuer: &str, own: &FulcioCiClaims) -> BTreeMap<String, String> {
    let replaced = &own.deprecated_github;
    let all = [
        ("issuer", Some(issuer)),
        ("workflow", own.build_config_uri.as_deref()),
        ("signer_workflow", own.build_signer_uri.as_deref()),
        ("repository", own.source_repository_uri.as_deref()),
        ("repository_id", own.source_repository_identifier.as_deref()),
        ("owner", own.source_repository_owner_uri.as_deref()),
        ("visibility", own.source_repository_visibility_at_signing.as_deref()),
        ("ref", own.source_repository_ref.as_deref().or(replaced.workflow_ref.as_deref())),
        ("commit", own.source_repository_digest.as_deref().or(replaced.workflow_sha.as_deref())),
        ("trigger", own.build_trigger.as_deref().or(replaced.workflow_trigger.as_deref())),
        ("runner_environment", own.runner_environment.as_deref()),
        ("environment", own.deployment_environment.as_deref()),
        ("run", own.run_invocation_uri.as_deref()),
    ];
    let all = all.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.to_owned())));
    all.collect()
}

/// Words the reason why a bundle is invalid.
fn reason(error: &Failure) -> &'static str {
    match error {
        Failure::SignatureInvalid(_) => "invalid signature: not created with the certificate's key",
        Failure::Certificate(CertificateError::Sct(_)) => {
            "no proof of the certificate in a certificate transparency log"
        }
        Failure::Certificate(_) => {
            "untrusted certificate: no authority of the trust root issued it for the time of signing"
        }
        // The digest in the entry is meant: the statement's is its own.
        Failure::TransparencyLog(_) | Failure::ArtifactMismatch(_) => {
            "invalid entry of the transparency log"
        }
        Failure::Timestamp(_) => "no proof of the time of signing",
        _ => "unusable bundle",
    }
}

//! Images as inputs: the digest, and the artifacts attached in the registry.
//!
//! Owns which artifacts are read, when one counts, and the input that policies get. Nothing but the digest
//! of an artifact that doesn't count is in it.

mod signed;

use std::collections::BTreeMap;
use std::io::Cursor;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform::rego::internal::engine::ClosedObject;
use rego_platform::rego::value::Object;

use super::metadata::{CLAIMS, Facts, signers_value};
use super::parser::{Parsed, Parser};
use super::split::InputSplitter;
use super::{attestation, prepare};
use crate::provenance::{LayerSignature, Signatures};
#[cfg(feature = "keyless")]
use crate::provenance::{MAX_SIGNATURES, first_success};
use crate::report::model::{Argument, Evidence, LeftOut, Signer, Subject};
use crate::setting;

const SHA256: &str = "sha256:";

/// The media types of attestations: envelopes, statements and Sigstore's bundles.
const ATTESTATIONS: [&str; 6] = [
    "application/vnd.dsse.envelope.v1+json",
    "application/vnd.in-toto+json",
    "application/vnd.dev.sigstore.bundle.v0.3+json",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
];

/// The media type of cosign's signatures without an envelope.
const SIGNATURE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The type that such a signature states.
const SIGNATURE_TYPE: &str = "cosign container image signature";

/// The media types of SBOMs without an envelope.
const SBOMS: [&str; 4] = [
    "application/spdx+json",
    "text/spdx+json",
    "application/vnd.cyclonedx+json",
    "application/vnd.syft+json",
];

/// An artifact attached to an image in its registry.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The media type.
    pub media_type: String,
    /// The digest, `sha256:…`.
    pub digest: String,
    /// The signatures in the annotations of the artifact's layer.
    pub signatures: Vec<LayerSignature>,
    /// The content, which isn't needed unless [`Image::reads`] its media type.
    pub content: Option<Vec<u8>>,
}

/// The image of a platform, with what is attached to it.
#[derive(Debug, Clone)]
pub struct PlatformImage {
    /// The platform, such as `linux/arm64`.
    pub platform: String,
    /// The digest, `sha256:…`.
    pub digest: String,
    /// The attached artifacts.
    pub artifacts: Vec<Artifact>,
}

/// An image as an input, with its evidence.
#[derive(Debug)]
pub struct Image {
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) subject: Subject,
    pub(crate) value: Result<Value, Error>,
    pub(crate) bytes: usize,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) facts: Option<Facts>,
    account: Argument,
    note: Option<String>,
}

/// The kind of an artifact that is read.
#[derive(Debug, Clone, Copy)]
enum Sort {
    Attestation,
    Signature,
    Sbom,
}

/// The artifacts attached to an image and to those of its platforms, as they are opened.
struct Opened<'a> {
    signatures: &'a Signatures,
    bytes: usize,
    evidence: Vec<Evidence>,
    left_out: Vec<LeftOut>,
    refused: Vec<LeftOut>,
}

/// The parts of an accepted artifact that policies get.
struct AcceptedArtifact {
    value: Object,
    predicate_type: Option<String>,
    signers: Option<Vec<Signer>>,
}

impl Sort {
    const ALL: [Self; 3] = [Self::Attestation, Self::Signature, Self::Sbom];

    fn of(media_type: &str) -> Option<Self> {
        match media_type {
            SIGNATURE => Some(Self::Signature),
            other if ATTESTATIONS.contains(&other) => Some(Self::Attestation),
            other if SBOMS.contains(&other) => Some(Self::Sbom),
            _ => None,
        }
    }

    /// Returns `true` for kinds that may hold a signature of the image.
    fn is_signature(self) -> bool {
        matches!(self, Self::Attestation | Self::Signature)
    }

    /// Returns the field of the input for accepted artifacts.
    const fn field(self) -> &'static str {
        match self {
            Self::Attestation => "attestations",
            Self::Signature => "signatures",
            Self::Sbom => "sboms",
        }
    }
}

/// Returns the objects in the input of an image that the gate creates, which can't have further members.
pub(crate) fn closed_members() -> impl Iterator<Item = ClosedObject> {
    let lists = Sort::ALL.map(Sort::field).into_iter();
    let lists = lists.flat_map(|field| [vec![field], vec!["platforms", field]]);
    let nested = lists.flat_map(|list| {
        [&[][..], &["signers"], &["signers", CLAIMS]].map(|below| [&list[..], below].concat())
    });
    nested.chain([vec![], vec!["platforms"]]).map(|path| ClosedObject {
        path: path.into_iter().map(Value::from).collect(),
        except: [].into(),
        required: false,
    })
}

impl Image {
    /// Returns `true` if artifacts of a media type are read. Others are left out, and listed.
    pub fn reads(media_type: &str) -> bool {
        Sort::of(media_type).is_some()
    }

    /// Opens the artifacts attached to an image in a registry. `address` is what was asked for, `name` the
    /// same as container tools have it, and `digest` what was found, `sha256:…`. The platforms are the images of
    /// an index, or the image itself.
    ///
    /// An artifact counts if it is signed as `signatures` says and is about the digest to which it is attached. If
    /// there are artifacts that are read, and none counts, the input has no verdict.
    pub fn open(
        address: &str,
        name: &str,
        digest: &str,
        (artifacts, platforms): (Vec<Artifact>, Vec<PlatformImage>),
        signatures: &Signatures,
    ) -> Self {
        let mut opened = Opened {
            signatures,
            bytes: 0,
            evidence: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
        };
        let mut fields = opened.fields(digest, artifacts, None);
        let platforms = platforms.into_iter().map(|own| {
            // An image without platforms is its own platform.
            let mut of_platform = if own.digest == digest {
                fields.clone()
            } else {
                opened.fields(&own.digest, own.artifacts, Some(&own.platform))
            };
            of_platform.insert("platform".into(), own.platform.into());
            of_platform.insert("digest".into(), own.digest.into());
            Value::from(of_platform)
        });
        let platforms: Vec<Value> = platforms.collect();
        let Opened { bytes, evidence, mut left_out, refused, .. } = opened;
        let note = refused.first().map(|LeftOut { path, reason }| match refused.len() {
            1 => format!("attached artifact of `{name}` ignored: `{path}`: {reason}"),
            count => {
                format!(
                    "{count} attached artifacts of `{name}` ignored, such as `{path}`: {reason}"
                )
            }
        });
        let value = match &note {
            Some(note) if evidence.is_empty() => {
                Err(Error::invalid_argument(note.as_str()).by_setting(setting::SIGNATURES))
            }
            _ => {
                let untrusted = refused.iter().map(|left| Value::from(left.path.as_str()));
                fields.insert("untrusted".into(), untrusted.collect::<Vec<_>>().into());
                fields.insert("platforms".into(), platforms.into());
                fields.insert("image".into(), digest.into());
                fields.insert("reference".into(), name.into());
                Ok(Value::from(fields))
            }
        };
        let taken = evidence.len() as u64;
        left_out.extend(refused);
        let account = Argument::new(address.to_owned(), Some(digest.to_owned()), taken, left_out);
        let hex = digest.strip_prefix(SHA256).unwrap_or(digest);
        let subject = Subject {
            name: name.to_owned(),
            digest: BTreeMap::from([("sha256".to_owned(), hex.to_owned())]),
        };
        Self {
            name: address.to_owned(),
            digest: digest.to_owned(),
            subject,
            value,
            bytes,
            evidence,
            facts: None,
            account,
            note,
        }
    }

    /// Returns the image with its metadata as a material of the kind `CONTAINER_IMAGE`: the full name of its
    /// repository, the tag by which it was asked for, and whether the tag `latest` names it.
    #[must_use]
    pub fn with_tags(mut self, repository: String, tag: Option<&str>, is_latest: bool) -> Self {
        let mut annotations = BTreeMap::from([("image.is_latest_tag", Value::from(is_latest))]);
        annotations.extend(tag.map(|tag| ("image.tag", Value::from(tag))));
        self.facts = Some(Facts {
            annotations,
            name: Some(repository),
            digest: self.subject.digest.get("sha256").cloned(),
            ..Facts::none()
        });
        self
    }

    /// Returns the account of the artifacts, for the inventory.
    pub fn account(&self) -> &Argument {
        &self.account
    }

    /// Returns the note about ignored artifacts, if others were accepted.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref().filter(|_| self.value.is_ok())
    }
}

impl Opened<'_> {
    /// Opens what is attached to a digest, of a platform or of the image itself. Returns the lists that policies
    /// get.
    fn fields(
        &mut self,
        digest: &str,
        artifacts: Vec<Artifact>,
        platform: Option<&String>,
    ) -> Object {
        self.bytes +=
            artifacts.iter().filter_map(|one| one.content.as_ref()).map(Vec::len).sum::<usize>();
        let mut fields = BTreeMap::from(Sort::ALL.map(|sort| (sort.field(), Vec::new())));
        for artifact in artifacts {
            let sort = Sort::of(&artifact.media_type);
            let Some((sort, content)) = sort.zip(artifact.content.as_deref()) else {
                let reason = format!("unsupported artifact type `{}`", artifact.media_type);
                self.left_out.push(LeftOut { path: artifact.digest, reason });
                continue;
            };
            match artifact.counted(sort, content, digest, self.signatures) {
                Ok(counted) => {
                    fields.entry(sort.field()).or_default().push(Value::from(counted.value));
                    self.evidence.push(Evidence {
                        digest: artifact.digest,
                        platform: platform.cloned(),
                        media_type: artifact.media_type,
                        predicate_type: counted.predicate_type,
                        signers: counted.signers.unwrap_or_default(),
                    });
                }
                Err(error) => {
                    let reason = error.to_string();
                    self.refused.push(LeftOut { path: artifact.digest, reason });
                }
            }
        }
        fields.into_iter().map(|(name, all)| (Value::from(name), Value::from(all))).collect()
    }
}

impl Artifact {
    /// Returns the parts of the artifact that policies get.
    ///
    /// # Errors
    /// If it doesn't count.
    fn counted(
        &self,
        sort: Sort,
        content: &[u8],
        digest: &str,
        signatures: &Signatures,
    ) -> Result<AcceptedArtifact, Error> {
        let (name, value, predicate_type, signers) = match sort {
            Sort::Attestation => {
                let opened = self.attestation(&self.document(content)?, signatures)?;
                let is_about = |subject: &Subject| {
                    let hex = subject.digest.get("sha256");
                    hex.is_some_and(|hex| digest.strip_prefix(SHA256) == Some(hex))
                };
                if !opened.subjects.iter().any(is_about) {
                    return Err(Error::invalid_argument(
                        "subject mismatch: no subject of the statement has the image's digest",
                    ));
                }
                ("statement", opened.value, opened.predicate_type, opened.signers)
            }
            Sort::Signature => {
                // Nothing of it is read before.
                let signers = signatures.signers_of_bytes(content, &self.signatures)?;
                let payload = self.document(content)?;
                let critical = payload.get_str("critical");
                if critical.and_then(|own| own.get_str("type").and_then(Value::as_str))
                    != Some(SIGNATURE_TYPE)
                {
                    return Err(Error::invalid_argument("unexpected type of the signature"));
                }
                let image = critical.and_then(|own| own.get_str("image"));
                if image
                    .and_then(|own| own.get_str("docker-manifest-digest").and_then(Value::as_str))
                    != Some(digest)
                {
                    return Err(Error::invalid_argument("digest mismatch of the signature"));
                }
                ("payload", payload, None, signers)
            }
            Sort::Sbom => match signatures {
                Signatures::Unverified => ("document", self.document(content)?, None, None),
                #[cfg(feature = "signatures")]
                _ => {
                    return Err(Error::invalid_argument("unsigned SBOM: expected a DSSE envelope"));
                }
            },
        };
        let mut fields = Object::from([(Value::from(name), value)]);
        if let Some(signers) = &signers {
            fields.insert(Value::from("signers"), signers_value(signers));
        }
        Ok(AcceptedArtifact { value: fields, predicate_type, signers })
    }

    /// Opens an attestation. The certificate may be in annotations instead of a bundle around the envelope.
    #[cfg_attr(not(feature = "keyless"), allow(clippy::unused_self))]
    fn attestation(&self, document: &Value, signatures: &Signatures) -> Result<Parsed, Error> {
        let opened = attestation::open(document, signatures);
        #[cfg(feature = "keyless")]
        if opened.is_err() && document.get_str("payload").is_some() {
            let bundles = self.signatures.iter().take(MAX_SIGNATURES);
            let bundles = bundles.filter_map(|kept| signatures.bundle_around(document, kept));
            let tried = bundles
                .map(|bundle| bundle.and_then(|bundle| attestation::open(&bundle, signatures)));
            return first_success(tried).unwrap_or(opened);
        }
        opened
    }

    /// Parses the content as one JSON document.
    fn document(&self, content: &[u8]) -> Result<Value, Error> {
        let stream = Box::new(Cursor::new(content.to_vec()));
        let read = InputSplitter::new(stream, Some(Parser::Json)).next();
        let text = read.map_err(|error| {
            Error::invalid_argument("can't read the artifact").with_source(error)
        })?;
        let text = text
            .filter(|text| text.only)
            .ok_or_else(|| Error::invalid_argument("expected one JSON document"))?;
        prepare::parse(&text, &self.digest).map(|parsed| parsed.value)
    }
}

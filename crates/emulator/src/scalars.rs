//! The scalars of data files and answers: digests, material types, timestamps, UUIDs.
//!
//! Owns their forms, which are checked while a file is parsed, so that an error has the scalar's
//! own line.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// Reads a scalar with `parse`, whose error is positioned at the scalar itself.
fn scalar<'de, D, T>(
    deserializer: D,
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    struct Scalar<T>(&'static str, fn(&str) -> Option<T>);
    impl<T> Visitor<'_> for Scalar<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            (self.1)(text).ok_or_else(|| {
                E::custom(format!("`{}` isn't {}", rego::internal::text::shorten(text, 90), self.0))
            })
        }
    }
    deserializer.deserialize_str(Scalar(expected, parse))
}

/// A digest: `sha256:`, `sha1:` or `sha512:` and lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Digest(String);

impl Digest {
    /// Parses a digest; `None` if it isn't one.
    pub fn parse(text: &str) -> Option<Self> {
        let (algorithm, hex) = text.split_once(':')?;
        let length = match algorithm {
            "sha1" => 40,
            "sha256" => 64,
            "sha512" => 128,
            _ => return None,
        };
        let digits = hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex.len() == length && digits).then(|| Self(text.to_owned()))
    }

    /// Returns the digest of `bytes`.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", super::hex_sha256(bytes)))
    }

    /// Returns the digest with its algorithm.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the hexadecimal digits, if the algorithm is SHA-256.
    pub fn sha256_hex(&self) -> Option<&str> {
        self.0.strip_prefix("sha256:")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a digest such as `sha256:` and 64 lowercase digits", Self::parse)
    }
}

/// A material type such as `SBOM_CYCLONEDX_JSON`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Kind(String);

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        let form = text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        form.then(|| Self(text.to_owned()))
    }

    /// Returns the type as the service spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a material type in upper case, such as `ATTESTATION`", Self::parse)
    }
}

/// A point in time, in RFC 3339 in the files and in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub DateTime<Utc>);

impl Timestamp {
    /// Parses a time; `None` if it isn't one.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| Self(time.to_utc()))
    }

    /// Returns the present time.
    pub fn now() -> Self {
        Self(Utc::now())
    }

    /// Returns the text for JSON.
    pub fn text(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a time such as `2026-03-01T09:00:00Z`", Self::parse)
    }
}

/// A UUID in its usual form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct Id(String);

impl Id {
    /// Parses a UUID; `None` if it isn't one.
    pub fn parse(text: &str) -> Option<Self> {
        let id = uuid::Uuid::try_parse(text).ok()?.hyphenated().to_string();
        (text.len() == id.len()).then_some(Self(id))
    }

    /// Returns the UUID in lowercase.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a UUID", Self::parse)
    }
}

/// A name that isn't empty and has no control characters, so that it can be sent in a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct Name(String);

impl Name {
    fn parse(text: &str) -> Option<Self> {
        let form = !text.trim().is_empty() && !text.chars().any(char::is_control);
        form.then(|| Self(text.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a name", Self::parse)
    }
}

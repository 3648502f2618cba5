//! Waivers: accepted violations, each with an owner and an expiry date.
//!
//! Owns the format of the file and the matching of violations. A waived violation still appears in
//! every report. What VEX documents say is matched like waivers, by `vex`.

mod purl;
mod vex;

use std::fmt;
use std::path::Path;

use chrono::NaiveDate;
use rego_platform::Error;
use rego_platform::sources::glob::Glob;
use rego_platform::sources::typed;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_client::unreadable::unreadable;
use serde::de::{self, Error as _};
use serde::{Deserialize, Deserializer};

use crate::digest;
use crate::report::{absolute, model};
use vex::Vex;

/// The JSON schema of a file of waivers, for editors.
pub const WAIVERS_SCHEMA: &str = include_str!("waivers.schema.json");

/// The waivers of a run.
#[derive(Debug, Default)]
pub struct Waivers {
    entries: Vec<DatedWaiver>,
    /// The statements of VEX documents, which follow the waivers.
    vex: Vex,
}

#[derive(Debug)]
struct DatedWaiver {
    written: WaiverYaml,
    expired: bool,
}

/// The subject of a waiver. Only a digest is computed here. The others are chosen by whoever
/// supplies the input or the policy, so a waiver has to state explicitly that it relies on one of
/// them.
#[derive(Debug)]
enum Subject {
    /// The digest of an input's bytes.
    Digest(String),
    /// The name under which an input was given: its absolute path.
    Input(Glob),
    /// The names of an attestation's subjects, which must all match.
    Name(Glob),
    /// The digest that a violation names.
    Violation(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with `waivers`")]
struct WaiversYaml {
    /// The maximum number of days from today until a waiver expires.
    #[serde(default = "a_year")]
    max_days: u32,
    waivers: Vec<WaiverYaml>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with the fields of a waiver")]
struct WaiverYaml {
    #[serde(default, deserialize_with = "stated")]
    policy: Option<String>,
    #[serde(default, deserialize_with = "stated")]
    finding: Option<String>,
    subject: Subject,
    #[serde(deserialize_with = "visible")]
    reason: String,
    #[serde(deserialize_with = "visible")]
    owner: String,
    #[serde(deserialize_with = "date")]
    expires: NaiveDate,
}

fn a_year() -> u32 {
    366
}

/// Reads a string with visible characters.
fn visible<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().any(is_visible) { Ok(text) } else { Err(D::Error::custom("empty string")) }
}

/// Reads an optional field that must have a value if it is present: an empty field isn't a waiver for
/// everything.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    visible(deserializer).map(Some)
}

fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NaiveDate, D::Error> {
    let text = String::deserialize(deserializer)?;
    // Years beyond 9999 have a sign and more digits.
    let is_plain = |date: &NaiveDate| date.to_string() == text && text.len() == 10;
    NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok().filter(is_plain).ok_or_else(|| {
        let shown = escape(&text);
        D::Error::custom(format!("invalid date `{shown}`: expected one such as `2026-12-31`"))
    })
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubjectVisitor)
    }
}

struct SubjectVisitor;

impl<'de> de::Visitor<'de> for SubjectVisitor {
    type Value = Subject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a digest (`sha256:…`) of an input, `{input: GLOB}`, `{name: GLOB}` or `{violation: DIGEST}`",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Subject, E> {
        if text.starts_with("sha256:") && is_digest(text) {
            return Ok(Subject::Digest(text.to_owned()));
        }
        let shown = escape(text).replace('\'', "''");
        Err(E::custom(format!(
            "invalid digest `{shown}`: expected `sha256:` and 64 lowercase hexadecimal digits; to match the input's name, write `subject: {{input: '{shown}'}}`"
        )))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Subject, A::Error> {
        let Some(by) = map.next_key()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let subject = match by {
            By::Input => {
                let names = glob(&map.next_value::<String>()?, Glob::unless_path)?;
                Subject::Input(names.resolved(absolute))
            }
            By::Name => Subject::Name(glob(&map.next_value::<String>()?, Glob::new)?),
            By::Violation => Subject::Violation(map.next_value::<Digest>()?.0),
        };
        match map.next_key::<By>()? {
            None => Ok(subject),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

/// The property that identifies a subject, if it isn't the digest.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Input,
    Name,
    Violation,
}

/// Parses the glob of a subject.
fn glob<E: de::Error>(text: &str, parse: fn(&str) -> Result<Glob, String>) -> Result<Glob, E> {
    if text.trim().is_empty() {
        return Err(E::custom("empty string"));
    }
    parse(text).map_err(|why| E::custom(format!("invalid glob: {why}")))
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let invalid = || format!("invalid digest `{}`: expected `sha256:…`", escape(&text));
        if is_digest(&text) { Ok(Self(text)) } else { Err(invalid()) }
    }
}

/// A violation to match with waivers.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub policy: &'a str,
    pub message: &'a str,
    pub id: Option<&'a str>,
    /// The digest that the violation names.
    pub digest: Option<&'a str>,
    /// The URL of the package that the violation is about (`package_purl`).
    pub purl: Option<&'a str>,
    pub input_digest: Option<&'a str>,
    pub subjects: &'a [model::Subject],
}

impl Waivers {
    /// Reads a file of waivers, as of `today`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when the file can't be read or isn't valid, with the position
    /// of the problem.
    pub fn read(path: &Path, today: NaiveDate) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| unreadable("the waiver file", path, error))?;
        Self::of_file(&text, path, today)
    }

    /// Reads the text of the file at `path`.
    #[doc(hidden)]
    pub fn of_file(text: &str, path: &Path, today: NaiveDate) -> Result<Self, Error> {
        Self::parse(text, &escape_path(path), today)
    }

    fn parse(text: &str, name: &str, today: NaiveDate) -> Result<Self, Error> {
        let invalid = |message: String| Error::configuration(message);
        let file: WaiversYaml = typed(name, text).map_err(|found| {
            let at = found.position.map(|at| format!(":{}:{}", at.line, at.column));
            let (at, message) = (at.unwrap_or_default(), escape(&found.message));
            invalid(format!("{name}{at}: can't read the waivers: {message}")).with_hint(
                "write `waivers:`, a list of `policy` or `finding`, `subject`, `reason`, `owner` and `expires`",
            )
        })?;
        let mut entries = Vec::with_capacity(file.waivers.len());
        for (number, written) in (1..).zip(file.waivers) {
            let invalid = |what: &str| invalid(format!("{name}: waiver {number} {what}"));
            if written.policy.is_none() && written.finding.is_none() {
                return Err(invalid("has neither a `policy` nor a `finding`"));
            }
            let (expires, days) = (written.expires, file.max_days);
            if (expires - today).num_days() > i64::from(days) {
                let what = format!("expires on {expires}, more than {days} days from now");
                return Err(
                    invalid(&what).with_hint("allow more with `max_days: N` next to `waivers`")
                );
            }
            entries.push(DatedWaiver { written, expired: expires < today });
        }
        Ok(Self { entries, vex: Vex::default() })
    }

    /// Adds the statements of an `OpenVEX` document (JSON, 0.2.0), as of `today`: one that a product is
    /// `not_affected` or `fixed` sets aside the violations whose identifier is that of the vulnerability, and
    /// whose `package_purl`, or the digest of what they are about, that of the product.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) if it isn't such a document, or a statement is incomplete or of a later day.
    pub fn add_vex(&mut self, text: &[u8], path: &Path, today: NaiveDate) -> Result<(), Error> {
        self.vex.add(text, path, today)
    }

    /// Returns the waivers as reports show them, in the order of the file, without matches yet.
    pub fn shown(&self) -> Vec<model::Waiver> {
        let shown = |entry: &DatedWaiver| model::Waiver {
            policy: entry.written.policy.clone(),
            finding: entry.written.finding.clone(),
            subject: entry.written.subject.text().to_owned(),
            by: entry.written.subject.by(),
            reason: entry.written.reason.clone(),
            owner: entry.written.owner.clone(),
            expires: entry.written.expires.to_string(),
            expired: entry.expired,
            matched: 0,
            vex: None,
        };
        self.entries.iter().map(shown).chain(self.vex.shown()).collect()
    }

    /// Returns the waivers and statements that may apply to an input.
    pub(crate) fn of_input(
        &self,
        input: &str,
        digest: Option<&str>,
        subjects: &[model::Subject],
    ) -> InputWaivers<'_> {
        let path = absolute(Path::new(input));
        let path = path.to_string_lossy();
        let concerns = |subject: &Subject| match subject {
            Subject::Digest(own) => digest == Some(own.as_str()),
            Subject::Input(names) => names.as_str() == input || names.matches(&path),
            // An attestation about several subjects is covered only if each of them is.
            Subject::Name(names) => {
                !subjects.is_empty() && subjects.iter().all(|subject| named(names, &subject.name))
            }
            // The violation decides.
            Subject::Violation(_) => true,
        };
        let entries = self.entries.iter().enumerate();
        let entries = entries.filter(|(_, entry)| concerns(&entry.written.subject)).collect();
        InputWaivers { all: self, entries }
    }
}

/// The waivers and VEX statements that may apply to an input.
#[derive(Debug)]
pub(crate) struct InputWaivers<'a> {
    all: &'a Waivers,
    /// The waivers, with their indexes.
    entries: Vec<(usize, &'a DatedWaiver)>,
}

impl InputWaivers<'_> {
    /// Returns the index of the waiver or VEX statement for a violation, and `true` if it suppresses the
    /// violation. One that only matches is the fallback.
    pub fn matching(&self, candidate: &Candidate<'_>) -> Option<(usize, bool)> {
        let matching = || self.entries.iter().filter(|(_, entry)| entry.matches(candidate));
        if let Some((index, _)) = matching().find(|(_, entry)| !entry.expired) {
            return Some((*index, true));
        }
        let stated = self.all.vex.deciding(candidate);
        let stated = stated.map(|(index, covers)| (self.all.entries.len() + index, covers));
        let expired = || matching().next().map(|(index, _)| (*index, false));
        stated.filter(|(_, covers)| *covers).or_else(expired).or(stated)
    }
}

impl DatedWaiver {
    /// Returns `true` if the waiver applies to a violation of an input.
    fn matches(&self, candidate: &Candidate<'_>) -> bool {
        let written = &self.written;
        let concerns = match &written.subject {
            Subject::Violation(digest) => candidate.digest == Some(digest.as_str()),
            Subject::Digest(_) | Subject::Input(_) | Subject::Name(_) => true,
        };
        concerns
            && written.policy.as_deref().is_none_or(|policy| policy == candidate.policy)
            && written
                .finding
                .as_deref()
                .is_none_or(|finding| candidate.id == Some(finding) || candidate.message == finding)
    }
}

/// Returns `true` for a visible character.
fn is_visible(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    !c.is_whitespace() && escape(text) == text
}

fn named(names: &Glob, text: &str) -> bool {
    names.as_str() == text || names.matches(text)
}

/// Returns `true` if a text is a digest: an algorithm, followed by hex digits of the right length.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let digits = match algorithm {
        "sha1" => 40,
        "sha256" => 64,
        "sha512" => 128,
        _ => return false,
    };
    digest::is_hex(hex, digits)
}

impl Subject {
    fn text(&self) -> &str {
        match self {
            Self::Digest(text) | Self::Violation(text) => text,
            Self::Input(glob) | Self::Name(glob) => glob.as_str(),
        }
    }

    fn by(&self) -> model::WaivedBy {
        match self {
            Self::Digest(_) => model::WaivedBy::Digest,
            Self::Input(_) => model::WaivedBy::Input,
            Self::Name(_) => model::WaivedBy::Name,
            Self::Violation(_) => model::WaivedBy::Violation,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const DATE: &str = "reason: r, owner: o, expires: ";

    fn waivers(text: &str) -> Result<Waivers, String> {
        let today = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        Waivers::parse(text, "w.yaml", today).map_err(|e| e.report())
    }

    fn candidate(subjects: &[model::Subject]) -> Candidate<'_> {
        Candidate {
            policy: "p",
            message: "m",
            id: Some("CVE-1"),
            digest: None,
            purl: None,
            input_digest: Some("sha256:aa"),
            subjects,
        }
    }

    fn matching(waivers: &Waivers, candidate: &Candidate<'_>) -> Option<(usize, bool)> {
        let of_input = waivers.of_input("in.json", candidate.input_digest, candidate.subjects);
        of_input.matching(candidate)
    }

    fn digest(pair: &str) -> String {
        format!("sha256:{}", pair.repeat(32))
    }

    #[test]
    fn a_waiver_matches_until_its_last_day() {
        let (own, other) = (digest("aa"), digest("ab"));
        let matching = |rest: &str, day: &str| {
            let text = format!("waivers:\n- {{{rest}, {DATE}{day}}}\n");
            let own =
                Candidate { input_digest: Some(&own), digest: Some(&other), ..candidate(&[]) };
            matching(&waivers(&text).unwrap(), &own)
        };
        let named = "policy: p, subject: {input: '*.json'}";
        assert_eq!(matching(named, "2026-03-01"), Some((0, true)));
        assert_eq!(matching(named, "2026-02-28"), Some((0, false)));
        let own = format!("finding: CVE-1, subject: '{own}'");
        assert_eq!(matching(&own, "2026-03-02"), Some((0, true)));
        assert_eq!(
            matching("finding: m, subject: {input: in.json}", "2026-03-02"),
            Some((0, true))
        );
        let violation = format!("policy: p, subject: {{violation: '{other}'}}");
        assert_eq!(matching(&violation, "2026-03-02"), Some((0, true)));
        for none in [
            "policy: q, subject: {input: '*'}",
            "finding: CVE-2, subject: {input: '*'}",
            "policy: p, finding: CVE-2, subject: {input: '*'}",
            "policy: p, subject: {name: '*'}",
            // A digest that a violation names doesn't count as the input's.
            &format!("policy: p, subject: '{other}'"),
        ] {
            assert_eq!(matching(none, "2026-03-02"), None, "{none}");
        }
    }

    #[test]
    fn a_waiver_lasts_a_year_unless_the_file_says_more() {
        let file = |top: &str, day: &str| {
            waivers(&format!(
                "{top}waivers:\n- {{policy: p, subject: {{input: s}}, {DATE}{day}}}\n"
            ))
        };
        file("", "2027-03-02").unwrap();
        for day in ["2027-03-03", "9999-12-31"] {
            let error = file("", day).unwrap_err();
            assert!(
                error.contains("waiver 1 expires on") && error.contains("more than 366 days"),
                "{error}"
            );
        }
        file("max_days: 367\n", "2027-03-03").unwrap();
        assert!(file("max_days: 30\n", "2026-04-01").unwrap_err().contains("30 days"));
    }

    #[test]
    fn every_subject_has_to_be_covered() {
        let text =
            format!("waivers:\n- {{policy: p, subject: {{name: 'app-*'}}, {DATE}2027-01-01}}\n");
        let waivers = waivers(&text).unwrap();
        let subject = |name: &str| model::Subject {
            name: name.to_owned(),
            digest: [("sha256".to_owned(), "bb".to_owned())].into(),
        };
        assert!(matching(&waivers, &candidate(&[subject("app-a")])).is_some());
        assert!(matching(&waivers, &candidate(&[subject("app-a"), subject("lib")])).is_none());
    }

    #[test]
    fn errors_in_a_file_of_waivers_have_their_position() {
        let ok = format!("policy: p, subject: {{input: s}}, {DATE}2027-01-01");
        for (text, expected) in [
            (format!("waivers:\n- {{{ok}, who: x}}\n"), "w.yaml:2:"),
            (
                format!("waivers:\n- {{subject: {{input: s}}, {DATE}2027-01-01}}\n"),
                "neither a `policy`",
            ),
            (format!("waivers:\n- {{policy: p, subject: {{input: s}}, {DATE}soon}}\n"), "`soon`"),
            (
                format!("waivers:\n- {{policy: p, subject: {{input: s}}, {DATE}2027-1-1}}\n"),
                "invalid date",
            ),
            (
                format!("waivers:\n- {{policy: p, subject: {{input: s}}, {DATE}'+12027-01-01'}}\n"),
                "invalid date",
            ),
            (
                format!("waivers:\n- {{policy: '', subject: {{input: s}}, {DATE}2027-01-01}}\n"),
                "empty string",
            ),
            (
                "waivers:\n- {policy: p, subject: {input: s}, reason: \"\\u200b\", owner: o, \
                 expires: 2027-01-01}\n"
                    .to_owned(),
                "empty string",
            ),
            (format!("waivers:\n- {{{ok}, finding: }}\n"), "expected a string"),
            ("waivers:\n- {policy: p}\n".to_owned(), "missing field"),
            (format!("waiver:\n- {{{ok}}}\n"), "unknown field"),
            (
                format!("waivers:\n- {{policy: p, subject: {{input: 'a['}}, {DATE}2027-01-01}}\n"),
                "invalid glob",
            ),
            (
                format!("waivers:\n- {{policy: p, subject: '*.json', {DATE}2027-01-01}}\n"),
                "`subject: {input: '*.json'}`",
            ),
            (
                format!("waivers:\n- {{policy: p, subject: 'sha256:aa', {DATE}2027-01-01}}\n"),
                "invalid digest `sha256:aa`: expected `sha256:` and 64",
            ),
            (
                format!(
                    "waivers:\n- {{policy: p, subject: {{input: x, name: y}}, {DATE}2027-01-01}}\n"
                ),
                "invalid length 2, expected a digest",
            ),
            (
                format!("waivers:\n- {{policy: p, subject: {{path: x}}, {DATE}2027-01-01}}\n"),
                "unknown variant `path`",
            ),
        ] {
            let error = waivers(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

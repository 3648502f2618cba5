//! Waivers: violations that somebody answers for, until a day.
//!
//! Owns the file's form and what a waiver matches. What is waived is still in every report.

use std::path::Path;

use chrono::NaiveDate;
use glob::Pattern;
use serde::Deserialize;

use super::model;
use crate::text::escape;
use crate::{Error, ErrorKind};

/// The waivers of a run.
#[derive(Debug, Default)]
pub struct Waivers {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    written: Written,
    subject: Pattern,
    expired: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    waivers: Vec<Written>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    policy: Option<String>,
    finding: Option<String>,
    subject: String,
    reason: String,
    owner: String,
    expires: String,
}

/// What a waiver is held against.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub policy: &'a str,
    pub message: &'a str,
    pub id: Option<&'a str>,
    /// The digest that the violation names.
    pub digest: Option<&'a str>,
    pub input: &'a str,
    pub input_digest: Option<&'a str>,
    pub subjects: &'a [model::Subject],
}

impl Waivers {
    /// Reads the file, as of `today`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a file that can't be read, with the place of what is wrong
    /// in it.
    pub fn read(path: &Path, today: NaiveDate) -> Result<Self, Error> {
        let name = escape(&path.display().to_string());
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::new(ErrorKind::Configuration, format!("the waivers `{name}` can't be read"))
                .with_source(error)
        })?;
        Self::parse(&text, &name, today)
    }

    fn parse(text: &str, name: &str, today: NaiveDate) -> Result<Self, Error> {
        let wrong = |message: String| Error::new(ErrorKind::Configuration, message);
        let file: File = yaml_serde::from_str(text).map_err(|error| {
            let place = match error.location() {
                Some(at) => format!("{name}:{}:{}", at.line(), at.column()),
                None => name.to_owned(),
            };
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or(&said);
            wrong(format!("{place}: no waivers: {}", escape(said))).with_hint(
                "`waivers` is a list of `policy` or `finding`, `subject`, `reason`, `owner` and \
                 `expires`",
            )
        })?;
        let mut entries = Vec::with_capacity(file.waivers.len());
        for (number, written) in (1..).zip(file.waivers) {
            let wrong = |what: &str| wrong(format!("{name}: waiver {number} {what}"));
            if written.policy.is_none() && written.finding.is_none() {
                return Err(wrong("names neither a `policy` nor a `finding`"));
            }
            for (field, text) in [
                ("policy", written.policy.as_deref().unwrap_or("-")),
                ("finding", written.finding.as_deref().unwrap_or("-")),
                ("subject", &written.subject),
                ("reason", &written.reason),
                ("owner", &written.owner),
            ] {
                if text.trim().is_empty() {
                    return Err(wrong(&format!("has an empty `{field}`")));
                }
            }
            let expires =
                NaiveDate::parse_from_str(&written.expires, "%Y-%m-%d").map_err(|_| {
                    let shown = escape(&written.expires);
                    wrong(&format!("expires on `{shown}`, which is no date"))
                        .with_hint("a date is written `2026-12-31`")
                })?;
            let subject = Pattern::new(&written.subject).map_err(|error| {
                wrong("has a `subject` that is no glob").with_source(error.to_string())
            })?;
            entries.push(Entry { written, subject, expired: expires < today });
        }
        Ok(Self { entries })
    }

    /// How reports show them, before anything was matched.
    pub(super) fn shown(&self) -> Vec<model::Waiver> {
        let shown = |entry: &Entry| model::Waiver {
            policy: entry.written.policy.clone(),
            finding: entry.written.finding.clone(),
            subject: entry.written.subject.clone(),
            reason: entry.written.reason.clone(),
            owner: entry.written.owner.clone(),
            expires: entry.written.expires.clone(),
            expired: entry.expired,
            matched: 0,
        };
        self.entries.iter().map(shown).collect()
    }

    /// The waiver that covers a violation, or else an expired one that would: its index, and
    /// whether it counts.
    pub(super) fn matching(&self, case: &Case<'_>) -> Option<(usize, bool)> {
        let matching = || self.entries.iter().enumerate().filter(|(_, entry)| entry.matches(case));
        let valid = matching().find(|(_, entry)| !entry.expired);
        valid.or_else(|| matching().next()).map(|(index, entry)| (index, !entry.expired))
    }
}

impl Entry {
    fn matches(&self, case: &Case<'_>) -> bool {
        let written = &self.written;
        written.policy.as_deref().is_none_or(|policy| policy == case.policy)
            && written
                .finding
                .as_deref()
                .is_none_or(|finding| case.id == Some(finding) || case.message == finding)
            && self.concerns(case)
    }

    /// An attestation about several subjects is covered only if each of them is.
    fn concerns(&self, case: &Case<'_>) -> bool {
        let named = |text: &str| text == self.written.subject || self.subject.matches(text);
        let subject = |subject: &model::Subject| {
            named(&subject.name)
                || subject.digest.iter().any(|(name, hex)| named(&format!("{name}:{hex}")))
        };
        named(case.input)
            || case.input_digest.is_some_and(named)
            || case.digest.is_some_and(named)
            || (!case.subjects.is_empty() && case.subjects.iter().all(subject))
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

    fn case(subjects: &[model::Subject]) -> Case<'_> {
        Case {
            policy: "p",
            message: "m",
            id: Some("CVE-1"),
            digest: None,
            input: "in.json",
            input_digest: Some("sha256:aa"),
            subjects,
        }
    }

    #[test]
    fn a_waiver_matches_until_its_last_day() {
        let matching = |rest: &str, day: &str| {
            let text = format!("waivers:\n- {{{rest}, {DATE}{day}}}\n");
            waivers(&text).unwrap().matching(&case(&[]))
        };
        assert_eq!(matching("policy: p, subject: '*.json'", "2026-03-01"), Some((0, true)));
        assert_eq!(matching("policy: p, subject: '*.json'", "2026-02-28"), Some((0, false)));
        assert_eq!(matching("finding: CVE-1, subject: 'sha256:aa'", "2026-03-02"), Some((0, true)));
        assert_eq!(matching("finding: m, subject: in.json", "2026-03-02"), Some((0, true)));
        assert_eq!(matching("policy: q, subject: '*'", "2026-03-02"), None);
        assert_eq!(matching("finding: CVE-2, subject: '*'", "2026-03-02"), None);
        assert_eq!(matching("policy: p, finding: CVE-2, subject: '*'", "2026-03-02"), None);
        assert_eq!(matching("policy: p, subject: 'sha256:ab'", "2026-03-02"), None);
    }

    #[test]
    fn every_subject_has_to_be_covered() {
        let text = format!("waivers:\n- {{policy: p, subject: 'sha256:bb', {DATE}2027-01-01}}\n");
        let waivers = waivers(&text).unwrap();
        let subject = |hex: &str| model::Subject {
            name: hex.to_owned(),
            digest: [("sha256".to_owned(), hex.to_owned())].into(),
        };
        assert!(waivers.matching(&case(&[subject("bb")])).is_some());
        assert!(waivers.matching(&case(&[subject("bb"), subject("cc")])).is_none());
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let ok = format!("policy: p, subject: s, {DATE}2027-01-01");
        for (text, says) in [
            (format!("waivers:\n- {{{ok}, who: x}}\n"), "w.yaml:2:"),
            (format!("waivers:\n- {{subject: s, {DATE}2027-01-01}}\n"), "neither a `policy`"),
            (format!("waivers:\n- {{policy: p, subject: s, {DATE}soon}}\n"), "`soon`"),
            (
                format!("waivers:\n- {{policy: '', subject: s, {DATE}2027-01-01}}\n"),
                "empty `policy`",
            ),
            ("waivers:\n- {policy: p}\n".to_owned(), "missing field"),
            (format!("waiver:\n- {{{ok}}}\n"), "unknown field"),
            (format!("waivers:\n- {{policy: p, subject: 'a[', {DATE}2027-01-01}}\n"), "no glob"),
        ] {
            let error = waivers(&text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}

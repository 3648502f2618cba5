//! `OpenVEX` 0.2.0: what is said of vulnerabilities in products.
//!
//! Owns the format of a document, and which of its statements decides on a finding: the latest one about the
//! same vulnerability and product. Both are compared exactly; no version and no part of a name is. What
//! becomes of the finding belongs to `waivers`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, FixedOffset, NaiveDate, Utc};
use percent_encoding::percent_decode_str;
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use serde::Deserialize;

use super::{Candidate, visible};
use crate::model::{self, VexStatement, VexStatus, WaivedBy};

/// The version of the format.
const CONTEXT: &str = "https://openvex.dev/ns/v0.2.0";

/// The most statements of a document.
const MAX_STATEMENTS: usize = 10_000;

/// The most products that reports show for a statement.
const SHOWN: usize = 3;

/// The statements of all documents of a run.
#[derive(Debug, Default)]
pub(super) struct Vex {
    statements: Vec<Statement>,
    /// The places of the statements about a vulnerability, by its name and its aliases, and by what a
    /// product or a part of it is known.
    by_product: HashMap<String, HashMap<String, Vec<usize>>>,
    /// What was decided, by what is compared.
    decided: Mutex<HashMap<Compared, Option<(usize, bool)>>>,
}

/// What is compared of a finding: the vulnerability, the package and the digests.
type Compared = (String, Option<String>, Vec<Option<String>>);

/// The most decisions that are kept.
const KEPT: usize = 100_000;

#[derive(Debug)]
struct Statement {
    name: String,
    products: Vec<Product>,
    time: DateTime<FixedOffset>,
    reason: String,
    author: String,
    shown: VexStatement,
}

#[derive(Debug)]
struct Product {
    identity: Identity,
    /// Set if the statement is only about these parts of it.
    parts: Vec<Identity>,
}

/// By what a product is known.
#[derive(Debug)]
struct Identity {
    /// Its IRI and its package URL.
    names: Vec<String>,
    /// Its SHA-256, as hexadecimal digits.
    digests: Vec<String>,
}

// The fields that nothing is made of are there so that a document with others is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct DocumentJson {
    #[serde(rename = "@context")]
    context: String,
    #[serde(rename = "@id")]
    id: String,
    #[serde(deserialize_with = "visible")]
    author: String,
    role: Option<String>,
    timestamp: String,
    last_updated: Option<String>,
    version: u64,
    tooling: Option<String>,
    statements: Vec<StatementJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct StatementJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    version: Option<u64>,
    vulnerability: VulnerabilityJson,
    timestamp: Option<String>,
    last_updated: Option<String>,
    #[serde(default)]
    products: Vec<ProductJson>,
    status: VexStatus,
    supplier: Option<String>,
    status_notes: Option<String>,
    justification: Option<Justification>,
    impact_statement: Option<String>,
    action_statement: Option<String>,
    action_statement_timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct VulnerabilityJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    #[serde(deserialize_with = "visible")]
    name: String,
    description: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    #[serde(default)]
    identifiers: IdentifiersJson,
    #[serde(default)]
    hashes: HashesJson,
    #[serde(default)]
    subcomponents: Vec<PartJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    #[serde(default)]
    identifiers: IdentifiersJson,
    #[serde(default)]
    hashes: HashesJson,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct IdentifiersJson {
    purl: Option<String>,
    cpe22: Option<String>,
    cpe23: Option<String>,
}

#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct HashesJson {
    #[serde(rename = "sha-256")]
    sha_256: Option<String>,
    md5: Option<String>,
    sha1: Option<String>,
    #[serde(rename = "sha-384")]
    sha_384: Option<String>,
    #[serde(rename = "sha-512")]
    sha_512: Option<String>,
    #[serde(rename = "sha3-224")]
    sha3_224: Option<String>,
    #[serde(rename = "sha3-256")]
    sha3_256: Option<String>,
    #[serde(rename = "sha3-384")]
    sha3_384: Option<String>,
    #[serde(rename = "sha3-512")]
    sha3_512: Option<String>,
    #[serde(rename = "blake2s-256")]
    blake2s_256: Option<String>,
    #[serde(rename = "blake2b-256")]
    blake2b_256: Option<String>,
    #[serde(rename = "blake2b-512")]
    blake2b_512: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Justification {
    ComponentNotPresent,
    VulnerableCodeNotPresent,
    VulnerableCodeNotInExecutePath,
    VulnerableCodeCannotBeControlledByAdversary,
    InlineMitigationsAlreadyExist,
}

impl Justification {
    const fn as_str(self) -> &'static str {
        match self {
            Self::ComponentNotPresent => "the component isn't present",
            Self::VulnerableCodeNotPresent => "the vulnerable code isn't present",
            Self::VulnerableCodeNotInExecutePath => "the vulnerable code isn't executed",
            Self::VulnerableCodeCannotBeControlledByAdversary => {
                "an adversary can't control the vulnerable code"
            }
            Self::InlineMitigationsAlreadyExist => "it is mitigated already",
        }
    }
}

impl VexStatus {
    /// Returns `true` if a finding needn't be mended.
    pub(crate) const fn sets_aside(self) -> bool {
        matches!(self, Self::NotAffected | Self::Fixed)
    }
}

impl Vex {
    /// Adds the statements of the document at `path`, as of `today`.
    pub fn add(&mut self, text: &[u8], path: &Path, today: NaiveDate) -> Result<(), Error> {
        let file = path.display().to_string();
        let name = escape(&file);
        let wrong = |message: String| Error::new(ErrorKind::Configuration, message);
        let document: DocumentJson = serde_json::from_slice(text).map_err(|error| {
            wrong(format!("`{name}` isn't an OpenVEX document"))
                .with_source(escape(&error.to_string()))
                .with_hint("it is JSON of the version 0.2.0, without a signature around it")
        })?;
        if document.context != CONTEXT {
            let context = escape(&document.context);
            return Err(wrong(format!(
                "`{name}` isn't OpenVEX 0.2.0: its `@context` is `{context}`"
            ))
            .with_hint(format!("that of the version 0.2.0 is `{CONTEXT}`")));
        }
        if document.statements.len() > MAX_STATEMENTS {
            let message = format!("`{name}` has more than {MAX_STATEMENTS} statements");
            return Err(wrong(message).with_hint("leave out those about other products"));
        }
        let of_document =
            time(&document.timestamp).map_err(|what| wrong(format!("`{name}`: {what}")))?;
        for (number, written) in (1..).zip(document.statements) {
            let wrong = |what: String| wrong(format!("`{name}`: statement {number}: {what}"));
            let shown = VexStatement { file: file.clone(), number, status: written.status };
            let names = std::iter::once(&written.vulnerability.name);
            let names: Vec<String> = names.chain(&written.vulnerability.aliases).cloned().collect();
            if names.iter().any(|name| name.trim().is_empty()) {
                return Err(wrong("it has an alias without a name".to_owned()));
            }
            let one = statement(written, of_document, &document.author, shown).map_err(wrong)?;
            // It would decide until then, whatever is stated later.
            if one.time.with_timezone(&Utc).date_naive() > today {
                return Err(wrong(format!(
                    "its time, {}, is in the future",
                    one.time.to_rfc3339()
                )));
            }
            let place = self.statements.len();
            for name in names {
                let by_product = self.by_product.entry(name).or_default();
                for known in one.products.iter().flat_map(Product::known) {
                    let places = by_product.entry(known.to_owned()).or_default();
                    if places.last() != Some(&place) {
                        places.push(place);
                    }
                }
            }
            self.statements.push(one);
        }
        Ok(())
    }

    /// Returns the statements as reports show them, without matches yet.
    pub fn shown(&self) -> impl Iterator<Item = model::Waiver> {
        self.statements.iter().map(|own| model::Waiver {
            policy: None,
            finding: Some(own.name.clone()),
            subject: own.subject(),
            by: WaivedBy::Product,
            reason: own.reason.clone(),
            owner: own.author.clone(),
            expires: String::new(),
            expired: false,
            matched: 0,
            vex: Some(own.shown.clone()),
        })
    }

    /// Returns the statement that decides on a finding, and whether it sets it aside. Of several as late as
    /// each other, one that doesn't decides.
    pub fn deciding(&self, candidate: &Candidate<'_>) -> Option<(usize, bool)> {
        let id = candidate.id?;
        let by_product = self.by_product.get(id)?;
        let digests: Vec<Option<String>> =
            digests(candidate).map(|own| own.map(str::to_owned)).collect();
        let compared = (id.to_owned(), candidate.purl.map(str::to_owned), digests.clone());
        let kept = |decided: &HashMap<Compared, _>| decided.get(&compared).copied();
        if let Some(kept) = kept(&self.decided.lock().unwrap_or_else(PoisonError::into_inner)) {
            return kept;
        }
        let known = candidate.purl.into_iter().chain(digests.iter().flatten().map(String::as_str));
        let places: BTreeSet<usize> =
            known.filter_map(|known| by_product.get(known)).flatten().copied().collect();
        let all = places.iter().filter_map(|at| Some((*at, self.statements.get(*at)?)));
        let about: Vec<_> = all.filter(|(_, own)| own.is_about(candidate)).collect();
        let last = about.iter().map(|(_, own)| own.time).max();
        let mut latest = about.iter().filter(|(_, own)| Some(own.time) == last);
        let first = latest.clone().next();
        let deciding = latest.find(|(_, own)| !own.sets_aside()).or(first);
        let decided = deciding.map(|(at, own)| (*at, own.sets_aside()));
        let mut all = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < KEPT {
            all.insert(compared, decided);
        }
        decided
    }
}

impl Product {
    /// Returns by what it and its parts are known.
    fn known(&self) -> impl Iterator<Item = &str> {
        let all = std::iter::once(&self.identity).chain(&self.parts);
        all.flat_map(|own| own.names.iter().chain(&own.digests)).map(String::as_str)
    }
}

/// Returns the digests of what a finding is about, as hexadecimal digits: that which it names, or else those of
/// the input's subjects, or else the input's. `None` for one that isn't known.
fn digests<'a>(candidate: &Candidate<'a>) -> impl Iterator<Item = Option<&'a str>> {
    let own = candidate.digest.or(candidate.input_digest.filter(|_| candidate.subjects.is_empty()));
    let one = own.map(|own| own.strip_prefix("sha256:"));
    let subjects = candidate.subjects.iter().filter(move |_| one.is_none());
    let subjects = subjects.map(|own| own.digest.get("sha256").map(String::as_str));
    one.into_iter().chain(subjects)
}

/// Reads a statement, or says what is wrong with it.
fn statement(
    written: StatementJson,
    of_document: DateTime<FixedOffset>,
    author: &str,
    shown: VexStatement,
) -> Result<Statement, String> {
    if written.products.is_empty() {
        return Err("it names no product".to_owned());
    }
    let time = written.timestamp.as_deref().map_or(Ok(of_document), time)?;
    let said = [&written.impact_statement, &written.status_notes, &written.action_statement];
    let said = said.into_iter().flatten().find(|text| !text.trim().is_empty());
    let is_justified = written.justification.is_some()
        || written.impact_statement.as_ref().is_some_and(|text| !text.trim().is_empty());
    if written.status == VexStatus::NotAffected && !is_justified {
        return Err(
            "it is `not_affected` without a `justification` or an `impact_statement`".to_owned()
        );
    }
    let justification = written.justification.map(|own| own.as_str().to_owned());
    let reason: Vec<String> = justification.into_iter().chain(said.cloned()).collect();
    Ok(Statement {
        name: written.vulnerability.name,
        products: written.products.into_iter().map(product).collect::<Result<_, _>>()?,
        time,
        reason: if reason.is_empty() { "no reason given".to_owned() } else { reason.join(": ") },
        author: author.to_owned(),
        shown,
    })
}

fn time(text: &str) -> Result<DateTime<FixedOffset>, String> {
    DateTime::parse_from_rfc3339(text)
        .map_err(|_| format!("`{}` isn't a time, such as `2026-12-31T12:00:00Z`", escape(text)))
}

fn product(written: ProductJson) -> Result<Product, String> {
    let part = |own: PartJson| identity(own.id, own.identifiers, own.hashes);
    Ok(Product {
        identity: identity(written.id, written.identifiers, written.hashes)?,
        parts: written.subcomponents.into_iter().map(part).collect::<Result<_, _>>()?,
    })
}

/// Returns by what a product is known.
fn identity(
    id: Option<String>,
    identifiers: IdentifiersJson,
    hashes: HashesJson,
) -> Result<Identity, String> {
    let is_cpe = identifiers.cpe22.is_some() || identifiers.cpe23.is_some();
    let names: Vec<String> = id.into_iter().chain(identifiers.purl).collect();
    if names.iter().any(|name| name.trim().is_empty())
        || names.is_empty() && !is_cpe && hashes == HashesJson::default()
    {
        return Err("it has a product or a part without an identifier".to_owned());
    }
    if let Some(other) = hashes.sha_256.as_ref().filter(|digest| !is_sha_256(digest)) {
        return Err(format!(
            "`{}` isn't a `sha-256`: 64 lower-case hexadecimal digits",
            escape(other)
        ));
    }
    let mut digests: Vec<String> = hashes.sha_256.into_iter().collect();
    digests.extend(names.iter().filter_map(|name| image_digest(name)));
    Ok(Identity { names, digests })
}

/// Returns the digest of an image, which is its version in a package URL of the type `oci`.
fn image_digest(purl: &str) -> Option<String> {
    let name = purl.strip_prefix("pkg:oci/")?.split(['?', '#']).next()?;
    let (_, version) = name.rsplit_once('@')?;
    let version = percent_decode_str(version).decode_utf8().ok()?;
    version.strip_prefix("sha256:").filter(|digest| is_sha_256(digest)).map(str::to_owned)
}

fn is_sha_256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Statement {
    fn sets_aside(&self) -> bool {
        self.shown.status.sets_aside()
    }

    /// Returns the products, as far as reports show them.
    fn subject(&self) -> String {
        let name = |own: &Identity| {
            let digest = own.digests.first().map(|digest| format!("sha256:{digest}"));
            own.names.first().cloned().or(digest).unwrap_or_default()
        };
        let one = |own: &Product| match own.parts.as_slice() {
            [] => name(&own.identity),
            parts => {
                let parts: Vec<_> = parts.iter().take(SHOWN).map(name).collect();
                format!("{} in {}", parts.join(", "), name(&own.identity))
            }
        };
        let all: Vec<_> = self.products.iter().take(SHOWN).map(one).collect();
        let more = self.products.len().saturating_sub(SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        all.join(", ") + &more
    }

    /// Returns `true` if the finding is about a product of this statement: its package has the product's
    /// name, or what was looked at has the product's digest. A statement about parts of a product is about
    /// findings in these packages of it; one that sets nothing aside is about the whole product.
    fn is_about(&self, candidate: &Candidate<'_>) -> bool {
        let (purl, narrow) = (candidate.purl, self.sets_aside());
        let is_named =
            |own: &Identity| purl.is_some_and(|purl| own.names.iter().any(|n| n == purl));
        let is_whole = |own: &Product| !narrow || own.parts.is_empty();
        let is_part = |own: &Product| is_whole(own) || own.parts.iter().any(is_named);
        let has = |digest: &str| {
            let mut all = self.products.iter().filter(|own| is_part(own));
            all.any(|own| own.identity.digests.iter().any(|own| own == digest))
        };
        self.products.iter().any(|own| is_whole(own) && is_named(&own.identity))
            || is_of(candidate, narrow, has)
    }
}

/// Returns `true` if what a finding is about has such a digest. Of several subjects each has to, unless nothing is
/// set aside.
fn is_of(candidate: &Candidate<'_>, narrow: bool, has: impl Fn(&str) -> bool) -> bool {
    let mut all = digests(candidate).peekable();
    let has = |own: Option<&str>| own.is_some_and(&has);
    if narrow { all.peek().is_some() && all.all(has) } else { all.any(has) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Value, json};

    use super::*;
    use crate::model::Subject;

    const PURL: &str = "pkg:npm/a@1";
    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 6, 1).unwrap();

    fn hex(pair: &str) -> String {
        pair.repeat(32)
    }

    fn document(statements: Value) -> Value {
        json!({
            "@context": CONTEXT, "@id": "https://example.com/vex", "author": "ops", "version": 1,
            "timestamp": "2026-01-01T00:00:00Z", "statements": statements,
        })
    }

    fn read(document: &Value) -> Result<Vex, String> {
        let mut vex = Vex::default();
        let added = vex.add(document.to_string().as_bytes(), Path::new("vex.json"), TODAY);
        added.map(|()| vex).map_err(|error| error.report())
    }

    fn statement(changes: Value) -> Value {
        let mut one = json!({
            "vulnerability": {"name": "CVE-1", "aliases": ["GHSA-1"]}, "status": "fixed",
            "products": [{"@id": PURL}],
        });
        one.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        one
    }

    /// Returns whether the statements set a finding aside; `None` if none is about it.
    fn decided(statements: &[Value], candidate: &Candidate<'_>) -> Option<bool> {
        let vex = read(&document(statements.into())).unwrap();
        vex.deciding(candidate).map(|(_, covers)| covers)
    }

    fn candidate<'a>(purl: Option<&'a str>, digest: Option<&'a str>) -> Candidate<'a> {
        Candidate {
            policy: "p",
            message: "m",
            id: Some("CVE-1"),
            digest,
            purl,
            input_digest: None,
            subjects: &[],
        }
    }

    #[test]
    fn a_finding_is_about_the_same_vulnerability_and_product() {
        let (own, other) = (format!("sha256:{}", hex("aa")), format!("sha256:{}", hex("bb")));
        let found = candidate(Some(PURL), None);
        let one = |changes: Value| [statement(changes)];
        assert_eq!(decided(&one(json!({})), &found), Some(true));
        let alias = Candidate { id: Some("GHSA-1"), ..candidate(Some(PURL), None) };
        assert_eq!(decided(&one(json!({})), &alias), Some(true));
        for id in [None, Some("CVE-11"), Some("cve-1"), Some("m")] {
            let other = Candidate { id, ..candidate(Some(PURL), None) };
            assert_eq!(decided(&one(json!({})), &other), None, "{id:?}");
        }
        for purl in [None, Some("pkg:npm/a@2"), Some("pkg:npm/a"), Some("pkg:npm/a@1?x=y")] {
            assert_eq!(decided(&one(json!({})), &candidate(purl, None)), None, "{purl:?}");
        }
        let by_hash = one(json!({"products": [{"@id": "x", "hashes": {"sha-256": hex("aa")}}]}));
        let by_purl =
            format!("pkg:oci/app@sha256%3A{}?repository_url=example.com/app@1", hex("aa"));
        let by_purl = one(json!({"products": [{"identifiers": {"purl": by_purl}}]}));
        let at = |digests: &[&str]| -> Vec<Subject> {
            let digest = |pair: &&str| [("sha256".to_owned(), hex(pair))].into();
            digests
                .iter()
                .map(|pair| Subject { name: "s".to_owned(), digest: digest(pair) })
                .collect()
        };
        for statements in [&by_hash, &by_purl] {
            let about = |digest: Option<&str>, input: Option<&str>, subjects: &[&str]| {
                let subjects = at(subjects);
                let found = Candidate { input_digest: input, ..candidate(None, digest) };
                decided(statements, &Candidate { subjects: &subjects, ..found })
            };
            assert_eq!(about(Some(&own), None, &[]), Some(true));
            assert_eq!(about(None, Some(&own), &[]), Some(true));
            assert_eq!(about(None, None, &["aa"]), Some(true));
            assert_eq!(about(None, None, &["aa", "bb"]), None);
            assert_eq!(about(None, Some(&own), &["bb"]), None);
            assert_eq!(about(Some(&other), Some(&own), &["aa"]), None);
            assert_eq!(about(Some("sha256:"), None, &[]), None);
        }
    }

    #[test]
    fn a_part_is_set_aside_in_its_product_alone() {
        let own = format!("sha256:{}", hex("aa"));
        let product = json!({
            "@id": "pkg:npm/app@1", "hashes": {"sha-256": hex("aa")}, "subcomponents": [{"@id": PURL}],
        });
        let parts = [statement(json!({"products": [product.clone()]}))];
        assert_eq!(decided(&parts, &candidate(Some(PURL), Some(&own))), Some(true));
        for (purl, digest) in [
            (Some(PURL), None),
            (None, Some(own.as_str())),
            (Some("pkg:npm/b@1"), Some(own.as_str())),
            (Some("pkg:npm/app@1"), None),
        ] {
            assert_eq!(decided(&parts, &candidate(purl, digest)), None, "{purl:?} {digest:?}");
        }
        // What isn't set aside may be in other parts as well.
        let affected = json!({"products": [product], "status": "affected"});
        let all = [statement(json!({"products": [{"@id": PURL}]})), statement(affected)];
        assert_eq!(decided(&all, &candidate(Some(PURL), Some(&own))), Some(false));
        assert_eq!(decided(&all, &candidate(Some(PURL), None)), Some(true));
    }

    #[test]
    fn the_latest_statement_decides_and_of_two_the_one_that_sets_nothing_aside() {
        let at = |time: &str, status: &str| {
            statement(json!({"timestamp": time, "status": status, "impact_statement": "none"}))
        };
        let found = candidate(Some(PURL), None);
        let (early, late) = ("2026-01-02T00:00:00+02:00", "2026-01-01T23:00:00Z");
        for (statements, expected) in [
            ([at(early, "fixed"), at(late, "affected")], false),
            ([at(late, "affected"), at(early, "fixed")], false),
            ([at(late, "not_affected"), at(early, "under_investigation")], true),
            ([at(late, "under_investigation"), at(late, "fixed")], false),
            ([at(late, "fixed"), at(late, "affected")], false),
        ] {
            assert_eq!(decided(&statements, &found), Some(expected), "{statements:?}");
        }
    }

    #[test]
    fn what_is_no_openvex_is_refused() {
        let statements = |changes: Value| document(json!([statement(changes)]));
        let of = |field: &str, value: Value| {
            let mut document = statements(json!({}));
            document[field] = value;
            document
        };
        read(&statements(json!({}))).unwrap();
        read(&statements(json!({"timestamp": "2026-06-02T01:00:00+02:00"}))).unwrap();
        let product = |changes: Value| statements(json!({"products": [changes]}));
        for (document, says) in [
            (json!({"payload": "", "payloadType": "x"}), "unknown field `payload`"),
            (of("@context", "https://openvex.dev/ns".into()), "isn't OpenVEX 0.2.0"),
            (of("author", " ".into()), "it is empty"),
            (of("timestamp", "today".into()), "`today` isn't a time"),
            (of("version", "1".into()), "invalid type"),
            (of("product", "x".into()), "unknown field `product`"),
            (statements(json!({"status": "unaffected"})), "unknown variant `unaffected`"),
            (statements(json!({"status": "\u{1b}[31m"})), "\\u{1b}[31m"),
            (
                statements(json!({"status": "not_affected"})),
                "statement 1: it is `not_affected` without",
            ),
            (
                statements(json!({"status": "not_affected", "impact_statement": " "})),
                "it is `not_affected` without",
            ),
            (statements(json!({"justification": "trust_me"})), "unknown variant `trust_me`"),
            (statements(json!({"products": []})), "statement 1: it names no product"),
            (statements(json!({"timestamp": "2026-13-01T00:00:00Z"})), "isn't a time"),
            (
                statements(json!({"timestamp": "2026-06-02T00:00:00Z"})),
                "statement 1: its time, 2026-06-02T00:00:00+00:00, is in the future",
            ),
            (of("timestamp", "2027-01-01T00:00:00Z".into()), "is in the future"),
            (statements(json!({"vulnerability": "CVE-1"})), "invalid type"),
            (statements(json!({"vulnerability": {"name": ""}})), "it is empty"),
            (
                statements(json!({"vulnerability": {"name": "a", "aliases": [""]}})),
                "an alias without",
            ),
            (product(json!({})), "without an identifier"),
            (product(json!({"@id": ""})), "without an identifier"),
            (product(json!({"@id": "x", "subcomponents": [{}]})), "without an identifier"),
            (
                product(json!({"@id": "x", "subcomponent": [{"@id": "y"}]})),
                "unknown field `subcomponent`",
            ),
            (product(json!({"@id": "x", "hashes": {"sha-256": "AA"}})), "`AA` isn't a `sha-256`"),
            (product(json!({"@id": "x", "hashes": {"sha256": "aa"}})), "unknown field `sha256`"),
        ] {
            let error = read(&document).unwrap_err();
            assert!(error.contains(says), "{error}");
            assert!(error.matches("statement 1").count() < 2, "{error}");
        }
        let twice = document(json!([])).to_string();
        for (text, says) in [
            (twice.replacen('{', "{\"author\":\"x\",", 1), "duplicate field `author`"),
            (twice.clone() + "x", "trailing characters"),
            ("[".repeat(1000), "invalid type"),
            ("\u{feff}".to_owned() + &twice, "expected value"),
        ] {
            let error = Vex::default().add(text.as_bytes(), Path::new("v"), TODAY);
            let error = error.unwrap_err().report();
            assert!(error.contains(says), "{error}");
        }
        let many = vec![statement(json!({})); MAX_STATEMENTS + 1];
        assert!(read(&document(many.into())).unwrap_err().contains("more than 10000 statements"));
    }
}

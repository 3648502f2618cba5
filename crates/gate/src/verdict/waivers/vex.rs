//! `OpenVEX` 0.2.0: statements about vulnerabilities in products.
//!
//! Owns the format of a document, and which of its statements decides on a finding: the latest one about the
//! same vulnerability and product. An exception is compared exactly, but for the spelling of package URLs. What
//! withdraws one is about everything that it may name, and about everything that the exception names. What becomes
//! of the finding belongs to `waivers`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use chrono::{DateTime, FixedOffset, NaiveDate, Utc};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use rego_platform::Error;
use rego_platform_client::json::Object;
use rego_platform_client::text::escape;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

use super::purl::Purl;
use super::{Candidate, visible};
use crate::digest::is_hex;
use crate::report::model::{self, VexStatement, VexStatus, WaivedBy};

/// The version of the format.
const CONTEXT: &str = "https://openvex.dev/ns/v0.2.0";

/// The maximum number of statements of a document.
const MAX_STATEMENTS: usize = 10_000;

/// The maximum number of products of a statement in reports.
const SHOWN: usize = 3;

/// The statements of all documents of a run.
#[derive(Debug, Default)]
pub(super) struct Vex {
    statements: Vec<Statement>,
    /// The indexes of the exceptions for a vulnerability, by its names and by the names of products and
    /// subcomponents.
    exceptions: HashMap<String, HashMap<Name, Vec<usize>>>,
    /// The indexes of the statements that withdraw exceptions, by the vulnerability in lowercase.
    withdrawals: HashMap<String, Vec<usize>>,
    /// The names of each vulnerability, in lowercase.
    synonyms: Vec<Vec<String>>,
    synonyms_of: HashMap<String, usize>,
    /// Cached decisions.
    decided: Mutex<HashMap<DecisionKey, Option<(usize, bool)>>>,
}

/// The key of a decision: the vulnerability, the package and the digests.
type DecisionKey = (String, Option<String>, Vec<Option<String>>);

/// The maximum number of cached decisions.
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
    /// The subcomponents that the statement is limited to, if any.
    parts: Vec<Identity>,
}

/// The identifiers of a product.
#[derive(Debug)]
struct Identity {
    /// The IRI and its package URL.
    names: Vec<Name>,
    /// The SHA-256, as hexadecimal digits.
    digests: Vec<String>,
    /// Other hashes and CPEs, compared only for withdrawals.
    others: Vec<String>,
    /// The name that reports show.
    shown: String,
}

/// A name of a product, or its digest in an index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Purl(Purl),
    Other(String),
}

impl Name {
    fn of(text: &str) -> Self {
        Purl::parse(text).map_or_else(|| Self::Other(text.to_owned()), Self::Purl)
    }

    /// Returns `true` if both may be the same.
    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Purl(own), Self::Purl(other)) => own.may_be(other),
            (Self::Other(own), Self::Other(other)) => {
                let same = |iri: &str| {
                    let iri = percent_decode_str(iri.trim_end_matches('/')).decode_utf8_lossy();
                    iri.to_lowercase()
                };
                same(own) == same(other)
            }
            _ => false,
        }
    }
}

impl Identity {
    fn may_be(&self, other: &Self) -> bool {
        let shared = |own: &[String], other: &[String]| own.iter().any(|own| other.contains(own));
        self.names.iter().any(|own| other.names.iter().any(|other| own.may_be(other)))
            || shared(&self.digests, &other.digests)
            || shared(&self.others, &other.others)
    }
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
    statements: Vec<Object<StatementJson>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct StatementJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    version: Option<u64>,
    vulnerability: Object<VulnerabilityJson>,
    timestamp: Option<String>,
    last_updated: Option<String>,
    #[serde(default)]
    products: Vec<Object<ProductJson>>,
    #[serde(deserialize_with = "named")]
    status: VexStatus,
    supplier: Option<String>,
    status_notes: Option<String>,
    #[serde(default, deserialize_with = "optionally_named")]
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
    identifiers: Object<IdentifiersJson>,
    #[serde(default)]
    hashes: Object<HashesJson>,
    #[serde(default)]
    subcomponents: Vec<Object<PartJson>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartJson {
    #[serde(rename = "@id")]
    id: Option<String>,
    #[serde(default)]
    identifiers: Object<IdentifiersJson>,
    #[serde(default)]
    hashes: Object<HashesJson>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct IdentifiersJson {
    purl: Option<String>,
    cpe22: Option<String>,
    cpe23: Option<String>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HashesJson {
    sha_256: Option<String>,
    md5: Option<String>,
    sha1: Option<String>,
    sha_384: Option<String>,
    sha_512: Option<String>,
    sha3_224: Option<String>,
    sha3_256: Option<String>,
    sha3_384: Option<String>,
    sha3_512: Option<String>,
    blake2s_256: Option<String>,
    blake2b_256: Option<String>,
    blake2b_512: Option<String>,
}

/// Reads a value of an enumeration from a string only. Derived readers also take `{"fixed": null}`.
fn named<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    T::deserialize(StringDeserializer::new(name))
}

fn optionally_named<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| T::deserialize(StringDeserializer::new(name))).transpose()
}

impl HashesJson {
    /// Returns the hashes, each with its algorithm.
    fn all(self) -> impl Iterator<Item = String> {
        let all = serde_json::to_value(self).and_then(serde_json::from_value);
        let all: BTreeMap<String, Option<String>> = all.unwrap_or_default();
        all.into_iter().filter_map(|(algorithm, hash)| Some(format!("{algorithm}:{}", hash?)))
    }
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
    /// Returns `true` if the status suppresses a finding.
    pub(crate) const fn sets_aside(self) -> bool {
        matches!(self, Self::NotAffected | Self::Fixed)
    }
}

impl Vex {
    /// Adds the statements of the document at `path`, as of `today`.
    pub fn add(&mut self, text: &[u8], path: &Path, today: NaiveDate) -> Result<(), Error> {
        let file = path.display().to_string();
        let name = escape(&file);
        let invalid = |message: String| Error::configuration(message);
        let Object(document): Object<DocumentJson> =
            serde_json::from_slice(text).map_err(|error| {
                invalid(format!("invalid OpenVEX document: `{name}`"))
                    .with_source(escape(&error.to_string()))
                    .with_hint("give OpenVEX 0.2.0 in JSON, without an envelope")
            })?;
        if document.context != CONTEXT {
            let context = escape(&document.context);
            return Err(invalid(format!("unsupported `@context` in `{name}`: `{context}`"))
                .with_hint(format!("use OpenVEX 0.2.0: `{CONTEXT}`")));
        }
        if document.statements.len() > MAX_STATEMENTS {
            let message = format!("too many statements in `{name}`: the limit is {MAX_STATEMENTS}");
            return Err(invalid(message).with_hint("leave out statements about other products"));
        }
        let of_document =
            time(&document.timestamp).map_err(|what| invalid(format!("`{name}`: {what}")))?;
        for (number, Object(written)) in (1..).zip(document.statements) {
            let invalid = |what: String| invalid(format!("`{name}`: statement {number}: {what}"));
            let shown = VexStatement { file: file.clone(), number, status: written.status };
            let Object(vulnerability) = &written.vulnerability;
            let names = std::iter::once(&vulnerability.name);
            let names: Vec<String> = names.chain(&vulnerability.aliases).cloned().collect();
            names.iter().try_for_each(|name| identifier(name)).map_err(invalid)?;
            let written_id = vulnerability.id.clone();
            let one = statement(written, of_document, &document.author, shown).map_err(invalid)?;
            // It would decide until then, whatever is stated later.
            if one.time.with_timezone(&Utc).date_naive() > today {
                return Err(invalid(format!("time in the future: {}", one.time.to_rfc3339())));
            }
            let place = self.statements.len();
            let lower = names.iter().map(|name| name.to_lowercase());
            self.link(lower.clone().chain(written_id.map(|id| id.to_lowercase())).collect());
            if !one.sets_aside() {
                for name in lower {
                    self.withdrawals.entry(name).or_default().push(place);
                }
                self.statements.push(one);
                continue;
            }
            for name in names {
                let by_product = self.exceptions.entry(name).or_default();
                for known in one.products.iter().flat_map(Product::known) {
                    let places = by_product.entry(known).or_default();
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

    /// Returns the deciding statement for a finding, and `true` if it suppresses the finding. Of several as
    /// late as each other, one that doesn't decides.
    pub fn deciding(&self, candidate: &Candidate<'_>) -> Option<(usize, bool)> {
        let id = candidate.id?;
        let synonyms = self.synonyms.get(*self.synonyms_of.get(&id.to_lowercase())?)?;
        let digests: Vec<Option<String>> =
            digests(candidate).map(|own| own.map(str::to_owned)).collect();
        let compared = (id.to_owned(), candidate.purl.map(str::to_owned), digests.clone());
        let kept = |decided: &HashMap<DecisionKey, _>| decided.get(&compared).copied();
        if let Some(kept) = kept(&self.decided.lock()) {
            return kept;
        }
        let purl = candidate.purl.map(Name::of);
        let known = digests.iter().flatten().map(|digest| Name::Other(digest.clone()));
        let by_product = self.exceptions.get(id);
        let known = known.chain(purl.clone()).filter_map(|known| by_product?.get(&known));
        let places: BTreeSet<usize> = known.flatten().copied().collect();
        let all = |places: BTreeSet<usize>| {
            places.into_iter().filter_map(|at| Some((at, self.statements.get(at)?)))
        };
        let finding = Finding { candidate, purl };
        let exceptions: Vec<_> = all(places).filter(|(_, own)| own.excepts(&finding)).collect();
        let excepted: Vec<&Identity> = exceptions
            .iter()
            .flat_map(|(_, own)| own.products.iter().filter(|own| own.is_about(&finding)))
            .map(|own| &own.identity)
            .collect();
        let places = synonyms.iter().filter_map(|name| self.withdrawals.get(name)).flatten();
        let withdrawals =
            all(places.copied().collect()).filter(|(_, own)| own.withdraws(&finding, &excepted));
        let mut about: Vec<_> = exceptions.iter().copied().chain(withdrawals).collect();
        about.sort_by_key(|(at, _)| *at);
        let last = about.iter().map(|(_, own)| own.time).max();
        let mut latest = about.iter().filter(|(_, own)| Some(own.time) == last);
        let first = latest.clone().next();
        let deciding = latest.find(|(_, own)| !own.sets_aside()).or(first);
        let decided = deciding.map(|(at, own)| (*at, own.sets_aside()));
        let mut all = self.decided.lock();
        if all.len() < KEPT {
            all.insert(compared, decided);
        }
        decided
    }

    /// Links names of one vulnerability.
    fn link(&mut self, names: Vec<String>) {
        let group = self.synonyms.len();
        let mut all = names;
        for name in all.clone() {
            if let Some(other) = self.synonyms_of.get(&name)
                && let Some(others) = self.synonyms.get_mut(*other)
            {
                all.append(others);
            }
        }
        all.sort_unstable();
        all.dedup();
        self.synonyms_of.extend(all.iter().map(|name| (name.clone(), group)));
        self.synonyms.push(all);
    }
}

/// A finding to compare with statements.
struct Finding<'c> {
    candidate: &'c Candidate<'c>,
    purl: Option<Name>,
}

impl Product {
    /// Returns the names of the product and its subcomponents.
    fn known(&self) -> impl Iterator<Item = Name> {
        let all = std::iter::once(&self.identity).chain(&self.parts);
        all.flat_map(|own| {
            own.names.iter().cloned().chain(own.digests.iter().cloned().map(Name::Other))
        })
    }

    /// Returns `true` if the finding's package is this product or one of its subcomponents.
    fn is_named(&self, finding: &Finding<'_>) -> bool {
        let named = |own: &Identity| finding.purl.as_ref().is_some_and(|n| own.names.contains(n));
        if self.parts.is_empty() { named(&self.identity) } else { self.parts.iter().any(named) }
    }

    /// Returns `true` if an exception for this product applies to a finding: the package is the product, or
    /// the input has the product's digest and the package is one of the subcomponents, if any.
    fn is_about(&self, finding: &Finding<'_>) -> bool {
        let has = |own: &str| self.identity.digests.iter().any(|digest| digest == own);
        let (is_whole, is_named) = (self.parts.is_empty(), self.is_named(finding));
        is_whole && is_named
            || (is_whole || is_named) && digests(finding.candidate).flatten().any(has)
    }
}

/// Returns the digests of a finding, as hexadecimal digits: its own digest, or else those of the input's
/// subjects, or else the input's. `None` for one that isn't known.
fn digests<'a>(candidate: &Candidate<'a>) -> impl Iterator<Item = Option<&'a str>> {
    let own = candidate.digest.or(candidate.input_digest.filter(|_| candidate.subjects.is_empty()));
    let one = own.map(|own| own.strip_prefix("sha256:"));
    let subjects = candidate.subjects.iter().filter(move |_| one.is_none());
    let subjects = subjects.map(|own| own.digest.get("sha256").map(String::as_str));
    one.into_iter().chain(subjects)
}

/// Reads a statement, or returns its mistake.
fn statement(
    written: StatementJson,
    of_document: DateTime<FixedOffset>,
    author: &str,
    shown: VexStatement,
) -> Result<Statement, String> {
    if written.products.is_empty() {
        return Err("no product".to_owned());
    }
    let time = written.timestamp.as_deref().map_or(Ok(of_document), time)?;
    let said = [&written.impact_statement, &written.status_notes, &written.action_statement];
    let said = said.into_iter().flatten().find(|text| !text.trim().is_empty());
    let is_justified = written.justification.is_some()
        || written.impact_statement.as_ref().is_some_and(|text| !text.trim().is_empty());
    if written.status == VexStatus::NotAffected && !is_justified {
        return Err("missing `justification` or `impact_statement` of `not_affected`".to_owned());
    }
    let justification = written.justification.map(|own| own.as_str().to_owned());
    let reason: Vec<String> = justification.into_iter().chain(said.cloned()).collect();
    Ok(Statement {
        name: written.vulnerability.0.name,
        products: written
            .products
            .into_iter()
            .map(|Object(own)| product(own))
            .collect::<Result<_, _>>()?,
        time,
        reason: if reason.is_empty() { "no reason given".to_owned() } else { reason.join(": ") },
        author: author.to_owned(),
        shown,
    })
}

fn time(text: &str) -> Result<DateTime<FixedOffset>, String> {
    DateTime::parse_from_rfc3339(text).map_err(|_| {
        format!("invalid time `{}`: expected one such as `2026-12-31T12:00:00Z`", escape(text))
    })
}

fn product(written: ProductJson) -> Result<Product, String> {
    let part = |Object(own): Object<PartJson>| identity(own.id, own.identifiers, own.hashes);
    Ok(Product {
        identity: identity(written.id, written.identifiers, written.hashes)?,
        parts: written.subcomponents.into_iter().map(part).collect::<Result<_, _>>()?,
    })
}

/// Refuses an identifier that no other spelling could be compared with.
fn identifier(name: &str) -> Result<(), String> {
    if name.is_empty() || name.trim() != name {
        return Err(format!(
            "invalid identifier `{}`: expected text without outer spaces",
            escape(name)
        ));
    }
    Ok(())
}

/// Returns the identifiers of a product.
fn identity(
    id: Option<String>,
    Object(identifiers): Object<IdentifiersJson>,
    Object(hashes): Object<HashesJson>,
) -> Result<Identity, String> {
    let cpes = identifiers.cpe22.into_iter().chain(identifiers.cpe23);
    let names: Vec<String> = id.into_iter().chain(identifiers.purl).collect();
    let sha_256 = hashes.sha_256.clone();
    let others: Vec<String> = cpes.chain(hashes.all()).map(|own| own.to_lowercase()).collect();
    if names.is_empty() && others.is_empty() {
        return Err("product or subcomponent without an identifier".to_owned());
    }
    names.iter().chain(&others).try_for_each(|name| identifier(name))?;
    if let Some(other) = sha_256.as_ref().filter(|digest| !is_hex(digest, 64)) {
        return Err(format!(
            "invalid `sha-256` `{}`: expected 64 lowercase hexadecimal digits",
            escape(other)
        ));
    }
    let mut digests: Vec<String> = sha_256.into_iter().collect();
    digests.extend(names.iter().filter_map(|name| image_digest(name)));
    let digest = digests.first().map(|digest| format!("sha256:{digest}"));
    let shown = names.first().cloned().or(digest).unwrap_or_default();
    let names = names.iter().map(|name| Name::of(name)).collect();
    Ok(Identity { names, digests, others, shown })
}

/// Returns the digest of an image, which is its version in a package URL of the type `oci`.
fn image_digest(purl: &str) -> Option<String> {
    let name = purl.strip_prefix("pkg:oci/")?.split(['?', '#']).next()?;
    let (_, version) = name.rsplit_once('@')?;
    let version = percent_decode_str(version).decode_utf8().ok()?;
    version.strip_prefix("sha256:").filter(|digest| is_hex(digest, 64)).map(str::to_owned)
}

impl Statement {
    fn sets_aside(&self) -> bool {
        self.shown.status.sets_aside()
    }

    /// Returns the products for reports.
    fn subject(&self) -> String {
        let name = |own: &Identity| own.shown.clone();
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

    /// Returns `true` if this exception applies to a finding. Of several subjects of an input, each has to be
    /// one of its products.
    fn excepts(&self, finding: &Finding<'_>) -> bool {
        let is_part = |own: &&Product| own.parts.is_empty() || own.is_named(finding);
        let has = |digest: &str| {
            let mut all = self.products.iter().filter(is_part);
            all.any(|own| own.identity.digests.iter().any(|own| own == digest))
        };
        let mut digests = digests(finding.candidate).peekable();
        self.products.iter().any(|own| own.parts.is_empty() && own.is_named(finding))
            || digests.peek().is_some() && digests.all(|own| own.is_some_and(has))
    }

    /// Returns `true` if this statement withdraws an exception for a finding: it names a product that is
    /// `excepted`, or it may name the finding's package or the input, as a product or a subcomponent.
    fn withdraws(&self, finding: &Finding<'_>, excepted: &[&Identity]) -> bool {
        let candidate = finding.candidate;
        let is_known = candidate.digest.is_some() || !candidate.subjects.is_empty();
        let names = |own: &Identity| {
            finding.purl.as_ref().is_some_and(|purl| own.names.iter().any(|own| own.may_be(purl)))
        };
        let has = |own: &Identity| {
            digests(candidate).flatten().any(|d| own.digests.iter().any(|own| own == d))
        };
        self.products.iter().any(|product| {
            let own = &product.identity;
            names(own)
                || has(own)
                || excepted.iter().any(|other| own.may_be(other))
                || product.parts.iter().any(names) && (!is_known || own.digests.is_empty())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Value, json};

    use super::*;
    use crate::report::model::Subject;

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

    /// Returns `true` if the statements suppress a finding; `None` if none applies.
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
        let spelled = candidate(Some("pkg:NPM/a@1?x="), None);
        assert_eq!(decided(&one(json!({})), &spelled), Some(true));
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
        // It isn't known which product this is about.
        assert_eq!(decided(&all, &candidate(Some(PURL), None)), Some(false));
        let other = format!("sha256:{}", hex("bb"));
        assert_eq!(decided(&all, &candidate(Some(PURL), Some(&other))), Some(true));
    }

    /// A later statement takes an exception back under every name that the exception, or the finding, may have.
    #[test]
    fn an_exception_is_withdrawn_under_every_spelling() {
        let deb = "pkg:deb/debian/x@1?arch=amd64&distro=debian-12";
        let by = |name: &str, product: Value, status: &str, time: &str| {
            statement(json!({
                "vulnerability": {"name": name}, "products": [product], "status": status, "timestamp": time,
            }))
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
        let withdrawn = |purl: &str, excepted: Value, names: [&str; 2], product: Value| {
            let first = by(names[0], excepted, "fixed", early);
            let later = by(names[1], product, "affected", late);
            decided(&[first, later], &candidate(Some(purl), None)) == Some(false)
        };
        let same = ["CVE-1", "CVE-1"];
        for (purl, other) in [
            (PURL, PURL),
            (PURL, "pkg:npm/a"),
            (PURL, "pkg:npm/A@v1"),
            (PURL, "pkg:npm/a@1?arch=x"),
            (deb, "pkg:deb/debian/x@1?distro=debian-12&arch=amd64"),
            (deb, "pkg:deb/debian/x@1"),
            (deb, "pkg:deb/Debian/X"),
            ("pkg:npm/%40a/b@1", "pkg:npm/@a/b@1"),
            ("pkg:npm/%40a/b@1", "pkg:npm/@a/b"),
        ] {
            assert!(withdrawn(purl, json!({"@id": purl}), same, json!({"@id": other})), "{other}");
        }
        for names in [["CVE-1", "cve-1"], ["CVE-1", "Cve-1"]] {
            assert!(withdrawn(PURL, json!({"@id": PURL}), names, json!({"@id": PURL})));
        }
        // What the exception calls the product, or the vulnerability.
        let excepted = json!({
            "@id": "https://example.com/app", "identifiers": {"purl": PURL, "cpe23": "cpe:2.3:a:X"},
            "hashes": {"sha-512": "ab"},
        });
        for product in [
            json!({"@id": "https://example.com/App/"}),
            json!({"identifiers": {"cpe23": "cpe:2.3:a:x"}}),
            json!({"@id": "y", "hashes": {"sha-512": "AB"}}),
            json!({"@id": "https://example.com/other", "subcomponents": [{"@id": "pkg:npm/a"}]}),
        ] {
            assert!(withdrawn(PURL, excepted.clone(), same, product.clone()), "{product}");
        }
        let aliased = statement(json!({"vulnerability": {"name": "GHSA-1", "aliases": ["CVE-1"]}}));
        let later = by("ghsa-1", json!({"@id": PURL}), "under_investigation", late);
        assert_eq!(decided(&[aliased, later], &candidate(Some(PURL), None)), Some(false));
        for (purl, other) in [
            (PURL, "pkg:npm/a@2"),
            (PURL, "pkg:npm/b"),
            (deb, "pkg:deb/ubuntu/x@1"),
            (deb, "pkg:deb/debian/x@1?arch=arm64"),
        ] {
            assert!(!withdrawn(purl, json!({"@id": purl}), same, json!({"@id": other})), "{other}");
        }
        assert!(!withdrawn(PURL, json!({"@id": PURL}), ["CVE-1", "CVE-2"], json!({"@id": PURL})));
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
            (of("@context", "https://openvex.dev/ns".into()), "unsupported `@context` in"),
            (of("author", " ".into()), "empty string"),
            (of("timestamp", "today".into()), "invalid time `today`"),
            (of("version", "1".into()), "invalid type"),
            (of("product", "x".into()), "unknown field `product`"),
            (statements(json!({"status": "unaffected"})), "unknown variant `unaffected`"),
            (statements(json!({"status": "\u{1b}[31m"})), "\\u{1b}[31m"),
            (statements(json!({"status": "not_affected"})), "statement 1: missing `justification`"),
            (
                statements(json!({"status": "not_affected", "impact_statement": " "})),
                "missing `justification` or `impact_statement` of `not_affected`",
            ),
            (statements(json!({"justification": "trust_me"})), "unknown variant `trust_me`"),
            (statements(json!({"products": []})), "statement 1: no product"),
            (statements(json!({"timestamp": "2026-13-01T00:00:00Z"})), "invalid time"),
            (
                statements(json!({"timestamp": "2026-06-02T00:00:00Z"})),
                "statement 1: time in the future: 2026-06-02T00:00:00+00:00",
            ),
            (of("timestamp", "2027-01-01T00:00:00Z".into()), "time in the future"),
            (statements(json!({"vulnerability": "CVE-1"})), "invalid type"),
            (statements(json!({"vulnerability": {"name": ""}})), "empty string"),
            (
                statements(json!({"vulnerability": {"name": "a", "aliases": [""]}})),
                "invalid identifier ``",
            ),
            (
                statements(json!({"vulnerability": {"name": "CVE-1 "}})),
                "invalid identifier `CVE-1 `: expected text without outer spaces",
            ),
            (product(json!({})), "without an identifier"),
            (product(json!({"@id": ""})), "invalid identifier ``"),
            (product(json!({"@id": " pkg:npm/a"})), "invalid identifier ` pkg:npm/a`"),
            (product(json!({"identifiers": {"cpe23": "\tcpe:2.3:a:x"}})), "invalid identifier"),
            (product(json!({"@id": "x", "subcomponents": [{}]})), "without an identifier"),
            (
                product(json!({"@id": "x", "subcomponent": [{"@id": "y"}]})),
                "unknown field `subcomponent`",
            ),
            (product(json!({"@id": "x", "hashes": {"sha-256": "AA"}})), "invalid `sha-256` `AA`"),
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
        assert!(read(&document(many.into())).unwrap_err().contains("too many statements in"));
    }
}

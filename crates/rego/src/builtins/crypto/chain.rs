//! Certificate chains from a leaf to a root.
//!
//! Owns the validity of chains as Go defines it: the order of certificates, times, purposes,
//! policies (RFC 9618) and names (constraints, and the requested name). Every rule is Go's, even
//! where other libraries have different ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::DateTime;

use super::super::{Code, Context, Error};
use super::certificate::{
    ANY_USAGE, Certificate, Names, SUBJECT_ALT_NAME, SignatureAlgorithm, Subtrees, USAGES,
    canonical, domain_valid,
};
use super::der;
use super::keys::PublicKey;
use super::mailbox::mailbox;
use super::signature;
use crate::value::{Object, Value};

/// The requirements that a chain must meet.
#[derive(Default)]
pub(super) struct Options {
    /// A name that the leaf must have.
    name: String,
    /// The time in nanoseconds since 1970; the evaluation's time by default.
    time: Option<i64>,
    /// Extended key usages, one of which every certificate must allow.
    usages: Vec<i64>,
}

/// The index of the default usage, server authentication.
const SERVER_AUTH: i64 = 1;

impl Options {
    /// Reads the options object.
    ///
    /// # Errors
    /// Returns an error if an option is unknown or has the wrong type.
    pub(super) fn read(options: &Object) -> Result<Self, Error> {
        let mut read = Self::default();
        let bad = |message: &'static str| Error::failed(message);
        for (key, value) in options {
            // Keys that aren't strings are ignored.
            let Some(key) = key.as_str() else { continue };
            match key {
                "DNSName" => {
                    let name = value.as_str().ok_or_else(|| bad("'DNSName' should be a string"))?;
                    name.trim_matches('"').clone_into(&mut read.name);
                }
                "CurrentTime" => {
                    let number =
                        value.as_number().ok_or_else(|| bad("'CurrentTime' should be a number"))?;
                    let time = number.as_i64();
                    let wrong = "'CurrentTime' should be a valid int64 number";
                    read.time = Some(time.ok_or_else(|| bad(wrong))?);
                }
                "MaxConstraintComparisons" => {
                    let wrong = "'MaxConstraintComparisons' should be a number";
                    let number = value.as_number().ok_or_else(|| bad(wrong))?;
                    let wrong = "'MaxConstraintComparisons' should be a valid number";
                    number.as_i64().ok_or_else(|| bad(wrong))?;
                }
                "KeyUsages" => read.usages = usages(value)?,
                _ => return Err(bad("invalid key option")),
            }
        }
        Ok(read)
    }
}

fn usages(value: &Value) -> Result<Vec<i64>, Error> {
    let Some(names) = super::super::operands::elements(value) else {
        return Err(Error::failed("'KeyUsages' should be an Array or Set"));
    };
    let mut usages = Vec::new();
    let mut invalid = Vec::new();
    for name in names.filter_map(Value::as_str) {
        let name = name.trim_matches('"');
        match USAGES.iter().zip(0_i64..).find(|((known, _), _)| *known == name) {
            Some((_, number)) => usages.push(number),
            None => invalid.push(name),
        }
    }
    if invalid.is_empty() {
        return Ok(usages);
    }
    let invalid = invalid.join(" ");
    Err(Error::failed(format!("invalid entries for 'KeyUsages' found: [{invalid}]")))
}

/// Returns the first valid chain from the last certificate (the leaf) to the first one (the root).
/// The certificates between them may be used as intermediates.
///
/// # Errors
/// Returns an error if there is no valid chain, or the search takes too long.
pub(super) fn verify<'a>(
    ctx: &dyn Context,
    certificates: &'a [Certificate],
    options: &Options,
) -> Result<Vec<&'a Certificate>, Error> {
    let [root, intermediates @ .., leaf] = certificates else {
        let message = "operand 1 must supply at least two certificates to be able to verify";
        return Err(Error::failed(message));
    };
    let nanoseconds = options.time.unwrap_or_else(|| ctx.now_ns());
    let now = DateTime::from_timestamp_nanos(nanoseconds).fixed_offset();
    let mut search = Search { ctx, root, intermediates, now, checks: 0, chains: Vec::new() };
    search.valid(leaf, Position::Leaf, &[])?;
    if !options.name.is_empty() && !has_name(leaf, &options.name) {
        return Err(der::invalid("certificate is not valid for the name"));
    }
    if leaf.raw == root.raw {
        search.chains.push(vec![leaf]);
    } else {
        search.extend(&[leaf])?;
    }
    let any = options.usages.contains(&ANY_USAGE);
    let usages = if options.usages.is_empty() { &[SERVER_AUTH][..] } else { &options.usages };
    for chain in search.chains {
        ctx.check()?;
        if policies_valid(ctx, &chain)?
            && (any || usages_valid(&chain, usages))
            && names_valid(ctx, &chain)?
        {
            return Ok(chain);
        }
    }
    Err(der::invalid("no valid chain"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Leaf,
    Intermediate,
    Root,
}

/// A search for chains.
struct Search<'a, 'c> {
    ctx: &'c dyn Context,
    root: &'a Certificate,
    intermediates: &'a [Certificate],
    now: DateTime<chrono::FixedOffset>,
    /// The number of parents tried so far.
    checks: u32,
    chains: Vec<Vec<&'a Certificate>>,
}

/// The limit on the number of parents tried.
const MAX_CHECKS: u32 = 100;

impl<'a> Search<'a, '_> {
    /// Checks that a certificate may follow the ones in `below`.
    fn valid(
        &self,
        certificate: &Certificate,
        position: Position,
        below: &[&Certificate],
    ) -> Result<(), Error> {
        if !certificate.decoded.unhandled.is_empty() {
            return Err(der::invalid("unhandled critical extension"));
        }
        if below.last().is_some_and(|child| child.raw_issuer != certificate.raw_subject) {
            return Err(der::invalid(
                "issuer name does not match subject from issuing certificate",
            ));
        }
        if self.now < certificate.not_before.0 || self.now > certificate.not_after.0 {
            return Err(der::invalid("certificate has expired or is not yet valid"));
        }
        let constraints = certificate.decoded.basic_constraints;
        if position == Position::Intermediate && !matches!(constraints, Some((true, _))) {
            return Err(der::invalid("certificate is not authorized to sign other certificates"));
        }
        if let Some((_, most)) = constraints
            && most >= 0
            && i64::try_from(below.len()).is_ok_and(|count| count - 1 > most)
        {
            return Err(der::invalid("too many intermediates for path length constraint"));
        }
        Ok(())
    }

    /// Finds all chains that extend this one, which starts with the leaf.
    fn extend(&mut self, chain: &[&'a Certificate]) -> Result<(), Error> {
        let Some(child) = chain.last().copied() else { return Ok(()) };
        let root = parents(std::slice::from_ref(self.root), child);
        let intermediates = parents(self.intermediates, child);
        let candidates = root.into_iter().map(|root| (Position::Root, root));
        for (position, parent) in candidates.chain(
            intermediates.into_iter().map(|intermediate| (Position::Intermediate, intermediate)),
        ) {
            self.ctx.check()?;
            self.checks += 1;
            if self.checks > MAX_CHECKS {
                return Ok(());
            }
            let known = chain.iter().any(|certificate| certificate.identity() == parent.identity());
            let signed = parent.public_key().is_some() && !known && signed_by(child, parent)?;
            if !signed || self.valid(parent, position, chain).is_err() {
                continue;
            }
            let mut longer = chain.to_vec();
            longer.push(parent);
            if position == Position::Root {
                self.chains.push(longer);
            } else {
                self.extend(&longer)?;
            }
        }
        Ok(())
    }
}

/// Returns the possible issuers of a certificate, the most likely first.
fn parents<'a>(pool: &'a [Certificate], child: &Certificate) -> Vec<&'a Certificate> {
    let wanted = child.decoded.authority_key_id.as_deref().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut parents: Vec<&Certificate> = pool
        .iter()
        .filter(|candidate| {
            candidate.raw_subject == child.raw_issuer && seen.insert(candidate.raw.as_slice())
        })
        .collect();
    parents.sort_by_key(|parent| {
        let id = parent.decoded.subject_key_id.as_deref().unwrap_or_default();
        if id == wanted {
            0
        } else if id.is_empty() != wanted.is_empty() {
            1
        } else {
            2
        }
    });
    parents
}

/// Returns `true` if `parent` may sign certificates, and its key made the signature of `child`.
fn signed_by(child: &Certificate, parent: &Certificate) -> Result<bool, Error> {
    const SIGNS_CERTIFICATES: i64 = 1 << 5;
    let authority = match parent.decoded.basic_constraints {
        Some((authority, _)) => authority,
        None => parent.version != 3,
    };
    let usage = parent.decoded.key_usage;
    if !authority || (usage != 0 && usage & SIGNS_CERTIFICATES == 0) {
        return Ok(false);
    }
    let (text, bytes) = (&child.raw_tbs, &child.signature);
    match (child.algorithm.1, parent.public_key()) {
        (SignatureAlgorithm::Rsa(padding, hash), Some(PublicKey::Rsa { n, e })) => {
            signature::rsa((n, *e), padding, hash, text, bytes)
        }
        (SignatureAlgorithm::Ecdsa(hash), Some(PublicKey::Ec { curve, point })) => {
            let Some((r, s)) = ecdsa_numbers(bytes) else { return Ok(false) };
            Ok(signature::ecdsa((*curve, point), &hash.digest(text), r, s))
        }
        (SignatureAlgorithm::Ed25519, Some(PublicKey::Ed25519(key))) => {
            Ok(signature::ed25519(key, text, bytes))
        }
        _ => Ok(false),
    }
}

/// Reads the two positive numbers of an encoded ECDSA signature.
fn ecdsa_numbers(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut outer = der::Der(bytes);
    let mut der = outer.read(der::SEQUENCE)?;
    let (r, s) = (der.unsigned()?, der.unsigned()?);
    (der.is_empty() && outer.is_empty()).then_some((r, s))
}

// --- Purposes --------------------------------------------------------------------------------

/// Returns `true` if one of the purposes is allowed by every certificate that restricts them.
fn usages_valid(chain: &[&Certificate], usages: &[i64]) -> bool {
    let mut usages = usages.to_vec();
    for certificate in chain.iter().rev() {
        let decoded = &certificate.decoded;
        let unlimited = decoded.usages.is_empty() && decoded.unknown_usages.is_empty();
        if unlimited || decoded.usages.contains(&ANY_USAGE) {
            continue;
        }
        usages.retain(|usage| decoded.usages.contains(usage));
        if usages.is_empty() {
            return false;
        }
    }
    true
}

// --- Names -----------------------------------------------------------------------------------

/// Returns `true` if a certificate is valid for a host name or an address.
fn has_name(certificate: &Certificate, name: &str) -> bool {
    let names = &certificate.decoded.names;
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    if let Some(address) = parse_address(bare) {
        return names
            .addresses
            .iter()
            .filter_map(|address| canonical(address))
            .any(|other| other == address);
    }
    let name = name.to_ascii_lowercase();
    let valid = host_valid(&name, false);
    let bare = name.strip_suffix('.').unwrap_or(&name);
    names.dns.iter().any(|pattern| {
        if valid && host_valid(pattern, true) {
            let pattern = pattern.to_ascii_lowercase();
            let (mut parts, mut wanted) = (pattern.split('.'), bare.split('.'));
            let first = (parts.next(), wanted.next());
            (first.0 == Some("*") || first.0 == first.1) && parts.eq(wanted)
        } else {
            let empty = |text: &str| text.is_empty() || text == ".";
            !empty(pattern) && !empty(&name) && pattern.eq_ignore_ascii_case(&name)
        }
    })
}

/// Parses an address without a zone; IPv4-mapped addresses become IPv4.
fn parse_address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn host_valid(host: &str, pattern: bool) -> bool {
    let host = if pattern { host } else { host.strip_suffix('.').unwrap_or(host) };
    !host.is_empty()
        && host != "*"
        && host.split('.').enumerate().all(|(index, part)| {
            if pattern && index == 0 && part == "*" {
                return true;
            }
            !part.is_empty()
                && !part.starts_with('-')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        })
}

/// Returns `true` if all names of each certificate satisfy the constraints of the authorities above
/// it.
fn names_valid(ctx: &dyn Context, chain: &[&Certificate]) -> Result<bool, Error> {
    for (index, certificate) in chain.iter().enumerate() {
        if !certificate.extensions.iter().any(|extension| extension.oid == SUBJECT_ALT_NAME) {
            continue;
        }
        let mut above = chain
            .iter()
            .skip(index + 1)
            .filter_map(|certificate| certificate.decoded.constraints.as_ref());
        let Some(first) = above.next() else { continue };
        let Some(names) = SubjectNames::read(&certificate.decoded.names) else { return Ok(false) };
        for constraints in std::iter::once(first).chain(above) {
            if !names.satisfy(ctx, &constraints.permitted, &constraints.excluded)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The names of a certificate, prepared for constraint checks.
struct SubjectNames<'a> {
    names: &'a Names,
    /// The domains of the URIs.
    domains: Vec<String>,
    mailboxes: Vec<(Vec<u8>, String)>,
}

impl<'a> SubjectNames<'a> {
    fn read(names: &'a Names) -> Option<Self> {
        let mut domains = Vec::new();
        for uri in &names.uris {
            let host = String::from_utf8_lossy(&uri.host).to_lowercase();
            let domain = if host.contains(':') && !host.ends_with(']') {
                let (domain, _) = host.rsplit_once(':')?;
                if domain.contains(':') {
                    return None;
                }
                domain.to_owned()
            } else {
                host
            };
            let literal = domain.starts_with('[') && domain.ends_with(']');
            if domain.is_empty() || literal || domain.parse::<IpAddr>().is_ok() {
                return None;
            }
            domains.push(domain);
        }
        let mailboxes = names.emails.iter().map(|email| {
            let (local, domain) = mailbox(email)?;
            Some((local, domain.to_lowercase()))
        });
        Some(Self { names, domains, mailboxes: mailboxes.collect::<Option<_>>()? })
    }

    fn satisfy(
        &self,
        ctx: &dyn Context,
        permitted: &Subtrees,
        excluded: &Subtrees,
    ) -> Result<bool, Error> {
        let within = |subtrees: &Subtrees, ip: &[u8]| {
            subtrees.addresses.iter().any(|(address, mask)| {
                address.len() == ip.len()
                    && address.iter().zip(mask).zip(ip).all(|((a, m), b)| a & m == b & m)
            })
        };
        for ip in &self.names.addresses {
            ctx.check()?;
            if (!permitted.addresses.is_empty() && !within(permitted, ip)) || within(excluded, ip) {
                return Ok(false);
            }
        }
        let fits = |name: &str, permitted: &[String], excluded: &[String]| {
            domain_valid(name, false)
                && (permitted.is_empty()
                    || permitted.iter().any(|domain| within_domain(domain, name, true)))
                && !excluded.iter().any(|domain| within_domain(domain, name, false))
        };
        for name in &self.names.dns {
            ctx.check()?;
            if !fits(name, &permitted.dns, &excluded.dns) {
                return Ok(false);
            }
        }
        for name in &self.domains {
            ctx.check()?;
            if !fits(name, &permitted.uris, &excluded.uris) {
                return Ok(false);
            }
        }
        for mailbox in &self.mailboxes {
            ctx.check()?;
            let within = |constraints: &[String], permitted| {
                constraints.iter().any(|constraint| within_mailbox(constraint, mailbox, permitted))
            };
            let allowed = permitted.emails.is_empty() || within(&permitted.emails, true);
            if !domain_valid(&mailbox.1, false) || !allowed || within(&excluded.emails, false) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns `true` if a domain is the constraint or a subdomain of it. In an excluded subtree, a
/// wildcard also matches if it could stand for the constraint's name.
fn within_domain(constraint: &str, domain: &str, permitted: bool) -> bool {
    if constraint.is_empty() {
        return true;
    }
    let (constraint, domain) = (constraint.to_ascii_lowercase(), domain.to_ascii_lowercase());
    if let Some(before) = domain.strip_suffix(constraint.as_str())
        && (before.is_empty() || constraint.starts_with('.') || before.ends_with('.'))
    {
        return true;
    }
    let parent = |name: &str| name.find('.').and_then(|dot| name.get(dot..).map(str::to_owned));
    !permitted
        && domain.starts_with('*')
        && parent(&constraint).is_some_and(|above| Some(above) == parent(&domain))
}

fn within_mailbox(constraint: &str, (local, domain): &(Vec<u8>, String), permitted: bool) -> bool {
    if constraint.contains('@') {
        return mailbox(constraint)
            .is_some_and(|(name, at)| name == *local && at.to_lowercase() == *domain);
    }
    within_domain(constraint, domain, permitted)
}

// --- Policies (RFC 5280, 6.1, as updated by RFC 9618) ------------------------------------------

/// The object identifier of `anyPolicy`.
const ANY_POLICY: &[u8] = &[0x55, 0x1d, 0x20, 0x00];

/// A node in a stratum: the policies expected below it, and its parents.
#[derive(Clone, Default)]
struct Node {
    expected: Vec<Vec<u8>>,
    parents: BTreeSet<Vec<u8>>,
}

type Stratum = BTreeMap<Vec<u8>, Node>;

/// Removes nodes without children in the stratum below.
fn prune(strata: &mut [Stratum]) {
    for depth in (1..strata.len().saturating_sub(1)).rev() {
        let (above, below) = strata.split_at_mut(depth + 1);
        if let (Some(stratum), Some(below)) = (above.last_mut(), below.first()) {
            let used: BTreeSet<&Vec<u8>> =
                below.values().flat_map(|value| &value.parents).collect();
            stratum.retain(|policy, _| used.contains(policy));
        }
    }
}

#[allow(clippy::too_many_lines)]
fn policies_valid(ctx: &dyn Context, chain: &[&Certificate]) -> Result<bool, Error> {
    let Some(count) = chain.len().checked_sub(1).filter(|count| *count > 0) else {
        return Ok(true);
    };
    let start = i64::try_from(count).unwrap_or(i64::MAX).saturating_add(1);
    let (mut inhibit_any, mut explicit, mut mapping) = (start, start, start);
    let any = || ANY_POLICY.to_vec();
    let root = Node { expected: vec![any()], parents: BTreeSet::new() };
    let mut graph = Some(vec![Stratum::from([(any(), root)])]);
    let mut nodes = 0_usize;
    for (index, certificate) in chain.iter().enumerate().take(count).rev() {
        ctx.check()?;
        let decoded = &certificate.decoded;
        let self_issued = certificate.raw_issuer == certificate.raw_subject;
        let policies = decoded.policies.as_deref().unwrap_or_default();
        if policies.is_empty() {
            graph = None;
        }
        if explicit == 0 && graph.is_none() {
            return Ok(false);
        }
        if let Some(strata) = &mut graph {
            let above = strata.last().cloned().unwrap_or_default();
            let mut stratum = Stratum::new();
            let mut expecting: BTreeMap<&Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
            for (policy, node) in &above {
                for expected in &node.expected {
                    expecting.entry(expected).or_default().insert(policy.clone());
                }
            }
            for policy in policies.iter().filter(|policy| *policy != ANY_POLICY) {
                let parents = match expecting.get(policy) {
                    Some(parents) => parents.clone(),
                    None if above.contains_key(ANY_POLICY) => BTreeSet::from([any()]),
                    None => continue,
                };
                stratum.insert(policy.clone(), Node { expected: vec![policy.clone()], parents });
            }
            let has_any = policies.iter().any(|policy| policy == ANY_POLICY);
            if has_any && (inhibit_any > 0 || (index > 0 && self_issued)) {
                for (expected, parents) in expecting {
                    stratum
                        .entry(expected.clone())
                        .or_insert_with(|| Node { expected: vec![expected.clone()], parents });
                }
            }
            nodes += stratum.len();
            if nodes > 100_000 {
                return Err(Error::halt(Code::Limit, "too many certificate policies"));
            }
            strata.push(stratum);
            prune(strata);
            if index > 0 && !decoded.policy_mappings.is_empty() {
                let mut mappings: BTreeMap<&Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
                for (issuer, subject) in &decoded.policy_mappings {
                    if mapping == 0 {
                        if let Some(stratum) = strata.last_mut() {
                            stratum.remove(issuer);
                        }
                        continue;
                    }
                    if issuer == ANY_POLICY || subject == ANY_POLICY {
                        return Ok(false);
                    }
                    mappings.entry(issuer).or_default().push(subject.clone());
                }
                prune(strata);
                if let Some(stratum) = strata.last_mut() {
                    for (issuer, subjects) in mappings {
                        if let Some(node) = stratum.get_mut(issuer) {
                            node.expected = subjects;
                        } else if let Some(node) = stratum.get(ANY_POLICY) {
                            // As a sibling of the node for `anyPolicy`, with the same parents.
                            let parents = node.parents.clone();
                            stratum.insert(issuer.clone(), Node { expected: subjects, parents });
                        }
                    }
                }
            }
        }
        if index > 0 {
            if !self_issued {
                for left in [&mut explicit, &mut mapping, &mut inhibit_any] {
                    *left = (*left - 1).max(0);
                }
            }
            for (left, limit) in [
                (&mut explicit, decoded.require_explicit_policy),
                (&mut mapping, decoded.inhibit_policy_mapping),
                (&mut inhibit_any, decoded.inhibit_any_policy),
            ] {
                if let Some(limit) = limit.filter(|limit| (0..*left).contains(limit)) {
                    *left = limit;
                }
            }
        }
    }
    explicit = (explicit - 1).max(0);
    if chain.first().is_some_and(|leaf| leaf.decoded.require_explicit_policy == Some(0)) {
        explicit = 0;
    }
    // All policies are acceptable, so the only question is whether there is one.
    let some = graph.is_some_and(|strata| {
        strata.last().is_some_and(|stratum| stratum.contains_key(ANY_POLICY))
            || strata.iter().flatten().any(|(policy, node)| {
                policy != ANY_POLICY && node.parents.len() == 1 && node.parents.contains(ANY_POLICY)
            })
    });
    Ok(explicit > 0 || some)
}

//! The policies that decide: loaded as a whole, exchanged at once, with the queries that were prepared on
//! them.
//!
//! Owns the rule that the last policies which loaded stay until others have.

use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use parking_lot::{Mutex, RwLock};
use percent_encoding::percent_decode_str;
use quick_cache::sync::Cache;
use rego_platform::evaluate::{Policies, Query, compact};
use rego_platform::{Error, Value};
use rego_platform_client::text::{data_reference, hex};
use rego_platform_gate::Gate;
use sha2::{Digest as _, Sha256};

use super::answer::Refusal;
use super::images::ImageDecisions;

/// The name of the policies where OPA names bundles.
pub(crate) const POLICIES: &str = "policies";

/// The number of prepared queries that are kept.
const PREPARED: usize = 256;

/// The loaded policies.
#[derive(Debug)]
pub struct Loaded {
    /// The policies that answer queries.
    pub policies: Policies,
    /// The same policies as a gate, or why they aren't one.
    pub gate: Result<Gate, Error>,
}

/// Loads policies: at the start, and each time that the host asks for it.
pub struct Load(pub Box<dyn Fn() -> Result<Loaded, Error> + Send + Sync>);

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Load(..)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// A document, by its path in an address.
    Document(String),
    /// A query, by its text.
    Text(String),
}

/// Loaded policies.
#[derive(Debug)]
pub(crate) struct PolicySet {
    pub policies: Policies,
    pub gate: Result<Gate, Error>,
    /// The digest of their texts and data.
    pub revision: String,
    pub activated: DateTime<Utc>,
    prepared: Cache<Key, Query>,
    /// The decisions about images by these policies.
    pub images: ImageDecisions,
}

/// A query, and `true` if it was prepared before.
pub(crate) type Prepared = (Query, bool);

impl PolicySet {
    fn new(loaded: Loaded) -> Result<Self, Error> {
        let Loaded { policies, gate } = loaded;
        let revision = revision(&policies)?;
        let prepared = Cache::new(PREPARED);
        let images = ImageDecisions::default();
        Ok(Self { policies, gate, revision, activated: Utc::now(), prepared, images })
    }

    fn prepare(
        &self,
        key: Key,
        make: impl FnOnce() -> Result<Query, Refusal>,
    ) -> Result<Prepared, Refusal> {
        if let Some(known) = self.prepared.get(&key) {
            return Ok((known, true));
        }
        let query = make()?;
        self.prepared.insert(key, query.clone());
        Ok((query, false))
    }

    /// Returns the query for a document, by its path in an address.
    pub fn document(&self, path: &str) -> Result<Prepared, Refusal> {
        self.prepare(Key::Document(path.to_owned()), || {
            let parts = parts(path)?;
            if parts.iter().all(|part| index(part).is_none()) {
                let names: Vec<&str> = parts.iter().map(String::as_str).collect();
                return Ok(self.policies.query_path(&names));
            }
            self.policies.query(&reference(&parts)).map_err(|error| Refusal::of_query(&error))
        })
    }

    /// Compiles a query.
    pub fn text(&self, text: &str) -> Result<Prepared, Refusal> {
        let compile = || self.policies.query(text).map_err(|error| Refusal::of_query(&error));
        self.prepare(Key::Text(text.to_owned()), compile)
    }

    /// Returns `true` if a document can have a value: a rule makes it, a part of it or what contains it, or
    /// it is data.
    pub fn can_have(&self, path: &[&str]) -> bool {
        let mut data = Some(self.policies.data());
        for part in path {
            data = data.and_then(|data| data.get_str(part));
        }
        let makes = |rule: &[String]| rule.iter().zip(path).all(|(made, part)| made == part);
        let mut rules = self.policies.packages().flat_map(|package| &package.rules);
        data.is_some() || rules.any(|rule| makes(&rule.path))
    }

    /// Refuses an undefined document, as OPA's first interface does: it is missing, unless a rule makes it.
    pub fn undefined(&self, path: &str) -> Refusal {
        let parts = parts(path).unwrap_or_default();
        let made = self
            .policies
            .packages()
            .flat_map(|package| &package.rules)
            .any(|rule| parts.starts_with(&rule.path));
        let what = if made { "document undefined" } else { "document missing" };
        let message = format!("{what}: {}", reference(&parts));
        Refusal::new(StatusCode::NOT_FOUND, "undefined_document", message)
    }
}

/// Returns the names in a path, of which empty ones don't count.
fn parts(path: &str) -> Result<Vec<String>, Refusal> {
    let named = path.split('/').filter(|part| !part.is_empty());
    named
        .map(|part| {
            let decoded = percent_decode_str(part).decode_utf8();
            decoded.map(Into::into).map_err(|_| Refusal::invalid("invalid path: it isn't UTF-8"))
        })
        .collect()
}

/// Returns the number that a part of a path is.
fn index(part: &str) -> Option<i64> {
    let digits = part.strip_prefix('-').unwrap_or(part);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { part.parse().ok() } else { None }
}

/// Returns a document's reference, in which numbers are indices.
fn reference(parts: &[String]) -> String {
    let mut text = String::from("data");
    for part in parts {
        match index(part) {
            Some(index) => text.push_str(&format!("[{index}]")),
            None => {
                let whole = data_reference(&[part]);
                text.push_str(whole.strip_prefix("data").unwrap_or(&whole));
            }
        }
    }
    text
}

fn revision(policies: &Policies) -> Result<String, Error> {
    let (sources, _) = policies.sources();
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    for module in &sources.modules {
        add(&module.path);
        add(&module.text);
    }
    add(&compact(policies.data())?);
    Ok(format!("sha256:{}", hex(&hash.finalize())))
}

/// The current policies.
#[derive(Debug)]
pub(crate) struct PolicyStore {
    load: Load,
    current: RwLock<Arc<PolicySet>>,
    last: Mutex<LastLoad>,
    /// The lock that a load holds, so that there is one at a time.
    loading: Mutex<()>,
}

/// The result of the last load.
#[derive(Debug, Clone)]
pub(crate) struct LastLoad {
    pub at: DateTime<Utc>,
    /// The error of the last load, if it failed.
    pub failure: Option<Error>,
}

impl PolicyStore {
    pub fn new(load: Load) -> Result<Self, Error> {
        let at = Utc::now();
        let first = PolicySet::new((load.0)()?)?;
        let last = Mutex::new(LastLoad { at, failure: None });
        let current = RwLock::new(Arc::new(first));
        Ok(Self { load, current, last, loading: Mutex::default() })
    }

    /// Returns the current policies; a request keeps those that it began with.
    pub fn current(&self) -> Arc<PolicySet> {
        Arc::clone(&self.current.read())
    }

    /// Loads the policies again. Those that are current stay if that fails.
    pub fn reload(&self) -> Result<(), Error> {
        self.reload_if(|| Ok(true)).map(|_| ())
    }

    /// Loads the policies again if they have changed, or that failed the last time; returns whether it did.
    pub fn reload_if(
        &self,
        has_changed: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let _alone = self.loading.lock();
        let at = Utc::now();
        let has_failed = self.last.lock().failure.is_some();
        let changed = has_changed();
        if matches!(changed, Ok(false)) && !has_failed {
            self.last.lock().at = at;
            return Ok(false);
        }
        let loaded = changed.and_then(|_| (self.load.0)()).and_then(PolicySet::new);
        let failure = match loaded {
            Ok(set) => {
                *self.current.write() = Arc::new(set);
                None
            }
            Err(error) => Some(error),
        };
        *self.last.lock() = LastLoad { at, failure: failure.clone() };
        failure.map_or(Ok(true), Err)
    }

    /// Returns how the last load ended.
    pub fn last_load(&self) -> LastLoad {
        self.last.lock().clone()
    }
}

/// Returns a time as OPA writes it.
pub(crate) fn timestamp(at: DateTime<Utc>) -> Value {
    Value::from(at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true))
}

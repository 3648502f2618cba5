//! The ledger of an evaluation: each of its calls.
//!
//! Owns the ledger and its forms (struct, JSON, table). It measures nothing itself and decides
//! nothing.

use std::fmt::Write as _;
use std::time::Duration;

use crate::functions::ContentForm;
use crate::text::{escape, shorten};

/// The source of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Origin {
    /// The service was asked.
    Network,
    /// Another evaluation made the same call at the same moment, or a short time ago.
    Shared,
    /// The artifact was in the cache or in a store of artifacts, and the service granted access to it.
    Cache,
    /// A recording contained it.
    Replay,
    /// The host answered.
    Host,
}

/// A call of an evaluation.
#[derive(Debug, Clone, serde::Serialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// The function's full name.
    pub function: String,
    /// The arguments as JSON, shortened.
    pub arguments: String,
    /// The number of the pass that recorded the call, from 1.
    pub pass: u32,
    /// `true` if the result depends on it; the other calls were guesses that weren't needed.
    pub needed: bool,
    /// The source of the answer.
    pub origin: Origin,
    /// `ok`, or the kind of its failure.
    pub outcome: &'static str,
    /// `true` if the author's `limit` cut the list.
    pub cut: bool,
    /// The number of times that the list was read again from its start, since it changed while it was read.
    pub rereads: u32,
    /// `true` if the answer is an AI analysis that didn't take place.
    pub skipped: bool,
    /// The form in which content was returned, for a download.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<ContentForm>,
    /// The number of times the policy made the call in the pass that gave the result.
    pub uses: u64,
    /// The number of requests sent, including pages and retries.
    pub attempts: u32,
    /// The size of the answers in bytes.
    pub bytes: u64,
    /// The time from sending to the complete answer; microseconds in JSON.
    #[serde(rename = "latency_us", serialize_with = "micros")]
    pub latency: Duration,
}

impl CallRecord {
    /// Returns `true` if the call failed before anything was sent.
    pub fn is_unsent(&self) -> bool {
        self.origin == Origin::Network && self.attempts == 0 && self.outcome != "ok"
    }
}

fn micros<S: serde::Serializer>(latency: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX))
}

/// `1 call`, `2 calls`.
fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The calls of one evaluation.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Ledger {
    /// The number of passes that it took.
    pub passes: u32,
    /// The calls in the order in which they were recorded.
    pub calls: Vec<CallRecord>,
}

impl Ledger {
    /// The calls that the result depends on.
    pub fn needed(&self) -> impl Iterator<Item = &CallRecord> {
        self.calls.iter().filter(|entry| entry.needed)
    }

    /// The number of needed calls that asked the service or the host rather than the network.
    #[doc(hidden)]
    pub fn asked_of_service(&self) -> usize {
        self.needed().filter(|entry| !super::is_network(&entry.function)).count()
    }

    /// The needed calls whose list was cut at the author's `limit`.
    pub fn cut(&self) -> impl Iterator<Item = &CallRecord> {
        self.needed().filter(|entry| entry.cut)
    }

    /// The needed AI analyses that didn't take place, so that their lists of violations say nothing.
    pub fn skipped(&self) -> impl Iterator<Item = &CallRecord> {
        self.needed().filter(|entry| entry.skipped)
    }

    /// Returns the ledger as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the ledger as a table for people, with a line per call, grouped by pass.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut pass = 0;
        for entry in &self.calls {
            if entry.pass != pass {
                pass = entry.pass;
                let _ = writeln!(out, "pass {pass}");
            }
            let origin = if entry.is_unsent() {
                "not sent".to_owned()
            } else {
                format!("{:?}", entry.origin).to_lowercase()
            };
            let _ = writeln!(
                out,
                "  {:<8} {:>8.1} ms {:>9} B {:>2}× {}{}{}{}{}{} {}({})",
                origin,
                entry.latency.as_secs_f64() * 1e3,
                entry.bytes,
                entry.attempts,
                entry.outcome,
                if entry.cut { " (cut at its limit)" } else { "" },
                match entry.rereads {
                    0 => String::new(),
                    again => format!(" (the list changed: read {} times)", again + 1),
                },
                if entry.skipped { " (skipped)" } else { "" },
                if entry.form == Some(ContentForm::Base64) { " (as base64)" } else { "" },
                if entry.needed { "" } else { " (not needed)" },
                entry.function,
                escape(&shorten(&entry.arguments, 100)),
            );
        }
        let needed = self.needed().count();
        let _ = writeln!(
            out,
            "{}, {}, {needed} needed",
            plural(u64::from(self.passes), "pass", "passes"),
            plural(self.calls.len() as u64, "call", "calls"),
        );
        out
    }
}

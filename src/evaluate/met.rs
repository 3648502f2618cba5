//! Calls that a pass made before, by their arguments as the policy wrote them.
//!
//! Owns a shortcut: what is found here is neither checked nor normalised nor looked up again. It
//! decides nothing: `batch` puts in what it answered while the pass was exact.

use std::collections::{BTreeMap, HashMap};

use crate::rego::Value;

use crate::flight::Key;

/// A call and what the policy sees of its answer.
struct Met {
    key: Key,
    value: Option<Value>,
    /// Uses that aren't in the pass' account yet.
    uses: u64,
}

/// Answered calls by function and arguments.
#[derive(Default)]
pub(super) struct Answered(HashMap<String, BTreeMap<Vec<Value>, Met>>);

impl Answered {
    /// The answer to a call; `counts`: it is one of the exact evaluation's.
    pub(super) fn get(
        &mut self,
        function: &str,
        args: &[Value],
        counts: bool,
    ) -> Option<Option<Value>> {
        let met = self.0.get_mut(function)?.get_mut(args)?;
        met.uses += u64::from(counts);
        Some(met.value.clone())
    }

    pub(super) fn put(&mut self, function: &str, args: Vec<Value>, key: Key, value: Option<Value>) {
        self.0.entry(function.to_owned()).or_default().insert(args, Met { key, value, uses: 0 });
    }

    /// Adds the uses to an account.
    pub(super) fn settle(&mut self, used: &mut HashMap<Key, u64>) {
        for met in self.0.values_mut().flat_map(BTreeMap::values_mut) {
            *used.entry(met.key.clone()).or_default() += std::mem::take(&mut met.uses);
        }
    }
}

/// True if arguments are compared in next to no time.
pub(super) fn is_plain(args: &[Value]) -> bool {
    args.iter().all(|arg| match arg {
        Value::String(text) => text.len() <= 4096,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        _ => false,
    })
}

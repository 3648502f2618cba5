//! The calls that a pass has made before, by the arguments that the policy passed.
//!
//! Owns a shortcut past checking, normalising and looking up a repeated call. It decides nothing
//! itself: `batch` stores the answers that it gave while the pass was exact.

use std::collections::{BTreeMap, HashMap};

use crate::rego::Value;

use crate::flight::Key;

/// A call and its answer as the policy sees it.
struct AnsweredCall {
    key: Key,
    value: Option<Value>,
    /// Uses that haven't been added to the pass's account yet.
    uses: u64,
}

/// Answered calls by function and arguments.
#[derive(Default)]
pub(super) struct AnsweredCalls(HashMap<String, BTreeMap<Vec<Value>, AnsweredCall>>);

impl AnsweredCalls {
    /// Returns the answer to a call, if it is known. `counts` is set for a call of the exact
    /// evaluation, whose uses are counted.
    pub(super) fn get(
        &mut self,
        function: &str,
        args: &[Value],
        counts: bool,
    ) -> Option<Option<Value>> {
        let call = self.0.get_mut(function)?.get_mut(args)?;
        call.uses += u64::from(counts);
        Some(call.value.clone())
    }

    pub(super) fn put(&mut self, function: &str, args: Vec<Value>, key: Key, value: Option<Value>) {
        let call = AnsweredCall { key, value, uses: 0 };
        self.0.entry(function.to_owned()).or_default().insert(args, call);
    }

    /// Moves the uses counted so far into `used`.
    pub(super) fn settle(&mut self, used: &mut HashMap<Key, u64>) {
        for call in self.0.values_mut().flat_map(BTreeMap::values_mut) {
            *used.entry(call.key.clone()).or_default() += std::mem::take(&mut call.uses);
        }
    }
}

/// Returns `true` if comparing these arguments is cheap: scalars and short strings.
pub(super) fn is_plain(args: &[Value]) -> bool {
    args.iter().all(|arg| match arg {
        Value::String(text) => text.len() <= 4096,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        _ => false,
    })
}

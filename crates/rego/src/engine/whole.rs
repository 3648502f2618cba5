//! Whole documents of partial rules, made because one key after another is looked up.
//!
//! In `m[i.id] := i.v if some i in input.items`, each key costs a search through all items. As soon
//! as the searches have cost enough, the document is made once, and keys are looked up in it. The
//! policy can't tell, since everything that it could tell by ends the attempt, and keys are searched
//! for one by one as before:
//!
//! - an error, also of another key, or of a built-in function;
//! - more than half of the steps that the searches took, so that a document of which few keys
//!   are needed costs little; the next attempt is made after four times as many;
//! - a key that can be written in several ways, as `1` and `1.0`: the value may depend on the
//!   spelling in the reference;
//! - a first field of the input that is found.
//!
//! None is made for rules that reach a call, a print or a function that depends on more than its
//! arguments, and none while functions or parts of data are replaced, or in a trace, survey or reading.

use super::ErrorCode;
use super::cache::PartialKey;
use super::machine::{Machine, Run, Stop};
use crate::core::{RuleSet, SetId, Term};
use crate::value::Value;

/// The part of the searches' steps that an attempt may take.
const SHARE: u64 = 2;

/// By how much the searches' steps grow until the next attempt.
const GROWTH: u64 = 4;

impl<'p> Machine<'p, '_> {
    /// Returns the document, if it was made and the operands can be looked up in it.
    pub(super) fn made_whole(&self, run: &Run<'p>, id: SetId, path: &[Term]) -> Option<Value> {
        let whole = self.caches.whole(id)?;
        let plain =
            |term: &Term| self.value(term, run.base).is_some_and(|key| has_one_spelling(&key));
        path.iter().all(plain).then(|| whole.clone())
    }

    /// Makes the document if the searches have cost enough; `None` if the key has to be searched for.
    pub(super) fn make_whole(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        set: &'p RuleSet,
        key: &[PartialKey],
    ) -> Result<Option<Value>, Stop> {
        let searches = *self.caches.searches(id);
        let Some(keys) = set.keys.filter(|_| searches.spent >= searches.enough) else {
            return Ok(None);
        };
        let plain = |part: &PartialKey| match part {
            PartialKey::Value(value) => has_one_spelling(value),
            PartialKey::Scope(_) => false,
        };
        if !key.iter().all(plain) || !self.is_undisturbed() {
            return Ok(None);
        }
        let (errors, found_field) = (self.errors.len(), self.found_field.get());
        let misordered = self.misordered.borrow().len();
        let memory = self.context.memory();
        let limit = self.steps.saturating_add(searches.spent / SHARE);
        let fuse = self.set_fuse(limit.min(self.fuse()));
        self.caches.push_layer();
        let apart =
            Run { comprehensions: super::cache::ComprehensionCache::default(), ..run.clone() };
        let made = self.deeper(|machine| machine.extent_of(&apart, set));
        let too_long = self.steps >= self.fuse();
        self.set_fuse(fuse);
        match made {
            Ok(document)
                if self.errors.len() == errors
                    && self.misordered.borrow().len() == misordered
                    && self.found_field.get() == found_field
                    && keys_have_one_spelling(&document, keys) =>
            {
                self.caches.merge_layer();
                self.caches.keep_whole(id, document.clone());
                Ok(Some(document))
            }
            Err(Stop::Fatal(error)) if error.code == ErrorCode::Cancel => Err((*error).into()),
            _ => {
                self.caches.pop();
                self.errors.truncate(errors);
                self.misordered.borrow_mut().truncate(misordered);
                self.found_field.set(found_field);
                self.context.give_back(memory);
                self.caches.searches(id).enough =
                    if too_long { searches.spent.saturating_mul(GROWTH) } else { u64::MAX };
                Ok(None)
            }
        }
    }

    /// Returns `true` if nothing is replaced but the input, and nothing but the result is wanted.
    fn is_undisturbed(&self) -> bool {
        self.tracer.is_none()
            && self.survey.is_none()
            && self.reading.is_none()
            && self.replaced_data == 0
            && self.deferred.is_empty()
            && self.mocks.iter().flatten().all(Vec::is_empty)
    }
}

/// Returns `true` for a scalar that equals no value of another spelling.
fn has_one_spelling(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.as_small().is_some(),
        Value::Array(_) | Value::Object(_) | Value::Set(_) => false,
    }
}

/// The same for the keys of a document, down to a depth.
fn keys_have_one_spelling(document: &Value, depth: usize) -> bool {
    match document {
        _ if depth == 0 => true,
        Value::Object(members) => members
            .iter()
            .all(|(key, below)| has_one_spelling(key) && keys_have_one_spelling(below, depth - 1)),
        Value::Set(elements) => elements.iter().all(has_one_spelling),
        _ => true,
    }
}

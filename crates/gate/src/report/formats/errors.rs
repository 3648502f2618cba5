//! Errors of a run's inputs, without duplicates: one error may affect many policies and inputs.

use std::collections::{BTreeSet, HashMap};

use rego_platform_client::text::counted;

use crate::report::model::{Failure, Input, Run};

/// An error, with the first affected input and policy.
pub struct StatedError<'a> {
    pub error: &'a Failure,
    pub input: &'a Input,
    pub policy: Option<&'a str>,
    inputs: u64,
    last: *const Input,
    policies: BTreeSet<&'a str>,
}

/// Returns the errors in the order of their inputs. Two are the same if they have the same kind,
/// message and hint, whichever function's call failed, wherever.
#[doc(hidden)]
pub fn errors(run: &Run) -> Vec<StatedError<'_>> {
    let mut all: Vec<StatedError<'_>> = Vec::new();
    let mut known = HashMap::new();
    for input in &run.inputs {
        for (policy, error) in input.errors() {
            let key = (error.kind.as_str(), message(error), error.hint.as_deref());
            let index = *known.entry(key).or_insert(all.len());
            match all.get_mut(index) {
                Some(stated) => {
                    stated.inputs += u64::from(!std::ptr::eq(stated.last, input));
                    stated.last = input;
                    stated.policies.extend(policy);
                }
                None => all.push(StatedError {
                    error,
                    input,
                    policy,
                    inputs: 1,
                    last: input,
                    policies: policy.into_iter().collect(),
                }),
            }
        }
    }
    all
}

/// Returns the message without the leading function name of a failed call.
fn message(error: &Failure) -> &str {
    let own = error.function.as_deref().and_then(|name| error.message.strip_prefix(name));
    own.unwrap_or(&error.message)
}

impl StatedError<'_> {
    /// Returns a line about the other inputs and policies with this error, if there are any.
    pub fn more(&self) -> Option<String> {
        let inputs = self.inputs - 1;
        let policies = (self.policies.len() as u64).saturating_sub(1);
        let inputs = (inputs > 0).then(|| counted(inputs, "more input"));
        let policies = match policies {
            0 => None,
            1 => Some("1 more policy".to_owned()),
            more => Some(format!("{more} more policies")),
        };
        let others: Vec<String> = inputs.into_iter().chain(policies).collect();
        (!others.is_empty()).then(|| format!("{} for the same reason", others.join(" and ")))
    }
}

//! The difference between two outcomes of a case.

use std::collections::HashSet;

use super::case::{Answer, Case, CaseOutcome, Fault};
use super::subject::is_refusal;
use crate::rego::syntax::tree::{FileId, Term, TermKind};
use crate::rego::syntax::{ParseOptions, parse_term};

/// The relation of this crate's answer to OPA's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The same.
    Agree,
    /// Both refuse to compile, for different reasons (the first error's code differs).
    OtherReason,
    /// The same except for the wording of an error.
    OtherWording,
    /// The same except for the position of an error.
    OtherPosition,
    /// Different, where OPA's answer shows an object with a key that it has twice, which is OPA's
    /// fault; or where OPA evaluates a rule again to explain a conflict, so that calls and prints of
    /// it come twice.
    KnownOfOpa,
    /// Refused as unsupported, while OPA accepts it.
    Refused,
    /// Refused as wrong, while OPA accepts it.
    FalselyRefused,
    /// Accepted, while OPA refuses it.
    FalselyAccepted,
    /// Another value, or a value instead of undefined, or undefined instead of a value.
    Value,
    /// An error instead of none, none instead of an error, or one of another kind.
    Error,
    /// Another first failure of a built-in function, without strict errors.
    Failure,
    /// Other calls of host functions.
    Calls,
    /// Other prints.
    Prints,
    /// This crate panicked.
    Panic,
    /// OPA couldn't answer.
    Unknown,
}

impl Verdict {
    /// Returns `true` if this crate is wrong.
    pub fn is_wrong(self) -> bool {
        self >= Self::FalselyRefused && self <= Self::Panic
    }
}

/// One comparison.
#[derive(Debug, Clone)]
pub struct Compared {
    pub verdict: Verdict,
    /// The query and the input.
    pub query: usize,
    pub input: usize,
    /// OPA's answer and this crate's.
    pub opa: String,
    pub ours: String,
}

/// Compares the outcomes of a case; an entry for each query and input, or one for all.
pub fn compare(case: &Case, opa: &CaseOutcome, ours: &CaseOutcome) -> Vec<Compared> {
    let one = |verdict, opa: String, ours: String| {
        vec![Compared { verdict, query: 0, input: 0, opa, ours }]
    };
    match (opa, ours) {
        (CaseOutcome::Broken(why), _) => one(Verdict::Unknown, why.clone(), String::new()),
        (_, CaseOutcome::Broken(why)) => one(Verdict::Panic, brief(opa), why.clone()),
        (CaseOutcome::Refused(opa), CaseOutcome::Refused(ours)) => {
            one(refusals(opa, ours), show(opa), show(ours))
        }
        (CaseOutcome::Refused(faults), CaseOutcome::Answers(_)) => {
            one(Verdict::FalselyAccepted, show(faults), "compiles".to_owned())
        }
        (CaseOutcome::Answers(_), CaseOutcome::Refused(faults)) => {
            one(refused(faults), "compiles".to_owned(), show(faults))
        }
        (CaseOutcome::Answers(opa), CaseOutcome::Answers(ours)) => {
            let mut list = Vec::new();
            // A query that doesn't compile has one entry for all inputs.
            let inputs = case.inputs.len().max(1);
            let (mut a, mut b) = (opa.iter(), ours.iter());
            for query in 0..case.queries.len() {
                let (mut x, mut y) = (a.next(), b.next());
                for input in 0..inputs {
                    let (Some(left), Some(right)) = (x, y) else { break };
                    list.push(Compared {
                        verdict: answers(left, right),
                        query,
                        input,
                        opa: shown(left),
                        ours: shown(right),
                    });
                    if input + 1 < inputs {
                        if left.is_ok() {
                            x = a.next();
                        }
                        if right.is_ok() {
                            y = b.next();
                        }
                        if left.is_err() && right.is_err() {
                            break;
                        }
                    }
                }
            }
            list
        }
    }
}

fn brief(outcome: &CaseOutcome) -> String {
    match outcome {
        CaseOutcome::Refused(faults) => show(faults),
        CaseOutcome::Answers(_) => "compiles".to_owned(),
        CaseOutcome::Broken(why) => why.clone(),
    }
}

fn shown(answer: &Result<Answer, Vec<Fault>>) -> String {
    match answer {
        Ok(answer) => answer.show(),
        Err(faults) => show(faults),
    }
}

fn show(faults: &[Fault]) -> String {
    faults.iter().take(4).map(Fault::show).collect::<Vec<_>>().join("\n      ")
}

fn refused(faults: &[Fault]) -> Verdict {
    // It counts as unsupported only if all errors say so.
    if faults.iter().all(|fault| is_refusal(&fault.code)) {
        Verdict::Refused
    } else {
        Verdict::FalselyRefused
    }
}

fn refusals(opa: &[Fault], ours: &[Fault]) -> Verdict {
    let first = |faults: &[Fault]| faults.first().map(|fault| (fault.row, fault.file.clone()));
    // OPA stops at ten errors of a stage, which aren't necessarily the first in the text.
    let known = |one: &Fault| opa.iter().any(|other| other.code == one.code);
    let alike =
        if opa.len() >= 10 { ours.iter().any(known) } else { ours.first().is_some_and(known) };
    if !alike {
        return Verdict::OtherReason;
    }
    if first(opa) != first(ours) {
        return Verdict::OtherPosition;
    }
    if opa.first().map(|fault| &fault.message) != ours.first().map(|fault| &fault.message) {
        return Verdict::OtherWording;
    }
    Verdict::Agree
}

fn answers(opa: &Result<Answer, Vec<Fault>>, ours: &Result<Answer, Vec<Fault>>) -> Verdict {
    let (opa, ours) = match (opa, ours) {
        (Err(opa), Err(ours)) => return refusals(opa, ours),
        (Err(_), Ok(_)) => return Verdict::FalselyAccepted,
        (Ok(_), Err(ours)) => return refused(ours),
        (Ok(opa), Ok(ours)) => (opa, ours),
    };
    // OPA ran out of time.
    if opa.error.as_ref().is_some_and(|fault| fault.code == "eval_cancel_error") {
        return Verdict::Unknown;
    }
    // OPA tried to use the network, which isn't available.
    if opa.show().contains("jsonschema: Get ") {
        return Verdict::Unknown;
    }
    if let Some(fault) = &ours.error
        && is_refusal(&fault.code)
    {
        return Verdict::Refused;
    }
    let code = |fault: &Option<Fault>| fault.as_ref().map(|fault| kind(&fault.code).to_owned());
    if code(&opa.error) != code(&ours.error) {
        return Verdict::Error;
    }
    let differs = if opa.error.is_none() && !same_rows(opa, ours) {
        Some(Verdict::Value)
    } else if opa.calls != ours.calls {
        Some(Verdict::Calls)
    } else if opa.prints != ours.prints {
        Some(Verdict::Prints)
    } else {
        None
    };
    if let Some(verdict) = differs {
        let known = explains_a_conflict(opa, ours)
            || has_key_twice(&opa.show().replace('<', "{").replace('>', "}"))
            || opa.prints.iter().any(|print| has_key_twice(&print.1));
        return if known { Verdict::KnownOfOpa } else { verdict };
    }
    if code(&opa.failure) != code(&ours.failure) {
        return Verdict::Failure;
    }
    for (opa, ours) in [(&opa.error, &ours.error), (&opa.failure, &ours.failure)] {
        if let (Some(opa), Some(ours)) = (opa, ours) {
            if (opa.row, &opa.file) != (ours.row, &ours.file) {
                return Verdict::OtherPosition;
            }
            if opa.message != ours.message {
                return Verdict::OtherWording;
            }
        }
    }
    Verdict::Agree
}

/// Returns `true` if both end with a conflict of an object comprehension, and OPA only repeats what
/// this crate did up to it.
fn explains_a_conflict(opa: &Answer, ours: &Answer) -> bool {
    let conflict = |answer: &Answer| {
        let error = answer.error.as_ref();
        error.is_some_and(|fault| fault.message.contains("object keys must be unique"))
    };
    conflict(opa)
        && conflict(ours)
        && opa.calls.starts_with(&ours.calls)
        && opa.prints.starts_with(&ours.prints)
}

/// Returns `true` if a text shows an object with the same key twice.
fn has_key_twice(text: &str) -> bool {
    let starts = text.char_indices().filter(|(_, c)| *c == '{').map(|(index, _)| index);
    starts.filter_map(|start| object_at(text, start)).any(|object| {
        let options = ParseOptions::default();
        let Ok(term) = parse_term(FileId(0), object, &options) else { return false };
        let TermKind::Object(members) = &term.kind else { return false };
        let mut keys = HashSet::new();
        let key = |term: &Term| object.get(term.span.start as usize..term.span.end as usize);
        !members.iter().all(|(name, _)| key(name).is_none_or(|name| keys.insert(name)))
    })
}

/// Returns the text from a brace to the one that closes it, strings aside.
fn object_at(text: &str, start: usize) -> Option<&str> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (offset, c) in text.get(start..)?.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return text.get(start..=start + offset);
                }
            }
            _ => {}
        }
    }
    None
}

/// Compares solutions; the value of a query of a single expression matters if OPA has one.
fn same_rows(opa: &Answer, ours: &Answer) -> bool {
    opa.rows.len() == ours.rows.len()
        && opa.rows.iter().zip(&ours.rows).all(|(opa, ours)| {
            opa == ours
                || (!opa.contains_key("value") && {
                    let mut ours = ours.clone();
                    ours.remove("value");
                    *opa == ours
                })
        })
}

/// Maps the codes of equivalent errors: a host's end of the evaluation is an error of a built-in
/// function in OPA, and a finding of `rego.parse_module` is one in this crate.
fn kind(code: &str) -> &str {
    match code {
        "eval_host_error" | "rego_parse_error" => "eval_builtin_error",
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_an_object_has_twice_is_seen() {
        for text in ["{[]: 1, \"a}\": 2, []: 3}", "value {\"x\": {1: 2, 1: 2}}; calls f[{}]"] {
            assert!(has_key_twice(text), "{text}");
        }
        for text in
            ["{\"a\": 1, \"b\": 1}", "{1, 2}", "{", "}", "{\"a\": {\"a\": 1}}", "{1: 2} {1: 2}"]
        {
            assert!(!has_key_twice(text), "{text}");
        }
    }
}

//! What of two outcomes of a case differs.

use super::case::{Answer, Case, Fault, Outcome};
use super::subject::is_refusal;

/// How an answer of ours stands to OPA's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The same.
    Agree,
    /// Both refuse to compile, for different reasons (the first error's code differs).
    OtherReason,
    /// The same but for the wording of an error.
    OtherWords,
    /// The same but for the place of an error.
    OtherPlace,
    /// We say that we don't take what OPA takes.
    Refused,
    /// We say that a policy is wrong that OPA takes.
    FalselyWrong,
    /// We take what OPA says is wrong.
    FalselyTaken,
    /// Another value, or a value for undefined, or undefined for a value.
    Value,
    /// An error for none, none for an error, or one of another kind.
    Error,
    /// Another first failure of a built-in function, where errors aren't strict.
    Failure,
    /// Other calls of host functions.
    Calls,
    /// Other prints.
    Prints,
    /// We panicked.
    Panic,
    /// OPA couldn't tell.
    Unknown,
}

impl Verdict {
    /// Whether something is wrong with us.
    pub fn is_wrong(self) -> bool {
        self >= Self::FalselyWrong && self <= Self::Panic
    }
}

/// One difference, or none.
#[derive(Debug, Clone)]
pub struct Compared {
    pub verdict: Verdict,
    /// Which query and which input.
    pub query: usize,
    pub input: usize,
    /// OPA's answer and ours.
    pub opa: String,
    pub ours: String,
}

/// Compares the outcomes of a case; an entry for each query and input, or one for all.
pub fn compare(case: &Case, opa: &Outcome, ours: &Outcome) -> Vec<Compared> {
    let one = |verdict, opa: String, ours: String| {
        vec![Compared { verdict, query: 0, input: 0, opa, ours }]
    };
    match (opa, ours) {
        (Outcome::Broken(why), _) => one(Verdict::Unknown, why.clone(), String::new()),
        (_, Outcome::Broken(why)) => one(Verdict::Panic, brief(opa), why.clone()),
        (Outcome::Refused(opa), Outcome::Refused(ours)) => {
            one(refusals(opa, ours), show(opa), show(ours))
        }
        (Outcome::Refused(faults), Outcome::Answers(_)) => {
            one(Verdict::FalselyTaken, show(faults), "compiles".to_owned())
        }
        (Outcome::Answers(_), Outcome::Refused(faults)) => {
            one(refused(faults), "compiles".to_owned(), show(faults))
        }
        (Outcome::Answers(opa), Outcome::Answers(ours)) => {
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

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Refused(faults) => show(faults),
        Outcome::Answers(_) => "compiles".to_owned(),
        Outcome::Broken(why) => why.clone(),
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
    // A refusal is one only where nothing else is said to be wrong.
    if faults.iter().all(|fault| is_refusal(&fault.code)) {
        Verdict::Refused
    } else {
        Verdict::FalselyWrong
    }
}

fn refusals(opa: &[Fault], ours: &[Fault]) -> Verdict {
    let first = |faults: &[Fault]| faults.first().map(|fault| (fault.row, fault.file.clone()));
    // OPA stops at ten errors of a stage, which needn't be the first in the text.
    let known = |one: &Fault| opa.iter().any(|other| other.code == one.code);
    let alike =
        if opa.len() >= 10 { ours.iter().any(known) } else { ours.first().is_some_and(known) };
    if !alike {
        return Verdict::OtherReason;
    }
    if first(opa) != first(ours) {
        return Verdict::OtherPlace;
    }
    if opa.first().map(|fault| &fault.message) != ours.first().map(|fault| &fault.message) {
        return Verdict::OtherWords;
    }
    Verdict::Agree
}

fn answers(opa: &Result<Answer, Vec<Fault>>, ours: &Result<Answer, Vec<Fault>>) -> Verdict {
    let (opa, ours) = match (opa, ours) {
        (Err(opa), Err(ours)) => return refusals(opa, ours),
        (Err(_), Ok(_)) => return Verdict::FalselyTaken,
        (Ok(_), Err(ours)) => return refused(ours),
        (Ok(opa), Ok(ours)) => (opa, ours),
    };
    // OPA ran out of time.
    if opa.error.as_ref().is_some_and(|fault| fault.code == "eval_cancel_error") {
        return Verdict::Unknown;
    }
    // OPA asked the network, which is not there.
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
    if opa.error.is_none() && !same_rows(opa, ours) {
        return Verdict::Value;
    }
    if opa.calls != ours.calls {
        return Verdict::Calls;
    }
    if opa.prints != ours.prints {
        return Verdict::Prints;
    }
    if code(&opa.failure) != code(&ours.failure) {
        return Verdict::Failure;
    }
    for (opa, ours) in [(&opa.error, &ours.error), (&opa.failure, &ours.failure)] {
        if let (Some(opa), Some(ours)) = (opa, ours) {
            if (opa.row, &opa.file) != (ours.row, &ours.file) {
                return Verdict::OtherPlace;
            }
            if opa.message != ours.message {
                return Verdict::OtherWords;
            }
        }
    }
    Verdict::Agree
}

/// The same solutions; what a query of one expression has as its value matters where OPA gives one.
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

/// A host's end of the evaluation is an error of a built-in function in OPA, and what
/// `rego.parse_module` finds is one of ours.
fn kind(code: &str) -> &str {
    match code {
        "eval_host_error" | "rego_parse_error" => "eval_builtin_error",
        code => code,
    }
}

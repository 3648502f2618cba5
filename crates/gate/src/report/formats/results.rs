//! Parts shared by formats that list results, such as SARIF: ids, fingerprints, files, and results for
//! missing verdicts.

use std::path::Path;

use rego_platform_client::text::hex;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::cases::{Case, State, cases};
use super::words::line;
use crate::report::model::{Input, Run, Violation};
use crate::report::paths::{relative, slashes};

/// The rule of results for a missing verdict.
pub(super) const NO_VERDICT: &str = "rego-platform/no-verdict";

/// Returns the id of a policy's rule.
pub(super) fn rule_id(policy: &str, rule: &str) -> String {
    line(&format!("{policy}/{rule}"))
}

/// Returns a fingerprint that stays the same for a violation across runs. It covers the policy's output, but
/// neither the rule's position nor the input's formatting.
pub(super) fn fingerprint(rule: &str, found: &Violation, input: &Input, folder: &Path) -> String {
    let said = json!([found.message, found.severity, found.id, found.fields]);
    digest(&json!([rule, said, input_path(input, folder)]))
}

/// Returns the fingerprint of a missing verdict.
pub(super) fn fingerprint_of_none(case: &Case<'_>, folder: &Path) -> String {
    let input = case.input.map(|input| input_path(input, folder));
    digest(&json!([NO_VERDICT, case.policy, input]))
}

fn digest(value: &serde_json::Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes()))
}

fn input_path(input: &Input, folder: &Path) -> String {
    let path = file_of(&input.name).map(|_| slashes(&relative(&input.name, folder)));
    path.unwrap_or_else(|| input.name.clone())
}

/// Returns any path of the run, of a policy or an argument, for a result without a location: readers require
/// one.
pub(super) fn somewhere(run: &Run) -> &str {
    let arguments = run.inventory.policies.iter().chain(&run.inventory.inputs);
    let sources = run.sources.iter().map(|source| source.path.as_str());
    let named = arguments.map(|argument| argument.argument.as_str());
    sources.chain(named).find(|path| !path.contains("://") && *path != "-").unwrap_or(".")
}

/// Returns every missing verdict, and a run that failed without a violation, each with a message.
pub(super) fn unexplained(run: &Run) -> Vec<(Case<'_>, String)> {
    let blameless = |case: &Case<'_>| {
        case.state == State::Error || (case.state == State::Failed && case.policy.is_none())
    };
    let found = cases(run).into_iter().filter(|case| blameless(case) && case.alike > 0);
    let explained = found.map(|case| {
        let mut message = format!("{}: {}", line(case.policy.unwrap_or("verdict")), case.summary);
        for reason in case.reasons().iter().filter(|reason| **reason != case.summary) {
            message.push_str("; ");
            message.push_str(reason);
        }
        (case, message)
    });
    explained.collect()
}

/// Returns the file of an input, if it comes from one, without the number of the document in it.
pub(super) fn file_of(name: &str) -> Option<&str> {
    if name.trim().is_empty() || name.starts_with(['<', '(']) {
        return None;
    }
    match name.rsplit_once('#') {
        Some((file, number))
            if !file.is_empty()
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            file_of(file)
        }
        _ => Some(name),
    }
}

//! Hints of errors and findings as the command shows them: the hint itself, and the option that
//! changes the setting or raises the limit concerned. The library doesn't know the command's
//! options.

use crate::{Diagnostic, Error, Limit, Setting};

/// Returns the hint for `error`, if there is one.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let option = error.setting().map(option).or_else(|| error.limit().map(limit));
    joined(error.hint(), option)
}

/// Adds to a finding's hint the option for its setting.
pub(crate) fn worded(mut finding: Diagnostic) -> Diagnostic {
    finding.hint = joined(finding.hint.as_deref(), finding.setting.take().map(option));
    finding
}

fn joined(hint: Option<&str>, option: Option<String>) -> Option<String> {
    match (hint, option) {
        (Some(hint), Some(option)) => Some(format!("{hint}; {option}")),
        (Some(hint), None) => Some(hint.to_owned()),
        (None, option) => option,
    }
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Timeout => "`--timeout` gives an evaluation more time",
        Limit::Passes => "`--max-passes` raises the limit",
        Limit::Calls => "`--max-calls` raises the limit",
        Limit::Bytes | Limit::AnswerBytes => "`--max-bytes` raises the limit",
        Limit::Memory => "simplify the policy, or evaluate less at a time",
    }
    .to_owned()
}

/// Returns the words for the option that changes a setting.
pub(crate) fn option(setting: Setting) -> String {
    match setting {
        Setting::Token => "`--token-file` takes a file, `auth status` shows what is used",
        Setting::ControlPlane => "`--controlplane-url` sets it",
        Setting::Backend => "`--base-url` sets it",
        Setting::PlainHttp => "`--insecure` allows plain HTTP where that is acceptable",
        Setting::CertificateAuthorities => "`--ca-cert` takes its file",
        Setting::AllowedHosts => "`--allow-host HOST[:PORT]` allows one",
        Setting::Function(name) => return format!("`--functions {name}` enables it"),
        Setting::RegoV0 => "`--v0` reads the old syntax",
        Setting::Ignored => "`-d` takes files by name, `--ignore GLOB` of a gate leaves them out",
        Setting::IgnoredInBundles => "`--ignore GLOB` of a gate leaves it out",
        Setting::Inputs => "`-i` takes files by name, `--ignore GLOB` leaves them out",
        Setting::WithoutInput => {
            "add `-i FILE`, or `--no-input` if they are meant to be evaluated without one"
        }
        Setting::SkippedInputs => "`--allow-skipped` lets such an input pass",
        Setting::RequiredCalls => {
            "leave out `--require-calls` if a policy may decide without the service"
        }
        Setting::Arguments => "`--arg NAME=VALUE` gives it",
        Setting::Project => "`--project` and `--project-version` give it",
        Setting::WrappedArrays => "`--wrap-arrays` makes an object of an array",
        Setting::Attestations => "without `--attestation` it is taken as it is",
        Setting::Combine => "`--combine` evaluates all inputs together, as one array",
        Setting::Envelopes => "`--attestation` takes statements out of their envelopes",
        Setting::SignedBundles => "`--skip-verify` loads it unchecked",
        Setting::DataSet => "`rego-platform new --examples` writes one",
    }
    .to_owned()
}

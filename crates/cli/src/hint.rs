//! Hints of errors and findings as the command shows them: the hint itself, and the option that
//! changes the setting or raises the limit concerned. The library doesn't know the command's
//! options.

use rego_platform::{Diagnostic, Error, Limit, Setting, setting};
use rego_platform_gate::setting as gate;

/// The folder of the emulator's data set
pub(crate) const DATA_SET: Setting = Setting::new("data-set");

/// Returns the hint for `error`, if there is one.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let option = error.setting().and_then(option).or_else(|| error.limit().and_then(limit));
    joined(error.hint(), option)
}

/// Returns the hint for an error in a report, which shows the first finding of a policy only.
pub(crate) fn of_failure(error: &Error) -> Option<String> {
    match error.diagnostics() {
        [first, ..] => with_option(first.clone()).hint,
        [] => hint(error),
    }
}

/// Adds to a finding's hint the option for its setting.
pub(crate) fn with_option(mut finding: Diagnostic) -> Diagnostic {
    finding.hint = joined(finding.hint.as_deref(), finding.setting.take().and_then(option));
    finding
}

fn joined(hint: Option<&str>, option: Option<String>) -> Option<String> {
    match (hint, option) {
        (Some(hint), Some(option)) if hint.ends_with('?') => Some(format!("{hint} {option}")),
        (Some(hint), Some(option)) => Some(format!("{hint}; {option}")),
        (Some(hint), None) => Some(hint.to_owned()),
        (None, option) => option,
    }
}

fn limit(limit: Limit) -> Option<String> {
    let words = match limit {
        Limit::Timeout => "`--timeout` raises the limit",
        Limit::Passes => "`--max-passes` raises the limit",
        Limit::Calls => "`--max-calls` raises the limit",
        Limit::Bytes | Limit::AnswerBytes => "`--max-bytes` raises the limit",
        Limit::Memory => "simplify the policy, or evaluate less at a time",
        _ => return None,
    };
    Some(words.to_owned())
}

/// Returns the words for the option that changes a setting.
fn option(setting: Setting) -> Option<String> {
    if setting.name() == setting::FUNCTION.name() {
        return setting.item().map(|name| format!("`--functions {name}` enables it"));
    }
    if setting.name() == gate::WARNINGS.name() {
        let code = setting.item().unwrap_or("CODE");
        return Some(format!(
            "`# check:ignore {code}` on the line before allows one, `--allow-warnings` all"
        ));
    }
    let words = match setting {
        setting::TOKEN => {
            "`--token-file` reads it from a file, `auth status` shows which one is used"
        }
        setting::ORGANIZATION => "`--organization` names it",
        setting::CONTROL_PLANE => "`--controlplane-url` sets it",
        setting::BACKEND => "`--base-url` sets it",
        setting::CONTENT_STORE => "`artifact-cas.api` in the configuration file sets it",
        setting::PLAIN_HTTP => "`--insecure` allows plain HTTP where that is acceptable",
        setting::CERTIFICATE_AUTHORITIES => "`--ca-cert` trusts its file",
        setting::ALLOWED_HOSTS => {
            "`--allow-host HOST[:PORT]` allows one; the vendor's client allows `www.cisa.gov` and \
             `www.chainloop.dev`"
        }
        setting::REGO_V0 => "`rego-platform check --fix` rewrites it; `--v0` reads the old syntax",
        gate::DATA => "check the path, or name data with `-d`",
        gate::IGNORED => {
            "name the files with `-d`, or leave them out of a gate with `--ignore GLOB`"
        }
        setting::IGNORED_IN_BUNDLES => "leave it out of a gate with `--ignore GLOB`",
        gate::INPUTS => "name the files with `-i`, or leave them out with `--ignore GLOB`",
        gate::INPUT_FILE => "`-i FILE` gives it",
        gate::PARSER => "`--parser NAME`, such as `--parser json`, reads it whatever its name",
        gate::WITHOUT_INPUT => {
            "add `-i FILE`, or `--no-input` if they are meant to be evaluated without one"
        }
        gate::PARTS => "leave out `--shard` to evaluate them at once",
        gate::SKIPPED_INPUTS => "`--allow-skipped` lets such an input pass",
        gate::CONTRACT => "`--contract FILE` evaluates a contract",
        gate::ARGUMENTS => "`--arg NAME=VALUE` sets it",
        gate::MATERIALS => "`--material NAME=FILE` names the material of a group",
        gate::KINDS => "`--kind KIND` sets the kind of all inputs",
        gate::ANNOTATIONS => "`--annotation KEY=VALUE` sets an annotation",
        gate::INPUT_VALUES => "`--set NAME=VALUE` puts a value into `input`",
        gate::YAML => {
            "`--yaml 1.1` reads it as a boolean, as Kubernetes does; `--yaml 1.2` as a string"
        }
        gate::UNTRUSTED => "name the file with `--settings FILE`, or add `--trust-settings`",
        gate::WRAPPED_ARRAYS => "`--wrap-arrays` wraps an array in an object",
        gate::ATTESTATIONS => "leave out `--attestation` to use it as it is",
        gate::SIGNATURES => {
            "`--verify-key` and `--verify-identity` name other signers, `--unverified` accepts any signer"
        }
        gate::SIGNERS => "`--verify-key` and `--verify-identity` check it",
        gate::TRUST_ROOT => {
            "`--trust-root FILE` names other certificates and logs than those of sigstore.dev"
        }
        setting::MERGED_BUNDLES => "`-d` merges it with other data",
        gate::PASSWORD => "the variable `COSIGN_PASSWORD` sets it",
        setting::SIGNED_BUNDLES => {
            "`--bundle-key FILE` names the key of its signer, `--skip-verify` loads it unchecked"
        }
        gate::NOTES => "resolve the notes, or leave out `--fail-on-notes`",
        rego_platform_remote::setting::LOCK => {
            "`gate --update-lock` writes the current digest to `policies.lock`"
        }
        rego_platform_remote::setting::SIGNER => {
            "`cosign sign` signs what is in a registry; `--policy-key` and `--policy-identity` name other signers, which `--update-lock` writes to the lock"
        }
        rego_platform_remote::setting::OTHER_HOSTS => "`--allow-host HOST[:PORT]` allows one",
        rego_platform_serve::setting::EXPOSED => "`--expose` allows other addresses",
        rego_platform_serve::setting::CLIENTS => {
            "add `--auth-token-file`, `--tls-client-ca` or `--webhook-secret`"
        }
        DATA_SET => "`rego-platform new --examples` writes one",
        _ => return None,
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_words() {
        let layers = [
            rego_platform_client::setting::ALL,
            setting::ALL,
            gate::ALL,
            &[DATA_SET],
            rego_platform_remote::setting::ALL,
            rego_platform_serve::setting::ALL,
        ];
        for setting in layers.concat() {
            let item = if setting == setting::FUNCTION { setting.of("products") } else { setting };
            assert!(option(item).is_some(), "{setting:?}");
        }
    }
}

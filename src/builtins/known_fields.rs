//! Fields and values that the service is known to send beyond its documented interface.
//!
//! Owns one table: fields that aren't documented and exist all the same, and the values that fields
//! are known to have. An unknown field or value leads to a warning at most: the service may send
//! something else tomorrow. A known one in another spelling or type (`"FAIL"`, or `true` for
//! `"true"`) is refused, since a policy that compares it with the known form would overlook it.

#[cfg(feature = "cli")]
use std::collections::BTreeMap;

use super::arguments::Invalid;
use super::{Field, Function, Type, discover, evidence, project_compliance};
use crate::rego::Value;
use crate::resources::{ProjectEvaluation, RequirementEvaluation};
use crate::text::{same_letters, shorten};

/// A field that the service is known to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownField {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// The values that it is known to have; empty if it can have any.
    pub values: &'static [&'static str],
}

/// Material types, and the other kinds of digests.
pub(crate) static KINDS: &[&str] = &[
    "STRING",
    "CONTAINER_IMAGE",
    "ARTIFACT",
    "SBOM_CYCLONEDX_JSON",
    "SBOM_SPDX_JSON",
    "JUNIT_XML",
    "OPENVEX",
    "CSAF_VEX",
    "CSAF_INFORMATIONAL_ADVISORY",
    "CSAF_SECURITY_ADVISORY",
    "CSAF_SECURITY_INCIDENT_RESPONSE",
    "SARIF",
    "HELM_CHART",
    "EVIDENCE",
    "ATTESTATION",
    "GIT_COMMIT",
    "GITLAB_SECURITY_REPORT",
    "ZAP_DAST_ZIP",
    "BLACKDUCK_SCA_JSON",
    "TWISTCLI_SCAN_JSON",
    "GHAS_CODE_SCAN",
    "GHAS_SECRET_SCAN",
    "GHAS_DEPENDENCY_SCAN",
    "JACOCO_XML",
    "COBERTURA_XML",
    "SLSA_PROVENANCE",
    "GITLEAKS_JSON",
    "TRUFFLEHOG_JSON",
    "OPENAPI_SPEC",
    "ASYNCAPI_SPEC",
    "GRAPHQL_SPEC",
    "OSSF_SCORECARD_JSON",
    "CHECKMARX_JSON",
];

/// Statuses of requirements: those that `ComplianceMetrics` counts.
pub(crate) static STATUSES: &[&str] = &["pass", "fail", "pending", "partial", "inactive"];

/// Booleans that are sent as strings.
pub(crate) static BOOLEANS: &[&str] = &["true", "false"];

const KIND: KnownField = KnownField { name: "kind", ty: Type::String, values: KINDS };

static KIND_ONLY: &[KnownField] = &[KIND];

pub(super) static METADATA: &[Field] = &[
    Field::optional("name", Type::String, "its name"),
    Field::optional("organization", Type::String, "the organization's name"),
    Field::optional("project", Type::String, "the project's name"),
    Field::optional("projectVersion", Type::String, "the version of the project"),
    Field::optional("workflow", Type::String, "the workflow's name"),
    Field::optional("hasPolicyViolations", Type::String, "`\"true\"` or `\"false\"`"),
];

static DISCOVERED: &[KnownField] =
    &[KIND, KnownField { name: "metadata", ty: Type::Object(METADATA), values: &[] }];

static METADATA_FIELDS: &[KnownField] =
    &[KnownField { name: "hasPolicyViolations", ty: Type::String, values: BOOLEANS }];

static EVALUATION: &[KnownField] =
    &[KnownField { name: "status", ty: Type::String, values: STATUSES }];

static OVERALL: &[KnownField] =
    &[KnownField { name: "overall_status", ty: Type::String, values: STATUSES }];

/// Returns the known fields of an object, documented ones included. The object is identified by the
/// address of its table of documented fields.
pub(crate) fn known_fields(fields: &'static [Field]) -> &'static [KnownField] {
    let table: [(&[Field], &'static [KnownField]); 8] = [
        (discover::RESULT, DISCOVERED),
        (discover::REFERENCE, DISCOVERED),
        (METADATA, METADATA_FIELDS),
        (evidence::EVIDENCE_ROW, KIND_ONLY),
        (evidence::FILTERS, KIND_ONLY),
        (project_compliance::EVALUATION, EVALUATION),
        (&ProjectEvaluation, EVALUATION),
        (&RequirementEvaluation, OVERALL),
    ];
    let found = table.into_iter().find(|(documented, _)| std::ptr::eq(*documented, fields));
    found.map_or(&[], |(_, known)| known)
}

/// Checks that no known field or value of an answer is in another spelling or type.
pub(crate) fn refuse_respelt(ty: Type, answer: &Value) -> Result<(), String> {
    match (ty, answer) {
        (Type::Array(item), Value::Array(items)) if has_fields(*item) => {
            items.iter().try_for_each(|value| refuse_respelt(*item, value))
        }
        (Type::Map(item), Value::Object(members)) if has_fields(*item) => {
            members.values().try_for_each(|value| refuse_respelt(*item, value))
        }
        (Type::Object(fields), Value::Object(members)) => {
            let known = known_fields(fields);
            for known in known {
                respelt_name(known.name, members.keys())?;
                answer.get_str(known.name).map_or(Ok(()), |value| respelt_value(known, value))?;
                // A part of the metadata beside it.
                if let Type::Object(parts) = known.ty {
                    for part in known_fields(parts) {
                        elsewhere(part.name, members.keys())?;
                    }
                }
            }
            let nested = known
                .iter()
                .map(|known| (known.name, known.ty))
                .chain(fields.iter().map(|field| (field.name, field.ty)))
                .filter(|(_, ty)| has_fields(*ty));
            for (name, ty) in nested {
                answer.get_str(name).map_or(Ok(()), |value| refuse_respelt(ty, value))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Counts the rows of an answer whose status or kind isn't a known one: a policy that looks for `fail`
/// or `SARIF` finds nothing in them. By field and value; an empty one was left out. A kind that the
/// call's arguments name is known to the policy.
#[cfg(feature = "cli")]
pub(crate) fn count_unknown_values(
    ty: Type,
    arguments: &str,
    answer: &Value,
    counts: &mut BTreeMap<(&'static str, String), u64>,
) {
    match (ty, answer) {
        (Type::Array(item), Value::Array(items)) if has_fields(*item) => {
            items.iter().for_each(|value| count_unknown_values(*item, arguments, value, counts));
        }
        // It has no status, rightly.
        (_, Value::Object(_)) if answer.get_str("not_applicable") == Some(&Value::Bool(true)) => {}
        (Type::Object(fields), Value::Object(_)) => {
            let counted = |known: &&KnownField| {
                [STATUSES, KINDS].iter().any(|values| std::ptr::eq(known.values, *values))
            };
            for known in known_fields(fields).iter().filter(counted) {
                let value = answer.get_str(known.name).and_then(Value::as_str).unwrap_or_default();
                let is_asked = || {
                    !value.is_empty()
                        && std::ptr::eq(known.values, KINDS)
                        && arguments.contains(&Value::from(value).to_json())
                };
                if !known.values.contains(&value) && !is_asked() {
                    *counts.entry((known.name, shorten(value, 80))).or_default() += 1;
                }
            }
            for field in fields.iter().filter(|field| has_fields(field.ty)) {
                if let Some(value) = answer.get_str(field.name) {
                    count_unknown_values(field.ty, arguments, value, counts);
                }
            }
        }
        _ => {}
    }
}

/// Returns `true` for the type of a value that may have fields.
const fn has_fields(ty: Type) -> bool {
    matches!(ty, Type::Array(_) | Type::Map(_) | Type::Object(_))
}

fn respelt_value(known: &KnownField, value: &Value) -> Result<(), String> {
    let is_boolean = std::ptr::eq(known.values, BOOLEANS);
    match (known.ty, value) {
        (_, Value::Null) | (Type::Object(_), Value::Object(_)) => Ok(()),
        (Type::String, Value::String(text)) if known.values.contains(&&**text) => Ok(()),
        (Type::String, Value::String(text)) => {
            // `REQUIREMENT_STATUS_FAIL`, as an enumeration of the service would be written.
            let last = text.rsplit_once("STATUS_").map_or(&**text, |(_, last)| last);
            match known.values.iter().find(|it| same_letters(it, last)) {
                Some(usual) => Err(format!(
                    "`{}` is `{}`, which is `{usual}` in the usual spelling",
                    known.name,
                    shorten(text, 80)
                )),
                // It has no third value; an empty one counts as absent.
                None if is_boolean && !text.is_empty() => Err(format!(
                    "`{}` is `{}`, neither `true` nor `false`",
                    known.name,
                    shorten(text, 80)
                )),
                None => Ok(()),
            }
        }
        (ty, _) => Err(format!("`{}` isn't a value of the type {ty}", known.name)),
    }
}

fn respelt_name<'a>(usual: &str, names: impl Iterator<Item = &'a Value>) -> Result<(), String> {
    let mut names = names.filter_map(Value::as_str).filter(|name| *name != usual);
    match names.find(|name| same_letters(usual, name)) {
        Some(name) => {
            Err(format!("it has `{}`, which is `{usual}` in the usual spelling", shorten(name, 80)))
        }
        None => Ok(()),
    }
}

/// Refuses a name that belongs into an object beside it.
fn elsewhere<'a>(usual: &str, names: impl Iterator<Item = &'a Value>) -> Result<(), String> {
    let mut names = names.filter_map(Value::as_str);
    match names.find(|name| same_letters(usual, name)) {
        Some(name) => Err(format!("it has `{}` in another place than usual", shorten(name, 80))),
        None => Ok(()),
    }
}

/// Returns the known value of which a text is another spelling.
pub(crate) fn usual_spelling(known: &[&'static str], text: &str) -> Option<&'static str> {
    let mut others = known.iter().filter(|it| same_letters(it, text));
    others.next().copied().filter(|_| !known.contains(&text))
}

/// Refuses arguments that are a known value in another spelling: nothing in the service has it.
pub(super) fn refuse_respelt_arguments(
    function: &Function,
    arguments: &[Value],
) -> Result<(), Invalid> {
    for (argument, value) in function.arguments.iter().zip(arguments) {
        refuse_respelt_argument(
            argument.name,
            value,
            self::argument(function.name, argument.name),
        )?;
        let Type::Object(filters) = argument.ty else { continue };
        for known in known_fields(filters) {
            let path = format!("{}.{}", argument.name, known.name);
            if let Some(value) = value.get_str(known.name) {
                refuse_respelt_argument(&path, value, known.values)?;
            }
        }
    }
    Ok(())
}

fn refuse_respelt_argument(
    path: &str,
    value: &Value,
    known: &[&'static str],
) -> Result<(), Invalid> {
    match value {
        Value::String(text) => match usual_spelling(known, text) {
            Some(usual) => {
                let message = format!("is `{}`, which nothing has", shorten(text, 80));
                Err(Invalid::new(path, message).hint(format!("write `{usual}`")))
            }
            None => Ok(()),
        },
        Value::Array(items) => {
            items.iter().try_for_each(|item| refuse_respelt_argument(path, item, known))
        }
        Value::Set(items) => {
            items.iter().try_for_each(|item| refuse_respelt_argument(path, item, known))
        }
        _ => Ok(()),
    }
}

/// Returns the known value of which a value that a person gave is another spelling: a policy that
/// compares it with the service's finds nothing. A word that may mean something else counts only under
/// a `name` for such values.
#[cfg(feature = "cli")]
pub(crate) fn respelt_by_hand(name: &str, text: &str) -> Option<&'static str> {
    let words = crate::client::words(name);
    let named = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let kind = usual_spelling(KINDS, text)
        .filter(|kind| kind.contains('_') || named(&["kind", "kinds", "material", "materials"]));
    let status = usual_spelling(STATUSES, text).filter(|_| named(&["status", "statuses"]));
    kind.or(status)
}

/// Returns the values that an argument of a function is known to take.
pub(crate) fn argument(function: &str, name: &str) -> &'static [&'static str] {
    if (function, name) == ("discover", "kind") { KINDS } else { &[] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn known_fields_and_values_in_another_spelling_are_refused() {
        let check = |function: &str, text: &str| {
            let function = crate::builtins::function(function).unwrap();
            refuse_respelt(function.result, &Value::from_json(text).unwrap())
        };
        let reference = |metadata: &str| {
            format!(r#"{{"references":[{{"kind":"ATTESTATION","metadata":{metadata}}}]}}"#)
        };
        for good in
            ["{}", "null", r#"{"hasPolicyViolations":"true"}"#, r#"{"hasPolicyViolations":""}"#]
        {
            check("discover", &reference(good)).unwrap();
        }
        for bad in [
            r#"{"hasPolicyViolations":true}"#,
            r#"{"hasPolicyViolations":1}"#,
            r#"{"hasPolicyViolations":["true"]}"#,
            r#"{"hasPolicyViolations":"True"}"#,
            r#"{"hasPolicyViolations":" true"}"#,
            r#"{"hasPolicyViolations":"true\u200b"}"#,
            r#"{"hasPolicy\u200bViolations":"true"}"#,
            r#"{"has_policy_violations":"true"}"#,
            r#"{"HasPolicyViolations":"true"}"#,
            r#"{"hasPolicyViolations":"false","has_policy_violations":"true"}"#,
            r#"{"hasPolicyViolations":"yes"}"#,
            r#"{"hasPolicyViolations":"1"}"#,
            r#"[{"hasPolicyViolations":"true"}]"#,
            r#""{\"hasPolicyViolations\":\"true\"}""#,
        ] {
            check("discover", &reference(bad)).unwrap_err();
            check("discover", &format!(r#"{{"metadata":{bad}}}"#)).unwrap_err();
        }
        let status = |status: &str| format!(r#"{{"evaluations":[{{"status":"{status}"}}]}}"#);
        for good in ["pass", "fail", "", "blocked"] {
            check("project_compliance", &status(good)).unwrap();
        }
        for beside in ["metaData", "Metadata", "meta_data", "hasPolicyViolations"] {
            let text = format!(r#"{{"references":[{{"{beside}":{{}},"metadata":{{}}}}]}}"#);
            check("discover", &text).unwrap_err();
        }
        for bad in [
            "FAIL",
            "Fail",
            "fail ",
            "PENDING",
            "REQUIREMENT_STATUS_FAIL",
            "fail\u{a0}",
            "fa\u{200b}il",
            "\u{feff}fail",
            "fail\u{ad}",
            "fail\u{2060}",
            "fail.",
        ] {
            check("project_compliance", &status(bad)).unwrap_err();
        }
        let kind = |kind: &str| format!(r#"{{"results":[{{"kind":"{kind}"}}]}}"#);
        for good in ["SARIF", "SBOM_CYCLONEDX_JSON", "SBOM", "NEW_KIND"] {
            check("evidence", &kind(good)).unwrap();
        }
        for bad in ["sarif", "SBOM-CYCLONEDX-JSON", "SbomCyclonedxJson", "SA\u{200d}RIF"] {
            check("evidence", &kind(bad)).unwrap_err();
        }
    }
}

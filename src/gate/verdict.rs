//! What a package's rules say, taken apart; anything of another shape is an error.
//!
//! Owns the forms of a verdict in Rego. Whether what was found fails the input, is waived or is
//! too slight to count, is decided in `conclude`.

use crate::rego::Value;

use super::model::Class;
use super::packages::{Part, Role};
use crate::builtins::describe;
use crate::evaluate::{QueryOutput, compact};
use crate::text::{nearest, shorten};
use crate::{Diagnostic, Error};

/// Why a document that a policy isn't about is skipped, in the words that people know.
const NOT_RECOGNIZED: &str = "the file content is not recognized";

/// The keys of `result`.
const KEYS: &[&str] = &["skipped", "skip_reason", "ignore", "violations", "findings"];

/// Fields that name a finding, the first that is there.
const IDS: &[&str] = &["id", "external_id", "rule_id", "vulnerability_id", "cve"];

/// What a package said.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub skipped: bool,
    pub ignored: bool,
    pub reason: Option<String>,
    pub items: Vec<Item>,
}

/// Something that a package found.
#[derive(Debug, PartialEq)]
pub(super) struct Item {
    pub class: Class,
    /// Which of the package's parts said it.
    pub part: usize,
    pub message: String,
    pub severity: Option<String>,
    pub id: Option<String>,
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// Takes the answer to a package's query apart.
pub(super) fn read(parts: &[Part], output: &QueryOutput) -> Result<Said, Error> {
    let broken = || Error::new(crate::ErrorKind::Internal, "the verdict's query has no answer");
    let Some(Value::Array(values)) = output.value() else { return Err(broken()) };
    if values.len() != parts.len() {
        return Err(broken());
    }
    let mut said = Said::default();
    let (mut violations, mut findings) = (Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    for (index, (part, value)) in parts.iter().zip(values.iter()).enumerate() {
        let value = match value {
            Value::Array(one) => one.first(),
            _ => return Err(broken()),
        };
        let at = Place { part, index, what: format!("`{}`", part.name) };
        match part.role {
            Role::Result => return result(&at, value),
            Role::Violations => violations.extend(list(&at, value, Class::Violation)?),
            Role::Findings => findings.extend(list(&at, value, Class::Finding)?),
            Role::Warnings => warnings.extend(list(&at, value, Class::Warning)?),
            Role::Skipped => said.skipped |= value.map_or(Ok(false), |v| at.boolean(v))?,
            Role::Ignore => said.ignored |= value.map_or(Ok(false), |v| at.boolean(v))?,
            Role::SkipReason => said.reason = reason(&at, value)?,
            Role::ValidInput => {}
        }
    }
    let valid = parts.iter().zip(values.iter()).find(|(part, _)| part.role == Role::ValidInput);
    if let Some((part, value)) = valid {
        let at = Place { part, index: 0, what: format!("`{}`", part.name) };
        let valid = match value {
            Value::Array(one) => one.first().map_or(Ok(false), |v| at.boolean(v))?,
            _ => return Err(broken()),
        };
        if !valid {
            said.skipped = true;
            said.reason = said.reason.or_else(|| Some(NOT_RECOGNIZED.to_owned()));
        }
    }
    said.items = combined(parts, violations, findings);
    said.items.extend(warnings);
    Ok(said)
}

/// Findings win over `violations`, which say the same in plain words; other rules stay.
fn combined(parts: &[Part], mut violations: Vec<Item>, findings: Vec<Item>) -> Vec<Item> {
    if !findings.is_empty() {
        violations.retain(|item| parts.get(item.part).is_some_and(|p| p.name != "violations"));
    }
    violations.extend(findings);
    violations
}

/// The rule `result`.
fn result(at: &Place<'_>, value: Option<&Value>) -> Result<Said, Error> {
    let Some(value) = value else {
        return Err(at.wrong("is undefined, which isn't a verdict", "give it a `default`"));
    };
    let Value::Object(object) = value else {
        return Err(at.wrong(
            format!("is {}, not an object", describe(value)),
            "it is an object with `violations` or `findings`",
        ));
    };
    for key in object.keys() {
        let Value::String(key) = key else {
            return Err(at.wrong("has a key that isn't a string", "its keys are names"));
        };
        // Other fields are the author's own, but not those that were meant to be one of these.
        if !KEYS.contains(&key.as_ref())
            && let Some(near) = nearest(key, KEYS.iter().copied())
        {
            let message = format!("has the unknown field `{}`", shorten(key, 60));
            return Err(at.wrong(message, format!("did you mean `{near}`?")));
        }
    }
    for (key, value) in object.iter() {
        let Value::String(key) = key else { continue };
        if is_verdict_rule(key) && !is_empty(value) {
            let message = format!("has `{}`, which nothing would look at", shorten(key, 60));
            return Err(at.wrong(message, "what fails stands in `violations` or `findings`"));
        }
    }
    let field = |name: &str| object.get(&Value::from(name));
    let inside = |name: &str| Place { what: format!("`{name}` of `result`"), ..*at };
    let flag = |name: &str| field(name).map_or(Ok(false), |value| inside(name).boolean(value));
    let (skipped, ignored) = (flag("skipped")?, flag("ignore")?);
    let reason = reason(&inside("skip_reason"), field("skip_reason"))?;
    let (violations, findings) = (field("violations"), field("findings"));
    if !skipped && violations.is_none() && findings.is_none() {
        return Err(at.wrong(
            "has neither `violations` nor `findings`, which isn't a verdict",
            "give it `violations`, empty when there is none",
        ));
    }
    let items = |name, value: Option<&Value>, class| match value {
        Some(_) => list(&inside(name), value, class),
        None => Ok(Vec::new()),
    };
    let violations = items("violations", violations, Class::Violation)?;
    let findings = items("findings", findings, Class::Finding)?;
    let items = if findings.is_empty() { violations } else { findings };
    Ok(Said { skipped, ignored, reason, items })
}

/// An empty reason is none.
fn reason(at: &Place<'_>, value: Option<&Value>) -> Result<Option<String>, Error> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string()).filter(|text| !text.is_empty())),
        Some(other) => {
            Err(at.wrong(format!("is {}, not a string", describe(other)), "say why in a string"))
        }
    }
}

/// True if a field of `result` has the name of a rule that would say something on its own.
fn is_verdict_rule(name: &str) -> bool {
    matches!(name, "deny" | "violation" | "warn")
        || name.starts_with("deny_")
        || name.starts_with("warn_")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Set(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    }
}

/// A list of violations, findings or warnings.
fn list(at: &Place<'_>, value: Option<&Value>, class: Class) -> Result<Vec<Item>, Error> {
    let ordered: Vec<&Value> = match value {
        None => {
            return Err(at.wrong(
                "is undefined, which isn't a verdict",
                "write it with `contains`, or give it a `default`",
            ));
        }
        Some(Value::Set(set)) => set.iter().collect(),
        Some(Value::Array(array)) => array.iter().collect(),
        Some(other) => {
            return Err(at.wrong(
                format!("is {}, not a set or an array", describe(other)),
                "write it with `contains`",
            ));
        }
    };
    ordered.into_iter().map(|value| item(at, value, class)).collect()
}

fn item(at: &Place<'_>, value: &Value, class: Class) -> Result<Item, Error> {
    let of = match class {
        Class::Violation => "a violation",
        Class::Finding => "a finding",
        Class::Warning => "a warning",
    };
    let mut found = Item {
        class,
        part: at.index,
        message: String::new(),
        severity: None,
        id: None,
        fields: serde_json::Map::new(),
    };
    match value {
        Value::String(text) if class != Class::Finding => found.message = text.to_string(),
        Value::Object(_) => {
            found.fields = fields(value)?;
            match found.fields.remove("message") {
                Some(serde_json::Value::String(text)) => found.message = text,
                other => {
                    let how = if other.is_some() {
                        "a `message` that isn't a string"
                    } else {
                        "no `message`"
                    };
                    return Err(at.wrong(
                        format!("holds {of} with {how}"),
                        "say what is wrong in its string `message`",
                    ));
                }
            }
            found.severity = found.fields.remove("severity").map(|severity| match severity {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            });
            found.id = id(&found.fields);
        }
        other => {
            let wanted = if class == Class::Finding {
                "a finding is an object with a string `message`"
            } else {
                "it is a string, or an object with a string `message`"
            };
            return Err(at.wrong(format!("holds {of} that is {}", describe(other)), wanted));
        }
    }
    Ok(found)
}

fn id(fields: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    IDS.iter().find_map(|name| fields.get(*name).and_then(text)).or_else(|| {
        fields.get("vulnerability").and_then(|inner| text(inner).or_else(|| text(inner.get("id")?)))
    })
}

fn fields(value: &Value) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
    let broken = |error: serde_json::Error| {
        Error::new(crate::ErrorKind::Internal, "a violation can't be written as JSON")
            .with_source(error)
    };
    match serde_json::from_str(&compact(value)?).map_err(broken)? {
        serde_json::Value::Object(fields) => Ok(fields),
        _ => Ok(serde_json::Map::new()),
    }
}

/// What is being read, for errors.
struct Place<'a> {
    part: &'a Part,
    index: usize,
    what: String,
}

impl Place<'_> {
    fn boolean(&self, value: &Value) -> Result<bool, Error> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(self.wrong(
                format!("is {}, not `true` or `false`", describe(other)),
                "make it a boolean",
            )),
        }
    }

    /// An error about this place.
    fn wrong(&self, message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
        let message = format!("{} {}", self.what, message.as_ref());
        Error::policy(vec![
            Diagnostic::error("wrong-shape", message)
                .with_hint(hint.as_ref())
                .at(self.part.position.clone()),
        ])
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;

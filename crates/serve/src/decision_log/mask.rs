//! Masks: values that `data.system.log.mask` removes from an entry, or replaces in it.

use percent_encoding::percent_decode_str;
use rego_platform::evaluate::compact;
use rego_platform::{Error, Value};

/// The parts of an entry that can be masked.
const MASKABLE: [&str; 4] = ["input", "result", "nd_builtin_cache", "error"];

/// The part that has messages about the others.
const ERROR: &str = "error";

/// A change of an entry.
struct Rule {
    /// The part of the entry and the path within it.
    path: Vec<String>,
    /// The path as it is recorded in the entry.
    shown: String,
    /// The replacement of the value; without one, the value is removed.
    replacement: Option<Value>,
}

fn invalid_mask(message: String) -> Error {
    Error::policy_failed(message)
        .with_hint("`data.system.log.mask` has paths such as `/input/password`")
}

impl Rule {
    fn of(rule: &Value) -> Result<Self, Error> {
        if let Some(path) = rule.as_str() {
            return Self::at(path, None);
        }
        let shown = || rego_platform::text::shorten(&rule.to_json(), 80);
        let path = rule.get_str("path").and_then(Value::as_str);
        let path =
            path.ok_or_else(|| invalid_mask(format!("the mask `{}` has no path", shown())))?;
        match rule.get_str("op").and_then(Value::as_str) {
            Some("remove") => Self::at(path, None),
            Some("upsert") => {
                let value = rule.get_str("value").cloned().unwrap_or(Value::Null);
                Self::at(path, Some(value))
            }
            _ => Err(invalid_mask(format!("the mask `{}` neither removes nor upserts", shown()))),
        }
    }

    fn at(shown: &str, replacement: Option<Value>) -> Result<Self, Error> {
        let invalid = || {
            invalid_mask(format!("the mask `{}` isn't a path", rego_platform::text::escape(shown)))
        };
        let parts = shown.strip_prefix('/').ok_or_else(invalid)?.split('/');
        let path: Vec<String> = parts
            .map(|part| percent_decode_str(part).decode_utf8().map(Into::into))
            .collect::<Result<_, _>>()
            .map_err(|_| invalid())?;
        if !path.first().is_some_and(|first| MASKABLE.contains(&first.as_str())) {
            let message = format!(
                "unsupported path of the mask `{}`: expected one of input, result, calls or error",
                rego_platform::text::escape(shown)
            );
            return Err(invalid_mask(message));
        }
        Ok(Self { path, shown: shown.to_owned(), replacement })
    }

    /// Changes the entry. Returns `false` if it has no such path.
    fn apply(&self, entry: &mut Value) -> bool {
        let is_there = self.path.first().is_some_and(|part| entry.get_str(part).is_some());
        is_there
            && match &self.replacement {
                Some(value) => upsert(entry, &self.path, value),
                None => remove(entry, &self.path),
            }
    }
}

/// Applies the rules of a mask to an entry, and records in it which of them changed it.
///
/// # Errors
/// When a rule isn't one.
pub(super) fn apply(mut entry: Value, rules: &Value) -> Result<Value, Error> {
    let rules: Vec<&Value> = match rules {
        Value::Set(rules) => rules.iter().collect(),
        Value::Array(rules) => rules.iter().collect(),
        other => return Err(invalid_mask(format!("the mask is {}, not a set", other.type_name()))),
    };
    if rules.is_empty() {
        return Ok(entry);
    }
    // As JSON has it: without sets, and with strings as keys.
    let text = compact(&entry)?;
    entry = Value::from_json(&text).map_err(|error| invalid_mask(error.to_string()))?;
    let (mut erased, mut masked, mut hides) = (Vec::new(), Vec::new(), false);
    for rule in rules {
        let rule = Rule::of(rule)?;
        if rule.apply(&mut entry) {
            let noted = if rule.replacement.is_some() { &mut masked } else { &mut erased };
            hides |= rule.path.first().is_some_and(|part| part != ERROR);
            noted.push(Value::from(rule.shown));
        }
    }
    if let Some(members) = entry.as_object_mut() {
        if hides && let Some(error) = members.get_mut(&ERROR.into()) {
            without_messages(error);
        }
        // The result of a route is a report. The result of a document is the policies' own.
        let path = members.get(&"path".into()).and_then(Value::as_str).unwrap_or_default();
        if hides
            && path.starts_with('/')
            && let Some(report) = members.get_mut(&"result".into())
        {
            without_errors(report);
        }
        for (name, noted) in [("erased", erased), ("masked", masked)] {
            if !noted.is_empty() {
                members.insert(name.into(), noted.into());
            }
        }
    }
    Ok(entry)
}

/// Removes the message of an error: it may contain a masked value in any form.
fn without_messages(error: &mut Value) {
    let Some(members) = error.as_object_mut() else { return };
    for name in ["message", "hint"] {
        if let Some(text) = members.get_mut(&name.into()) {
            *text = Value::from("(masked)");
        }
    }
    let inner = members.get_mut(&"errors".into()).and_then(Value::as_array_mut);
    inner.into_iter().flatten().for_each(without_messages);
}

/// Removes the messages of errors of a report, and what repeats them.
fn without_errors(report: &mut Value) {
    if let Some(items) = report.as_array_mut() {
        return items.iter_mut().for_each(without_errors);
    }
    for (name, member) in report.as_object_mut().into_iter().flat_map(|members| members.iter_mut())
    {
        match (name.as_str(), &mut *member) {
            (Some("error"), Value::String(_)) => *member = Value::from("(masked)"),
            (Some("error" | "failure" | "status"), _) => without_messages(member),
            (Some("reasons" | "notes" | "warnings"), Value::Array(_)) => {
                let texts = member.as_array_mut();
                texts.into_iter().flatten().for_each(|text| *text = Value::from("(masked)"));
            }
            _ => without_errors(member),
        }
    }
}

fn position(part: &str, length: usize) -> Option<usize> {
    part.parse().ok().filter(|index| *index < length)
}

fn remove(value: &mut Value, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    if let Some(members) = value.as_object_mut() {
        let key = Value::from(first.as_str());
        return match rest {
            [] => members.remove(&key).is_some(),
            rest => members.get_mut(&key).is_some_and(|member| remove(member, rest)),
        };
    }
    let Some(items) = value.as_array_mut() else { return false };
    let Some(index) = position(first, items.len()) else { return false };
    match rest {
        [] => {
            items.remove(index);
            true
        }
        rest => items.get_mut(index).is_some_and(|item| remove(item, rest)),
    }
}

/// Puts a value at a path, with the objects on the way there that don't exist.
fn upsert(value: &mut Value, path: &[String], new: &Value) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *value = new.clone();
        return true;
    };
    if let Some(members) = value.as_object_mut() {
        let key = Value::from(first.as_str());
        if members.get(&key).is_none() {
            members.insert(key.clone(), Value::new_object());
        }
        return members.get_mut(&key).is_some_and(|member| upsert(member, rest, new));
    }
    let Some(items) = value.as_array_mut() else { return false };
    let index = position(first, items.len());
    index.and_then(|index| items.get_mut(index)).is_some_and(|item| upsert(item, rest, new))
}

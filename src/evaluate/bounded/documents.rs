//! JSON and YAML documents.

use std::sync::LazyLock;

use regex::Regex;
use regorus::Value;

use super::arguments::{any, members, string};
use super::{Fault, Outcome, Scope, differs, native, size};
use crate::evaluate::output;
use crate::evaluate::sources::json;

/// `json.marshal(document)`, with the characters escaped that HTML gives a meaning.
pub(super) fn marshal(scope: &Scope, args: &[Value]) -> Outcome {
    let document = any(args, 0)?;
    size::string(scope, size::written(scope, document)?)?;
    Ok(Value::from(output::compact(document).map_err(Fault::Refused)?))
}

/// `json.marshal_with_options(document, options)`.
pub(super) fn marshal_with_options(scope: &Scope, args: &[Value]) -> Outcome {
    // Each line is indented; there are no more lines than parts, and depth times indent of each.
    let text = size::written(scope, any(args, 0)?)?;
    let options = size::written(scope, any(args, 1)?)?;
    size::string(scope, text.saturating_mul(options.saturating_add(1)))?;
    match native::call(scope, "json.marshal_with_options", args)? {
        Value::String(text) if for_html(&text) == *text => Ok(Value::String(text)),
        Value::String(_) => differs("a document with characters that HTML gives a meaning"),
        other => Ok(other),
    }
}

fn for_html(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// `json.unmarshal(text)`: the memory that the document will take is charged.
pub(super) fn unmarshal(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    size::bytes(scope, text.len() as u64 * 4)?;
    // What isn't JSON is an error in any case.
    if let Some((_, message)) = json::misread(text) {
        return differs(message);
    }
    native::call(scope, "json.unmarshal", args)
}

/// `json.is_valid(text)`.
pub(super) fn is_valid(scope: &Scope, args: &[Value]) -> Outcome {
    size::bytes(scope, string(args, 0)?.len() as u64 * 4)?;
    native::call(scope, "json.is_valid", args)
}

/// Plain scalars that YAML 1.1, which OPA reads, and 1.2, which regorus reads, take for different
/// things, and what only one of them knows. It may find too much in texts, never too little.
static DISPUTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?m)(?:^|[\s\[{,]|["'\]}]:)("#,
        r"y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF",
        r"|<<|!\S*|=",
        r"|[-+]?0[0-9_]+|[-+]?0o[0-7_]+|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*_[0-9_.]*|[-+]?[0-9][0-9_.]*(?::[0-5]?[0-9](?:\.[0-9]*)?)+",
        r"|\+[0-9.][0-9._eE+-]*|[-+]?[0-9._]+[eE][0-9]+",
        r")(?:\s|$|[,\]}:])",
    ))
    .ok()
});

/// `yaml.unmarshal(text)`, where all versions of YAML agree on what it says.
pub(super) fn yaml_unmarshal(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    size::bytes(scope, text.len() as u64 * 8)?;
    match &*DISPUTED {
        Some(disputed) => {
            if let Some(found) = disputed.captures(text).and_then(|found| found.get(1)) {
                let found = crate::text::shorten(found.as_str(), 30);
                return differs(format!("versions of YAML disagree about `{found}`: quote it"));
            }
        }
        None => return differs("YAML can't be checked"),
    }
    if text.contains(['$', '\\'])
        && let Ok(document) = yaml_serde::from_str(text)
        && has_private_key(&document)
    {
        return differs(format!("the key `{}` means something else here", json::NUMBER_KEY));
    }
    native::call(scope, "yaml.unmarshal", args)
}

/// Whether an object has the key that would make a number of it.
fn has_private_key(document: &yaml_serde::Value) -> bool {
    match document {
        yaml_serde::Value::Sequence(items) => items.iter().any(has_private_key),
        yaml_serde::Value::Mapping(fields) => fields.iter().any(|(key, value)| {
            key.as_str() == Some(json::NUMBER_KEY) || has_private_key(key) || has_private_key(value)
        }),
        yaml_serde::Value::Tagged(tagged) => has_private_key(&tagged.value),
        _ => false,
    }
}

/// `yaml.marshal(document)`, where it needs no quotes, which OPA chooses otherwise.
pub(super) fn yaml_marshal(scope: &Scope, args: &[Value]) -> Outcome {
    // Indentation: two columns for each level, on each line.
    size::string(scope, size::written(scope, any(args, 0)?)?.saturating_mul(8))?;
    match native::call(scope, "yaml.marshal", args)? {
        Value::String(text) if text.contains(['\'', '"', '|', '>']) => {
            differs("a document with strings that YAML has to quote: use json.marshal")
        }
        Value::String(text)
            if DISPUTED.as_ref().is_none_or(|disputed| disputed.is_match(&text)) =>
        {
            differs(
                "a document with strings that versions of YAML disagree about: use json.marshal",
            )
        }
        other => Ok(other),
    }
}

/// Paths of `json.remove` and `json.filter` that regorus reads as OPA does.
pub(super) fn paths(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    for path in members(args, 1)? {
        if let Value::String(path) = path
            && (path.starts_with('/') || path.contains('~'))
        {
            return differs("a path that begins with `/` or has a `~`: write it as an array");
        }
        if ends_early(any(args, 0)?, path) {
            return differs("a path that goes on below a value that is no array or object");
        }
    }
    Ok(0)
}

/// Whether `path` goes through a scalar of `document`.
fn ends_early(document: &Value, path: &Value) -> bool {
    let steps: Vec<Value> = match path {
        Value::String(path) => path.split('/').map(Value::from).collect(),
        Value::Array(path) => path.iter().cloned().collect(),
        _ => return false,
    };
    let mut at = document;
    for step in &steps {
        let below = match at {
            Value::Object(object) => object.get(step),
            Value::Array(array) => {
                let index = match step {
                    Value::String(text) => text.parse::<usize>().ok(),
                    other => other.as_u64().ok().and_then(|index| usize::try_from(index).ok()),
                };
                index.and_then(|index| array.get(index))
            }
            Value::Set(set) => set.get(step),
            _ => return true,
        };
        match below {
            Some(below) => at = below,
            None => return false,
        }
    }
    false
}

/// `json.match_schema` and `json.verify_schema`: regorus knows other drafts and formats.
pub(super) fn schema(_: &Scope, _: &[Value]) -> Outcome {
    differs("schemas are checked by other rules than OPA's here: check the fields in the policy")
}

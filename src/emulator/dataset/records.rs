//! Resources as JSON, built from the data files and checked against their tables.
//!
//! Owns references to users, which the files write as emails, and the position of a problem in a
//! nested field.

use serde_json::{Map, Value};

use super::super::schema::{Resource, Type, USER};
use super::files::{Problems, Source, code};
use super::identity::Identity;

/// Returns the text of a field; empty if it is absent.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns `base` with these fields, which replace those of the same name.
pub(in crate::emulator) fn with<const N: usize>(
    mut base: Value,
    fields: [(&str, Value); N],
) -> Value {
    if let Value::Object(base) = &mut base {
        base.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    }
    base
}

/// Returns `record` without `null` fields, and with users in full. A record that doesn't match
/// `resource` is a problem.
pub(super) fn finish(
    resource: &'static Resource,
    record: Value,
    source: &Source,
    identity: &Identity,
    problems: &mut Problems,
) -> Value {
    let mut record = compact(record);
    let filled = fill(resource, &mut record, identity).and_then(|()| resource.check(&record));
    if let Err((needle, message)) = filled {
        problems.push(source.at(&needle, 0, code::CONTENT, message));
    }
    record
}

/// Returns `record` without `null` fields.
pub(super) fn compact(record: Value) -> Value {
    match record {
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Replaces emails by users.
fn fill(
    resource: &'static Resource,
    record: &mut Value,
    identity: &Identity,
) -> Result<(), (String, String)> {
    let Value::Object(fields) = record else { return Ok(()) };
    for (key, of) in resource.fields {
        if let Some(value) = fields.get_mut(*key) {
            fill_field(key, of, value, identity)?;
        }
    }
    Ok(())
}

fn fill_field(
    key: &str,
    of: &'static Type,
    value: &mut Value,
    identity: &Identity,
) -> Result<(), (String, String)> {
    match (of, &mut *value) {
        (Type::Of(user), Value::String(email)) if user.name == USER.name => {
            let Some(user) = identity.user_by_email(email) else {
                let message = format!("there is no user `{email}` in `users.yaml`");
                return Err((format!("{key}: {email}"), message));
            };
            *value = user;
            Ok(())
        }
        (Type::Of(resource), value) => fill(resource, value, identity),
        (Type::List(of), Value::Array(items)) => {
            items.iter_mut().try_for_each(|item| fill_field(key, of, item, identity))
        }
        (Type::Keyed(resource), Value::Object(map)) => {
            map.values_mut().try_for_each(|value| fill(resource, value, identity))
        }
        _ => Ok(()),
    }
}

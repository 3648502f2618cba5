//! Resources as JSON, built from the data files and checked against their tables.
//!
//! Owns references to users, which the files write as emails, and the position of a problem in a
//! nested field.

use serde_json::Value;

use super::super::schema::{Resource, Type, USER};
use super::fields::compact;
use super::files::{Source, code};
use super::identity::Identity;

/// Returns `record` without `null` fields, and with users in full. A record that doesn't match
/// `resource` is a problem.
pub(super) fn finish(
    resource: &'static Resource,
    record: Value,
    source: &Source,
    identity: &Identity,
) -> Value {
    let mut record = compact(record);
    let filled = fill(resource, &mut record, identity).and_then(|()| resource.check(&record));
    if let Err((needle, message)) = filled {
        source.report(&needle, 0, code::CONTENT, message);
    }
    record
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
                let message = format!("unknown user `{email}`: not in `users.yaml`");
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

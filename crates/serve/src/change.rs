//! Changes of data, as OPA's store has them: operations at paths.

use axum::http::StatusCode;
use rego_platform::Value;

use super::answer::Refusal;

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Sets a member, or inserts an element before the one with this index; `-` is behind the last.
    Add,
    Remove,
    /// Sets what is there.
    Replace,
}

/// A change of data.
#[derive(Debug)]
pub(crate) struct Change {
    pub operation: Operation,
    pub path: Vec<String>,
    pub value: Value,
}

fn not_found(message: &str) -> Refusal {
    let message = format!("storage_not_found_error: {message}");
    Refusal::new(StatusCode::NOT_FOUND, "resource_not_found", message)
}

fn missing() -> Refusal {
    not_found("document does not exist")
}

impl Change {
    /// Reads the changes of a request (JSON Patch), each below a path.
    pub fn list(below: &[String], document: &Value) -> Result<Vec<Self>, Refusal> {
        let list = document.as_array();
        let list = list.ok_or_else(|| Refusal::invalid("the body isn't an array of operations"))?;
        list.iter().map(|one| Self::parse(below, one)).collect()
    }

    fn parse(below: &[String], one: &Value) -> Result<Self, Refusal> {
        let text = |name: &str| one.get_str(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("op") {
            "add" => Operation::Add,
            "remove" => Operation::Remove,
            "replace" => Operation::Replace,
            other => {
                let shown = rego_platform::text::shorten(other, 80);
                return Err(Refusal::invalid(format!("bad patch operation: {shown}")));
            }
        };
        let given = text("path");
        let given = given.strip_prefix('/').unwrap_or(given);
        let parts = given.split('/').filter(|_| !given.is_empty());
        let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
        Ok(Self {
            operation,
            path: below.iter().cloned().chain(parts).collect(),
            value: one.get_str("value").cloned().unwrap_or_default(),
        })
    }

    /// Applies the change.
    pub fn apply(self, data: &mut Value) -> Result<(), Refusal> {
        let Self { operation, path, value } = self;
        let Some((last, parents)) = path.split_last() else {
            if operation == Operation::Remove || !matches!(value, Value::Object(_)) {
                let message = "storage_invalid_patch_error: root must be object";
                return Err(Refusal::invalid(message));
            }
            *data = value;
            return Ok(());
        };
        let mut parent = data;
        for (depth, part) in parents.iter().enumerate() {
            parent = match parent {
                Value::Array(items) => {
                    let at = index(part, items.len(), path.get(..=depth).unwrap_or_default())?;
                    parent.as_array_mut().and_then(|items| items.get_mut(at))
                }
                _ => parent
                    .as_object_mut()
                    .and_then(|members| members.get_mut(&Value::from(part.as_str()))),
            }
            .ok_or_else(missing)?;
        }
        if let Some(members) = parent.as_object_mut() {
            let key = Value::from(last.as_str());
            if operation != Operation::Add && members.get(&key).is_none() {
                return Err(missing());
            }
            if operation == Operation::Remove {
                members.remove(&key);
            } else {
                members.insert(key, value);
            }
            return Ok(());
        }
        let Some(items) = parent.as_array_mut() else { return Err(missing()) };
        let length = items.len();
        match operation {
            Operation::Add if last == "-" => items.push(value),
            Operation::Add => items.insert(index(last, length.saturating_add(1), &path)?, value),
            Operation::Remove => {
                items.remove(index(last, length, &path)?);
            }
            Operation::Replace => {
                let at = index(last, length, &path)?;
                if let Some(item) = items.get_mut(at) {
                    *item = value;
                }
            }
        }
        Ok(())
    }
}

/// Returns the index that a part of a path is, below `length`.
fn index(part: &str, length: usize, path: &[String]) -> Result<usize, Refusal> {
    let shown = || rego_platform::text::shorten(&path.join("/"), 200);
    let number: usize = part
        .parse()
        .map_err(|_| not_found(&format!("/{}: array index must be integer", shown())))?;
    if number < length {
        return Ok(number);
    }
    Err(not_found(&format!("/{}: array index out of range", shown())))
}

/// Makes the objects on the way to a path that aren't there.
pub(crate) fn make_parents(data: &mut Value, path: &[String]) -> Result<(), Refusal> {
    let Some((_, parents)) = path.split_last() else { return Ok(()) };
    let mut below = data;
    for depth in 0..=parents.len() {
        let Some(members) = below.as_object_mut() else {
            let at = path.get(..depth).unwrap_or_default().join("/");
            let shown = rego_platform::text::shorten(&at, 200);
            let message = format!("storage_write_conflict_error: /{shown}");
            return Err(Refusal::new(StatusCode::NOT_FOUND, "resource_conflict", message));
        };
        let Some(part) = parents.get(depth) else { return Ok(()) };
        let key = Value::from(part.as_str());
        if members.get(&key).is_none() {
            members.insert(key.clone(), Value::new_object());
        }
        let Some(next) = members.get_mut(&key) else { return Ok(()) };
        below = next;
    }
    Ok(())
}

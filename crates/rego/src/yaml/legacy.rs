//! The booleans that only YAML 1.1 has: `yes`, `no`, `on`, `off`, `y`, `n`.
//!
//! A reading of YAML 1.2 takes them for strings. These are the same strings in memory wherever they go, so that what
//! depends on them is known: a policy that compares one, or tests it, has two answers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::value::{Text, Value, deeper};

/// The spellings that go-yaml 2 takes for booleans, and so Kubernetes and conftest.
static BOOLEANS: LazyLock<Vec<(Text, bool)>> = LazyLock::new(|| {
    let yes = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"];
    let no = ["n", "N", "no", "No", "NO", "off", "Off", "OFF"];
    let texts = |all: [&'static str; 8], is| all.map(|text| (Text::from(text), is));
    texts(yes, true).into_iter().chain(texts(no, false)).collect()
});

/// `true` once a text has one.
static ANY: AtomicBool = AtomicBool::new(false);

/// Returns a spelling of a boolean.
fn word(text: &str) -> Option<&'static Text> {
    if text.len() > 3 {
        return None;
    }
    BOOLEANS.iter().map(|(own, _)| own).find(|own| ***own == *text)
}

/// Returns `true` for a plain scalar that YAML 1.1 takes for a boolean.
pub(crate) fn is_word(text: &str) -> bool {
    word(text).is_some()
}

/// Returns the string for a plain scalar that YAML 1.1 takes for a boolean.
pub(super) fn string(text: &str) -> Option<Value> {
    let own = word(text)?;
    ANY.store(true, Ordering::Relaxed);
    Some(Value::String(own.clone()))
}

/// Returns what a string is in YAML 1.1, if that is a boolean.
pub fn boolean(text: &Text) -> Option<bool> {
    let is = |(own, _): &&(Text, bool)| Text::ptr_eq(own, text);
    let any = text.len() <= 3 && ANY.load(Ordering::Relaxed);
    any.then(|| BOOLEANS.iter().find(is).map(|(_, is)| *is)).flatten()
}

/// A value as YAML 1.1 reads it, where that differs.
#[derive(Debug, Clone)]
pub struct Legacy {
    /// The value.
    pub value: Value,
    /// The keys and indexes that lead to the first scalar that differs, and its text.
    pub path: Vec<Value>,
    /// The text of this scalar.
    pub text: Text,
}

/// Returns a value as YAML 1.1 reads it; `None` if that is the same. Keys stay as they are.
pub fn legacy(value: &Value) -> Option<Legacy> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    let mut first = None;
    let value = converted(value, &mut Vec::new(), &mut first)?;
    let (path, text) = first?;
    Some(Legacy { value, path, text })
}

type First = Option<(Vec<Value>, Text)>;

fn converted(value: &Value, at: &mut Vec<Value>, first: &mut First) -> Option<Value> {
    let mut within = |key: Value, value: &Value| {
        at.push(key);
        let own = deeper(|| converted(value, at, first));
        at.pop();
        own
    };
    match value {
        Value::String(text) => {
            let is = boolean(text)?;
            first.get_or_insert_with(|| (at.clone(), text.clone()));
            Some(Value::Bool(is))
        }
        Value::Array(items) => {
            let mut own = None;
            for (index, item) in items.iter().enumerate() {
                if let Some(new) = within(Value::from(index), item)
                    && let Some(old) = own.get_or_insert_with(|| items.to_vec()).get_mut(index)
                {
                    *old = new;
                }
            }
            own.map(Value::from)
        }
        Value::Object(members) => {
            let mut own = None;
            for (key, member) in members.iter() {
                if let Some(new) = within(key.clone(), member) {
                    own.get_or_insert_with(|| (**members).clone()).insert(key.clone(), new);
                }
            }
            own.map(Value::from)
        }
        _ => None,
    }
}

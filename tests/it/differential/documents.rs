//! The data and the input of generated cases, and where in them a value of a kind may be.

use serde_json::{Value, json};

use super::plan::Kind;
use super::random::Random;

/// The base documents, below the case's root package.
pub(super) fn data(root: &str, random: &mut Random) -> Value {
    let mut conf = json!({
        "limit": random.below(6),
        "owner": random.pick(&TEXTS),
        "flag": random.chance(50),
        "numbers": numbers(random),
        "levels": levels(random),
    });
    forget(&mut conf, random);
    let mut items = json!([
        {"id": "a", "n": random.below(5)}, {"id": "b", "n": random.below(5)}, {"id": "c"},
    ]);
    // Which of them has no number, and so comes first, in the middle or last.
    if let Value::Array(items) = &mut items {
        items.rotate_left(random.below(3));
    }
    json!({ root: { "conf": conf, "items": items } })
}

/// The input; each field is missing now and then.
pub(super) fn input(random: &mut Random) -> Value {
    let mut input = json!({
        "n": random.below(6),
        "user": random.pick(&TEXTS),
        "ok": random.chance(50),
        "xs": numbers(random),
        "m": levels(random),
        "deep": {"er": {"n": random.below(4)}, "list": [1, random.below(4), null]},
    });
    forget(&mut input, random);
    input
}

pub(super) const TEXTS: [&str; 6] = ["a", "b", "c", "alice", "", "x-y"];

fn numbers(random: &mut Random) -> Vec<usize> {
    (0..random.below(4)).map(|_| random.below(6)).collect()
}

fn levels(random: &mut Random) -> Value {
    let mut levels = serde_json::Map::new();
    for key in ["a", "b", "alice"] {
        if random.chance(60) {
            levels.insert(key.to_owned(), random.below(6).into());
        }
    }
    levels.into()
}

fn forget(object: &mut Value, random: &mut Random) {
    if let Value::Object(fields) = object {
        fields.retain(|_, _| !random.chance(12));
    }
}

/// Where the input has a value of `kind`; below `input`.
pub(super) fn in_input(kind: Kind, random: &mut Random) -> &'static str {
    match kind {
        Kind::Bool => "ok",
        Kind::Number => *random.pick::<&str>(&["n", "n", "deep.er.n", "xs[0]", "m.a", "m[\"b\"]"]),
        Kind::Text => "user",
        Kind::Numbers => "xs",
        Kind::Texts => "",
        Kind::Levels => "m",
    }
}

/// Where the base documents have a value of `kind`; below `conf`.
pub(super) fn in_conf(kind: Kind, random: &mut Random) -> &'static str {
    match kind {
        Kind::Bool => "flag",
        Kind::Number => *random.pick::<&str>(&["limit", "limit", "numbers[1]", "levels.a"]),
        Kind::Text => "owner",
        Kind::Numbers => "numbers",
        Kind::Texts => "",
        Kind::Levels => "levels",
    }
}

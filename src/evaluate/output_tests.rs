#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use super::*;
use crate::evaluate::query::tests::ask;

/// Blocks of `== format query`, each followed by what `opa eval --format` prints.
#[test]
fn formats_are_opas() {
    let mut wrong = Vec::new();
    for block in include_str!("output_answers.txt").split("\n== ").skip(1) {
        let (head, theirs) = block.split_once('\n').unwrap();
        let (name, query) = head.split_once(' ').unwrap();
        let format = match name {
            "json" => Format::Json,
            "pretty" => Format::Pretty,
            "raw" => Format::Raw,
            "values" => Format::Values,
            _ => Format::Bindings,
        };
        let ours = write(&ask(query).unwrap(), format).unwrap();
        if ours != theirs {
            wrong.push(format!("{head}\nours:\n{ours}\ntheirs:\n{theirs}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn undefined_never_becomes_text() {
    for value in [Value::Undefined, Value::from(vec![Value::Undefined])] {
        assert!(compact(&value).is_err());
        assert!(pretty(&value).is_err());
    }
}

#[test]
fn keys_that_are_one_in_json_are_an_error() {
    let error =
        compact(&crate::evaluate::bounded::tests::eval(r#"{1: "a", "1": "b"}"#).unwrap().unwrap());
    assert!(error.unwrap_err().to_string().contains("both `1`"));
}

//! Tests and rules that are run from the text.

use serde_json::{Value, json};

use crate::editor::Editor;

const POLICY: &str = "package p\n\nimport data.lib\n\nallow if input.user in lib.users\n\nf(x) := x\n\n\
    asks := platform.discover(input.image, \"\")\n\nempty if input.nobody\n";

#[test]
fn tests_and_rules_run_on_the_texts_of_the_editor() {
    let image = format!("sha256:{}", "0".repeat(64));
    let mut editor = Editor::new(&[
        ("p.rego", POLICY),
        ("lib.rego", "package lib\n\nusers := {\"ann\"}\n"),
        (
            "brackets.rego",
            "package a[\"b-c\"]\n\nx := 1\n\ntest_x if x == 1\n\ntest_x if x == 2\n\ntest_xs if x == 3\n",
        ),
        ("wrong.rego", "package wrong\n\nx := y\n"),
        ("input.json", &json!({"user": "ann", "image": image}).to_string()),
        (
            "p_test.rego",
            "package p_test\n\nimport data.p\n\ntest_ann if p.allow with input.user as \
             \"ann\"\n\ntest_bob if {\n\tprint(\"asked\")\n\tp.allow with input.user as \"bob\"\n}\n",
        ),
    ]);
    let mut run = |file: &str, rule: &str| {
        let uri = editor.uri(file);
        let lenses = editor.ask("textDocument/codeLens", json!({"textDocument": {"uri": uri}}));
        let lenses = lenses.unwrap();
        let path = |lens: &&Value| {
            lens["command"]["arguments"][1].as_array().unwrap().last().unwrap() == rule
        };
        let command = lenses.as_array().unwrap().iter().find(path).unwrap()["command"].clone();
        let arguments = command["arguments"].clone();
        let params = json!({"command": command["command"], "arguments": arguments});
        (command["title"].clone(), editor.ask("workspace/executeCommand", params))
    };
    let (title, value) = run("p.rego", "allow");
    assert_eq!(title, "Evaluate this rule");
    assert_eq!(value.unwrap(), "data.p.allow with input.json: true");
    assert_eq!(run("p.rego", "empty").1.unwrap(), "data.p.empty is undefined with input.json");
    let error = run("p.rego", "asks").1.unwrap_err();
    assert!(
        error.contains(
            "the language server doesn't call the service: run `rego-platform eval` or `test"
        ),
        "{error}"
    );
    let error = run("wrong.rego", "x").1.unwrap_err();
    assert!(error.contains("var y is unsafe"), "{error}");
    let value = run("brackets.rego", "x").1.unwrap();
    assert_eq!(value, "data.a[\"b-c\"].x with input.json: 1");
    let outcome = run("brackets.rego", "test_x").1.unwrap();
    let both = "data.a[\"b-c\"].test_x: passed\ndata.a[\"b-c\"].test_x#01: failed: line 7, \
                `test_x if x == 2` is false\n  x: 1";
    assert_eq!(outcome, both);
    let (title, outcome) = run("p_test.rego", "test_ann");
    assert_eq!(title, "Run this test");
    assert_eq!(outcome.unwrap(), "data.p_test.test_ann: passed");
    let outcome = run("p_test.rego", "test_bob").1.unwrap();
    let outcome = outcome.as_str().unwrap();
    assert!(
        outcome.starts_with("data.p_test.test_bob: failed: line 9, `p.allow with"),
        "{outcome}"
    );
    assert!(outcome.ends_with(": asked"), "{outcome}");
    // A function has no value of its own, and what isn't saved counts.
    editor.open("lib.rego");
    editor.change("lib.rego", "package lib\n\nusers := set()\n");
    let arguments = json!([editor.uri("p.rego"), ["p", "allow"]]);
    let params = json!({"command": "rego-platform.evaluate", "arguments": arguments});
    let value = editor.ask("workspace/executeCommand", params).unwrap();
    assert_eq!(value, "data.p.allow is undefined with input.json");
    let params = json!({"command": "other", "arguments": []});
    let error = editor.ask("workspace/executeCommand", params).unwrap_err();
    assert_eq!(error, "unknown command `other`");
}

//! Completion of what the service answers and is asked.

use serde_json::Value;

use crate::editor::Editor;

#[test]
fn answers_have_fields_and_questions_filters() {
    let mut editor = Editor::new(&[
        ("lib.rego", "package lib\n\nfirst := platform.evidence({}).results[0]\n"),
        ("p.rego", "package p\n"),
    ]);
    editor.open("p.rego");
    let mut complete = |statement: &str| {
        let text = format!(
            "package p\n\nimport data.lib\n\ndeny contains \"x\" if {{\n\t{}\n}}\n",
            statement.replace('|', "")
        );
        editor.change("p.rego", &text);
        let line = statement.rsplit('\n').next().unwrap();
        let found = editor.at("textDocument/completion", "p.rego", line, &Value::Null).unwrap();
        let label = |item: &Value| item["label"].as_str().unwrap().to_owned();
        found.as_array().unwrap().iter().map(label).collect::<Vec<_>>()
    };
    let has = |found: &[String], all: &[&str]| {
        for name in all {
            assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
        }
    };
    has(
        &complete("r := platform.discover(input.image, \"\")\n\tr.|"),
        &["digest", "kind", "references"],
    );
    has(
        &complete("some r in platform.discover(\"\", \"\").references\n\tr.di|"),
        &["digest", "kind"],
    );
    has(&complete("lib.first.|"), &["digest", "id"]);
    let found = complete("platform.evidence({\"|\"})");
    has(&found, &["kind", "search"]);
    assert!(!found.contains(&"CONTAINER_IMAGE".to_owned()), "{found:?}");
    has(&complete("platform.evidence({\"|"), &["kind", "search"]);
    has(&complete("platform.evidence({\"kind\": \"S|\"})"), &["SARIF", "SBOM_CYCLONEDX_JSON"]);
    has(&complete("platform.discover(input.image, \"|\")"), &["CONTAINER_IMAGE"]);
    has(&complete("platform.discover(\"é😀\", \"|\")"), &["CONTAINER_IMAGE"]);
    has(&complete("platform.discover(input.image, \"\").kind == \"|\""), &["SARIF"]);
    // Nothing is known of what else there is.
    assert_eq!(complete("input.image.|"), [""; 0]);
    assert_eq!(complete("input.image == \"|\""), [""; 0]);
}

//! Documents that aren't the files of their paths, files whose addresses are spelt otherwise, and broken ones.

use serde_json::{Value, json};

use crate::editor::{Editor, folder};

const POLICY: &str = "package g\n\ndeny contains \"new\" if input.a\n";
const OLD: &str = "package g\n\ndeny   contains   \"old\" if input.a == undefined_name\n";

fn open(editor: &Editor, uri: &str, text: &str) {
    let document = json!({"uri": uri, "languageId": "rego", "version": 1, "text": text});
    editor.tell("textDocument/didOpen", json!({"textDocument": document}));
}

fn messages(findings: &Value) -> Vec<&str> {
    findings.as_array().unwrap().iter().filter_map(|one| one["message"].as_str()).collect()
}

/// VS Code opens the committed text of a file beside it (`git:`), and sends it to every server.
#[test]
fn a_document_with_another_scheme_is_not_the_file() {
    for scheme in [
        "git:PATH?%7B%22ref%22%3A%22~%22%7D",
        "fugitive://PATH",
        "vscode-notebook-cell:PATH#W0",
        "untitled:PATH",
    ] {
        let mut editor = Editor::new(&[("p.rego", POLICY), ("q.rego", OLD)]);
        editor.open("p.rego");
        let uri = editor.uri("p.rego");
        let path = uri.strip_prefix("file://").unwrap();
        let other = scheme.replace("PATH", path);
        open(&editor, &other, OLD);
        let about = |uri: &str| json!({"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": false}});
        let edits = editor.ask("textDocument/formatting", about(&uri)).unwrap();
        assert!(edits.is_null() || edits == json!([]), "{scheme}: {edits}");
        assert_eq!(editor.ask("textDocument/documentSymbol", about(&other)), Ok(Value::Null));
        editor.tell("textDocument/didClose", json!({"textDocument": {"uri": other}}));
        editor.wait("q.rego", |found| !found.as_array().unwrap().is_empty());
        assert!(editor.found.get("p.rego").is_none_or(|found| messages(found).is_empty()));
    }
}

#[cfg(unix)]
#[test]
fn addresses_that_are_not_escaped_are_read() {
    let text = "package g\n\ndeny contains \"x\" if input.a == undefined_name\n";
    for name in ["teams[2]", "a b", "é|^", "100%"] {
        for is_escaped in [false, true] {
            let folder = folder(&[]);
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("p.rego"), text).unwrap();
            let mut editor = Editor::start(folder, &[]);
            let escaped = editor.uri(&format!("{name}/p.rego"));
            let escaped = escaped.replace('[', "%5B").replace(']', "%5D");
            let plain = format!("file://{}/{name}/p.rego", editor.folder.path().display());
            let uri = if is_escaped { escaped } else { plain };
            open(&editor, &uri, text);
            editor.wait("p.rego", |found| {
                messages(found).iter().any(|one| one.contains("undefined_name"))
            });
            let about = json!({"textDocument": {"uri": uri}});
            let symbols = editor.ask("textDocument/documentSymbol", about).unwrap();
            assert!(!symbols.as_array().unwrap().is_empty(), "{uri}");
        }
    }
}

#[test]
fn a_broken_file_does_not_hide_what_others_have() {
    let wrong = "package g\n\ndeny contains \"x\" if input.a == undefined_name\n";
    let broken: [(&str, &[u8]); 4] = [
        ("b.rego", b"package h\n\nallow if {\n"),
        ("b.rego", b"package \xff"),
        ("b.json", b"{\"a\": "),
        ("b.yaml", b"a: [1"),
    ];
    for (name, text) in broken {
        let folder = folder(&[("p.rego", wrong)]);
        std::fs::write(folder.path().join(name), text).unwrap();
        let mut editor = Editor::start(folder, &[("p.rego", wrong)]);
        editor.open("p.rego");
        editor.wait("p.rego", |found| {
            messages(found).iter().any(|one| one.contains("undefined_name"))
        });
    }
    // What others use of a file that was whole before is known.
    let lib = "package lib\n\nlimit := 3\n";
    let user = "package g\n\nimport data.lib\n\ndeny contains \"x\" if input.a > lib.limit\n\nbad if input.b == undefined_name\n";
    let mut editor = Editor::new(&[("lib.rego", lib), ("p.rego", user)]);
    editor.open("lib.rego");
    editor.open("p.rego");
    editor.wait("p.rego", |found| !messages(found).is_empty());
    editor.change("lib.rego", "package lib\n\nlimit := \n");
    editor.wait("lib.rego", |found| !messages(found).is_empty());
    let found = messages(&editor.found["p.rego"]);
    assert!(
        found.iter().all(|one| one.contains("undefined_name") || one.contains("bad")),
        "{found:?}"
    );
}

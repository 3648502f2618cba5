//! Renaming.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::editor::Editor;

const MAIN: &str = "package main\n\nimport data.lib\nimport data.lib.trusted as known\n\ndeny contains \
    msg if {\n\tsome image in input.images\n\tnot lib.trusted(image)\n\tnot known(image)\n\tnot \
    data.lib[\"trusted\"](image)\n\tmsg := $\"{image} is {level(image)}\"\n}\n\nlevel(x) := \"high\" if \
    x == \"a\"\n\nelse := \"low\" if x != lib.limit.trusted\n\nuntouched if {\n\tsome i\n\tinput.xs[i] \
    == i\n\tys := [i | some i in input.ys]\n\tcount(ys) > 1\n}\n";
const MORE: &str = "package main\n\nwarn contains level(\"trusted\") if input.trusted[level]\n";
const LIB: &str = "package lib\n\ntrusted(image) if startswith(image, \"registry/\")\n\ntrusted(image) if \
    image in data.main.deny\n\nlimit.trusted := 3\n\nlimit.other := 4\n";

fn editor() -> Editor {
    Editor::new(&[
        ("main.rego", MAIN),
        ("more.rego", &MORE.replace("[level]", "")),
        ("lib.rego", LIB),
    ])
}

/// Returns the changed texts.
fn rename(
    editor: &mut Editor,
    file: &str,
    marked: &str,
    new: &str,
) -> Result<BTreeMap<String, String>, String> {
    let edit = editor.at("textDocument/rename", file, marked, &json!({"newName": new}))?;
    let changes = edit["changes"].as_object().unwrap();
    let changed = changes.iter().map(|(uri, edits)| {
        let file = uri.rsplit('/').next().unwrap();
        let mut text = editor.texts[file].clone();
        for edit in edits.as_array().unwrap().iter().rev() {
            let offset = |at: &Value| {
                let line = usize::try_from(at["line"].as_u64().unwrap()).unwrap();
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                start + usize::try_from(at["character"].as_u64().unwrap()).unwrap()
            };
            let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
            text.replace_range(range, edit["newText"].as_str().unwrap());
        }
        (file.to_owned(), text)
    });
    Ok(changed.collect())
}

#[test]
fn a_rule_is_renamed_wherever_it_is_meant() {
    let mut editor = editor();
    for (file, marked) in [
        ("lib.rego", "tru|sted(image)"),
        ("main.rego", "lib.tru|sted(image)"),
        ("main.rego", "\"|trusted\"](image)"),
        ("main.rego", "data.lib.trus|ted as"),
    ] {
        let changed = rename(&mut editor, file, marked, "signed").unwrap();
        let lib = LIB.replace("\ntrusted(", "\nsigned(");
        let main = MAIN.replace("lib.trusted(", "lib.signed(").replace("\"trusted\"", "\"signed\"");
        let main = main.replace("data.lib.trusted as", "data.lib.signed as");
        assert_eq!(changed, [("lib.rego", lib), ("main.rego", main)].map(owned).into());
    }
    let changed = rename(&mut editor, "more.rego", "lev|el(", "height").unwrap();
    let main = MAIN.replace("level(", "height(");
    let more = editor.texts["more.rego"].replace("level(", "height(");
    assert_eq!(changed, [("main.rego", main), ("more.rego", more)].map(owned).into());
    // A part of a rule's name.
    let changed = rename(&mut editor, "lib.rego", "lim|it.trusted", "most").unwrap();
    let (lib, main) = (LIB.replace("limit", "most"), MAIN.replace("limit", "most"));
    assert_eq!(changed, [("lib.rego", lib), ("main.rego", main)].map(owned).into());
}

fn owned((file, text): (&str, String)) -> (String, String) {
    (file.to_owned(), text)
}

#[test]
fn names_within_a_file_are_renamed_there() {
    let mut editor = editor();
    let mut main = |marked: &str, new: &str| {
        let changed = rename(&mut editor, "main.rego", marked, new).unwrap();
        assert_eq!(changed.keys().collect::<Vec<_>>(), ["main.rego"]);
        changed["main.rego"].clone()
    };
    // What imports give names to.
    let expected = MAIN.replace("as known", "as safe").replace("known(", "safe(");
    assert_eq!(main("kno|wn(image)", "safe"), expected);
    assert_eq!(main("as kno|wn", "safe"), expected);
    let expected = MAIN.replace("import data.lib\n", "import data.lib as l\n");
    let expected = expected.replace(" lib.", " l.");
    assert_eq!(main("not li|b.trusted", "l"), expected);
    // Variables: declared, arguments in all branches, and those that are in a string.
    assert_eq!(
        main("some im|age", "it"),
        MAIN.replace("image}", "it}").replace("(image)", "(it)").replace("some image", "some it")
    );
    assert_eq!(
        main("level(|x)", "y"),
        MAIN.replace("(x)", "(y)").replace("x ==", "y ==").replace("x !=", "y !=")
    );
    let expected = MAIN.replace("some i\n", "some at\n").replace("xs[i] == i\n", "xs[at] == at\n");
    assert_eq!(main("xs[|i]", "at"), expected);
    assert_eq!(main("[|i |", "at"), MAIN.replace("[i | some i in", "[at | some at in"));
}

#[test]
fn errors_that_were_there_prevent_no_renaming() {
    let more = "package main\n\nwarn contains \"x\" if startwith(input.x)\n";
    let mut editor = Editor::new(&[("main.rego", MAIN), ("more.rego", more), ("lib.rego", LIB)]);
    let changed = rename(&mut editor, "main.rego", "lev|el(x)", "height").unwrap();
    assert_eq!(changed["main.rego"], MAIN.replace("level(", "height("));
    let error = rename(&mut editor, "main.rego", "some im|age", "msg").unwrap_err();
    assert!(error.contains("var msg declared above"), "{error}");
}

#[test]
fn a_name_that_would_mean_something_else_is_refused() {
    let mut editor = editor();
    let mut refused = |file: &str, marked: &str, new: &str, why: &str| {
        let error = rename(&mut editor, file, marked, new).unwrap_err();
        assert!(error.contains(why), "{marked} {new}: {error}");
    };
    refused("lib.rego", "tru|sted(image)", "limit", "conflicting name: `data.lib.limit` exists");
    refused("main.rego", "lev|el(x)", "image", "a different meaning");
    refused("main.rego", "some im|age", "msg", "var msg declared above");
    refused("main.rego", "some im|age", "level", "a different meaning");
    refused("main.rego", "lev|el(x)", "lib", "a different meaning");
    refused("main.rego", "some im|age", "if", "invalid name");
    refused("main.rego", "some im|age", "input", "invalid name");
    refused("main.rego", "some im|age", "a b", "invalid name");
    refused("main.rego", "data.l|ib\n", "other", "can't rename a package: `lib`");
    refused("main.rego", "in|put.images", "other", "can't rename this: expected a rule");
    refused("lib.rego", "starts|with", "other", "can't rename this: expected a rule");
    refused("main.rego", "input.ima|ges", "other", "can't rename this: expected a rule");
    let lib = &format!("{LIB}\nother if data.lib[\"\\u0074rusted\"](\"a\")\n");
    editor.open("lib.rego");
    editor.change("lib.rego", lib);
    let error = rename(&mut editor, "lib.rego", "tru|sted(image)", "signed").unwrap_err();
    assert_eq!(error, "can't rename `trusted`: it has several spellings");
    let method = "textDocument/prepareRename";
    let found = editor.at(method, "main.rego", "some im|age", &Value::Null).unwrap();
    assert_eq!(found["placeholder"], "image");
    editor.at(method, "main.rego", "in|put.images", &Value::Null).unwrap_err();
    // A text that means nothing yet.
    editor.open("more.rego");
    editor.change("more.rego", "package\n");
    let error = rename(&mut editor, "main.rego", "some im|age", "it").unwrap_err();
    assert_eq!(error, "can't parse `more.rego`");
}

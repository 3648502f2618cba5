//! Whatever is typed, the findings end as those of `check`.

use std::collections::BTreeMap;
use std::path::Path;

use rego_platform::check::check;
use rego_platform::load::LoadOptions;
use rego_platform::sources::{ReadOptions, Sources};
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::random::Random;

const FILES: [(&str, &str); 5] = [
    (
        "lib.rego",
        "package lib\n\ntrusted(image) if startswith(image, \"registry/\")\n\nlimit := 3\n",
    ),
    (
        "main.rego",
        "package main\n\nimport data.lib\n\ndeny contains \"x\" if {\n\tsome image in \
         input.images\n\tnot lib.trusted(image)\n\thelper\n\tcount(input.images) > lib.limit\n}\n",
    ),
    (
        "main_test.rego",
        "package main_test\n\nimport data.main\n\ntest_x if main.deny with input as {\"images\": \
         [\"a\"]}\n",
    ),
    (
        "more.rego",
        "package main\n\nhelper if platform.discover(input.image, \"\").digest\n\nwarn contains \
         other if other := input.other\n",
    ),
    // The last of all.
    ("zzz.rego", "package zzz\n\ndeny contains \"z\" if input.z\n"),
];

/// What is written in place of what.
const EDITS: [(&str, &str); 14] = [
    ("trusted", "trustd"),
    ("helper", "helpr"),
    ("import data.lib\n", ""),
    ("discover", "discovr"),
    (".digest", ".digst"),
    ("{\n", "\n"),
    ("contains", "contain"),
    (":= 3", ":= data.main.deny"),
    ("data.lib", "data.libs"),
    ("\n\n", "\n\nextra if data.lib.limit\n\n"),
    ("\n\n", "\n\n# More.\n\n"),
    ("(image)", "(image, 1)"),
    ("package main", "package other"),
    ("count(", "conut("),
];

/// A finding: its line and column from 0, its code and message.
type Finding = (u64, u64, String, String);

fn expected(folder: &Path, texts: &BTreeMap<String, String>) -> BTreeMap<String, Vec<Finding>> {
    let arguments = [folder.display().to_string()];
    let mut sources = Sources::read_with(arguments, ReadOptions::default()).unwrap();
    let name = |path: &str| Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
    for module in &mut sources.modules {
        module.text.clone_from(&texts[&name(&module.path)]);
    }
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for finding in check(&sources, LoadOptions::default()) {
        let at = finding.position.unwrap();
        let place = (u64::from(at.line) - 1, u64::from(at.column) - 1);
        let hint = finding.hint.map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
        let message = format!("{}{hint}", finding.message);
        let own = found.entry(name(&at.file)).or_default();
        own.push((place.0, place.1, finding.code.to_owned(), message));
    }
    found
}

fn sent(found: &BTreeMap<String, Value>) -> BTreeMap<String, Vec<Finding>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let finding = |one: &Value| {
        let start = &one["range"]["start"];
        let (line, column) =
            (start["line"].as_u64().unwrap(), start["character"].as_u64().unwrap());
        (line, column, text(&one["code"]), text(&one["message"]))
    };
    let findings = |of: &Value| of.as_array().unwrap().iter().map(finding).collect::<Vec<_>>();
    let all = found.iter().map(|(file, of)| (file.clone(), findings(of)));
    all.filter(|(_, findings)| !findings.is_empty()).collect()
}

#[test]
fn findings_settle_to_those_of_check() {
    let mut editor = Editor::new(&FILES);
    let mut random = Random::new(6);
    for (file, _) in &FILES[..4] {
        editor.open(file);
    }
    let (mut with_errors, mut with_warnings) = (0, 0);
    for round in 0..60 {
        for _ in 0..=random.below(3) {
            let (file, original) = *random.pick(&FILES[..4]);
            let (from, to) = *random.pick(&EDITS);
            let text = match random.below(4) {
                0 => original.to_owned(),
                1 => editor.texts[file].replacen(to, from, usize::from(!to.is_empty())),
                _ => editor.texts[file].replacen(from, to, 1),
            };
            editor.change(file, &text);
        }
        // The last file is saved with an error and without: what is sent of it comes after all else.
        let (file, text) = FILES[4];
        for (text, has_error) in [("package\n", true), (text, false)] {
            std::fs::write(editor.folder.path().join(file), text).unwrap();
            editor.tell("workspace/didChangeWatchedFiles", json!({"changes": []}));
            editor.wait(file, |found| found.as_array().unwrap().is_empty() != has_error);
        }
        let mut expected = expected(editor.folder.path(), &editor.texts);
        let mut sent = sent(&editor.found);
        let is_broken = |(_, findings): &(&String, &Vec<Finding>)| {
            findings.iter().any(|(.., code, _)| code == "parse-error")
        };
        let broken: Vec<String> =
            expected.iter().filter(is_broken).map(|(file, _)| file.clone()).collect();
        if !broken.is_empty() {
            // `check` says nothing of the others then.
            for all in [&mut expected, &mut sent] {
                all.retain(|file, _| broken.contains(file));
            }
        }
        assert_eq!(sent, expected, "round {round}: {:#?}", editor.texts);
        let codes = || expected.values().flatten().map(|(.., code, _)| code.as_str());
        with_errors += usize::from(codes().any(|code| code == "unknown-function"));
        with_warnings += usize::from(codes().any(|code| code == "unknown-rule"));
    }
    // The edits are such that something is found.
    assert!(with_errors > 5 && with_warnings > 5, "{with_errors} {with_warnings}");
}

/// Errors in the file that is being written don't wait for the others.
#[test]
fn the_errors_of_a_changed_file_come_with_what_it_refers_to() {
    let mut editor = Editor::new(&FILES);
    editor.open("main.rego");
    let text = FILES[1].1;
    // As soon as they are known, and until the end.
    editor.change("main.rego", &text.replace("trusted", "trustd"));
    editor.wait("main.rego", |found| found[0]["code"] == "unknown-function");
    editor.change("main.rego", &text.replace("helper", "helpr"));
    editor.wait("main.rego", |found| found[0]["code"] == "unsafe-variable");
    // An error that another file has since, which this one doesn't show.
    editor.change("main.rego", text);
    editor.wait("main.rego", |found| found.as_array().unwrap().is_empty());
    editor.open("lib.rego");
    editor.change("lib.rego", "package lib\n\nlimit := 3\n");
    editor.wait("main.rego", |found| found[0]["code"] == "unknown-function");
}

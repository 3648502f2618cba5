//! Inputs in the formats of configuration files: which parser reads a file, and what isn't read.

use super::{gate, outcomes};
use crate::cli::Sandbox;

/// Fails if the text `bad` is anywhere in the input.
const DENY: &str = r#"package main

deny contains name if {
	walk(input, [path, "bad"])
	name := concat(".", path)
}
"#;

#[test]
fn the_name_of_a_file_tells_its_parser() {
    let sandbox = Sandbox::new();
    for (name, good, bad) in [
        ("a.toml", "b = 'good'", "b = 'bad'"),
        ("a.ini", "[s]\nb = good", "b = bad\n[s]"),
        ("a.properties", "b : good", "b : bad"),
        (".env", "B=good", "B=bad"),
        ("prod.env", "B=good", "export B='bad'"),
        ("main.tf", "b = var.bad", "b = \"bad\""),
        ("vars.tfvars", "b = 1", "b = \"bad\""),
        ("a.json5", "{b: 'good'}", "{b: 'bad',} // c"),
        ("a.jsonc", "{\"b\": 1}", "// c\n{\"b\": \"bad\"}"),
        ("a.xml", "<b>good</b>", "<b>bad</b>"),
        ("main.tofu", "b = 1", "b = \"bad\""),
        ("job.nomad", "b = 1", "b = \"bad\""),
        ("terraform.tfstate", "{\"b\": 1}", "{\"b\": \"bad\"}"),
        ("composer.lock", "{\"b\": 1}", "{\"b\": \"bad\"}"),
        ("Cargo.lock", "b = 1", "b = 'bad'"),
        ("pubspec.lock", "b: 1", "b: bad"),
        ("app.csproj", "<b>good</b>", "<b>bad</b>"),
    ] {
        let file = sandbox.write(name, good);
        gate(&sandbox, DENY, &["-i", &file]).code(0);
        sandbox.write(name, bad);
        let report = gate(&sandbox, DENY, &["-i", &file]).code(1).json();
        assert_eq!(report["inputs"][0]["outcome"], "failed", "{name}");
    }
}

/// Its extension is what tells the parser, whatever is before it.
#[cfg(target_os = "linux")]
#[test]
fn the_name_of_a_file_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt as _;

    let sandbox = Sandbox::new();
    let folder = sandbox.path("in");
    std::fs::create_dir(&folder).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xff.tf");
    std::fs::write(folder.join(name), "b = \"bad\"").unwrap();
    gate(&sandbox, DENY, &["-i", folder.to_str().unwrap()]).code(1);
}

#[test]
fn a_dockerfile_is_the_array_that_policies_of_conftest_read() {
    let policy = "package main\n\ndeny contains \"root\" if {\n\tsome i\n\tinput[i].Cmd == \"user\"\n\t\
                  input[i].Value[_] == \"root\"\n}\n";
    let sandbox = Sandbox::new();
    let file = sandbox.write("Dockerfile", "FROM a\nUSER app\n");
    gate(&sandbox, policy, &["-i", &file]).code(0);
    sandbox.write("Dockerfile", "FROM a\nUSER root\n");
    gate(&sandbox, policy, &["-i", &file]).code(1);
    for name in ["Containerfile", "Containerfile.prod", "prod.Containerfile"] {
        let file = sandbox.write(name, "FROM a\nUSER root\n");
        gate(&sandbox, policy, &["-i", &file]).code(1);
    }
    let named = sandbox.write("image.txt", "FROM a\nUSER root\n");
    gate(&sandbox, policy, &["-i", &named, "--parser", "dockerfile"]).code(1);
    gate(&sandbox, policy, &["-i", &named]).fails("the extension of the input");
}

/// A policy for another format reads fields that an array doesn't have: no verdict.
#[test]
fn a_policy_for_another_format_does_not_pass_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("Dockerfile", "FROM a\n");
    let policy = "package main\n\ndeny contains \"x\" if input.kind == \"Pod\"\n";
    gate(&sandbox, policy, &["-i", &file]).fails("the input is an array, not an object");
}

#[test]
fn a_folder_has_the_inputs_of_all_parsers() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("in/a.toml", "b = 'bad'"),
        ("in/b.tf", "b = 1"),
        ("in/c.cue", "b: 1"),
        ("in/notes.txt", "no input"),
        ("in/d.xml", "<b>bad</b>"),
    ] {
        sandbox.write(name, text);
    }
    let folder = sandbox.path("in").to_str().unwrap().to_owned();
    let report = gate(&sandbox, DENY, &["-i", &folder]).code(1).json();
    let path = |name: &str| format!("{folder}/{name}");
    let expected = [("a.toml", "failed"), ("b.tf", "passed"), ("d.xml", "failed")];
    assert_eq!(outcomes(&report), expected.map(|(name, outcome)| (path(name), outcome.to_owned())));
    let left = report["inventory"]["inputs"][0]["left_out"].as_array().unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_text_that_is_wrong_has_no_verdict() {
    let sandbox = Sandbox::new();
    for (name, text, says) in [
        ("a.toml", "a = 1\na = 2", "a.toml:2:1: invalid TOML"),
        ("a.ini", "[s]\na=1\na=2", "a.ini:3:1: the key `a` appears twice"),
        ("a.tf", "a = [", "a.tf:1:6: invalid HCL"),
        ("a.xml", "<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>", "unsupported document type"),
        ("a.jsonc", "", "invalid JSON"),
        ("a.json5", " ", "expected a value"),
        ("a.xml", "", "no element"),
        ("Dockerfile", "\n", "no instruction"),
        ("a.json", "", "the document is empty"),
        ("Dockerfile", "FROM a\nFOO b", "Dockerfile:2:1: unknown instruction `FOO`"),
        (".env", "A=\u{1}\nB", ".env:2:1: invalid line"),
    ] {
        let file = sandbox.write(name, text);
        gate(&sandbox, DENY, &["-i", &file]).fails(says);
    }
}

/// Terraform's modules have `variables.tf` and `outputs.tf` even if these are empty.
#[test]
fn an_empty_file_is_a_document_where_the_format_has_one() {
    let sandbox = Sandbox::new();
    for name in ["a.tf", "a.toml", "a.ini", "a.properties", "a.env"] {
        for text in ["", "\n", "\r\n\r\n", "\u{feff}", "# nothing"] {
            let file = sandbox.write(name, text);
            let report = gate(&sandbox, DENY, &["-i", &file]).code(0).json();
            assert_eq!(report["totals"]["passed"], 1, "{name} {text:?}");
            let output = sandbox.run(&["eval", "-f", "raw", "-i", &file, "input"]).output().code(0);
            assert_eq!(output.stdout.trim(), "{}", "{name} {text:?}");
        }
    }
}

#[test]
fn parsers_that_are_not_built_in_say_what_converts() {
    let sandbox = Sandbox::new();
    for (name, says) in [
        ("a.cue", "`cue export FILE > FILE.json`"),
        ("a.jsonnet", "`jsonnet FILE > FILE.json`"),
        ("Jenkinsfile", "`conftest parse FILE > FILE.json`"),
        ("a.vcl", "`conftest parse FILE > FILE.json`"),
    ] {
        let file = sandbox.write(name, "x: 1");
        gate(&sandbox, DENY, &["-i", &file]).fails(says);
        sandbox.run(&["eval", "-i", &file, "input"]).output().fails(says);
    }
    let file = sandbox.write("a.json", "{}");
    gate(&sandbox, DENY, &["-i", &file, "--parser", "cue"]).fails("cue export");
    gate(&sandbox, DENY, &["-i", &file, "--parser", "tml"]).fails("the parsers are json, yaml, ");
}

#[test]
fn eval_reads_what_the_gate_reads() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("main.tf", "a = 1\nb \"c\" {\n  d = var.e\n}\n");
    let shown =
        sandbox.run(&["eval", "--format", "raw", "-i", &file, "input"]).output().code(0).stdout;
    assert_eq!(shown.trim(), r#"{"a":1,"b":{"c":[{"d":"${var.e}"}]}}"#);
    let other = sandbox.write("x.txt", "a = 1");
    let arguments = ["eval", "--format", "raw", "-i", &other, "--parser", "toml", "input.a"];
    assert_eq!(sandbox.run(&arguments).output().code(0).stdout.trim(), "1");
}

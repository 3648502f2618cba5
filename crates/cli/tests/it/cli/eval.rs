//! `eval`: input, answer, formats and exit status.

use super::{Output, Sandbox};
use crate::emulator::CLEAN_IMAGE;

const POLICY: &str = "package release\n\nimport rego.v1\n\nallow if {\n\tsome reference in \
    platform.discover(input.image, \"\").references\n\treference.kind == \"ATTESTATION\"\n}\n\n\
    name := \"a b\"\n\nsay if print(\"::error::x\")\n";

fn eval(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let policy = sandbox.write("release.rego", POLICY);
    let input = sandbox.write("input.json", format!("{{\"image\": \"{CLEAN_IMAGE}\"}}"));
    let fixed = ["eval", "-d", &policy, "-i", &input];
    sandbox.local(&[&fixed[..], arguments].concat()).output()
}

#[test]
fn a_policy_asks_the_service() {
    let sandbox = Sandbox::new();
    let answer = eval(&sandbox, &["data.release.allow"]).code(0).silent().json();
    let expression = &answer["result"][0]["expressions"][0];
    assert_eq!(expression["value"], true);
    assert_eq!(expression["text"], "data.release.allow");
    let nothing = eval(&sandbox, &["data.release.alow"]).code(0);
    assert_eq!(nothing.says("did you mean `data.release.allow`?").json(), serde_json::json!({}));
}

#[test]
fn a_failed_call_is_not_a_verdict() {
    let sandbox = Sandbox::new();
    let arguments = ["data.release.allow", "--fault", "discover:status=403"];
    let output = eval(&sandbox, &arguments).fails("platform.discover").says("403");
    let errors = output.json();
    assert_eq!(errors["errors"][0]["code"], "permission-denied");
    assert_eq!(errors.get("result"), None);
    for format in ["raw", "pretty", "values", "bindings"] {
        let output = eval(&sandbox, &[&arguments[..], &["-f", format]].concat())
            .fails("platform.discover: not found or not allowed for this API token (403)");
        assert_eq!(output.stdout, "");
    }
}

#[test]
fn errors_are_printed_as_opa_prints_them() {
    let sandbox = Sandbox::new();
    let conflict = "package p\n\nr := 1 if true\n\nr := 2 if true\n\ns := 1 / input.n\n";
    let errors = |text: &str, query: &str| {
        let file = sandbox.write("p.rego", text);
        let output = sandbox
            .run(&["eval", "--strict-builtin-errors", "-d", &file, query])
            .stdin("")
            .output()
            .fails_with_one_of(&[
                "eval_conflict_error: rule data.p.r produced conflicting",
                "eval_builtin_error: div: divide by zero",
                "var x is unsafe",
                "unexpected eof token",
            ]);
        assert!(output.stderr.starts_with("error["), "{output:#?}");
        let mut found = output.json()["errors"].clone();
        let first = found[0].take();
        (first["code"].clone(), first["message"].clone(), first["location"]["row"].clone())
    };
    // As by `opa eval` with `--strict-builtin-errors`.
    let message = "rule data.p.r produced conflicting values";
    let (code, text, row) = errors(conflict, "data.p.r");
    assert_eq!((code, row), ("eval_conflict_error".into(), 5.into()));
    assert!(text.as_str().unwrap().starts_with(message), "{text}");
    let zero = ("eval_builtin_error".into(), "div: divide by zero".into(), 7.into());
    assert_eq!(errors(conflict, "data.p.s with input as {\"n\": 0}"), zero);
    let var = ("rego_unsafe_var_error".into(), "var x is unsafe".into(), 2.into());
    assert_eq!(errors("package p\nr := x\n", "data.p"), var);
    assert_eq!(errors(conflict, "1 +").0, "rego_parse_error");
    let none =
        sandbox.run(&["eval", "-d", "none", "1"]).output().fails("`none` doesn't exist").json();
    assert!(none["errors"][0]["message"].as_str().unwrap().contains("none"), "{none}");
}

#[test]
fn a_query_has_a_package_and_imports() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| {
        let fixed = ["-f", "raw"];
        eval(&sandbox, &[&fixed[..], arguments].concat())
    };
    assert_eq!(run(&["--package", "release", "name"]).code(0).stdout, "a b\n");
    assert_eq!(run(&["--package", "data.release", "name"]).code(0).stdout, "a b\n");
    assert_eq!(run(&["--import", "data.release", "release.name"]).code(0).stdout, "a b\n");
    assert_eq!(run(&["--import", "data.release as r", "r.name"]).code(0).stdout, "a b\n");
    run(&["name"]).fails("var name is unsafe");
    run(&["--package", "a b", "1"]).fails("isn't a package's name");
    run(&["--import", "data.release as", "1"]).fails("isn't a valid import");
    run(&["--import", "data.x\nallow := true", "1"]).fails("isn't a valid import");
    let given = sandbox.run(&["eval", "-I", "-f", "raw", "input.x"]).stdin("{\"x\": 7}").output();
    assert_eq!(given.code(0).stdout, "7\n");
}

#[test]
fn an_object_with_two_variable_keys_is_a_rule_like_others() {
    let sandbox = Sandbox::new();
    let text = "package p\n\nr[a][b] := 1 if {\n\tsome a in [\"x\", \"y\"]\n\tb := \"z\"\n}\n";
    let file = sandbox.write("p.rego", text);
    let answer = sandbox.run(&["eval", "-d", &file, "-f", "raw", "data.p.r"]).output().code(0);
    let expected = serde_json::json!({"x": {"z": 1}, "y": {"z": 1}});
    assert_eq!(answer.json(), expected);
}

#[test]
fn formats_are_those_of_opa() {
    let sandbox = Sandbox::new();
    let name = |format| eval(&sandbox, &["data.release.name", "-f", format]).code(0).stdout;
    assert_eq!(name("raw"), "a b\n");
    assert_eq!(name("pretty"), "\"a b\"\n");
    assert_eq!(name("values"), "[\n  \"a b\"\n]\n");
    assert_eq!(eval(&sandbox, &["x := 1", "-f", "bindings"]).stdout, "{\n  \"x\": 1\n}\n");
    let undefined = |format| eval(&sandbox, &["data.release.no", "-f", format]).code(0).stdout;
    assert_eq!(undefined("raw"), "");
    assert_eq!(undefined("json"), "{}\n");
}

#[test]
fn fail_looks_at_whether_there_is_an_answer() {
    let sandbox = Sandbox::new();
    for (query, fail, fail_defined) in
        [("data.release.name", 0, 1), ("data.release.no", 1, 0), ("false", 0, 1)]
    {
        eval(&sandbox, &[query, "--fail"]).code(fail);
        eval(&sandbox, &[query, "--fail-defined"]).code(fail_defined);
    }
    eval(&sandbox, &["1", "--fail", "--fail-defined"])
        .fails("the argument '--fail' cannot be used with '--fail-defined'");
}

#[test]
fn prints_are_harmless_and_not_part_of_the_answer() {
    let sandbox = Sandbox::new();
    let output = eval(&sandbox, &["data.release.say"]).code(0);
    let output = output.says("release.rego:12: \\::error::x");
    assert!(!output.stdout.contains("error"));
}

#[test]
fn input_is_json_or_yaml_from_a_file_or_standard_input() {
    let sandbox = Sandbox::new();
    let value = |file: &str, stdin: &str| {
        let run = sandbox.run(&["eval", "-i", file, "input.a", "-f", "raw"]).stdin(stdin);
        run.output().code(0).stdout
    };
    assert_eq!(value(&sandbox.write("a.json", "\u{feff}{\"a\": 1}"), ""), "1\n");
    assert_eq!(value(&sandbox.write("a.yaml", "a: x\n"), ""), "x\n");
    assert_eq!(value("-", "{\"a\": 2}"), "2\n");
    assert_eq!(value("-", "a: 3"), "3\n");
    assert_eq!(value("-", "{\"a\": 18446744073709551616}"), "18446744073709551616\n");
    for (content, says) in [
        ("{\n\"a\": }", "bad.json:2:6: invalid JSON"),
        ("", "the document is empty"),
        ("{\"a\": 1e999999}", "bad.json:1:7: invalid JSON: invalid number"),
    ] {
        let file = sandbox.write("bad.json", content);
        sandbox.run(&["eval", "-i", &file, "1"]).output().fails(says);
    }
    let file = sandbox.write("bad.yaml", "a: .inf\n");
    sandbox.run(&["eval", "-i", &file, "1"]).output().fails("bad.yaml:1:4: `.inf`");
    let run = sandbox.run(&["eval", "-i", "a", "-i", "b", "1"]);
    run.output().fails("cannot be used multiple times");
    sandbox.run(&["eval", "-i", "/nonexistent", "1"]).output().fails("doesn't exist");
}

#[test]
fn data_comes_from_files_and_folders() {
    let sandbox = Sandbox::new();
    sandbox.write("d/top.json", "{\"x\": 1}");
    sandbox.write("d/inner/part.yaml", "part: 2");
    sandbox.write("d/inner/p.rego", "package p\nimport rego.v1\nz := data.x + data.inner.part\n");
    let folder = sandbox.path("d");
    let run = sandbox.run(&["eval", "-d", folder.to_str().unwrap(), "data.p.z", "-f", "raw"]);
    assert_eq!(run.output().code(0).stdout, "3\n");
    let run = sandbox.run(&["eval", "-d", "/nonexistent.rego", "data"]);
    run.output().fails("/nonexistent.rego");
    // Below the root, data can be of any type.
    let list = sandbox.write("d/list/l.json", "[1, 2]");
    for (paths, query, value) in [
        (vec![folder.to_str().unwrap()], "data.list", "[1,2]\n"),
        (vec![&*format!("a.b:{list}")], "data.a.b", "[1,2]\n"),
        // A file that is named twice is loaded once.
        (vec!["d", "./d/", "d/top.json"], "data.x", "1\n"),
        (vec!["d/top.json", "twice:d/top.json"], "data.twice.x + data.x", "2\n"),
    ] {
        let paths = paths.iter().flat_map(|path| ["-d", *path]);
        let arguments: Vec<&str> = ["eval", "-f", "raw", query].into_iter().chain(paths).collect();
        let run = sandbox.run(&arguments).within(sandbox.path(""));
        assert_eq!(run.output().code(0).stdout, value, "{arguments:?}");
    }
    sandbox.run(&["eval", "-d", &list, "data"]).output().fails("doesn't contain an object");
}

#[test]
fn a_wildcard_is_no_query() {
    let sandbox = Sandbox::new();
    for query in ["_", "_ == 1", "[_]", "not _"] {
        let output = sandbox.run(&["eval", query]).output().fails("var _ is unsafe");
        assert_eq!(output.stderr.matches("var _ is unsafe").count(), 1, "{query}: {output:#?}");
    }
}

#[test]
fn data_leaves_room_for_rules() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package r.s\n\nx := 1\n\na.b := 2\n");
    // What OPA says of each.
    for (data, conflict) in [
        ("{}", None),
        (r#"{"r": {}}"#, None),
        (r#"{"r": {"s": {"y": 1, "a": {"c": 1}}}}"#, None),
        (r#"{"r": {"s": {"x": 1}}}"#, Some("r/s/x")),
        (r#"{"r": {"s": {"a": {"b": 1}}}}"#, Some("r/s/a/b")),
        (r#"{"r": {"s": {"a": 1}}}"#, Some("r/s/a/b")),
        (r#"{"r": {"s": null}}"#, Some("r/s/x")),
        (r#"{"r": [1]}"#, Some("r/s/x")),
        (r#"{"r": "s"}"#, Some("r/s/x")),
    ] {
        let data = sandbox.write("data.json", data);
        let output = sandbox.run(&["eval", "-d", &policy, "-d", &data, "data.r.s.x", "-f", "raw"]);
        match conflict {
            None => assert_eq!(output.output().code(0).stdout, "1\n"),
            Some(path) => {
                let says = format!("conflicting rule for data path {path} found");
                output.output().fails(&says);
            }
        }
    }
}

#[test]
fn old_policies_need_their_option() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("old.rego", "package old\nallow { true }\n");
    let arguments = ["eval", "-d", &policy, "data.old.allow", "-f", "raw"];
    sandbox.run(&arguments).output().fails("`if` keyword is required before rule body");
    for option in ["--v0", "--v0-compatible"] {
        let run = sandbox.run(&[&arguments[..], &[option]].concat());
        assert_eq!(run.output().code(0).stdout, "true\n");
    }
}

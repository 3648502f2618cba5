//! What policies of conftest expect: exceptions, arrays of documents, the folder `policy`, and functions that
//! parse configuration.

use super::{gate, outcomes};
use crate::cli::{Output, Sandbox};

const EXCEPTION: &str = r#"package main

deny_root contains "root" if not input.user

deny_port contains "port" if input.port == 80

warn_size contains "size" if input.size > 1

exception contains rules if {
	input.name == "legacy"
	rules := ["root", "size"]
}
"#;

#[test]
fn an_exception_names_rules_that_do_not_count() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("a.json", r#"{"name": "legacy", "size": 2}"#);
    let report = gate(&sandbox, EXCEPTION, &["-i", &input, "--fail-on-warn"]).code(0).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["exceptions"], serde_json::json!(["root", "size"]));
    assert_eq!(verdict["violations"][0]["effect"], "excepted");
    assert_eq!(report["totals"]["excepted"], 2);
    let policy = sandbox.path("policy.rego").to_str().unwrap().to_owned();
    let people = sandbox.run(&["gate", "-d", &policy, "-i", &input]).output().code(0);
    assert_eq!(people.stdout, "passed: 1 input; 2 excepted\n");
    // Another rule still fails, and so does another input.
    sandbox.write("a.json", r#"{"name": "legacy", "port": 80}"#);
    gate(&sandbox, EXCEPTION, &["-i", &input]).code(1);
    sandbox.write("a.json", r#"{"name": "new"}"#);
    gate(&sandbox, EXCEPTION, &["-i", &input]).code(1);
}

#[test]
fn an_exception_for_no_rule_is_said() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("a.json", r#"{"name": "legacy"}"#);
    for (name, code) in [("deny_root", 1), ("rooot", 1), ("", 1), ("root", 0)] {
        let policy = EXCEPTION.replace("\"root\", \"size\"", &format!("{name:?}"));
        let report = gate(&sandbox, &policy, &["-i", &input]).code(code).json();
        let said =
            report["notes"].to_string().contains("unknown rule in `exception` of the policy");
        assert_eq!(said, code == 1, "{name}: {}", report["notes"]);
    }
}

#[test]
fn an_exception_of_another_form_is_no_verdict() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("a.json", "{}");
    for (rule, says) in [
        ("exception contains \"x\"", "`exception` has an item that isn't an array"),
        ("exception contains [1]", "`exception` has a name that isn't a string"),
        ("exception if not input.x", "`exception` isn't a set"),
        ("exception.x contains [\"x\"]", "verdict rule with a longer name"),
    ] {
        let policy = format!("package main\n\ndeny contains \"x\" if input.x\n\n{rule}\n");
        gate(&sandbox, &policy, &["-i", &input]).fails(says);
    }
    // A function is a helper, and beside `result` nothing reads exceptions.
    let policy = "package main\n\ndeny contains \"x\" if exception(input)\n\nexception(x) if x.y\n";
    gate(&sandbox, policy, &["-i", &input]).code(0);
    let policy =
        "package main\n\nresult := {\"violations\": []}\n\nexception contains [\"x\"] if input.x\n";
    gate(&sandbox, policy, &["-i", &input]).fails("is dead");
}

#[test]
fn the_elements_of_an_array_are_inputs_by_option() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"it is bad\" if input.bad\n";
    let input = sandbox.write("a.json", r#"[{"bad": false}, {"bad": true}]"#);
    gate(&sandbox, policy, &["-i", &input]).fails("the input is an array, not an object");
    let report = gate(&sandbox, policy, &["-i", &input, "--split-arrays"]).code(1).json();
    let expected = [("#1", "passed"), ("#2", "failed")];
    let expected = expected.map(|(n, outcome)| (format!("{input}{n}"), outcome.to_owned()));
    assert_eq!(outcomes(&report), expected);
    // What `conftest parse Dockerfile` writes is an array of one document, which is an array.
    sandbox.write("a.json", r#"[[{"Cmd": "user", "Value": ["root"]}]]"#);
    gate(&sandbox, policy, &["-i", &input, "--split-arrays"])
        .fails("the input is an array, not an object");
    let docker = "package p\n\ndeny contains \"root\" if input[_].Value == [\"root\"]\n";
    gate(&sandbox, docker, &["-i", &input]).fails("an element of the input is an array");
    gate(&sandbox, docker, &["-i", &input, "--split-arrays"]).code(1);
    let file = sandbox.write("Dockerfile", "FROM a\nUSER root\n");
    gate(&sandbox, docker, &["-i", &file, "--split-arrays"]).code(1);
    sandbox.write("a.json", "[]");
    gate(&sandbox, policy, &["-i", &input, "--split-arrays"]).fails("empty array: no input");
    let combined = "package p\n\ndeny contains \"two\" if count(input) == 2\n";
    sandbox.write("a.json", "[{}, {}]");
    gate(&sandbox, combined, &["-i", &input, "--split-arrays", "--combine"]).code(1);
    gate(&sandbox, combined, &["-i", &input, "--combine"]).code(0);
}

#[test]
fn an_option_of_another_tool_names_the_one_in_its_place() {
    let sandbox = Sandbox::new();
    for (arguments, says) in [
        (&["gate", "--trace"][..], "`--explain fails`"),
        (&["eval", "--trace", "1"], "`--explain fails`"),
        (&["test", "--trace"], "without an option"),
        (&["gate", "--all-namespaces"], "evaluates all packages"),
        (&["gate", "--update", "oci://a/b"], "`-d ADDRESS`"),
        (&["gate", "--no-color"], "`NO_COLOR=1`"),
        (&["test", "--show-builtin-errors"], "`--strict-builtin-errors`"),
        (&["eval", "--stdin", "1"], "`-i -`"),
        (&["eval", "--coverage", "1"], "`rego-platform test --coverage`"),
        (&["check", "--strict"], "unused imports and variables"),
        (&["gate", "--fail-defined"], "status 1 on violations"),
    ] {
        sandbox.run(arguments).output().fails(says);
    }
}

#[test]
fn a_pattern_that_ignores_nothing_is_noted() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p/p.rego", "package p\n\ndeny contains \"bad\" if input.bad\n");
    sandbox.write("p/p_test.rego", "package p_test\n\ntest_a := true\n");
    let input = sandbox.write("in/a.json", "{}");
    sandbox.write("in/b.sarif", "{}");
    let folder = policy.strip_suffix("/p.rego").unwrap();
    let inputs = input.strip_suffix("/a.json").unwrap();
    let note = |pattern: &str| format!("pattern ignored nothing: `--ignore {pattern}`");
    let ignored = ["--ignore", "*.sarif", "--ignore", "p_test.rego", "--ignore", "vendor/"];
    let gate = [&["gate", "-d", folder, "-i", inputs], &ignored[..]].concat();
    let output = sandbox.run(&gate).output().code(0).says(&note("vendor/"));
    for pattern in ["*.sarif", "p_test.rego"] {
        assert!(!output.stderr.contains(&note(pattern)), "{output:#?}");
    }
    for arguments in
        [&["check", folder][..], &["test", folder], &["eval", "-d", folder, "data.p.deny"]]
    {
        let arguments = [arguments, &["--ignore", "vendor/"]].concat();
        sandbox.run(&arguments).output().code(0).says(&note("vendor/"));
        let quiet = sandbox.run(&[&arguments[..], &["--quiet"]].concat()).output().code(0);
        assert!(!quiet.stderr.contains("ignored nothing"), "{quiet:#?}");
    }
}

#[test]
fn without_policies_the_folder_policy_is_taken() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("a.json", r#"{"bad": true}"#);
    let run = || {
        let mut command = sandbox.run(&["gate", "-i", &input]).command();
        Output::from(command.current_dir(sandbox.path(".")).output().unwrap())
    };
    run().fails("no policies given");
    sandbox.write("policy/p.rego", "package main\n\ndeny contains \"bad\" if input.bad\n");
    run().code(1).says("policies read from the folder `policy`");
}

const TESTS: &str = r#"package main

deny contains "public" if input.resource.bucket[_][_].acl == "public"

test_text if {
	count(deny) == 1 with input as parse_config("hcl2", `resource "bucket" "a" { acl = "public" }`)
}

test_file if count(deny) == 0 with input as parse_config_file("good.tf")

test_documents if parse_config_file("two.yaml") == [{"a": 1}, {"a": 2}]

test_files if {
	all := parse_combined_config_files(["two.yaml", "good.tf"])
	[one.contents | some one in all] == [{"resource": {"bucket": {"a": [{"acl": "private"}]}}}, {"a": 1}, {"a": 2}]
	endswith(all[0].path, "good.tf")
}
"#;

#[test]
fn tests_parse_configuration_and_gates_do_not() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy/p.rego", TESTS);
    sandbox.write("policy/good.tf", "resource \"bucket\" \"a\" {\n  acl = \"private\"\n}\n");
    sandbox.write("policy/two.yaml", "a: 1\n---\na: 2\n");
    let tested = sandbox.run(&["test", &policy]).output().code(0);
    assert_eq!(tested.stdout, "PASS: 4/4\n");
    sandbox.run(&["check", &policy]).output().code(0);
    let input = sandbox.write("a.json", "{}");
    sandbox.run(&["gate", "-d", &policy, "-i", &input]).output().code(0);
    for (body, says) in [
        ("parse_config(\"hcl\", \"a = 1\")", "unknown parser: `hcl`"),
        ("parse_config(\"toml\", \"a = \")", "invalid TOML"),
        ("parse_config_file(\"none.tf\")", "`none.tf` isn't a file in the folder of a policy"),
        ("parse_config_file(\"p.rego\")", "no parser for the extension"),
    ] {
        let text = format!("package main\n\ntest_x if not {body}\n");
        let policy = sandbox.write("policy/p.rego", text);
        sandbox.run(&["test", &policy]).output().fails(says);
    }
    let text = "package main\n\ndeny contains \"x\" if parse_config(\"json\", \"1\") == 1\n";
    let policy = sandbox.write("policy/p.rego", text);
    sandbox.run(&["gate", "-d", &policy, "-i", &input]).output().fails("parse_config");
}

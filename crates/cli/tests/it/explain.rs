//! `--explain` of `eval` and `gate`.

use crate::cli::{Output, Sandbox};

const POLICY: &str = "package p

allow if {
	input.user == \"admin\"
	trace(\"never\")
}

allow if {
	some role in input.roles
	trace(sprintf(\"role %s\", [role]))
	grants[role]
}

grants := {\"dev\": false}

size(x) := \"large\" if x > 10

size(x) := \"small\" if x < 0

deny contains \"large\" if size(input.size) == \"large\"

deny contains \"known\" if {
	names := [name | some name in input.names; name != \"x\"]
	count(names) > count(input.names)
}
";

const INPUT: &str = r#"{"user": "bob", "roles": ["dev", "ops"], "size": 5, "names": ["x"]}"#;

fn run(arguments: &[&str]) -> Output {
    let sandbox = Sandbox::new();
    sandbox.write("p.rego", POLICY);
    sandbox.write("i.json", INPUT);
    sandbox.run(arguments).within(sandbox.path(".")).output()
}

#[test]
fn an_undefined_answer_points_there() {
    let output = run(&["eval", "-d", "p.rego", "-i", "i.json", "data.p.allow"]).code(0);
    assert_eq!(output.stdout, "{}\n");
    assert!(output.stderr.contains("--explain fails"), "{output:#?}");
    run(&["eval", "-q", "-d", "p.rego", "-i", "i.json", "data.p.allow"]).code(0).silent();
    run(&["eval", "-d", "p.rego", "-i", "i.json", "data.p.grants"]).code(0).silent();
}

#[test]
fn notes_are_what_was_traced() {
    let arguments = ["eval", "-d", "p.rego", "-i", "i.json", "data.p.allow", "--explain", "notes"];
    let output = run(&arguments).code(0);
    assert_eq!(output.stderr, "p.rego:10: note: role dev\np.rego:10: note: role ops\n");
}

#[test]
fn each_definition_that_gave_nothing_has_its_statement_and_operands() {
    let output =
        run(&["eval", "-d", "p.rego", "-i", "i.json", "data.p", "--explain", "fails"]).code(0);
    let said = &output.stderr;
    for expected in [
        // The index left it out: the input is the reason.
        "p.rego:3:1: data.p.allow produced no value: this is false\n  4 | \tinput.user == \"admin\"",
        "  input.user: \"bob\"\n",
        "p.rego:8:1: data.p.allow produced no value: this is false\n  11 | \tgrants[role]",
        "  role: \"dev\", then \"ops\"\n",
        "p.rego:16:1: data.p.size produced no value: this is false\n",
        "  x: 5\n",
        "p.rego:20:1: data.p.deny produced no value: this is undefined\n",
        "  size(input.size): undefined\n",
        "p.rego:22:1: data.p.deny produced no value: this is false\n  24 | ",
        "  count(names): 0\n",
        "  input.names: [\"x\"]\n",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert!(!said.contains("grants produced no value") && !said.contains("never"), "{said}");
}

#[test]
fn rules_that_a_statement_refers_to_have_their_values() {
    let sandbox = Sandbox::new();
    let policy = "package q\n\nlevel := \"low\"\n\nallow if level == \"high\"\n";
    let file = sandbox.write("q.rego", policy);
    let explained = |query: &str| {
        let arguments = ["eval", "-d", &file, query, "--explain", "fails"];
        sandbox.run(&arguments).output().code(0).stderr
    };
    let output = explained("data.q.allow");
    assert!(
        output.contains("this is false\n") && output.contains("  level: \"low\"\n"),
        "{output}"
    );
    // Replaced, it has another value.
    let output = explained("data.q.allow with data.q.level as \"none\"");
    assert!(output.contains("this is false\n") && !output.contains("  level: "), "{output}");
    let test = "package q_test\n\ntest_x if data.q.allow with data.q.level as 1\n";
    sandbox.write("q_test.rego", test);
    let arguments = ["eval", "-d", ".", "data.q.allow", "--explain", "fails"];
    let output = sandbox.run(&arguments).within(sandbox.path(".")).output().code(0).stderr;
    assert!(output.contains("  level: \"low\"\n"), "{output}");
}

#[test]
fn a_gate_explains_each_input() {
    let output =
        run(&["gate", "-d", "p.rego", "i.json", "--explain", "fails", "--allow-warnings"]).code(0);
    assert!(
        output
            .stderr
            .contains("i.json: p.rego:20:1: data.p.deny produced no value: this is undefined\n"),
        "{output:#?}"
    );
}

#[test]
fn calls_are_answered_again_and_not_sent() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write(
        "q.rego",
        "package q\n\nimport rego.v1\n\n\
         allow if count(platform.discover(input.image, \"\").references) > 1000\n",
    );
    let input = format!("{{\"image\": \"{}\"}}", crate::support::CLEAN_IMAGE);
    let input = sandbox.write("i.json", input);
    let arguments =
        ["eval", "-v", "-d", &policy, "-i", &input, "data.q.allow", "--explain", "fails"];
    let output = sandbox.local(&arguments).output().code(0);
    assert!(output.stderr.contains("data.q.allow produced no value: this is false"), "{output:#?}");
    assert!(output.stderr.contains("1 call"), "{output:#?}");
}

//! Literal arguments, in place and behind names; and that no evaluation starts with wrong ones.

use super::{findings, table};
use crate::cli::Sandbox;

const DIGEST: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";
const ID: &str = "643224fb-4763-546c-9387-69d5984a8501";

#[test]
fn literals_are_checked_by_each_function() {
    let wrong = "invalid-argument";
    table(&[
        (r#"a := platform.discover(1, "")"#, &[(wrong, 1, 24)]),
        (r#"a := platform.discover("sha256:abc", "")"#, &[(wrong, 1, 24)]),
        (r"a := platform.discover(`sha256:abc`, input.k)", &[(wrong, 1, 24)]),
        (r"a := platform.discover(input.d, 1)", &[(wrong, 1, 33)]),
        (r#"a := platform.discover(input.d, "a\n")"#, &[(wrong, 1, 33)]),
        (r"a := platform.discover(1, 2)", &[(wrong, 1, 24), (wrong, 1, 27)]),
        (r#"a := platform.discover(["x"], null)"#, &[(wrong, 1, 24)]),
        (r#"a := platform.discover({"x": 1}, null)"#, &[(wrong, 1, 24)]),
        (r"a := platform.discover({x | some x in input.l}, null)", &[(wrong, 1, 24)]),
        (r#"a := platform.discover(input.d, "")"#, &[]),
        (r"a := platform.discover(input.d, null)", &[]),
        (r#"a := platform.discover(sprintf("sha256:%s", [input.x]), "")"#, &[]),
        (r#"a := platform.download_artifact("sha1:0123")"#, &[(wrong, 1, 33)]),
        (r#"a := platform.evidence_prompt("sha512:ABC", "x")"#, &[(wrong, 1, 31)]),
        (r#"a := platform.evidence_prompt(" ", "x")"#, &[(wrong, 1, 31)]),
        (r#"a := platform.evidence_prompt(input.d, " ")"#, &[(wrong, 1, 40)]),
        (r"a := platform.evidence_prompt(input.d, input.p)", &[]),
        // One more argument, for the result, is refused; the others are checked all the same.
        (r#"a if platform.discover(1, "", input.x)"#, &[(wrong, 1, 24)]),
    ]);
    for (digest, expected) in [
        (DIGEST.to_owned(), 0),
        (DIGEST.to_uppercase(), 1),
        (format!(" {DIGEST}"), 1),
        (DIGEST[..70].to_owned(), 1),
    ] {
        for call in ["discover(D, \"\")", "download_artifact(D)", "evidence_prompt(D, \"x\")"] {
            let call = call.replace('D', &format!("\"{digest}\""));
            let text = format!("package p\ndeny contains \"1\" if platform.{call}\n");
            assert_eq!(findings(&[("p.rego", &text)]).len(), expected, "{call}");
        }
    }
}

#[test]
fn filters_are_checked_key_by_key() {
    let wrong = "invalid-argument";
    table(&[
        (r#"a := platform.evidence({"knd": ["x"]})"#, &[(wrong, 1, 25)]),
        (
            r#"a := platform.evidence({"knd": input.k, "kind": "x"})"#,
            &[(wrong, 1, 25), (wrong, 1, 49)],
        ),
        (r#"a := platform.evidence({"kind": []})"#, &[(wrong, 1, 33)]),
        (r#"a := platform.evidence({"kind": [input.k, 1]})"#, &[(wrong, 1, 33)]),
        (r#"a := platform.evidence({"kind": ["SARIF", ""]})"#, &[(wrong, 1, 33)]),
        (r#"a := platform.evidence({"kind": {input.k, "SARIF"}})"#, &[]),
        (r#"a := platform.evidence({"kind": [k | some k in input.l]})"#, &[]),
        (r#"a := platform.evidence({"search": ""})"#, &[(wrong, 1, 35)]),
        (r#"a := platform.evidence({"latest": "true"})"#, &[(wrong, 1, 35)]),
        (r#"a := platform.evidence({"limit": 0})"#, &[(wrong, 1, 34)]),
        (r#"a := platform.evidence({"limit": -1})"#, &[(wrong, 1, 34)]),
        (r#"a := platform.evidence({"limit": 1.5})"#, &[(wrong, 1, 34)]),
        (r#"a := platform.evidence({"limit": 1})"#, &[]),
        (r"a := platform.evidence({1: 2})", &[(wrong, 1, 25)]),
        (r"a := platform.evidence({input.key: 2})", &[]),
        (r"a := platform.evidence({})", &[]),
        (r"a := platform.evidence([])", &[(wrong, 1, 24)]),
        (r#"a := platform.evidence("x")"#, &[(wrong, 1, 24)]),
        (r"a := platform.evidence(input.filters)", &[]),
        (r"a := platform.project_compliance({})", &[(wrong, 1, 34)]),
        (r#"a := platform.project_compliance({"limit": 1})"#, &[(wrong, 1, 34)]),
        // The key that is required isn't named: the types don't fit, as in OPA.
        (r"a := platform.project_compliance({input.key: 1})", &[("type-error", 1, 6)]),
        (r#"a := platform.project_compliance({"project_version_id": "v1"})"#, &[(wrong, 1, 57)]),
        (r#"a := platform.project_compliance({"project_version_id": input.id})"#, &[]),
        (
            r#"a := platform.project_compliance({"project_versoin_id": input.id})"#,
            &[(wrong, 1, 34), (wrong, 1, 35)],
        ),
        (
            "a := platform.evidence({\n\t\"kind\": [\"SARIF\"],\n\t\"ü\": 1, \"lastest\": true,\n})",
            &[(wrong, 3, 2), (wrong, 3, 10)],
        ),
    ]);
}

#[test]
fn names_lead_to_literals() {
    let wrong = "invalid-argument";
    table(&[
        // variables
        ("a if {\n\tf := {\"knd\": 1}\n\tplatform.evidence(f)\n}", &[(wrong, 2, 8)]),
        ("a if {\n\tplatform.evidence(f)\n\tf = {\"knd\": 1}\n}", &[(wrong, 3, 7)]),
        ("a if {\n\tf = {\"knd\": 1}\n\tplatform.evidence(f)\n}", &[(wrong, 2, 7)]),
        ("a if {\n\tk := []\n\tg := k\n\tplatform.evidence({\"kind\": g})\n}", &[(wrong, 2, 7)]),
        (
            "a contains e if {\n\tf := {\"knd\": 1}\n\tsome e in platform.evidence(f).results\n}",
            &[(wrong, 2, 8)],
        ),
        ("a := [e | f := {\"knd\": 1}; e := platform.evidence(f)]", &[(wrong, 1, 17)]),
        // not what they seem
        ("a if {\n\tsome f in [{\"knd\": 1}]\n\tplatform.evidence(f)\n}", &[]),
        ("a(f) := platform.evidence(f)\nb if a({\"knd\": 1})", &[]),
        ("a if {\n\tf := {\"knd\": {\"limit\": 1}}\n\tplatform.evidence(f.knd)\n}", &[]),
        (
            "a if {\n\tf := {\"knd\": 1}\n\tf\n\t[g | f := {\"limit\": 1}; g := platform.evidence(f)]\n}",
            &[],
        ),
        // rules
        ("f := {\"knd\": 1}\na := platform.evidence(f)", &[(wrong, 1, 7)]),
        ("a := platform.evidence(f)\nf := {\"kind\": k}\nk := []", &[(wrong, 3, 6)]),
        ("f := {\"knd\": 1} if input.x\na := platform.evidence(f)", &[]),
        ("default f := {\"knd\": 1}\nf := {} if input.x\na := platform.evidence(f)", &[]),
        ("f[\"knd\"] := 1\na := platform.evidence(f)", &[]),
        // a local hides a rule
        ("f := {\"knd\": 1}\na(f) := platform.evidence(f)", &[]),
    ]);
    let config = "package config\nf := {\"knd\": [], \"kind\": k}\nk := 1\n";
    let policy =
        "package p\nimport data.config\ndeny contains \"1\" if platform.evidence(config.f)\n";
    let found = findings(&[("c.rego", config), ("p.rego", policy)]);
    assert_eq!(found, [(wrong.to_owned(), 3, 40)], "names in another file aren't followed");
}

#[test]
fn a_mocked_call_may_have_any_arguments() {
    let policy = "package p\ndeny contains \"1\" if input.x\n";
    let test = "package p_test\nmock(_, _) := {}\n\
        test_a if platform.discover(\"d1\", \"\") == {} with platform.discover as mock\n\
        test_b if platform.discover(\"d1\", \"\") == {} with platform.evidence as {}\n";
    let found = findings(&[("p.rego", policy), ("p_test.rego", test)]);
    assert_eq!(found, [("invalid-argument".to_owned(), 4, 29)]);
}

#[test]
fn no_evaluation_starts_with_a_wrong_argument() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write(
        "p.rego",
        "package p\nx := 1\ny := platform.evidence({\"knd\": [\"SARIF\"]}) if input.never\n",
    );
    let output = sandbox
        .run(&["eval", "-d", &policy, "data.p.x"])
        .output()
        .fails("platform.evidence`: argument `filters");
    assert!(!output.stdout.contains("result"), "{output:#?}");
    output.says("error[invalid-argument]: `platform.evidence`").says("did you mean `kind`?");
    // No service is configured: a wrong argument is found before that.
    let warned = sandbox.write("q.rego", "package q\nimport data.z\nx := 1\n");
    let output = sandbox.local(&["eval", "-d", &warned, "data.q.x", "--format", "raw"]).output();
    assert_eq!(output.code(0).silent().stdout, "1\n", "warnings don't stop an evaluation");
}

#[test]
fn the_products_name_is_the_functions_prefix() {
    let sandbox = Sandbox::new();
    let text = "package p\ndeny contains \"1\" if chainloop.discover(1, \"\")\n";
    let policy = sandbox.write("p.rego", text);
    let run = |product| sandbox.run(&["check", "--product", product, &policy]).output().code(1);
    assert!(run("chainloop").stdout.contains("[invalid-argument]: `chainloop.discover`"));
    assert!(run("platform").stdout.contains("[unknown-function]"));
    assert_eq!(ID.len(), 36);
    let text = text.replace(
        "discover(1, \"\")",
        &format!("project_compliance({{\"project_version_id\": \"{ID}\"}})"),
    );
    sandbox.write("p.rego", text);
    sandbox.run(&["check", "--product", "chainloop", &policy]).output().code(0);
}

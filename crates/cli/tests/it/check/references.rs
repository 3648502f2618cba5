//! References into loaded packages to rules that don't exist.

use super::findings;
use crate::cli::Sandbox;

const ONE: &str = "package release.one\n\ndeny contains \"1\" if input.x\n\nhelper.a := 1\n\n\
    helper.b := 2\n\ntable[x] := 1 if some x in input.y\n\nf(x) := x\n";

/// Another package, which uses all rules of it.
const USER: &str = "package release_user\n\ndeny contains \"x\" if data.release.one[input.name]\n";

/// Returns the findings at a value in a module that imports the package.
fn found(value: &str) -> Vec<(String, u64, u64)> {
    let two = format!(
        "package release.two\n\nimport data.release.one\n\ndeny contains one.f(\"1\")\n\n\
        deny contains \"1\" if {value}\n"
    );
    findings(&[
        ("one.rego", ONE),
        ("two.rego", &two),
        ("user.rego", USER),
        ("release/one/extra.json", r#"{"config": {"limit": 1}}"#),
        ("release/elsewhere/extra.json", r#"{"x": 1}"#),
    ])
}

#[test]
fn references_to_missing_rules_are_found() {
    for value in [
        "one.denny",
        "one[\"denny\"][_]",
        "data.release.one.denny",
        "count(one.denny) == 0",
        "data.release.one.helper.c",
        "one.config.limits",
        "one.nothing_like_it",
        "data.release.two.denny",
    ] {
        let [(code, line, _)] = &found(value)[..] else { panic!("{value}: {:?}", found(value)) };
        assert_eq!((code.as_str(), *line), ("unknown-rule", 7), "{value}");
    }
    assert_eq!(found("every x in one.denny { x }"), [("unknown-rule".to_owned(), 7, 33)]);
    for value in ["data.release.ome.deny", "data.elsewhere.deny", "data.release.three.deny"] {
        assert_eq!(found(value), [("missing-data".to_owned(), 7, 22)], "{value}");
    }
}

#[test]
fn references_to_rules_that_exist_or_may_exist_are_fine() {
    for value in [
        "one.deny",
        "one.helper.a",
        "one.table.x",
        "one[input.name]",
        "one.config.limit",
        "data.release.elsewhere.x",
        "one.mocked with data.release.one.mocked as 1",
        "data.release",
    ] {
        let codes: Vec<_> = found(value).into_iter().map(|(code, ..)| code).collect();
        let of_references = ["unknown-rule", "missing-data"];
        assert!(!codes.iter().any(|code| of_references.contains(&&**code)), "{value}: {codes:?}");
    }
}

#[test]
fn imports_and_tests_are_checked() {
    let tests = "package release_test\n\nimport data.release.one.denny as denied\n\n\
        test_nothing_is_denied if not denied\n";
    let found = findings(&[("one.rego", ONE), ("use.rego", USER), ("a_test.rego", tests)]);
    assert_eq!(found, [("unknown-rule".to_owned(), 5, 31)]);
}

#[test]
fn the_hint_names_what_is_near_and_the_finding_can_be_silenced() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"1\" if not data.p.allwed\n\nallowed if input.x\n\nwarn contains \"2\" if allowed\n";
    let file = sandbox.write("p.rego", policy);
    let output = sandbox.run(&["check", &file]).output().code(1);
    assert!(output.stdout.contains("did you mean `data.p.allowed`?"), "{output:#?}");
    let silenced = policy.replace("allwed", "allwed # check:ignore unknown-rule");
    let file = sandbox.write("p.rego", silenced);
    sandbox.run(&["check", &file]).output().code(0);
}

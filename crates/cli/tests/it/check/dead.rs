//! Rules that no verdict, test or other package uses.

use super::findings;
use crate::cli::Sandbox;

const DEAD: &str = "dead-rule";
const UNUSED: &str = "unused-rule";

/// The findings about rules beside a verdict.
fn beside_a_verdict(rules: &str) -> Vec<(String, u64, u64)> {
    findings(&[("p.rego", &format!("package p\ndeny contains \"x\" if input.x\n{rules}\n"))])
}

#[test]
fn rules_that_nothing_reaches_are_dead() {
    for rules in [
        "edny contains \"x\" if input.y",
        "exempt contains \"x\" if input.y",
        "allow if not denied\ndenied if input.y",
        "roles[x] := 1 if some x in input.l",
        "x.deny contains \"x\" if input.y",
        "compliant := count(input.bad) == 0",
        "kinds := [x | some x in [1, 2]]",
        "denials if false\ndefault denials := true",
        // Only a function refers to it.
        "other if input.y\nf(x) if other == x",
    ] {
        let of_rules = beside_a_verdict(rules);
        let dead: Vec<_> = of_rules.iter().filter(|(code, ..)| code == DEAD).collect();
        assert_eq!(dead, [&(DEAD.to_owned(), 3, 1)], "{rules}");
    }
    for rules in [
        "warn contains \"y\" if helper\nhelper if f(limit)\nf(x) if x == 1\nlimit := 5",
        "violation contains {\"msg\": \"y\"} if x.y.z\nx.y.z if input.y",
        "warn_it contains x if some x in data[\"p\"].other\nother contains \"x\"",
        "test_it if helper == 1\nhelper := 1",
        "findings contains {\"message\": \"m\"} if { print(helper); input.y }\nhelper := 1",
        "result := {\"violations\": deny}",
        "# check:ignore dead-rule\nallow if input.y",
        "allow if input.y # check:ignore dead-rule",
    ] {
        assert_eq!(beside_a_verdict(rules), [], "{rules}");
    }
}

#[test]
fn literals_and_functions_that_nothing_uses_are_unused() {
    for (rules, column) in [
        ("default allow := false", 9),
        ("limit := 5", 1),
        ("limits.low := {\"a\": [5]}", 1),
        ("_mine := 1", 1),
        ("mocked := 1\nwarn contains \"y\" if input.y with data.p.mocked as 1", 1),
        ("f(x) if x == limit\nlimit := 5", 1),
    ] {
        assert_eq!(beside_a_verdict(rules), [(UNUSED.to_owned(), 3, column)], "{rules}");
    }
}

#[test]
fn a_package_that_another_uses_or_without_a_verdict_has_no_dead_rules() {
    let policy = "package p\ndeny contains \"x\" if data.q.used\n";
    let other = "package q\ndeny contains \"x\" if input.x\nused if input.y\nunused if input.z\n";
    assert_eq!(findings(&[("p.rego", policy), ("q.rego", other)]), [(DEAD.to_owned(), 4, 1)]);
    let library = "package q\nused if input.y\nunused if input.z\n";
    assert_eq!(findings(&[("p.rego", policy), ("q.rego", library)]), []);
    let test = "package q_test\ntest_unused if data.q.unused with input as {\"z\": 1}\n";
    let all = [("p.rego", policy), ("q.rego", other), ("q_test.rego", test)];
    assert_eq!(findings(&all), []);
    for (reference, dead) in [
        ("data[input.p].unused", Some((DEAD.to_owned(), 3, 1))),
        ("data.q[input.name]", None),
        ("data.q", None),
    ] {
        let policy = format!("package p\ndeny contains \"x\" if {reference}\n");
        let found = findings(&[("p.rego", &policy), ("q.rego", other)]);
        assert_eq!(found, dead.into_iter().collect::<Vec<_>>(), "{reference}");
    }
}

#[test]
fn the_hint_names_a_verdict_rule_that_is_near() {
    let sandbox = Sandbox::new();
    for (name, hint) in [("denny", "did you mean `deny`?"), ("allow", "use it in `deny`")] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if input.x\n\n{name} contains \"y\" if input.y\n"
        );
        let file = sandbox.write("p.rego", text);
        let output = sandbox.run(&["check", &file]).output().code(1);
        assert!(output.stdout.contains(hint), "{output:#?}");
    }
}

//! Values that the service isn't known to send.

use super::{findings, table};

const VALUE: &str = "unknown-value";
const FIELD: &str = "unknown-field";

/// Rules after `d`, the result of `discover`, and the position of a finding: column and line.
#[track_caller]
fn found(code: &str, cases: &[(&str, u64, u64)]) {
    for (rules, line, column) in cases {
        let text = format!("d := platform.discover(input.d, \"\")\n{rules}");
        table(&[(&text, &[(code, line + 1, *column)])]);
    }
}

#[test]
fn booleans_that_are_strings() {
    found(
        VALUE,
        &[
            ("a if d.references[_].metadata.hasPolicyViolations == true", 1, 6),
            ("a if d.metadata.hasPolicyViolations != false", 1, 6),
            ("a if true == d.metadata.hasPolicyViolations", 1, 6),
            ("a if { v := d.metadata.hasPolicyViolations; v == true }", 1, 45),
            ("a if d.metadata.hasPolicyViolations", 1, 6),
            ("a if not d.metadata.hasPolicyViolations", 1, 10),
            ("a if d.metadata.hasPolicyViolations == \"True\"", 1, 40),
            ("a if d.metadata.hasPolicyViolations in {true, 1}", 1, 37),
            ("a if object.get(d, [\"metadata\", \"hasPolicyViolations\"], null) == true", 1, 6),
        ],
    );
    for rules in [
        "a if d.metadata.hasPolicyViolations == \"true\"",
        "a if d.metadata.hasPolicyViolations in {true, \"true\"}",
        "a if object.get(d.metadata, \"hasPolicyViolations\", false) == true",
        "a if json.unmarshal(d.metadata.hasPolicyViolations) == true",
        "a if input.metadata.hasPolicyViolations == true",
    ] {
        table(&[(&format!("d := platform.discover(input.d, \"\")\n{rules}"), &[])]);
    }
}

#[test]
fn values_that_are_not_known() {
    found(
        VALUE,
        &[
            ("a if d.kind == \"CONTAINER_IMGE\"", 1, 16),
            ("a if d.kind != \"container-image\"", 1, 16),
            ("a if d.kind == \"MY_OWN_REPORT\"", 1, 16),
            ("a if \"SBOM_CYCLONEDX\" in {r.kind | some r in d.references}", 1, 6),
            ("a if { some r in d.references; r.kind in {\"SARIF\", \"OPENVX\"} }", 1, 52),
            ("kinds := [\"SARIFF\"]\na if d.kind in kinds", 1, 11),
            ("a if { every r in d.references { r.kind == \"ATESTATION\" } }", 1, 44),
            ("a := platform.discover(input.d, \"CONTAINER_IMGE\")", 1, 33),
            ("a := platform.evidence({\"kind\": [\"SBOM_SPDX_JSN\"]})", 1, 34),
            (
                "a if { some e in platform.project_compliance({\"project_version_id\": input.v}).evaluations; e.status == \"failed\" }",
                1,
                104,
            ),
        ],
    );
    for rules in [
        "a if d.kind == \"CSAF_VEX\"",
        "a if d.kind == input.kind",
        "a if startswith(d.kind, \"SBOM\")",
        "a := platform.evidence({\"kind\": [\"SARIF\"], \"search\": \"SARIFF\"})",
        "a if { some e in platform.project_compliance({\"project_version_id\": input.v}).evaluations; e.status == \"fail\" }",
    ] {
        table(&[(&format!("d := platform.discover(input.d, \"\")\n{rules}"), &[])]);
    }
}

#[test]
fn values_of_other_types_that_opa_accepts() {
    found(
        VALUE,
        &[
            ("a if d.public != \"no\"", 1, 6),
            ("a if d.createdAt > 5", 1, 6),
            ("a if count(d.references) != \"3\"", 1, 6),
        ],
    );
    // The type checker's findings aren't repeated.
    found("type-error", &[("a if d.public == \"no\"", 1, 6)]);
}

#[test]
fn values_are_followed() {
    let attestations =
        "attestations contains r if {\n\tsome r in d.references\n\tr.kind == \"ATTESTATION\"\n}\n";
    let compare = "metadata.hasPolicyViolations == true";
    for (rules, line, column) in [
        // through sets, functions and their arguments
        (format!("{attestations}a if {{\n\tsome r in attestations\n\tr.{compare}\n}}"), 7, 2),
        (format!("{attestations}a if bad(attestations[_])\nbad(r) if r.{compare}"), 6, 11),
        (format!("{attestations}a if of(attestations)[_].{compare}\nof(x) := x"), 5, 6),
        (
            format!("by[r.kind] contains r if some r in d.references\na if by.SARIF[_].{compare}"),
            2,
            6,
        ),
        (format!("by[r.kind] := r if some r in d.references\na if by[_].{compare}"), 2, 6),
        (format!("some_of := d.references if input.x else := []\na if some_of[_].{compare}"), 2, 6),
        (format!("a if {{ x := sort(d.references); x[_].{compare} }}"), 1, 33),
        (format!("a if union({{attestations}})[_].{compare}\n{attestations}"), 1, 6),
    ] {
        found(VALUE, &[(&rules, line, column)]);
    }
    for rules in [
        // Other data from outside has no known values.
        format!("a if bad(d)\nb if bad(input)\nbad(r) if r.{compare}"),
        format!("x := d if input.x else := input\na if x.{compare}"),
        format!("a(x) if x.{compare}"),
    ] {
        table(&[(&format!("d := platform.discover(input.d, \"\")\n{rules}"), &[])]);
    }
    found(
        FIELD,
        &[
            ("a if bad(d.references[_])\nbad(r) if r.metadata.hasPolicyViolation", 2, 22),
            ("a if first(d).knid\nfirst(x) := x", 1, 15),
            ("a := object.get(d, [\"metadata\", \"projectversion\"], \"\")", 1, 33),
            ("a if d.metadata.other == \"true\"", 1, 17),
            (
                "a if { some r in d.references; r.metadata.has_policy_violations == \"true\" }",
                1,
                43,
            ),
        ],
    );
}

#[test]
fn names_that_nothing_declares_belong_to_their_rules() {
    let of_service = "a if { x = platform.discover(input.d, \"\"); x.knid }";
    let of_input = "b if { x = input.foo; x.knid }";
    table(&[
        (&format!("{of_service}\n{of_input}"), &[(FIELD, 1, 46)]),
        (&format!("{of_input}\n{of_service}"), &[(FIELD, 2, 46)]),
    ]);
}

#[test]
fn verdicts_that_come_from_the_service() {
    let of = |rules: &str| {
        findings(&[(
            "p.rego",
            &format!("package p\nd := platform.discover(input.d, \"\")\n{rules}\n"),
        )])
    };
    for rules in [
        "deny contains d.public",
        "deny contains x if { x := d.downloadable }",
        "deny contains x if some x in {r.public | some r in d.references}",
        "deny contains count(d.references) if input.x",
        "deny contains r if some r in d.references",
    ] {
        let found = of(rules);
        assert_eq!(found, [("verdict-shape".to_owned(), 3, 15)], "{rules}");
    }
    for rules in [
        "deny contains d.kind",
        "deny contains v if { d.kind; some v in platform.evidence_prompt(input.x, \"x\").violations }",
    ] {
        assert_eq!(of(rules), [], "{rules}");
    }
}

#[test]
fn tests_and_silenced_lines_are_left_alone() {
    let policy = "package p\ndeny contains \"1\" if platform.discover(input.d, \"\").kind == \"SARIFF\" # check:ignore unknown-value\n";
    let test = "package p_test\nimport data.p\ntest_a if count(p.deny) == 1 with platform.discover as {\"kind\": \"SARIFF\"}\n\
        test_b if platform.discover(\"sha256:0\", \"\").kind == \"SARIFF\" with platform.discover as {}\n";
    assert_eq!(findings(&[("p.rego", policy), ("p_test.rego", test)]), []);
}

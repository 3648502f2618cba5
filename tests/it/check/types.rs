//! Types of what comes from outside: the functions' results.

use super::table;

/// Which are errors and which aren't is what OPA 1.22.2 says with the merged capabilities.
#[test]
fn documented_fields_have_their_types() {
    let wrong = "type-error";
    let discover = "d := platform.discover(input.d, \"\")\n";
    for (rule, column) in [
        ("a if d.downloadable == \"true\"", 6),
        ("a if d.public = \"no\"", 6),
        ("a if { p := d.public; \"no\" == p }", 23),
        ("a if { some r in d.references; r.kind == 3 }", 32),
        ("a if d.references[0].digest == {\"sha256\": input.d}", 6),
        ("a if d.createdAt.year == 2026", 6),
        ("a if d.references.kind == \"SARIF\"", 6),
        ("a if 3 in d.references", 6),
        ("a if \"a\" in {r.public | some r in d.references}", 6),
        ("a if startswith(d.references, \"a\")", 6),
        ("a if platform.download_artifact(input.d).bomFormat == \"x\"", 6),
        (
            "a if { some e in platform.project_compliance({\"project_version_id\": input.v}).evaluations; e.requirement_revision == \"3\" }",
            92,
        ),
        ("a if platform.evidence({}).results.kind == \"SARIF\"", 6),
        ("a if platform.evidence_prompt(input.x, \"x\").skipped == null", 6),
        ("a if platform.evidence_prompt(input.x, \"x\").violations[_].message", 6),
        ("f(x) := platform.discover(x, \"\").references\na if f(1).kind == 2", 6),
    ] {
        let line = 2 + u64::try_from(rule.matches('\n').count()).unwrap();
        table(&[(&format!("{discover}{rule}"), &[(wrong, line, column)])]);
    }
    for rule in [
        // Fields that aren't documented, and what OPA's checker says nothing of.
        "a if d.metadata.size == 3",
        "a if d.references[_].metadata.labels[0].x",
        "a if d.public != \"no\"",
        "a if d.kind > 3",
        "a if true in d.kind",
        "a if platform.evidence({}).results[_].annotations.approved == true",
        "a if d == {\"kind\": \"SARIF\"}",
        "a if count(d.references) > 3",
        "f(x) := x.kind == 3\na if f(d)",
    ] {
        table(&[(&format!("{discover}{rule}"), &[])]);
    }
}

#[test]
fn mocks_keep_the_types() {
    let test = "test_a if d == 1 with platform.discover as 1\n\
        test_b if d.public == \"x\" with platform.discover as {\"public\": \"x\"}\n\
        test_c if d.foo == \"x\" with platform.discover as {\"foo\": \"x\"}";
    table(&[(
        &format!("d := platform.discover(input.d, \"\")\n{test}"),
        &[("type-error", 2, 11), ("type-error", 3, 11)],
    )]);
}

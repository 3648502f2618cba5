//! Lists that a `limit` may have cut, and answers that are taken for their lists.

use super::table;

#[test]
fn cut_lists_are_not_taken_for_whole_ones() {
    let cut = "cut-list";
    table(&[
        (r#"a := count(platform.evidence({"limit": 5}).results)"#, &[(cut, 1, 6)]),
        (r#"a if count(platform.evidence({"limit": input.n}).results) > 0"#, &[(cut, 1, 6)]),
        (
            "a if {\n\te := platform.evidence({\"limit\": 5})\n\tcount(e.results) == 5\n}",
            &[(cut, 3, 2)],
        ),
        (
            "a if {\n\tf := {\"limit\": 5}\n\te := platform.evidence(f)\n\tr := e.results\n\tcount(r) > 5\n}",
            &[(cut, 5, 2)],
        ),
        (
            "a if {\n\te := platform.evidence({\"limit\": 5})\n\tbad := [r | some r in e.results; r.kind == \"x\"]\n\tcount(bad) == 0\n}",
            &[(cut, 4, 2)],
        ),
        (
            "a if {\n\te := platform.evidence({\"limit\": 5})\n\tnot \"x\" in {r.kind | some r in e.results}\n}",
            &[(cut, 3, 2)],
        ),
        (
            "a if {\n\te := platform.evidence({\"limit\": 5})\n\tevery r in e.results { r.kind == \"x\" }\n}",
            &[(cut, 3, 2)],
        ),
        // through rules
        (
            "e := platform.evidence({\"limit\": 5})\na if not has\nhas if e.results[_].kind == \"x\"",
            &[(cut, 2, 6)],
        ),
        ("e := platform.evidence({\"limit\": 5}).results\na if count(e) > 10", &[(cut, 2, 6)]),
        (
            "rows contains r if some r in platform.evidence({\"limit\": 5}).results\na if count(rows) == 0",
            &[(cut, 2, 6)],
        ),
        (
            "f(x) := platform.evidence({\"limit\": 5, \"search\": x}).results\na if count(f(\"y\")) > 7",
            &[(cut, 2, 6)],
        ),
    ]);
}

#[test]
fn uses_that_a_cut_does_not_change_are_fine() {
    table(&[
        (r#"a if count(platform.evidence({"limit": 1}).results) > 0"#, &[]),
        (r#"a if count(platform.evidence({"limit": 1}).results) == 0"#, &[]),
        (r#"a if 0 < count(platform.evidence({"limit": 1}).results)"#, &[]),
        (r#"a if count(platform.evidence({"limit": 5}).results) >= 5"#, &[]),
        (r#"a if 5 > count(platform.evidence({"limit": 5}).results)"#, &[]),
        (r#"a if count(platform.evidence({"limit": 5}).results) > 5"#, &[("cut-list", 1, 6)]),
        (r#"a if count(platform.evidence({"limit": 5}).results) != 5"#, &[("cut-list", 1, 6)]),
        ("e := platform.evidence({\"limit\": 1}).results\na if count(e) > 0", &[]),
        ("a if {\n\te := platform.evidence({\"limit\": 1})\n\tcount(e.results) > 0\n}", &[]),
        (
            "a if {\n\te := platform.evidence({\"limit\": 1})\n\tsome r in e.results\n\tr.kind == \"x\"\n}",
            &[],
        ),
        ("a := count(platform.evidence({}).results)", &[]),
    ]);
}

#[test]
fn answers_are_not_taken_for_their_lists() {
    let whole = "whole-answer";
    table(&[
        ("a if count(platform.evidence({})) == 0", &[(whole, 1, 6)]),
        ("a contains e if some e in platform.evidence({})", &[(whole, 1, 27)]),
        ("a contains e if some _, e in platform.evidence({})", &[(whole, 1, 30)]),
        ("a if \"x\" in platform.evidence({})", &[(whole, 1, 10)]),
        ("a if {\n\te := platform.evidence({})\n\tevery r in e { r.kind }\n}", &[(whole, 3, 2)]),
        ("e := platform.evidence({})\na if e[_].kind == \"SARIF\"", &[(whole, 2, 6)]),
        (
            "e := platform.evidence({})\na if {\n\tsome i\n\te[i].kind == \"SARIF\"\n}",
            &[(whole, 4, 2)],
        ),
        ("a if count(platform.discover(input.x, \"\")) > 1", &[(whole, 1, 6)]),
        ("f(x) if count(x) > 0\na if f(platform.discover(input.x, \"\"))", &[(whole, 1, 9)]),
        // lists, and keys that are known
        ("a if count(platform.evidence({}).results) == 0", &[]),
        ("a contains r if some r in platform.discover(input.x, \"\").references", &[]),
        ("e := platform.evidence({})\na := e[key] if key := \"results\"", &[]),
        ("a if count(platform.discover(input.x, \"\").references[0].metadata) > 0", &[]),
    ]);
}

//! Names: of functions, verdict rules, fields, imports and variables.

use serde_json::Value;

use super::{findings, table};
use crate::cli::Sandbox;

#[test]
fn code_that_does_not_load_is_found_in_tests_too() {
    let policy = "package p\ndeny contains \"1\" if platform.discoverr(input.d, \"\")\n";
    let test = "package p_test\nimport data.p\n\
        test_a if count(p.deny) == 1 with platform.evidenc as {}\ntest_b if http.send({})\n\
        test_c if platform.evidence(1, 2, 3)\n";
    let found = findings(&[("p.rego", policy), ("p_test.rego", test)]);
    let codes: Vec<_> = found.iter().map(|(code, line, _)| (code.as_str(), *line)).collect();
    assert_eq!(
        codes,
        [
            ("unknown-function", 2),
            ("unknown-function", 3),
            ("unsupported-builtin", 4),
            ("always-true", 4),
            ("arity", 5)
        ]
    );
    let found = findings(&[("a.rego", "package a\nx := {\n"), ("b.rego", "package b\ny = = 1\n")]);
    assert!(found.len() >= 2 && found.iter().all(|f| f.0 == "parse-error"), "{found:?}");
}

#[test]
fn a_function_that_does_not_exist_is_one_finding() {
    let lib = "package lib\n\ntrusted(x) if x\n";
    let policy = "package p\nimport data.lib\ndeny contains \"x\" if {\n\tnot lib.trustd(input.x)\n\tlib.trusted(1)\n}\n";
    let found = findings(&[("lib.rego", lib), ("p.rego", policy)]);
    let codes: Vec<_> = found.iter().map(|(code, line, _)| (code.as_str(), *line)).collect();
    assert_eq!(codes, [("unknown-function", 4)]);
}

#[test]
fn errors_and_warnings_come_together_in_their_order() {
    table(&[(
        "a := platform.discover(1, \"\").refernces\nb := platform.evidence(1, 2, 3)\nc := platform.discover(input.x, \"\").knid",
        &[
            ("invalid-argument", 1, 24),
            ("unknown-field", 1, 31),
            ("arity", 2, 6),
            ("unknown-field", 3, 37),
        ],
    )]);
}

#[test]
fn fields_that_are_not_known() {
    let near = "unknown-field";
    table(&[
        (r#"a := platform.discover(input.d, "").refernces"#, &[(near, 1, 37)]),
        (r#"a := platform.discover(input.d, "")["refernces"]"#, &[(near, 1, 37)]),
        (r#"a := platform.discover(input.d, "").references[0].createdat"#, &[(near, 1, 51)]),
        (r#"a := platform.discover(input.d, "").references[_].created_at"#, &[(near, 1, 51)]),
        (r#"a := platform.discover(input.d, "").references"#, &[]),
        (r#"a := platform.discover(input.d, "").metadata.refernces"#, &[(near, 1, 46)]),
        (r#"a := platform.discover(input.d, "").id"#, &[(near, 1, 37)]),
        (r"a := platform.evidence({}).result", &[(near, 1, 28)]),
        (r"a := platform.evidence({}).results[_].workflow_nam", &[(near, 1, 39)]),
        (r"a := platform.evidence({}).results[_].annotations.nmae", &[]),
        (r#"a := platform.evidence_prompt(input.c, "x").violation"#, &[(near, 1, 45)]),
        (r"a := platform.download_artifact(input.d).digset", &[("type-error", 1, 6)]),
        // through names
        ("a if {\n\tx := platform.discover(input.d, \"\")\n\tx.refernces\n}", &[(near, 3, 4)]),
        ("a if {\n\tx = platform.discover(input.d, \"\")\n\tx.refernces\n}", &[(near, 3, 4)]),
        (
            "a if {\n\tx := platform.discover(input.d, \"\")\n\ty := x\n\tsome r in y.references\n\tr.knid\n}",
            &[(near, 5, 4)],
        ),
        (
            "a if {\n\tx := platform.discover(input.d, \"\")\n\tevery r in x.references { r.knid == 1 }\n}",
            &[(near, 3, 30)],
        ),
        ("x := platform.discover(input.d, \"\")\na := x.refernces", &[(near, 2, 8)]),
        ("x := platform.discover(input.d, \"\")\na := data.p.x.refernces", &[(near, 2, 15)]),
        (
            "a if {\n\txs := {platform.discover(d, \"\") | some d in input.l}\n\tsome x in xs\n\tx.refernces\n}",
            &[(near, 4, 4)],
        ),
        ("a := [r.knid | some r in platform.discover(input.d, \"\").references]", &[(near, 1, 9)]),
        (
            "x := platform.discover(input.d, \"\")\na := object.get(x, \"refernces\", [])",
            &[(near, 2, 20)],
        ),
        (
            "x := platform.discover(input.d, \"\")\na := object.get(x, [\"refernces\", 0], [])",
            &[(near, 2, 21)],
        ),
        ("x := platform.discover(input.d, \"\")\na := object.get(x, \"references\", [])", &[]),
        ("x := platform.discover(input.d, \"\")\na(x) := x.refernces", &[]),
    ]);
}

/// Returns the findings of `check --functions all` about a rule, each as `code: hint`.
#[track_caller]
fn of_optional(rule: &str) -> Vec<String> {
    let sandbox = Sandbox::new();
    let text = format!("package p\ndeny contains \"1\" if input.x\n{rule}\n");
    let (path, user) = (sandbox.write("p.rego", &text), sandbox.write("u.rego", super::USER));
    let arguments = ["check", "--functions", "all", "--format", "json", &path, &user];
    let report = sandbox.run(&arguments).output().json();
    let found = report["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    found.map(|found| format!("{}: {}", text(&found["code"]), text(&found["hint"]))).collect()
}

#[test]
fn the_optional_functions_have_known_fields_too() {
    let version = "platform.product_version(input.p, input.v)";
    let compliance = "platform.product_compliance({\"product_version_id\": input.v}).frameworks[_]";
    for (expression, hint) in [
        (format!("{version}.statsu"), "did you mean `status`?"),
        (format!("{version}.version.name"), "the result isn't wrapped in `version`"),
        (
            format!("{version}.frameworks[_].requirements[_].dispaly_name"),
            "did you mean `display_name`?",
        ),
        (
            format!("{version}.project_versions[_].project.latest_version.versoin"),
            "did you mean `version`?",
        ),
        ("platform.products({}).results".to_owned(), "expected one of `products`"),
        ("platform.products({}).pagination.total_count".to_owned(), "expected one of `products`"),
        (
            "platform.products({}).products[_].latest_version.statsu".to_owned(),
            "did you mean `status`?",
        ),
        ("platform.projects({}).projects".to_owned(), "expected one of `results`"),
        ("platform.environments({}).environment".to_owned(), "did you mean `environments`?"),
        (format!("{compliance}.evaluations[_].status"), ""),
        (format!("{compliance}.name"), ""),
        (format!("{compliance}.metrics.percentage"), ""),
        (format!("{compliance}.evaluations[_].project_evaluations[_].name"), ""),
        // The five have the same rules.
        ("platform.evidence({}).pagination".to_owned(), "expected one of `results`"),
        (
            "platform.discover(input.d, \"\").result".to_owned(),
            "the result isn't wrapped in `result`",
        ),
        (
            "platform.evidence_prompt(input.c, \"x\").output".to_owned(),
            "expected one of `skipped`, `violations`",
        ),
        (format!("{version}.owner"), ""),
        ("platform.products({}).products[_].owner".to_owned(), ""),
        ("platform.discover(input.d, \"\").owner".to_owned(), ""),
        ("platform.evidence({}).results[_].owner".to_owned(), ""),
    ] {
        let found = of_optional(&format!("a := {expression}"));
        let [found] = &*found else { panic!("{expression}: {found:?}") };
        let hint = if hint.is_empty() { "expected one of " } else { hint };
        assert!(found.starts_with(&format!("unknown-field: {hint}")), "{expression}: {found}");
    }
}

#[test]
fn the_optional_functions_have_known_values_too() {
    let evaluation = "platform.product_compliance({\"product_version_id\": input.v}).frameworks[_].evaluations[_]";
    let findings = |filters: &str| {
        let names = "\"project_name\": input.p, \"project_version_name\": input.v";
        format!("a := platform.findings({{{names}, {filters}}})")
    };
    for (rule, code) in [
        (
            format!("a if {evaluation}.overall_status == \"failed\""),
            "unknown-value: did you mean `\"fail\"`?",
        ),
        (
            format!("a if {evaluation}.project_evaluations[_].status == \"Pass\""),
            "unknown-value: did you mean `\"pass\"`?",
        ),
        (findings("\"severity\": \"CRITCAL\""), "unknown-value: did you mean `\"CRITICAL\"`?"),
        (
            findings("\"severity\": [\"HIGH\", \"FINDING_SEVERITY_HIHG\"]"),
            "unknown-value: did you mean `\"FINDING_SEVERITY_HIGH\"`?",
        ),
        (findings("\"status\": \"OPNE\""), "unknown-value: did you mean `\"OPEN\"`?"),
        (findings("\"status\": \"OPEN\", \"severity\": [\"FINDING_SEVERITY_HIGH\"]"), ""),
        (format!("a if {evaluation}.overall_status == \"fail\""), ""),
        (
            format!("a if {evaluation}.overall_status == \"exempt\""),
            "unknown-value: expected one of `\"pass\"`, `\"fail\"`, `\"pending\"`, `\"partial\"`, \
             `\"inactive\"`",
        ),
    ] {
        let expected: Vec<&str> = Some(code).filter(|code| !code.is_empty()).into_iter().collect();
        assert_eq!(of_optional(&rule), expected, "{rule}");
    }
}

#[test]
fn a_part_of_a_filters_name_finds_it() {
    for (filters, hint) in [
        ("platform.projects({\"project\": \"x\"})", "did you mean `project_name`?"),
        ("platform.projects({\"name\": \"x\"})", "did you mean `project_name`?"),
        (
            "platform.evidence({\"project\": \"x\"})",
            "did you mean `project_name` or `project_version_name`?",
        ),
        ("platform.evidence({\"projectname\": \"x\"})", "did you mean `project_name`?"),
        ("platform.products({\"zzz\": 1})", "the keys are `limit`"),
    ] {
        let expected = [format!("invalid-argument: {hint}")];
        assert_eq!(of_optional(&format!("a := {filters}")), expected, "{filters}");
    }
}

#[test]
fn packages_need_a_verdict() {
    let of = |text: &str| findings(&[("p.rego", text)]);
    let expected = |column| [("no-verdict".to_owned(), 1, column)];
    assert_eq!(of("package a.b\nallowed contains \"1\" if input.x\n"), expected(9));
    assert_eq!(of("package a\nallow if input.x\n"), expected(9));
    let function = of("package a\ndeny(x) := x\n");
    assert_eq!(function, [("verdict-rule".to_owned(), 2, 1)], "a function isn't a verdict");
    for rule in ["deny", "deny_it", "violation", "violations", "findings", "warn", "warn_x"] {
        let message = if rule == "findings" { "{\"message\": \"1\"}" } else { "\"1\"" };
        assert_eq!(of(&format!("package a\n{rule} contains {message} if input.x\n")), []);
    }
    assert_eq!(of("package a\nfindings contains {\"message\": \"1\"} if input.x\n"), []);
    assert_eq!(of("package a\nresult := {\"violations\": []}\n"), []);
    assert_eq!(of("package a_test\ntest_x if true\n"), []);

    let library = ("l.rego", "package l\nf(x) := x\n");
    let user = ("u.rego", "package u\nimport data.l\ndeny contains l.f(\"1\") if input.x\n");
    assert_eq!(findings(&[library, user]), []);
    let user = ("u.rego", "package u\ndeny contains data.l.f(\"1\") if input.x\n");
    assert_eq!(findings(&[library, user]), []);
    let test = ("l_test.rego", "package l_test\nimport data.l\ntest_x if l.f(1) == 1\n");
    assert_eq!(findings(&[library, test]), [], "functions alone are a library");
}

#[test]
fn unused_imports_and_variables() {
    let (import, local) = ("unused-import", "unused-local");
    let of = |text: &str| {
        findings(&[("p.rego", text), ("u.rego", super::USER), ("z/d.json", r#"{"x": 1}"#)])
    };
    let rules = "deny contains \"1\" if input.x\n";
    assert_eq!(of(&format!("package p\nimport data.z\n{rules}")), [(import.to_owned(), 2, 1)]);
    assert_eq!(
        of(&format!("package p\nimport input.z as y\n{rules}")),
        [(import.to_owned(), 2, 1)]
    );
    for used in [
        format!("package p\nimport rego.v1\nimport data.z as _z\n{rules}"),
        format!("package p\nimport data.z\n{rules}a := z.x"),
        format!("package p\nimport input.z\n{rules}a := z"),
        format!("package p\nimport data.z\n{rules}a if data.p.deny with z as 1"),
    ] {
        assert_eq!(of(&used), [], "{used}");
    }
    let hidden = format!("package p\nimport data.z\n{rules}a(z) := z");
    assert_eq!(of(&hidden), [(import.to_owned(), 2, 1)], "an argument hides it");
    table(&[
        ("a if {\n\tx := 1\n}", &[(local, 2, 2)]),
        ("a if { some x in [1] }", &[(local, 1, 13)]),
        ("a if { some k, x in [1]; x }", &[(local, 1, 13)]),
        ("a if { some _, x in [1]; x }", &[]),
        ("a if { [x, y] := [1, 2]; x }", &[(local, 1, 12)]),
        ("a if { every x in [1] { true } }", &[(local, 1, 14), ("compile-error", 1, 25)]),
        ("a if { every k, x in [1] { x } }", &[(local, 1, 14), ("compile-error", 1, 28)]),
        ("a if { _x := 1 }", &[]),
        ("a(x, y) := x", &[(local, 1, 6)]),
        ("a(x, _) := x", &[]),
        ("a(x, x) := 1", &[]),
        ("a(_y, {\"k\": x}) := x", &[]),
        ("a := [1 | x := 2]", &[(local, 1, 11)]),
        ("a := x if { x := 1 } else := 3 if { x := 2 }", &[(local, 1, 37)]),
        ("a if { x := 1; b := [y | y := x]; b }", &[]),
        ("a if { x := 1; input.l[x] }", &[]),
        ("a if { x := 1; input.y with input as x }", &[]),
        ("a if { some i; input.l[i] == 1 }", &[]),
        ("a[x] := y if { x := 1; y := 2 }", &[]),
        ("a contains {\"k\": x} if { x := 1 }", &[]),
        ("a if { x := 1; [x | x := 2] }", &[(local, 1, 8)]),
        ("a if { walk(input, [path, value]) }", &[]),
    ]);
}

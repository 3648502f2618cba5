//! The outcomes: passed, failed, and no verdict.

use super::{DENY_BAD, gate, gate_with, outcomes, shipped};
use crate::cli::Sandbox;

const POLICIES: &[&str] = &[
    "base_image_provenance",
    "document_review",
    "release_compliance",
    "required_evidence",
    "sbom_licences",
    "static_analysis",
    "test_reports",
    "upstream_attestations",
];

#[test]
fn each_shipped_policy_passes_fails_and_has_no_verdict() {
    let sandbox = Sandbox::new();
    for policy in POLICIES {
        let input = |name: &str| format!("testdata/inputs/{policy}/{name}.json");
        let run = |name: &str, more: &[&str]| {
            shipped(&sandbox, &[&["-n", policy, "-i", &input(name)], more].concat())
        };
        let report = run("pass", &[]).code(0).json();
        assert_eq!(report["inputs"][0]["verdicts"][0]["status"], "passed", "{policy}");
        let report = run("fail", &[]).code(1).json();
        let verdict = &report["inputs"][0]["verdicts"][0];
        assert_eq!((&verdict["status"], &verdict["policy"]), (&"failed".into(), &(*policy).into()));
        assert!(verdict["violations"][0]["message"].is_string());
        for name in ["pass", "fail"] {
            let report = run(name, &["--fault", "*:status=403"])
                .fails_with_one_of(&[
                    "not found or not allowed for this API token (403): injected fault",
                    "missing permission of the token (403): injected fault",
                ])
                .json();
            let verdict = &report["inputs"][0]["verdicts"][0];
            assert_eq!(verdict["status"], "no_verdict", "{policy}");
            assert!(verdict["error"]["message"].as_str().unwrap().contains("403"));
        }
    }
}

/// It calls read functions, so it has its own folder, which isn't loaded with the others.
#[test]
fn the_release_gate_on_product_compliance() {
    let sandbox = Sandbox::new();
    let run = |name: &str, functions: &[&str]| {
        let input = format!("testdata/inputs/release_gate/{name}.json");
        let fixed = ["gate", "-d", "examples/release_gate", "-f", "json", "-i", &input];
        sandbox.served(&[&fixed[..], functions].concat()).output()
    };
    let all = ["--functions", "all"];
    run("pass", &all).code(0);
    let report = run("fail", &all).code(1).json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["policy"], "release_gate");
    run("pass", &[&all[..], &["--fault", "*:status=403"]].concat())
        .fails("platform.product_version: missing permission of the token");
    run("pass", &[]).fails("--functions");
}

#[test]
fn all_policies_are_asked_together() {
    let sandbox = Sandbox::new();
    let inputs = ["-i", "testdata/inputs/release"];
    let report = shipped(&sandbox, &inputs).code(1).json();
    let expected = [("fail.json", "failed"), ("pass.json", "passed")]
        .map(|(name, outcome)| (format!("testdata/inputs/release/{name}"), outcome.to_owned()));
    assert_eq!(outcomes(&report), expected);
    let names: Vec<_> = report["policies"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, POLICIES);
    assert_eq!(report["ai"], true);
    assert_eq!(report["answers"], "emulator");
}

#[test]
fn a_failed_call_takes_no_other_input_with_it() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"bad\" if input.bad\n\n\
                  deny contains \"unknown\" if {\n\tinput.image\n\t\
                  not platform.discover(input.image, \"\")\n}\n";
    let policy = sandbox.write("p.rego", policy);
    sandbox.write("in/a.json", format!("{{\"image\": \"sha256:{}\"}}", "0".repeat(64)));
    sandbox.write("in/b.json", "{\"bad\": true}");
    sandbox.write("in/c.json", "{}");
    let folder = sandbox.path("in");
    let folder = folder.to_str().unwrap();
    let fixed = ["gate", "-d", &policy, "-i", folder, "-f", "json"];
    let report = sandbox
        .served(&fixed)
        .output()
        .fails("platform.discover: no such resource of the service")
        .json();
    let found: Vec<_> = outcomes(&report).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(found, ["no_verdict", "failed", "passed"]);
    assert_eq!(report["exit"], 2);
    assert_eq!(report["inputs"][0]["verdicts"][0]["error"]["function"], "platform.discover");
    let quick = [&fixed[..], &["--fail-fast"]].concat();
    sandbox.served(&quick).output().fails("platform.discover: no such resource of the service");
}

#[test]
fn a_run_that_stops_at_the_first_reads_no_further_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("in/0.json", "{\"bad\": true}");
    let good = "{}\n".repeat(20_000);
    sandbox.write("in/1.jsonl", &good);
    // If these were read, there would be no verdict.
    sandbox.write("in/2.json", "{");
    sandbox.write("in/3.json", "{");
    let folder = sandbox.path("in");
    let arguments = ["-i", folder.to_str().unwrap(), "-q"];
    let report = gate(&sandbox, DENY_BAD, &arguments)
        .fails("invalid JSON: unexpected end of JSON input")
        .json();
    assert_eq!(report["totals"]["no_verdict"], 2);
    let quick = [&arguments[..], &["--fail-fast"]].concat();
    let report = gate(&sandbox, DENY_BAD, &quick).code(1).json();
    assert_eq!((&report["outcome"], &report["totals"]["failed"]), (&"failed".into(), &1.into()));
    assert!(report["totals"]["inputs"].as_u64().unwrap() < 20_000);
    // At least the two files, and the rest of the third.
    assert!(report["totals"]["not_evaluated"].as_u64().unwrap() >= 3);
    assert!(report["reasons"][1].as_str().unwrap().contains("stopped at the first failure"));
    let unreadable = sandbox.path("in/2.json");
    let good = sandbox.path("in/1.jsonl");
    let paths = ["-i", unreadable.to_str().unwrap(), "-i", good.to_str().unwrap(), "--fail-fast"];
    let report =
        gate(&sandbox, DENY_BAD, &paths).fails("invalid JSON: unexpected end of JSON input").json();
    assert_eq!(report["totals"]["inputs"], 1);
    assert!(report["totals"]["not_evaluated"].as_u64().unwrap() >= 1);
}

#[test]
fn a_run_that_stops_at_the_first_is_the_same_each_time() {
    let sandbox = Sandbox::new();
    // The first takes longer, and fails; the second has no verdict at once.
    let slow = "package p\n\ndeny contains \"bad\" if {\n\tinput.bad\n\t\
                some x in numbers.range(1, 20000)\n\tx == 20000\n}\n\ndeny contains input.n\n";
    let first = sandbox.write("a.json", "{\"bad\": true, \"n\": \"x\"}");
    let second = sandbox.write("b.json", "{\"n\": 1}");
    for _ in 0..5 {
        let arguments = ["-i", &first, "-i", &second, "--fail-fast"];
        let report = gate(&sandbox, slow, &arguments).code(1).json();
        assert_eq!(outcomes(&report).len(), 1);
        assert_eq!(report["totals"]["not_evaluated"], 1);
    }
}

#[test]
fn an_annotated_severity_says_more_than_a_finding() {
    let sandbox = Sandbox::new();
    let policy = |annotation: &str| {
        format!(
            "package p\n\n{annotation}violations contains \"secret\"\n\n# METADATA\n# custom:\n\
             #   severity: low\nfindings contains {{\"message\": \"secret\"}}\n"
        )
    };
    let critical = policy("# METADATA\n# custom:\n#   severity: critical\n");
    gate(&sandbox, &critical, &["--fail-on", "high"]).code(1);
    let low = policy("# METADATA\n# custom:\n#   severity: low\n");
    gate(&sandbox, &low, &["--fail-on", "high"]).code(0);
    // Of a violation without a severity, a finding says nothing.
    gate(&sandbox, &policy(""), &["--fail-on", "high"]).code(1);
}

#[test]
fn violations_have_the_position_of_their_definition() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"one\" if input.never\n\n\
                  deny contains sprintf(\"two %s\", [input.x]) if input.x\n\n\
                  deny contains message if some message in input.xs\n";
    let input = sandbox.write("in.json", "{\"x\": \"y\", \"xs\": [\"three\", \"two z\"]}");
    let report = gate(&sandbox, policy, &["-i", &input]).code(1).json();
    let found = report["inputs"][0]["verdicts"][0]["violations"].as_array().unwrap();
    let lines: Vec<_> =
        found.iter().map(|v| (v["message"].as_str().unwrap(), &v["position"]["line"])).collect();
    // The last may come from line 7 as well: it can't be determined.
    assert_eq!(lines, [("three", &7.into()), ("two y", &5.into()), ("two z", &5.into())]);
    let file = sandbox.write("policy.rego", policy);
    let human = sandbox.run(&["gate", "-d", &file, "-i", &input]).output().code(1).stdout;
    assert!(human.contains(&format!(": three ({file}:7:1)\n")), "{human}");
    assert!(human.contains(&format!(": two z ({file}:5:1)\n")), "{human}");
}

#[test]
fn wrong_shapes_have_no_verdict() {
    let sandbox = Sandbox::new();
    for rules in [
        "result := []",
        "result := {}",
        "result := {\"violations\": []} if input.never",
        "result := {\"findings\": [{\"text\": \"x\"}]}",
        "result := {\"violations\": \"x\"}",
        "violations := \"x\"",
        "deny contains 7",
        "deny contains {\"text\": \"x\"}",
        "deny(x) := x",
        "allow := true",
    ] {
        let policy = format!("package p\n\n{rules}\n");
        gate(&sandbox, &policy, &[]).fails_with_one_of(&[
            "`result` is an array, not an object",
            "result` has neither `violations` nor `findings",
            "`result` is undefined",
            "`findings` of `result` holds a finding without a `message`",
            "`violations` of `result` is a string, not a set or an array",
            "`violations` is a string, not a set or an array",
            "`deny` holds a violation that is a number",
            "`deny` holds a violation without a `message`",
            "verdict rule is a function: `deny`",
            "the rule `violation` isn't a verdict rule: no verdict uses",
            "`p`: no verdict rule",
        ]);
    }
}

/// A reference with a variable leads to every package below it.
#[test]
fn libraries_may_be_reached_through_a_variable() {
    let sandbox = Sandbox::new();
    sandbox.write("a.rego", "package lib.a\n\nproblems contains \"m\" if input.bad\n");
    let library = sandbox.path("a.rego").to_str().unwrap().to_owned();
    for rule in [
        "deny contains m if some m in data.lib[_].problems",
        "deny contains m if {\n\tsome _, library in data.lib\n\tsome m in library.problems\n}",
        "import data.lib\n\ndeny contains m if some m in lib[_].problems",
    ] {
        let policy = format!("package p\n\n{rule}\n");
        let options = ["-d", &*library, "-i", "-"];
        gate_with(&sandbox, &policy, &options, "{\"bad\": true}").code(1);
        gate_with(&sandbox, &policy, &options, "{\"bad\": false}").code(0);
    }
}

#[test]
fn a_function_that_a_verdict_calls_is_its_helper() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"http\" if deny_scheme(input.scheme)\n\n\
                  deny_scheme(scheme) if scheme == \"http\"\n";
    gate_with(&sandbox, policy, &["-i", "-"], "{\"scheme\": \"http\"}").code(1);
    gate_with(&sandbox, policy, &["-i", "-"], "{\"scheme\": \"https\"}").code(0);
}

#[test]
fn rules_and_items_of_conftest_and_gatekeeper_count() {
    let sandbox = Sandbox::new();
    for rule in [
        "violation contains {\"msg\": \"it is bad\"} if input.bad",
        "violation_high contains \"it is bad\" if input.bad",
        "deny contains {\"msg\": \"it is bad\", \"details\": {}} if input.bad",
        "findings contains \"it is bad\" if input.bad",
    ] {
        let policy = format!("package p\n\n{rule}\n");
        let report = gate_with(&sandbox, &policy, &["-i", "-"], "{\"bad\": true}").code(1).json();
        let found = &report["inputs"][0]["verdicts"][0]["violations"][0];
        assert_eq!(found["message"], "it is bad", "{rule}");
        gate_with(&sandbox, &policy, &["-i", "-"], "{}").code(0);
    }
}

#[test]
fn packages_without_a_verdict_are_refused_unless_another_one_needs_them() {
    let sandbox = Sandbox::new();
    let helper = "package helper\n\nbad if input.bad\n";
    let user = "package p\n\nimport data.helper\n\ndeny contains \"bad\" if helper.bad\n";
    let (helper, user) = (sandbox.write("h.rego", helper), sandbox.write("p.rego", user));
    let none = "--no-input";
    sandbox.run(&["gate", "-d", &helper, none]).output().fails("no verdict rule");
    sandbox
        .run(&["gate", "-d", &helper, none, "--allow-warnings"])
        .output()
        .fails("no policies to evaluate");
    sandbox.run(&["gate", "-d", &helper, "-d", &user, none]).output().code(0);
    let other = sandbox.write("o.rego", DENY_BAD.replace("package p", "package o").as_str());
    let lone = ["gate", "-d", &helper, "-d", &other, none];
    sandbox.run(&lone).output().fails("`helper`");
    sandbox.run(&[&lone[..], &["-n", "o"]].concat()).output().code(0);
    sandbox.run(&[&lone[..], &["-n", "data.o"]].concat()).output().code(0);
    sandbox.run(&[&lone[..], &["-n", "oo"]].concat()).output().fails("did you mean `o`");
    sandbox
        .run(&[&lone[..], &["-n", "helper"]].concat())
        .output()
        .fails("the package `helper` has no verdict rule");
}

/// As in OPA, a test's file is a file like any other: its violations count.
#[test]
fn violations_in_a_test_file_count_and_its_imports_are_no_excuse() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{\"bad\": true}");
    let run = |files: &[(&str, &str)]| {
        let written: Vec<String> =
            files.iter().map(|(name, text)| sandbox.write(name, text)).collect();
        let given = written.iter().flat_map(|file| ["-d", file]);
        sandbox.run(&["gate", "-i", &input].into_iter().chain(given).collect::<Vec<_>>()).output()
    };
    let tests = "package p_test\n\nimport data.p\n\ntest_a if count(p.deny) == 0\n";
    let more = "package p\n\ndeny contains \"more\"\n";
    let fine = "package p\n\ndeny contains \"bad\" if input.good\n";
    run(&[("p.rego", fine), ("p_test.rego", tests)]).code(0);
    run(&[("p.rego", fine), ("q_test.rego", more)]).code(1);
    run(&[("p.rego", fine), ("q.rego", "package q_test\n\ndeny contains \"more\"\n")]).code(1);
    run(&[("only_test.rego", DENY_BAD)]).code(1);
    let fixture = format!("{tests}\nviolations := [\"of a mock\"]\n");
    run(&[("p.rego", fine), ("p_test.rego", &fixture)])
        .fails("verdict rule `violations` never evaluated: the package `p_test` has tests");
    let no_verdict = "package p\n\nbad if input.bad\n";
    let tests = "package p_test\n\nimport data.p\n\ntest_a if p.bad\n";
    run(&[("p.rego", no_verdict), ("p_test.rego", tests)]).fails("`p` has no verdict rule");
    let beside = "package other\n\nimport data.p\n\ntest_a if p.bad\n";
    let other = "package other\n\ndeny contains \"x\" if false\n";
    run(&[("p.rego", no_verdict), ("other.rego", other), ("other_test.rego", beside)])
        .fails("the package `p` has no verdict rule");
    // Functions alone are a library.
    let library = "package p\n\nbad(x) if x.bad\n";
    run(&[("p.rego", library), ("other.rego", other)]).code(0);
    run(&[("p.rego", library)]).fails("`p`: no verdict rule");
}

#[test]
fn an_input_that_every_policy_skips_does_not_pass() {
    let sandbox = Sandbox::new();
    let skip = "package p\n\nresult := {\"skipped\": true, \"skip_reason\": \"not mine\"}\n";
    let report = gate(&sandbox, skip, &[]).fails("input skipped by every policy").json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["reason"], "not mine");
    assert_eq!(report["inputs"][0]["error"]["kind"], "all-skipped");
    gate(&sandbox, skip, &["--allow-skipped"]).code(0);
    let ignored = "package p\n\nresult := {\"ignore\": true, \"violations\": [\"x\"]}\n";
    let report = gate(&sandbox, ignored, &["--allow-skipped"]).code(0).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["violations"][0]["effect"], "disregarded");
}

#[test]
fn severities_and_warnings_decide_what_fails() {
    let sandbox = Sandbox::new();
    let found = |severity: &str| {
        format!("package p\n\ndeny contains {{\"message\": \"m\", \"severity\": {severity}}}\n")
    };
    for (severity, code) in
        [("\"low\"", 0), ("\"High\"", 1), ("\"critical\"", 1), ("\"odd\"", 1), ("7", 1)]
    {
        gate(&sandbox, &found(severity), &["--fail-on", "high"]).code(code);
        gate(&sandbox, &found(severity), &[]).code(1);
    }
    gate(&sandbox, "package p\n\ndeny contains \"m\"\n", &["--fail-on", "high"]).code(1);
    let annotated = "# METADATA\n# custom:\n#   severity: low\npackage p\n\n\
                     deny contains \"m\"\n";
    gate(&sandbox, annotated, &["--fail-on", "high"]).code(0);
    // `result` is as severe as the rules that it consists of.
    let low = "# METADATA\n# custom:\n#   severity: low\n";
    let critical = low.replace("low", "critical");
    let rule = "violations contains {\"message\": \"m\"}\n\n";
    let result = "result := {\"violations\": violations}\n";
    for (policy, code) in [
        (format!("{low}package p\n\n{critical}{rule}{result}"), 1),
        (format!("package p\n\n{critical}{rule}{low}{result}"), 1),
        (format!("package p\n\n{low}{rule}{low}{result}"), 0),
        (format!("{low}package p\n\n{rule}{result}"), 0),
        (format!("package p\n\n{low}{rule}{result}"), 1),
    ] {
        gate(&sandbox, &policy, &["--fail-on", "high"]).code(code);
    }
    // One definition's annotation doesn't apply to the other.
    let one = "package p\n\n# METADATA\n# custom:\n#   severity: low\ndeny contains \"m\"\n\n\
               deny contains \"n\"\n";
    gate(&sandbox, one, &["--fail-on", "high"]).code(1);
    let warn = "package p\n\nwarn contains \"w\"\n";
    let report = gate(&sandbox, warn, &[]).code(0).json();
    assert_eq!(report["totals"]["warnings"], 1);
    gate(&sandbox, warn, &["--fail-on-warn"]).code(1);
}

#[test]
fn a_policy_that_never_ends_has_no_verdict() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"x\" if {\n\tsome a in numbers.range(1, 5000)\n\t\
                  some b in numbers.range(1, 5000)\n\ta * b == -1\n}\n";
    let report = gate(&sandbox, policy, &["--timeout", "500ms"])
        .fails("the evaluation timed out after")
        .json();
    assert_eq!(report["inputs"][0]["outcome"], "no_verdict");
}

#[test]
fn a_violation_without_a_finding_of_its_own_fails_whatever_becomes_of_the_findings() {
    let sandbox = Sandbox::new();
    let waivers = sandbox.write(
        "waivers.yaml",
        "max_days: 1000000\nwaivers:\n- finding: CVE-1\n  subject: {input: \"/**\"}\n  reason: r\n  owner: o\n  \
         expires: 2999-01-01\n",
    );
    let input = sandbox.write("in.json", "{}");
    let finding =
        "findings contains {\"message\": \"bad\", \"id\": \"CVE-1\", \"severity\": \"low\"}";
    // An item without a known severity fails, so that of the finding loosens nothing for it.
    let of_low = "{\"message\": \"bad\", \"severity\": \"low\"}";
    for (violation, waived, below) in
        [("\"bad\"", 0, 1), (of_low, 0, 0), ("\"something else\"", 1, 1)]
    {
        for result in ["", "result := {\"violations\": violations, \"findings\": findings}\n"] {
            let policy =
                format!("package p\n\n{finding}\n\nviolations contains {violation}\n\n{result}");
            for (loosened, code) in
                [(["--waivers", &waivers], waived), (["--fail-on", "high"], below)]
            {
                let arguments = [&["-i", &*input][..], &loosened].concat();
                let report = gate(&sandbox, &policy, &arguments).code(code).json();
                let listed = report["inputs"][0]["verdicts"][0]["violations"].as_array().unwrap();
                let others = usize::from(violation.contains("else"));
                assert_eq!(listed.len(), 1 + others, "{policy}");
            }
        }
    }
}

#[test]
fn packages_that_only_refer_to_each_other_need_a_verdict() {
    let sandbox = Sandbox::new();
    let main =
        sandbox.write("p.rego", "package p\n\nimport data.a\n\ndeny contains \"x\" if a.x\n");
    let a = "package a\n\nimport data.b\n\nx if b.x\n";
    let b = "package b\n\nimport data.a\n\nx if input.x\n\ny if input.y\n";
    let other = sandbox.write("o.rego", DENY_BAD.replace("package p", "package o"));
    let (a, b) = (sandbox.write("a.rego", a), sandbox.write("b.rego", b));
    sandbox.run(&["gate", "-d", &a, "-d", &b, "-d", &main, "--no-input"]).output().code(0);
    let lone = sandbox.run(&["gate", "-d", &a, "-d", &b, "-d", &other, "--no-input"]).output();
    lone.fails("`a` has no verdict rule");
}

#[test]
fn what_a_server_asks_for_needs_no_verdict_and_anything_beside_it_does() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let run = |package: &str, rule: &str| {
        let text = format!("package {package}\n\n{rule} if input.x\n");
        let file = sandbox.write("server.rego", text);
        sandbox.run(&["gate", "-d", &policy, "-d", &file, "-i", "-"]).stdin("{}").output()
    };
    run("system.log", "mask contains \"/input/a\"").code(0);
    run("system", "main").code(0);
    run("system.health", "live").code(0);
    run("system.log", "masks contains \"/input/a\"").fails("`system.log` has no verdict rule");
    run("system.authz", "allow").fails("`system.authz` has no verdict rule");
}

#[test]
fn a_package_whose_tests_are_functions_or_constants_is_no_package_of_tests() {
    let sandbox = Sandbox::new();
    for (rule, is_test) in [
        ("test_a if true", true),
        ("test_a := count(data.o.deny) == 0", true),
        ("test_coverage := 3", false),
        ("test_cases := [1]", false),
        ("test_x(y) if y", false),
    ] {
        let policy = format!("package load_test\n\n{rule}\n\ndeny contains \"bad\"\n");
        let other = sandbox.write("o.rego", "package o\n\ndeny contains \"x\" if false\n");
        let run = gate(&sandbox, &policy, &["-d", &other]);
        if is_test {
            run.fails("verdict rule `deny` never evaluated: the package `load_test` has tests");
        } else {
            run.code(1);
        }
    }
}

//! Whole reports, of tests with every outcome.

use crate::cli::{Output, Sandbox};

use super::test;

const POLICY: &str = "package release

deny contains \"no SBOM\" if not has_sbom

has_sbom if {
	some reference in platform.discover(input.image, \"\").references
	startswith(reference.kind, \"SBOM_\")
}
";

const TESTS: &str = "package release_test

import data.release

test_passes if {
	count(release.deny) == 1 with platform.discover as {\"references\": []} with input.image as \"x\"
}

test_fails if {
	denied := release.deny with platform.discover as {\"references\": [{\"kind\": \"SBOM_SPDX\"}]}
		with input.image as \"x\"
	print(\"denied:\", denied, \"\\n::error::not a command\")
	count(denied) == 1
}

test_table[kind][note] if {
	some kind, notes in {\"a\": {\"one\": 1, \"two\": 2}, \"b\": {\"three <&> \\u202e\": 1}}
	some note, n in notes
	n == 1
}

test_value := 7

test_unmocked if count(release.deny) == 0 with input.image as image

image := sprintf(\"sha256:%064d\", [7])

todo_test_later if false
";

fn report(arguments: &[&str]) -> Output {
    let files = [("release.rego", POLICY), ("tests/release_test.rego", TESTS)];
    test(&files, arguments).fails("release_test")
}

/// Compares with the snapshot, without durations.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
        filters => vec![
            (r"\(\d+(\.\d+)?(µs|ms|s)\)", "(TIME)"),
            (r#""duration": \d+"#, r#""duration": 0"#),
            (r#" time="[^"]*""#, r#" time="0""#),
            (r"rego-platform v?\d+\.\d+\.\d+", "rego-platform VERSION"),
        ],
    }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn they_are_as_documented() {
    snapshot("test-human", &report(&[]).stdout);
    snapshot("test-human-verbose", &report(&["-v"]).stdout);
    snapshot("test-json", &report(&["--format", "json"]).stdout);
    snapshot("test-junit", &report(&["--format", "junit"]).stdout);
}

#[test]
fn coverage_is_as_documented() {
    let files = [
        ("a.rego", "package a\n\nx := 1\n\ny if {\n\tinput.z\n\tinput.w\n}\n"),
        ("a_test.rego", "package a_test\n\nimport data.a\n\ntest_x if {\n\ta.x == 1\n}\n"),
    ];
    snapshot("test-coverage-human", &test(&files, &["--coverage"]).code(0).stdout);
    let output = test(&files, &["--coverage", "--format", "json"]).code(0);
    snapshot("test-coverage-json", &output.stdout);
}

/// Rules without a written body, defaults, `else` without braces, parentheses and numbers, with the
/// ranges that OPA 1.22.4 reports.
#[test]
fn the_ranges_of_coverage_are_those_of_opa() {
    for (rule, covered, not_covered) in [
        ("q := 1", "3:1-3:7 3:6-3:7", ""),
        ("q[\"x\"] := 2", "3:1-3:12 3:11-3:12", ""),
        ("q contains 1", "3:1-3:2 3:1-3:13", ""),
        ("q.a.b = 3", "3:1-3:10 3:9-3:10", ""),
        ("default q := 1", "3:1-3:8 3:9-3:15", ""),
        ("default q := [1 | true]", "3:9-3:24 3:14-3:24 3:19-3:23", "3:1-3:8"),
        ("f(x) := x", "", "3:1-3:10 3:9-3:10"),
        ("q := 1 if {\n\tfalse\n} else := 3", "4:2-4:7 5:3-5:12", "3:1-3:7"),
        ("q := 1 if false\nelse := 2", "3:11-3:16 4:1-4:10", "3:1-3:7"),
        ("q := input.zz", "", "3:1-3:14 3:6-3:14"),
        ("default f(_) := 7", "", "3:1-3:8 3:9-3:18"),
        ("q contains [x | x := 1]", "3:1-3:24 3:12-3:24 3:17-3:23", ""),
        ("q := (1)", "3:1-3:9 3:7-3:10", ""),
        ("q := -1", "3:1-3:8 3:6-3:7", ""),
        ("q := .5", "3:1-3:8 3:6-3:7", ""),
        ("q := x if { x := ((1) + 1) * 2 }", "3:1-3:7 3:13-3:31 3:20-3:29 3:20-3:33", ""),
        ("q if (1) + 1 == 2", "3:1-3:2 3:6-3:18 3:7-3:14", ""),
        ("q if every x in ({1}) { x }", "3:1-3:2 3:6-3:28 3:18-3:23 3:25-3:26", ""),
        ("q := $\"{1 + 1}b{(1)}\"", "3:1-3:22 3:6-3:22", ""),
        (
            "q := 1 if false\nelse := 2 if [1 | true] == [2]\nelse := 3 if 1 == 2",
            "3:11-3:16 4:1-5:20 5:1-5:20",
            "3:1-3:7",
        ),
        ("q := (\n\t1 +\n\t2\n)", "3:1-6:2 4:2-7:2", ""),
        ("q contains (\"é\")", "3:1-3:2 3:1-3:17", ""),
        ("q := 1 if false\nelse := (2)", "3:11-3:16 4:1-4:12", "3:1-3:7"),
    ] {
        let policy = format!("package p\n\n{rule}\n");
        let tests = "package p_test\n\ntest_a if count([v | v := data.p]) >= 0\n";
        let files = [("p.rego", policy.as_str()), ("p_test.rego", tests)];
        let report = test(&files, &["--coverage", "--format", "json"]).code(0).json();
        let files = report["files"].as_object().unwrap();
        let file = files.iter().find(|(name, _)| name.ends_with("p.rego")).unwrap().1;
        let ranges = |of: &str| {
            let ranges = file[of].as_array().cloned().unwrap_or_default();
            let place = |at: &serde_json::Value| format!("{}:{}", at["row"], at["col"]);
            let ranges =
                ranges.iter().map(|range| place(&range["start"]) + "-" + &place(&range["end"]));
            ranges.collect::<Vec<_>>().join(" ")
        };
        let found = (ranges("covered"), ranges("not_covered"));
        assert_eq!(found, (covered.to_owned(), not_covered.to_owned()), "{rule}");
    }
}

/// OPA 1.22.4's.
#[test]
fn what_is_not_covered_has_its_kinds() {
    let policy = "package p\n\nq if input.a == 1\n\nq if {\n\tinput.b == 2\n\tinput.c\n}\n\n\
        r := 1 if 1 == 1\n\nr := 1 if {\n\t2 == 2\n}\n";
    let tests = "package p_test\n\ntest_a if data.p.r == 1\n\n\
        test_b if not data.p.q with input as {\"a\": 3}\n";
    let files = [("p.rego", policy), ("p_test.rego", tests)];
    let report = test(&files, &["--coverage", "--format", "json"]).code(0).json();
    let (_, file) = report["files"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.ends_with("p.rego"))
        .unwrap();
    let parts = file["not_covered"].as_array().unwrap().iter().map(|part| {
        let start = &part["start"];
        format!("{}:{} {}", start["row"], start["col"], part["kinds"])
    });
    let expected = [
        "3:1 null",
        "3:6 [\"index_excluded\"]",
        "5:1 null",
        "6:2 [\"index_excluded\"]",
        "7:2 null",
        "12:1 [\"early_exit\"]",
        "13:2 [\"early_exit\"]",
    ];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
}

#[test]
fn no_report_hands_over_what_a_test_printed() {
    for format in ["human", "json", "junit"] {
        let stdout = report(&["-v", "--format", format]).stdout;
        let lines = || stdout.lines().map(str::trim_start);
        assert!(lines().all(|line| !line.starts_with("::")), "{stdout}");
        assert!(!stdout.contains('\u{202e}'), "{stdout}");
    }
}

#[test]
fn junit_counts_as_the_status_does() {
    let stdout = report(&["--format", "junit"]).stdout;
    let mut reader = quick_xml::Reader::from_str(&stdout);
    let mut cases = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag)
                if tag.name().as_ref() == "testcase" =>
            {
                cases += 1;
            }
            _ => {}
        }
    }
    assert_eq!(cases, 6);
    for counts in ["tests=\"6\"", "failures=\"3\"", "errors=\"1\"", "skipped=\"1\""] {
        assert!(stdout.contains(counts), "{counts}: {stdout}");
    }
}

#[test]
fn the_files_of_new_are_as_documented() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.run(&["new", "release", "--dir", "release"]).command();
    let output = command.current_dir(sandbox.path(".")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut shown = String::from_utf8(output.stdout).unwrap();
    let files = std::fs::read_dir(sandbox.path("release")).unwrap();
    let mut files: Vec<_> =
        files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.push(sandbox.path("release/.github/workflows/release.yml"));
    files.sort();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        shown.push_str(&format!("\n--- {name}\n{}", std::fs::read_to_string(&file).unwrap()));
    }
    snapshot("new", &shown);
}

#[test]
fn a_run_that_cannot_begin_is_reported_in_the_formats_for_programs() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("p_test.rego", "package p_test\n\ntest_x if data.lib.f(1)\n");
    let report = |format: &str| {
        let output = sandbox
            .run(&["test", &file, "--format", format])
            .output()
            .fails("undefined function data.lib.f");
        assert!(output.stderr.contains("undefined function data.lib.f"), "{}", output.stderr);
        assert!(output.stderr.contains("load the file of its package too"), "{}", output.stderr);
        output.stdout
    };
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(json["errors"][0]["location"]["row"], 3, "{json}");
    let junit = report("junit");
    assert!(junit.contains("errors=\"1\"") && junit.contains("undefined function"), "{junit}");
    assert_eq!(report("human"), "");
}

//! `--engine` of `eval`, `test` and `gate`.

use serde_json::{Value, json};

use crate::cli::{Output, Sandbox};

/// The clean image of the shipped data.
const IMAGE: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

/// A policy on which the engines agree only for `{"o": {"n": 1}}`.
const DIFFERS: &str = "package p\n\ndeny contains x if some {\"n\": x} in [input.o]\n";

#[track_caller]
fn eval(sandbox: &Sandbox, engine: &str, arguments: &[&str]) -> Output {
    sandbox.served(&[&["eval", "--engine", engine, "--format", "raw"], arguments].concat()).output()
}

#[test]
fn the_shipped_policies_have_the_same_verdicts_on_both_engines() {
    let sandbox = Sandbox::new();
    let shipped = std::fs::read_dir(format!("{}/policies", crate::ROOT))
        .unwrap()
        .chain(std::fs::read_dir(format!("{}/examples/release_gate", crate::ROOT)).unwrap());
    let policies = shipped.map(|entry| entry.unwrap().path()).filter(|path| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        path.extension().is_some_and(|extension| extension == "rego") && !stem.ends_with("_test")
    });
    let policies: Vec<_> = policies.collect();
    assert_eq!(policies.len(), 9);
    for path in policies {
        let inputs = format!("testdata/inputs/{}", path.file_stem().unwrap().to_str().unwrap());
        let policy = path.to_str().unwrap();
        for engine in ["regorus", "both"] {
            let gate = ["gate", "-d", policy, "-i", &inputs, "--engine", engine];
            let gate = [&gate[..], &["--functions", "all", "--format", "json"]].concat();
            let report = sandbox.served(&gate).output().code(1).json();
            let status = |at: usize| report["inputs"][at]["outcome"].as_str().unwrap();
            assert_eq!((status(0), status(1)), ("failed", "passed"), "{policy} on {engine}");
            assert_eq!(report["inventory"]["engine"], engine);
        }
    }
}

#[test]
fn tests_with_mocks_run_on_regorus() {
    let sandbox = Sandbox::new();
    for folder in ["policies/*.rego", "examples/release_gate"] {
        let run = |engine: &str| {
            let run = ["test", folder, "--functions", "all", "--engine", engine];
            let run = sandbox.run(&run).output().code(0);
            run.stdout.lines().last().unwrap().to_owned()
        };
        assert_eq!(run("regorus"), run("opa"));
        assert!(run("both").starts_with("PASS: "));
    }
}

#[test]
fn a_recording_of_one_engine_replays_on_the_other() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\nkinds contains r.kind if some r in platform.discover(input.image, \"\").references\n\nat := time.now_ns()\n";
    let policy = sandbox.write("p.rego", policy);
    let input = sandbox.write("input.json", format!("{{\"image\": \"{IMAGE}\"}}"));
    let recording = sandbox.path("r.json");
    let recording = recording.to_str().unwrap();
    let common = ["-d", &policy, "-i", &input, "[data.p.kinds, data.p.at]"];
    for (first, second) in [("regorus", "opa"), ("opa", "regorus"), ("both", "both")] {
        let recorded = eval(&sandbox, first, &[&common[..], &["--record", recording]].concat());
        let recorded = recorded.code(0);
        let again = ["eval", "--engine", second, "--format", "raw", "--replay", recording];
        let replayed = sandbox.run(&[&again[..], &common[..]].concat()).output().code(0);
        assert_eq!(recorded.stdout, replayed.stdout, "{first} {second}");
    }
}

#[test]
fn a_difference_is_no_verdict_and_both_values_are_shown() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DIFFERS);
    let same = sandbox.write("same.json", r#"{"o": {"n": 1}}"#);
    let other = sandbox.write("other.json", r#"{"o": {"n": 1, "m": 2}}"#);
    let ask = |engine: &str, input: &str| {
        eval(&sandbox, engine, &["-d", &policy, "-i", input, "data.p.deny"])
    };
    assert_eq!(ask("both", &same).code(0).stdout, "[1]\n");
    assert_eq!(ask("opa", &other).code(0).stdout, "[]\n");
    assert_eq!(ask("regorus", &other).code(0).stdout, "[1]\n");
    let differs = ask("both", &other).fails("result mismatch");
    assert!(differs.stderr.contains("expected `[]`, found `[1]` from regorus"), "{differs:?}");

    let message = DIFFERS.replace("contains x", "contains sprintf(\"%v\", [x])");
    let policy = sandbox.write("q.rego", message);
    let gate = |input: &str| {
        let arguments =
            ["gate", "-d", &policy, "-i", input, "--engine", "both", "--format", "json"];
        sandbox.served(&arguments).output()
    };
    gate(&same).code(1);
    let report = gate(&other).fails("result mismatch").stdout;
    assert!(report.contains("result mismatch"), "{report}");
    assert!(report.contains(r#"on regorus [[[\"1\"]]], and here [[[]]]"#), "{report}");

    let test = "package p_test\n\ntest_n if { data.p.deny == set() with input as {\"o\": {\"n\": 1, \"m\": 2}} }\n";
    let test = sandbox.write("p_test.rego", test);
    let policy = sandbox.write("p.rego", DIFFERS);
    let arguments = ["test", &policy, &test, "--engine", "both"];
    let output = sandbox.run(&arguments).output().fails("result mismatch");
    assert!(format!("{output:?}").contains("result mismatch"), "{output:?}");
}

#[test]
fn an_error_on_one_side_is_a_difference_and_a_failed_call_is_not() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\nr := [x | some x in input.s]\n");
    let input = sandbox.write("input.json", r#"{"s": "abc"}"#);
    let output =
        eval(&sandbox, "both", &["-d", &policy, "-i", &input, "data.p.r"]).fails("result mismatch");
    assert!(output.stderr.contains("found `an error: "), "{output:?}");

    let call = "package p\n\nr := platform.discover(input.image, \"\")\n\nq if not platform.discover(input.image, \"\").kind\n";
    let policy = sandbox.write("p.rego", call);
    let unknown = format!("{{\"image\": \"sha256:{}\"}}", "0".repeat(64));
    let input = sandbox.write("input.json", unknown);
    for engine in ["opa", "regorus", "both"] {
        let output =
            eval(&sandbox, engine, &["-d", &policy, "-i", &input, "data.p.q"]).fails("not found");
        assert!(output.stderr.contains("not found"), "{engine}: {output:?}");
        assert!(!output.stderr.contains("another answer"), "{engine}: {output:?}");
    }
}

#[test]
fn limits_and_refusals_hold_on_regorus() {
    let sandbox = Sandbox::new();
    let text = "package p\n\nr := {d.digest: platform.discover(d.digest, d.kind).kind | some d in input.references}\n";
    let policy = sandbox.write("p.rego", text);
    let references =
        eval(&sandbox, "opa", &[&format!("platform.discover(\"{IMAGE}\", \"\").references")]);
    let references: Value = serde_json::from_str(&references.code(0).stdout).unwrap();
    let input = sandbox.write("input.json", json!({"references": references}).to_string());
    let ask = |more: &[&str]| {
        eval(&sandbox, "regorus", &[&["-d", &policy, "-i", &input, "data.p.r"], more].concat())
    };
    let table = ask(&["-v"]).code(0).stderr;
    assert!(table.contains("platform.discover"), "{table}");
    let limited = ask(&["--max-calls", "1"]).fails("--max-calls");
    assert!(limited.stderr.contains("--max-calls"), "{limited:?}");

    let misspelt =
        sandbox.write("p.rego", "package p\n\nr if input.x\n\ns if platform.discoverr(1)\n");
    let output =
        eval(&sandbox, "regorus", &["-d", &misspelt, "-i", &input, "data.p.r"]).fails("function");
    assert!(output.stderr.contains("is not a function"), "{output:?}");
    let output = eval(&sandbox, "both", &["--package", "p", "r"]).fails("--import");
    assert!(output.stderr.contains("`--package` and `--import`"), "{output:?}");
}

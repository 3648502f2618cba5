//! Command lines of people who come from `opa` and `conftest`.

use super::{Output, Sandbox};

const POLICY: &str = "package release.images\n\ndeny contains \"no name\" if not input.name\n";

fn folder() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("p/images.rego", POLICY);
    sandbox.write(
        "p/images_test.rego",
        "package release.images_test\n\nimport data.release.images\n\n\
         test_named if count(images.deny) == 0 with input as {\"name\": \"x\"}\n",
    );
    sandbox.write(
        "p/notes/sizes.rego",
        "package notes\n\nwarn contains \"small\" if input.size < 2\n",
    );
    sandbox.write("good.json", "{\"name\": \"a\"}");
    sandbox.write("bad.json", "{\"size\": 1}");
    sandbox
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.run(arguments).within(sandbox.path(".")).output()
}

#[test]
fn policies_and_inputs_are_named_as_elsewhere() {
    let sandbox = folder();
    for arguments in [
        &["gate", "-d", "p", "good.json"][..],
        &["gate", "--policy", "p", "--input", "good.json"],
        &["gate", "-p", "p/*.rego", "good.json", "-f", "json"],
        &["gate", "good.json", "-p", "p", "-o", "json"],
    ] {
        let output = run(&sandbox, arguments).code(0);
        assert!(output.stdout.contains("good.json"), "{output:#?}");
    }
    let report = run(&sandbox, &["gate", "-d", "p", "bad.json", "-ojson", "-o", "tap=x"]).code(1);
    assert_eq!(report.json()["totals"]["violations"], 1);
    assert!(sandbox.path("x").exists());
    run(&sandbox, &["gate", "-d", "p", "--no-input", "good.json"])
        .fails("`--no-input` and `--input` can't be used together");
    let output = run(&sandbox, &["gate", "-d", "q/*.rego", "good.json"])
        .fails("no file matches the glob: `q/*.rego`");
    assert!(output.stderr.contains("no file matches the glob: `q/*.rego`"), "{output:#?}");
    // A command line that doesn't parse writes nothing.
    let output =
        run(&sandbox, &["gate", "-d", "p", "good.json", "-o", "json", "-o", "tap=y", "--nope"])
            .fails("unexpected argument '--nope' found");
    assert_eq!(output.stdout, "");
    assert!(!sandbox.path("y").exists());
    let output = run(
        &sandbox,
        &["eval", "-p", "p", "-i", "bad.json", "-o", "raw", "count(data.release.images.deny)"],
    );
    assert_eq!(output.code(0).stdout, "1\n");
}

#[test]
fn this_folder_is_meant_where_none_is_named() {
    let sandbox = folder();
    for arguments in [&["test", "-o", "json"][..], &["check"]] {
        sandbox.run(arguments).within(sandbox.path("p")).output().code(0);
    }
    run(&sandbox, &["test", "-d", "p/*.rego"]).code(0);
    run(&sandbox, &["check", "-p", "p"]).code(0);
}

#[test]
fn packages_are_chosen_by_globs_and_in_lists() {
    let sandbox = folder();
    let asked = |names: &str| -> Vec<String> {
        let output = run(&sandbox, &["gate", "-d", "p", "bad.json", "-fjson", "-n", names]);
        let report = output.json();
        let asked = report["inventory"]["packages"].as_array().unwrap().iter();
        let asked = asked.filter(|package| package["asked"] == true);
        asked.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(asked("release.*"), ["release.images"]);
    assert_eq!(asked("notes,release.images"), ["notes", "release.images"]);
    assert_eq!(asked("*"), ["notes", "release.images"]);
    let output = run(&sandbox, &["gate", "-d", "p", "bad.json", "-n", "other.*"])
        .fails("no package matches `other.*`");
    assert!(output.stderr.contains("no package matches `other.*`"), "{output:#?}");
}

#[test]
fn no_fail_turns_violations_into_status_0_and_is_reported() {
    let sandbox = folder();
    let output = run(&sandbox, &["gate", "-d", "p", "bad.json", "--no-fail", "-fjson"]).code(0);
    let report = output.json();
    assert_eq!((&report["outcome"], &report["exit"]), (&"failed".into(), &0.into()));
    let options = report["inventory"]["options"].as_array().unwrap();
    let used = options.iter().find(|option| option["name"] == "no_fail").unwrap();
    assert_eq!(used["effect"], "took_effect", "{used}");
    // A missing verdict stays missing.
    sandbox.write("p/broken.rego", "package broken\n\ndeny := input\n");
    run(&sandbox, &["gate", "-d", "p", "bad.json", "--no-fail"])
        .fails("bad.json: `deny` is an object, not a set or an array");
}

#[test]
fn quiet_hides_what_passed() {
    let sandbox = folder();
    run(&sandbox, &["gate", "-q", "-d", "p", "good.json", "-n", "release.images"]).code(0).empty();
    let output = run(&sandbox, &["gate", "-q", "-d", "p", "good.json", "bad.json"]).code(1);
    assert!(output.stdout.contains("no name") && !output.stdout.contains("good.json"));
    run(&sandbox, &["test", "-q", "p"]).code(0).empty();
    run(&sandbox, &["check", "-q", "p"]).code(0).empty();
}

#[test]
fn suggestions_are_near() {
    let sandbox = folder();
    let tip = |arguments: &[&str]| {
        run(&sandbox, arguments)
            .fails_with_one_of(&[
                "unrecognized subcommand 'gat'",
                "unexpected argument '--polcy' found",
                "unexpected argument '--inptu' found",
                "unrecognized subcommand 'gateway'",
                "unexpected argument '--print-source' found",
                "unrecognized subcommand 'fnord'",
            ])
            .stderr
            .contains("similar")
    };
    assert!(tip(&["gat"]) && tip(&["gate", "--polcy", "p"]) && tip(&["eval", "--inptu", "x"]));
    assert!(!tip(&["gateway"]) && !tip(&["check", "--print-source"]) && !tip(&["fnord"]));
    let output = run(&sandbox, &["check", "--print-source"]);
    assert!(
        output.stderr.contains("Usage: rego-platform check [OPTIONS] [PATH]..."),
        "{output:#?}"
    );
    let output = run(&sandbox, &["version"]).code(0);
    assert!(output.stdout.contains(env!("CARGO_PKG_VERSION")) && output.stdout.contains("OPA"));
    let output = run(&sandbox, &["help", "gate"]).code(0);
    assert!(output.stdout.contains("--namespace"));
}

/// OPA's option for what is the default here, and its opposite: of both, the last counts.
#[test]
fn errors_of_builtins_are_strict_in_a_gate_unless_the_last_option_says_otherwise() {
    let sandbox = Sandbox::new();
    let policy =
        sandbox.write("p.rego", "package p\n\ndeny contains \"1\" if to_number(input.x) == 1\n");
    let test = sandbox.write("t_test.rego", "package t_test\n\ntest_a if not to_number(\"a\")\n");
    let input = sandbox.write("i.json", "{\"x\": \"a\"}");
    let (strict, lenient) = ("--strict-builtin-errors", "--no-strict-builtin-errors");
    for (options, is_strict, is_strict_gate) in [
        (&[][..], false, true),
        (&[strict], true, true),
        (&[lenient], false, false),
        (&[strict, lenient], false, false),
        (&[lenient, strict], true, true),
    ] {
        let code = if is_strict { 2 } else { 0 };
        let with = |arguments: &[&str]| sandbox.run(&[arguments, options].concat());
        for (output, said) in [
            (with(&["eval", "to_number(\"a\")"]).output(), "\"errors\""),
            (with(&["test", &test]).output(), "ERROR"),
            (with(&["run"]).stdin("to_number(\"a\")\n").output(), "invalid syntax"),
        ] {
            let output = output.code(code);
            let all = format!("{}{}", output.stdout, output.stderr);
            assert_eq!(all.contains(said), is_strict, "{options:?} {output:#?}");
            let counted = "warning: 1 error of a built-in function was undefined, as in OPA; \
                           `--strict-builtin-errors` stops on them\n";
            assert_eq!(output.stderr.contains(counted), !is_strict, "{options:?} {output:#?}");
        }
        let code = if is_strict_gate { 2 } else { 0 };
        let report = with(&["gate", "-d", &policy, "-i", &input, "-f", "json"]);
        let report = report.output().code(code).json();
        let used = report["inventory"]["options"].as_array().cloned().unwrap_or_default();
        let recorded = used.iter().any(|option| option["name"] == "lenient_builtins");
        assert_eq!(recorded, !is_strict_gate, "{options:?} {report:#}");
    }
    let help = sandbox.run(&["eval", "--help"]).output().code(0);
    assert!(help.stdout.contains("--strict-builtin-errors"));
}

#[test]
fn every_command_that_reads_policies_can_leave_some_out() {
    let sandbox = folder();
    sandbox.write("p/broken.rego", "package broken\n\nallow if {\n");
    let query = "count(data.release.images.deny)";
    for (arguments, status) in [
        (&["check", "p"][..], 1),
        (&["test", "p"], 2),
        (&["eval", "-d", "p", query], 2),
        (&["gate", "-d", "p", "-i", "good.json"], 2),
    ] {
        let output = run(&sandbox, arguments);
        assert!((output.stdout.clone() + &output.stderr).contains("broken.rego"), "{output:?}");
        assert_eq!(output.code, Some(status), "{output:?}");
        run(&sandbox, &[arguments, &["--ignore", "broken.*"]].concat()).code(0);
    }
    let session = sandbox.run(&["run", "p", "--ignore", "broken.*"]).within(sandbox.path("."));
    let output = session.stdin(format!("{query}\n")).output().code(0);
    assert_eq!(output.stdout, "1\n");
    run(&sandbox, &["check", "p", "--ignore", "[a"]).fails("`[a`");
}

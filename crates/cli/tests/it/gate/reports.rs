//! The reports: their contents, and that no input can inject anything into them.

use rego_platform_gate::model::Run;

use super::{DENY_BAD, gate, shipped};
use crate::cli::Sandbox;

#[test]
fn the_json_report_is_the_model() {
    let sandbox = Sandbox::new();
    let input = "testdata/inputs/upstream_attestations/fail.json";
    let arguments = ["-n", "upstream_attestations", "-i", input];
    let output = shipped(&sandbox, &arguments).code(1);
    let run: Run = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((run.schema_version, run.exit.code()), (2, 1));
    let policy = &run.policies[0];
    assert_eq!(policy.severity.as_deref(), Some("high"));
    assert!(policy.digest.starts_with("sha256:") && policy.title.is_some());
    assert!(run.sources.iter().any(|source| source.path == policy.files[0]));
    let input = &run.inputs[0];
    assert_eq!(input.digest.as_ref().unwrap().len(), 71);
    assert!(input.ledger.calls.iter().any(|call| call.needed && call.attempts > 0));
    assert!(run.totals.calls > 0 && run.totals.violations > 0);
    let violation = input.verdicts[0].failing().next().unwrap();
    assert!(violation.position.as_ref().unwrap().text.contains("deny contains"));
    assert_eq!(serde_json::to_value(&run).unwrap(), output.json());
    let schema = std::fs::read_to_string(format!(
        "{}/crates/gate/src/report/model/schema.json",
        crate::ROOT
    ))
    .unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let valid = jsonschema::draft202012::new(&schema).unwrap();
    let mut report = output.json();
    assert_eq!(valid.iter_errors(&report).map(|e| e.to_string()).collect::<Vec<_>>(), [""; 0]);
    report["inputs"][0]["outcome"] = "fine".into();
    assert!(!valid.is_valid(&report));
}

#[test]
fn the_report_for_people_is_short_and_states_its_basis_if_asked() {
    let sandbox = Sandbox::new();
    let input = "testdata/inputs/upstream_attestations/fail.json";
    let policy = "policies/upstream_attestations.rego";
    let fixed = ["gate", "-d", policy, "-i", input];
    let report = shipped(&sandbox, &["-n", "upstream_attestations", "-i", input]).code(1).json();
    let text = sandbox.served(&fixed).output().code(1).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let violations = report["totals"]["violations"].as_u64().unwrap();
    assert_eq!(lines.len() as u64, violations + 1, "{text}");
    assert!(lines[0].starts_with(&format!("FAIL {input}: ")), "{text}");
    assert!(lines[0].contains(&format!("({policy}:")), "{text}");
    assert!(lines.last().unwrap().starts_with("failed: 1 input; "), "{text}");
    assert!(text.ends_with("(answered by an emulator)\n"), "{text}");
    let verbose = sandbox.served(&[&fixed[..], &["-v"]].concat()).output().code(1).stdout;
    for known in [&report["inputs"][0]["digest"], &report["policies"][0]["digest"]] {
        assert!(verbose.contains(known.as_str().unwrap()), "{verbose}");
    }
    for known in [
        "; 9 calls (9 network), 9 requests; ",
        concat!("\ntool: rego-platform ", env!("CARGO_PKG_VERSION")),
        "platform.discover [\"sha256:",
        "files read: policies 1 of 1, inputs 1 of 1",
    ] {
        assert!(verbose.contains(known), "{known}: {verbose}");
    }
    assert!(verbose.ends_with(&text), "{verbose}");
}

#[test]
fn the_one_failure_of_50_inputs_is_what_people_see() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    for number in 0..50 {
        let text = if number == 25 { "{\"bad\": true}" } else { "{\"bad\": false}" };
        sandbox.write(&format!("in/{number:02}.json"), text);
    }
    sandbox.write("in/left.out", "words");
    let inputs = sandbox.path("in").display().to_string();
    let run = |format: &str, more: &[&str]| {
        let fixed = ["gate", "-d", &policy, "-i", &inputs, "-f", format];
        sandbox.run(&[&fixed[..], more].concat()).output()
    };
    let text = run("human", &[]).code(1).stdout;
    let bad = format!("FAIL {inputs}/25.json: it is bad ({policy}:3:1)\n");
    let sums = "failed: 50 inputs, 49 passed, 1 failed; 1 violation, 1 file left out\n";
    assert_eq!(text, bad.clone() + sums);
    assert_eq!(run("human", &["-q"]).code(1).stdout, bad + sums);
    for format in ["markdown", "github"] {
        let text = run(format, &[]).code(1).stdout;
        assert!(text.lines().count() < 12 && !text.contains("24.json"), "{format}: {text}");
    }
    let page = run("html", &[]).code(1).stdout;
    assert!(page.find("25.json").unwrap() < page.find("00.json").unwrap(), "worst first");
    std::fs::remove_file(sandbox.path("in/25.json")).unwrap();
    assert_eq!(run("human", &[]).code(0).stdout, "passed: 49 inputs; 1 file left out\n");
    run("human", &["-q"]).code(0).empty();
}

#[test]
fn an_error_of_many_policies_is_stated_once() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let text = format!(
            "package {name}\n\ndeny contains \"x\" if platform.discover(\"{}\", \"\").kind == \"SARIF\"\n",
            crate::support::CLEAN_IMAGE
        );
        sandbox.write(&format!("p/{name}.rego"), text);
    }
    let (policies, input) =
        (sandbox.path("p").display().to_string(), sandbox.write("i.json", "{}"));
    let given = ["gate", "-d", &policies, "-i", &input, "--controlplane-url", "http://127.0.0.1:1"];
    let output = sandbox.run(&given).output().fails("platform.discover: missing token");
    let all = output.stdout.clone() + &output.stderr;
    assert!(all.lines().count() <= 6, "{all}");
    assert_eq!(all.matches("token").count(), all.lines().filter(|l| l.contains("token")).count());
    assert!(all.contains("7 more policies for the same reason"), "{all}");
    // An error before any input is stated on standard error only.
    let broken = sandbox.write("broken.rego", "package p\n\ndeny contains\n");
    let output = sandbox
        .run(&["gate", "-d", &broken, "-i", &input])
        .output()
        .fails("unexpected eof token: expected rule key term (e.g., deny");
    assert_eq!(output.stdout, "", "{output:?}");
    output.says("error[parse-error]");
}

#[test]
fn several_reports_at_once() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (json, human) = (path("r.json"), path("r.txt"));
    let both = [format!("json={json}"), format!("human={human}")];
    gate(&sandbox, DENY_BAD, &["--output", &both[0], "--output", &both[1]]).code(0);
    assert!(std::fs::read_to_string(&json).unwrap().contains("\"schema_version\": 2"));
    assert!(std::fs::read_to_string(&human).unwrap().contains("passed"));
    gate(&sandbox, DENY_BAD, &["--output", &both[0], "--output", &both[0]])
        .fails("would be written twice");
    gate(&sandbox, DENY_BAD, &["--output", "jsn=x"]).fails("unknown format");
    let several = gate(&sandbox, DENY_BAD, &["--output", "json=a,junit=b"])
        .fails("invalid value 'json=a,junit=b' for '--output");
    several.says("repeat the option for each report: `-o json=a -o junit=b`");
    gate(&sandbox, DENY_BAD, &["--output", "json=/nonexistent/x"]).fails("can't be written");
}

/// Hostile text in a message, a file's name, a reason.
const HOSTILE: &str = "\u{1b}[31m\n::error::x\n ##[error]y\r##vso[task.complete result=Succeeded;]\
                       \0\u{202e}\u{2028}\u{feff}<script>alert(1)</script> ]]> `# SKIP`";

#[test]
fn no_text_can_inject_anything_into_the_reports() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains input.message\n\nwarn contains input.message\n";
    let skips = "package q\n\nresult := {\"skipped\": true, \"skip_reason\": input.message}\n";
    let fails = "package r\n\ndeny contains platform.discover(input.message, \"\").kind\n";
    let input = serde_json::json!({ "message": HOSTILE }).to_string();
    sandbox.write("in/in\u{1b}[31m ::error::.json", &input);
    let file = sandbox.path("in").to_str().unwrap().to_owned();
    let modules = [("p", policy), ("q", skips), ("r", fails)]
        .map(|(name, text)| sandbox.write(&format!("{name}.rego"), text));
    let [policy, skips, fails] = &modules;
    let fixed = ["gate", "-d", policy, "-d", skips, "-i", &file];
    let harmful = |c: char| {
        (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2028}' | '\u{feff}')
    };
    for format in
        ["human", "json", "junit", "sarif", "github", "gitlab", "ctrf", "markdown", "tap", "html"]
    {
        for (more, code) in [(&[][..], 1), (&["-d", fails, "--local", "testdata/platform"], 2)] {
            let run = sandbox.run(&[&fixed[..], more, &["-f", format]].concat());
            let output = run.output().code(code);
            for text in [&output.stdout, &output.stderr] {
                assert_eq!(text.find(harmful), None, "{format}: {text}");
                assert!(!text.contains("##[") && !text.contains("##vso["), "{format}: {text}");
                let commands = text.lines().filter(|line| line.trim_start().starts_with("::"));
                let ours = ["::error ", "::warning ", "::notice ", "::group::", "::endgroup::"];
                for line in commands {
                    assert!(
                        format == "github" && ours.iter().any(|c| line.starts_with(c)),
                        "{line}"
                    );
                }
            }
            match format {
                "json" => {
                    let found = &output.json()["inputs"][0]["verdicts"][0]["violations"][0];
                    assert_eq!(found["message"], HOSTILE);
                }
                "html" => assert!(!output.stdout.contains("<script>alert")),
                _ => {}
            }
        }
    }
}

#[test]
fn the_summary_of_a_step_is_written_once() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    let summary = sandbox.write("summary.md", "before\n");
    let file = format!("github={}", sandbox.path("g.txt").display());
    let markdown = format!("markdown={}", sandbox.path("g.md").display());
    let run = |arguments: &[&str]| {
        std::fs::write(&summary, "before\n").unwrap();
        let all = [&["gate", "-d", &policy, "--no-input"], arguments].concat();
        sandbox.run(&all).env("GITHUB_STEP_SUMMARY", &summary).output().code(0);
        std::fs::read_to_string(&summary).unwrap()
    };
    let once = run(&["--format", "github"]);
    assert!(once.starts_with("before\n## "), "{once}");
    let headings = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
    for both in [
        &["--format", "github", "--output", &file, "--output", &markdown][..],
        &["--output", &markdown, "--output", &file],
    ] {
        assert_eq!(headings(&run(both)), headings(&once), "{both:?}");
    }
    assert_eq!(run(&["--output", &markdown]), "before\n");
}

#[test]
fn a_run_can_be_recorded_and_replayed() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("rec.json");
    let recording = path.to_str().unwrap();
    let input = ["-i", "testdata/inputs/release"];
    let first = shipped(&sandbox, &[&input[..], &["--record", recording]].concat()).code(1).json();
    let fixed = ["gate", "-d", super::EXAMPLES, "-f", "json", "--replay", recording];
    let again = sandbox.run(&[&fixed[..], &input].concat()).output().code(1).json();
    assert_eq!(again["answers"], "replay");
    let verdicts = |report: &serde_json::Value| {
        let mut verdicts = report["inputs"][0]["verdicts"].clone();
        for verdict in verdicts.as_array_mut().unwrap() {
            verdict.as_object_mut().unwrap().remove("duration_ms").unwrap();
        }
        verdicts
    };
    assert_eq!(verdicts(&first), verdicts(&again));
}

#[test]
fn a_cause_of_400_inputs_is_stated_once() {
    const CAUSE: &str = "missing permission of the token (403)";
    const INPUTS: usize = 400;
    let sandbox = Sandbox::new();
    for number in 0..INPUTS {
        sandbox.write(&format!("inputs/{number:03}.json"), format!("{{\"n\": {number}}}"));
    }
    // Each input asks something else, and has another policy's verdict beside the missing one.
    sandbox.write(
        "policies/asks.rego",
        "package asks\n\nfound := platform.evidence({\"search\": sprintf(\"n%d\", [input.n])}).results\n\n\
        deny contains \"nothing\" if count(found) == 0\n",
    );
    sandbox.write(
        "policies/fine.rego",
        "package fine\n\ndeny contains \"no n\" if not is_number(input.n)\n",
    );
    let service = format!("{}/testdata/platform", crate::ROOT);
    let formats =
        ["human", "sarif", "junit", "tap", "markdown", "html", "json", "github", "gitlab", "ctrf"];
    let outputs: Vec<String> =
        formats.iter().map(|format| format!("--output={format}=report.{format}")).collect();
    let mut arguments = vec!["gate", "-d", "policies", "-i", "inputs", "--local", &service];
    arguments.extend(["--fault", "*:status=403"]);
    arguments.extend(outputs.iter().map(String::as_str));
    let run = sandbox.run(&arguments).within(sandbox.path(".")).output().fails(CAUSE);
    assert_eq!(run.stdout.matches(CAUSE).count(), 1, "{}", run.stdout);
    let report =
        |format: &str| std::fs::read_to_string(sandbox.path(&format!("report.{format}"))).unwrap();
    for format in ["human", "github", "gitlab", "markdown", "html", "sarif"] {
        let text = report(format);
        assert_eq!(text.matches(CAUSE).count(), 1, "{format}: {text}");
        assert!(text.contains("399 more inputs for the same reason"), "{format}: {text}");
    }
    // These have a line for each case, and state the cause as the message and in the details of one.
    for format in ["junit", "tap", "ctrf"] {
        let text = report(format);
        assert_eq!(text.matches(CAUSE).count(), 2, "{format}");
        assert!(text.contains("399 more inputs for the same reason"), "{format}");
        let same = "permission-denied, for the same reason as inputs/000.json";
        assert_eq!(text.matches(same).count(), INPUTS - 1, "{format}");
    }
    let sarif: serde_json::Value = serde_json::from_str(&report("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["occurrenceCount"], INPUTS);
    // If the inputs have violations besides, each is listed, without the cause of all.
    sandbox.write(
        "policies/fine.rego",
        "package fine\n\ndeny contains \"an n\" if is_number(input.n)\n",
    );
    let run = sandbox.run(&arguments).within(sandbox.path(".")).output().fails(CAUSE);
    assert_eq!(run.stdout.matches(": an n (").count(), INPUTS, "{}", run.stdout);
    for format in ["human", "github", "gitlab", "markdown", "html", "sarif"] {
        let text = report(format);
        assert_eq!(text.matches(CAUSE).count(), 1, "{format}: {text}");
        assert_eq!(
            text.matches("399 more inputs for the same reason").count(),
            1,
            "{format}: {text}"
        );
    }
    // The cause takes one of the 50 annotations.
    assert_eq!(report("github").matches("::an n").count(), 49);
    // The report for programs has every verdict in full, and the cause of all of them.
    let json: Run = serde_json::from_str(&report("json")).unwrap();
    let [cause] = json.causes.as_slice() else { panic!("{:?}", json.causes) };
    assert_eq!((cause.policy.as_deref(), cause.inputs), (Some("asks"), INPUTS as u64));
    assert_eq!(
        (cause.first.as_str(), cause.error.kind.as_str()),
        ("inputs/000.json", "permission-denied")
    );
    assert_eq!(json.inputs.len(), INPUTS);
    assert!(json.inputs.iter().all(|input| input.verdicts[0].error.as_ref() == Some(&cause.error)));
}

#[test]
fn a_summary_of_a_step_that_cannot_be_written_is_named_once() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    let summary = sandbox.path("no/such/summary.md").display().to_string();
    let run = sandbox.run(&["gate", "-d", &policy, "--no-input", "--format", "github"]);
    let output = run
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .fails("can't be written: No such file or directory (os error 2");
    let output = output.says("`GITHUB_STEP_SUMMARY`");
    assert_eq!(output.stderr.matches(&summary).count(), 1, "{}", output.stderr);
    assert_eq!(output.stdout.matches(&summary).count(), 1, "{}", output.stdout);
    assert_eq!(output.stdout.matches("rego-platform gate: ").count(), 1, "{}", output.stdout);
    let first = output.stdout.lines().next().unwrap();
    assert_eq!(first, "rego-platform gate: no verdict: 1 input, 1 passed");
    // What was found is in all reports that can be written.
    let input = sandbox.write("bad.json", "{\"bad\": true}");
    let junit = sandbox.path("r.xml").display().to_string();
    let fixed = ["gate", "-d", &policy, "-i", &input, "--format", "github"];
    let run = sandbox.run(&[&fixed[..], &["-o", &format!("junit={junit}")]].concat());
    let output = run
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .fails("can't be written: No such file or directory (os error 2");
    assert!(output.stdout.contains("no verdict: 1 input, 1 failed; 1 violation"), "{output:?}");
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    assert!(!junit.contains("no input evaluated"), "{junit}");
}

#[test]
fn the_reason_for_no_verdict_is_stated_once_in_each_place() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    let json = format!("json={}", sandbox.path("no/such/r.json").display());
    for (format, times) in [("human", [1, 0]), ("github", [1, 1])] {
        let given = ["gate", "-d", &policy, "--no-input", "-o", &json, "-f", format];
        let output = sandbox.run(&given).output().fails("can't be written");
        for (text, times) in [&output.stderr, &output.stdout].into_iter().zip(times) {
            assert_eq!(text.matches("r.json").count(), times, "{text}");
            assert!(!text.contains(".rego-platform-"), "{text}");
        }
    }
}

/// Paths are from the repository's root, whatever folder the gate runs in and however they are spelled.
#[test]
fn paths_in_reports_are_from_the_root_of_the_repository() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("repo/.git")).unwrap();
    let policy = "package p\n\ndeny contains {\"message\": \"no licence\", \"package_purl\": p} if some p in input.purls\n";
    sandbox.write("repo/policies/p.rego", policy);
    sandbox.write("repo/app/x.json", "{\"purls\": [\"pkg:npm/a@1\", \"pkg:npm/b@1\"]}");
    let folder = sandbox.path("repo/app");
    let run = |format: &str, input: &str, env: Option<&str>| {
        let run = sandbox.run(&["gate", "-d", "../policies", "-i", input, "-f", format]);
        let run = env.map_or_else(
            || sandbox.run(&["gate", "-d", "../policies", "-i", input, "-f", format]),
            |name| run.env(name, sandbox.path("repo").to_str().unwrap()),
        );
        run.within(&folder).output().code(1)
    };
    let absolute = folder.join("x.json").to_str().unwrap().to_owned();
    let mut prints = std::collections::BTreeSet::new();
    for (input, env) in [
        ("x.json", None),
        ("./x.json", None),
        ("../app/x.json", None),
        (absolute.as_str(), None),
        ("x.json", Some("GITHUB_WORKSPACE")),
        ("x.json", Some("CI_PROJECT_DIR")),
    ] {
        let sarif = run("sarif", input, env).json();
        let results = sarif["runs"][0]["results"].as_array().unwrap().clone();
        for result in &results {
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(place["uri"], "app/x.json", "{input}");
            let rule = &result["relatedLocations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(rule["uri"], "policies/p.rego", "{input}");
        }
        let gitlab = run("gitlab", input, env).json();
        for issue in gitlab.as_array().unwrap() {
            assert_eq!(issue["location"]["path"], "app/x.json", "{input}");
            prints.insert(issue["fingerprint"].as_str().unwrap().to_owned());
        }
        assert!(run("github", input, env).stdout.contains("file=app/x.json,"), "{input}");
    }
    assert_eq!(prints.len(), 2);
    // Two violations about two packages are two lines.
    let text = run("human", "x.json", None).stdout;
    assert!(text.contains("pkg:npm/a@1") && text.contains("pkg:npm/b@1"), "{text}");
}

/// Each result of a run without a verdict has a location, or GitHub refuses the file.
#[test]
fn a_run_without_a_verdict_has_a_result_with_a_location() {
    let sandbox = Sandbox::new();
    sandbox.write("p.rego", "package p\n\ndeny contains \"x\" if input.x\n");
    sandbox.write("wrong.rego", "package p\n\ndeny contains \"x\" if nosuch(input)\n");
    sandbox.write("in.json", "{\"x\": 1}");
    for (arguments, file, says) in [
        (["-d", "wrong.rego", "-i", "in.json"], "wrong.rego", "nosuch"),
        (["-d", "p.rego", "-i", "missing.json"], "p.rego", "`missing.json` doesn't exist"),
        (["-d", "missing", "-i", "in.json"], ".", "`missing` doesn't exist"),
    ] {
        let all = [&["gate", "-f", "sarif"][..], &arguments].concat();
        let output = sandbox.run(&all).within(sandbox.path("")).output().fails(says);
        for result in output.json()["runs"][0]["results"].as_array().unwrap() {
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert_eq!(place, file, "{arguments:?}");
        }
    }
}

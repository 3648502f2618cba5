//! The reports: their contents, and that no input can inject anything into them.

use rego_platform::gate::model::Run;
use sha2::{Digest as _, Sha256};

use super::{DENY_BAD, gate, shipped};
use crate::cli::Sandbox;

#[test]
fn the_json_report_is_the_model() {
    let sandbox = Sandbox::new();
    let input = "testdata/inputs/upstream_attestations/fail.json";
    let arguments = ["-n", "upstream_attestations", "-i", input, "--calls", "all"];
    let output = shipped(&sandbox, &arguments).code(1);
    let run: Run = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((run.schema_version, run.exit), (2, 1));
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
    let schema = std::fs::read_to_string("src/gate/model/schema.json").unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let valid = jsonschema::draft202012::new(&schema).unwrap();
    let mut report = output.json();
    assert_eq!(valid.iter_errors(&report).map(|e| e.to_string()).collect::<Vec<_>>(), [""; 0]);
    report["inputs"][0]["outcome"] = "fine".into();
    assert!(!valid.is_valid(&report));
}

#[test]
fn the_report_for_people_states_its_provenance() {
    let sandbox = Sandbox::new();
    let input = "testdata/inputs/upstream_attestations/fail.json";
    let policy = "policies/upstream_attestations.rego";
    let fixed = ["gate", "-d", policy, "-i", input];
    let report = shipped(&sandbox, &["-n", "upstream_attestations", "-i", input]).code(1).json();
    let text = sandbox.local(&fixed).output().code(1).stdout;
    for known in [&report["inputs"][0]["digest"], &report["policies"][0]["digest"]] {
        assert!(text.contains(known.as_str().unwrap()), "{text}");
    }
    assert!(text.contains("; 9 calls (9 network), 9 requests; "), "{text}");
    assert!(text.contains(concat!("\nrego-platform ", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(!text.contains("platform.discover"), "{text}");
    let verbose = sandbox.local(&[&fixed[..], &["-v"]].concat()).output().code(1).stdout;
    assert!(verbose.contains("platform.discover [\"sha256:"), "{verbose}");
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
    gate(&sandbox, DENY_BAD, &["--output", &both[0], "--output", &both[0]]).code(2);
    gate(&sandbox, DENY_BAD, &["--output", "jsn=x"]).code(2).says("unknown format");
    let several = gate(&sandbox, DENY_BAD, &["--output", "json=a,junit=b"]).code(2);
    several.says("repeat the option for each report: `-o json=a -o junit=b`");
    gate(&sandbox, DENY_BAD, &["--output", "json=/nonexistent/x"]).code(2).says("can't be written");
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
    for format in ["human", "json", "junit", "sarif", "github", "markdown", "tap", "html"] {
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
fn the_outcome_can_be_attested_to() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in.json", "{}");
    let path = sandbox.path("out.json");
    let attest = path.to_str().unwrap();
    gate(&sandbox, DENY_BAD, &["-i", &file, "--attest", attest]).code(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(statement["predicate"]["result"], "PASSED");
    let configuration = statement["predicate"]["configuration"].as_array().unwrap();
    assert_eq!(configuration.last().unwrap()["name"], "inventory.json");
    assert_eq!(statement["subject"][0]["name"], file);
    let digest = statement["predicate"]["configuration"][0]["digest"]["sha256"].as_str();
    assert_eq!(digest.unwrap().len(), 64);
    let bad = sandbox.write("in.json", "{\"bad\": true}");
    gate(&sandbox, DENY_BAD, &["-i", &bad, "--attest", attest]).code(1);
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"FAILED\""));
    gate(&sandbox, DENY_BAD, &["--attest", attest]).code(2).says("nothing to attest to");
    assert!(!path.exists());
    let local = ["-i", &file, "--attest", attest, "--local", "testdata/platform"];
    gate(&sandbox, DENY_BAD, &local).code(2).says("can't be used together");
    gate(&sandbox, DENY_BAD, &["--attest", attest, "--replay", &file])
        .code(2)
        .says("used together");
}

const VERIFIER: &str = "https://ci.example/gate";
const RESOURCE: &str = "pkg:oci/app@sha256%3Aaa";

#[test]
fn the_outcome_can_be_a_verification_summary() {
    let sandbox = Sandbox::new();
    let digest = "a".repeat(64);
    let file = sandbox.write(
        "in.json",
        format!(
            "{{\"_type\": \"https://in-toto.io/Statement/v1\", \"predicateType\": \"t\", \
             \"subject\": [{{\"name\": \"app\", \"digest\": {{\"sha256\": \"{digest}\"}}}}], \
             \"predicate\": {{}}}}"
        ),
    );
    let path = sandbox.path("out.json");
    let attest = path.to_str().unwrap();
    let vsa = ["-i", &file, "--attest", attest, "--attest-as", "vsa"];
    let whole =
        [&vsa[..], &["--attest-verifier", VERIFIER, "--attest-resource", RESOURCE]].concat();
    let read = || -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
    };
    let attestation = [&whole[..], &["--attestation"]].concat();
    gate(&sandbox, DENY_BAD, &attestation).code(2).says("`--unverified`");
    assert!(!path.exists());
    let report = gate(&sandbox, DENY_BAD, &[&attestation[..], &["--unverified"]].concat());
    let report = report.code(0).json();
    assert_eq!(read()["predicate"]["policy"]["annotations"]["signaturesChecked"], false);
    let statement = read();
    assert_eq!(statement["predicateType"], "https://slsa.dev/verification_summary/v1");
    assert_eq!(
        statement["subject"],
        serde_json::json!([{"name": "app", "digest": {"sha256": digest}}])
    );
    let predicate = &statement["predicate"];
    assert_eq!(predicate["verifier"]["id"], VERIFIER);
    assert_eq!(predicate["resourceUri"], RESOURCE);
    assert_eq!(predicate["timeVerified"], report["started"]);
    assert_eq!(predicate["verificationResult"], "PASSED");
    assert_eq!(predicate["verifiedLevels"][0], "SLSA_BUILD_LEVEL_UNEVALUATED");
    let attested = &predicate["inputAttestations"][0];
    assert_eq!(attested["name"], file);
    assert_eq!(
        format!("sha256:{}", attested["digest"]["sha256"].as_str().unwrap()),
        report["inputs"][0]["digest"]
    );
    // The policy's digest can be computed again from its files.
    let source = &report["sources"][0];
    let (digest, path_of) = (source["digest"].as_str().unwrap(), source["path"].as_str().unwrap());
    let line = format!("{digest} {path_of}\n--unverified\n");
    let again: String = Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(predicate["policy"]["digest"]["sha256"], again);
    // Without `--attestation` the document itself is the subject.
    gate(&sandbox, "package p\n\ndeny contains \"x\"\n", &whole).code(1);
    let statement = read();
    assert_eq!(statement["subject"][0]["name"], file);
    assert_eq!(statement["predicate"]["inputAttestations"], serde_json::json!([]));
    assert_eq!(statement["predicate"]["verificationResult"], "FAILED");
    assert_eq!(statement["predicate"]["verifiedLevels"][0], "FAILED");
    let none = "package p\n\nresult := {\"skipped\": true}\n";
    gate(&sandbox, none, &whole).code(2);
    assert!(!path.exists(), "no verdict, no statement");
}

#[test]
fn a_verification_summary_lacks_nothing() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in.json", "{}");
    let path = sandbox.path("out.json");
    let attest = ["-i", &file, "--attest", path.to_str().unwrap()];
    let vsa = [&attest[..], &["--attest-as", "vsa"]].concat();
    let refused = |arguments: &[&str], more: &[&str], says: &str| {
        gate(&sandbox, DENY_BAD, &[arguments, more].concat()).code(2).says(says);
    };
    refused(&vsa, &["--attest-resource", RESOURCE], "needs `--attest-verifier`");
    refused(&vsa, &["--attest-verifier", VERIFIER], "needs `--attest-resource`");
    let verifier = ["--attest-verifier", VERIFIER];
    refused(&vsa, &[&verifier[..], &["--attest-resource", "app"]].concat(), "isn't a valid URI");
    refused(&attest, &verifier, "for a verification summary only");
    refused(&["-i", &file], &verifier, "--attest");
    assert!(!path.exists());
    let attested = "{\"_type\": \"https://in-toto.io/Statement/v1\", \"predicateType\": \"t\", \
                  \"subject\": [{\"name\": \"app\"}], \"predicate\": {}}";
    let file = sandbox.write("in.json", attested);
    let whole = [
        "--attest-verifier",
        VERIFIER,
        "--attest-resource",
        RESOURCE,
        "--attestation",
        "--unverified",
    ];
    let vsa = ["-i", &file, "--attest", path.to_str().unwrap(), "--attest-as", "vsa"];
    gate(&sandbox, DENY_BAD, &[&vsa[..], &whole].concat()).code(2);
    assert!(!path.exists() || !std::fs::read_to_string(&path).unwrap().contains("PASSED"));
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
    let fixed = ["gate", "-d", "policies", "-f", "json", "--replay", recording];
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
    const CAUSE: &str = "the token has no permission (403)";
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
    let service = format!("{}/testdata/platform", env!("CARGO_MANIFEST_DIR"));
    let formats = ["human", "sarif", "junit", "tap", "markdown", "html", "json", "github"];
    let outputs: Vec<String> =
        formats.iter().map(|format| format!("--output={format}=report.{format}")).collect();
    let mut arguments = vec!["gate", "-d", "policies", "-i", "inputs", "--local", &service];
    arguments.extend(["--fault", "*:status=403"]);
    arguments.extend(outputs.iter().map(String::as_str));
    let run = sandbox.run(&arguments).within(sandbox.path(".")).output().code(2);
    assert_eq!(run.stdout.matches(CAUSE).count(), 1, "{}", run.stdout);
    let report =
        |format: &str| std::fs::read_to_string(sandbox.path(&format!("report.{format}"))).unwrap();
    for format in ["human", "github", "markdown", "html", "sarif"] {
        let text = report(format);
        assert_eq!(text.matches(CAUSE).count(), 1, "{format}: {text}");
        assert!(text.contains("399 more inputs for the same reason"), "{format}: {text}");
    }
    // These have a line for each case, and state the cause as the message and in the details of one.
    for format in ["junit", "tap"] {
        let text = report(format);
        assert_eq!(text.matches(CAUSE).count(), 2, "{format}");
        assert!(text.contains("399 more inputs for the same reason"), "{format}");
        let same = "permission-denied, for the same reason as inputs/000.json";
        assert_eq!(text.matches(same).count(), INPUTS - 1, "{format}");
        assert_eq!(text.matches(", in pass 1 for ").count(), 1, "{format}");
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
    let run = sandbox.run(&arguments).within(sandbox.path(".")).output().code(2);
    assert_eq!(run.stdout.matches("an n").count(), 2 * 200, "{}", run.stdout);
    for format in ["human", "github", "markdown", "html", "sarif"] {
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
fn a_quiet_run_that_passed_still_prints_what_is_worth_noting() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{}");
    let run = |policy: &str, arguments: &[&str]| {
        let policy = sandbox.write("p.rego", policy);
        let fixed = ["gate", "-q", "-d", &policy, "-i", &input];
        sandbox.run(&[&fixed[..], arguments].concat()).output().code(0).stdout
    };
    assert_eq!(run(DENY_BAD, &[]), "");
    let warns = format!("{DENY_BAD}\nwarn contains \"w\"\n");
    assert!(run(&warns, &[]).contains("1 warning"));
    let low = "package p\n\ndeny contains {\"message\": \"m\", \"severity\": \"low\"}\n";
    assert!(run(low, &["--fail-on", "high"]).contains("--fail-on"));
    let never = "package p\n\ndeny contains \"x\" if platform.discover(input.imge, \"\").public\n";
    let policy = sandbox.write("p.rego", never);
    let run = sandbox.local(&["gate", "-q", "-d", &policy, "-i", &input]).output().code(0);
    assert!(run.stdout.contains("note"), "{}", run.stdout);
}

#[test]
fn a_verification_summary_is_about_subjects_with_digests() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("out.json");
    let attest = path.to_str().unwrap();
    let run = |subjects: &str| {
        let statement = format!(
            "{{\"_type\": \"https://in-toto.io/Statement/v1\", \"subject\": [{subjects}]}}"
        );
        let file = sandbox.write("in.json", statement);
        let run = ["-i", &file, "--attestation", "--unverified", "--attest", attest];
        let vsa =
            ["--attest-as", "vsa", "--attest-verifier", VERIFIER, "--attest-resource", RESOURCE];
        gate(&sandbox, DENY_BAD, &[&run[..], &vsa].concat())
    };
    let subject =
        |name: &str, digest: &str| format!("{{\"digest\": {{\"{name}\": \"{digest}\"}}}}");
    let whole = "0a".repeat(32);
    run(&subject("sha256", &whole)).code(0);
    run(&subject("dirHash", "h1:x=")).code(0);
    run("").code(2).says("has no subject");
    assert!(!path.exists());
    for (name, digest) in [("sha256", "zz"), ("sha256", &whole.to_uppercase()), ("sha512", &whole)]
    {
        run(&subject(name, digest)).code(2).says("isn't one");
        assert!(!path.exists());
    }
}

#[test]
fn a_statement_lists_what_passed_with_warnings() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\nwarn contains \"w\" if input.w\n\ndeny contains {\"message\": \"m\", \
                  \"severity\": \"low\"} if input.low\n";
    let path = sandbox.path("out.json");
    let attest = path.to_str().unwrap();
    let (plain, warns) = (sandbox.write("plain.json", "{}"), sandbox.write("w.json", "{\"w\": 1}"));
    let low = sandbox.write("low.json", "{\"low\": 1}");
    let run = |arguments: &[&str]| -> serde_json::Value {
        gate(&sandbox, policy, &[&["--attest", attest], arguments].concat()).code(0);
        let text = std::fs::read_to_string(&path).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["predicate"].take()
    };
    let found = run(&["-i", &plain]);
    assert_eq!(
        (&found["result"], &found["warnedTests"]),
        (&"PASSED".into(), &serde_json::json!([]))
    );
    let found = run(&["-i", &plain, "-i", &warns, "-i", &low, "--fail-on", "high"]);
    assert_eq!(found["result"], "WARNED");
    assert_eq!(found["passedTests"], serde_json::json!([plain]));
    assert_eq!(found["warnedTests"], serde_json::json!([warns, low]));
}

#[test]
fn a_summary_of_a_step_that_cannot_be_written_is_named_once() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    let summary = sandbox.path("no/such/summary.md").display().to_string();
    let run = sandbox.run(&["gate", "-d", &policy, "--no-input", "--format", "github"]);
    let output = run.env("GITHUB_STEP_SUMMARY", &summary).output().code(2);
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
    let output = run.env("GITHUB_STEP_SUMMARY", &summary).output().code(2);
    assert!(output.stdout.contains("no verdict: 1 input, 1 failed; 1 violation"), "{output:?}");
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    assert!(!junit.contains("nothing was evaluated"), "{junit}");
}

#[test]
fn the_reason_for_no_verdict_is_stated_once_in_each_place() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policy.rego", DENY_BAD);
    let json = format!("json={}", sandbox.path("no/such/r.json").display());
    for format in ["human", "github"] {
        let given = ["gate", "-d", &policy, "--no-input", "-o", &json, "-f", format];
        let output = sandbox.run(&given).output().code(2);
        for text in [&output.stderr, &output.stdout] {
            assert_eq!(text.matches("r.json").count(), 1, "{text}");
            assert!(!text.contains(".rego-platform-"), "{text}");
        }
    }
}

//! What reports say about a run that passed: `check`'s warnings about answers, and `--quiet`.

use crate::cli::{Output, Sandbox};
use crate::support::CLEAN_IMAGE;

/// Uses answers in three ways that `check` warns about, a line each, and passes.
fn careless() -> String {
    format!(
        "package p\n\ndiscovered := platform.discover(\"{CLEAN_IMAGE}\", \"\")\n\n\
        deny contains \"a\" if discovered.refernces[_].kind == \"x\"\n\n\
        deny contains \"b\" if discovered.references[_].metadata.hasPolicyViolations == true\n\n\
        deny contains \"c\" if count(platform.evidence({{\"limit\": 1}}).results) > 1\n"
    )
}

/// Runs `gate` against the emulator, with reports for programs and for people.
fn run(sandbox: &Sandbox, policies: &str, inputs: &[&str]) -> (serde_json::Value, String) {
    let file = sandbox.path("report.json");
    let json = format!("json={}", file.display());
    let mut arguments = vec!["gate", "-d", policies, "-o", &json];
    arguments.extend(inputs.iter().flat_map(|input| ["-i", input]));
    if inputs.is_empty() {
        arguments.push("--no-input");
    }
    let people = sandbox.local(&arguments).output().code(0).stdout;
    (serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap(), people)
}

/// Returns the notes of a report that have a code.
fn noted(report: &serde_json::Value, code: &str) -> Vec<String> {
    let notes = report["notes"].as_array().unwrap().iter();
    let text = notes.map(|note| note.as_str().unwrap().to_owned());
    text.filter(|note| note.contains(code)).collect()
}

#[test]
fn data_that_no_file_has_is_noted() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\nimport data.lists\n\ndeny contains \"x\" if input.a in lists.banned\n\n\
                  deny contains \"y\" if data.known[input.a]\n\ndeny contains \"z\" if data.p.other\n";
    sandbox.write("p/p.rego", policy);
    sandbox.write("p/data.json", "{\"known\": {}}");
    let input = sandbox.write("i.json", "{\"a\": 1}");
    let folder = sandbox.path("p");
    let (report, people) = run(&sandbox, folder.to_str().unwrap(), &[&input]);
    let notes = noted(&report, "no loaded file defines");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("`data.lists.banned`") && notes[0].contains(":5"), "{notes:?}");
    assert!(people.contains("data.lists.banned"), "{people}");
}

#[test]
fn an_argument_that_is_a_known_value_in_another_spelling_is_noted() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains row.name if {\n\t\
                  some row in platform.evidence({\"project_name\": \"payments-api\"}).results\n\t\
                  row.kind == input.args.kind\n\tnot input.args.status\n\tnot input.args.format\n}\n";
    let file = sandbox.write("p.rego", policy);
    let run = |argument: &str| {
        let run = ["gate", "-d", &file, "-i", "-", "-f", "json", "--arg", argument];
        let report = sandbox.local(&run).stdin("{}").output().json();
        let notes = report["notes"].to_string();
        notes.split("did you mean `").nth(1).map(|rest| rest.split('`').next().unwrap().to_owned())
    };
    for (argument, usual) in [
        ("kind=sarif", Some("SARIF")),
        ("kind=JUNIT_XML,sbom-cyclonedx-json", Some("SBOM_CYCLONEDX_JSON")),
        ("format=sbom_cyclonedx_json", Some("SBOM_CYCLONEDX_JSON")),
        ("status=FAIL", Some("fail")),
        ("kind=SARIF", None),
        ("kind=mine", None),
        ("format=sarif", None),
        ("status=fail", None),
    ] {
        assert_eq!(run(argument).as_deref(), usual, "{argument}");
    }
}

#[test]
fn data_without_elements_is_noted_where_the_policy_looks_for_some() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("i.json", "{\"a\": \"x\"}");
    let folder = sandbox.path("p");
    let notes = |body: &str, data: &str| {
        sandbox
            .write("p/p.rego", format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n"));
        sandbox.write("p/data.json", format!("{{\"lists\": {data}}}"));
        let (report, _) = run(&sandbox, folder.to_str().unwrap(), &[&input]);
        noted(&report, "(missing-data)")
    };
    for body in [
        "input.a in data.lists.banned",
        "some _, it in data.lists.banned\n\tit == input.a",
        "data.lists.banned[_] == input.a",
        "data.lists.banned[input.a]",
        "banned := data.lists.banned\n\tinput.a in banned",
        "some it in data.lists.banned.items\n\tit == input.a",
    ] {
        for scalar in ["null", "\"x\"", "7", "true"] {
            let found = notes(body, &format!("{{\"banned\": {scalar}}}"));
            assert!(!found.is_empty(), "{body}: {scalar}");
            assert!(found.iter().all(|note| note.contains("`data.lists.banned")), "{found:?}");
        }
        for list in ["[]", "{}", "[\"y\"]", "{\"items\": []}"] {
            let found = notes(body, &format!("{{\"banned\": {list}}}"));
            assert!(body.contains("items") || found.is_empty(), "{body}: {list}: {found:?}");
        }
    }
    for body in ["input.a == data.lists.banned", "startswith(input.a, data.lists.banned)"] {
        assert!(notes(body, "{\"banned\": \"y\"}").is_empty(), "{body}");
    }
}

#[test]
fn what_check_would_warn_about_answers_is_noted_once() {
    let sandbox = Sandbox::new();
    sandbox.write("p/p.rego", careless());
    // What the same policy says in tests isn't the gate's.
    let test = careless().replacen("package p", "package p_test\n\ntest_x if true", 1);
    sandbox.write("p/p_test.rego", test.replace("deny", "found"));
    let (one, two) = (sandbox.write("1.json", "{}"), sandbox.write("2.json", "{}"));
    let folder = sandbox.path("p");
    let (report, people) = run(&sandbox, folder.to_str().unwrap(), &[&one, &two]);
    for (code, line, hint) in [
        ("(unknown-field)", ":5:33: ", "did you mean `references`?"),
        ("(unknown-value)", ":7:22: ", "`\"true\"` or `\"false\"`"),
        ("(cut-list)", ":9:22: ", ""),
    ] {
        let found = noted(&report, code);
        let [note] = found.as_slice() else { panic!("{code}: {report:#}") };
        assert!(note.contains(line) && note.contains(hint), "{note}");
        assert_eq!(people.matches(code).count(), 1, "{people}");
    }
    assert!(people.contains("\nnote: "), "{people}");
}

#[test]
fn a_policy_document_is_noted_and_what_is_silenced_is_not() {
    let sandbox = Sandbox::new();
    let call = format!("platform.discover(\"{CLEAN_IMAGE}\", \"\")");
    let document = format!(
        "apiVersion: workflowcontract.chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: d\nspec:\n  \
        policies:\n  - embedded: |\n      package d\n      violations contains \"x\" if {call}.knid == \"x\"\n"
    );
    let document = sandbox.write("d.yaml", document);
    let (report, _) = run(&sandbox, &document, &[&sandbox.write("1.json", "{}")]);
    assert_eq!(noted(&report, "(unknown-field)").len(), 1, "{report:#}");

    for rules in [
        format!("deny contains \"a\" if {call}.knid == \"x\" # check:ignore unknown-field"),
        format!("deny contains \"a\" if {call}.kind == \"x\""),
        // Other warnings aren't the gate's to repeat.
        format!(
            "import data.unused\ndeny contains \"a\" if not {call}.kind # check:ignore unused-local"
        ),
    ] {
        let file = sandbox.write("p.rego", format!("package p\n\n{rules}\n"));
        let (report, _) = run(&sandbox, &file, &[]);
        assert_eq!(report["notes"].as_array().unwrap().len(), 1, "no input: {report:#}");
    }
}

#[test]
fn a_warning_is_no_part_of_an_error() {
    let sandbox = Sandbox::new();
    let policy = format!("{}\ndeny contains \"d\" if platform.discoverr(1)\n", careless());
    let output = super::gate(&sandbox, &policy, &[]).code(2).says("discoverr");
    assert!(!output.stderr.contains("unknown-field"), "{output:?}");
}

/// Runs `gate -q` over a policy.
fn quiet(sandbox: &Sandbox, policy: &str, input: &str, arguments: &[&str]) -> Output {
    let (policy, input) = (sandbox.write("q.rego", policy), sandbox.write("q.json", input));
    let all = [&["gate", "-q", "-d", &policy, "-i", &input], arguments].concat();
    sandbox.run(&all).output().code(0)
}

#[test]
fn quiet_is_silent_only_if_nothing_limits_what_passed() {
    let sandbox = Sandbox::new();
    let low = "package p\n\ndeny contains {\"message\": \"m\", \"id\": \"X\", \"severity\": \"low\"} if input.low\n";
    let waivers = sandbox.write(
        "w.yaml",
        "waivers:\n- {finding: X, subject: {input: '*'}, reason: r, owner: o, expires: 2999-01-01}\n",
    );
    quiet(&sandbox, super::DENY_BAD, "{}", &[]).empty();
    quiet(&sandbox, low, "{}", &["--fail-on", "high"]).empty();
    for (policy, input, arguments, says) in [
        (low, r#"{"low": 1}"#, &["--fail-on", "high"][..], "--fail-on high (took effect"),
        (low, r#"{"low": 1}"#, &["--waivers", &waivers], "waived"),
        (low, "{}", &["--waivers", &waivers], "matched nothing"),
        ("package p\n\nwarn contains \"careful\"\n", "{}", &[], "careful"),
        (
            "package p\n\nresult := {\"skipped\": true, \"violations\": []}\n",
            "{}",
            &["--allow-skipped"],
            "--allow-skipped (took effect",
        ),
        (
            "package p\n\ndeny contains \"x\" if platform.discover(input.none, \"\").kind\n",
            "{}",
            &[],
            "never reached",
        ),
    ] {
        let output = quiet(&sandbox, policy, input, arguments);
        assert!(output.stdout.contains(says), "{policy}: {output:?}");
    }
    // The emulator's answers prove nothing, and a list that was cut may lack what fails.
    let calling = format!(
        "package p\n\ndeny contains \"x\" if platform.discover(\"{CLEAN_IMAGE}\", \"\").kind == \"x\"\n"
    );
    let (policy, input) = (sandbox.write("q.rego", calling), sandbox.write("q.json", "{}"));
    let output = sandbox.local(&["gate", "-q", "-d", &policy, "-i", &input]).output().code(0);
    assert!(output.stdout.contains("answered by an emulator"), "{output:?}");
}

/// The version of a project in the emulator's data.
const VERSION: &str = "643224fb-4763-546c-9387-69d5984a8501";

#[test]
fn what_may_mean_that_an_answer_is_not_whole_is_noted() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("report.json");
    let json = format!("json={}", file.display());
    let call = |function: &str, filters: &str| {
        let call = format!("platform.{function}({filters})");
        format!("package p\n\ndeny contains \"x\" if count({call}) > 9\n")
    };
    let run = |policy: &str, fault: &str| {
        let policy = sandbox.write("p.rego", policy);
        let all = ["gate", "-d", &policy, "--no-input", "-o", &json, "--fault", fault];
        let code = sandbox.local(&all).output().code;
        let report = std::fs::read_to_string(&file).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let mut notes = noted(&report, "answer of `platform.");
        notes.retain(|note| note.starts_with("an answer"));
        (code, notes)
    };
    let compliance =
        call("project_compliance", &format!("{{\"project_version_id\": \"{VERSION}\"}}"));
    let frameworks = call(
        "project_compliance",
        &format!("{{\"project_version_id\": \"{VERSION}\", \"framework_ids\": [\"f1\", \"f2\"]}}"),
    );
    let evidence =
        call("evidence", "{\"hide_attestation\": true, \"project_version_name\": \"v1\"}");
    let discover = format!(
        "package p\n\ndeny contains \"x\" if platform.discover(\"{CLEAN_IMAGE}\", \"\").kind == \"Z\"\n"
    );
    let discovered = |rest: &str, beside: &str| {
        format!(
            "discover:status=200:body={{\"result\":{{\"digest\":\"{CLEAN_IMAGE}\",\"kind\":\"ARTIFACT\",{rest}}}{beside}}}"
        )
    };
    for (policy, fault, says) in [
        (
            &compliance,
            "compliance:status=200:body={\"evaluations\":[],\"in_progress\":true}".to_owned(),
            "in_progress",
        ),
        (
            &compliance,
            "compliance:status=200:body={\"evaluations\":[],\"part\":\"1/3\"}".to_owned(),
            "part",
        ),
        (
            &compliance,
            "compliance:status=200:header=Warning=199:body={\"evaluations\":[]}".to_owned(),
            "warning",
        ),
        (
            &frameworks,
            "compliance:status=200:body={\"evaluations\":[{\"framework_id\":\"F1\"}]}".to_owned(),
            "`f2`, which was asked for",
        ),
        (
            &evidence,
            "evidence:status=200:body={\"results\":[{\"annotations\":{\"bad\":true}}]}".to_owned(),
            "such as `bad`",
        ),
        (&discover, discovered("\"references\":[{}]", ""), "without a `digest`"),
        (&discover, discovered("\"references\":[]", ",\"chunk\":1"), "chunk"),
    ] {
        let (code, notes) = run(policy, &fault);
        assert!(
            code == Some(0) && notes.len() == 1 && notes[0].contains(says),
            "{fault}: {notes:?}"
        );
    }
    for (policy, fault) in [
        (&compliance, "compliance:status=200:body={\"evaluations\":[],\"took_ms\":3,\"partial\":false}".to_owned()),
        (&compliance, "compliance:status=200:header=X-Next-Page=:body={\"evaluations\":[{}],\"n\":1}".to_owned()),
        (&evidence, "evidence:status=200:body={\"results\":[{\"kind\":\"SARIF\",\"annotations\":{\"a\":\"b\"}}]}".to_owned()),
        (&discover, discovered("\"references\":[]", ",\"request_id\":\"7\"")),
    ] {
        assert_eq!(run(policy, &fault), (Some(0), Vec::new()), "{fault}");
    }
    for (policy, fault) in [
        (
            &compliance,
            "compliance:status=200:header=X-Next-Page=2:body={\"evaluations\":[]}".to_owned(),
        ),
        (
            &compliance,
            "compliance:status=200:header=X-Total-Count=7:body={\"evaluations\":[]}".to_owned(),
        ),
        (
            &compliance,
            "compliance:status=200:body={\"evaluation\":[{\"status\":\"fail\"}],\"pagination\":{}}"
                .to_owned(),
        ),
        (
            &evidence,
            "evidence:status=200:body={\"results\":[{\"kind\":\"ATTESTATION\"}]}".to_owned(),
        ),
        (
            &evidence,
            "evidence:status=200:body={\"results\":[{\"projectVersionName\":\"v2\"}]}".to_owned(),
        ),
        (
            &evidence,
            "evidence:status=200:body={\"results\":[{\"digest\":\"sha256:xyz\"}]}".to_owned(),
        ),
        (&discover, discovered("\"referrers\":[{\"kind\":\"SARIF\"}]", "")),
        (&discover, discovered("\"references\":[],\"numReferences\":7", "")),
    ] {
        assert_eq!(run(policy, &fault).0, Some(2), "{fault}");
    }
}

#[test]
fn kinds_that_are_not_known_are_noted_unless_the_policy_asked_for_them() {
    let sandbox = Sandbox::new();
    for (filters, kind, notes) in [
        ("{}", "SARIF", 0),
        ("{}", "MATERIAL_TYPE_SARIF", 1),
        ("{}", "S\u{410}RIF", 1),
        ("{}", "", 1),
        ("{\"kind\": [\"NEW_KIND\"]}", "NEW_KIND", 0),
    ] {
        let policy = format!(
            "package p\n\ndeny contains \"x\" if count(platform.evidence({filters})) > 9\n"
        );
        let (policy, file) = (sandbox.write("p.rego", policy), sandbox.path("report.json"));
        let json = format!("json={}", file.display());
        let fault = format!("evidence:status=200:body={{\"results\":[{{\"kind\":\"{kind}\"}}]}}");
        let all = ["gate", "-d", &policy, "--no-input", "-o", &json, "--fault", &fault];
        sandbox.local(&all).output().code(0);
        let report = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(noted(&report, "`kind`").len(), notes, "{kind}: {report:#}");
    }
}

#[test]
fn an_analysis_that_was_skipped_is_noted_and_did_not_take_part() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("1.json", "{}");
    for (text, ai) in [("anything", false), ("Trust boundaries", true)] {
        let policy = format!(
            "package p\n\ndeny contains v if some v in platform.evidence_prompt(\"{text}\", \
             \"is it complete?\").violations\n"
        );
        let (report, people) = run(&sandbox, &sandbox.write("p.rego", policy), &[&input]);
        assert_eq!(report["ai"], ai, "{report:#}");
        assert_eq!(
            noted(&report, "an AI analysis was skipped").len(),
            usize::from(!ai),
            "{report:#}"
        );
        assert_eq!(people.contains("analysis was skipped"), !ai, "{people}");
    }
    let query = r#"platform.evidence_prompt("anything", "is it complete?").violations"#;
    sandbox.local(&["eval", query]).output().code(0).says("the analysis was skipped");
}

#[test]
fn a_set_that_no_verdict_uses_is_noted() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("1.json", r#"{"bad": true}"#);
    let text = |rule: &str| {
        format!(
            "package p\n\ndeny contains \"a\" if used[_] == 2\n\nused contains 1\n\n\
             {rule} contains \"b\" if input.bad\n"
        )
    };
    for name in ["seny", "high_deny", "_deny", "exception"] {
        let (report, _) = run(&sandbox, &sandbox.write("p.rego", text(name)), &[&input]);
        assert_eq!(noted(&report, &format!("no verdict uses the set `{name}`")).len(), 1);
        assert!(noted(&report, "`used`").is_empty(), "{report:#}");
    }
    for name in ["edny", "d_eny"] {
        let policy = sandbox.write("p.rego", text(name));
        let gate = sandbox.local(&["gate", "-d", &policy, "-i", &input]).output().code(2);
        assert!(gate.stderr.contains("did you mean `deny`?"), "{gate:?}");
    }
    // A package that others use, and one with tests, have sets of their own.
    sandbox.write("d/p.rego", "package p\n\ndeny contains x if some x in data.lib.bad\n");
    sandbox.write("d/lib.rego", "package lib\n\nbad contains 1 if false\n\nmore contains 1\n");
    let folder = sandbox.path("d").display().to_string();
    let (report, _) = run(&sandbox, &folder, &[&input]);
    assert!(noted(&report, "no verdict uses").is_empty(), "{report:#}");
}

#[test]
fn policies_with_warnings_can_be_rejected() {
    let sandbox = Sandbox::new();
    sandbox.write("p/p.rego", careless());
    sandbox.write("p/q.rego", "package q\n\ndeny contains \"x\" if data.lib.bad\n");
    let folder = sandbox.path("p");
    let arguments = ["gate", "-d", folder.to_str().unwrap(), "--no-input", "--deny-warnings"];
    let output = sandbox.local(&arguments).output().code(2);
    for wrong in
        ["error[unknown-field]", "error[unknown-value]", "error[missing-data]", "`data.lib"]
    {
        assert!(output.stderr.contains(wrong), "{wrong}: {}", output.stderr);
    }
    sandbox.write("p/p.rego", "package p\n\ndeny contains \"x\" if false\n");
    sandbox.write("p/q.rego", "package q\n\ndeny contains \"x\" if data.p.bad\n\nbad := false\n");
    let output = sandbox.local(&arguments).output().code(2);
    assert!(output.stderr.contains("`data.p.bad`"), "{}", output.stderr);
    sandbox.write("p/q.rego", "package q\n\ndeny contains \"x\" if count(data.p.deny) > 0\n");
    sandbox.local(&arguments).output().code(0);
}

#[test]
fn a_package_is_not_said_to_have_reached_no_call_if_it_could_not_be_evaluated() {
    let sandbox = Sandbox::new();
    let text =
        "package p\n\ndeny contains \"x\" if not platform.discover(input.image, \"\").kind\n";
    let policy = sandbox.write("p.rego", text);
    let wrong = sandbox.write("wrong.json", "{\"image\": \"sha256:abc\"}");
    let broken = sandbox.write("broken.json", "{");
    let utf_16 = sandbox.path("utf16.json");
    let text = "\u{feff}{\n\n}".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    std::fs::write(&utf_16, text).unwrap();
    let utf_16 = utf_16.display().to_string();
    for input in [&wrong, &broken, &utf_16] {
        let output = sandbox.local(&["gate", "-d", &policy, "-i", input]).output().code(2);
        let all = output.stdout + &output.stderr;
        assert!(!all.contains("never reached"), "{all}");
        assert_eq!(all.contains("UTF-16"), *input == utf_16, "{all}");
        assert!(!all.contains("#2"), "{all}");
    }
    let plain = sandbox.write("plain.json", "{}");
    let output = sandbox.local(&["gate", "-d", &policy, "-i", &plain]).output().code(0);
    assert!(output.stdout.contains("never reached its 1 call"), "{}", output.stdout);
}

#[test]
fn the_digest_of_a_policy_is_that_of_its_file_however_the_path_is_spelt() {
    let sandbox = Sandbox::new();
    let text = "package p\n\ndeny contains \"x\" if false\n";
    sandbox.write("p/p.rego", text);
    let digest = |path: &str| {
        let (report, _) = run(&sandbox, path, &[]);
        report["policies"][0]["digest"].as_str().unwrap().to_owned()
    };
    use sha2::Digest as _;
    let bytes = sha2::Sha256::digest(text);
    let own: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = sandbox.path("p").display().to_string();
    for path in [folder.clone(), format!("{folder}/../p"), format!("{folder}/./p.rego")] {
        assert_eq!(digest(&path), format!("sha256:{own}"), "{path}");
    }
}

#[test]
fn an_argument_that_no_policy_mentions_is_noted() {
    let sandbox = Sandbox::new();
    let text = "package p\n\ndeny contains \"x\" if input.x in input.args.banned\n";
    let policy = sandbox.write("p.rego", text);
    let input = sandbox.write("i.json", "{\"x\": \"GPL\"}");
    let gate = |argument: &str| {
        let arguments = ["gate", "-d", &policy, "-i", &input, "--arg", argument];
        sandbox.local(&arguments).output()
    };
    let noted = gate("bannd=GPL,MIT").code(0).stdout;
    assert!(noted.contains("no policy uses the argument `bannd`"), "{noted}");
    assert!(!gate("banned=GPL,MIT").code(1).stdout.contains("no policy uses"));
}

#[test]
fn a_policy_is_no_input() {
    let sandbox = Sandbox::new();
    let text = "package p\n\ndeny contains \"x\" if true\n";
    let (one, two) = (sandbox.write("a.rego", text), sandbox.write("b.rego", text));
    let document = "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: p\nspec:\n  policies:\n  \
                    - embedded: |\n      package p\n      result := {\"violations\": []}\n";
    let document = sandbox.write("c.yaml", document);
    let other = "apiVersion: kyverno.io/v1\nkind: Policy\nspec:\n  rules: []\n";
    let passes = sandbox.write("p.rego", "package p\n\ndeny contains \"x\" if input.bad\n");
    let other = sandbox.write("d.yaml", other);
    sandbox.local(&["gate", "-d", &passes, "-i", &other]).output().code(0);
    // What a shell makes of `-d *.rego`.
    for input in [two, document] {
        let output = sandbox.local(&["gate", "-d", &one, &input]).output().code(2);
        assert!(output.stderr.contains("is a policy"), "{}", output.stderr);
    }
}

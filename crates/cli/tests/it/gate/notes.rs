//! What reports say about a run that passed: `check`'s warnings about answers, and `--quiet`.

use super::gate;
use crate::cli::Sandbox;
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

/// The version of a project in the emulator's data.
const VERSION: &str = "643224fb-4763-546c-9387-69d5984a8501";

/// Runs `gate` against the emulator, with reports for programs and for people.
fn run(sandbox: &Sandbox, policies: &str, inputs: &[&str]) -> (serde_json::Value, String) {
    let file = sandbox.path("report.json");
    let json = format!("json={}", file.display());
    let mut arguments = vec!["gate", "-d", policies, "-o", &json, "--allow-warnings"];
    arguments.extend(inputs.iter().flat_map(|input| ["-i", input]));
    if inputs.is_empty() {
        arguments.push("--no-input");
    }
    let people = sandbox.served(&arguments).output().code(0).stdout;
    (serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap(), people)
}

/// Returns the notes of a report that have a code.
fn noted(report: &serde_json::Value, code: &str) -> Vec<String> {
    let notes = report["notes"].as_array().unwrap().iter();
    let text = notes.map(|note| note.as_str().unwrap().to_owned());
    text.filter(|note| note.contains(code)).collect()
}

/// Runs `gate` and returns what it refuses.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.served(arguments).output().fails("error[").stderr
}

#[test]
fn data_that_no_file_has_is_refused() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\nimport data.lists\n\ndeny contains \"x\" if input.a in lists.banned\n\n\
                  deny contains \"y\" if data.known[input.a]\n\ndeny contains \"z\" if data.p.other\n";
    sandbox.write("p/p.rego", policy);
    sandbox.write("p/data.json", "{\"known\": {}}");
    // What a test mocks is missing in a gate.
    let test = "package p_test\n\ntest_x if data.p.deny with data.lists as {\"banned\": [1]} with input as {\"a\": 1}\n";
    sandbox.write("p/p_test.rego", test);
    let input = sandbox.write("i.json", "{\"a\": 1}");
    let folder = sandbox.path("p").display().to_string();
    let run = ["gate", "-d", &folder, "-i", &input];
    let said = refused(&sandbox, &run);
    assert!(said.contains("error[missing-data]") && said.contains("`data.lists.banned`"), "{said}");
    assert!(said.contains("p.rego:5:") && said.contains("error[unknown-rule]"), "{said}");
    assert_eq!(said.matches("error[").count(), 2, "{said}");
    assert!(said.contains("`--allow-warnings`"), "{said}");
    let allowed = [&run[..], &["--allow-warnings"]].concat();
    let shown = sandbox.served(&allowed).output().code(0).stdout;
    assert!(shown.contains("data.lists.banned"), "{shown}");
}

#[test]
fn data_without_members_is_refused_where_the_policy_looks_for_some() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("i.json", "{\"a\": \"x\"}");
    let folder = sandbox.path("p");
    let found = |body: &str, data: &str| {
        sandbox
            .write("p/p.rego", format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n"));
        sandbox.write("p/data.json", format!("{{\"lists\": {data}}}"));
        let output =
            sandbox.served(&["gate", "-d", folder.to_str().unwrap(), "-i", &input]).output();
        let said = output.stderr.lines().filter(|line| line.contains("error[missing-data]"));
        let said: Vec<_> = said.map(str::to_owned).collect();
        assert_eq!(output.code == Some(2), !said.is_empty(), "{body}: {data}: {output:?}");
        said
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
            let found = found(body, &format!("{{\"banned\": {scalar}}}"));
            assert!(!found.is_empty(), "{body}: {scalar}");
            assert!(found.iter().all(|said| said.contains("`data.lists.banned")), "{found:?}");
        }
        for list in ["[]", "{}", "[\"y\"]", "{\"items\": []}"] {
            if !body.contains("items") {
                assert!(
                    found(body, &format!("{{\"banned\": {list}}}")).is_empty(),
                    "{body}: {list}"
                );
            }
        }
    }
    for body in ["input.a == data.lists.banned", "startswith(input.a, data.lists.banned)"] {
        assert!(found(body, "{\"banned\": \"y\"}").is_empty(), "{body}");
    }
}

#[test]
fn fields_and_values_that_do_not_exist_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("p/p.rego", careless());
    // What the same policy says in tests isn't the gate's.
    let test = careless().replacen("package p", "package p_test\n\ntest_x if true", 1);
    sandbox.write("p/p_test.rego", test.replace("deny", "found"));
    let folder = sandbox.path("p").display().to_string();
    let said = refused(&sandbox, &["gate", "-d", &folder, "--no-input"]);
    for (code, line, hint) in [
        ("error[unknown-field]", "p.rego:5:33\n", "did you mean `references`?"),
        ("error[unknown-value]", "p.rego:7:22\n", "`\"true\"` or `\"false\"`"),
    ] {
        assert_eq!(said.matches(code).count(), 1, "{said}");
        assert!(said.contains(line) && said.contains(hint), "{said}");
    }
    let run = ["gate", "-d", &folder, "--no-input", "--allow-warnings"];
    let shown = sandbox.served(&run).output().code(0).stdout;
    assert_eq!(shown.matches("(unknown-field)").count(), 1, "{shown}");
}

#[test]
fn statuses_and_kinds_that_are_not_known_are_refused() {
    let sandbox = Sandbox::new();
    let evaluations = format!(
        "platform.project_compliance({{\"project_version_id\": \"{VERSION}\"}}).evaluations"
    );
    for (body, hint) in [
        (format!("some e in {evaluations}\n\te.status == \"failed\""), "did you mean `\"fail\"`?"),
        (
            format!("some e in {evaluations}\n\te.status in {{\"fail\", \"broken\"}}"),
            "`\"partial\"`",
        ),
        (format!("platform.discover(\"{CLEAN_IMAGE}\", \"\").kind == \"IMAGE\""), "`\"ARTIFACT\"`"),
        (
            "some e in platform.evidence({\"kind\": [\"SBOM\"]}).results\n\te.digest".to_owned(),
            "expected one of",
        ),
    ] {
        let text = format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n");
        let policy = sandbox.write("p.rego", &text);
        let said = refused(&sandbox, &["gate", "-d", &policy, "--no-input"]);
        assert!(said.contains("error[unknown-value]") && said.contains(hint), "{said}");
        let silenced = text.replacen("\n}", " # check:ignore unknown-value\n}", 1);
        let silenced =
            silenced.replacen("]}).results", "]}).results # check:ignore unknown-value", 1);
        let silenced = silenced.replacen("e.digest # check:ignore unknown-value", "e.digest", 1);
        let policy = sandbox.write("p.rego", silenced);
        let code = sandbox.served(&["gate", "-d", &policy, "--no-input"]).output().code;
        assert!(matches!(code, Some(0 | 1)), "{text}");
    }
}

#[test]
fn a_policy_document_is_refused_and_what_is_silenced_is_not() {
    let sandbox = Sandbox::new();
    let call = format!("platform.discover(\"{CLEAN_IMAGE}\", \"\")");
    let document = |rules: &str| {
        format!(
            "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: d\nspec:\n  \
             policies:\n  - embedded: |\n      package d\n      import rego.v1\n      {rules}\n"
        )
    };
    let input = sandbox.write("1.json", "{}");
    for (rules, code) in [
        (format!("violations contains \"x\" if {call}.knid == \"x\""), "error[unknown-field]"),
        (
            "violations contains \"x\" if input.x\n      allow if input.y".to_owned(),
            "error[dead-rule]",
        ),
        ("result := {\"violations\": []}\n      skipped if input.y".to_owned(), "error[dead-rule]"),
    ] {
        let file = sandbox.write("d.yaml", document(&rules));
        let said = refused(&sandbox, &["gate", "-d", &file, "-i", &input]);
        assert!(said.contains(code), "{said}");
    }
    let fine = "violations contains \"x\" if input.x\n      skipped := false";
    let file = sandbox.write("d.yaml", document(fine));
    sandbox.served(&["gate", "-d", &file, "-i", &input]).output().code(0);

    for rules in [
        format!("deny contains \"a\" if {call}.knid == \"x\" # check:ignore unknown-field"),
        format!("deny contains \"a\" if {call}.kind == \"SARIF\""),
        // Other warnings aren't the gate's.
        format!("import data.unused\ndeny contains \"a\" if not {call}.kind"),
        "deny contains \"a\" if input.x\n# check:ignore unused-rule\ndefault allow := false"
            .to_owned(),
    ] {
        let file = sandbox.write("p.rego", format!("package p\n\n{rules}\n"));
        let (report, _) = run(&sandbox, &file, &[]);
        assert_eq!(report["notes"], serde_json::json!([]), "{report:#}");
    }
}

#[test]
fn a_warning_is_no_part_of_an_error() {
    let sandbox = Sandbox::new();
    let policy = format!("{}\ndeny contains \"d\" if platform.discoverr(1)\n", careless());
    let output = super::gate(&sandbox, &policy, &[]).fails("discoverr");
    assert!(!output.stderr.contains("unknown-field"), "{output:?}");
}

#[test]
fn a_quiet_pass_prints_nothing() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\nwarn contains \"careful\"\n");
    let input = sandbox.write("i.json", "{}");
    let given = ["gate", "-d", &policy, "-i", &input];
    let said = sandbox.run(&given).output().code(0).stdout;
    let warns = format!("WARN {input}: careful ({policy}:3:1)\npassed: 1 input; 1 warning\n");
    assert_eq!(said, warns);
    sandbox.run(&[&given[..], &["-q"]].concat()).output().code(0).empty();
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
    sandbox.served(&["eval", query]).output().code(0).says("the analysis was skipped");
}

#[test]
fn rules_that_no_verdict_uses_are_refused() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("1.json", r#"{"bad": true}"#);
    for (rule, hint) in [
        ("edny contains \"b\" if input.bad", "did you mean `deny`?"),
        ("exempt contains \"b\" if input.bad", "use it in `deny`"),
        ("default allow := false\n\nallow if not input.bad", "use it in `deny`"),
    ] {
        let text = format!(
            "package p\n\ndeny contains \"a\" if used[_] == 2\n\nused contains 1\n\n{rule}\n"
        );
        let policy = sandbox.write("p.rego", text);
        let run = ["gate", "-d", &policy, "-i", &input];
        let said = refused(&sandbox, &run);
        assert!(said.contains("error[dead-rule]") && said.contains("p.rego:7:"), "{said}");
        assert!(said.contains(hint) && !said.contains("`used`"), "{said}");
        let allowed = [&run[..], &["--allow-warnings"]].concat();
        let shown = sandbox.served(&allowed).output().code(0).stdout;
        assert!(shown.contains("(dead-rule)"), "{shown}");
    }
    // A literal and a function are only noted.
    for rule in ["default allow := false", "allowed(x) if x == 1"] {
        let text = format!("package p\n\ndeny contains \"a\" if input.worse\n\n{rule}\n");
        let policy = sandbox.write("p.rego", text);
        let (report, people) = run(&sandbox, &policy, &[&input]);
        assert_eq!(noted(&report, "nothing uses the rule").len(), 1, "{report:#}");
        assert!(people.contains("(unused-rule)"), "{people}");
        sandbox
            .served(&["gate", "-d", &policy, "-i", &input, "--fail-on-notes"])
            .output()
            .fails("nothing uses the rule");
    }
    // A package without a verdict is a library.
    sandbox.write("d/p.rego", "package p\n\ndeny contains x if some x in data.lib.bad\n");
    sandbox.write("d/lib.rego", "package lib\n\nbad contains \"1\" if false\n\nmore contains 1\n");
    let folder = sandbox.path("d").display().to_string();
    run(&sandbox, &folder, &[&input]);
}

#[test]
fn policies_with_warnings_are_rejected_unless_they_are_allowed() {
    let sandbox = Sandbox::new();
    sandbox.write("p/p.rego", careless());
    sandbox.write("p/q.rego", "package q\n\ndeny contains \"x\" if data.lib.bad\n");
    let folder = sandbox.path("p");
    let arguments = ["gate", "-d", folder.to_str().unwrap(), "--no-input"];
    let output = sandbox.served(&arguments).output().fails("`--allow-warnings`");
    assert_eq!(output.stderr.matches("--allow-warnings").count(), 1, "{output:?}");
    let allowed = [&arguments[..], &["--allow-warnings", "-f", "json"]].concat();
    let report = sandbox.served(&allowed).output().code(0).json();
    let used = &report["inventory"]["options"][0];
    assert_eq!((&used["effect"], &used["times"]), (&"took_effect".into(), &3.into()), "{used}");
}

#[test]
fn a_result_has_its_five_fields_and_leaves_nothing_out() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("1.json", r#"{"bad": true}"#);
    let gate = |rules: &str, options: &[&str]| {
        let policy = sandbox.write("p.rego", format!("package p\n\n{rules}\n"));
        sandbox.served(&[&["gate", "-d", &policy, "-i", &input], options].concat()).output()
    };
    let deny = "deny contains \"x\" if input.bad";
    for (rules, code, says) in [
        (format!("{deny}\n\nresult := {{\"violations\": [], \"n\": count(deny)}}"), 2, "has `n`"),
        ("result := {\"violations\": [], \"passed\": false}".to_owned(), 2, "has `passed`"),
        (
            "result := object.union({\"violations\": []}, {\"errors\": [1]})".to_owned(),
            2,
            "has `errors`",
        ),
        (
            format!("{deny}\n\nresult := {{\"violations\": [x | some x in deny; input.worse]}}"),
            2,
            "`deny` isn't empty, but `result` has no violations",
        ),
        (format!("{deny}\n\nresult := {{\"violations\": deny}}"), 1, "1 violation"),
        (
            format!("{deny}\n\nresult := {{\"skipped\": count(deny) > 0, \"violations\": []}}"),
            2,
            "input skipped by every policy",
        ),
    ] {
        let output = gate(&rules, &[]).code(code);
        assert!(
            format!("{}{}", output.stdout, output.stderr).contains(says),
            "{rules}: {output:?}"
        );
    }
    let computed = "result := object.union({\"violations\": []}, {\"errors\": [1]})";
    gate(computed, &["--allow-warnings"]).code(0);
    gate(&format!("# check:ignore verdict-shape\n{computed}"), &[]).code(0);
    gate("result := {\"violations\": [], \"n\": 1} # check:ignore verdict-shape", &[]).code(0);
}

#[test]
fn an_input_that_cant_be_read_or_asked_about_has_no_verdict() {
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
        let output =
            sandbox.served(&["gate", "-d", &policy, "-i", input]).output().fails_with_one_of(&[
                "platform.discover: argument `digest` is `sha256:abc`, which",
                "invalid JSON: unexpected end of JSON input",
                "can't read the input: unsupported encoding UTF-16: save it as UTF-8",
            ]);
        let all = output.stdout + &output.stderr;
        assert_eq!(all.contains("UTF-16"), *input == utf_16, "{all}");
        assert!(!all.contains("#2"), "{all}");
    }
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
fn a_policy_is_no_input() {
    let sandbox = Sandbox::new();
    let text = "package p\n\ndeny contains \"x\" if true\n";
    let (one, two) = (sandbox.write("a.rego", text), sandbox.write("b.rego", text));
    // What a shell makes of `-d *.rego`.
    sandbox.served(&["gate", "-d", &one, &two]).output().fails("no parser for the extension");
}

#[test]
fn a_note_can_be_no_verdict() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"x\" if count(platform.evidence({\"limit\": 1}).results) > 1\n";
    let (policy, input) = (sandbox.write("p.rego", policy), sandbox.write("1.json", "{}"));
    let given = ["gate", "-d", &policy, "-i", &input];
    sandbox.served(&given).output().code(0);
    let strict = [&given[..], &["--fail-on-notes"]].concat();
    let output = sandbox.served(&strict).output().fails("1 note found, none allowed");
    assert!(output.stdout.contains("found, none allowed"), "{output:?}");
}

#[test]
fn a_value_that_no_policy_reads_is_noted() {
    let sandbox = Sandbox::new();
    let note = |policy: &str, value: &str| {
        let report = gate(&sandbox, &format!("package p\n\n{policy}\n"), &["--set", value]);
        let report = report.code(0).json();
        let notes =
            report["notes"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
        notes.filter(|note| note.contains("no policy reads")).map(str::to_owned).collect::<Vec<_>>()
    };
    let reads = "deny contains \"x\" if input.image == \"bad\"";
    assert_eq!(
        note(reads, "imge=a"),
        ["unused value: no policy reads `imge`; did you mean `image`?"]
    );
    assert_eq!(note(reads, "other.x=a"), ["unused value: no policy reads `other`"]);
    assert!(note(reads, "image=a").is_empty());
    for whole in [
        "count(input) > 5",
        "input[_] == \"bad\"",
        "some k, _ in input; k == \"bad\"",
        "f(input) > 5",
    ] {
        let policy = format!("deny contains \"x\" if {{ {whole} }}\n\nf(x) := count(x)");
        assert!(note(&policy, "imge=a").is_empty(), "{whole}");
    }
}

//! A gate that passes has evaluated everything: each way of evaluating less than it was given.

use std::path::Path;

use base64::Engine as _;

use super::{DENY_BAD, gate, gate_with, outcomes};
use crate::cli::{Output, Sandbox};

const BAD: &str = "{\"bad\": true}";

/// Runs `gate` over a folder of policies.
fn folder(sandbox: &Sandbox, files: &[(&str, &str)], arguments: &[&str]) -> Output {
    let _ = std::fs::remove_dir_all(sandbox.path("policies"));
    for (name, text) in files {
        sandbox.write(&format!("policies/{name}"), text);
    }
    let policies = sandbox.path("policies");
    let fixed = ["gate", "-d", policies.to_str().unwrap(), "-f", "json"];
    sandbox.run(&[&fixed[..], arguments].concat()).stdin("{}").output()
}

fn message(report: &serde_json::Value) -> String {
    let verdict = &report["inputs"][0]["verdicts"][0]["error"]["message"];
    let own = &report["inputs"][0]["error"]["message"];
    let of_run = &report["failure"]["message"];
    [own, verdict, of_run].iter().find_map(|m| m.as_str()).unwrap_or_default().to_owned()
}

#[test]
fn case_1_result_switches_no_other_rule_off() {
    let sandbox = Sandbox::new();
    let dropped = "package p\n\nresult := {\"violations\": []}\n";
    let files = [("p.rego", DENY_BAD), ("z.rego", dropped)];
    folder(&sandbox, &files, &["-i", "-"]).fails("never evaluated: `result` (");
    let reached =
        "package p\n\nresult := {\"violations\": deny}\n\ndeny contains \"x\" if input.bad\n";
    gate_with(&sandbox, reached, &["-i", "-"], BAD).code(1);
    let asked = "package p\n\nresult := platform.evidence_prompt(\"x\", \"y\")\n\n\
                 violations contains \"x\" if input.bad\n";
    gate_with(&sandbox, asked, &["-i", "-"], BAD).fails("never evaluated: `result` (");
    for field in ["\"deny\": []", "\"deny_more\": {\"x\"}", "\"warn\": \"x\"", "\"mine\": 1"] {
        let policy = format!("package p\n\nresult := {{\"violations\": [], {field}}}\n");
        let report = gate(&sandbox, &policy, &[]).fails("which no verdict uses").json();
        assert!(message(&report).contains("which no verdict uses"), "{report}");
    }
}

#[test]
fn case_2_what_cannot_be_read_is_not_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.json", "{}");
    let folder = sandbox.path("in");
    let run = || gate(&sandbox, DENY_BAD, &["-i", folder.to_str().unwrap()]);
    run().code(0);
    #[cfg(unix)]
    {
        // The extension decides, whatever else is wrong.
        std::os::unix::fs::symlink("/nowhere", folder.join("sbom.cdx")).unwrap();
        run().code(0);
        std::os::unix::fs::symlink("/nowhere", folder.join("sbom.json")).unwrap();
        let report = run().fails("can't read").json();
        assert!(report["inputs"][1]["error"].to_string().contains("can't read"), "{report}");
    }
}

#[test]
fn case_2_a_glob_is_always_one_and_folders_it_matches_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("in/*.json", "{}");
    sandbox.write("in/b.json", BAD);
    sandbox.write("in/bad.json/x.json", BAD);
    let glob = sandbox.path("in/*.json");
    let report = gate(&sandbox, DENY_BAD, &["-i", glob.to_str().unwrap()]).code(1).json();
    assert_eq!(outcomes(&report).len(), 3);
    let deep = sandbox.path("**/*.json");
    let report = gate(&sandbox, DENY_BAD, &["-i", deep.to_str().unwrap()]).code(1).json();
    assert!(outcomes(&report).len() >= 3);
    std::fs::create_dir_all(sandbox.path("none/empty.json")).unwrap();
    let empty = sandbox.path("none/*.json");
    gate(&sandbox, DENY_BAD, &["-i", empty.to_str().unwrap()]).fails("no input in");
}

#[cfg(unix)]
#[test]
fn case_2_names_that_are_not_utf8_are_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    sandbox.write("in/a.json", "{}");
    let name = std::ffi::OsStr::from_bytes(b"in/b\xff.json");
    std::fs::write(sandbox.path("in").parent().unwrap().join(name), BAD).unwrap();
    for argument in ["in", "in/*.json"] {
        let argument = sandbox.path(argument);
        let report = gate(&sandbox, DENY_BAD, &["-i", argument.to_str().unwrap()]).code(1).json();
        assert_eq!(outcomes(&report).len(), 2);
    }
}

#[test]
fn case_2_a_missing_input_is_reported() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("p.rego", DENY_BAD);
    sandbox.run(&["gate", "-d", &file]).output().fails("no input for policies that use `input");
    sandbox.run(&["gate", "-d", &file, "--no-input"]).output().code(0);
    let blind = sandbox.write("b.rego", "package b\n\ndeny contains \"x\" if false\n");
    sandbox.run(&["gate", "-d", &blind]).output().code(0);
    sandbox.run(&["gate", "-d", &file, "--no-input", "-i", &file]).output().fails("used together");
}

#[test]
fn case_2_a_document_without_fields_is_refused_for_a_policy_that_reads_fields() {
    let sandbox = Sandbox::new();
    for text in ["[{\"bad\": true}]", "7", "\"bad\""] {
        let report =
            gate_with(&sandbox, DENY_BAD, &["-i", "-"], text).fails("not an object").json();
        assert!(message(&report).contains("not an object"), "{report}");
    }
    let whole = "package p\n\ndeny contains \"x\" if {\n\tsome x in input\n\tx.bad\n}\n";
    gate_with(&sandbox, whole, &["-i", "-"], "[{\"bad\": true}]").code(1);
    // That another package reads it as a whole is no excuse.
    let other = "package q\n\ndeny contains \"many\" if count(input) > 100\n";
    let files = [("p.rego", DENY_BAD), ("q.rego", other)];
    let input = sandbox.write("a.json", "[{\"bad\": true}]");
    folder(&sandbox, &files, &["-i", &input]).fails("the input is an array, not an object");
    folder(&sandbox, &files, &["-i", &input, "-n", "q"]).code(0);
    // Nor is the name of its file.
    let named = [("p_test.rego", DENY_BAD)];
    folder(&sandbox, &named, &[]).fails("no input for policies that use `input");
    folder(&sandbox, &named, &["-i", &input]).fails("the input is an array, not an object");
}

#[cfg(unix)]
#[test]
fn case_2_pipes_are_read_within_the_time_and_refused_in_folders() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    std::fs::create_dir(sandbox.path("in")).unwrap();
    sandbox.write("in/a.json", "{}");
    let pipe = sandbox.path("in/p.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let inputs = sandbox.path("in");
    let fixed = ["gate", "-d", &policy, "-f", "json", "-i"];
    let run = |input: &Path, more: &[&str]| {
        sandbox.run(&[&fixed[..], &[input.to_str().unwrap()], more].concat()).output()
    };
    run(&inputs, &[]).fails("not a regular file");
    let report =
        run(&pipe, &["--timeout", "300ms"]).fails("can't read the input: timed out").json();
    let error = &report["inputs"][0]["error"];
    assert!(message(&report).contains("timed out"), "{report}");
    assert!(error["hint"].as_str().unwrap().contains("`--timeout`"), "{report}");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, BAD).unwrap()
    });
    run(&pipe, &[]).code(1);
    writer.join().unwrap();
}

#[test]
fn case_3_every_file_of_a_folder_is_read_left_out_or_refused() {
    let sandbox = Sandbox::new();
    let files = [
        ("p.rego", "package p\n\ndeny contains \"x\" if false\n"),
        ("strict.REGO", "package strict\n\ndeny contains \"strict\"\n"),
        ("README.md", "# Words"),
        (".hidden", "x"),
    ];
    let report = folder(&sandbox, &files, &["-i", "-"]).code(1).json();
    let account = &report["inventory"]["policies"][0];
    assert_eq!((&account["found"], &account["taken"]), (&4.into(), &2.into()));
    let report = folder(&sandbox, &files, &["-i", "-", "--ignore", "strict*"]).code(0).json();
    assert_eq!(report["inventory"]["policies"][0]["left_out"].as_array().unwrap().len(), 3);
    // What isn't named like policies, data or inputs is left out, whatever is in it.
    for (name, text) in [
        ("strict.tgz", "x"),
        ("strict.rego.txt", "package strict\n"),
        ("more.sarif", "{\"a\": 1}"),
        ("policy", "apiVersion: workflowcontract.example/v1\nkind: Policy\nspec: {}\n"),
    ] {
        let report = folder(&sandbox, &[files[0], (name, text)], &["-i", "-"]).code(0).json();
        let left = &report["inventory"]["policies"][0]["left_out"][0];
        assert!(left["path"].as_str().unwrap().ends_with(name), "{report}");
        assert_eq!(left["reason"], "its extension isn't one of policies or data");
    }
    sandbox.write("in/a.json", "{}");
    sandbox.write("in/b.SARIF", BAD);
    sandbox.write("in/c.spdx", BAD);
    sandbox.write("in/notes.txt", "no input");
    sandbox.write("in/d.json.gz", "x");
    let inputs = sandbox.path("in");
    let report = gate(&sandbox, DENY_BAD, &["-i", inputs.to_str().unwrap()]).code(1).json();
    let account = &report["inventory"]["inputs"][0];
    assert_eq!((&account["found"], &account["taken"]), (&5.into(), &2.into()));
    assert_eq!(account["left_out"][0]["reason"], "its extension isn't one of inputs");
}

#[test]
fn an_input_of_another_extension_needs_a_parser() {
    let sandbox = Sandbox::new();
    let spdx = sandbox.write("in/c.spdx", BAD);
    let glob = sandbox.path("in/*");
    for named in [&*spdx, glob.to_str().unwrap()] {
        let run = |more: &[&str]| gate(&sandbox, DENY_BAD, &[&["-i", named], more].concat());
        run(&[]).fails("no parser for the extension").says("the parser `json`");
        run(&["--parser", "json"]).code(1);
        run(&["--parser", "yaml"]).code(1);
    }
    let yaml = sandbox.write("in/x.json", "bad: true\n");
    let report = gate(&sandbox, DENY_BAD, &["-i", &yaml]).fails("invalid JSON").json();
    assert!(message(&report).contains("invalid JSON"), "{report}");
    gate(&sandbox, DENY_BAD, &["-i", &yaml, "--parser", "yaml"]).code(1);
    gate_with(&sandbox, DENY_BAD, &["-i", "-", "--parser", "json"], "bad: true\n")
        .fails("invalid JSON");
    let rego = sandbox.write("q.rego", DENY_BAD);
    gate(&sandbox, DENY_BAD, &["-i", &rego]).fails("no parser for the extension");
}

#[test]
fn a_file_is_either_data_or_an_input() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"bad\" if not input.name in data.allowed\n";
    sandbox.write("all/p.rego", policy);
    let report = sandbox.write("all/report.json", "{\"allowed\": [\"x\"], \"name\": \"x\"}");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (all, indirect) = (path("all"), path("all/../all/report.json"));
    let run = |input: &str, more: &[&str]| {
        sandbox.run(&[&["gate", "-d", &all, "-i", input], more].concat()).output()
    };
    for input in [&*report, &*indirect, &*all, &*path("all/*.json")] {
        run(input, &[]).fails("is also loaded as data").says("--ignore");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("all/report.json", path("link.json")).unwrap();
        std::fs::hard_link(&report, path("other_name.json")).unwrap();
        for link in ["link.json", "other_name.json"] {
            run(&path(link), &[]).fails("is also loaded as data");
        }
    }
    let other = sandbox.write("other.json", "{\"name\": \"x\"}");
    sandbox.write("all/more.json", "{\"allowed\": []}");
    run(&other, &["--ignore", "report.json"]).code(1);
}

#[test]
fn case_3_signed_bundles_are_loaded_on_demand_and_deltas_never() {
    let sandbox = Sandbox::new();
    let run = |extra: &str, more: &[&str]| {
        let file = std::fs::File::create(sandbox.path("b.tar.gz")).unwrap();
        let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        for (name, text) in [(".manifest", "{}"), ("p.rego", DENY_BAD), (extra, "{}")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap();
        let bundle = sandbox.path("b.tar.gz");
        let fixed = ["gate", "-d", bundle.to_str().unwrap(), "-i", "-", "-f", "json"];
        sandbox.run(&[&fixed[..], more].concat()).stdin("{}").output()
    };
    run(".signatures.json", &[]).fails("`--skip-verify`");
    let report = run(".signatures.json", &["--skip-verify"]).code(0).json();
    let option = &report["inventory"]["options"][0];
    assert_eq!(
        (&option["name"], &option["effect"]),
        (&"skip_verify".into(), &"took_effect".into())
    );
    run("patch.json", &["--skip-verify"]).fails("is a delta");
    let report = run("notes.txt", &[]).code(0).json();
    assert_eq!(report["inventory"]["policies"][0]["left_out"][0]["path"], "notes.txt");
}

/// A policy that passes if the service has no such resource.
const ASKS: &str =
    "package p\n\ndeny contains \"known\" if platform.discover(input.image, \"\").kind\n";

fn image() -> String {
    format!("{{\"image\": \"sha256:{}\"}}", "0".repeat(64))
}

#[test]
fn case_4_only_the_services_own_not_found_is_undefined() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", ASKS);
    let run = |more: &[&str]| {
        let fixed = ["gate", "-d", &policy, "-i", "-", "-f", "json", "--not-found", "undefined"];
        sandbox.served(&[&fixed[..], more].concat()).stdin(image()).output()
    };
    let report = run(&[]).code(0).json();
    let option = &report["inventory"]["options"][0];
    assert_eq!((&option["name"], &option["effect"]), (&"not_found".into(), &"took_effect".into()));
    for body in ["404 page not found", "{\"code\":5,\"message\":\"Not Found\",\"details\":[]}"] {
        let fault = format!("discover:status=404:body={body}");
        let output = run(&["--fault", &fault]);
        let report = output.fails("platform.discover: no such address of the service").json();
        assert!(
            report["inputs"][0]["verdicts"][0]["error"]["hint"]
                .as_str()
                .unwrap()
                .contains("address"),
            "{report}"
        );
    }
}

const ARGUMENTS: &str = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: args\nspec:\n  policies:\n    \
    - embedded: |\n        package main\n\n        import rego.v1\n\n        violations contains json.marshal(input) if true\n";

#[test]
fn case_5_arguments_are_never_the_documents_own() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("p.yaml", ARGUMENTS);
    let seen = |input: &str, more: &[&str]| -> serde_json::Value {
        let fixed = ["gate", "-d", &file, "-i", "-", "-f", "json"];
        let run = sandbox.run(&[&fixed[..], more].concat()).stdin(input);
        let report = run.output().code(1).json();
        let said = &report["inputs"][0]["verdicts"][0]["violations"][0]["message"];
        serde_json::from_str(said.as_str().unwrap()).unwrap()
    };
    assert_eq!(seen("{\"args\": {\"max\": 9}}", &[])["args"], serde_json::json!({}));
    assert_eq!(seen("[1]", &[])["elements"], serde_json::json!([1]));
    let project =
        ["--project", "shop", "--project-version", "1", "--arg", "a=b,", "--arg", "c=d,e"];
    assert_eq!(
        seen("[1]", &project),
        serde_json::json!({
            "args": {"a": "b", "c": ["d", "e"]},
            "platform_metadata": {
                "annotations": {"platform.material.name": "<stdin>"},
                "name": "<stdin>",
                "digest": {"sha256": super::digest_of(b"[1]").trim_start_matches("sha256:")},
                "project_name": "shop",
                "project_version_name": "1",
            },
            "elements": [1],
        })
    );
}

#[test]
fn case_6_what_a_skipped_policy_found_counts() {
    let sandbox = Sandbox::new();
    let script = |rules: &str| {
        format!(
            "    - embedded: |\n        package main\n\n        import rego.v1\n\n        {rules}\n"
        )
    };
    let document = |scripts: &[&str]| {
        let head = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: two\nspec:\n  policies:\n";
        head.to_owned() + &scripts.iter().map(|rules| script(rules)).collect::<String>()
    };
    let skipped = "result := {\"skipped\": true, \"violations\": [\"found\"]}";
    let passes = "result := {\"skipped\": false, \"violations\": []}";
    let ignored = "result := {\"skipped\": true, \"ignore\": true, \"violations\": [\"found\"]}";
    for (scripts, more, code) in [
        (&[skipped, passes][..], &[][..], 1),
        (&[skipped], &[], 1),
        (&[skipped], &["--allow-skipped"], 1),
        (&[ignored, passes], &[], 0),
    ] {
        let file = sandbox.write("p.yaml", document(scripts));
        let fixed = ["gate", "-d", &file, "-i", "-", "-f", "json"];
        sandbox.run(&[&fixed[..], more].concat()).stdin("{}").output().code(code);
    }
}

fn statement(bad: bool) -> String {
    format!(
        "{{\"_type\": \"https://in-toto.io/Statement/v1\", \"predicateType\": \"t\", \"subject\": \
         [{{\"name\": \"app\", \"digest\": {{\"sha256\": \"{}\"}}}}], \"predicate\": {{\"bad\": {bad}}}}}",
        "a".repeat(64)
    )
}

#[test]
fn case_7_envelopes_are_unwrapped_and_have_one_reading() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"bad\" if input.predicate.bad\n";
    let payload = base64::engine::general_purpose::STANDARD.encode(statement(true));
    let sort = "\"payloadType\": \"application/vnd.in-toto+json\"";
    let envelope = format!("{{{sort}, \"payload\": \"{payload}\", \"signatures\": []}}");
    let run = |text: &str| {
        gate_with(&sandbox, policy, &["-i", "-", "--attestation", "--unverified"], text)
    };
    run(&envelope).code(1);
    let clean = statement(false);
    let inner = clean.trim_start_matches('{');
    for (text, says) in [
        (format!("{{{sort}, \"payload\": \"{payload}\", {inner}"), "ambiguous attestation"),
        (format!("{{\"dsseEnvelope\": {envelope}, {inner}"), "ambiguous attestation"),
        (envelope.replace("+json", "+json;v=1"), "unexpected `payloadType` of the envelope"),
        ("{\"predicate\": {}}".to_owned(), "not an attestation"),
    ] {
        let report = run(&text).fails(says).json();
        assert!(message(&report).contains(says), "{report}");
    }
}

#[test]
fn case_7_attestations_are_json_and_no_key_has_two_readings() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"bad\" if input.predicate.bad\n";
    let run = |text: &str, name: &str| {
        let file = sandbox.write(name, text);
        gate(&sandbox, policy, &["-i", &file, "--attestation", "--unverified"])
    };
    let clean = statement(false);
    run(&clean, "a.json").code(0);
    // Whatever the extension.
    run(&clean, "a.yaml").code(0);
    run(&statement(true), "a.dsse").code(1);
    let twice = clean.replace("\"predicate\":", "\"predicate\": {\"bad\": true}, \"predicate\":");
    assert_ne!(twice, clean);
    let block = "_type: https://in-toto.io/Statement/v1\nsubject: []\npredicateType: t\n\
                 predicate: {bad: false}\n";
    for (text, name, says) in [
        (twice.as_str(), "t.json", "appears twice"),
        (&twice, "t.yaml", "appears twice"),
        (&format!("# c\n{clean}"), "c.yaml", "invalid JSON"),
        (block, "b.yaml", "invalid JSON"),
    ] {
        let report = run(text, name).fails(says).json();
        assert!(message(&report).contains(says), "{report}");
    }
}

#[test]
fn case_8_scalars_are_opas_and_numbers_the_ones_that_are_written() {
    let sandbox = Sandbox::new();
    let mode = "package p\n\ndeny contains \"open\" if input.mode == 511\n";
    for text in ["{p: \" # \", mode: 0777}", "mode: 0X1FF", "mode: 0o777", "# c\rmode: 0777\r"] {
        let file = sandbox.write("in.yaml", text);
        gate(&sandbox, mode, &["-i", &file]).code(1);
    }
    let file = sandbox.write("in.yaml", "# c\u{2028}mode: 0777");
    gate(&sandbox, mode, &["-i", &file]).fails("the document is empty");
    let more = "package p\n\ndeny contains \"more\" if input.n > 7\n";
    // JSON's numbers are kept as they are written; YAML's are converted to doubles, in OPA too.
    for (text, code) in [
        ("{\"n\": 7.0000000000000000001}", 1),
        ("{\"n\": 18446744073709551616}", 1),
        ("{\"n\": 1e-400}", 0),
        ("{\"n\": 0.1}", 0),
        ("{\"n\": 1.10}", 0),
        ("{\"n\": 1e999999999}", 2),
        ("n: 7.0000000000000000001", 2),
        ("n: 1e-400", 2),
        ("n: 18446744073709551616", 2),
        ("n: 6.50", 0),
    ] {
        gate_with(&sandbox, more, &["-i", "-"], text).code(code);
    }
    let exact = "package p\n\ndeny contains \"wide\" if input.n == 18446744073709551617\n\n\
                 deny contains \"tiny\" if input.n > 0\n";
    gate_with(&sandbox, exact, &["-i", "-"], "{\"n\": 1e-400}").code(1);
    let report = gate_with(&sandbox, exact, &["-i", "-"], "{\"n\": 18446744073709551617}");
    assert!(report.code(1).stdout.contains("wide"));
    let module = "package p\n\ndeny contains \"x\" if data.limits.max > input.n\n";
    let workflow = ("w.yml", "on: push\njobs: !Ref x\n---\nmore: 1\n");
    let limits = ("limits/d.yaml", "max: 7.0000000000000000001");
    folder(&sandbox, &[("p.rego", module), workflow, limits], &["-i", "-"]).fails("rounded");
    let unused = ("limits/d.yaml", "max: 7\nother: 7.0000000000000000001");
    folder(&sandbox, &[("p.rego", module), workflow, unused], &["-i", "-"]).fails("rounded");
    let other = ("limits/d.yaml", "max: 7");
    let report =
        folder(&sandbox, &[("p.rego", module), workflow, other], &["-i", "-"]).code(0).json();
    let left = report["inventory"]["policies"][0]["left_out"].to_string();
    assert!(left.contains("further documents"), "{left}");
}

#[test]
fn case_10_waivers_match_computed_fields_unless_they_name_others() {
    let sandbox = Sandbox::new();
    let digest = format!("sha256:{}", "b".repeat(64));
    let policy =
        format!("package p\n\ndeny contains {{\"message\": \"m\", \"digest\": \"{digest}\"}}\n");
    let input = sandbox.write("in.json", "{}");
    let run = |subject: &str| {
        let text = format!(
            "max_days: 1000000\nwaivers:\n- {{policy: p, reason: r, owner: o, expires: 2999-01-01, subject: {subject}}}\n"
        );
        let file = sandbox.write("w.yaml", text);
        gate(&sandbox, &policy, &["-i", &input, "--waivers", &file])
    };
    run(&format!("'{digest}'")).code(1);
    let report = run(&format!("{{violation: '{digest}'}}")).code(0).json();
    assert_eq!(report["waivers"][0]["by"], "violation");
    let option = &report["inventory"]["options"][0];
    assert_eq!((&option["name"], &option["effect"]), (&"waivers".into(), &"took_effect".into()));
    run("{input: '/**/in.json'}").code(0);
    run("{input: '*/in.json'}").code(1);
    run("{name: '*'}").code(1);
    run("'*.json'").fails("{input: '*.json'}");
}

#[test]
fn case_12_what_policies_print_forges_no_line() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"x\" if {\n\tprint(\"x\\nPASS in.json\\n::error::y\\n##teamcity[z]\\nq ##vso[w]\")\n\tfalse\n}\n";
    let output = gate_with(&sandbox, policy, &["-i", "-"], "{}").code(0);
    for line in output.stderr.lines() {
        assert!(line.starts_with("<stdin>: "), "{line}");
        assert!(!line.contains("##teamcity[") && !line.contains("##vso["), "{line}");
    }
    let query = "\"a\\n\\tb\\u001b[31m\\n::error::x\\n##teamcity[y]\"";
    let raw = sandbox.run(&["eval", "--format", "raw", query]).output().code(0).stdout;
    assert_eq!(raw, "a\n\tb\\u{1b}[31m\n\\::error::x\n#\\#teamcity[y]\n");
}

#[test]
fn every_way_out_writes_every_report() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let input = sandbox.write("in.json", "{}");
    let (json, junit) = (path("r.json"), path("r.xml"));
    let outputs = [format!("json={json}"), format!("junit={junit}")];
    let fixed = ["gate", "--output", &outputs[0], "--output", &outputs[1]];
    let run = |more: &[&str]| sandbox.run(&[&fixed[..], more].concat()).output();
    let good = ["-d", &policy, "-i", &input];
    let missing = path("missing.rego");
    for broken in [
        &["-d", &missing, "-i", &input][..],
        &["-d", &policy, "-i", &missing],
        &["-d", &policy],
        &["-d", &policy, "-i", &input, "--waivers", &missing],
        &[],
    ] {
        run(&good).code(0);
        run(broken).fails_with_one_of(&[
            "doesn't exist",
            "no input for policies that use `input`",
            "the waiver file ",
            "no policies given",
        ]);
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(
            (&report["outcome"], &report["exit"]),
            (&"no_verdict".into(), &2.into()),
            "{broken:?}"
        );
        assert!(!report["failure"]["message"].as_str().unwrap().is_empty(), "{broken:?}");
        assert!(std::fs::read_to_string(&junit).unwrap().contains("<error"), "{broken:?}");
    }
    // A command line that doesn't parse touches nothing.
    run(&good).code(0);
    let before = std::fs::read(&json).unwrap();
    for (broken, says) in [
        (&["--nonsense"][..], "unexpected argument '--nonsense' found"),
        (&["--timeout", "x"], "invalid value 'x' for '--timeout <TIME>': expected a number"),
    ] {
        run(&[&good[..], broken].concat()).fails(says);
        assert!(std::fs::read(&json).unwrap() == before, "{broken:?}");
    }
    for format in ["human", "json", "junit", "sarif", "github", "markdown", "tap", "html"] {
        let arguments = ["gate", "-d", &missing, "-i", &input, "-f", format];
        let output = sandbox.run(&arguments).output().fails("doesn't exist");
        let stated =
            ["no verdict", "no_verdict"].iter().any(|wording| output.stdout.contains(wording));
        assert!(stated != (format == "human"), "{format}: {output:?}");
        output.says("missing.rego");
    }
    let stream = ["gate", "-d", &policy, "-i", &input, "--output", "json=-"];
    let report = sandbox.run(&stream).output().code(0).json();
    assert_eq!(report["schema_version"], 2);
    let both = [&stream[..], &["--format", "tap"]].concat();
    sandbox.run(&both).output().fails("standard output");
    let own = format!("json={input}");
    sandbox
        .run(&["gate", "-d", &policy, "-i", &input, "--output", &own])
        .output()
        .fails("read and written");
    assert_eq!(std::fs::read_to_string(&input).unwrap(), "{}");
}

#[test]
fn nothing_is_written_over_what_is_read_or_written_otherwise() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policies/p.rego", DENY_BAD);
    let input = sandbox.write("in/i.json", "{}");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (policies, inputs) = (path("policies"), path("in"));
    let (folder, glob) = ([&*policies, &*inputs], [&*path("policies/*.rego"), &*path("in/*")]);
    let indirect = format!("{policies}/../in/i.json");
    let report = format!("json={}", path("r.json"));
    for (given, written) in [
        ([&*policy, &*input], ["--record", &policy]),
        ([&policy, &input], ["--record", &indirect]),
        ([&policy, &input], ["-o", &format!("json={indirect}")]),
        (folder, ["--record", &policy]),
        (folder, ["-o", &format!("junit={policy}")]),
        (glob, ["-o", &format!("html={input}")]),
        ([&policy, &input], ["-o", &format!("junit={}", path("in/../r.json"))]),
        ([&policy, &input], ["--record", &path("in/../r.json")]),
    ] {
        let fixed = ["gate", "-d", given[0], "-i", given[1], "-o", &report];
        let output = sandbox.run(&[&fixed[..], &written].concat()).output().fails("would be");
        assert!(output.stderr.contains("written"), "{written:?}: {}", output.stderr);
        assert_eq!(std::fs::read_to_string(&policy).unwrap(), DENY_BAD, "{written:?}");
        assert_eq!(std::fs::read_to_string(&input).unwrap(), "{}", "{written:?}");
        // The reports that may be written aren't those of an earlier run.
        let report = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
        assert!(report.contains("\"outcome\": \"no_verdict\""), "{written:?}: {report}");
        std::fs::remove_file(sandbox.path("r.json")).unwrap();
    }
    // Even if the options are wrong.
    let own = format!("json={policy}");
    sandbox
        .run(&["gate", "--nonsense", "-d", &policy, "-o", &own])
        .output()
        .fails("unexpected argument '--nonsense' found");
    assert_eq!(std::fs::read_to_string(&policy).unwrap(), DENY_BAD);
    let fine = [&*format!("html={}", path("in/page.html")), "--record", &path("r.json")];
    let fixed = ["gate", "-d", &policies, "-i", &inputs, "-o"];
    sandbox.run(&[&fixed[..], &fine].concat()).output().code(0);
    // The next run would read it as an input.
    let xml = format!("junit={}", path("in/junit.xml"));
    sandbox.run(&[&fixed[..], &[&xml]].concat()).output().fails("would be read and written");
    let own = sandbox.write("in/own.xml", "<a/>");
    let xml = format!("junit={own}");
    sandbox.run(&[&fixed[..], &[&xml]].concat()).output().fails("would be read and written");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "<a/>");
    std::fs::remove_file(own).unwrap();
    let ignored =
        ["-i", &inputs, "--ignore", "gate.json", "-o", &format!("json={inputs}/gate.json")];
    for _ in 0..2 {
        sandbox.run(&[&["gate", "-d", &policies], &ignored[..]].concat()).output().code(0);
    }
    // The next run would read it as data or as an input, unless it is left out.
    let inside = [format!("json={}", path("policies/r.json")), path("in/proof.json")];
    for written in [["-o", &inside[0]], ["--record", &inside[1]]] {
        let fixed = ["gate", "-d", &policies, "-i", &inputs, "--ignore", "gate.json"];
        let run = sandbox.run(&[&fixed[..], &written].concat());
        run.output().fails("would be read and written");
        for _ in 0..2 {
            let ignored = ["--ignore", "r.json", "--ignore", "proof.json", "-v"];
            let output = sandbox.run(&[&fixed[..], &written, &ignored].concat()).output().code(0);
            assert!(output.stdout.contains("inputs 1 of"), "{}", output.stdout);
        }
    }
    let query = ["eval", "-d", &policy, "-i", &input, "data.p.deny", "--record", &input];
    sandbox.run(&query).output().fails("read and written");
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_written() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let input = sandbox.write("i.json", "{}");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("pipe", path("to-pipe")).unwrap();
    std::os::unix::fs::symlink("/dev/stdout", path("to-stdout")).unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    for special in ["pipe", "to-pipe", "to-stdout", "folder"] {
        let before = std::fs::symlink_metadata(path(special)).unwrap().file_type();
        let (file, report) = (path(special), format!("json={}", path(special)));
        for written in [["--record", &file], ["-o", &report]] {
            let fixed = ["gate", "-d", &policy, "-i", &input];
            sandbox.run(&[&fixed[..], &written].concat()).output().fails("can't be written");
            let after = std::fs::symlink_metadata(path(special)).unwrap().file_type();
            assert_eq!(before, after, "{written:?}");
        }
        let query = ["eval", "1", "--record", &file];
        sandbox.run(&query).output().fails("can't be written");
    }
    let stdout = ["gate", "-d", &policy, "-i", &input, "-o", "json=/dev/stdout"];
    sandbox.run(&stdout).output().fails("--output FORMAT=-");
}

#[test]
fn a_folder_without_policies_and_data_is_refused() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    sandbox.write("more/README.md", "# Policies");
    let more = sandbox.path("more");
    let run = |more: &str, rest: &[&str]| {
        let fixed = ["gate", "-d", &policy, "-d", more, "--no-input"];
        sandbox.run(&[&fixed[..], rest].concat()).output()
    };
    let more = more.to_str().unwrap();
    run(more, &[]).fails("no policies and no data in");
    sandbox.write("more/data.json", "{}");
    run(more, &[]).code(0);
    run(more, &["--ignore", "*.json"]).fails("no policies and no data in");
}

#[cfg(unix)]
#[test]
fn reports_follow_no_link_and_recordings_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let other = sandbox.write("other.txt", "other");
    let link = sandbox.path("r.json");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let output = format!("json={}", link.display());
    gate_with(&sandbox, DENY_BAD, &["-i", "-", "--output", &output], "{}").code(0);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
    assert!(std::fs::read_to_string(&link).unwrap().contains("schema_version"));
    let recording = sandbox.path("rec.json");
    let record = [
        "-i",
        "-",
        "--record",
        recording.to_str().unwrap(),
        "--local",
        "testdata/platform",
        "--not-found",
        "undefined",
    ];
    gate_with(&sandbox, ASKS, &record, &image()).code(0);
    let mode = std::fs::metadata(&recording).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Calls the service with `call`, which is answered with `body`.
fn answered(sandbox: &Sandbox, call: &str, route: &str, body: &str) -> Output {
    let policy = format!("package p\n\ndeny contains \"x\" if count({call}) == 0\n");
    let file = sandbox.write("answered.rego", policy);
    let fault = format!("{route}:status=200:body={body}");
    let run = ["gate", "-d", &file, "-f", "json", "--fault", &fault];
    sandbox.served(&run).output()
}

#[test]
fn case_9_answers_are_checked_against_the_question() {
    let sandbox = Sandbox::new();
    let evidence = |row: &str| {
        let call = "platform.evidence({\"project_name\": \"shop\", \"kind\": [\"SARIF\"], \
                    \"workflow_name\": [\"scan\"]})";
        let body = format!("{{\"results\":[{row}],\"pagination\":{{\"next_cursor\":\"\"}}}}");
        answered(&sandbox, call, "evidence", &body)
    };
    evidence(
        "{\"id\":\"1\",\"project_name\":\"shop\",\"kind\":\"SARIF\",\"workflow_name\":\"scan\"}",
    )
    .code(0);
    for (row, says) in [
        (
            "{\"id\":\"1\",\"project_name\":\"other\"}",
            "unexpected `project_name` in the service's response: found `other`",
        ),
        (
            "{\"id\":\"1\",\"kind\":\"JUNIT_XML\"}",
            "unexpected `kind` in the service's response: found `JUNIT_XML`",
        ),
        (
            "{\"id\":\"1\",\"workflow_name\":\"x\"}",
            "unexpected `workflow_name` in the service's response: found `x`",
        ),
    ] {
        let report = evidence(row).fails("platform.evidence: unexpected").json();
        assert!(message(&report).contains(says), "{report}");
    }
    evidence("{\"id\":\"1\",\"project_name\":\"shop\"}").code(0);
    let (version, other) =
        ("1a1a1a1a-0000-4000-8000-00000000000a", "1a1a1a1a-0000-4000-8000-00000000000b");
    let compliance = |field: &str, value: &str| {
        let call = format!(
            "platform.project_compliance({{\"project_version_id\": \"{version}\", \
             \"framework_ids\": [\"{version}\"]}})"
        );
        let body = format!(
            "{{\"evaluations\":[{{\"requirement_id\":\"1\",\"{field}\":\"{value}\"}}],\
             \"pagination\":{{\"next_cursor\":\"\"}}}}"
        );
        answered(&sandbox, &call, "compliance", &body)
    };
    // What isn't known to be a status can be a failure.
    for (field, value, said) in [
        ("status", "failed", "an evaluation with the unknown `status` `failed`"),
        ("name", "", "an evaluation without a `status`"),
        ("status", "fail", ""),
    ] {
        let report = compliance(field, value).code(0).json();
        let notes = report["notes"].to_string();
        assert_eq!(notes.contains("`status`"), !said.is_empty(), "{notes}");
        assert!(notes.contains(said), "{notes}");
    }
    for field in ["project_version_id", "framework_id"] {
        compliance(field, &version.to_uppercase()).code(0);
        let report = compliance(field, other).fails("1a1a1a1a-0000-4000-8000-00000000000b").json();
        assert!(message(&report).contains(field), "{report}");
    }
    let digest = format!("sha256:{}", "a".repeat(64));
    let discover = |kind: &str| {
        let call = format!("platform.discover(\"{digest}\", \"SARIF\")");
        let body = format!(
            "{{\"result\":{{\"digest\":\"{digest}\"{kind}}},\"pagination\":{{\"nextCursor\":\"\"}}}}"
        );
        answered(&sandbox, &call, "discover", &body)
    };
    discover(",\"kind\":\"SARIF\"").code(0);
    discover("").code(0);
    let report = discover(",\"kind\":\"ATTESTATION\"").fails("expected `SARIF`").json();
    assert!(message(&report).contains("found `ATTESTATION`, expected `SARIF`"), "{report}");
}

#[test]
fn case_11_content_that_became_base64_is_reported() {
    let sandbox = Sandbox::new();
    let binary = "sha256:ba62e6dfc9fd05b57e77adff62f7fd5ddb8f1939c3244fce7ca5dbc6c733385a";
    let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let evaluate = |searched: &str, digest: &str, format: &str| {
        let policy = format!(
            "package p\n\ndeny contains \"GPL\" if contains({searched}, \"GPL-3.0\")\n\n\
             content := platform.download_artifact(\"{digest}\")\n"
        );
        let file = sandbox.write("p.rego", policy);
        sandbox.served(&["gate", "-d", &file, "-f", format, "-v"]).output()
    };
    let run = |digest: &str, format: &str| evaluate("content", digest, format);
    let report = run(binary, "json").fails("content not decoded: an artifact of").json();
    assert_eq!(report["inputs"][0]["ledger"]["calls"][0]["form"], "base64");
    let error = &report["inputs"][0]["verdicts"][0]["error"];
    assert_eq!(error["kind"], "undecoded-content", "{error:#}");
    assert_eq!(error["position"]["line"], 5, "{error:#}");
    // So is content that only the second reading of a negation downloads.
    for body in [
        "not startswith(input.image, \"g\")\n\tcontains(content, \"GPL\")",
        "contains(content, \"GPL\")\n\tnot startswith(input.image, \"g\")",
    ] {
        let policy = format!(
            "package p\n\ndeny contains \"GPL\" if {{\n\t{body}\n}}\n\n\
             content := platform.download_artifact(\"{binary}\")\n"
        );
        let policy = sandbox.write("negated.rego", policy);
        let input = sandbox.write("input.json", "{\"name\": \"x\"}");
        let run = ["gate", "-d", &policy, "-i", &input, "-f", "json"];
        let report = sandbox.served(&run).output().fails("content not decoded").json();
        let kind = &report["inputs"][0]["verdicts"][0]["error"]["kind"];
        assert_eq!(kind, "undecoded-content", "{body}\n{report:#}");
    }
    for decoded in ["base64.decode(content)", "sprintf(\"%v\", [json.is_valid(content)])"] {
        let report = evaluate(decoded, binary, "json").code(0).json();
        assert!(report["notes"].to_string().contains("given as base64"), "{report:#}");
    }
    for format in ["human", "junit", "github", "markdown", "tap", "html"] {
        let said = run(binary, format).fails("base64").stdout;
        assert!(said.contains("base64"), "{format}: {said}");
        assert!(!run(text, format).code(0).stdout.contains("base64"), "{format}");
    }
}

const PROMPT: &str = "package p\n\ndeny contains v if some v in \
                      platform.evidence_prompt(\"text\", \"is it ok?\").violations\n";

/// Returns a recording with this answer to the prompt.
fn recorded(answer: &str) -> String {
    format!(
        "{{\"version\": 1, \"nd_builtin_cache\": {{\"platform.evidence_prompt\": \
         {{\"[\\\"text\\\",\\\"is it ok?\\\"]\": {answer}}}}}}}"
    )
}

#[test]
fn an_ai_analysis_that_was_skipped_is_noted_and_no_answer_of_one() {
    let sandbox = Sandbox::new();
    for (skipped, notes) in [(true, 1), (false, 0)] {
        let answer = format!("{{\"skipped\": {skipped}, \"violations\": []}}");
        let recording = sandbox.write("rec.json", recorded(&answer));
        let policy = sandbox.write("p.rego", PROMPT);
        let run = |format: &str| {
            let arguments =
                ["gate", "-d", &policy, "-i", "-", "--replay", &recording, "-f", format];
            sandbox.run(&arguments).stdin("{}").output().code(0)
        };
        let report = run("json").json();
        assert_eq!(report["ai"], !skipped, "{report}");
        assert_eq!(report["notes"].as_array().unwrap().len(), notes, "{report}");
        let calls = report["inputs"][0]["ledger"]["calls"].as_array().unwrap();
        assert!(calls.len() == 1 && calls[0]["skipped"] == skipped, "{report}");
        for format in ["human", "junit", "sarif", "github", "markdown", "tap", "html"] {
            let text = run(format).stdout;
            assert_eq!(text.contains("an AI analysis was skipped"), skipped, "{format}: {text}");
        }
    }
}

#[test]
fn a_call_that_was_not_sent_comes_from_nowhere() {
    let sandbox = Sandbox::new();
    let addresses =
        ["--controlplane-url", "http://127.0.0.1:1", "--base-url", "http://127.0.0.1:1"];
    let run = |format: &str| {
        let policy = sandbox.write("p.rego", PROMPT);
        let arguments = [&["gate", "-v", "-d", &policy, "-i", "-", "-f", format][..], &addresses];
        sandbox
            .run(&arguments.concat())
            .stdin("{}")
            .output()
            .fails("platform.evidence_prompt: missing token")
    };
    let report = run("json").json();
    assert_eq!(report["ai"], false, "{report}");
    assert_eq!(report["inputs"][0]["ledger"]["origins"], serde_json::json!({}), "{report}");
    let text = run("human").stdout;
    assert!(text.contains("1 call (1 not sent)") && !text.contains("network"), "{text}");
}

#[test]
fn json_of_eval_hides_nothing_and_means_the_same() {
    let sandbox = Sandbox::new();
    let query = "\"a\\u202eb\\u200b\\u001b##[x]é\"";
    for format in ["json", "pretty", "values"] {
        let output = sandbox.run(&["eval", "-f", format, query]).output().code(0);
        let text = &output.stdout;
        assert!(text.contains(r"a\u202eb\u200b\u001b#\u0023[x]é"), "{text}");
        let found = output.json().to_string();
        assert!(found.contains("a\u{202e}b\u{200b}") && found.contains("##[x]"), "{found}");
    }
}

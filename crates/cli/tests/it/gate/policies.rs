//! Bundles, policy documents and waivers.

use super::{DENY_BAD, gate};
use crate::cli::Sandbox;

const DOCUMENT: &str = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: limits\nspec:\n  \
    inputs:\n    - name: max\n      required: true\n    - name: names\n      default: a,b\n  \
    policies:\n    - kind: EVIDENCE\n      embedded: |\n        package main\n\n        import rego.v1\n\n        \
    valid_input if input.n\n\n        \
    violations contains \"too many\" if input.n > to_number(input.args.max)\n\n        \
    violations contains \"names\" if count(input.args.names) != 2\n";

fn document(sandbox: &Sandbox, text: &str, arguments: &[&str], input: &str) -> crate::cli::Output {
    let file = sandbox.write("policy.yaml", text);
    let fixed = ["gate", "-d", &file, "-i", "-", "-f", "json"];
    sandbox.run(&[&fixed[..], arguments].concat()).stdin(input).output()
}

/// Evaluates a document for an input of the kind `EVIDENCE`, which no input has by itself.
fn evidence(sandbox: &Sandbox, text: &str, arguments: &[&str], input: &str) -> crate::cli::Output {
    document(sandbox, text, &[arguments, &["--kind", "EVIDENCE"]].concat(), input)
}

#[test]
fn policy_documents_get_their_arguments() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str], input: &str| evidence(&sandbox, DOCUMENT, arguments, input);
    run(&["--arg", "max=5"], "{\"n\": 5}").code(0);
    let report = run(&["--arg", "max=5"], "{\"n\": 6}").code(1).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["policy"], "limits");
    // The rule's line in the document.
    let line = verdict["violations"][0]["position"]["line"].as_u64().unwrap();
    let line = DOCUMENT.lines().nth(usize::try_from(line).unwrap() - 1).unwrap();
    assert!(line.contains("violations contains"), "{line}");
    let report = run(&["--arg", "max=5"], "{}").fails("input skipped by every policy").json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["reason"], "the file content is not recognized");
    run(&[], "{\"n\": 5}").fails("missing argument");
    run(&["--arg", "max=5", "--arg", "mx=1"], "{\"n\": 5}").fails("did you mean `max`");
    run(&["--arg", "max=5", "-n", "limits"], "{\"n\": 5}").code(0);
    run(&["--arg", "max=5", "-n", "limit"], "{\"n\": 5}").fails("did you mean `limits`");
    document(&sandbox, DOCUMENT, &["--arg", "max=5"], "{\"n\": 5}")
        .fails("unknown kind of the input: no kind accepts it");
    document(&sandbox, DOCUMENT, &["--arg", "max=5", "--kind", "SARIF"], "{\"$schema\": \"s\"}")
        .fails("no policies");
}

#[test]
fn a_module_has_the_positions_of_its_document() {
    let sandbox = Sandbox::new();
    let module = "package main\n\n        import rego.v1\n\n        # METADATA\n        # title: T\n        \
        violations contains sprintf(\"%s\", [x]) if {\n          some x in input.a\n        }\n";
    let text = |first: &str, second: &str| {
        format!(
            "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {{name: 'n'}}\nspec:\n  policies:\n    - kind: SARIF\n      \
             embedded: |\n        {first}    - kind: SARIF\n      embedded: |\n        {second}"
        )
    };
    let file = sandbox.write("n.yaml", text(module, module));
    let run = || {
        let fixed = ["gate", "-d", &file, "-i", "-"];
        sandbox.run(&fixed).stdin("{\"$schema\": \"s\", \"a\": [\"x\"]}").output()
    };
    // Of two modules that are the same, each has its own.
    let shown = run().code(1).stdout;
    assert!(shown.contains("n.yaml:14:9)") && shown.contains("n.yaml:25:9)"), "{shown}");
    let report = sandbox.run(&["gate", "-d", &file, "-i", "-", "-f", "json"]);
    let report = report.stdin("{\"$schema\": \"s\"}").output();
    assert_eq!(report.code(0).json()["policies"][1]["rules"][0]["title"], "T");
    // A module whose meaning depends on its indentation has positions of its own.
    let raw = module.replace("\"%s\"", "`%s\n        b`");
    sandbox.write("n.yaml", text(&raw, module));
    let shown = run().code(1).stdout;
    assert!(shown.contains("x\\nb (") && shown.contains("n.yaml#1:7:1)"), "{shown}");
    assert!(shown.contains("n.yaml:26:9)"), "{shown}");
    // One that isn't there word for word, too.
    let quoted = text(module, module).replacen(
        &format!("|\n        {module}"),
        &format!("{:?}\n", module.replace("        ", "")),
        1,
    );
    sandbox.write("n.yaml", quoted);
    let shown = run().code(1).stdout;
    assert!(shown.contains("n.yaml#1:7:1)") && shown.contains("n.yaml:16:9)"), "{shown}");
    // So does an error.
    sandbox.write("n.yaml", text(module, &module.replace("some x in", "some x if")));
    run().says("--> ").says("n.yaml:26:");
}

#[test]
fn policies_for_other_kinds_are_left_out_and_named() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: NAME\nspec:\n  policies:\n    \
        - kind: KIND\n      embedded: |\n        package main\n\n        import rego.v1\n\n        \
        violations contains \"never\"\n";
    let file =
        sandbox.write("p.yaml", text.replace("NAME", "sbom").replace("KIND", "SBOM_SPDX_JSON"));
    let plain = sandbox.write("p.rego", DENY_BAD);
    let run = |kind: &str, input: &str| {
        let arguments =
            ["gate", "-d", &file, "-d", &plain, "-i", "-", "-f", "json", "--kind", kind];
        sandbox.run(&arguments).stdin(input).output()
    };
    let report = run("SARIF", "{\"$schema\": \"s\"}").code(0).json();
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("expected the kind `SARIF`, found `SBOM_SPDX_JSON`")
    );
    run("SBOM_SPDX_JSON", super::SPDX).code(1);
    run("SBOM_SPDX_JSON", "{}").fails("kind mismatch: expected");
}

#[test]
fn broken_policy_documents_are_refused_with_a_place() {
    let sandbox = Sandbox::new();
    for (from, to, says) in [
        ("kind: EVIDENCE", "knd: JSON", "policy.yaml:"),
        ("violations contains", "allow contains", "no verdict rule"),
        ("to_number(", "platform.discoverr(", "platform.discoverr"),
    ] {
        let text = DOCUMENT.replace(from, to);
        evidence(&sandbox, &text, &["--arg", "max=5"], "{\"n\": 5}").fails(says);
    }
    // In a folder too: a policy document is never taken for data.
    sandbox.write("d/policy.yaml", DOCUMENT);
    sandbox.write("d/p.rego", DENY_BAD);
    let folder = sandbox.path("d");
    let fixed = ["gate", "-d", folder.to_str().unwrap(), "-i", "-", "-f", "json"];
    let more = ["--arg", "max=5", "--kind", "EVIDENCE"];
    let run = sandbox.run(&[&fixed[..], &more].concat()).stdin("{\"n\": 6}");
    let report = run.output().code(1).json();
    assert_eq!(report["policies"].as_array().unwrap().len(), 2);
}

#[test]
fn functions_of_a_newer_service_are_off_by_default() {
    let sandbox = Sandbox::new();
    for name in ["findings", "effective_assessments"] {
        let text = DOCUMENT.replace("to_number(", &format!("platform.{name}("));
        let says = format!("`platform.{name}` is off by default");
        document(&sandbox, &text, &["--arg", "max=5"], "{\"n\": 5}").fails(&says);
    }
}

#[test]
fn policies_of_a_document_are_chosen_by_the_names_of_reports() {
    let sandbox = Sandbox::new();
    let module = |rule: &str| {
        format!("embedded: |\n        package main\n\n        import rego.v1\n\n        {rule}\n")
    };
    let text = format!(
        "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: p\nspec:\n  policies:\n    \
         - kind: SARIF\n      {}    - kind: OPENVEX\n      {}",
        module("violations contains \"s\" if input.s"),
        module("violations contains \"j\" if input.j")
    );
    let run = |arguments: &[&str], input: &str| document(&sandbox, &text, arguments, input);
    let (sarif, vex) = ("{\"$schema\": \"x\", \"s\": 1}", "{\"@id\": \"x\", \"j\": 1}");
    let names = |report: &serde_json::Value| -> Vec<String> {
        let inputs = report["inputs"].as_array().unwrap().iter();
        let verdicts = inputs.flat_map(|input| input["verdicts"].as_array().unwrap());
        verdicts.map(|verdict| verdict["policy"].as_str().unwrap().to_owned()).collect()
    };
    let second = sandbox.write("vex.json", vex);
    let both = run(&["-i", &second], sarif).code(1).json();
    assert_eq!(names(&both), ["p/SARIF", "p/OPENVEX"]);
    let one = run(&["-n", "p/SARIF"], sarif).code(1).json();
    assert_eq!(names(&one), ["p/SARIF"]);
    assert_eq!(one["inventory"]["packages"][1]["reason"], "not a selected package");
    run(&["-n", "p/SARIF"], "{\"$schema\": \"x\", \"j\": 1}").code(0);
    run(&["-n", "p"], vex).code(1);
    run(&["-n", "p/SARIFF"], "{}").fails("did you mean `p/SARIF`");
    // A waiver for one of two policies of one name would cover both.
    let plain = sandbox.write("p.rego", DENY_BAD);
    let one = text.replace("- kind: OPENVEX", "- kind: SARIF");
    let report = document(&sandbox, &one, &[], "{\"$schema\": \"x\", \"j\": 1}").code(1).json();
    assert_eq!(names(&report), ["p/SARIF/1", "p/SARIF/2"]);
    let single = DOCUMENT.replace("limits", "p");
    evidence(&sandbox, &single, &["--arg", "max=5", "-d", &plain], "{}")
        .fails("duplicate policy name in");
}

#[test]
fn documents_may_leave_out_what_others_supply() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: old\n  \
        finding_type: SAST\n  organization: o\nspec:\n  type: SARIF\n  auto_match: {embedded: x}\n  \
        embedded: |\n    package main\n\n    import rego.v1\n\n    result := {\n      \"skipped\": \
        skipped,\n      \"violations\": violations,\n      \"skip_reason\": skip_reason,\n    }\n\n    \
        default skipped := true\n\n    skipped := false if valid_input\n\n    \
        violations contains \"bad\" if input.bad\n";
    document(&sandbox, text, &[], "{\"$schema\": \"s\", \"bad\": true}").code(1);
    document(&sandbox, text, &[], "{\"$schema\": \"s\"}").code(0);
    let wasm = text.replace("embedded: |", "path: policy.wasm\n  xx: |");
    document(&sandbox, wasm.split("  xx").next().unwrap(), &[], "{}")
        .fails("unexpected extension of the module");
}

#[test]
fn a_policy_document_knows_its_inputs_name_and_digest() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: known\nspec:\n  policies:\n    \
        - embedded: |\n        package main\n\n        import rego.v1\n\n        \
        violations contains input.chainloop_metadata.digest.sha256\n\n        \
        violations contains input.chainloop_metadata.name\n";
    let file = sandbox.write("known.yaml", text);
    let input = sandbox.write("in/app.json", "{\"chainloop_metadata\": {\"name\": \"other\"}}");
    let fixed = ["gate", "-d", &file, "-i", &input, "-f", "json", "--product", "chainloop"];
    let report = sandbox.run(&fixed).output().code(1).json();
    let found = report["inputs"][0]["verdicts"][0]["violations"].as_array().unwrap();
    let said: Vec<_> = found.iter().map(|found| found["message"].as_str().unwrap()).collect();
    let digest = report["inputs"][0]["digest"].as_str().unwrap();
    assert_eq!(said, ["app.json", digest.trim_start_matches("sha256:")]);
}

#[test]
fn policies_find_annotations_in_the_metadata() {
    let sandbox = Sandbox::new();
    let rules = "violations contains concat(\"=\", [name, text]) if {\n  some name, text in \
                 input.chainloop_metadata.annotations\n}\n";
    let module = format!("package main\n\nimport rego.v1\n\n{rules}").replace('\n', "\n        ");
    let document = sandbox.write(
        "d.yaml",
        format!(
            "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata: {{name: d}}\nspec:\n  policies:\n    \
             - kind: SARIF\n      embedded: |\n        {module}\n"
        ),
    );
    let plain = sandbox.write("p.rego", format!("package p\n\n{rules}"));
    let own = r#"{"$schema": "s", "chainloop_metadata": {"annotations": {"own": "1"}}}"#;
    let input = sandbox.write("app.json", own);
    let run = |policy: &str, more: &[&str]| {
        let fixed = ["gate", "-d", policy, "-i", &input, "-f", "json", "--product", "chainloop"];
        sandbox.run(&[&fixed[..], more].concat()).output()
    };
    let said = |policy: &str, more: &[&str]| -> Vec<String> {
        let report = run(policy, more).code(1).json();
        let found = report["inputs"][0]["verdicts"][0]["violations"].as_array().unwrap().clone();
        found.iter().map(|found| found["message"].as_str().unwrap().to_owned()).collect()
    };
    let (name, kind) = ("chainloop.material.name", "chainloop.material.type");
    let size = format!("chainloop.material.size={}", own.len());
    let kind = format!("{kind}=SARIF");
    assert_eq!(said(&document, &[]), [format!("{name}=app.json"), size.clone(), kind.clone()]);
    let more = ["--annotation", "a=b=c", "--annotation", "chainloop.material.name=sbom"];
    let all = ["a=b=c".to_owned(), format!("{name}=sbom"), size, kind];
    assert_eq!(said(&document, &more), all);
    // Plain policies get what is given beside the input's own.
    assert_eq!(
        said(&plain, &more),
        ["a=b=c".to_owned(), format!("{name}=sbom"), "own=1".to_owned()]
    );
    let report = run(&plain, &more).code(1).json();
    assert_eq!(report["inventory"]["metadata"]["annotations.a"], "b=c");
    run(&plain, &["--annotation", "own=2"])
        .fails("conflicting `input.chainloop_metadata.annotations.own`");
    run(&document, &["--annotation", "a"]).fails("has no value");
    run(&document, &["--annotation", "a="]).fails("empty value");
    run(&document, &["--annotation", "a=1", "--annotation", "a=2"]).fails("given twice");
    run(&document, &["--annotation", "chainloop.material.type=X"]).fails("use `--kind`");
    run(&document, &["--set", "chainloop_metadata.name=x"]).fails("policy documents get only");
    let other = sandbox.write("other.rego", DENY_BAD);
    run(&other, &["--annotation", "a=1"]).fails("unused annotation: `a`");
}

#[test]
fn a_policy_document_is_read_as_rego_v0() {
    let sandbox = Sandbox::new();
    let text = DOCUMENT.replace("import rego.v1\n\n        ", "");
    let fails = evidence(&sandbox, &text, &["--arg", "max=5"], "{}");
    fails.fails("missing `import rego.v1` in the module").says("below the `package` line");
    let keywords = text.replace("package main", "package main\n\n        import future.keywords");
    evidence(&sandbox, &keywords, &["--arg", "max=5"], "{\"n\": 6}").code(1);
}

#[test]
fn json_lines_are_the_elements_of_a_policy_documents_input() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: leaks\nspec:\n  policies:\n    \
        - kind: TRUFFLEHOG_JSON\n      embedded: |\n        package main\n\n        import rego.v1\n\n        \
        violations contains leak.DetectorName if {\n          some leak in input.elements\n          leak.Verified\n        }\n";
    let one = "{\"DetectorName\": \"b\", \"Verified\": true}\n";
    let lines = format!("{{\"DetectorName\": \"a\", \"Verified\": false}}\n{one}");
    let report = document(&sandbox, text, &[], &lines).code(1).json();
    assert_eq!(report["inputs"].as_array().unwrap().len(), 1);
    assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "b");
    assert_eq!(report["inputs"][0]["digest"], super::digest_of(lines.as_bytes()));
    // One value is a list by its kind, or by its file's extension.
    let of_no_kind = text.replace("kind: TRUFFLEHOG_JSON\n      ", "");
    let of_kind = ["--kind", "TRUFFLEHOG_JSON"];
    for (text, more, name, code) in [
        (&of_no_kind, &[][..], "in.jsonl", 1),
        (&of_no_kind, &[], "in.NDJSON", 1),
        (&of_no_kind, &[], "in.json", 0),
        (&of_no_kind, &of_kind, "in.json", 1),
        (&text.to_owned(), &[], "in.json", 1),
    ] {
        let (file, input) = (sandbox.write("leaks.yaml", text), sandbox.write(name, one));
        sandbox.run(&[&["gate", "-d", &file, "-i", &input], more].concat()).output().code(code);
    }
    // An empty one is a scan that found nothing.
    for empty in ["", "\n \n"] {
        document(&sandbox, &of_no_kind, &[], empty).fails("the document is empty");
        let report = document(&sandbox, text, &of_kind, empty).code(0).json();
        assert_eq!(report["inputs"].as_array().unwrap().len(), 1);
        let without = document(&sandbox, text, &[], empty);
        match empty {
            "" => drop(without.code(0)),
            _ => drop(without.fails("ambiguous kind of the input: GRAPHQL_SPEC, TRUFFLEHOG_JSON")),
        }
        let counts = text.replace("leak.Verified", "leak.Verified; false")
            + "\n        violations contains sprintf(\"%d\", [count(input.elements)])\n";
        let report = document(&sandbox, &counts, &of_kind, empty).code(1).json();
        assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "0");
    }
}

#[test]
fn a_policy_of_conftest_knows_its_inputs_file() {
    let sandbox = Sandbox::new();
    let policy = "package main\n\nimport data.conftest.file\n\n\
        deny contains msg if {\n\tinput.bad\n\tmsg := sprintf(\"%s in %s\", [file.name, data.conftest.file.dir])\n}\n";
    let (a, b) = (
        sandbox.write("in/a.json", "{\"bad\": 1}"),
        sandbox.write("b.yaml", "bad: 1\n---\nbad: 2\n"),
    );
    let report = gate(&sandbox, policy, &["-i", &a, "-i", &b]).code(1).json();
    let said = |input: usize| {
        report["inputs"][input]["verdicts"][0]["violations"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let folder = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    assert_eq!(said(0), format!("a.json in {}", folder("in")));
    assert_eq!(
        said(1),
        format!("b.yaml in {}", sandbox.path("").to_str().unwrap().trim_end_matches('/'))
    );
    assert_eq!(said(1), said(2));
    let combined = "package main\n\ndeny contains file.name if {\n\tfile := data.conftest.file\n\tinput[_].contents.bad\n}\n";
    let report = gate(&sandbox, combined, &["-i", &a, "--combine"]).code(1).json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "Combined");
    for reads in [
        "data.conftest.file.name == \"x\"",
        "c := data.conftest; c.file.name == \"x\"",
        "data.conftest[_].name == \"x\"",
    ] {
        let without = format!("package main\n\ndeny contains \"x\" if {{ {reads} }}\n");
        gate(&sandbox, &without, &[]).fails("no value of `data.conftest.file`");
        // A package that doesn't reach it needs none.
        let other = sandbox.write("other.rego", "package other\n\ndeny contains \"x\" if false\n");
        gate(&sandbox, &without, &["-d", &other, "-n", "other"]).code(0);
    }
    let file = sandbox.write("policy.rego", policy);
    for (query, expected) in [
        ("data.main.deny", "a.json in "),
        ("data.conftest.file.name", "a.json"),
        ("x := data.conftest.file.name; y := x", "a.json"),
        ("some x; data.main.deny[x]", "a.json in "),
        ("data.conftest.file.name with data.conftest.file as {\"name\": \"own\"}", "own"),
    ] {
        let run = ["eval", "-d", &file, "-i", &a, query];
        let output = sandbox.run(&run).output().code(0);
        assert!(output.stdout.contains(expected), "{query}: {output:?}");
        assert!(!output.stdout.contains("as {\\\"dir"), "{query}: {output:?}");
        assert_eq!(output.stderr, "", "{query}");
        let regorus = sandbox.run(&[&run[..], &["--engine", "regorus"]].concat()).output().code(0);
        assert!(regorus.stdout.contains(expected), "{query}: {regorus:?}");
    }
    let named = sandbox.run(&["eval", "data.conftest.file"]).output().code(0);
    assert!(named.stderr.contains("undefined without an input: `data.conftest.file`"), "{named:?}");
    gate(&sandbox, "package main\n\ndeny contains \"x\" if data.conftest.fil.name\n", &["-i", &a])
        .fails("no loaded file defines `data.conftest.fil");
}

#[test]
fn bundles_are_loaded() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("b.tar.gz")).unwrap();
    let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, text) in [(".manifest", "{\"revision\": \"r\"}"), ("p/p.rego", DENY_BAD)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
    let bundle = sandbox.path("b.tar.gz");
    let run = |input: &str| {
        let arguments = ["gate", "-d", bundle.to_str().unwrap(), "-i", "-", "-f", "json"];
        sandbox.run(&arguments).stdin(input).output()
    };
    run("{}").code(0);
    let report = run("{\"bad\": true}").code(1).json();
    let digests: Vec<_> = report["sources"].as_array().unwrap().iter().collect();
    assert_eq!(digests.len(), 1);
    assert_eq!(report["inventory"]["policies"][0]["taken"], 2);
    std::fs::write(&bundle, b"no archive").unwrap();
    run("{}").fails("the bundle");
}

#[test]
fn waivers_cover_what_they_name_until_they_expire() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{\"bad\": true}");
    let in_file = |top: &str, rest: &str| {
        let text = format!("{top}waivers:\n- {{reason: because, owner: me, {rest}}}\n");
        let file = sandbox.write("w.yaml", text);
        gate(&sandbox, DENY_BAD, &["-i", &input, "--waivers", &file])
    };
    let run = |rest: &str| in_file("max_days: 1000000\n", rest);
    in_file("", "policy: p, subject: {input: '**'}, expires: 2999-01-01")
        .fails("more than 366 days");
    let report =
        run("policy: p, subject: {input: '/**/in.json'}, expires: 2999-01-01").code(0).json();
    let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!((&violation["effect"], &violation["waiver"]), (&"waived".into(), &0.into()));
    assert_eq!(
        (&report["waivers"][0]["matched"], &report["waivers"][0]["by"]),
        (&1.into(), &"input".into())
    );
    run("policy: p, subject: '*.json', expires: 2999-01-01").fails("subject: {input: '*.json'}");
    let own = report["inputs"][0]["digest"].as_str().unwrap();
    let report = run(&format!("policy: p, subject: '{own}', expires: 2999-01-01")).code(0).json();
    assert_eq!(report["waivers"][0]["by"], "digest");
    let report =
        run("policy: p, subject: {input: '/**/in.json'}, expires: 2020-01-01").code(1).json();
    assert!(report["reasons"].to_string().contains("expired on 2020-01-01"));
    let report = run("policy: q, subject: {input: '**'}, expires: 2999-01-01").code(1).json();
    assert!(report["notes"].to_string().contains("unused waiver"));
    run("policy: p, subject: {input: '*'}, expires: 2999-01-01, why: x").fails("unknown field");
}

#[test]
fn empty_values_choose_nothing() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", super::DENY_BAD);
    let document = sandbox.write("d.yaml", DOCUMENT);
    let input = sandbox.write("i.json", "{}");
    let fixed = ["gate", "-d", &policy, "-d", &document, "-i", &input, "--arg", "max=1"];
    for option in
        ["--kind", "--project", "--project-version", "-n", "--ignore", "--arg", "--waivers"]
    {
        for value in ["", " "] {
            let run = sandbox.run(&[&fixed[..], &[option, value]].concat());
            run.output().fails_with_one_of(&[
                "is empty",
                "has no value",
                "found an empty string",
                "doesn't exist",
                "required",
            ]);
        }
        let attached = format!("{option}=");
        sandbox.run(&[&fixed[..], &[&attached]].concat()).output().fails_with_one_of(&[
            "invalid value '' for '--kind <KIND>': expected a value",
            "invalid value '' for '--project <NAME>': expected a value",
            "invalid value '' for '--project-version <NAME>': expected",
            "invalid value '' for '--namespace <PACKAGE>': expected a value",
            "invalid value '' for '--ignore <GLOB>': expected a value",
            "`--arg ` has no value",
            "a value is required for '--waivers <FILE>' but none was",
        ]);
    }
    sandbox.run(&[&fixed[..], &["--kind", ""]].concat()).output().fails("found an empty string");
    for kind in ["\"\"", "' '"] {
        let document = DOCUMENT.replace("kind: EVIDENCE", &format!("kind: {kind}"));
        let document = sandbox.write("d.yaml", document);
        for more in [&[][..], &["--kind", "SARIF"]] {
            let fixed = ["gate", "-d", &policy, "-d", &document, "-i", &input];
            sandbox.run(&[&fixed[..], more].concat()).output().fails("unknown kind");
        }
    }
}

//! VEX: findings that a statement about the same vulnerability in the same product sets aside.

use serde_json::{Value, json};

use crate::cli::{Output, Sandbox};

const POLICY: &str = "package scan\n\n\
    deny contains {\"message\": v.id, \"external_id\": v.id, \"package_purl\": v.purl} if some v in input.found\n";

fn statement(of: &str, purl: &str, status: &str) -> Value {
    json!({
        "vulnerability": {"name": of}, "products": [{"@id": purl}], "status": status,
        "status_notes": format!("about {of}"), "impact_statement": format!("it isn't called <{of}>"),
    })
}

fn document(statements: &[Value]) -> Value {
    json!({
        "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.com/vex/1", "author": "ops",
        "timestamp": "2026-01-01T00:00:00Z", "version": 1, "statements": statements,
    })
}

/// Runs the gate over findings, with VEX documents.
fn gate(sandbox: &Sandbox, found: &[(&str, &str)], vex: &[&[Value]], more: &[&str]) -> Output {
    let policy = sandbox.write("scan.rego", POLICY);
    let found: Vec<Value> =
        found.iter().map(|(id, purl)| json!({"id": id, "purl": purl})).collect();
    let input = sandbox.write("scan.json", json!({"found": found}).to_string());
    let mut arguments = vec!["gate".to_owned(), "-d".to_owned(), policy, "-i".to_owned(), input];
    for (number, statements) in vex.iter().enumerate() {
        let file = sandbox.write(&format!("{number}.vex.json"), document(statements).to_string());
        arguments.extend(["--vex".to_owned(), file]);
    }
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    sandbox.run(&arguments).output()
}

#[test]
fn a_statement_sets_findings_aside_and_says_which() {
    let sandbox = Sandbox::new();
    let (a, b) = ("pkg:npm/a@1", "pkg:npm/b@1");
    let first = [statement("CVE-1", a, "not_affected"), statement("CVE-2", b, "affected")];
    let second = [statement("CVE-3", b, "fixed"), statement("CVE-1", b, "fixed")];
    let both = [&first[..], &second[..]];
    let found = [("CVE-1", a), ("CVE-3", b)];
    gate(&sandbox, &found, &[], &["-q"]).code(1);
    let report = gate(&sandbox, &found, &both, &["-f", "json"]).code(0).json();
    let waivers = report["waivers"].as_array().unwrap();
    let told = |number: usize| {
        (waivers[number]["vex"]["status"].as_str(), waivers[number]["matched"].as_u64())
    };
    let expected = [("not_affected", 1), ("affected", 0), ("fixed", 1), ("fixed", 0)];
    for (number, (status, matched)) in expected.into_iter().enumerate() {
        assert_eq!(told(number), (Some(status), Some(matched)), "{number}");
    }
    assert_eq!((&waivers[0]["owner"], &waivers[0]["subject"]), (&json!("ops"), &json!(a)));
    assert_eq!(report["totals"]["waived"], 2);
    let options = report["inventory"]["options"].as_array().unwrap();
    assert_eq!(options.len(), 2);
    for option in options {
        assert_eq!((&option["name"], &option["effect"]), (&json!("vex"), &json!("took_effect")));
    }
    assert_eq!(report["inventory"]["vex"].as_array().unwrap().len(), 2);
    let notes: Vec<&str> =
        report["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains("unused VEX statement") && notes[0].contains("`CVE-2` in `pkg:npm/b@1`")
    );
    gate(&sandbox, &found, &both, &["--fail-on-notes"]).fails("2 notes found, none allowed");

    let shown = gate(&sandbox, &found, &both, &["-v"]).code(0).stdout;
    let line = "CVE-1 in pkg:npm/a@1: VEX of ops: not_affected, it isn't called <CVE-1> (";
    assert!(
        shown.contains(line) && shown.contains("statement 1): suppressed 1 violation\n"),
        "{shown}"
    );
    let page = gate(&sandbox, &found, &both, &["-f", "html"]).code(0).stdout;
    assert!(page.contains("it isn&#39;t called &lt;CVE-1&gt;"), "{page}");

    // What is said to be affected fails, and so does what nobody speaks of.
    let found = [("CVE-1", a), ("CVE-2", b), ("CVE-2", a), ("CVE-4", b)];
    let output = gate(&sandbox, &found, &both, &[]).code(1);
    assert!(
        output.stdout.contains("failed: 1 input; 3 violations, 1 waived\n"),
        "{}",
        output.stdout
    );
    assert_eq!(output.stdout.matches("VEX of ops: affected, it isn't called <CVE-2>").count(), 1);
}

#[test]
fn a_run_with_vex_is_attested_with_its_documents() {
    let sandbox = Sandbox::new();
    let statements = [statement("CVE-1", "pkg:npm/a@1", "fixed")];
    let file = sandbox.path("gate.json");
    let output = format!("json={}", file.display());
    gate(&sandbox, &[("CVE-1", "pkg:npm/a@1")], &[&statements], &["-o", &output]).code(0);
    let digest = super::digest_of(document(&statements).to_string().as_bytes());
    let statement = sandbox.run(&["attest", file.to_str().unwrap()]).output().code(0).json();
    assert_eq!(statement["predicate"]["result"], "WARNED");
    assert!(statement.to_string().contains(&digest), "{statement}");
}

#[test]
fn many_statements_without_a_finding_are_counted() {
    let sandbox = Sandbox::new();
    let all: Vec<Value> = (0..500)
        .map(|number| statement(&format!("CVE-{number}"), "pkg:npm/a@1", "fixed"))
        .collect();
    let output = gate(&sandbox, &[("CVE-7", "pkg:npm/a@1")], &[&all], &[]).code(0);
    let shown = output.stdout + &output.stderr;
    assert_eq!(shown.matches("nused VEX statement").count(), 11, "{shown}");
    assert!(shown.contains("more unused VEX statements"), "{shown}");
}

#[test]
fn a_document_that_is_not_understood_is_no_verdict() {
    let sandbox = Sandbox::new();
    let found = [("CVE-1", "pkg:npm/a@1")];
    let mut misspelt = statement("CVE-1", "pkg:npm/a@1", "fixed");
    misspelt["products"][0]["subcomponent"] = json!([{"@id": "pkg:npm/b@1"}]);
    gate(&sandbox, &found, &[&[misspelt]], &[]).fails("unknown field `subcomponent`");
    // Fields by position, as derived readers take them.
    for (place, positions) in [
        ("/vulnerability", json!([null, "CVE-1", null, []])),
        ("/products/0", json!(["pkg:npm/a@1", {}, {}, []])),
        ("/products/0/identifiers", json!(["pkg:npm/a@1", null, null])),
        ("/products/0/subcomponents/0", json!(["pkg:npm/a@1", {}, {}])),
        ("", json!([null, null, {"name": "CVE-1"}, null, null, [{"@id": "pkg:npm/a@1"}], "fixed"])),
    ] {
        let mut written = statement("CVE-1", "pkg:npm/a@1", "fixed");
        written["products"][0]["identifiers"] = json!({});
        written["products"][0]["subcomponents"] = json!([{}]);
        *written.pointer_mut(place).unwrap() = positions;
        gate(&sandbox, &found, &[&[written]], &[])
            .fails("invalid type: sequence, expected an object");
    }
    for (member, value) in [
        ("status", json!({"fixed": null})),
        ("justification", json!({"vulnerable_code_not_present": null})),
    ] {
        let mut written = statement("CVE-1", "pkg:npm/a@1", "fixed");
        written[member] = value;
        gate(&sandbox, &found, &[&[written]], &[]).fails("invalid type: map, expected a string");
    }
    let unknown = statement("CVE-1", "pkg:npm/a@1", "wont_fix");
    gate(&sandbox, &found, &[&[unknown]], &[]).fails("unknown variant `wont_fix`");
    let file = sandbox.write("huge.json", " ".repeat((16 << 20) + 1));
    gate(&sandbox, &found, &[], &["--vex", &file]).fails("file too large: the limit is 16 MiB");
    // An envelope isn't opened: a document is taken as it is named.
    let envelope =
        json!({"payloadType": "application/vnd.in-toto+json", "payload": "", "signatures": []});
    let file = sandbox.write("dsse.json", envelope.to_string());
    gate(&sandbox, &found, &[], &["--vex", &file]).fails("invalid OpenVEX document");
    gate(&sandbox, &found, &[], &["--vex", "none.json"]).fails("`none.json` doesn't exist");
}

#[test]
fn an_input_does_not_waive_its_own_findings() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\ndeny contains \"bad\" if input.version\n");
    let vex = sandbox.write("vex.json", document(&[]).to_string());
    let waivers = sandbox.write("w.json", "{\"waivers\": []}");
    for (option, file) in [("--vex", &vex), ("--waivers", &waivers)] {
        let arguments = ["gate", "-d", &policy, "-i", file, option, file];
        sandbox.run(&arguments).output().fails("is also a file of waivers");
        #[cfg(unix)]
        {
            let link = sandbox.path("link.json");
            std::fs::hard_link(file, &link).unwrap();
            let arguments = ["gate", "-d", &policy, "-i", link.to_str().unwrap(), option, file];
            sandbox.run(&arguments).output().fails("link.json` is also a file of waivers");
            std::fs::remove_file(link).unwrap();
        }
    }
    let arguments = ["gate", "-d", &policy, "-i", &vex, "--waivers", &waivers];
    sandbox.run(&arguments).output().code(1);
}

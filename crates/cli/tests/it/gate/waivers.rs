//! `waivers`: which waivers hold, and the schema of their file.

use serde_json::{Value, json};

use crate::cli::Sandbox;

const DIGEST: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

fn file(day: &str) -> String {
    format!(
        "max_days: 1000000\nwaivers:\n- {{policy: p, subject: '{DIGEST}', reason: \"moved\\nsoon\", owner: ops, \
         expires: {day}}}\n- {{finding: CVE-1, subject: {{violation: '{DIGEST}'}}, reason: r, owner: o, expires: \
         2999-01-01}}\n"
    )
}

#[test]
fn waivers_are_listed_and_an_expired_one_fails() {
    let sandbox = Sandbox::new();
    let holds = sandbox.write("holds.yaml", file("2999-01-01"));
    let output = sandbox.run(&["waivers", "check", &holds]).output().code(0);
    let lines: Vec<&str> = output.stdout.lines().collect();
    let row = format!(": holds: policy p for {DIGEST}, until 2999-01-01 (ops: moved\\nsoon)");
    assert!(lines[0].ends_with(&row), "{}", lines[0]);
    assert!(lines[1].contains(&format!("finding CVE-1 for violation {DIGEST}")), "{}", lines[1]);
    assert_eq!(lines[2..], ["2 waivers, 0 expired"]);

    let over = sandbox.write("over.yaml", file("2026-01-01"));
    let output = sandbox.run(&["waivers", "check", &holds, &over]).output().code(1);
    assert_eq!(output.stdout.matches(": expired: policy p").count(), 1, "{}", output.stdout);
    assert!(output.stdout.ends_with("\n4 waivers, 1 expired\n"), "{}", output.stdout);
    let output = sandbox.run(&["waivers", "check", &over, "--format", "json"]).output().code(1);
    let rows = output.json()["waivers"].as_array().unwrap().clone();
    assert_eq!((&rows[0]["expired"], &rows[1]["expired"]), (&true.into(), &false.into()));
    assert_eq!(rows[1]["by"], "violation");

    let many = ["waivers", "check", &holds, "--within", "1000000"];
    let output = sandbox.run(&many).output().code(1);
    assert!(output.stdout.contains(": expires soon: policy p"), "{}", output.stdout);

    let broken = sandbox.write("broken.yaml", "waivers:\n- {policy: p}\n");
    sandbox.run(&["waivers", "check", &broken]).output().fails("missing field");
    sandbox.run(&["waivers", "check", "no.yaml"]).output().fails("doesn't exist");
}

/// Waivers have the globs of inputs, and compare normalized paths.
#[test]
fn a_waiver_matches_what_an_input_of_its_glob_would() {
    let sandbox = Sandbox::new();
    sandbox.write("p.rego", "package p\n\ndeny contains \"gpl\" if input.gpl\n");
    for file in ["sub/y.json", "sub/deep/x.json", "scan[1].json", "scan1.json", "é.json"] {
        sandbox.write(file, "{\"gpl\": true}");
    }
    std::os::unix::fs::symlink(sandbox.path("sub/deep"), sandbox.path("link")).unwrap();
    let folder = sandbox.path("");
    let absolute = sandbox.path("sub/y.json").to_str().unwrap().to_owned();
    let run_in = |folder: &std::path::Path, glob: &str, input: &str| {
        let text = format!(
            "max_days: 1000000\nwaivers:\n- {{policy: p, subject: {{input: '{glob}'}}, reason: r, owner: o, \
             expires: 2999-01-01}}\n"
        );
        let waivers = sandbox.write("w.yaml", text);
        let policies = sandbox.path("p.rego");
        let policies = policies.to_str().unwrap();
        let run = sandbox.run(&["gate", "-d", policies, "-i", input, "--waivers", &waivers, "-q"]);
        run.within(folder).output().code
    };
    let code = |glob: &str, input: &str| run_in(&folder, glob, input);
    for (glob, input) in [
        ("sub/*.json", "sub/y.json"),
        ("sub/*.json", "./sub/y.json"),
        ("sub/*.json", absolute.as_str()),
        ("./sub/[xy].json", "sub//y.json"),
        ("sub/{y,z}.json", "sub/deep/../y.json"),
        ("sub/**", "sub"),
        ("**/*.json", "sub"),
        ("scan[1].json", "scan[[]1].json"),
        ("sub/../scan1.json", "scan1.json"),
        ("sub/deep/../../sub/?.json", "sub/y.json"),
        ("link/../y.json", "sub/y.json"),
        ("?.json", "é.json"),
        ("[!b].json", "?.json"),
    ] {
        assert_eq!(code(glob, input), Some(0), "{glob} {input}");
    }
    for (glob, input) in [
        ("sub/*.json", "sub"),
        ("s*json", "sub/y.json"),
        ("*", "sub/y.json"),
        ("sub?y.json", "sub/y.json"),
        ("sub[!x]y.json", "sub/y.json"),
        ("scan[1].json", "scan1.json"),
        ("link/../scan1.json", "scan1.json"),
        ("??.json", "é.json"),
    ] {
        assert_eq!(code(glob, input), Some(1), "{glob} {input}");
    }
    // In a folder, what is above it.
    let sub = sandbox.path("sub");
    let outside = sandbox.path("scan1.json").to_str().unwrap().to_owned();
    for input in ["../scan1.json", "deep/../../scan1.json", &outside] {
        for glob in
            ["../*.json", "../sub/../scan?.json", "../**", "deep/../../scan1.json", &outside]
        {
            assert_eq!(run_in(&sub, glob, input), Some(0), "{glob} {input}");
        }
        for glob in ["**", "**/scan1.json", "**/*", "./**", "*/scan1.json", "**/../scan1.json"] {
            assert_eq!(run_in(&sub, glob, input), Some(1), "{glob} {input}");
        }
    }
    for glob in ["../sub/*.json", "../**/y.json", "**", "deep/../y.json", "../sub/y.json"] {
        assert_eq!(run_in(&sub, glob, "y.json"), Some(0), "{glob}");
    }
}

#[test]
fn the_schema_takes_what_the_gate_takes() {
    let sandbox = Sandbox::new();
    let schema = sandbox.run(&["waivers", "schema"]).output().code(0).json();
    let valid = jsonschema::draft202012::new(&schema).unwrap();
    let waiver = |changes: Value| {
        let mut row = json!({
            "policy": "p", "subject": DIGEST, "reason": "r", "owner": "o", "expires": "2999-01-01",
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(row.as_object_mut().unwrap().remove(name)),
                value => row[name] = value.clone(),
            }
        }
        json!({"max_days": 1_000_000, "waivers": [row]})
    };
    let taken = [
        json!({}),
        json!({"subject": {"input": "a/*.json"}}),
        json!({"subject": {"name": "app"}}),
        json!({"subject": {"violation": DIGEST}}),
        json!({"policy": null, "finding": "CVE-1"}),
    ];
    for file in taken.map(waiver) {
        let path = sandbox.write("w.yaml", file.to_string());
        sandbox.run(&["waivers", "check", &path]).output().code(0);
        assert!(valid.is_valid(&file), "{file}");
    }
    let refused = [
        (waiver(json!({"policy": null})), "neither a `policy` nor a `finding`"),
        (waiver(json!({"policy": " "})), "empty string"),
        (waiver(json!({"subject": "*.json"})), "64 lowercase hexadecimal digits"),
        (waiver(json!({"subject": {"violation": "sha256:aa"}})), "invalid digest"),
        (waiver(json!({"subject": {"input": "a", "name": "b"}})), "invalid length"),
        (waiver(json!({"subject": {"path": "a"}})), "unknown variant"),
        (waiver(json!({"subject": {"input": " "}})), "empty string"),
        (waiver(json!({"subject": null})), "missing field"),
        (waiver(json!({"reason": ""})), "empty string"),
        (waiver(json!({"owner": null})), "missing field"),
        (waiver(json!({"expires": "soon"})), "invalid date"),
        (waiver(json!({"who": "x"})), "unknown field"),
        (json!({"waivers": [], "waiver": []}), "unknown field"),
        (json!({"max_days": 3}), "missing field"),
    ];
    for (file, reason) in refused {
        let path = sandbox.write("w.yaml", file.to_string());
        sandbox.run(&["waivers", "check", &path]).output().fails(reason);
        assert!(!valid.is_valid(&file), "{file}");
    }
}

//! `rego-platform.toml`: where it is found, what it may do, and what `config` says of it.

use std::process::Output as Ended;

use sha2::Digest as _;

use crate::cli::{Output, Sandbox};

const POLICY: &str = r#"package main

deny contains "too large" if input.size > to_number(object.get(object.get(input, "args", {}), "max", "1"))

deny contains "bad" if input.bad
"#;

/// Runs the command in a folder of the sandbox.
fn run(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> Ended {
    sandbox.run(arguments).command().current_dir(sandbox.path(folder)).output().unwrap()
}

fn said(output: &Ended) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn repository(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path(".git")).unwrap();
    sandbox.write("rules/p.rego", POLICY);
    sandbox.write("in/a.json", r#"{"size": 2}"#);
    sandbox.write("rego-platform.toml", settings);
    sandbox
}

const SETTINGS: &str = r#"[gate]
data = ["rules"]
input = "in"
output = ["json=gate.json"]
arg = { max = 5 }

[gate.release]
arg = { max = 1 }
fail-on-notes = true
"#;

#[test]
fn a_gate_takes_its_options_from_the_repository() {
    let sandbox = repository(SETTINGS);
    let output = run(&sandbox, ".", &["gate"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("options are also those of `rego-platform.toml`"));
    let report = std::fs::read(sandbox.path("gate.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let digest = sha2::Sha256::digest(SETTINGS)
        .iter()
        .fold("sha256:".to_owned(), |all, byte| format!("{all}{byte:02x}"));
    let expected = serde_json::json!({"path": "rego-platform.toml", "digest": digest});
    assert_eq!(report["inventory"]["settings"], expected);
    assert_eq!(report["inventory"]["arguments"]["max"], "5");
    // From a folder below it, of a profile, and with the command line's own values.
    std::fs::create_dir_all(sandbox.path("a/b")).unwrap();
    let output = run(&sandbox, "a/b", &["gate", "--profile", "release"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("../../in/a.json: too large"), "{}", said(&output));
    let output = run(&sandbox, ".", &["--quiet", "gate", "--profile", "release", "--arg", "max=9"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    sandbox.write("b.json", r#"{"bad": true}"#);
    let output = run(&sandbox, ".", &["gate", "b.json"]);
    let all = said(&output);
    assert!(all.contains("b.json: bad") && all.contains("failed: 1 input;"), "{all}");
}

/// A gate whose policies are named doesn't look at what a repository says.
#[test]
fn a_file_that_is_found_never_changes_a_complete_command_line() {
    let sandbox = repository("[gate]\nset = [\"bad=false\"]\narg = { max = 99 }\n");
    let arguments = ["gate", "-d", "rules", "-i", "in"];
    let output = run(&sandbox, ".", &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!said(&output).contains("rego-platform.toml"));
    let named = [&arguments[..], &["--settings", "rego-platform.toml"]].concat();
    assert_eq!(run(&sandbox, ".", &named).status.code(), Some(0));
    let output = run(&sandbox, ".", &[&arguments[..], &["--profile", "x"]].concat());
    assert!(said(&output).contains("`--profile x` needs a file"), "{}", said(&output));
}

#[test]
fn only_a_trusted_file_loosens_a_gate() {
    for (setting, says) in [
        ("allow-warnings = true", "`allow-warnings` loosens the gate"),
        ("waivers = \"w.yaml\"", "`waivers` loosens the gate"),
        ("skip = [\"main\"]", "`skip` loosens the gate"),
        ("no-fail = true", "`no-fail` loosens the gate"),
        ("fail-on = \"high\"", "`fail-on` loosens the gate"),
        ("no-input = true", "`no-input` loosens the gate"),
        ("unverified = true", "`unverified` loosens the gate"),
        ("skip-verify = true", "`skip-verify` loosens the gate"),
        ("verify-key = [\"k.pub\"]", "`verify-key` loosens the gate"),
        ("allow-host = [\"example.com\"]", "`allow-host` loosens the gate"),
        ("ignore = [\"a.json\"]", "`ignore` loosens the gate"),
        ("output = [\"json=../gate.json\"]", "`json=../gate.json` leads out of the file's folder"),
        ("output = [\"json=/tmp/gate.json\"]", "leads out of the file's folder"),
        ("bundle = \"oci://example.com/p\"", "leads out of the file's folder"),
    ] {
        let sandbox = repository(&format!("[gate]\ndata = \"rules\"\ninput = \"in\"\n{setting}\n"));
        let output = Output::from(run(&sandbox, ".", &["gate"])).fails(says);
        output.says("`rego-platform.toml:4`").says("--settings FILE");
    }
    let sandbox = repository("[gate]\ndata = \"rules\"\ninput = \"in\"\nno-fail = true\n");
    for trusted in [&["--trust-settings"][..], &["--settings", "rego-platform.toml"]] {
        let output = run(&sandbox, ".", &[&["gate"][..], trusted].concat());
        let all = said(&output);
        assert_eq!(output.status.code(), Some(0), "{all}");
        assert!(all.contains("failed: 1 input"), "{all}");
    }
    // What is off loosens nothing.
    let sandbox = repository("[gate]\ndata = \"rules\"\ninput = \"in\"\nno-fail = false\n");
    assert_eq!(run(&sandbox, ".", &["gate"]).status.code(), Some(1));
}

#[test]
fn a_file_that_is_wrong_is_an_error_with_its_line() {
    for (settings, says) in [
        ("[gate]\ndatta = \"x\"", "`rego-platform.toml:2`: there is no option `datta`"),
        (
            "[gate]\n\ntoken = \"canary\"",
            "`rego-platform.toml:3`: `token` never comes from this file",
        ),
        ("[gate]\nbase-url = \"x\"", "`base-url` never comes from this file"),
        ("[gate]\nreplay = \"x\"", "`replay` never comes from this file"),
        ("[gate]\nlocal = \"x\"", "`local` never comes from this file"),
        ("gate = 1", "`gate` isn't the table `[gate]`"),
        ("[test]\nrun = \"x\"", "`test` isn't the table `[gate]`"),
        ("[gate]\ndata = 1\ndata = 2", "`rego-platform.toml:3`: invalid TOML"),
        ("[gate]\nfail-fast = \"yes\"", "`fail-fast` is `true` or `false`"),
        ("[gate]\ninput = [1, [2]]", "`input` is an array of texts"),
        ("[gate]\nset = { a = [1] }", "`set` is a table of texts"),
        ("[gate]\nformat = \"yaml\"", "`rego-platform.toml:2`: invalid value 'yaml' for '--format"),
        ("[gate.x]\nfail-fsat = true", "there is no option `fail-fsat`"),
        ("[gate]\nquiet = true", "there is no option `quiet`"),
        ("[gate]\nmax-calls = 0", "invalid value '0' for '--max-calls"),
    ] {
        let sandbox = repository(settings);
        for command in [&["gate"][..], &["config", "show"]] {
            let output = Output::from(run(&sandbox, ".", command)).fails(says);
            assert!(!format!("{output:?}").contains("canary"), "{settings}: {output:?}");
        }
    }
    let sandbox = repository(SETTINGS);
    let output = run(&sandbox, ".", &["gate", "--profile", "relaese"]);
    assert!(said(&output).contains("did you mean `release`?"), "{}", said(&output));
}

#[test]
fn the_file_is_looked_for_within_the_repository() {
    let sandbox = repository(SETTINGS);
    sandbox.write("inner/policy/p.rego", POLICY);
    sandbox.write("inner/b.json", r#"{"size": 2}"#);
    std::fs::create_dir(sandbox.path("inner/.git")).unwrap();
    let output = run(&sandbox, "inner", &["gate", "b.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!said(&output).contains("rego-platform.toml"));
    // Without a repository, in the current folder alone.
    std::fs::remove_dir(sandbox.path(".git")).unwrap();
    std::fs::remove_dir(sandbox.path("inner/.git")).unwrap();
    assert!(!said(&run(&sandbox, "inner", &["gate", "b.json"])).contains("rego-platform.toml"));
    assert_eq!(run(&sandbox, ".", &["gate"]).status.code(), Some(0));
}

#[test]
fn config_shows_where_each_option_comes_from() {
    let sandbox = repository(SETTINGS);
    let output = run(&sandbox, ".", &["config", "show", "--profile", "release", "--set", "a=1"]);
    let all = said(&output);
    for line in [
        "data = rules (rego-platform.toml:2)",
        "input = in (rego-platform.toml:3)",
        "arg = max=1 (rego-platform.toml:8)",
        "fail-on-notes = true (rego-platform.toml:9)",
        "set = a=1 (command line)",
        "max-calls = 20000 (default)",
    ] {
        assert!(all.lines().any(|own| own == line), "{line}: {all}");
    }
}

#[test]
fn config_shows_what_the_environment_and_the_clients_file_give() {
    let sandbox = repository(SETTINGS);
    let client = "organization = \"acme\"\n[auth]\ntoken = \"canary\"\n[control-plane]\n\
        api = \"cp.example:443\"\n[platform]\nurl = \"https://canary.example\"\n[endpoints]\nevidence = \"/e\"\n";
    sandbox.write("c.toml", client);
    let shown = |more: &[&str], environment: &[(&str, &str)]| {
        let arguments = [&["config", "--config", "c.toml", "show"], more].concat();
        let mut command = sandbox.run(&arguments).command();
        command.current_dir(sandbox.path("")).envs(environment.iter().copied());
        let output = command.output().unwrap();
        (output.status.code(), said(&output))
    };
    let environment = [
        ("PLATFORM_BASE_URL", "https://b.example"),
        ("HTTPS_PROXY", "http://u:canary@proxy.example:1"),
    ];
    let (status, all) = shown(&["--organization", "own"], &environment);
    assert_eq!(status, Some(0), "{all}");
    for line in [
        "token = (set) (`auth.token` in `c.toml`)",
        "organization = own (command line)",
        "base-url = https://b.example (environment variable `PLATFORM_BASE_URL`)",
        "control-plane.api = cp.example:443 (`control-plane.api` in `c.toml`)",
        "endpoints.evidence = /e (`endpoints` in `c.toml`)",
        "proxy = (set) (environment)",
    ] {
        assert!(all.lines().any(|own| own == line), "{line}: {all}");
    }
    assert!(!all.contains("canary"), "{all}");
    let token = [("PLATFORM_TOKEN", "canary"), ("PLATFORM_CONTROLPLANE_URL", "https://c.example")];
    let (_, all) = shown(&[], &token);
    let line = "token = (set) (environment variable `PLATFORM_TOKEN`)";
    assert!(all.lines().any(|own| own == line), "{all}");
    // What isn't used isn't shown.
    assert!(all.contains("controlplane-url = https://c.example") && !all.contains("cp.example"));
    let secret = [("PLATFORM_BASE_URL", "https://u:canary@b.example")];
    let (status, all) = shown(&["--organization", "own"], &secret);
    let says = "holds a user name or password (from environment variable `PLATFORM_BASE_URL`)";
    assert!(status == Some(2) && all.contains(says) && !all.contains("canary@"), "{all}");
}

#[test]
fn the_schema_holds_for_the_file() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["config", "schema"]).output().code(0);
    let schema: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let json = |text: &str| -> serde_json::Value {
        serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
    };
    assert!(validator.is_valid(&json(SETTINGS)));
    for wrong in [
        "[gate]\ntoken = \"x\"",
        "[gate]\nfail-fast = 1",
        "[gate.release]\ndatta = \"x\"",
        "[gate]\nfail-on = \"hgh\"",
        "[other]",
    ] {
        assert!(!validator.is_valid(&json(wrong)), "{wrong}");
    }
}

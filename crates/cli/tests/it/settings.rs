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
    assert!(said(&output).contains("options read from `rego-platform.toml`"));
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
        ("allow-warnings = true", "`allow-warnings` may loosen the gate"),
        ("waivers = \"w.yaml\"", "`waivers` may loosen the gate"),
        ("skip = [\"main\"]", "`skip` may loosen the gate"),
        ("no-fail = true", "`no-fail` may loosen the gate"),
        ("fail-on = \"high\"", "`fail-on` may loosen the gate"),
        ("no-input = true", "`no-input` may loosen the gate"),
        ("unverified = true", "`unverified` may loosen the gate"),
        ("skip-verify = true", "`skip-verify` may loosen the gate"),
        ("verify-key = [\"k.pub\"]", "`verify-key` may loosen the gate"),
        ("allow-host = [\"example.com\"]", "`allow-host` may loosen the gate"),
        ("ignore = [\"a.json\"]", "`ignore` may loosen the gate"),
        // Another reading of the inputs hides what a policy looks for.
        ("parser = \"properties\"", "`parser` may loosen the gate"),
        ("combine = true", "`combine` may loosen the gate"),
        ("split-arrays = true", "`split-arrays` may loosen the gate"),
        ("wrap-arrays = true", "`wrap-arrays` may loosen the gate"),
        ("yaml = \"1.1\"", "`yaml` may loosen the gate"),
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
        ("[gate]\ndatta = \"x\"", "`rego-platform.toml:2`: unknown option: `datta`"),
        (
            "[gate]\n\ntoken = \"canary\"",
            "`rego-platform.toml:3`: option not allowed in this file: `token`",
        ),
        ("[gate]\nbase-url = \"x\"", "option not allowed in this file: `base-url`"),
        ("[gate]\nreplay = \"x\"", "option not allowed in this file: `replay`"),
        ("[gate]\nlocal = \"x\"", "option not allowed in this file: `local`"),
        ("gate = 1", "`gate` isn't the table `[gate]`"),
        ("[test]\nrun = \"x\"", "`test` isn't the table `[gate]`"),
        ("[gate]\ndata = 1\ndata = 2", "`rego-platform.toml:3`: invalid TOML"),
        ("[gate]\nfail-fast = \"yes\"", "invalid value of `fail-fast`: expected `true` or `false`"),
        ("[gate]\ninput = [1, [2]]", "invalid value of `input`: expected an array of strings"),
        ("[gate]\nset = { a = [1] }", "invalid value of `set`: expected a table of strings"),
        ("[gate]\nformat = \"yaml\"", "`rego-platform.toml:2`: invalid value 'yaml' for '--format"),
        ("[gate.x]\nfail-fsat = true", "unknown option: `fail-fsat`"),
        ("[gate]\nquiet = true", "unknown option: `quiet`"),
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
    let says = "has a user name or password (from environment variable `PLATFORM_BASE_URL`)";
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

#[test]
fn a_file_that_is_found_replaces_nothing_of_an_input() {
    let found = "[gate]\ndata = [\"rules\"]\n";
    let run = |settings: &str, input: &str, more: &[&str]| {
        let sandbox = repository(settings);
        sandbox.write("in/a.json", input);
        Output::from(run(&sandbox, ".", &[&["gate", "-i", "in/a.json"], more].concat()))
    };
    for (set, input, replaces) in [
        ("bad = false", r#"{"bad": true}"#, true),
        ("\"size.max\" = 0", r#"{"size": {"max": 3}}"#, true),
        ("size = 0", r#"{"size": null}"#, true),
        ("other = 1", r#"{"bad": true}"#, false),
        ("\"more.x\" = 1", r#"{"bad": true, "more": {"y": 1}}"#, false),
    ] {
        let settings = format!("{found}[gate.set]\n{set}\n");
        let output = run(&settings, input, &[]);
        if replaces {
            let output = output.fails("the settings file can't replace a value of the input");
            output.fails("--trust-settings");
        } else {
            output.code(1);
        }
    }
    for (settings, says) in [
        (
            "[gate.arg]\nmax = 5\n",
            "conflicting `args`: arguments given, but the input has this member",
        ),
        ("[gate.annotation]\nteam = \"b\"\n", "conflicting `input"),
        (
            "[gate.annotation]\n\"platform.material.name\" = \"b\"\n",
            "would replace the input's own",
        ),
    ] {
        let input =
            r#"{"args": {"max": "1"}, "platform_metadata": {"annotations": {"team": "a"}}}"#;
        let sandbox = repository(&format!("{found}{settings}"));
        sandbox.write("in/a.json", input);
        let policy =
            format!("{POLICY}\ndeny contains \"x\" if input.platform_metadata.annotations.none\n");
        sandbox.write("rules/p.rego", policy);
        Output::from(self::run(&sandbox, ".", &["gate", "-i", "in/a.json"])).fails(says);
    }
    for setting in
        ["set = { a = 1 }", "arg = { max = 5 }", "annotation = { a = \"b\" }", "project = \"p\""]
    {
        let settings = format!("{found}{setting}\n");
        run(&settings, "{}", &["--attestation", "--unverified"])
            .fails("isn't put into attestations");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_found_follows_no_link_out_of_its_folder() {
    use std::os::unix::fs::symlink;
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("secret.json"), r#"{"bad": true}"#).unwrap();
    std::fs::write(other.path().join("q.rego"), "package q\n\ndeny contains 1\n").unwrap();
    for setting in [
        "input = \"ln/secret.json\"",
        "input = \"ln\"",
        "input = \"l*/*.json\"",
        "input = \"**/*.json\"",
        "input = \".\"",
        "data = \"ln\"",
        "data = [\"rules\", \"x.y:ln/secret.json\"]",
        "bundle = \"ln\"",
        "schema = \"ln/secret.json\"",
        "material = { a = \"ln/secret.json\" }",
        "output = \"json=ln/written.json\"",
        "output = \"json=ln/none/written.json\"",
    ] {
        let mut settings = String::from("[gate]\n");
        for own in ["data = \"rules\"", "input = \"in\""] {
            if own.split(' ').next() != setting.split(' ').next() {
                settings.push_str(&format!("{own}\n"));
            }
        }
        let sandbox = repository(&format!("{settings}{setting}\n"));
        symlink(other.path(), sandbox.path("ln")).unwrap();
        let says = "leads out of the file's folder";
        Output::from(run(&sandbox, ".", &["gate"])).fails(says);
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 2, "{setting}");
    }
    // A link that stays within is followed, and one in the place of a report is replaced.
    let sandbox = repository("[gate]\ndata = \"near\"\ninput = \"in\"\noutput = \"json=r.json\"\n");
    symlink(sandbox.path("rules"), sandbox.path("near")).unwrap();
    symlink(other.path().join("secret.json"), sandbox.path("r.json")).unwrap();
    Output::from(run(&sandbox, ".", &["gate"])).code(1);
    let kept = std::fs::read_to_string(other.path().join("secret.json")).unwrap();
    assert_eq!(kept, r#"{"bad": true}"#);
}

/// A report of an earlier run must not be taken for that of one which failed.
#[test]
fn an_error_of_the_settings_leaves_no_report_of_an_earlier_run() {
    let good = "[gate]\ndata = \"rules\"\ninput = \"in\"\noutput = \"json=r.json\"\narg = { max = 5 }\n\n[gate.release]\noutput = \"json=r.json\"\n";
    for (change, arguments) in [
        (format!("bogus = 1\n{good}"), &["gate"][..]),
        (good.replace("in\"", "in\"\nbogus = 1"), &["gate"]),
        (good.replace("input", "no-fail = true\ninput"), &["gate"]),
        (good.replace("[gate.release]", "[gate.release"), &["gate"]),
        (format!("{good}bogus = 1\n"), &["gate", "--profile", "release"]),
        (good.to_owned(), &["gate", "--profile", "absent"]),
        (good.replace("max = 5", "\"\" = 5"), &["gate"]),
        // Of several reports, one is wrong.
        (good.replacen("\"json=r.json\"", "[\"json=r.json\", \"sarif=../x\"]", 1), &["gate"]),
        (good.replacen("\"json=r.json\"", "[\"nosuch=x\", \"json=r.json\"]", 1), &["gate"]),
        (good.replacen("\"json=r.json\"", "[\"json=r.json\", 5]", 1), &["gate"]),
        (good.replacen("\"json=r.json\"", "{ json = \"r.json\", sarif = \"../x\" }", 1), &["gate"]),
        (good.replace("rules", "none"), &["gate"]),
        (good.replace("in\"", "in\"\nsplit-arrays = true\nwrap-arrays = true"), &["gate"]),
        ("= no TOML".to_owned(), &["gate", "-o", "json=r.json"]),
    ] {
        let sandbox = repository(good);
        assert_eq!(run(&sandbox, ".", &["gate"]).status.code(), Some(0));
        assert!(std::fs::read_to_string(sandbox.path("r.json")).unwrap().contains("\"passed\""));
        sandbox.write("rego-platform.toml", &change);
        let output = run(&sandbox, ".", arguments);
        Output::from(output).fails_with_one_of(&[
            "bogus",
            "no-fail",
            "rego-platform.toml",
            "absent",
            "arg",
            "none",
            "wrap-arrays",
        ]);
        let report = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["outcome"], "no_verdict", "{change}");
    }
    // A command line that doesn't parse touches nothing.
    let sandbox = repository(good);
    run(&sandbox, ".", &["gate"]);
    let before = std::fs::read(sandbox.path("r.json")).unwrap();
    for more in [&["--bogus"][..], &["-f", "no-format"], &["-o", "json=r.json", "--timeout", "x"]] {
        let output = run(&sandbox, ".", &[&["gate"], more].concat());
        Output::from(output).fails_with_one_of(&["--bogus", "no-format", "--timeout"]);
        assert_eq!(std::fs::read(sandbox.path("r.json")).unwrap(), before, "{more:?}");
    }
}

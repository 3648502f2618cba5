//! What a run writes never takes the place of what it reads.

use std::fs;

use super::DENY_BAD;
use crate::cli::Sandbox;

const BAD: &str = "{\"bad\": true}";

/// Runs `gate` with each kind of output at `path`, which must be refused and stay as it is.
fn refuses(sandbox: &Sandbox, given: &[&str], path: &str) {
    let file = sandbox.path(path);
    let before = fs::read(&file).unwrap();
    let name = file.to_str().unwrap();
    let outputs = ["json", "sarif", "junit", "html", "markdown", "tap"];
    let outputs = outputs.map(|format| ["-o".to_owned(), format!("{format}={name}")]);
    let others = [["--record".to_owned(), name.to_owned()]];
    for written in outputs.into_iter().chain(others) {
        let arguments: Vec<&str> = ["gate"]
            .iter()
            .chain(given)
            .copied()
            .chain(written.iter().map(|argument| &**argument))
            .collect();
        sandbox.run(&arguments).output().fails("writ");
        assert!(fs::read(&file).is_ok_and(|now| now == before), "{written:?}");
        // Nor if the options are wrong.
        let wrong = [&arguments[..], &["--nonsense"]].concat();
        sandbox.run(&wrong).output().fails("unexpected argument '--nonsense' found");
        assert!(fs::read(&file).is_ok_and(|now| now == before), "{wrong:?}");
    }
}

#[test]
fn a_report_takes_the_place_of_no_input() {
    let words = format!(
        "{{\"bad\": true, \"x\": {{\"predicateType\": 1, \"rego-platform\": 1}}, \"tool\": {}}}",
        "{\"name\": \"rego-platform\"}"
    );
    for (name, text) in [
        ("bad.sarif", BAD),
        ("bad.ndjson", BAD),
        ("scan.json", &words),
        ("recording.json", "{\"version\": 1, \"nd_builtin_cache\": {}, \"bad\": true}"),
        ("empty.json", ""),
    ] {
        let sandbox = Sandbox::new();
        let policy = sandbox.write("p.rego", DENY_BAD);
        sandbox.write("in/ok.json", "{}");
        sandbox.write(&format!("in/{name}"), text);
        let inputs = sandbox.path("in").to_str().unwrap().to_owned();
        refuses(&sandbox, &["-d", &policy, "-i", &inputs], &format!("in/{name}"));
    }
}

#[test]
fn a_report_takes_the_place_of_no_policy() {
    let sandbox = Sandbox::new();
    let policy = "package q\n\ndeny contains \"x\" if not input[\"predicateType\"]\n";
    sandbox.write("policies/p.rego", DENY_BAD);
    sandbox.write("policies/q.rego", policy);
    sandbox.write("policies/data.json", "{\"nd_builtin_cache\": {}}");
    let input = sandbox.write("i.json", "{}");
    let policies = sandbox.path("policies").to_str().unwrap().to_owned();
    for path in ["policies/q.rego", "policies/data.json"] {
        refuses(&sandbox, &["-d", &policies, "-i", &input], path);
        refuses(&sandbox, &["-d", &format!("a.b:{policies}/*"), "-i", &input], path);
    }
    // A module that a policy document names.
    let document = sandbox.write(
        "d.yaml",
        "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: x}\n\
         spec:\n  policies:\n  - {kind: SARIF, path: m.rego}\n",
    );
    sandbox.write("m.rego", format!("# words\n{DENY_BAD}"));
    refuses(&sandbox, &["-d", &document, "-i", &input], "m.rego");
}

#[test]
fn what_other_options_name_is_not_replaced() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let input = sandbox.write("i.json", "{}");
    let given = ["-d", &policy, "-i", &input];
    let waivers = sandbox.write("waivers.yaml", "waivers: []\n");
    let recording = sandbox.write("rec.json", "{\"version\": 1, \"nd_builtin_cache\": {}}\n");
    sandbox.write("schemas/a.json", "{}");
    sandbox.write("data/artifacts/notes.txt", "words");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    for (option, value, file) in [
        ("--waivers", &waivers, "waivers.yaml"),
        ("--replay", &recording, "rec.json"),
        ("--schema", &path("schemas"), "schemas/a.json"),
        ("--local", &path("data"), "data/artifacts/notes.txt"),
    ] {
        let before = fs::read(sandbox.path(file)).unwrap();
        let own = format!("json={}", path(file));
        let more = [option, value, "-o", &own];
        sandbox.run(&[&["gate"][..], &given, &more].concat()).output().fails("written");
        assert_eq!(fs::read(sandbox.path(file)).unwrap(), before, "{option}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_as_readers_follow_them() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let policy = sandbox.write("policies/p.rego", DENY_BAD);
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    sandbox.write("in/ok.json", "{}");
    sandbox.write("out/bad.json", BAD);
    sandbox.write("shared/q.rego", "package q\n\ndeny contains \"x\" if input.x\n");
    sandbox.write("shared/data.json", "{}");
    let (inputs, policies) = (path("in"), path("policies"));
    symlink("../shared", path("policies/l")).unwrap();
    for file in ["shared/q.rego", "shared/data.json"] {
        refuses(&sandbox, &["-d", &policies, "-i", &inputs], file);
    }
    for (target, link) in [
        ("../out", "in/l"),
        ("../out/bad.json", "in/bad.json"),
        ("../out/bad.json", "in/other.json"),
    ] {
        symlink(target, path(link)).unwrap();
        refuses(&sandbox, &["-d", &policy, "-i", &inputs], "out/bad.json");
        fs::remove_file(path(link)).unwrap();
    }
    // A link to a file that doesn't exist yet.
    let (link, own) = (path("in/later.json"), format!("json={}", path("out/later.json")));
    symlink("../out/later.json", &link).unwrap();
    let named = ["gate", "-d", &policy, "-i", &link, "-o", &own];
    sandbox.run(&named).output().fails("read and written");
    let folder = ["gate", "-d", &policy, "-i", &inputs, "-o", &own];
    sandbox.run(&folder).output().fails("read and written");
}

#[test]
fn a_report_is_not_among_the_inputs_of_a_glob() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let input = sandbox.write("in/a.json", "{}");
    let glob = sandbox.path("in/*.json").display().to_string();
    let run = |report: &str| {
        let output = format!("json={report}");
        sandbox.run(&["gate", "-v", "-d", &policy, "-i", &glob, "-o", &output]).output()
    };
    run(&input).fails("read and written");
    assert_eq!(fs::read_to_string(&input).unwrap(), "{}");
}

#[test]
fn the_default_configuration_file_is_not_replaced() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let config = sandbox.write("config/platform/config.toml", "organization = 'acme'\n");
    let output = format!("json={config}");
    let run = sandbox.run(&["gate", "-d", &policy, "--no-input", "-o", &output]);
    let run = run.env("XDG_CONFIG_HOME", &sandbox.path("config").display().to_string());
    run.output().fails("read and written");
    assert!(fs::read_to_string(&config).unwrap().contains("acme"));
}

/// The first time and every time, whatever an earlier run wrote there.
#[test]
fn an_output_in_a_folder_that_is_read_is_refused() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    sandbox.write("in/ok.json", "{\"n\": 1.5}");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let inputs = path("in");
    for option in ["json=in/r.json", "sarif=in/r.json", "json=in/new/../r.yaml"] {
        let (format, file) = option.split_once('=').unwrap();
        let output = format!("{format}={}", path(file));
        sandbox.run(&["gate", "-d", &policy, "-i", &inputs, "-o", &output]).output().fails("writ");
        assert_eq!(fs::read_dir(path("in")).unwrap().count(), 1, "{option}");
    }
    let record = path("in/rec.json");
    let recorded = ["gate", "-d", &policy, "-i", &inputs, "--record", &record];
    sandbox.run(&recorded).output().fails("read and written");
    // What isn't read there, and what is written beside it, is replaced again and again.
    for file in ["in/page.html", "r.json"] {
        let output = format!("{}={}", if file == "r.json" { "json" } else { "html" }, path(file));
        for _ in 0..2 {
            let run = ["gate", "-d", &policy, "-i", &inputs, "-o", &output];
            sandbox.run(&run).output().code(0);
        }
    }
}

#[test]
fn a_summary_is_appended_to_nothing_that_is_read_or_written() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", DENY_BAD);
    let input = sandbox.write("in.json", "{}");
    let run = |summary: &str, more: &[&str]| {
        let arguments = ["gate", "-d", &policy, "-i", &input, "-f", "github"];
        let run = sandbox.run(&[&arguments[..], more].concat());
        run.env("GITHUB_STEP_SUMMARY", summary).output()
    };
    for path in [&policy, &input] {
        let before = fs::read(path).unwrap();
        run(path, &[]).fails("read and written");
        run(path, &["--nonsense"]).fails("unexpected argument '--nonsense' found");
        assert_eq!(fs::read(path).unwrap(), before);
    }
    let report = sandbox.path("r.json").display().to_string();
    run(&report, &["-o", &format!("json={report}")]).fails("written twice");
    let text = fs::read(&report).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
    let summary = sandbox.write("summary.md", "before\n");
    run(&summary, &[]).code(0);
    assert!(fs::read_to_string(&summary).unwrap().starts_with("before\n## "));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_policy() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path("p.rego").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [&["gate", "-d", &pipe, "--no-input"][..], &["check", &pipe], &["test", &pipe]] {
        sandbox.run(command).output().fails("isn't a regular file");
    }
}

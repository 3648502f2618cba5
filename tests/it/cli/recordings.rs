//! Recordings that aren't what they were.

use serde_json::{Value, json};

use super::Sandbox;
use crate::emulator::CLEAN_IMAGE;

/// A recording of one answer and one failure, and the queries that it answers.
fn recorded(sandbox: &Sandbox) -> (Value, [String; 2]) {
    let queries = [
        format!("platform.discover(\"{CLEAN_IMAGE}\", \"\").kind"),
        format!("platform.discover(\"sha256:{}\", \"\")", "0".repeat(64)),
    ];
    let mut parts = Vec::new();
    for (query, code) in queries.iter().zip([0, 2]) {
        let file = sandbox.path("part.json");
        let file = file.to_str().unwrap();
        sandbox.local(&["eval", query, "--record", file]).output().code(code);
        let text = std::fs::read_to_string(file).unwrap();
        parts.push(serde_json::from_str::<Value>(&text).unwrap());
    }
    let mut whole = parts[0].clone();
    whole["failures"] = parts[1]["failures"].clone();
    (whole, queries)
}

fn replay(sandbox: &Sandbox, text: &str, query: &str) -> super::Output {
    let file = sandbox.write("recording.json", text);
    sandbox.run(&["eval", query, "--replay", &file]).output()
}

#[test]
fn answers_and_failures_come_back() {
    let sandbox = Sandbox::new();
    let (whole, [answer, failure]) = recorded(&sandbox);
    replay(&sandbox, &whole.to_string(), &answer).code(0);
    replay(&sandbox, &whole.to_string(), &failure).code(2).says("not found");
}

#[test]
fn a_failure_of_an_unknown_kind_is_refused() {
    let sandbox = Sandbox::new();
    let (whole, [answer, _]) = recorded(&sandbox);
    for kind in ["not  found", "NotFound", "", "passed", "\\u001b[31m"] {
        let text =
            whole.to_string().replace("\"kind\":\"not found\"", &format!("\"kind\":\"{kind}\""));
        assert_ne!(text, whole.to_string());
        // Also where only the other call is asked for: such a file isn't understood.
        let output = replay(&sandbox, &text, &answer).code(2);
        let output = output.says("isn't one").says("is no kind of failure");
        assert!(!output.stderr.contains('\u{1b}'), "{output:#?}");
    }
}

#[test]
fn what_stands_there_twice_is_refused() {
    let sandbox = Sandbox::new();
    let (whole, [answer, _]) = recorded(&sandbox);
    let text = whole.to_string();
    let key = json!(json!([CLEAN_IMAGE, ""]).to_string()).to_string();
    assert!(text.contains(&format!("{key}:{{")), "{text}");
    let twice = text.replace(&format!("{key}:{{"), &format!("{key}:{{\"digest\":\"x\"}},{key}:{{"));
    replay(&sandbox, &twice, &answer).code(2).says("stands there twice");
    let within = text.replace(&format!("{key}:{{"), &format!("{key}:{{\"kind\":\"OTHER\","));
    replay(&sandbox, &within, &answer).code(2).says("the key `kind` stands there twice");
    let versions = text.replace("\"version\":1", "\"version\":1,\"version\":1");
    replay(&sandbox, &versions, &answer).code(2).says("duplicate field `version`");
}

#[test]
fn a_recording_is_its_owners_alone_and_holds_no_secret() {
    let sandbox = Sandbox::new();
    let service = super::service();
    let token = service.token("user").unwrap();
    let file = sandbox.path("recording.json");
    let artifact = crate::emulator::BINARY;
    let query = format!("[platform.download_artifact(\"{artifact}\"), platform.evidence({{}})]");
    let arguments = ["eval", &query, "--record", file.to_str().unwrap(), "-v", "--no-cache"];
    let run = sandbox.run(&arguments).env("PLATFORM_TOKEN", &token);
    let output = run
        .env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
        .env("PLATFORM_BASE_URL", &service.base_url())
        .output()
        .code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(artifact));
    // Neither the token nor the URL that the content store's own token is in.
    let store = service.store_url();
    for shown in [&text, &output.stdout, &output.stderr] {
        assert!(!shown.contains(&token) && !shown.contains("ticket=") && !shown.contains(&store));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

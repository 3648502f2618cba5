//! `--allow-host`, through the real binary.

#[path = "../../../../tests/it/requests/server.rs"]
mod server;

use serde_json::json;

use crate::cli::Sandbox;
use server::Server;

fn policy(server: &Server, path: &str, more: &str) -> String {
    format!(
        "package p\n\nimport rego.v1\n\nsays := http.send({{\"method\": \"get\", \"url\": \"{}\"{more}}})\n\n\
         deny contains \"no\" if not says.body.path\n\ndeny contains \"failed\" if says.error\n",
        server.url(path)
    )
}

#[test]
fn eval_asks_hosts_that_are_allowed() {
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let file = sandbox.write("p.rego", policy(&server, "/a", ""));
    let eval = ["eval", "-d", &file, "--format", "raw", "data.p.says.body.path"];
    sandbox.run(&eval).output().fails("--allow-host");
    sandbox
        .run(&[&eval[..], &["--allow-host", "localhost"]].concat())
        .output()
        .fails("disallowed host: 127.0.0.1");
    let host = server.host();
    let output =
        sandbox.run(&[&eval[..], &["--allow-host", "a.test", "--allow-host", &host]].concat());
    assert_eq!(output.output().code(0).stdout.trim(), "/a");
    sandbox.run(&[&eval[..], &["--allow-host", "*"]].concat()).output().fails("isn't a valid host");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_failed_request_is_not_a_verdict() {
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host();
    let gate = |path: &str, more: &str, options: &[&str]| {
        let file = sandbox.write("p.rego", policy(&server, path, more));
        let gate = ["gate", "-d", &file, "--no-input", "--format", "json"];
        sandbox.run(&[&gate[..], options].concat()).output()
    };
    let allowed = ["--allow-host", &host];
    gate("/a", "", &[]).fails("http.send: not enabled: no host is allowed");
    gate("/a", "", &["--allow-host", "a.test"]).fails("http.send: disallowed host: 127.0.0.1");
    for options in [&allowed[..], &["--allow-host", &host, "--no-strict-builtin-errors"]] {
        gate("/closed", "", options).fails("connection closed before message completed");
        let failed = gate("/closed", ", \"raise_error\": false", options).code(1).json();
        assert_eq!(failed["outcome"], "failed");
    }
    let report = gate("/a", "", &allowed).code(0).json();
    let inventory = &report["inventory"];
    let given = json!([{
        "name": "allowed_hosts", "value": host, "effect": "took_effect", "times": 1,
    }]);
    let options = inventory["options"].as_array().unwrap();
    let own: Vec<_> =
        options.iter().filter(|option| option["name"] == "allowed_hosts").cloned().collect();
    assert_eq!(json!(own), given);
    let sites = inventory["call_sites"].as_array().unwrap();
    assert_eq!((&sites[0]["function"], &sites[0]["reached"]), (&json!("http.send"), &json!(1)));
    // No call site asks the service.
    assert!(inventory["service"].get("answered_by").is_none(), "{inventory}");
    let idle = sandbox.write("idle.rego", "package q\n\ndeny contains \"no\" if false\n");
    let gate = ["gate", "-d", &idle, "--no-input", "--format", "json", "--allow-host", &host];
    let report = sandbox.run(&gate).output().code(0).json();
    assert_eq!(report["inventory"]["options"][0]["effect"], "recorded");
}

#[test]
fn a_gate_replays_what_it_recorded() {
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let file = sandbox.write("p.rego", policy(&server, "/a", ""));
    let recording = sandbox.path("recording.json").display().to_string();
    let gate = ["gate", "-d", &file, "--no-input", "--format", "json"];
    let host = server.host();
    let record = ["--allow-host", &host, "--record", &recording];
    sandbox.run(&[&gate[..], &record].concat()).output().code(0);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&recording).unwrap()).unwrap();
    let request = format!(r#"[{{"method":"get","url":"{}"}}]"#, server.url("/a"));
    assert_eq!(written["nd_builtin_cache"]["http.send"][&request]["status_code"], 200);
    sandbox.run(&[&gate[..], &["--replay", &recording]].concat()).output().code(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn tests_mock_requests_or_allow_their_hosts() {
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let file = sandbox.write("p.rego", policy(&server, "/a", ""));
    let mocked = "package p_test\n\nimport data.p\n\ntest_mocked if {\n\t\
        count(p.deny) == 0 with http.send as {\"body\": {\"path\": \"/x\"}}\n}\n";
    let test = sandbox.write("p_test.rego", mocked);
    sandbox.run(&["test", &file, &test]).output().code(0);
    let test = sandbox.write(
        "p_test.rego",
        "package p_test\n\nimport data.p\n\ntest_live if count(p.deny) == 0\n",
    );
    sandbox
        .run(&["test", &file, &test])
        .output()
        .fails("http.send: not enabled: no host is allowed");
    assert!(server.requests().is_empty());
    sandbox.run(&["test", &file, &test, "--allow-host", &server.host()]).output().code(0);
}

#[test]
fn check_warns_of_requests_unless_a_host_is_allowed() {
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let file = sandbox.write("p.rego", policy(&server, "/a", ""));
    let output = sandbox.run(&["check", &file]).output().code(1);
    assert!(output.stdout.contains("unsupported-builtin"), "{}", output.stdout);
    sandbox.run(&["check", &file, "--allow-host", &server.host()]).output().code(0);
    sandbox.run(&["emulate", &file, "--allow-host", "a.test"]).output().fails("--allow-host");
    assert!(server.requests().is_empty());
}

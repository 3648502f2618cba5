//! `auth status`: its output and its exit status.

use serde_json::json;

use super::{Run, Sandbox, jwt, service};

fn with_service(sandbox: &Sandbox, token: &str, arguments: &[&str]) -> (super::Output, String) {
    let service = service();
    let run = sandbox.run(&[&["auth", "status"], arguments].concat());
    let output = addressed(run, &service).env("PLATFORM_TOKEN", token).output();
    (output, service.controlplane_url())
}

fn addressed(run: Run, service: &rego_platform_emulator::Emulator) -> Run {
    run.env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
        .env("PLATFORM_BASE_URL", &service.base_url())
}

#[test]
fn all_is_well() {
    let sandbox = Sandbox::new();
    let token = service().token("user").unwrap();
    let (output, url) = with_service(&sandbox, &token, &["--organization", "acme"]);
    let output = output.code(0).silent();
    for text in [
        "user token, expires in ",
        " (from environment variable `PLATFORM_TOKEN`)",
        "acme (from option `--organization`)",
        &format!("{url} (from environment variable `PLATFORM_CONTROLPLANE_URL`)"),
        "  answers      yes, version v1.42.0, in ",
        "  answers      yes, in ",
        "config file    none",
    ] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
    assert_eq!(output.stdout.matches("; accepts the token\n").count(), 2, "{output:#?}");
    assert!(!output.stdout.contains(&token));
    let (output, _) = with_service(&sandbox, &token, &["--format", "json"]);
    let found = output.code(0).json();
    assert_eq!(found["ok"], true);
    assert_eq!(found["control_plane"]["version"], "v1.42.0");
    for address in ["control_plane", "backend"] {
        assert_eq!(found[address]["reachable"], true);
        assert_eq!(found[address]["accepted"], true);
        assert!(found[address]["latency_ms"].is_u64());
    }
}

#[test]
fn a_token_that_the_service_refuses_is_not_ok() {
    let sandbox = Sandbox::new();
    let exp = chrono::Utc::now().timestamp() + 5 * 3600 + 30;
    let forged = jwt(&json!({"aud": "user-auth.platform", "exp": exp}));
    let (output, _) = with_service(&sandbox, &forged, &[]);
    let output = output.fails("platform.discover: the service rejected the token (401): the");
    assert!(output.stdout.contains("user token, expires in 5 hours"), "{output:#?}");
    assert_eq!(output.stdout.matches("; refuses the token\n").count(), 2, "{output:#?}");
    assert_eq!(output.stdout.matches("problem: ").count(), 2, "{output:#?}");
    assert_eq!(
        output.stdout.matches("; log in again if a user token has expired\n").count(),
        2,
        "{output:#?}"
    );
    // Without a paid plan the control plane answers, and the backend refuses.
    let token = service().token("free").unwrap();
    let (output, _) = with_service(&sandbox, &token, &["--format", "json"]);
    let found =
        output.fails("platform.evidence: missing permission of the token (403): this").json();
    assert_eq!(found["control_plane"]["accepted"], true);
    assert_eq!(found["backend"]["reachable"], true);
    assert_eq!(found["backend"]["accepted"], false);
    assert_eq!(found["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn a_failing_address_leaves_the_token_undetermined() {
    let sandbox = Sandbox::new();
    let fault = ["auth", "status", "--format", "json", "--fault", "evidence:status=500"];
    let found = sandbox
        .local(&fault)
        .output()
        .fails("platform.evidence: the service failed (500): injected fault")
        .json();
    assert_eq!(found["control_plane"]["accepted"], true);
    assert_eq!(found["backend"]["accepted"], serde_json::Value::Null);
    assert_eq!(found["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn a_missing_setting_is_named() {
    let sandbox = Sandbox::new();
    let output =
        sandbox.run(&["auth", "status"]).output().fails("missing address of the platform backend");
    for text in ["PLATFORM_TOKEN", "PLATFORM_CONTROLPLANE_URL", "PLATFORM_BASE_URL"] {
        assert!(output.stdout.contains(text), "{output:#?}");
    }
}

#[test]
fn an_expired_token_is_not_ok() {
    let sandbox = Sandbox::new();
    let exp = chrono::Utc::now().timestamp() - 3 * 3600 - 30;
    let token = jwt(&json!({"aud": ["api-token-auth.platform"], "exp": exp}));
    let (output, _) = with_service(&sandbox, &token, &[]);
    let output = output.fails("the API token expired 3 hours ago");
    assert!(output.stdout.contains("API token, expired 3 hours ago"), "{output:#?}");
    assert!(output.stdout.contains("problem: the API token expired 3 hours ago"));
    let (output, _) = with_service(&sandbox, &token, &["--format", "json"]);
    assert_eq!(output.fails("expired 3 hours ago").json()["token"]["expired"], true);
}

/// What isn't a JWT says nothing of itself.
#[test]
fn an_opaque_token_is_called_one() {
    let sandbox = Sandbox::new();
    let (output, _) = with_service(&sandbox, "abc", &[]);
    let output = output.fails("platform.discover: the service rejected the token (401): the");
    let line = "token          opaque token, treated as a user token; expiry unknown (from ";
    assert!(output.stdout.contains(line), "{output:#?}");
    let (output, _) = with_service(&sandbox, "abc", &["--format", "json"]);
    let found = output.fails("platform.discover: the service rejected the token (401): the").json();
    assert_eq!(found["token"]["kind"], "user token");
    assert_eq!(
        (&found["token"]["opaque"], &found["token"]["expired"]),
        (&json!(true), &json!(false))
    );
    let token = jwt(&json!({"aud": "user-auth.platform"}));
    let (output, _) = with_service(&sandbox, &token, &["--format", "json"]);
    let found = output.fails("platform.discover: the service rejected the token (401): the").json();
    assert_eq!(found["token"]["opaque"], false);
    assert_eq!(found["token"]["expiry"], "without an expiry date");
}

#[test]
fn an_unreachable_address_is_not_ok() {
    let sandbox = Sandbox::new();
    // Bound without accepting: no other process gets the port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let arguments = ["auth", "status", "--format", "json", "--timeout", "500ms"];
    let run = sandbox.run(&arguments).env("PLATFORM_TOKEN", "t");
    let run = run.env("PLATFORM_CONTROLPLANE_URL", &url).env("PLATFORM_BASE_URL", &url);
    let found = run.output().fails("platform.evidence: timed out waiting for").json();
    for address in ["control_plane", "backend"] {
        assert_eq!(found[address]["reachable"], false);
        assert_eq!(found[address]["accepted"], serde_json::Value::Null);
    }
    assert_eq!(found["problems"].as_array().unwrap().len(), 2);
}

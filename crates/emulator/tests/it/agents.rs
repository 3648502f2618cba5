//! `POST /v1/agents/evaluate-evidence` and `GET /v1/operations/{id}`.

use serde_json::json;

use super::*;

const DRAFT: &str = "sha256:f8cdbfa3c29620ca5747bbab8a32a8850f43585311bf98ba321cfe80fb6de55d";

fn post(emulator: &Emulator, token: &str, body: &str) -> Answer {
    let url = format!("{}/v1/agents/evaluate-evidence", emulator.base_url());
    let token = emulator.token(token).unwrap();
    let body = body.to_owned();
    send(|client| client.post(url).bearer_auth(token).body(body)).unwrap()
}

/// Returns the statuses seen by polling, and the final operation.
fn run(emulator: &Emulator, token: &str, body: &Value) -> (Vec<String>, Value) {
    let answer = post(emulator, token, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.json());
    let id = answer.json()["operation_id"].as_str().unwrap().to_owned();
    let url = format!("{}/v1/operations/{id}", emulator.base_url());
    let mut statuses = Vec::new();
    loop {
        let operation = get(&url, emulator.token(token).as_deref()).json()["operation"].clone();
        assert_eq!(operation["id"], id.as_str());
        let status = operation["status"].as_str().unwrap();
        statuses.push(status.trim_start_matches("ASYNC_OPERATION_STATUS_").to_owned());
        if !operation["finished_at"].is_null() {
            return (statuses, operation);
        }
        assert!(statuses.len() < 100);
    }
}

fn output(operation: &Value) -> Value {
    serde_json::from_str(operation["output"].as_str().unwrap()).unwrap()
}

#[test]
fn an_operation_waits_runs_and_succeeds() {
    let emulator = start(EmulatorOptions::default());
    let (statuses, operation) =
        run(&emulator, "ci", &json!({"digest": THREAT_MODEL, "prompt": "is it complete?"}));
    assert_eq!(statuses, ["PENDING", "RUNNING", "SUCCEEDED"]);
    assert_eq!(output(&operation), json!({"skipped": false, "violations": []}));
    let (_, operation) = run(&emulator, "ci", &json!({"digest": DRAFT, "prompt": "complete?"}));
    assert_eq!(output(&operation)["violations"].as_array().unwrap().len(), 3);
}

#[test]
fn content_and_prompt_choose_the_answer() {
    let emulator = start(EmulatorOptions::default());
    let ask = |content: &str, prompt: &str| {
        run(&emulator, "ci", &json!({"content": content, "prompt": prompt})).1
    };
    let operation = ask("injection: accepted for now", "check");
    assert_eq!(output(&operation)["violations"][0], "a threat is accepted without a mitigation");
    let operation = ask("something without an answer", "check");
    assert_eq!(output(&operation), json!({"skipped": true, "violations": []}));
    let operation = ask("text", "Please FAIL");
    assert_eq!(operation["status"], "ASYNC_OPERATION_STATUS_FAILED");
    assert_eq!(operation["error_message"], "the model is not available");
    let operation = ask("text", "please cancel");
    assert_eq!(operation["status"], "ASYNC_OPERATION_STATUS_CANCELLED");
    assert_eq!(ask("text", "please babble")["output"], "I think it looks fine!");
    let slow = run(&emulator, "ci", &json!({"content": "x", "prompt": "please take your time"}));
    assert_eq!(slow.0.len(), 26);
}

#[test]
fn every_analysis_is_skipped_if_the_feature_is_off() {
    let emulator = start(EmulatorOptions::default());
    let notes = "sha256:882ee3b7f6847fffd751afebb5f4f000098af868eb65be8f010c3c42a21822a9";
    for body in [
        json!({"content": "accepted for now", "prompt": "check"}),
        json!({"digest": notes, "prompt": "check"}),
    ] {
        let (_, operation) = run(&emulator, "globex-ci", &body);
        assert_eq!(output(&operation), json!({"skipped": true, "violations": []}));
    }
}

#[test]
fn wrong_requests_are_refused() {
    let emulator = start(EmulatorOptions::default());
    let unknown = format!(r#"{{"digest":"sha256:{}","prompt":"x"}}"#, "0".repeat(64));
    for (body, status) in [
        (r#"{"prompt":"x"}"#, 400),
        (r#"{"content":"x"}"#, 400),
        (r#"{"content":"x","prompt":" "}"#, 400),
        (r#"{"content":"x","prompt":"x","model":"y"}"#, 400),
        (r#"{"content":"x","digest":"sha256:ab","prompt":"x"}"#, 400),
        (r#"{"digest":"sha256:ab","prompt":"x"}"#, 400),
        ("", 400),
        ("[]", 400),
        (unknown.as_str(), 404),
    ] {
        assert_eq!(post(&emulator, "ci", body).status, status, "{body}");
    }
}

#[test]
fn an_operation_is_its_organizations_own() {
    let emulator = start(EmulatorOptions::default());
    let answer = post(&emulator, "ci", r#"{"content":"x","prompt":"x"}"#);
    let id = answer.json()["operation_id"].as_str().unwrap().to_owned();
    let url = format!("{}/v1/operations/{id}", emulator.base_url());
    assert_eq!(get(&url, emulator.token("globex-ci").as_deref()).status, 404);
    assert_eq!(get(&url, emulator.token("ci").as_deref()).status, 200);
    assert_eq!(backend(&emulator, "/v1/operations/nothing").status, 404);
}

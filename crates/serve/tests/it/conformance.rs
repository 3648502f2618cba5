//! OPA's answers to the same requests, stored beside them; where this server answers otherwise, its own
//! answer and the reason stand beside OPA's.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::support::{Answer, Heard, ask, load, options, unavailable};
use rego_platform_serve::Server;

const CASES: &str = "tests/conformance/cases.json";
const POLICIES: &str = "tests/conformance/policies";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    method: String,
    path: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default)]
    opa: Stored,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ours: Option<Different>,
}

/// An answer, as far as it is compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    status: u16,
    content_type: String,
    body: Value,
}

/// An answer of this server's that isn't OPA's.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Different {
    why: String,
    answer: Stored,
}

impl Stored {
    fn of(answer: &Answer) -> Self {
        let content_type = answer.header("content-type").to_owned();
        let mut body =
            serde_json::from_str(&answer.body).unwrap_or_else(|_| Value::from(answer.body.clone()));
        comparable(&mut body);
        Self { status: answer.status, content_type, body }
    }
}

/// Removes what differs from run to run, and what belongs to OPA's evaluator.
fn comparable(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["stack_trace", "details", "decision_id"] {
                members.remove(name);
            }
            members.retain(|name, _| !name.starts_with("timer_rego_query_compile"));
            for (name, member) in members {
                if name == "explanation" {
                    *member = Value::from("…");
                } else if name.starts_with("timer_") || name == "version" {
                    *member = Value::from(0);
                }
                comparable(member);
                // OPA finds problems in any order.
                if let (Value::Array(errors), "errors") = (member, name.as_str()) {
                    errors.sort_by_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(comparable),
        _ => {}
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_str(&std::fs::read_to_string(CASES).unwrap()).unwrap()
}

async fn answer(url: &str, case: &Case) -> Stored {
    let method: Method = case.method.parse().unwrap();
    let headers: Vec<(&str, &str)> =
        case.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let url = format!("{url}{}", case.path);
    Stored::of(&ask(&url, method, &headers, case.body.clone().unwrap_or_default()).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_opas() {
    let options = options(unavailable(), &Arc::new(Heard::default()));
    let server = Server::start(load(Path::new(POLICIES)), options).unwrap();
    let url = format!("http://{}", server.address());
    let mut wrong = Vec::new();
    for case in cases() {
        let found = answer(&url, &case).await;
        let expected = case.ours.as_ref().map_or(&case.opa, |ours| &ours.answer);
        if found != *expected {
            wrong.push(format!("{}:\n  expected {expected:?}\n  found    {found:?}", case.name));
        }
        if case.ours.is_some_and(|ours| ours.answer == case.opa || ours.why.is_empty()) {
            wrong.push(format!("{}: it is OPA's answer, or without a reason", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Run by `.ci/serve`, which starts OPA.
#[tokio::test]
#[ignore = "needs OPA at $OPA_SERVER"]
async fn stored_answers_are_opas() {
    let url = std::env::var("OPA_SERVER").unwrap();
    let mut wrong = Vec::new();
    let mut all = cases();
    for case in &mut all {
        let found = answer(&url, case).await;
        if found != case.opa {
            wrong.push(format!("{}:\n  stored {:?}\n  found  {found:?}", case.name, case.opa));
            case.opa = found;
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(CASES, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
    }
    assert!(std::env::var_os("UPDATE").is_some() || wrong.is_empty(), "{}", wrong.join("\n"));
}

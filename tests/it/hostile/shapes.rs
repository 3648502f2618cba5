//! Answers with wrong types everywhere, random pages, random error bodies: checked against a model.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rego_platform::Value as Rego;
use rego_platform::functions::FunctionSet;
use rego_platform::{ErrorKind, Platform};
use serde_json::{Value, json};

use super::script;
use super::server::{Request, Server, Step};
use super::stage::{COLUMNS, Column, call, documented, good, harmless, platform};

/// A server with one answer at the path under test, and the right ones elsewhere.
struct Single {
    platform: Platform,
    answer: Arc<Mutex<(Column, Vec<u8>)>>,
    _server: Server,
}

impl Single {
    fn new() -> Self {
        let answer = Arc::new(Mutex::new((Column::Discover, Vec::new())));
        let shared = Arc::clone(&answer);
        let server = Server::start(move |request| {
            let (column, bytes) = shared.lock().unwrap().clone();
            let prompt = request.path() == "/v1/agents/evaluate-evidence";
            match column {
                Column::Poll if prompt => script::ok(good(Column::Prompt, 7)),
                Column::Prompt if !prompt => script::ok(good(Column::Poll, 7)),
                _ => script::raw(&bytes),
            }
        });
        Self { platform: platform(&server), answer, _server: server }
    }

    fn ask(&self, column: Column, answer: Vec<u8>) -> Result<Rego, rego_platform::Error> {
        *self.answer.lock().unwrap() = (column, answer);
        let (function, arguments) = call(column, 7);
        self.platform.call(function, &arguments)
    }
}

/// Every position in a value, as a JSON pointer.
fn places(value: &Value, here: &str, out: &mut Vec<String>) {
    out.push(here.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{here}/{index}"), out);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, &format!("{here}/{name}"), out);
            }
        }
        _ => {}
    }
}

/// A2: what is documented has its documented type.
#[test]
fn a_wrong_shape_at_any_place_is_an_error_or_still_the_documented_object() {
    let single = Single::new();
    let (mut refused, mut read) = (0, 0);
    for column in &COLUMNS[..5] {
        let right: Value = serde_json::from_slice(&good(*column, 7)).unwrap();
        let mut all = Vec::new();
        places(&right, "", &mut all);
        for place in all {
            for wrong in [
                json!(null),
                json!(7),
                json!(-1),
                json!(1.5),
                json!("x"),
                json!(""),
                json!([]),
                json!([[]]),
                json!({}),
                json!({"a": {}}),
                json!(true),
                json!("18446744073709551616"),
            ] {
                let mut body = right.clone();
                *body.pointer_mut(&place).unwrap() = wrong.clone();
                // An operation that isn't over would be polled until the time is up.
                if place.ends_with("/status") {
                    body["operation"]["finished_at"] = json!("2026-01-02T03:04:05Z");
                }
                let answer = script::http(200, &[], body.to_string().as_bytes());
                match single.ask(*column, answer) {
                    Ok(value) => {
                        read += 1;
                        documented(call(*column, 7).0, &value)
                            .unwrap_or_else(|why| panic!("{place} = {wrong}: {why}"));
                    }
                    Err(error) => {
                        refused += 1;
                        harmless(&error).unwrap();
                        let ended = place.ends_with("/status")
                            && error.kind() == ErrorKind::OperationFailed;
                        assert!(
                            error.kind() == ErrorKind::Protocol || ended,
                            "{place} = {wrong}: {}",
                            error.report()
                        );
                    }
                }
            }
        }
    }
    assert!(refused > 200 && read > 100, "{refused} refused, {read} read");
}

/// A2: an envelope has what is asked for.
#[test]
fn envelopes_never_default() {
    let single = Single::new();
    for (column, place) in [
        (Column::Discover, "/result"),
        (Column::Discover, "/result/digest"),
        (Column::Prompt, "/operation_id"),
        (Column::Poll, "/operation"),
        (Column::Poll, "/operation/output"),
    ] {
        for wrong in [None, Some(json!(null)), Some(json!("")), Some(json!([])), Some(json!({}))] {
            let mut body: Value = serde_json::from_slice(&good(column, 7)).unwrap();
            let (parent, name) = place.rsplit_once('/').unwrap();
            match &wrong {
                None => {
                    drop(body.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name));
                }
                Some(wrong) => *body.pointer_mut(place).unwrap() = wrong.clone(),
            }
            let answer = script::http(200, &[], body.to_string().as_bytes());
            let error = single.ask(column, answer).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{place} = {wrong:?}");
        }
    }
}

/// A list of `rows` rows in pages of these sizes; empty pages only by cursor.
#[derive(Clone, Debug)]
struct Listing {
    rows: usize,
    sizes: Vec<usize>,
    by_cursor: bool,
}

impl Listing {
    fn page(&self, request: &Request) -> Vec<Step> {
        let number = |name: &str| -> usize {
            request.query(name).pop().map_or(0, |v| v.trim_start_matches('c').parse().unwrap())
        };
        let (step, from) = if self.by_cursor {
            let step = number("pagination.cursor");
            (step, self.sizes.iter().take(step).sum::<usize>().min(self.rows))
        } else {
            let from = number("pagination.page");
            (from, from)
        };
        // After the given pages, one with the rest.
        let size = self.sizes.get(step).copied().unwrap_or(self.rows);
        let size = if self.by_cursor { size } else { size.max(1) };
        let to = (from + size).min(self.rows);
        let rows: Vec<Value> = (from..to).map(|n| json!({"id": n.to_string()})).collect();
        let pagination = if !self.by_cursor {
            json!({"total_count": self.rows, "page": from})
        } else if to < self.rows {
            json!({"next_cursor": format!("c{}", step + 1)})
        } else {
            json!({"next_cursor": ""})
        };
        script::ok(json!({"results": rows, "pagination": pagination}).to_string().into_bytes())
    }
}

/// A3: pages are followed to the end.
#[test]
fn a_list_is_the_same_for_every_split_into_pages() {
    let listing = Arc::new(Mutex::new(Listing { rows: 0, sizes: Vec::new(), by_cursor: true }));
    let shared = Arc::clone(&listing);
    let server = Server::start(move |request| {
        let listing = shared.lock().unwrap().clone();
        listing.page(request)
    });
    let platform = platform(&server);
    let split = (0_usize..40, prop::collection::vec(0_usize..6, 0..30), any::<bool>(), 1_usize..50);
    proptest!(ProptestConfig::with_cases(150), |((rows, sizes, by_cursor, limit) in split)| {
        *listing.lock().unwrap() = Listing { rows, sizes, by_cursor };
        for limit in [None, Some(limit)] {
            let filters = match limit {
                None => json!({}),
                Some(limit) => json!({"limit": limit}),
            };
            let filters = Rego::from_json(&filters.to_string()).unwrap();
            let answer = platform.call("evidence", &[filters]).unwrap();
            let answer = serde_json::to_value(&answer).unwrap();
            let ids: Vec<&str> = answer["results"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
            let expected: Vec<String> = (0..rows.min(limit.unwrap_or(rows))).map(|n| n.to_string()).collect();
            prop_assert_eq!(ids, expected);
        }
    });
}

/// A6: neither the body nor its message decides.
#[test]
fn the_status_decides_whatever_the_error_body_and_its_message_is_escaped() {
    let single = Single::new();
    let body = prop_oneof![
        "\\PC{0,60}".prop_map(|m| (json!({"code": 5, "message": m, "details": []}).to_string(), m)),
        "[\\x00-\\x7f]{0,60}".prop_map(|m| (
            json!({"code": 404, "reason": "r", "message": m, "metadata": {}}).to_string(),
            m
        )),
        "[ -~]{0,60}".prop_map(|m| (m, String::new())),
        "\\PC{0,60}".prop_map(|m| (json!({"message": [m]}).to_string(), String::new())),
    ];
    proptest!(ProptestConfig::with_cases(150), |((body, message) in body, status in 400_u16..500)| {
        prop_assume!(status != 429 && status != 408);
        let answer = script::http(status, &[], body.as_bytes());
        let error = single.ask(Column::Evidence, answer).unwrap_err();
        let kind = match status {
            400 | 422 => ErrorKind::InvalidArgument,
            401 => ErrorKind::Unauthenticated,
            402 | 403 => ErrorKind::PermissionDenied,
            413 => ErrorKind::TooLarge,
            _ => ErrorKind::Protocol,
        };
        prop_assert_eq!(error.kind(), kind);
        harmless(&error).unwrap();
        let shown = rego_platform::text::escape(message.trim());
        prop_assert!(error.to_string().contains(&shown), "{} lacks {}", error, shown);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A1: anything else isn't an answer.
    #[test]
    fn no_bytes_make_reading_an_answer_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        thread_local!(static SINGLE: Single = Single::new());
        for column in &COLUMNS[..5] {
            let error = SINGLE.with(|single| single.ask(*column, script::http(200, &[], &bytes)).unwrap_err());
            prop_assert_eq!(error.kind(), ErrorKind::Protocol);
        }
    }
}

/// A4: rows are held against the question.
#[test]
fn rows_about_something_else_are_refused() {
    let answer = Arc::new(Mutex::new(Value::Null));
    let shared = Arc::clone(&answer);
    let server =
        Server::start(move |_| script::ok(shared.lock().unwrap().to_string().into_bytes()));
    let builder = super::stage::builder().controlplane_url(server.url()).base_url(server.url());
    let platform = builder.functions(FunctionSet::all()).build().unwrap();
    let evaluation = |version: &str| json!({"evaluations": [{"product_version_id": version}]});
    let framework = |id: &str| json!({"frameworks": [{"framework_id": id}]});
    let list = |version: &str| json!({"frameworks": [evaluation("V-1"), evaluation(version)]});
    let project =
        |name: &str| json!({"results": [{"name": name}], "pagination": {"total_count": 1}});
    for (function, filters, right, wrong) in [
        ("product_compliance", json!({"product_version_id": "v-1"}), list("V-1"), list("v-2")),
        (
            "product_compliance",
            json!({"product_version_id": "v-1", "framework_ids": ["f"]}),
            framework("f"),
            framework("g"),
        ),
        ("projects", json!({"project_name": "a"}), project("a"), project("b")),
    ] {
        let filters = Rego::from_json(&filters.to_string()).unwrap();
        let ask = |body: Value| {
            *answer.lock().unwrap() = body;
            platform.call(function, std::slice::from_ref(&filters))
        };
        ask(right).unwrap();
        assert_eq!(ask(wrong).unwrap_err().kind(), ErrorKind::Protocol, "{function}");
    }
}

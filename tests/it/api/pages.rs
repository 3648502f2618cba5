//! Typed lists over pages of either style.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::TryStreamExt as _;
use proptest::prelude::*;
use rego_platform::ErrorKind;
use rego_platform::Value as Rego;
use rego_platform::api::*;
use serde_json::{Value, json};

use super::hostile::{blocking, platform, server};
use crate::hostile::script::{ok, status};
use crate::hostile::server::{Request, Server, runtime};

/// A list of `total` environments, in pages of at most `size`, by offset or cursor.
fn paged(total: usize, size: usize, cursors: bool, announced: bool) -> Server {
    Server::start(move |request| {
        let number = |key| request.query(key).pop().map_or(0, |v| v.parse::<usize>().unwrap());
        let at = number(if cursors { "pagination.cursor" } else { "pagination.page" });
        let until = total.min(at + size);
        let rows: Vec<Value> = (at..until).map(|n| json!({"id": n.to_string()})).collect();
        let mut pagination = json!({"page": at, "page_size": size});
        if cursors {
            let next = if until < total { until.to_string() } else { String::new() };
            pagination = json!({ "next_cursor": next });
        } else if announced {
            pagination["total_count"] = json!(total);
        }
        ok(json!({"environments": rows, "pagination": pagination}).to_string().into_bytes())
    })
}

fn ids(rows: Vec<Environment>) -> Vec<String> {
    rows.into_iter().map(|row| row.id.unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_style_of_pages_gives_every_row_once(
        total in 0_usize..12, size in 1_usize..6, cursors: bool, announced: bool,
    ) {
        let server = paged(total, size, cursors, announced);
        let platform = platform(&server);
        let expected: Vec<String> = (0..total).map(|n| n.to_string()).collect();
        let filters = EnvironmentFilters::new();
        let rows = platform.api().blocking().environments(&filters).collect::<Result<Vec<_>, _>>();
        prop_assert_eq!(ids(rows.unwrap()), expected.clone());
        let stream = platform.api().environments(&filters);
        let rows = runtime().block_on(stream.try_collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(ids(rows), expected.clone());
        // A policy sees the same list.
        let answer = platform.call("environments", &[Rego::new_object()]).unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        let rows = answer["environments"].as_array().unwrap();
        prop_assert_eq!(rows.iter().map(|r| r["id"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn pages_are_asked_for_as_they_are_needed_and_errors_end_the_list() {
    let server = paged(100, 2, false, true);
    let api = blocking(&server);
    let mut rows = api.environments(&EnvironmentFilters::new());
    assert_eq!(server.requests().len(), 0);
    assert_eq!(rows.next().unwrap().unwrap().id.as_deref(), Some("0"));
    assert_eq!(rows.next().unwrap().unwrap().id.as_deref(), Some("1"));
    assert_eq!(server.requests().len(), 1);
    drop(rows);

    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let server = Server::start(move |_| match seen.fetch_add(1, Ordering::SeqCst) {
        0 => ok(br#"{"products":[{"id":"a"}],"pagination":{"total_count":2}}"#.to_vec()),
        _ => status(404, &[], ""),
    });
    let mut products = blocking(&server).products();
    assert!(products.next().unwrap().is_ok());
    // A list that has begun can't be unknown.
    assert_eq!(products.next().unwrap().unwrap_err().kind(), ErrorKind::Protocol);
    assert!(products.next().is_none());
}

#[test]
fn rows_that_come_twice_and_totals_that_do_not_hold_are_refused() {
    let same = Server::start(|_| ok(br#"{"results":[{"id":"a"}],"pagination":{}}"#.to_vec()));
    let rows = |server: &Server| {
        let projects = blocking(server).projects(&ProjectFilters::new());
        projects.collect::<Result<Vec<_>, _>>().map(drop).map_err(|e| e.kind())
    };
    assert_eq!(rows(&same), Err(ErrorKind::Protocol));
    let more = server(r#"{"results":[{"id":"a"}],"pagination":{"total_count":0}}"#);
    assert_eq!(rows(&more), Err(ErrorKind::Protocol));
    let less = Server::start(|request: &Request| {
        let rows = if request.target().contains("page=0") { r#"{"id":"a"}"# } else { "" };
        let body = format!(r#"{{"results":[{rows}],"pagination":{{"totalCount":3}}}}"#);
        ok(body.into_bytes())
    });
    assert_eq!(rows(&less), Err(ErrorKind::Protocol));
}

//! Lists that change while they are read (A3): read again from their start, up to three times.

use std::sync::atomic::{AtomicUsize, Ordering};

use rego_platform::ErrorKind;
use rego_platform::Platform;
use rego_platform::api::EnvironmentFilters;
use rego_platform::functions::FunctionSet;
use serde_json::{Value, json};

use super::script;
use super::server::{Request, Server};
use super::stage::{Column, builder, call};
use crate::support;

/// The rows and the `pagination` of a page: `true` for the first one.
type Pages = fn(bool) -> (&'static [usize], Value);

/// A list of two pages that doesn't change.
const STEADY: Pages = |first| {
    let (rows, cursor): (&[usize], _) = if first { (&[0, 1], "a") } else { (&[2], "") };
    (rows, json!({"total_count": 3, "next_cursor": cursor}))
};

/// Lists of two pages, between which something was added or removed.
#[rustfmt::skip]
const CHANGES: &[(&str, Pages)] = &[
    ("a total that grows", |first| if first { (&[0, 1], json!({"total_count": 3, "next_cursor": "a"})) } else { (&[2], json!({"total_count": 4, "next_cursor": ""})) }),
    ("a total that shrinks", |first| if first { (&[0, 1], json!({"total_count": 3, "next_cursor": "a"})) } else { (&[2], json!({"total_count": 2, "next_cursor": ""})) }),
    ("a row too many", |first| if first { (&[0, 1], json!({"total_count": 3, "next_cursor": "a"})) } else { (&[2, 3], json!({"next_cursor": ""})) }),
    ("a row too few", |first| if first { (&[0, 1], json!({"total_count": 3, "next_cursor": "a"})) } else { (&[], json!({"next_cursor": ""})) }),
    ("a row that moved to the next page", |first| if first { (&[0, 1], json!({"total_count": 3, "next_cursor": "a"})) } else { (&[1], json!({"next_cursor": ""})) }),
    ("a cursor that repeats", |first| if first { (&[0, 1], json!({"next_cursor": "a"})) } else { (&[2], json!({"next_cursor": "a"})) }),
    ("only rows that were there", |first| if first { (&[0, 1], json!({"next_cursor": "a"})) } else { (&[1], json!({"next_cursor": "b"})) }),
    ("by offset, a row that moved", |first| if first { (&[0, 1], json!({"total_count": 3})) } else { (&[1], json!({"total_count": 3})) }),
    ("by offset, a row that is gone", |first| if first { (&[0, 1], json!({"total_count": 3})) } else { (&[], json!({"total_count": 2})) }),
    ("by pages, one that is gone", |first| if first { (&[0, 1], json!({"total_pages": 3})) } else { (&[], json!({"total_pages": 3})) }),
];

/// Serves a list that changes during its first `times` reads, and isn't changed any more then.
fn serve(pages: Pages, times: usize) -> Server {
    let reads = AtomicUsize::new(0);
    Server::start(move |request| {
        let is_first = request.query("pagination.cursor").is_empty()
            && request.query("pagination.page").pop().is_none_or(|page| page == "0");
        let read = reads.fetch_add(usize::from(is_first), Ordering::SeqCst) + usize::from(is_first);
        let (rows, pagination) = if read <= times { pages(is_first) } else { STEADY(is_first) };
        script::ok(body(request, rows, &pagination).to_string().into_bytes())
    })
}

fn body(request: &Request, rows: &[usize], pagination: &Value) -> Value {
    let (name, key) = match request.path() {
        "/v1/evidence" | "/v1/projects" | "/v1/findings" => ("results", "id"),
        "/v1/compliance/project" => ("evaluations", "requirement_id"),
        "/v1/environments" => ("environments", "id"),
        path => {
            let row = |n| json!({"digest": format!("sha1:{n:040x}"), "kind": "GIT_HEAD_COMMIT"});
            let rows: Vec<_> = rows.iter().map(row).collect();
            let digest = path.rsplit('/').next();
            return json!({"result": {"digest": digest, "references": rows}, "pagination": pagination});
        }
    };
    let rows: Vec<_> = rows.iter().map(|n| json!({ key: n.to_string() })).collect();
    json!({ name: rows, "pagination": pagination })
}

fn platform(server: &Server) -> Platform {
    let builder = builder().controlplane_url(server.url()).base_url(server.url());
    builder.functions(FunctionSet::all()).build().unwrap()
}

#[test]
fn a_list_is_read_again_until_it_stays_the_same() {
    for (what, pages) in CHANGES {
        for column in [Column::Discover, Column::Evidence, Column::Compliance] {
            for times in 0..=4 {
                let server = serve(*pages, times);
                let (function, arguments) = call(column, 7);
                let result = platform(&server).call(function, &arguments);
                let requests = server.requests().len();
                let what = format!("{what}, {function}, {times} times: {requests} requests");
                if times <= 3 {
                    let answer = serde_json::to_value(result.expect(&what)).unwrap();
                    let rows = answer.as_object().unwrap().values().find_map(Value::as_array);
                    // The rows of the reads before aren't among them.
                    assert_eq!(rows.unwrap().len(), 3, "{what}");
                    assert_eq!(requests, 2 * times + 2, "{what}");
                } else {
                    let error = result.expect_err(&what);
                    assert_eq!(error.kind(), ErrorKind::Protocol, "{what}");
                    assert!(
                        error.hint().unwrap().contains("changed during every read (reads: 4)"),
                        "{what}"
                    );
                    assert_eq!(requests, 8, "{what}");
                }
            }
        }
    }
}

#[test]
fn the_ledger_says_how_often_a_list_was_read() {
    for (times, said) in [(0, false), (1, true), (3, true)] {
        let server = serve(CHANGES[0].1, times);
        let policies = support::policies(&[]);
        let query = "count(platform.evidence({}).results)";
        let options = support::options(&platform(&server));
        let evaluated = support::evaluate(&policies, query, "{}", &options);
        assert_eq!(evaluated.result.unwrap().value().unwrap().as_i64(), Some(3));
        let call = &evaluated.ledger.to_json()["calls"][0];
        assert_eq!(call["rereads"], times);
        assert_eq!(call["attempts"], 2 * times + 2);
        let shown = format!("(the list changed: read {} times)", times + 1);
        assert_eq!(evaluated.ledger.table().contains(&shown), said);
    }
}

/// Nothing can have changed within one answer.
#[test]
fn one_page_that_contradicts_itself_is_an_error_at_once() {
    for (rows, total) in [(&[0, 1][..], 1), (&[0, 0], 2)] {
        let server = Server::start(move |request| {
            let body = body(request, rows, &json!({"total_count": total, "next_cursor": ""}));
            script::ok(body.to_string().into_bytes())
        });
        let (function, arguments) = call(Column::Evidence, 7);
        let error = platform(&server).call(function, &arguments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert_eq!(server.requests().len(), 1);
    }
}

/// Who takes page after page has rows already.
#[test]
fn a_host_that_has_rows_gets_the_error() {
    let server = serve(CHANGES[0].1, 1);
    let platform = platform(&server);
    let rows = platform.api().blocking().environments(&EnvironmentFilters::new());
    let error = rows.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert!(error.hint().unwrap().contains("changed between two pages"), "{error:?}");
    assert_eq!(server.requests().len(), 2);
}

/// Time is bounded by the call's timeout: with none left, the list isn't read again.
#[test]
fn a_list_is_not_read_again_after_the_deadline() {
    let server = Server::start(|request| {
        let is_first = request.query("pagination.cursor").is_empty();
        let (rows, pagination) = CHANGES[0].1(is_first);
        let answer = script::ok(body(request, rows, &pagination).to_string().into_bytes());
        let pause = super::server::Step::Pause(std::time::Duration::from_millis(200));
        [vec![pause], answer].concat()
    });
    let builder = builder().base_url(server.url()).retries(0);
    let platform = builder.call_timeout(std::time::Duration::from_millis(500)).build().unwrap();
    let (function, arguments) = call(Column::Evidence, 7);
    let error = platform.call(function, &arguments).unwrap_err();
    assert!([ErrorKind::TimedOut, ErrorKind::Protocol].contains(&error.kind()), "{error:?}");
    assert!(server.requests().len() <= 4, "{:?}", server.requests().len());
}

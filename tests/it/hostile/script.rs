//! The building blocks of hostile answers.

use std::fmt::Write as _;

use super::server::Step;
use super::stage::{Column, Expect, Row, Rule, Seen};

/// Returns an HTTP/1.1 answer with a correct length.
pub fn http(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(out, "{name}: {value}\r\n").unwrap();
    }
    write!(out, "content-length: {}\r\n\r\n", body.len()).unwrap();
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}

pub fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Step> {
    vec![Step::Send(http(status, headers, body.as_bytes()))]
}

pub fn ok(body: Vec<u8>) -> Vec<Step> {
    vec![Step::Send(http(200, &[], &body))]
}

/// Returns an answer without a length: it ends with the connection.
pub fn until_close(body: &[u8]) -> Vec<Step> {
    raw(&[b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", body].concat())
}

pub fn raw(bytes: &[u8]) -> Vec<Step> {
    vec![Step::Send(bytes.to_vec())]
}

/// Returns the headers of an answer of `length` bytes, and what follows.
pub fn announced(length: impl std::fmt::Display, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

pub fn chunked(body: &[u8], rest: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let mut out = head.as_bytes().to_vec();
    for chunk in body.chunks(7) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Returns the right body with its unknown field replaced.
pub fn with_field(seen: &Seen, field: &str) -> Vec<u8> {
    let text = String::from_utf8(seen.good.clone()).unwrap();
    text.replacen(r#""extra":0"#, field, 1).into_bytes()
}

pub fn row(
    rule: Rule,
    name: impl Into<String>,
    expect: [Expect; 7],
    script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static,
) -> Row {
    Row { rule, name: name.into(), slow: false, script: Box::new(script), expect }
}

pub fn slow(
    rule: Rule,
    name: impl Into<String>,
    expect: [Expect; 7],
    script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static,
) -> Row {
    Row { slow: true, ..row(rule, name, expect, script) }
}

/// Returns a page of a list with `rows` rows numbered from `from`, and this `pagination`.
pub fn page(seen: &Seen, from: usize, rows: usize, pagination: &str) -> Vec<Step> {
    let numbers = from..from + rows;
    let text =
        |row: &dyn Fn(usize) -> String| numbers.clone().map(row).collect::<Vec<_>>().join(",");
    let body = match seen.column {
        Column::Discover => format!(
            r#"{{"result":{{"digest":"sha256:{:064x}","references":[{}]}},"pagination":{pagination}}}"#,
            seen.cell,
            text(&|n| format!(r#"{{"digest":"sha1:{n:040x}","kind":"COMMIT"}}"#)),
        ),
        Column::Evidence => format!(
            r#"{{"results":[{}],"pagination":{pagination}}}"#,
            text(&|n| format!(r#"{{"id":"{n}"}}"#)),
        ),
        _ => format!(
            r#"{{"evaluations":[{}],"pagination":{pagination}}}"#,
            text(&|n| format!(r#"{{"requirement_id":"{n}"}}"#)),
        ),
    };
    ok(body.into_bytes())
}

/// Returns the offset that was requested.
pub fn offset(seen: &Seen) -> usize {
    seen.request.query("pagination.page").pop().map_or(0, |v| v.parse().unwrap())
}

/// Returns `true` for a request of a list's first page.
pub fn is_first(seen: &Seen) -> bool {
    seen.request.query("pagination.cursor").is_empty()
}

//! The same over HTTP/2: errors between frames.
//!
//! Wrong bodies are in the matrix: they are the same here.

use std::time::Duration;

use rego_platform::ErrorKind;

use super::authority::Authority;
use super::frames::{
    Attack, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GOODBYE, HEADERS, PING, PUSH,
    RESET, SETTINGS, check_each, client, frame, over, timed,
};
use super::server::Step;
use super::stage::rules::*;
use super::stage::{CANARY, Column, Rule, call, documented, good, harmless};
use super::tls::FUNCTIONS;

/// `:status: 200`, in the protocol's table of headers.
const OK: &[u8] = &[0x88];

/// The end of a call.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Answers,
    Fails(ErrorKind),
    /// A part that was received is taken for the whole.
    Cut,
}

const ANS: Ends = Ends::Answers;
const UNV: Ends = Ends::Fails(ErrorKind::Unavailable);
const UNA: Ends = Ends::Fails(ErrorKind::Unauthenticated);
const LAR: Ends = Ends::Fails(ErrorKind::TooLarge);
const TIM: Ends = Ends::Fails(ErrorKind::TimedOut);
const CUT: Ends = Ends::Cut;

struct Row {
    rule: Rule,
    name: &'static str,
    ends: Ends,
    /// The server's first bytes.
    greeting: Vec<u8>,
    attack: Attack,
}

fn row(rule: Rule, name: &'static str, ends: Ends, attack: Attack) -> Row {
    Row { rule, name, ends, greeting: frame(SETTINGS, 0, 0, &[]), attack }
}

fn greeted(rule: Rule, name: &'static str, ends: Ends, greeting: Vec<u8>) -> Row {
    Row { rule, name, ends, greeting, attack: |_, _| Vec::new() }
}

/// Headers with a length, which is entry 28 of the protocol's table.
fn announced(length: usize) -> Vec<u8> {
    let text = length.to_string();
    [OK, &[0x0f, 0x0d, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, OK)
}

fn send(frames: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(frames.concat())]
}

/// A header of 4,000 bytes that is added to the table, then its number again and again.
fn bomb() -> Vec<u8> {
    let mut block = vec![0x88, 0x40, 1, b'x', 0x7f, 0xa1, 0x1e];
    block.extend(std::iter::repeat_n(b'y', 4_000));
    block.extend(std::iter::repeat_n(0xbe, 12_000));
    block
}

fn rows() -> Vec<Row> {
    #[rustfmt::skip]
    let rows = vec![
        row(A1, "a right answer",                 ANS, |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good)])),
        row(A1, "a right answer, byte by byte",   ANS, |n, good| { let mut all = vec![head(n)]; all.extend(good.iter().map(|b| frame(DATA, 0, n, &[*b]))); all.push(frame(DATA, END_STREAM, n, &[])); send(&all) }),
        row(A1, "a right answer, then a reset",   ANS, |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good), over(RESET, n, 0)])),
        row(A5, "a success in the trailers",      ANS, |n, good| send(&[head(n), frame(DATA, 0, n, good), frame(HEADERS, END_HEADERS | END_STREAM, n, b"\0\x0bgrpc-status\x010")])),
        row(A5, "early hints first",              ANS, |n, good| send(&[frame(HEADERS, END_HEADERS, n, b"\x08\x03103"), head(n), frame(DATA, END_STREAM, n, good)])),
        row(A6, "a refusal",                      UNA, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, b"\x08\x03401")])),
        row(N1, "reset",                          UNV, |n, _| send(&[over(RESET, n, 2)])),
        row(N1, "refused as unprocessed",         UNV, |n, _| send(&[over(RESET, n, 7)])),
        row(N1, "told to be calm",                UNV, |n, _| send(&[over(RESET, n, 11)])),
        row(N1, "told to use HTTP/1.1",           UNV, |n, _| send(&[over(RESET, n, 13)])),
        row(N3, "reset in the body",              UNV, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 2)])),
        row(N3, "ended well in the body",         CUT, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 0)])),
        row(N3, "ended well before its length",   UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len())), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 0)])),
        row(N1, "goodbye",                        UNV, |_, _| send(&[over(GOODBYE, 0, 0)])),
        row(N1, "goodbye with an error",          UNV, |_, _| send(&[over(GOODBYE, 0, 2)])),
        row(N1, "closed at once",                 UNV, |_, _| vec![Step::Reset]),
        row(N3, "closed in the body",             UNV, |n, good| vec![Step::Send([head(n), frame(DATA, 0, n, &good[..good.len() - 1])].concat()), Step::Reset]),
        row(N3, "a length too large",             UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len() + 9)), frame(DATA, END_STREAM, n, good)])),
        row(N3, "a length too small",             UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len() - 9)), frame(DATA, END_STREAM, n, good)])),
        row(A7, "a length of a terabyte",         LAR, |n, _| send(&[frame(HEADERS, END_HEADERS, n, &announced(1 << 40))])),
        row(N1, "no status",                      UNV, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, b"\x0f\x0d\x010")])),
        row(N1, "headers that can't be read",     UNV, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, &[0xff; 40])])),
        row(A7, "headers without end",            UNV, |n, _| vec![Step::Send(frame(HEADERS, 0, n, OK)), Step::Endless(frame(CONTINUATION, 0, n, &[0x88; 16_000]))]),
        row(A7, "empty headers without end",      UNV, |n, _| vec![Step::Send(frame(HEADERS, 0, n, OK)), Step::Endless(frame(CONTINUATION, 0, n, &[]).repeat(1_000))]),
        row(A7, "headers that grow to 48 MB",     UNV, |n, _| send(&[frame(HEADERS, END_HEADERS, n, &bomb())])),
        row(A7, "a body without end",             LAR, |n, _| vec![Step::Send(head(n)), Step::Endless(frame(DATA, 0, n, &[b' '; 16_000]))]),
        row(N1, "a body before its headers",      UNV, |n, good| send(&[frame(DATA, END_STREAM, n, good)])),
        row(N1, "a body of no stream",            UNV, |_, good| send(&[frame(DATA, END_STREAM, 0, good)])),
        row(N1, "an answer to no question",       UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n + 100, OK), frame(DATA, END_STREAM, n + 100, good)])),
        row(N1, "an answer that is pushed",       UNV, |n, _| send(&[frame(PUSH, END_HEADERS, n, b"\0\0\0\x02\x82\x84\x87\x41\x01x")])),
        row(A7, "a frame of 1 MiB",               UNV, |n, _| send(&[head(n), frame(DATA, END_STREAM, n, &vec![b' '; 1 << 20])])),
        row(N1, "another protocol in its midst",  UNV, |_, _| vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9))]),
        greeted(N1, "another protocol",           UNV, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9)),
        greeted(A7, "no greeting",                TIM, Vec::new()),
        greeted(A7, "no stream is allowed",       TIM, frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0])),
        greeted(A7, "no byte is allowed",         TIM, frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])),
        row(A7, "silence",                        TIM, |_, _| Vec::new()),
        row(A7, "silence in the body",            TIM, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1])])),
        row(A7, "a dripping body",                TIM, |n, good| vec![Step::Send(head(n)), Step::Drip(frame(DATA, 0, n, good).repeat(99), Duration::from_millis(20))]),
        row(A7, "pings without end",              TIM, |_, _| vec![Step::Endless(frame(PING, 0, 0, &[7; 8]))]),
        row(A7, "settings without end",           TIM, |_, _| vec![Step::Endless(frame(SETTINGS, 0, 0, &[]))]),
        row(A7, "interim answers without end",    TIM, |n, _| vec![Step::Drip(frame(HEADERS, END_HEADERS, n, b"\x08\x03103").repeat(99), Duration::from_millis(5))]),
    ];
    rows
}

/// Returns the right bodies for the requests of a call.
fn bodies(column: Column) -> Vec<Vec<u8>> {
    let second = if column == Column::Prompt { Column::Poll } else { column };
    vec![good(column, 7), good(second, 7)]
}

fn one(authority: &Authority, row: &Row, column: Column) -> Result<(), String> {
    let greeting = row.greeting.clone();
    let server = Frames::start(authority, "127.0.0.1", greeting, row.attack, bodies(column));
    let url = format!("https://{}", server.address);
    let platform = client(authority, row.ends == TIM).controlplane_url(&url).base_url(&url);
    let platform = platform.build().unwrap();
    let (function, arguments) = call(column, 7);
    let result = timed(|| platform.call(function, &arguments))?;
    // The start of an AI evaluation is never retried, whatever happened to it.
    let sent = server.requests();
    if column == Column::Prompt && row.ends != ANS && sent > 1 {
        return Err(format!("the prompt was sent {sent} times"));
    }
    let ends = match (row.ends, column) {
        (Ends::Cut, Column::Download) => Ends::Fails(ErrorKind::Tampered),
        (Ends::Cut, _) => Ends::Fails(ErrorKind::Protocol),
        (other, _) => other,
    };
    match (result, ends) {
        (Ok(value), Ends::Answers) => documented(function, &value),
        (Err(error), Ends::Fails(kind)) if error.kind() == kind => harmless(&error),
        (Ok(value), _) => Err(format!("it passed: {value}")),
        (Err(error), _) => Err(format!("{}: {}", error.kind(), error.report())),
    }
}

#[test]
fn every_function_withstands_every_row() {
    let authority = Authority::new();
    let rows = rows();
    let cells: Vec<(&Row, Column)> =
        rows.iter().flat_map(|row| FUNCTIONS.map(|column| (row, column))).collect();
    check_each(&cells, |(row, column)| {
        one(&authority, row, *column).map_err(|why| {
            assert!(!why.contains(CANARY));
            let Row { rule: Rule(rule), name, .. } = row;
            format!("{rule}: {name} × {column:?}: {why}")
        })
    });
}

//! The matrix: what goes wrong (a row) at which request (a column), and how the call ends.
//!
//! Every cell also checks that the call ends in time and that no output contains the token or a
//! signed URL; `stage` plays the cells. An answer counts only if it is the documented object.

use std::time::Duration;

use rego_platform::ErrorKind::{
    InvalidArgument, OperationFailed, PermissionDenied, Protocol, RateLimited, Tampered, TimedOut,
    TooLarge, Unauthenticated, Unavailable,
};

use super::script::*;
use super::server::Step;
use super::stage::rules::*;
use super::stage::{CANARY, Column, Expect, Row, play};

const OK: Expect = Expect::Answer;
/// The row doesn't apply to this request.
const NA: Expect = Expect::Nothing;
const INV: Expect = Expect::Fails(InvalidArgument);
const UNA: Expect = Expect::Fails(Unauthenticated);
const PER: Expect = Expect::Fails(PermissionDenied);
const RAT: Expect = Expect::Fails(RateLimited);
const UNV: Expect = Expect::Fails(Unavailable);
const TIM: Expect = Expect::Fails(TimedOut);
const TAM: Expect = Expect::Fails(Tampered);
const LAR: Expect = Expect::Fails(TooLarge);
const PRO: Expect = Expect::Fails(Protocol);
const FAI: Expect = Expect::Fails(OperationFailed);

/// Every column has the same end.
const fn all(expect: Expect) -> [Expect; 7] {
    [expect; 7]
}

/// JSON answers have one end, the bytes of an artifact another.
const fn json(expect: Expect, bytes: Expect) -> [Expect; 7] {
    [expect, expect, expect, expect, expect, bytes, bytes]
}

#[test]
fn statuses() {
    //              disc evid comp prom poll down store
    #[rustfmt::skip]
    let statuses = [
        (201, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (204, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (206, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (300, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (304, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (400, [INV, INV, INV, INV, INV, INV, UNV]),
        (401, [UNA, UNA, UNA, UNA, UNA, UNA, UNV]),
        (402, [PER, PER, PER, PER, PER, PER, UNV]),
        (403, [PER, PER, PER, PER, PER, PER, UNV]),
        // Only the service itself can state "not found", in its own form.
        (404, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (408, [TIM, TIM, TIM, TIM, TIM, TIM, UNV]),
        (409, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (418, [PRO, PRO, PRO, PRO, PRO, PRO, UNV]),
        (429, [RAT, RAT, RAT, RAT, RAT, RAT, RAT]),
        (500, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
        (501, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
        (502, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
        (503, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
        (504, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
        (599, [UNV, UNV, UNV, UNV, UNV, UNV, UNV]),
    ];
    let bodies = [
        r#"{"code":7,"reason":"no","message":"because \u001b[31m\u202e","metadata":{}}"#,
        r#"{"code":7,"message":"because","details":[{"@type":"x"}]}"#,
        "it is broken\r\n::error::really",
        "",
        "<html>sign in</html>",
        r#"["because"]"#,
    ];
    let echo = CANARY.replace('c', "\\u0063");
    let mut rows = Vec::new();
    for (code, expect) in statuses {
        for body in bodies {
            let shown: String = body.chars().take(12).collect();
            let name = format!("{code} with {shown:?}");
            rows.push(row(A6, name, expect, move |_| status(code, &[], body)));
        }
        rows.push(row(A6, format!("{code} and the right body"), expect, move |seen| {
            vec![Step::Send(http(code, &[], &seen.good))]
        }));
        rows.push(row(N5, format!("{code} that repeats the token"), expect, move |_| {
            status(code, &[], &format!(r#"{{"message":"no {CANARY}"}}"#))
        }));
        let echo = echo.clone();
        rows.push(row(N5, format!("{code} that repeats it in escapes"), expect, move |_| {
            status(code, &[], &format!(r#"{{"message":"no {echo}"}}"#))
        }));
        let without_body = matches!(code, 204 | 304);
        if !without_body {
            rows.push(row(A6, format!("{code}, body cut"), expect, move |_| {
                let mut answer = http(code, &[], br#"{"message":"because"}"#);
                answer.truncate(answer.len() - 5);
                raw(&answer)
            }));
            rows.push(row(A6, format!("{code}, endless body"), expect, move |_| {
                let head = format!("HTTP/1.1 {code} No\r\n\r\n{{");
                vec![Step::Send(head.into_bytes()), Step::Endless(vec![b' '; 4096])]
            }));
        }
    }
    play(rows);
}

#[test]
fn redirects() {
    let to = |location: &'static str| {
        move |_: &super::stage::Seen| status(302, &[("location", location)], "")
    };
    #[rustfmt::skip]
    let mut rows = vec![
        //                                      disc evid comp prom poll down store
        row(A6, "to a login page",                 [UNA, UNA, UNA, UNA, UNA, UNA, UNV], to("/auth/login?next=/")),
        row(A6, "to a login page elsewhere",       [UNA, UNA, UNA, UNA, UNA, UNA, NA],  to("https://login.invalid/auth/login")),
        row(A1, "to itself",                       [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("?")),
        row(A1, "to nowhere",                      [PRO, PRO, PRO, PRO, PRO, PRO, PRO], |_| status(302, &[], "")),
        row(A1, "to no URL",                       [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("http://[signed-")),
        row(N5, "to plain HTTP beyond loopback",   [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("http://192.0.2.1/?sig=signed-")),
        row(N5, "to ftp",                          [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("ftp://127.0.0.1/")),
        row(N5, "to a file",                       [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("file:///etc/passwd")),
        row(N5, "to a URL with a password",        [PRO, PRO, PRO, PRO, PRO, PRO, PRO], to("http://u:signed-@127.0.0.1/")),
        row(A6, "to a port without a listener",   [PRO, PRO, PRO, PRO, PRO, UNV, UNV], to("http://127.0.0.1:1/?sig=signed-")),
        row(A6, "to a host that doesn't exist",    [PRO, PRO, PRO, PRO, PRO, UNV, UNV], to("https://nowhere.invalid/?sig=signed-")),
        row(N5, "with the token in the URL",       [PRO, PRO, PRO, PRO, PRO, PRO, NA],  |s| {
            status(302, &[("location", &format!("{}/?t={CANARY}", s.elsewhere))], "")
        }),
        row(N5, "with the token in the URL, encoded", [PRO, PRO, PRO, PRO, PRO, PRO, NA], |s| {
            let token = CANARY.replace('c', "%63");
            status(302, &[("location", &format!("{}/?t={token}", s.elsewhere))], "")
        }),
        row(A7, "to a URL of 50 KiB",              [PRO, PRO, PRO, PRO, PRO, TAM, TAM], |s| {
            status(302, &[("location", &format!("{}/{}", s.elsewhere, "x".repeat(50 << 10)))], "")
        }),
        row(A7, "to a URL of 100 KiB",             [PRO, PRO, PRO, PRO, PRO, PRO, PRO], |s| {
            status(302, &[("location", &format!("{}/{}", s.elsewhere, "x".repeat(100 << 10)))], "")
        }),
    ];
    for code in [301, 302, 303, 307, 308] {
        let expect = [PRO, PRO, PRO, PRO, PRO, TAM, TAM];
        rows.push(row(N5, format!("{code} to another origin"), expect, move |seen| {
            status(code, &[("location", &seen.elsewhere)], "")
        }));
    }
    play(rows);
}

#[test]
fn bodies() {
    let is = |body: &'static [u8]| move |_: &super::stage::Seen| ok(body.to_vec());
    let field = |text: &'static str| move |seen: &super::stage::Seen| ok(with_field(seen, text));
    let nested = |depth: usize| format!(r#""extra":{}{}"#, "[".repeat(depth), "]".repeat(depth));
    let (deep, echo) = (nested(10_000), CANARY.replace('-', "\\u002D"));
    let echo_twice = echo.replace('\\', "\\\\");
    #[rustfmt::skip]
    let mut rows = vec![
        row(A1, "right",                           all(OK), |seen| ok(seen.good.clone())),
        row(A1, "nothing",                         json(PRO, TAM), is(b"")),
        row(A1, "white space",                     json(PRO, TAM), is(b" \n")),
        row(A1, "not JSON",                        json(PRO, TAM), is(b"nonsense")),
        row(A1, "a sign-in page",                  json(PRO, TAM), is(b"<!doctype html><title>Sign in</title>")),
        row(A2, "{}",                              json(PRO, TAM), is(b"{}")),
        row(A2, "an error body",                   json(PRO, TAM), is(br#"{"code":404,"reason":"no","message":"no","metadata":{}}"#)),
        row(A2, "an rpcStatus",                    json(PRO, TAM), is(br#"{"code":5,"message":"no","details":[]}"#)),
        row(A2, "[]",                              json(PRO, TAM), is(b"[]")),
        row(A2, "null",                            json(PRO, TAM), is(b"null")),
        row(A2, "a number",                        json(PRO, TAM), is(b"7")),
        row(A7, "10,000 levels",                   json(PRO, TAM), |_| ok("[".repeat(10_000).into_bytes())),
        row(A1, "two documents",                   json(PRO, TAM), |s| ok([&s.good[..], b"{}"].concat())),
        row(A1, "a byte order mark",               json(PRO, TAM), |s| ok([b"\xef\xbb\xbf", &s.good[..]].concat())),
        row(A1, "UTF-16",                          json(PRO, TAM), |s| ok(s.good.iter().flat_map(|b| [*b, 0]).collect())),
        row(A1, "a NUL behind it",                 json(PRO, TAM), |s| ok([&s.good[..], b"\0"].concat())),
        row(A1, "gzip",                            json(PRO, TAM), |_| vec![Step::Send(http(200, &[("content-encoding", "gzip")], b"\x1f\x8b\x08\0\0\0\0\0\0\x03"))]),
        row(A1, "said to be gzip and isn't",       all(OK), |s| vec![Step::Send(http(200, &[("content-encoding", "gzip")], &s.good))]),
        row(A1, "said to be another JSON",         all(OK), |s| vec![Step::Send(http(200, &[("content-type", "application/problem+json; charset=utf-8")], &s.good))]),
        row(A1, "said to be a page and isn't",     json(PRO, OK), |s| vec![Step::Send(http(200, &[("content-type", "text/html")], &s.good))]),
        row(A1, "invalid UTF-8 in a skipped field", json(PRO, NA), |s| ok([&s.good[..s.good.len() - 1], b",\"x\":\"\xff\"}"].concat())),
        row(A7, "10,000 levels in a field",        [PRO, PRO, PRO, OK, PRO, NA, NA], move |s| ok(with_field(s, &deep))),
        row(A2, "an integer of 64 bits",           json(OK, NA),  field(r#""extra":18446744073709551615"#)),
        row(A5, "an integer beyond 64 bits",       json(OK, NA), field(r#""extra":18446744073709551616"#)),
        row(A5, "a negative one beyond 64 bits",   json(OK, NA), field(r#""extra":-9223372036854775809"#)),
        row(A1, "NaN",                             json(PRO, NA), field(r#""extra":NaN"#)),
        row(A5, "an undocumented key twice",       json(OK, NA), field(r#""extra":0,"extra":0"#)),
        row(A1, "a documented key twice",          [PRO, PRO, PRO, NA, PRO, NA, NA], |s| ok(with_field(s, match s.column { Column::Discover => r#""kind":"CONTAINER_IMAGE""#, Column::Evidence => r#""name":"sbom""#, Column::Compliance => r#""st\u0061tus":"pass""#, _ => r#""outpu\u0074":"""# }))),
        row(A5, "half a surrogate pair",           json(OK, NA), field(r#""extra":"\ud800""#)),
        row(A1, "a comment",                       json(PRO, NA), field(r#""extra":0/**/"#)),
        row(A1, "a comma too many",                json(PRO, NA), field(r#""extra":[1,]"#)),
        row(N5, "the token",                       json(PRO, NA),  |s| ok(with_field(s, &format!(r#""extra":"{CANARY}""#)))),
        row(N5, "the token as a key",              json(PRO, NA), |s| ok(with_field(s, &format!(r#""{CANARY}":0"#)))),
        row(N5, "the token in escapes",            json(PRO, NA), move |s| ok(with_field(s, &format!(r#""extra":"{echo}""#)))),
        row(N5, "the token in escapes in escapes", json(PRO, NA), move |s| ok(with_field(s, &format!(r#""extra":"{echo_twice}""#)))),
        row(N5, "the token where a timestamp is",  [PRO, NA, NA, NA, PRO, NA, NA], |s| ok(with_field(s, &format!(r#""created_at":"{CANARY}""#)))),
    ];
    for tenth in 0..10 {
        let cut = move |body: &[u8]| body[..body.len() * tenth / 10].to_vec();
        rows.push(row(N3, format!("cut at {tenth}0 %, length told"), all(UNV), move |seen| {
            raw(&announced(seen.good.len(), &cut(&seen.good)))
        }));
        rows.push(row(N3, format!("cut at {tenth}0 %, no length"), json(PRO, TAM), move |seen| {
            until_close(&cut(&seen.good))
        }));
        rows.push(row(N3, format!("cut at {tenth}0 %, in chunks"), all(UNV), move |seen| {
            raw(&chunked(&cut(&seen.good), ""))
        }));
    }
    play(rows);
}

#[test]
fn transport() {
    let is = |bytes: &'static [u8]| move |_: &super::stage::Seen| raw(bytes);
    let late = Duration::from_secs(3);
    #[rustfmt::skip]
    let rows = vec![
        row(N3, "a length too large",              all(UNV), |s| raw(&announced(s.good.len() + 10, &s.good))),
        row(N3, "a length too small",              json(PRO, TAM), |s| raw(&announced(s.good.len() - 10, &s.good))),
        row(A7, "two lengths",                     all(UNV), |s| raw(&announced(format!("{}\r\ncontent-length: 3", s.good.len()), &s.good))),
        row(A7, "a negative length",               all(UNV), |s| raw(&announced(-1, &s.good))),
        row(A7, "a length of a terabyte",          all(LAR), |s| raw(&announced(1_u64 << 40, &s.good))),
        row(A7, "a length beyond 64 bits",         all(UNV), |s| raw(&announced("99999999999999999999", &s.good))),
        row(A1, "no length",                       all(OK),  |s| until_close(&s.good)),
        row(A7, "HTTP/1.0",                        all(OK),  |s| raw(&[b"HTTP/1.0 200 OK\r\n\r\n", &s.good[..]].concat())),
        row(A7, "HTTP/0.9",                        all(UNV), |s| ok_body_only(&s.good)),
        row(A7, "HTTP/3.0",                        all(UNV), is(b"HTTP/3.0 200 OK\r\ncontent-length: 0\r\n\r\n")),
        row(A7, "another protocol",                all(UNV), is(b"SSH-2.0-OpenSSH_9.9\r\n")),
        row(A7, "status 0",                        all(UNV), is(b"HTTP/1.1 000 No\r\n\r\n")),
        row(A7, "status 1000",                     all(UNV), is(b"HTTP/1.1 1000 No\r\n\r\n")),
        row(A1, "in chunks",                       all(OK),  |s| raw(&chunked(&s.good, "0\r\n\r\n"))),
        row(A7, "in chunks with trailers",         all(OK),  |s| raw(&chunked(&s.good, "0\r\nx-checksum: 1\r\n\r\n"))),
        row(A7, "a chunk of no number",            all(UNV), |s| raw(&chunked(&s.good, "zz\r\n"))),
        row(A7, "a chunk of 2^64",                 all(UNV), |s| raw(&chunked(&s.good, "10000000000000000\r\n"))),
        row(A7, "a chunk with extensions of 1 MiB", all(UNV), |s| raw(&chunked(&s.good, &format!("1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(1 << 20))))),
        row(A7, "trailers of 1 MiB",               all(UNV), |s| raw(&chunked(&s.good, &format!("0\r\nx: {}\r\n\r\n", "x".repeat(1 << 20))))),
        row(A7, "early hints first",               all(OK),  |s| raw(&[b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(3), http(200, &[], &s.good)].concat())),
        row(A7, "another protocol is switched to", [PRO, PRO, PRO, PRO, PRO, PRO, UNV], is(b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")),
        row(A7, "a header of 1 MiB",               all(UNV), |s| vec![Step::Send(http(200, &[("x", &"x".repeat(1 << 20))], &s.good))]),
        row(A7, "10,000 headers",                  all(UNV), |s| vec![Step::Send(http(200, &vec![("x", "y"); 10_000], &s.good))]),
        row(A7, "headers without end",             all(UNV), |_| vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Endless(b"x: y\r\n".repeat(500))]),
        row(A7, "a body without end",              all(LAR), |_| vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::Endless(vec![b' '; 4096])]),
        row(A7, "chunks without end",              all(LAR), |_| vec![Step::Send(chunked(b"{", "")), Step::Endless(b"400\r\n".iter().copied().chain([b' '; 0x400]).chain(*b"\r\n").collect())]),
        row(A7, "closed at once",                  all(UNV), |_| Vec::new()),
        row(A7, "reset at once",                   all(UNV), |_| vec![Step::Reset]),
        row(A7, "reset in the headers",            all(UNV), |_| vec![Step::Send(b"HTTP/1.1 200 OK\r\nconte".to_vec()), Step::Pause(Duration::from_millis(20)), Step::Reset]),
        row(N3, "reset after the headers",         all(UNV), |s| vec![Step::Send(announced(s.good.len(), b"")), Step::Pause(Duration::from_millis(20)), Step::Reset]),
        row(N3, "reset in the body",               all(UNV), |s| vec![Step::Send(announced(s.good.len(), &s.good[..9])), Step::Pause(Duration::from_millis(20)), Step::Reset]),
        slow(A7, "silence",                        all(TIM), move |_| vec![Step::Pause(late)]),
        slow(A7, "silence in the headers",         all(TIM), move |_| vec![Step::Send(b"HTTP/1.1 200 OK\r\nconte".to_vec()), Step::Pause(late)]),
        slow(A7, "silence in the body",            all(TIM), move |s| vec![Step::Send(announced(s.good.len(), &s.good[..9])), Step::Pause(late)]),
        slow(A7, "dripping headers",               all(TIM), |_| vec![Step::Drip(http(200, &[("x", &"x".repeat(200))], b""), Duration::from_millis(40))]),
        slow(A7, "a dripping body",                all(TIM), |s| vec![Step::Send(announced(s.good.len() + 99, b"")), Step::Drip([&s.good[..], &[b' '; 99]].concat(), Duration::from_millis(40))]),
        slow(A7, "interim answers without end",    all(TIM), |_| vec![Step::Drip(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40), Duration::from_millis(4))]),
    ];
    let mut rows = rows;
    for after in [
        "0",
        "-1",
        "1.5",
        "soon",
        "31536000",
        "18446744073709551615",
        "9".repeat(40).as_str(),
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let header = after.to_owned();
        rows.push(row(A7, format!("429 with Retry-After: {after}"), all(RAT), move |_| {
            status(429, &[("retry-after", &header)], "")
        }));
        let header = after.to_owned();
        rows.push(row(A7, format!("503 with Retry-After: {after}"), all(UNV), move |_| {
            status(503, &[("retry-after", &header)], "")
        }));
    }
    play(rows);
}

#[test]
fn pages() {
    let lists = |expect| [expect, expect, expect, NA, NA, NA, NA];
    let next = |cursor: usize| format!(r#"{{"next_cursor":"c{cursor}"}}"#);
    #[rustfmt::skip]
    let rows = vec![
        row(A3, "a cursor that repeats",           lists(PRO), move |s| page(s, s.attempt, 1, &next(7))),
        row(A3, "a circle of two",                 lists(PRO), move |s| page(s, s.attempt, 1, &next(s.attempt % 2))),
        row(A3, "20 empty pages, then rows",       lists(OK),  move |s| if s.attempt < 20 { page(s, 0, 0, &next(s.attempt)) } else { page(s, 0, 3, "{}") }),
        row(A7, "empty pages without end",         lists(LAR), move |s| page(s, 0, 0, &next(s.attempt))),
        row(A7, "rows without end",                lists(LAR), move |s| page(s, s.attempt * 100, 100, &next(s.attempt))),
        row(A7, "a total without end",             lists(LAR), |s| page(s, offset(s), 1, r#"{"total_count":1000000}"#)),
        row(A7, "a cursor of 10 KiB",              lists(PRO), |s| page(s, 0, 1, &format!(r#"{{"next_cursor":"{}"}}"#, "x".repeat(10 << 10)))),
        row(A2, "a cursor that is a number",       lists(PRO), |s| page(s, 0, 1, r#"{"next_cursor":7}"#)),
        row(A3, "a cursor that is null",           lists(OK),  |s| page(s, 0, 1, r#"{"nextCursor":null}"#)),
        row(A1, "two cursors that differ",         lists(PRO), |s| if s.attempt == 0 { page(s, 0, 1, r#"{"nextCursor":"a","next_cursor":"b"}"#) } else { page(s, 1, 1, "{}") }),
        row(A2, "a pagination that is an array",   lists(PRO), |s| page(s, 0, 1, "[]")),
        row(A3, "a total of more than comes",      lists(PRO), |s| if offset(s) == 0 { page(s, 0, 1, r#"{"total_count":3}"#) } else { page(s, 0, 0, r#"{"total_count":3}"#) }),
        row(A3, "a total of less than comes",      lists(PRO), |s| page(s, 0, 2, r#"{"total_count":1}"#)),
        row(A3, "a total that changes",            lists(PRO), |s| page(s, offset(s), 1, &format!(r#"{{"total_count":{}}}"#, 9 - s.attempt))),
        row(A3, "a total that disappears",         lists(PRO), |s| if offset(s) == 0 { page(s, 0, 1, r#"{"total_count":3}"#) } else { page(s, 1, 0, "{}") }),
        row(A2, "a total below zero",              lists(PRO), |s| page(s, 0, 1, r#"{"total_count":-1}"#)),
        row(A2, "a total with a fraction",         lists(PRO), |s| page(s, 0, 1, r#"{"total_count":1.5}"#)),
        row(A2, "a total as a string",             lists(OK),  |s| page(s, 0, 2, r#"{"total_count":"2"}"#)),
        row(A3, "the same page again",             lists(PRO), |s| page(s, 0, 1, r#"{"total_count":3}"#)),
        row(A3, "a part of a page again",          lists(PRO), move |s| if is_first(s) { page(s, 0, 2, &next(0)) } else { page(s, 0, 1, "{}") }),
        row(A3, "two pages again as one",          lists(PRO), move |s| match s.request.query("pagination.cursor").pop().as_deref() { None => page(s, 0, 1, &next(0)), Some("c0") => page(s, 1, 1, &next(1)), Some(_) => page(s, 0, 2, "{}") }),
        row(A3, "a page that overlaps the last",   lists(OK),  move |s| if s.attempt == 0 { page(s, 0, 2, &next(0)) } else { page(s, 1, 2, "{}") }),
        row(A3, "three pages by offset",           lists(OK),  |s| page(s, offset(s), 1, &format!(r#"{{"total_count":3,"page":{}}}"#, offset(s)))),
        row(A3, "announced pages that don't come", lists(PRO), |s| page(s, 0, usize::from(offset(s) == 0), r#"{"page_size":1,"total_pages":3}"#)),
        row(A3, "three announced pages",           lists(OK),  |s| page(s, offset(s), 1, &format!(r#"{{"page":{},"page_size":1,"total_pages":3}}"#, offset(s)))),
        row(A3, "an announced page is the first",  lists(PRO), |s| page(s, 0, 1, r#"{"total_pages":2}"#)),
        row(A3, "the same row twice in a page",    lists(PRO), |s| {
            let twice = page(s, 0, 1, r#"{"total_count":2}"#);
            let Some(Step::Send(bytes)) = twice.first() else { panic!("no answer") };
            let body = String::from_utf8_lossy(bytes).into_owned();
            let body = body.split_once("\r\n\r\n").unwrap().1.to_owned();
            let (start, rest) = body.split_once('[').unwrap();
            let (row, end) = rest.split_once(']').unwrap();
            ok(format!("{start}[{row},{row}]{end}").into_bytes())
        }),
        row(A2, "a reference that is null",        [PRO, NA, NA, NA, NA, NA, NA], |s| replaced(s, r#""references":["#, r#""references":[null,"#)),
        row(A6, "the second page is unknown",      lists(PRO), move |s| if s.attempt == 0 { page(s, 0, 1, &next(1)) } else { status(404, &[], "") }),
        row(A6, "the second page is forbidden",    lists(PER), move |s| if s.attempt == 0 { page(s, 0, 1, &next(1)) } else { status(403, &[], "") }),
        row(N3, "the second page is cut",          lists(PRO), move |s| if s.attempt == 0 { page(s, 0, 1, &next(1)) } else { until_close(&s.good[..20]) }),
        row(A4, "the second page is of another digest", [PRO, NA, NA, NA, NA, NA, NA], move |s| if s.attempt == 0 { page(s, 0, 1, &next(1)) } else {
            ok(br#"{"result":{"digest":"sha256:0","references":[]}}"#.to_vec())
        }),
    ];
    play(rows);
}

#[test]
fn content_store() {
    let store = |expect| [NA, NA, NA, NA, NA, NA, expect];
    let both = |expect| [NA, NA, NA, NA, NA, expect, expect];
    let once = |code: u16| {
        move |s: &super::stage::Seen| {
            if s.attempt == 0 { status(code, &[], "") } else { ok(s.good.clone()) }
        }
    };
    #[rustfmt::skip]
    let rows = vec![
        row(N4, "a wrong byte",                    both(TAM),  |s| { let mut body = s.good.clone(); body[7] ^= 1; ok(body) }),
        row(N4, "a byte less",                     both(TAM),  |s| ok(s.good[1..].to_vec())),
        row(N4, "a byte more",                     both(TAM),  |s| ok([&s.good[..], b"!"].concat())),
        row(N4, "cut silently",                    both(TAM),  |s| until_close(&s.good[..9])),
        row(N4, "nothing",                         both(TAM),  |_| ok(Vec::new())),
        row(A7, "larger than the cap",             both(LAR),  |_| vec![Step::Send(announced(300 << 10, b"")), Step::Endless(vec![0; 4096])]),
        row(A7, "its URL expired, a fresh one works", store(OK), once(401)),
        row(A7, "its URL is refused, a fresh one works", store(OK), once(403)),
        row(A7, "every URL is refused",            store(UNV), |_| status(403, &[], "<Error>signed-x</Error>")),
        row(A7, "busy once",                       both(OK),   once(503)),
        row(A7, "cut once",                        both(OK),   |s| if s.attempt == 0 { raw(&announced(s.good.len(), b"x")) } else { ok(s.good.clone()) }),
        row(A7, "another redirect, then the bytes", store(OK), |s| if s.attempt == 0 { status(307, &[("location", s.request.target())], "") } else { ok(s.good.clone()) }),
        row(A7, "four redirects",                  store(PRO), |s| if s.attempt < 4 { status(307, &[("location", s.request.target())], "") } else { ok(s.good.clone()) }),
    ];
    play(rows);
}

#[test]
fn operations() {
    let prompt = |expect| [NA, NA, NA, expect, NA, NA, NA];
    let poll = |expect| [NA, NA, NA, NA, expect, NA, NA];
    let started = |id: &str| {
        let body = format!(r#"{{"operation_id":{id}}}"#);
        move |_: &super::stage::Seen| ok(body.clone().into_bytes())
    };
    let is = |rest: &'static str| {
        move |s: &super::stage::Seen| {
            ok(format!(r#"{{"operation":{{"id":"op-{}",{rest}}}}}"#, s.cell).into_bytes())
        }
    };
    let output = |output: &'static str| {
        move |s: &super::stage::Seen| {
            let text = serde_json::Value::from(output);
            ok(format!(r#"{{"operation":{{"id":"op-{}","status":"ASYNC_OPERATION_STATUS_COMPLETED","output":{text}}}}}"#, s.cell).into_bytes())
        }
    };
    #[rustfmt::skip]
    let rows = vec![
        row(N5, "an id with slashes and dots",     prompt(PRO), started(r#""../../discover/x""#)),
        row(N5, "an id of dots",                   prompt(PRO), started(r#""..""#)),
        row(N5, "an id of encoded dots",           prompt(PRO), started(r#""%2e%2E""#)),
        row(N5, "an id with a query",              prompt(PRO), started(r#""x?y=z#w""#)),
        row(N5, "an id with a line break",         prompt(PRO), started(r#""x\r\nhost: evil""#)),
        row(A2, "an empty id",                     prompt(PRO), started(r#""""#)),
        row(A2, "an id that is a number",          prompt(PRO), started("7")),
        row(A2, "an id that is null",              prompt(PRO), started("null")),
        row(A7, "an id of 10 KiB",                 prompt(PRO), started(&format!(r#""{}""#, "x".repeat(10 << 10)))),
        slow(A7, "never over",                     poll(TIM), is(r#""status":"ASYNC_OPERATION_STATUS_RUNNING""#)),
        slow(A5, "an unknown status",                    poll(TIM), is(r#""status":"SUCCEEDED","output":"{\"skipped\":false}""#)),
        slow(A7, "no status",                      poll(TIM), is(r#""status":null"#)),
        row(A6, "over with an unknown status",         poll(FAI), is(r#""status":"DONE","finished_at":"2026-01-02T03:04:05Z""#)),
        row(N5, "failed with control characters",  poll(FAI), is(r#""status":"ASYNC_OPERATION_STATUS_FAILED","error_message":"\u001b[2J\r\n::error::\u202e\u0000""#)),
        row(N1, "failed without a message",        poll(FAI), is(r#""status":"ASYNC_OPERATION_STATUS_FAILED""#)),
        row(N1, "failed, and a good output",       poll(FAI), is(r#""status":"ASYNC_OPERATION_STATUS_FAILED","output":"{\"skipped\":false}""#)),
        row(N1, "cancelled",                       poll(FAI), is(r#""status":"ASYNC_OPERATION_STATUS_CANCELLED""#)),
        row(A2, "over without output",             poll(PRO), is(r#""status":"ASYNC_OPERATION_STATUS_SUCCEEDED""#)),
        row(A2, "output that is an object",        poll(PRO), is(r#""status":"ASYNC_OPERATION_STATUS_SUCCEEDED","output":{"skipped":false}"#)),
        row(A2, "an operation that is null",       poll(PRO), |_| ok(br#"{"operation":null}"#.to_vec())),
        row(A4, "another operation",               poll(PRO), |_| ok(br#"{"operation":{"id":"op-x","status":"ASYNC_OPERATION_STATUS_SUCCEEDED","output":"{\"skipped\":false}"}}"#.to_vec())),
        row(A2, "output: skipped",                 poll(OK),  output(r#"{"skipped":true,"violations":[]}"#)),
        row(A2, "output: not JSON",                poll(PRO), output("looks fine!")),
        row(A2, "output: nothing",                 poll(PRO), output("")),
        row(A2, "output: {}",                      poll(PRO), output("{}")),
        row(A2, "output: an array",                poll(PRO), output("[false,[]]")),
        row(A2, "output: null violations",         poll(PRO), output(r#"{"violations":null}"#)),
        row(A2, "output: violations that are no strings", poll(PRO), output(r#"{"skipped":false,"violations":[{"message":"x"}]}"#)),
        row(A2, "output: violations in one string", poll(PRO), output(r#"{"skipped":false,"violations":"x"}"#)),
        row(A2, "output: skipped as a string",     poll(PRO), output(r#"{"skipped":"false"}"#)),
        row(A1, "output: violations twice",        poll(PRO), output(r#"{"violations":["x"],"violations":[]}"#)),
        row(A2, "output: two documents",           poll(PRO), output(r#"{"skipped":false}{"violations":["x"]}"#)),
        row(A7, "output: 10,000 levels",           poll(PRO), |s| {
            let text = format!(r#"{{\"violations\":[],\"x\":{}}}"#, "[".repeat(10_000));
            ok(format!(r#"{{"operation":{{"id":"op-{}","status":"ASYNC_OPERATION_STATUS_SUCCEEDED","output":"{text}"}}}}"#, s.cell).into_bytes())
        }),
    ];
    play(rows);
}

fn replaced(seen: &super::stage::Seen, from: &str, to: &str) -> Vec<Step> {
    let good = String::from_utf8(seen.good.clone()).unwrap();
    assert!(good.contains(from), "{good}");
    ok(good.replacen(from, to, 1).into_bytes())
}

fn ok_body_only(body: &[u8]) -> Vec<Step> {
    raw(body)
}

#[test]
fn a_row_is_played_in_every_column() {
    // The stage itself: an expectation that fails is reported.
    let rows: Vec<Row> = vec![row(A6, "wrong on purpose", all(UNV), |s| ok(s.good.clone()))];
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(rows)));
    let message = *played.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("7 cells are wrong"), "{message}");
}

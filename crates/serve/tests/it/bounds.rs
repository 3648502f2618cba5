//! Bounds on requests, and hostile clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::Method;

use super::support::{
    CLEAN_IMAGE, HANG, emulator, platform, serve, serve_policy, unavailable, until,
};
use rego_platform::evaluate::Answers;

const POLICY: &str =
    "package p\n\nkind := platform.discover(input.image, \"\").kind\n\nalways := true\n";

/// A policy that takes for ever.
const ENDLESS: &str = "package p\n\nn := count([1 | some i in numbers.range(1, 100000); some j in numbers.range(1, 100000); i == j])\n\nalways := true\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_and_is_free_again() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    let platform = platform(&emulator);
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform.clone()), |options| {
        options.bounds.queue = 2;
    });
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let ask = || {
        let (url, body) = (served.url("/v1/data/p/kind"), body.clone());
        tokio::spawn(async move { super::support::ask(&url, Method::POST, &[], body).await })
    };
    let waiting = [ask(), ask()];
    let queued = async || served.get("/metrics").await.body.contains("_requests_queued 2\n");
    while !queued().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = served.post("/v1/data/p/always", "{}").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"), "{refused:?}");
    assert_eq!(served.get("/health").await.status, 200);
    until("the calls are sent", || platform.calls_in_flight() > 0).await;

    // The clients leave: their evaluations end, and so do their calls.
    for client in waiting {
        client.abort();
    }
    until("the calls are given up", || platform.calls_in_flight() == 0).await;
    while served.post("/v1/data/p/always", "{}").await.status == 429 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_ends_in_its_time_and_others_go_on() {
    let served = serve(&[("p.rego", ENDLESS)], unavailable(), |options| {
        options.evaluate.budget.timeout = Duration::from_millis(300);
    });
    let answer = served.post("/v1/data/p/n", "{}").await;
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("timed out"), "{answer:?}");
    // One time for all inputs of a batch.
    let inputs: Vec<String> = (0..50).map(|n| format!("\"{n}\": {{}}")).collect();
    let body = format!("{{\"inputs\": {{{}}}}}", inputs.join(", "));
    assert_eq!(served.post("/v1/batch/data/p/n", &body).await.status, 500);
    assert_eq!(served.post("/v1/data/p/always", "{}").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_bounded_however_they_come() {
    let served = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.bounds.body = 1000;
    });
    let large = format!(r#"{{"input": "{}"}}"#, "x".repeat(1000));
    let answer = served.post("/v1/data/p/always", &large).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("request body too large"), "{answer:?}");

    let chunk = format!("{:x}\r\n{large}\r\n", large.len());
    let chunked = format!(
        "POST /v1/data/p/always HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunk}0\r\n\r\n"
    );
    let raw = served.raw(chunked.as_bytes());
    assert!(raw.starts_with("HTTP/1.1 400 "), "{raw}");

    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    zipped.write_all(&vec![b' '; 1 << 20]).unwrap();
    let bomb = zipped.finish().unwrap();
    assert!(bomb.len() > 1000 || !bomb.is_empty());
    let gzip = [("content-encoding", "gzip")];
    let answer = served.send(Method::POST, "/v1/data/p/always", &gzip, bomb).await;
    assert_eq!(answer.status, 400, "{answer:?}");

    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    zipped.write_all(b"{\"input\": 1}").unwrap();
    let body = zipped.finish().unwrap();
    let answer = served.send(Method::POST, "/v1/data/p/always", &gzip, body.clone()).await;
    assert_eq!(answer.body, "{\"result\":true}\n");
    let cut = body[..body.len() - 6].to_vec();
    let answer = served.send(Method::POST, "/v1/data/p/always", &gzip, cut).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    let twice = [("content-encoding", "gzip"), ("content-encoding", "br")];
    assert_eq!(served.send(Method::POST, "/v1/data/p/always", &twice, body).await.status, 400);
    let other = [("content-encoding", "br")];
    assert_eq!(served.send(Method::POST, "/v1/data/p/always", &other, "{}").await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_bounded_together() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    let platform = platform(&emulator);
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform.clone()), |options| {
        options.bounds.body = 4000;
        options.bounds.bodies = 5000;
    });
    let padding = "x".repeat(3000);
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}", "x": "{padding}"}}}}"#);
    let url = served.url("/v1/data/p/kind");
    let (asked, large) = (url.clone(), body.clone());
    let first =
        tokio::spawn(async move { super::support::ask(&asked, Method::POST, &[], large).await });
    until("the call is sent", || platform.calls_in_flight() > 0).await;
    assert_eq!(served.post("/v1/data/p/always", &body).await.status, 429);
    assert_eq!(served.post("/v1/data/p/always", "{}").await.status, 200);
    first.abort();
    until("the call is given up", || platform.calls_in_flight() == 0).await;
    while served.post("/v1/data/p/always", &body).await.status == 429 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_ends_in_its_time() {
    let policy = ENDLESS.replace("always := true", "deny contains \"x\" if n == 1");
    let served = serve(&[("p.rego", &policy)], unavailable(), |options| {
        options.evaluate.budget.timeout = Duration::from_millis(500);
    });
    let inputs: Vec<String> = (0..200).map(|n| format!("\"{n}\": {{}}")).collect();
    let body = format!("{{\"inputs\": {{{}}}}}", inputs.join(", "));
    let began = std::time::Instant::now();
    assert_eq!(served.post("/v1/gate", &body).await.status, 500);
    // Not 200 times as long.
    assert!(began.elapsed() < HANG);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_bounded() {
    let policy =
        "package p\n\nbig := [\"xxxxxxxxxx\" | some _ in numbers.range(1, 1000)]\n\nsmall := 1\n";
    let served = serve(&[("p.rego", policy)], unavailable(), |options| {
        options.bounds.answer = 1000;
    });
    for path in ["/v1/data/p/big", "/v0/data/p/big"] {
        let answer = served.post(path, "{}").await;
        assert_eq!(answer.status, 500, "{answer:?}");
        assert!(answer.body.contains("response too large: more than 1000 bytes"), "{answer:?}");
    }
    assert_eq!(served.get("/v1/data/p/small").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_get_an_answer_or_none_and_harm_nobody() {
    let served = serve_policy(POLICY);
    let deep = format!(r#"{{"input": {}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(served.post("/v1/data/p/always", &deep).await.status, 400);
    let allowed = format!(r#"{{"input": {}{}}}"#, "[".repeat(500), "]".repeat(500));
    assert_eq!(served.post("/v1/data/p/always", &allowed).await.status, 200);
    let long = format!(r#"{{"query": "{}"}}"#, "1;".repeat(100_000));
    assert_eq!(served.post("/v1/query", &long).await.status, 400);
    let nested = format!(r#"{{"query": "{}1{}"}}"#, "[".repeat(30_000), "]".repeat(30_000));
    assert_eq!(served.post("/v1/query", &nested).await.status, 400);
    for (name, raw) in [
        (
            "a path that isn't UTF-8",
            "GET /v1/data/%ff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        ),
        ("another protocol", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n"),
        (
            "two lengths",
            "POST /v1/data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        ),
        (
            "two ways of framing",
            "POST /v1/data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\n{}",
        ),
        ("a header without an end", "GET / HTTP/1.1\r\nHost localhost\r\n\r\n"),
    ] {
        let answer = served.raw(raw.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{name}: {answer}");
    }
    let huge = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    let answer = served.raw(huge.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // Two requests at once are two answers, in their order.
    let both = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/data/p/always HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answers = served.raw(both.as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert!(answers.ends_with("{\"result\":true}\n"), "{answers}");
    assert_eq!(served.get("/v1/data/p/always").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_allowed_wait() {
    let served = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.bounds.connections = 1;
    });
    let idle = TcpStream::connect(served.server.address()).unwrap();
    let url = served.url("/health");
    let waiting =
        tokio::spawn(async move { super::support::ask(&url, Method::GET, &[], "").await.status });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    drop(idle);
    assert_eq!(waiting.await.unwrap(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_begun_is_answered_when_the_server_stops() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=500ms".parse().unwrap()]);
    let platform = platform(&emulator);
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform.clone()), |_| {});
    let (url, address) = (served.url("/v1/data/p/kind"), served.server.address());
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let begun =
        tokio::spawn(async move { super::support::ask(&url, Method::POST, &[], body).await });
    until("the call is sent", || platform.calls_in_flight() > 0).await;
    // An idle connection doesn't keep it.
    let mut idle = TcpStream::connect(address).unwrap();
    idle.set_read_timeout(Some(HANG)).unwrap();
    let server = served.server;
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    assert_eq!(begun.await.unwrap().body, "{\"result\":\"CONTAINER_IMAGE\"}\n");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_ever() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    let platform = platform(&emulator);
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform.clone()), |options| {
        options.bounds.grace = Duration::from_millis(100);
    });
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let text = format!(
        "POST /v1/data/p/kind HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut begun = TcpStream::connect(served.server.address()).unwrap();
    begun.write_all(text.as_bytes()).unwrap();
    begun.set_read_timeout(Some(HANG)).unwrap();
    until("the call is sent", || platform.calls_in_flight() > 0).await;
    let server = served.server;
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    let mut answer = Vec::new();
    let _ = begun.read_to_end(&mut answer);
    assert_eq!(answer, b"", "an evaluation that was cut off has no answer");
}

/// What hasn't arrived takes neither memory nor a place in the queue.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_have_not_arrived_stop_nobody() {
    let served = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.bounds.body = 4000;
        options.bounds.bodies = 8000;
        options.bounds.queue = 2;
    });
    let open = |framing: &str, body: &str| {
        let mut stream = TcpStream::connect(served.server.address()).unwrap();
        let head = format!(
            "POST /v1/data/p/always HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let idle: Vec<_> = ["Transfer-Encoding: chunked", "Content-Length: 3900"]
        .into_iter()
        .cycle()
        .take(40)
        .map(|framing| open(framing, ""))
        .collect();
    let gzip = open("Transfer-Encoding: chunked\r\nContent-Encoding: gzip", "");
    // One that is whole is answered, behind all of these.
    assert_eq!(served.post("/v1/data/p/always", "{}").await.status, 200);
    // What has arrived counts.
    let partly: Vec<_> = (0..2).map(|_| open("Content-Length: 3900", &" ".repeat(3500))).collect();
    while served.post("/v1/data/p/always", &" ".repeat(3000)).await.status != 429 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop((idle, gzip, partly));
    while served.post("/v1/data/p/always", &" ".repeat(3000)).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_share_their_memory() {
    let policy = "package p\n\nbig := count([x | some i in numbers.range(1, 200000); x := sprintf(\"%d\", [i])])\n\nsmall := 1\n";
    let served = serve(&[("p.rego", policy)], unavailable(), |options| {
        options.bounds.memory = 4 << 20;
    });
    let answer = served.get("/v1/data/p/big").await;
    assert_eq!(answer.status, 500, "{answer:?}");
    assert!(answer.body.contains("values of all evaluations too large"), "{answer:?}");
    assert_eq!(served.get("/v1/data/p/small").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_with_thousands_of_groups_harms_nobody() {
    let policy = "package p\n\nmatches if regex.match(input.p, input.t)\n\ngroups := regex.find_all_string_submatch_n(input.p, input.t, -1)\n";
    let served = serve(&[("p.rego", policy)], unavailable(), |_| {});
    let body =
        format!(r#"{{"input": {{"p": "{}", "t": "{}"}}}}"#, "(a)?".repeat(16_000), "a".repeat(300));
    let answer = served.post("/v1/data/p/matches", &body).await;
    assert_eq!(answer.body, "{\"result\":true}\n");
    let answer = served.post("/v1/data/p/groups", &body).await;
    assert!(answer.body.contains("the pattern is too large"), "{answer:?}");
}

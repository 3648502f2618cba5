//! Approvals: sent only once, whatever happens to them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rego_platform::{ErrorKind, Platform, Token};
use serde_json::{Value, json};

use super::hostile::{TOKEN, blocking};
use crate::hostile::script::{http, ok, status};
use crate::hostile::server::{Request, Server, Step};

/// It can't be known whether it was approved: it must not be sent again.
#[test]
fn an_approval_is_sent_once_whatever_becomes_of_its_answer() {
    let broken: Vec<(&str, Vec<Step>)> = vec![
        ("reset", vec![Step::Reset]),
        ("closed", vec![]),
        ("silence", vec![Step::Pause(Duration::from_secs(2))]),
        ("half a head", vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()), Step::Reset]),
        (
            "half a body",
            vec![
                Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"result\":".to_vec()),
                Step::Reset,
            ],
        ),
        ("cut JSON", vec![Step::Send(http(200, &[], br#"{"result":{"id":"#))]),
        ("busy", status(503, &[("retry-after", "0")], "")),
        ("too many", status(429, &[("retry-after", "0")], "")),
        ("timeout", status(408, &[], "")),
        ("moved", status(307, &[("location", "/elsewhere")], "")),
        ("nothing", ok(b"{}".to_vec())),
        ("empty", ok(br#"{"result":{}}"#.to_vec())),
        ("another", ok(br#"{"result":{"id":"2"}}"#.to_vec())),
    ];
    for (name, steps) in broken {
        let server = Server::start(move |_| steps.clone());
        let error = blocking(&server).approve("r/../1", Some(name)).unwrap_err();
        // A client of another test may still be trying a server that had this port before.
        let approves = |request: &Request| {
            serde_json::from_slice::<Value>(&request.body)
                .is_ok_and(|body| body["review_note"] == name)
        };
        let requests: Vec<_> = server.requests().into_iter().filter(approves).collect();
        assert_eq!(requests.len(), 1, "{name}: {requests:?}");
        assert_eq!(
            requests[0].line(),
            "POST /v1/assessments/revisions/r%2F..%2F1/approve HTTP/1.1"
        );
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body, json!({"review_note": name}));
        let lost = !["too many", "moved"].contains(&name);
        let hint = error.hint().unwrap_or_default().to_owned();
        assert_eq!(hint.contains("before you approve again"), lost, "{name}: {error}: {hint}");
    }
}

/// Returns another token each time.
struct Fresh(AtomicUsize);

impl rego_platform::TokenProvider for Fresh {
    fn token(&self) -> rego_platform::TokenFuture<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Token::new(format!("token-{number}")) })
    }
}

#[test]
fn an_approval_that_never_left_is_tried_again_and_a_refused_token_is_not() {
    let closed = Server::start(|_| vec![]).address;
    let platform = Platform::builder()
        .base_url(format!("http://{closed}"))
        .token(Token::new(TOKEN).unwrap())
        .first_pause(Duration::from_millis(1))
        .build()
        .unwrap();
    let error = platform.api().blocking().approve("r", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);

    let server = Server::start(|_| status(401, &[], ""));
    let platform = Platform::builder()
        .base_url(server.url())
        .token_provider(Fresh(AtomicUsize::new(0)))
        .build()
        .unwrap();
    platform.api().blocking().approve("r", None).unwrap_err();
    assert_eq!(server.requests().len(), 1);
    platform.api().blocking().product_version("p", "v").unwrap_err();
    assert_eq!(server.requests().len(), 3);
}

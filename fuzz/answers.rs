//! The service's answers: any body, with a status of the documented ones, to a request of each function.
//!
//! Shared by the fuzz target `answers` and the smoke run of the library's tests. The service is a real
//! server on loopback, and the client the one of the library.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rego_platform::{ErrorKind, Platform, Token, Value};

/// The functions with their arguments, for which a seed is the answer. The last two ask for the same: the answer is that to the start
/// of an evaluation, or that to the question how far it is.
const CALLS: &[(&str, &str)] = &[
    (
        "discover",
        r#"["sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", null]"#,
    ),
    ("evidence", "[{}]"),
    ("project_compliance", r#"[{"project_version_id": "e6f7c74d-1750-5f0a-a1a0-1bb0531a1a5c"}]"#),
    (
        "download_artifact",
        r#"["sha256:839911f7069c399a2f333e36f5ccdb29efc0cea0ea5c492fcb6c37136d52bae9"]"#,
    ),
    ("evidence_prompt", r#"["content", "started"]"#),
    ("evidence_prompt", r#"["content", "polled"]"#),
];

const STATUSES: [u16; 4] = [200, 404, 400, 500];

/// What the server answers next.
#[derive(Default)]
struct Next {
    status: u16,
    body: Vec<u8>,
    /// The answer is that to the question how far an evaluation is.
    is_poll: bool,
}

/// A service with one answer, and a client of it.
pub struct Service {
    platform: Platform,
    next: Arc<Mutex<Next>>,
}

impl Service {
    /// Starts the service.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let next = Arc::<Mutex<Next>>::default();
        let shared = Arc::clone(&next);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let next = Arc::clone(&shared);
                std::thread::spawn(move || converse(&stream, &next));
            }
        });
        let platform = Platform::builder()
            .controlplane_url(&url)
            .base_url(&url)
            .token(Token::new("canary").expect("a token"))
            .proxy_from_env(false)
            .retries(0)
            .first_pause(Duration::from_millis(1))
            .build()
            .expect("a platform");
        Self { platform, next }
    }

    /// Returns the ways to answer with a body, and whether a body can be the call's answer in that way.
    pub fn kinds() -> impl Iterator<Item = (usize, bool)> {
        let count = CALLS.len() * STATUSES.len();
        (0..count).map(|kind| (kind, kind < CALLS.len()))
    }

    /// Answers a call with a body; returns `true` if the call has an answer. A failure is a panic, an
    /// error that counts as an answer, or a token in an error.
    pub fn run(&self, kind: usize, body: &[u8]) -> bool {
        let index = kind % CALLS.len();
        let (function, arguments) = CALLS[index];
        let status = STATUSES[kind / CALLS.len() % STATUSES.len()];
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) =
            Next { status, body: body.to_owned(), is_poll: index == CALLS.len() - 1 };
        let arguments = Value::from_json(arguments).expect("arguments");
        let arguments = arguments.as_array().expect("an array");
        match self.platform.call(function, arguments) {
            Ok(_) => {
                assert_eq!(status, 200, "{function} took an error for an answer");
                true
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{}", error.report());
                assert!(!error.report().contains("canary"), "{}", error.report());
                false
            }
        }
    }
}

/// Answers the requests of a connection.
fn converse(stream: &TcpStream, next: &Mutex<Next>) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                if line == "\r\n" {
                    break;
                }
                if first.is_empty() {
                    first = line;
                }
            } else {
                return;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let (status, body) = answer(&first, next);
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

/// Returns the status and the body for a request.
fn answer(request: &str, next: &Mutex<Next>) -> (u16, Vec<u8>) {
    const STARTED: &[u8] = br#"{"operation_id": "o"}"#;
    const DONE: &[u8] = br#"{"operation": {"id": "o", "status": "ASYNC_OPERATION_STATUS_SUCCEEDED",
        "output": "{\"skipped\": true, \"violations\": []}"}}"#;
    let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
    if next.is_poll && request.starts_with("POST") {
        return (200, STARTED.to_vec());
    }
    // An evaluation that is still running is over when it is asked about again.
    if request.contains("/operations/") && !std::mem::take(&mut next.is_poll) {
        return (200, DONE.to_vec());
    }
    (next.status, next.body.clone())
}

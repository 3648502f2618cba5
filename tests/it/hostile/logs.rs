//! Logs at the finest level: no secret in any line of this test, and of those that run beside it.

use std::io;
use std::sync::{Mutex, OnceLock};

use rego_platform::ErrorKind;
use tracing_subscriber::EnvFilter;

use super::script;
use super::server::Server;
use super::stage::{CANARY, Column, SIGNED, call, content, platform};

/// The lines that show a secret, and the number of lines.
#[derive(Default)]
struct Seen {
    lines: usize,
    secrets: Vec<String>,
}

static SEEN: OnceLock<Mutex<Seen>> = OnceLock::new();

struct Look;

impl io::Write for Look {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let mut seen = SEEN.get_or_init(Mutex::default).lock().unwrap();
        seen.lines += 1;
        if line.contains("canary-") || line.contains("signed-") {
            seen.secrets.push(line.into_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// N5: a secret is in no log.
#[test]
fn no_line_shows_a_token_or_a_signed_url() {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(|| Look)
        .with_filter_reloading();
    let level = subscriber.reload_handle();
    subscriber.try_init().unwrap();
    let store = Server::start(|request| match request.path().rsplit('/').next() {
        Some("1") => script::status(503, &[], &format!("{SIGNED} {CANARY}")),
        _ => script::ok(content(7)),
    });
    let location = format!("{}/{SIGNED}/0?sig={SIGNED}", store.url());
    let broken = format!("{}/{SIGNED}/1?sig={SIGNED}", store.url());
    let server = Server::start(move |request| {
        let escaped = CANARY.replace('a', "\\u0061");
        match request.path() {
            "/v1/evidence" => {
                script::status(503, &[], &format!(r#"{{"message":"see {escaped} {CANARY}"}}"#))
            }
            path if path.ends_with(&super::stage::digest(&content(7))[7..]) => {
                script::status(302, &[("location", &location)], "")
            }
            _ => script::status(302, &[("location", &broken)], ""),
        }
    });
    let platform = platform(&server);
    for (column, cell, kind) in [
        (Column::Download, 7, None),
        (Column::Download, 8, Some(ErrorKind::Unavailable)),
        (Column::Evidence, 7, Some(ErrorKind::Unavailable)),
        (Column::Discover, 7, Some(ErrorKind::Protocol)),
    ] {
        let (function, arguments) = call(column, cell);
        assert_eq!(platform.call(function, &arguments).err().map(|e| e.kind()), kind);
    }
    // For the tests behind this one: each would take far longer.
    level.reload(EnvFilter::new("off")).unwrap();
    let seen = SEEN.get_or_init(Mutex::default).lock().unwrap();
    assert!(seen.lines > 4, "nothing was logged");
    assert!(seen.secrets.is_empty(), "{:?}", seen.secrets);
}

//! `--verbose`: this crate's own events, on standard error.
//!
//! Events of the HTTP stack are never shown: they may contain signed URLs.

use std::io::{self, Write};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub(super) fn start(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        // A request is a span: it gets a line when it ends, with its duration.
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(|| Escaped);
    let only_ours = Targets::new().with_target("rego_platform", level);
    // Another subscriber in this process is kept.
    let _ = tracing_subscriber::registry().with(only_ours).with(layer).try_init();
}

/// Standard error, with untrusted text escaped. Each event arrives as one write.
struct Escaped;

impl Write for Escaped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = rego_platform_client::text::escape_for_log(&String::from_utf8_lossy(bytes));
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

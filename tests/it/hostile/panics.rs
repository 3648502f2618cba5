//! A process that prints every panic in full: no secret in any of them.
//!
//! The process is this one again, with one test and a variable that makes it the child: a panic
//! hook affects the whole process.

use std::panic::{self, AssertUnwindSafe};
use std::process::Command;

use rego_platform::evaluate::Policies;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::Sources;
use rego_platform::{Error, ErrorKind, Platform, Token, TokenFuture, TokenProvider};

use super::script;
use super::server::{Request, Server, Step};
use super::stage::{CANARY, SIGNED, builder, call};
use super::tls::FUNCTIONS;

const CHILD: &str = "PANICS_OF_A_CHILD";

/// N5: a secret is in no panic.
#[test]
fn a_hook_that_prints_everything_sees_no_secret() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let name = "hostile::panics::a_hook_that_prints_everything_sees_no_secret";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, "1")
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    let shown = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{shown}");
    // Every panic was printed, with its message and its backtrace.
    let panics = shown.matches("PANIC ").count();
    assert!(panics >= 6 * FUNCTIONS.len() + 6, "{panics} panics: {shown}");
    assert!(shown.contains("unauthenticated: ") && shown.contains("panics.rs"), "{shown}");
    for secret in ["canary-", "signed-"] {
        let at = shown.find(secret);
        assert_eq!(at.map(|at| &shown[at.saturating_sub(200)..at]), None, "`{secret}` is shown");
    }
}

/// A provider that returns a token once, and then panics.
struct Breaking(std::sync::atomic::AtomicUsize);

impl TokenProvider for Breaking {
    fn token(&self) -> TokenFuture<'_> {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async move {
            assert!(before == 0, "the provider broke");
            Token::new(CANARY)
        })
    }
}

fn child() {
    panic::set_hook(Box::new(|info| {
        let trace = std::backtrace::Backtrace::force_capture();
        eprintln!("PANIC {info} {info:?}\n{trace}");
    }));
    let answers: [fn(&Request) -> Vec<Step>; 6] = [
        |_| script::status(401, &[], &format!(r#"{{"message":"no {CANARY} {SIGNED}"}}"#)),
        |_| script::status(500, &[], CANARY),
        |_| {
            let location = format!("http://u:{CANARY}@localhost:9/{SIGNED}?sig={SIGNED}");
            script::status(302, &[("location", &location)], "")
        },
        |_| script::ok(format!(r#"{{"results":["{CANARY}"]}}"#).into_bytes()),
        |_| script::ok(format!("<html>{CANARY}").into_bytes()),
        |_| vec![Step::Reset],
    ];
    for answer in answers {
        let server = Server::start(answer);
        let platform = super::stage::platform(&server);
        for column in FUNCTIONS {
            let (function, arguments) = call(column, 7);
            shows(|| platform.call(function, &arguments).unwrap());
        }
    }
    everything_public();
    a_provider_that_breaks();
}

/// Runs code that must panic.
fn shows<T>(work: impl FnOnce() -> T) {
    assert!(panic::catch_unwind(AssertUnwindSafe(work)).is_err(), "nothing panicked");
}

/// Prints the `Debug` of a host's values.
fn everything_public() {
    let server = Server::start(|_| script::status(401, &[], CANARY));
    let url = format!("http://u:{CANARY}@127.0.0.1/");
    let builder = builder().controlplane_url(&url).base_url(&url);
    shows(|| panic!("{builder:?} {builder:#?}"));
    shows(|| builder.build().unwrap());
    let platform = super::stage::platform(&server);
    shows(|| panic!("{platform:?} {platform:#?} {:?}", Token::new(CANARY)));
    let text = "package p\n\nx if not platform.evidence({}).results[0].id\n";
    let sources = Sources::text("p.rego", text);
    let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
    let query = policies.query("data.p.x").unwrap();
    let options = platform.options();
    let evaluated = policies.evaluate(&query, None, &options);
    shows(|| panic!("{evaluated:?} {options:?}"));
    shows(|| evaluated.result.unwrap());
}

/// The panic is the provider's; the call ends with an error all the same.
fn a_provider_that_breaks() {
    let server = Server::start(|_| script::status(401, &[], CANARY));
    let platform: Platform = Platform::builder()
        .token_provider(Breaking(0.into()))
        .controlplane_url(server.url())
        .base_url(server.url())
        .retries(0)
        .build()
        .unwrap();
    for column in FUNCTIONS {
        let (function, arguments) = call(column, 7);
        let error: Error = platform.call(function, &arguments).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::Internal),
            "{error:?}"
        );
        shows(|| panic!("{error:?} {}", error.report()));
    }
}

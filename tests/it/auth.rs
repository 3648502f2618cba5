//! Tokens: their origin, their replacement, and that no output shows them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rego_platform::{
    Error, ErrorKind, Platform, Product, Token, TokenFuture, TokenKind, TokenProvider,
};
use rego_platform_emulator::{Emulator, EmulatorOptions};
use serde_json::json;

use crate::emulator::{CLEAN_IMAGE, start};
use crate::functions::{ask, client_as, misbehave, paths};
use crate::support::HANG;

/// Returns its tokens one after the other, the last one forever.
struct Several {
    tokens: Vec<String>,
    asked: Arc<AtomicUsize>,
}

impl TokenProvider for Several {
    fn token(&self) -> TokenFuture<'_> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let token = self.tokens[asked.min(self.tokens.len() - 1)].clone();
        Box::pin(async move {
            // A provider takes its time; meanwhile other calls ask.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Token::new(token)
        })
    }
}

fn with(emulator: &Emulator, tokens: &[&str]) -> (Platform, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let text = |name: &&str| emulator.token(name).unwrap_or_else(|| (*name).to_owned());
    let provider = Several { tokens: tokens.iter().map(text).collect(), asked: Arc::clone(&asked) };
    (client_as(emulator, "ci").token_provider(provider).build().unwrap(), asked)
}

#[test]
fn a_provider_is_asked_once_and_again_when_its_token_is_refused() {
    let emulator = start(EmulatorOptions::default());
    let (platform, asked) = with(&emulator, &["refused-by-the-service", "ci"]);
    let image = json!([CLEAN_IMAGE, ""]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| ask(&platform, "discover", &image).unwrap());
        }
    });
    assert_eq!(asked.load(Ordering::SeqCst), 2, "one token for all, one in its place");
    ask(&platform, "discover", &image).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // A provider that has only the refused token: its refusal is the answer, after two requests.
    let (platform, asked) = with(&emulator, &["refused-by-the-service"]);
    let error = ask(&platform, "discover", &image).unwrap_err();
    assert_eq!((error.kind(), asked.load(Ordering::SeqCst)), (ErrorKind::Unauthenticated, 2));
}

#[test]
fn a_prompt_is_not_sent_again_with_another_token_but_the_next_one_has_it() {
    let emulator = start(EmulatorOptions::default());
    let (platform, _) = with(&emulator, &["refused-by-the-service", "ci"]);
    let error = ask(&platform, "evidence_prompt", &json!(["x", "check"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(paths(&emulator), ["POST /v1/agents/evaluate-evidence"]);
    ask(&platform, "evidence_prompt", &json!(["x", "check"])).unwrap();
}

#[test]
fn an_expired_token_is_replaced_before_anything_is_sent() {
    let emulator = start(EmulatorOptions::default());
    let (platform, asked) = with(&emulator, &["expired", "ci"]);
    let image = json!([CLEAN_IMAGE, ""]);
    let error = ask(&platform, "discover", &image).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(emulator.requests().len(), 0);
    ask(&platform, "discover", &image).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// A faulty provider.
struct Bad(fn() -> TokenFuture<'static>);

impl TokenProvider for Bad {
    fn token(&self) -> TokenFuture<'_> {
        (self.0)()
    }
}

#[test]
fn a_provider_that_hangs_fails_or_panics_ends_the_call_not_the_process() {
    let emulator = start(EmulatorOptions::default());
    let bad: [(fn() -> TokenFuture<'static>, ErrorKind); 3] = [
        (|| Box::pin(std::future::pending()), ErrorKind::TimedOut),
        (
            || Box::pin(async { Err(Error::new(ErrorKind::Unauthenticated, "no")) }),
            ErrorKind::Unauthenticated,
        ),
        (|| Box::pin(async { panic!("on purpose") }), ErrorKind::Internal),
    ];
    for (provider, kind) in bad {
        let platform = client_as(&emulator, "ci")
            .token_provider(Bad(provider))
            .call_timeout(Duration::from_millis(300))
            .build()
            .unwrap();
        let started = Instant::now();
        for _ in 0..2 {
            let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
            assert_eq!(error.kind(), kind);
        }
        assert!(platform.token().is_err());
        assert!(started.elapsed() < HANG);
        // Requests without a token still work.
        platform.infoz().unwrap();
    }
}

#[test]
fn a_token_that_expires_between_two_calls_is_reported() {
    let emulator = start(EmulatorOptions::default());
    let (platform, _) = with(&emulator, &["ci"]);
    misbehave(&emulator, &["discover:status=401:count=1"]);
    // The provider has no other token than the refused one.
    let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(error.hint().unwrap().contains("log in again"));
}

#[test]
fn nothing_shows_a_secret() {
    const CANARY: &str = "canary-91d0";
    let token = Token::new(CANARY).unwrap();
    let builder = Platform::builder()
        .token(token.clone())
        .organization("acme")
        .controlplane_url(format!("https://user:{CANARY}@api.example"))
        .base_url("https://api.example")
        .proxy(format!("ftp://user:{CANARY}@proxy.example:3128"));
    let mut shown = format!("{token:?} {builder:?} {builder:#?}");
    let fixed = builder.clone().controlplane_url("https://api.example");
    for wrong in [builder, fixed.clone().ca_certificate(CANARY)] {
        let error = wrong.build().unwrap_err();
        write!(shown, "{error} {error:?} {}", error.report()).unwrap();
    }
    let platform = fixed.build().unwrap();
    let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{}", error.report());
    write!(shown, "{platform:?} {platform:#?} {error:?} {}", error.report()).unwrap();
    write!(shown, "{:?} {:?}", platform.token(), platform.infoz()).unwrap();
    write!(shown, "{:?}", rego_platform::functions::FUNCTIONS).unwrap();
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn values_that_no_header_can_carry_are_refused_and_not_repeated() {
    for name in ["", " ", "a\r\nx-evil: 1", "a\0", "é", "a\tb", "a\u{7f}"] {
        let error = Platform::builder().organization(name).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{name:?}");
        assert!(!error.report().chars().any(char::is_control));
    }
    for token in ["", " ", "canary\r\nx: y", "canary\0", "canary é", "canary\u{7f}"] {
        let error = Token::new(token).unwrap_err();
        assert!(!format!("{error:?}").contains("canary"), "{token:?}");
    }
}

#[test]
fn the_longest_timeouts_are_no_overflow() {
    let emulator = start(EmulatorOptions::default());
    let platform = client_as(&emulator, "ci")
        .call_timeout(Duration::MAX)
        .idle_timeout(Duration::MAX)
        .connect_timeout(Duration::MAX)
        .first_pause(Duration::MAX)
        .build()
        .unwrap();
    ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap();
    misbehave(&emulator, &["discover:status=403"]);
    ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
}

/// A provider that asks the service itself, and waits for the answer.
struct Asks(Arc<std::sync::OnceLock<Platform>>);

impl TokenProvider for Asks {
    fn token(&self) -> TokenFuture<'_> {
        let platform = self.0.get().unwrap().clone();
        Box::pin(async move { platform.infoz().and_then(|_| Token::new("unreachable")) })
    }
}

#[test]
fn a_provider_that_waits_for_the_service_is_refused_instead_of_waiting_for_itself() {
    let emulator = start(EmulatorOptions::default());
    let itself = Arc::new(std::sync::OnceLock::new());
    let provider = Asks(Arc::clone(&itself));
    let platform = client_as(&emulator, "ci").token_provider(provider).build().unwrap();
    itself.set(platform.clone()).unwrap();
    let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{}", error.report());
    platform.infoz().unwrap();
}

fn jwt(claims: &str) -> String {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    format!("{}.{}.c2ln", base64.encode(r#"{"alg":"HS256","typ":"JWT"}"#), base64.encode(claims))
}

#[test]
fn a_token_that_was_copied_with_something_around_it_is_refused() {
    for (text, said, hint) in [
        ("Bearer abc", "begins with `Bearer`", "remove `Bearer `"),
        ("bearer\tabc", "begins with `Bearer`", "remove `Bearer `"),
        ("\"abc\"", "quotes around the token", "remove the quotes"),
        ("'abc'", "quotes around the token", "remove the quotes"),
        ("a bc", "white space", "copy the token again"),
    ] {
        let error = Token::new(text).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
        assert!(error.hint().is_some_and(|given| given.contains(hint)), "{text}: {error:?}");
        assert!(!error.to_string().contains("abc"), "{error}");
    }
}

proptest! {
    #[test]
    fn a_token_is_an_api_token_exactly_by_its_audience_and_expires_by_its_claim(
        audiences in prop::collection::vec("(user-auth|api-token-auth)\\.(platform|other)|[a-z.-]{0,20}", 0..4),
        as_string in any::<bool>(),
        expires in prop::option::of(0_i64..4_000_000_000),
        now in 0_i64..4_000_000_000,
    ) {
        let audience = match audiences.first() {
            Some(one) if as_string => json!(one),
            _ => json!(audiences),
        };
        let seen = if as_string { &audiences[..audiences.len().min(1)] } else { &audiences[..] };
        let token = Token::new(jwt(&json!({"aud": audience, "exp": expires}).to_string())).unwrap();
        let is_api = seen.iter().any(|a| a == "api-token-auth.platform");
        let kind = if is_api { TokenKind::Api } else { TokenKind::User };
        prop_assert_eq!(token.kind(&Product::default()), kind);
        prop_assert_eq!(token.expires_at().map(|at| at.timestamp()), expires);
        let at = chrono::DateTime::from_timestamp(now, 0).unwrap();
        prop_assert_eq!(token.is_expired(at), expires.is_some_and(|expires| now > expires + 60));
    }

    #[test]
    fn claims_of_any_shape_make_an_opaque_user_token_at_worst(claims in "\\PC{0,80}", text in "[!#-&(-~]{1,80}") {
        prop_assert!(Token::new(text).unwrap().expires_at().is_none());
        let token = Token::new(jwt(&claims)).unwrap();
        let shown = format!("{token:?}");
        prop_assert!(!shown.contains("eyJ"));
        prop_assert_eq!(token.kind(&Product::default()), TokenKind::User);
    }
}

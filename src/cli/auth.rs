//! `auth status`: where each value comes from, and whether it would work.
//!
//! Owns the report. It never holds the token's text, only what the token says about itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::rego::Value;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::args::Options;
use super::context::Context;
use super::lookup::Sourced;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};
use crate::text::{escape, escape_for_log};
use crate::{Error, ErrorKind, Platform, Product, Token, TokenKind};

/// Show where each value of the authentication context comes from, and try both addresses
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 when all is well, 2 when something is missing, expired, refused \
    or unreachable.\n\nExample: rego-platform auth status --format json"
)]
pub(super) struct StatusArgs {
    /// How the status is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

#[derive(Debug, Serialize)]
struct Status {
    ok: bool,
    product: String,
    config: Option<String>,
    token: Option<TokenStatus>,
    organization: Option<Said>,
    controlplane_url: Option<Said>,
    base_url: Option<Said>,
    control_plane: Option<Reached>,
    backend: Option<Reached>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Said {
    value: String,
    origin: String,
}

#[derive(Debug, Serialize)]
struct TokenStatus {
    kind: &'static str,
    origin: String,
    expires_at: Option<String>,
    expired: bool,
    expiry: String,
}

/// What trying one of the two addresses showed.
#[derive(Debug, Default, Serialize)]
struct Reached {
    /// Null when nothing could be tried there.
    reachable: Option<bool>,
    /// Whether the token is good there; null when that couldn't be found out.
    accepted: Option<bool>,
    version: Option<String>,
    latency_ms: Option<u64>,
    error: Option<String>,
}

/// How hints end that lead to this command.
const HERE: &str = ", or check the token";

/// A status is for someone who waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(args: StatusArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let patience = options.timeout.min(PATIENCE);
    let platform = context.builder(options)?.retries(0).call_timeout(patience).build()?;
    let status = {
        // The control plane is asked twice, one after the other.
        let _watchdog = watchdog::start(patience * 2)?;
        status(&context, &platform, Utc::now())
    };
    let text = match args.format {
        Format::Human => human(&status),
        Format::Json => output::json(&status)? + "\n",
    };
    output::to_stdout(text.as_bytes())?;
    Ok(if status.ok { Exit::Passed } else { Exit::NoVerdict })
}

fn status(context: &Context, platform: &Platform, now: DateTime<Utc>) -> Status {
    let mut problems = Vec::new();
    let mut problem = |error: &Error| {
        // Whoever reads this has done what the others' hints end with.
        let hint = error.hint().map(|hint| hint.trim_end_matches(HERE));
        problems.push(match hint {
            Some(hint) => format!("{}; {hint}", error.report()),
            None => error.report(),
        });
    };
    let token = platform.token();
    if let Err(error) = &token {
        problem(error);
    }
    let (control_plane, backend) = try_both(context, platform, token.is_ok());
    let (control_plane, refused) = control_plane.unzip();
    let (backend, refused_there) = backend.unzip();
    for error in [refused, refused_there].into_iter().flatten().flatten() {
        problem(&error);
    }
    if context.controlplane_url.is_none() {
        problem(&missing("control plane", &context.product, "CONTROLPLANE_URL"));
    }
    if context.base_url.is_none() {
        problem(&missing("platform backend", &context.product, "BASE_URL"));
    }
    let said = |value: &Option<Sourced<String>>| {
        let value = value.as_ref()?;
        Some(Said { value: value.value.clone(), origin: value.origin.to_string() })
    };
    Status {
        ok: problems.is_empty(),
        product: context.product.to_string(),
        config: context.config.as_deref().map(Path::display).map(|path| path.to_string()),
        token: context.token.as_ref().map(|token| token_status(token, &context.product, now)),
        organization: said(&context.organization),
        controlplane_url: said(&context.controlplane_url),
        base_url: said(&context.base_url),
        control_plane,
        backend,
        problems,
    }
}

fn missing(what: &str, product: &Product, suffix: &str) -> Error {
    let message = format!("the address of the {what} isn't set");
    Error::new(ErrorKind::Configuration, message)
        .with_hint(format!("set the environment variable `{}`", product.env(suffix)))
}

/// What was found, and the error if there was one.
type Tried = (Reached, Option<Error>);

/// Tries the addresses that are set, at the same time.
fn try_both(
    context: &Context,
    platform: &Platform,
    with_token: bool,
) -> (Option<Tried>, Option<Tried>) {
    std::thread::scope(|scope| {
        let backend =
            context.base_url.as_ref().map(|_| scope.spawn(|| try_backend(platform, with_token)));
        let control_plane =
            context.controlplane_url.as_ref().map(|_| try_control_plane(platform, with_token));
        (control_plane, backend.and_then(|thread| thread.join().ok()))
    })
}

/// Asks who it is, without the token, then with the token for a resource that doesn't exist.
fn try_control_plane(platform: &Platform, with_token: bool) -> Tried {
    let start = Instant::now();
    let infoz = match platform.infoz() {
        Ok(infoz) => infoz,
        Err(error) => return tried(start, Reached::default(), Some(error)),
    };
    let version = Some(infoz.version).filter(|version| !version.is_empty());
    let (reached, _) = tried(start, Reached { version, ..Reached::default() }, None);
    if !with_token {
        return (reached, None);
    }
    let nothing = format!("sha256:{}", "0".repeat(64));
    let error = platform.call("discover", &[Value::from(nothing), Value::Null]).err();
    judged(reached, error.filter(|error| error.kind() != ErrorKind::NotFound))
}

/// Asks for one piece of evidence: the backend answers only with a token.
fn try_backend(platform: &Platform, with_token: bool) -> Tried {
    if !with_token {
        return (Reached::default(), None);
    }
    let start = Instant::now();
    let filters = [(Value::from("limit"), Value::from(1_u64))];
    let error = platform.call("evidence", &[Value::from(BTreeMap::from(filters))]).err();
    let (reached, error) = tried(start, Reached::default(), error);
    judged(reached, error)
}

/// The answer, if any, and its latency.
fn tried(start: Instant, mut reached: Reached, error: Option<Error>) -> Tried {
    let silent =
        |error: &Error| matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::TimedOut);
    let answered = !error.as_ref().is_some_and(silent);
    reached.reachable = Some(answered);
    if answered {
        reached.latency_ms = u64::try_from(start.elapsed().as_millis()).ok();
    }
    reached.error = error.as_ref().map(Error::report);
    (reached, error)
}

/// Whether the token is good, as far as the outcome of a call with it says.
fn judged(mut reached: Reached, error: Option<Error>) -> Tried {
    reached.accepted = match error.as_ref().map(Error::kind) {
        None => Some(true),
        Some(ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => Some(false),
        Some(_) => None,
    };
    reached.error = error.as_ref().map(Error::report);
    (reached, error)
}

fn token_status(token: &Sourced<Token>, product: &Product, now: DateTime<Utc>) -> TokenStatus {
    let expires_at = token.value.expires_at();
    let past = expires_at.is_some_and(|at| at <= now);
    let expiry = match token.value.distance(now) {
        None if token.value.is_opaque() => "opaque: its expiry isn't known".to_owned(),
        None => "without an expiry date".to_owned(),
        Some(distance) if past => format!("expired {distance} ago"),
        Some(distance) => format!("expires in {distance}"),
    };
    TokenStatus {
        kind: match token.value.kind(product) {
            TokenKind::User => "user token",
            TokenKind::Api => "API token",
        },
        origin: token.origin.to_string(),
        expires_at: expires_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
        expired: token.value.is_expired(now),
        expiry,
    }
}

fn human(status: &Status) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<15}{}", escape(text));
    };
    line("product", &status.product);
    line("config file", status.config.as_deref().unwrap_or("none"));
    match &status.token {
        None => line("token", "none"),
        Some(token) => {
            line("token", &format!("{}, {} (from {})", token.kind, token.expiry, token.origin));
        }
    }
    match &status.organization {
        None => line("organization", "none"),
        Some(said) => line("organization", &format!("{} (from {})", said.value, said.origin)),
    }
    for (name, said, reached) in [
        ("control plane", &status.controlplane_url, &status.control_plane),
        ("backend", &status.base_url, &status.backend),
    ] {
        match said {
            None => line(name, "none"),
            Some(said) => line(name, &format!("{} (from {})", said.value, said.origin)),
        }
        if let Some(reached) = reached {
            line("  answers", &answers(reached));
        }
    }
    for problem in &status.problems {
        let _ = writeln!(out, "problem: {}", escape(problem));
    }
    escape_for_log(&out)
}

/// `yes, version v1.2.3, in 12 ms; accepts the token`.
fn answers(reached: &Reached) -> String {
    let mut text = match reached.reachable {
        None => return "not tried without a token".to_owned(),
        Some(false) => return "no".to_owned(),
        Some(true) => "yes".to_owned(),
    };
    if let Some(version) = &reached.version {
        let _ = write!(text, ", version {version}");
    }
    if let Some(ms) = reached.latency_ms {
        let _ = write!(text, ", in {ms} ms");
    }
    text.push_str(match reached.accepted {
        Some(true) => "; accepts the token",
        Some(false) => "; refuses the token",
        None if reached.error.is_some() => "; fails",
        None => "",
    });
    text
}

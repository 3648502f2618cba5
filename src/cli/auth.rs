//! `auth status`: where each value comes from, and whether it would work.
//!
//! Owns the report. It never holds the token's text, only what the token says about itself.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

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
use crate::{Error, Platform, Product, Token, TokenKind};

/// Show where each value of the authentication context comes from, and whether it works
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 when all is well, 2 when something is missing, expired or \
    unreachable.\n\nExample: rego-platform auth status --format json")]
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

#[derive(Debug, Serialize)]
struct Reached {
    reachable: bool,
    version: Option<String>,
    latency_ms: Option<u64>,
    error: Option<String>,
}

/// A status is for someone who waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(args: StatusArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let patience = options.timeout.min(PATIENCE);
    let platform = context.builder(options)?.retries(0).call_timeout(patience).build()?;
    let status = {
        let _watchdog = watchdog::start(patience)?;
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
        problems.push(match error.hint() {
            Some(hint) => format!("{}; {hint}", error.report()),
            None => error.report(),
        });
    };
    if let Err(error) = platform.token() {
        problem(&error);
    }
    let control_plane = context.controlplane_url.as_ref().map(|_| reach(platform));
    match &control_plane {
        Some(Err(error)) => problem(error),
        Some(Ok(_)) => {}
        None => problem(&missing("control plane", &context.product, "CONTROLPLANE_URL")),
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
        control_plane: control_plane.map(|reached| {
            reached.unwrap_or_else(|error| Reached {
                reachable: false,
                version: None,
                latency_ms: None,
                error: Some(error.report()),
            })
        }),
        problems,
    }
}

fn missing(what: &str, product: &Product, suffix: &str) -> Error {
    let message = format!("the address of the {what} isn't set");
    Error::new(crate::ErrorKind::Configuration, message)
        .with_hint(format!("set the environment variable `{}`", product.env(suffix)))
}

fn reach(platform: &Platform) -> Result<Reached, Error> {
    let start = Instant::now();
    let infoz = platform.infoz()?;
    let latency = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Reached {
        reachable: true,
        version: Some(infoz.version).filter(|version| !version.is_empty()),
        latency_ms: Some(latency),
        error: None,
    })
}

fn token_status(token: &Sourced<Token>, product: &Product, now: DateTime<Utc>) -> TokenStatus {
    let expires_at = token.value.expires_at();
    let past = expires_at.is_some_and(|at| at <= now);
    let expiry = match token.value.distance(now) {
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
    for (name, said) in [
        ("organization", &status.organization),
        ("control plane", &status.controlplane_url),
        ("backend", &status.base_url),
    ] {
        match said {
            None => line(name, "none"),
            Some(said) => line(name, &format!("{} (from {})", said.value, said.origin)),
        }
    }
    if let Some(reached) = &status.control_plane {
        line(
            "reachable",
            &match (&reached.version, reached.latency_ms) {
                (Some(version), Some(ms)) => format!("yes, version {version}, in {ms} ms"),
                (None, Some(ms)) => format!("yes, in {ms} ms"),
                _ => "no".to_owned(),
            },
        );
    }
    for problem in &status.problems {
        let _ = writeln!(out, "problem: {}", escape(problem));
    }
    escape_for_log(&out)
}

//! `auth status`: the origin of each value, and whether the token is accepted.
//!
//! Owns the report. Never contains the token's text, only its claims.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, ValueEnum};
use rego_platform::functions::{Function, FunctionSet};
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::{Api, Error, ErrorKind, Platform, PlatformBuilder, Token, TokenKind};
use rego_platform_client::text::{escape, escape_for_log};
use serde::Serialize;

use super::context::Context;
use super::options::Options;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};

/// Show the token and the addresses with their origins, and try both addresses
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 when everything configured works, 2 when something doesn't or no \
    function can work.\n\nExample: rego-platform auth status --format json"
)]
pub(super) struct StatusArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = AuthFormat::Human)]
    format: AuthFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AuthFormat {
    Human,
    Json,
}

#[derive(Debug, Serialize)]
struct Status {
    ok: bool,
    product: String,
    product_origin: Option<String>,
    config: Option<String>,
    token: Option<TokenStatus>,
    organization: Option<SourcedValue>,
    controlplane_url: Option<SourcedValue>,
    base_url: Option<SourcedValue>,
    /// The control plane's gRPC address, if it is the way to it.
    grpc_address: Option<SourcedValue>,
    /// The content store's gRPC address, for a control plane without signed URLs.
    store_address: Option<SourcedValue>,
    /// The control plane's HTTP address, if only its gRPC address is set and the service says where it is.
    http_url: Option<String>,
    /// The missing setting of each function, `null` if there is none.
    functions: BTreeMap<&'static str, Option<String>>,
    control_plane: Option<Reachability>,
    backend: Option<Reachability>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SourcedValue {
    value: String,
    origin: String,
}

#[derive(Debug, Serialize)]
struct TokenStatus {
    kind: &'static str,
    /// `true` if the token isn't a JWT; a user's token is then assumed.
    opaque: bool,
    origin: String,
    expires_at: Option<String>,
    expired: bool,
    expiry: String,
}

/// The result of trying one of the two addresses.
#[derive(Debug, Default, Serialize)]
struct Reachability {
    /// `None` if the address couldn't be tried.
    reachable: Option<bool>,
    /// `true` if the token is accepted there; `None` if that couldn't be determined.
    accepted: Option<bool>,
    version: Option<String>,
    latency_ms: Option<u64>,
    error: Option<String>,
}

/// The end of the hints that lead to this command.
const HINT_END: &str = ", or check the token";

/// The time limit of a request: a person waits for the status.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn run(args: StatusArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let timeout = options.timeout.min(REQUEST_TIMEOUT);
    let builder = context.builder(options)?.retries(0).call_timeout(timeout);
    let platform = builder.clone().build()?;
    let status = {
        // The control plane gets two requests, one after the other, and its HTTP address another one.
        watchdog::begin(timeout * 3)?;
        let grpc = value(&platform, GRPC_ADDRESS);
        let http_url = grpc.and_then(|_| http_url(&platform, builder));
        Status { http_url, ..status(&platform, Utc::now()) }
    };
    let text = match args.format {
        AuthFormat::Human => human(&status),
        AuthFormat::Json => output::json(&status)? + "\n",
    };
    output::to_stdout(text.as_bytes())?;
    Ok(if status.ok { Exit::Passed } else { Exit::NoVerdict })
}

/// The name of the control plane's gRPC address; it is a value of the context only where it is the way to it.
const GRPC_ADDRESS: &str = "control-plane.api";

/// Returns a value of the context, and where it comes from.
fn value(platform: &Platform, name: &str) -> Option<SourcedValue> {
    let found = platform.origins().iter().find(|value| value.name == name)?;
    Some(SourcedValue { value: found.value.clone(), origin: found.origin.to_string() })
}

fn status(platform: &Platform, now: DateTime<Utc>) -> Status {
    let mut problems = Vec::new();
    let mut problem = |error: &Error| {
        // The end of the hint suggests what the reader has just done.
        let hint = error.hint().map(|hint| hint.trim_end_matches(HINT_END));
        problems.push(match hint {
            Some(hint) => format!("{}; {hint}", error.report()),
            None => error.report(),
        });
    };
    let token = platform.token();
    if let Err(error) = &token {
        problem(error);
    }
    let (control_plane, backend) = try_both(platform, token.is_ok());
    let (control_plane, refused) = control_plane.unzip();
    let (backend, refused_there) = backend.unzip();
    for error in [refused, refused_there].into_iter().flatten().flatten() {
        problem(&error);
    }
    // With one of the addresses some functions work, and each of the others says what it lacks.
    if [Api::ControlPlane, Api::Backend].into_iter().all(|api| platform.address(api).is_none()) {
        for function in ["discover", "evidence"] {
            if let Err(error) = platform.check_address(function) {
                problem(&error);
            }
        }
    }
    Status {
        ok: problems.is_empty(),
        product: platform.product().to_string(),
        product_origin: value(platform, "product").map(|value| value.origin),
        config: platform.config_file().map(|path| path.display().to_string()),
        token: platform.fixed_token().map(|token| token_status(token, platform, now)),
        organization: value(platform, "organization"),
        controlplane_url: value(platform, "controlplane-url"),
        base_url: value(platform, "base-url"),
        grpc_address: value(platform, GRPC_ADDRESS),
        store_address: value(platform, "artifact-cas.api"),
        http_url: None,
        functions: functions(platform),
        control_plane,
        backend,
        problems,
    }
}

/// Returns the five functions, each with what it lacks.
fn functions(platform: &Platform) -> BTreeMap<&'static str, Option<String>> {
    let lacks = |function: &Function| {
        let (what, suffix) = match function.api {
            Api::ControlPlane => ("the control plane's address", "CONTROLPLANE_URL"),
            _ => ("the platform backend's address", "BASE_URL"),
        };
        let variable = |suffix: &str| platform.product().env(suffix);
        let address = platform.address(function.api).is_none();
        let address = address.then(|| format!("{what} (`{}`)", variable(suffix)));
        let token = platform.fixed_token().is_none();
        let token = token.then(|| format!("a token (`{}`)", variable("TOKEN")));
        let lacks: Vec<String> = [token, address].into_iter().flatten().collect();
        (!lacks.is_empty()).then(|| lacks.join(" and "))
    };
    FunctionSet::default().iter().map(|function| (function.name, lacks(function))).collect()
}

/// Returns the HTTP address of the control plane that `platform` reaches over gRPC: where its people log in,
/// if the same version answers there.
fn http_url(platform: &Platform, builder: PlatformBuilder) -> Option<String> {
    let infoz = platform.infoz().ok()?;
    let origin = url::Url::parse(&infoz.login_url).ok()?.origin().ascii_serialization();
    let there = builder.controlplane_url(&origin).build().ok()?.infoz().ok()?;
    (there.version == infoz.version).then_some(origin)
}

/// The result of trying an address, and the error if there was one.
type Probe = (Reachability, Option<Error>);

/// Tries the configured addresses, concurrently.
fn try_both(platform: &Platform, with_token: bool) -> (Option<Probe>, Option<Probe>) {
    std::thread::scope(|scope| {
        let backend = platform.address(Api::Backend);
        let backend = backend.map(|_| scope.spawn(|| try_backend(platform, with_token)));
        let control_plane = platform.address(Api::ControlPlane);
        let control_plane = control_plane.map(|_| try_control_plane(platform, with_token));
        (control_plane, backend.and_then(|thread| thread.join().ok()))
    })
}

/// Requests the public information without the token, then a resource that doesn't exist with the
/// token.
fn try_control_plane(platform: &Platform, with_token: bool) -> Probe {
    let start = Instant::now();
    let infoz = match platform.infoz() {
        Ok(infoz) => infoz,
        Err(error) => return tried(start, Reachability::default(), Some(error)),
    };
    let version = Some(infoz.version).filter(|version| !version.is_empty());
    let (reached, _) = tried(start, Reachability { version, ..Reachability::default() }, None);
    if !with_token {
        return (reached, None);
    }
    with_acceptance(reached, discover_nothing(platform))
}

/// Requests a digest that doesn't exist.
fn discover_nothing(platform: &Platform) -> Option<Error> {
    let nothing = format!("sha256:{}", "0".repeat(64));
    let error = platform.call("discover", &[Value::from(nothing), Value::Null]).err();
    error.filter(|error| error.kind() != ErrorKind::NotFound)
}

/// Requests one item of evidence, which requires a token.
fn try_backend(platform: &Platform, with_token: bool) -> Probe {
    if !with_token {
        return (Reachability::default(), None);
    }
    let start = Instant::now();
    let filters = [(Value::from("limit"), Value::from(1_u64))];
    let error = platform.call("evidence", &[Value::from(Object::from(filters))]).err();
    let (reached, error) = tried(start, Reachability::default(), error);
    with_acceptance(reached, error)
}

/// Adds to a result whether there was an answer, and its latency.
fn tried(start: Instant, mut reached: Reachability, error: Option<Error>) -> Probe {
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

/// Adds to a result whether the token is accepted, as far as a call with it shows.
fn with_acceptance(mut reached: Reachability, error: Option<Error>) -> Probe {
    reached.accepted = match error.as_ref().map(Error::kind) {
        None => Some(true),
        Some(ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => Some(false),
        Some(_) => None,
    };
    reached.error = error.as_ref().map(Error::report);
    (reached, error)
}

fn token_status(token: &Token, platform: &Platform, now: DateTime<Utc>) -> TokenStatus {
    let expires_at = token.expires_at();
    let past = expires_at.is_some_and(|at| at <= now);
    let expiry = match token.distance(now) {
        None if token.is_opaque() => "expiry unknown".to_owned(),
        None => "without an expiry date".to_owned(),
        Some(distance) if past => format!("expired {distance} ago"),
        Some(distance) => format!("expires in {distance}"),
    };
    TokenStatus {
        kind: match token.kind(platform.product()) {
            TokenKind::Api => "API token",
            _ => "user token",
        },
        opaque: token.is_opaque(),
        origin: value(platform, "token").map(|value| value.origin).unwrap_or_default(),
        expires_at: expires_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
        expired: token.is_expired(now),
        expiry,
    }
}

fn human(status: &Status) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<15}{}", escape(text));
    };
    let origin = status.product_origin.as_ref().map(|origin| format!(" (from {origin})"));
    line("product", &format!("{}{}", status.product, origin.unwrap_or_default()));
    line("config file", status.config.as_deref().unwrap_or("none"));
    match &status.token {
        None => line("token", "none"),
        Some(token) => {
            let TokenStatus { kind, expiry, origin, .. } = token;
            let what = if token.opaque {
                format!("opaque token, treated as a {kind}; {expiry}")
            } else {
                format!("{kind}, {expiry}")
            };
            line("token", &format!("{what} (from {origin})"));
        }
    }
    match &status.organization {
        None => line("organization", "none"),
        Some(sourced) => {
            line("organization", &format!("{} (from {})", sourced.value, sourced.origin));
        }
    }
    for (name, sourced, grpc, reached) in [
        ("control plane", &status.controlplane_url, &status.grpc_address, &status.control_plane),
        ("backend", &status.base_url, &None, &status.backend),
    ] {
        match (sourced, grpc) {
            (None, None) => line(name, "none"),
            (None, Some(grpc)) => {
                line(name, &format!("{}, over gRPC (from {})", grpc.value, grpc.origin));
            }
            (Some(http), _) => line(name, &format!("{} (from {})", http.value, http.origin)),
        }
        if let Some(reached) = reached {
            line("  answers", &answers(reached));
        }
    }
    if let Some(url) = &status.http_url {
        line("  over HTTP", &format!("{url} (`--controlplane-url` uses it)"));
    }
    if let Some(store) = &status.store_address {
        let way = format!("signed URLs, else {} over gRPC (from {})", store.value, store.origin);
        line("content", &way);
    }
    for (function, lacks) in &status.functions {
        if let Some(lacks) = lacks {
            line("lacking", &format!("{function}: {lacks}"));
        }
    }
    for problem in &status.problems {
        let _ = writeln!(out, "problem: {}", escape(problem));
    }
    escape_for_log(&out)
}

/// Returns a summary such as `yes, version v1.2.3, in 12 ms; accepts the token`.
fn answers(reached: &Reachability) -> String {
    let mut text = match reached.reachable {
        None => return "not tried without a token".to_owned(),
        Some(false) => return "no".to_owned(),
        Some(true) => "yes".to_owned(),
    };
    text.extend(reached.version.as_ref().map(|version| format!(", version {version}")));
    text.extend(reached.latency_ms.map(|ms| format!(", in {ms} ms")));
    text.push_str(match reached.accepted {
        Some(true) => "; accepts the token",
        Some(false) => "; refuses the token",
        None if reached.error.is_some() => "; fails",
        None => "",
    });
    text
}

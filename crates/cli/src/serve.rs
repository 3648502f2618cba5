//! `serve`: decisions over HTTP, until interrupted.
//!
//! Owns the options, and loading policies again when they change. The interface belongs to the crate
//! `rego-platform-serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Print};
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::sources::{BundleKeys, Ignore, Sources};
use rego_platform::{Api, Error};
use rego_platform_client::text::escape_path;
use rego_platform_gate::model::{AnsweredBy, Service};
use rego_platform_gate::{Gate, GateOptions, RunOptions};
use rego_platform_serve::{
    Access, AccessToken, GateRun, Journal, Load, Loaded, LogDestination, Server, ServerOptions,
    Tls, Upload, WebhookSecret,
};

use super::context::Context;
use super::destinations::{self, Reads};
use super::emulate::address;
use super::keys::bundle_keys;
use super::options::{self, LoadArgs, NetworkArgs, Options};
use super::output::{self, Reporter};
use super::remote::{Fetcher, RemoteArgs};
use super::signals::{self, Signals};
use super::stdin::{self, Stdin};
use super::{Exit, evaluation, gate, hint, option_files, paths, watch, watchdog};

/// The largest file of tokens or certificates.
const MAX_FILE: u64 = 1 << 20;

const ACCESS: &str = "Access";
const LOG: &str = "Log of decisions";

/// Serve decisions over HTTP, as `opa run --server` does
#[derive(Debug, Args)]
#[command(after_help = "Serves until interrupted, and then finishes open requests.\n\n\
    Example:\n  rego-platform serve -d policies\n  \
    curl 127.0.0.1:8181/v1/data/release/deny -d '{\"input\": {}}'")]
pub(super) struct ServeArgs {
    /// Policies (`.rego`), data (`.json`, `.yaml`), folders and bundles; repeatable
    #[arg(short, long, value_name = "PATH", required_unless_present = "bundle")]
    data: Vec<PathBuf>,
    /// A bundle, as an archive or a folder; repeatable
    #[arg(short, long, value_name = "PATH")]
    bundle: Vec<PathBuf>,
    /// The address to listen on
    #[arg(long, value_name = "ADDR", value_parser = address, default_value = "127.0.0.1:8181")]
    listen: SocketAddr,
    /// Reload policies when a file changes; a failed reload changes nothing
    #[arg(short, long)]
    watch: bool,
    /// Poll remote policies without a pinned digest at this interval
    #[arg(long, value_name = "TIME", value_parser = options::duration)]
    poll: Option<Duration>,
    /// Public key (PEM) for bundles; repeatable, one of the keys must have signed
    #[arg(long, value_name = "FILE")]
    bundle_key: Vec<PathBuf>,
    /// Cache the webhooks' verdicts about images for this time
    #[arg(long, value_name = "TIME", value_parser = options::duration, hide_short_help = true)]
    decision_cache: Option<Duration>,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    bounds: BoundsArgs,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

/// The options of the decision log.
#[derive(Debug, Args)]
#[allow(clippy::struct_field_names, reason = "they are the names of the options")]
struct LogArgs {
    /// Write decisions as OPA does to a file (`-`: standard output) or an address
    #[arg(long, value_name = "FILE|URL")]
    decision_log: Option<String>,
    /// Spool folder of decisions to upload, which outlasts a restart of the server
    #[arg(long, value_name = "DIR", requires = "decision_log", help_heading = LOG, hide_short_help = true)]
    decision_log_spool: Option<PathBuf>,
    /// Maximum size of the spool; the oldest decisions are dropped
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = options::size, help_heading = LOG,
        hide_short_help = true)]
    decision_log_spool_size: u64,
    /// File with the token for uploads of decisions, read for each upload
    #[arg(long, value_name = "FILE", requires = "decision_log", help_heading = LOG, hide_short_help = true)]
    decision_log_token_file: Option<PathBuf>,
}

/// The options for access to the server.
#[derive(Debug, Args)]
struct AccessArgs {
    /// Listen beyond loopback; needs tokens, client certificates or a webhook secret
    #[arg(long, help_heading = ACCESS)]
    expose: bool,
    /// Accept only requests with one of the tokens in this file (one a line)
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    auth_token_file: Option<PathBuf>,
    /// The server's certificate with its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = ACCESS)]
    tls_cert: Option<PathBuf>,
    /// The private key of the server's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = ACCESS)]
    tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = ACCESS)]
    tls_client_ca: Option<PathBuf>,
    /// Accept webhooks only at addresses that end with `/` and the secret in this file
    ///
    /// For clients that can't send a token: `/v1/admission/SECRET` and `/v1/provider/SECRET`.
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    webhook_secret: Option<PathBuf>,
}

/// The bounds on requests.
#[derive(Debug, Args)]
struct BoundsArgs {
    /// Maximum size of a request's body
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = options::size,
        help_heading = options::LIMITS, hide_short_help = true)]
    max_body: u64,
    /// Maximum number of requests that are running or queued
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = options::number::<usize>,
        help_heading = options::LIMITS, hide_short_help = true)]
    queue: usize,
    /// Maximum size of the values that all evaluations hold at the same time
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = options::size,
        help_heading = options::LIMITS, hide_short_help = true)]
    max_memory: u64,
    /// Time to finish requests, and then uploads of decisions, after an interrupt
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = options::duration,
        help_heading = options::LIMITS, hide_short_help = true)]
    grace: Duration,
}

/// Prints what happens on standard error.
#[derive(Debug)]
struct Printed;

impl Journal for Printed {
    fn printed(&self, print: &Print) {
        output::print(&format!("{}:{}", print.file, print.line), &print.message);
    }

    fn failed(&self, error: &Error) {
        output::error(error);
    }
}

pub(super) fn run(args: ServeArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    check_log(&args, options)?;
    let (context, _emulator) = Context::resolve(options, reporter, &mut Stdin::default())?;
    let evaluate = evaluation::options(&context, options, false, &args.network)?;
    if context.token_kind().is_none() && matches!(evaluate.answers, Answers::Service(_)) {
        let message = format!(
            "no token for the service: calls of its functions fail; set `--token-file` or `{}`",
            context.product.env("TOKEN")
        );
        reporter.warning(&message);
    }
    let gate = gate_run(&evaluate, options);
    let http = evaluate.http.clone();
    let mut server = ServerOptions::new(evaluate, gate, Arc::new(Printed));
    server.listen = args.listen;
    server.access = args.access.access(options)?;
    server.bounds.body = usize::try_from(args.bounds.max_body).unwrap_or(usize::MAX);
    server.bounds.queue = args.bounds.queue;
    server.bounds.memory = args.bounds.max_memory;
    server.bounds.grace = args.bounds.grace;
    server.decision_cache = args.decision_cache;
    server.decision_log = args.log.destination(&context, options)?;
    if args.access.expose && server.access.tls.is_none() {
        let message =
            "tokens and inputs travel unencrypted; `--tls-cert` and `--tls-key` encrypt them";
        reporter.warning(message);
    }
    let scheme = if server.access.tls.is_some() { "https" } else { "http" };
    let watched = args.watch.then(|| watched(&args)).transpose()?;
    let fetcher = args.fetcher(options)?;
    let polled = args.poll.map(|time| (time, fetcher.clone(), args.given()));
    let policies = Arc::new(Served {
        fetcher,
        keys: bundle_keys(&args.bundle_key, options.timeout)?,
        data: args.data,
        bundle: args.bundle,
        load: args.load.options(context.product.clone(), options.timeout)?,
        http,
    });
    let load = Load(Box::new(move || policies.loaded()));
    let server = Arc::new(Server::start(load, server)?);
    watchdog::stop();
    // Signals are handled before the server says that it serves, so that no interrupt gets lost.
    let mut signals = Signals::listen()?;
    output::plain_note(&format!("serving {scheme}://{} until interrupted", server.address()));
    if let Some(watched) = watched {
        let server = Arc::clone(&server);
        signals::thread(move || {
            let reload = || server.reload().map(|()| Exit::Passed);
            if let Err(error) = watch::run(&watched, reload) {
                output::error(&error);
            }
        })?;
    }
    if let Some((time, fetcher, given)) = polled {
        let server = Arc::clone(&server);
        signals::thread(move || poll(&server, time, || fetcher.poll(&given)))?;
    }
    let name = signals.next()?;
    output::plain_note(&format!("{name}: finishing open requests"));
    signals::thread(move || {
        if signals.next().is_ok() {
            std::process::exit(i32::from(Exit::NoVerdict.code()));
        }
    })?;
    server.stop();
    Ok(Exit::Passed)
}

/// Refuses a log in the place of something that is read.
fn check_log(args: &ServeArgs, options: &Options) -> Result<(), Error> {
    let log = args.log.decision_log.as_deref().filter(|log| *log != "-" && !is_address(log));
    let Some(log) = log.map(Path::new) else { return Ok(()) };
    let access = &args.access;
    let secrets = [
        &access.auth_token_file,
        &access.tls_cert,
        &access.tls_key,
        &access.tls_client_ca,
        &access.webhook_secret,
    ];
    let secrets = secrets.into_iter().flatten().cloned();
    let secrets = secrets.chain(args.bundle_key.iter().cloned());
    let others = options.read().chain(args.load.read()).chain(args.remote.read()).chain(secrets);
    let given = args.data.iter().chain(&args.bundle).map(PathBuf::as_path);
    let read = Reads { given: given.collect(), others: others.collect() };
    destinations::check(&[log], &read, &Ignore::new(&args.load.ignore)?)
}

/// Returns the paths that are watched.
fn watched(args: &ServeArgs) -> Result<Vec<String>, Error> {
    let mut watched = paths::expanded(&args.data)?;
    watched.extend(paths::expanded(&args.bundle)?);
    Ok(watched)
}

/// Polls for newer policies at this interval. An error is reported once, until it changes.
fn poll(server: &Server, time: Duration, has_changed: impl Fn() -> Result<bool, Error>) {
    let mut told = None;
    loop {
        std::thread::sleep(time);
        match server.reload_if(&has_changed) {
            Ok(is_new) => {
                if is_new {
                    output::plain_note("policies reloaded");
                }
                told = None;
            }
            Err(error) => {
                let report = error.report();
                if told.as_ref() != Some(&report) {
                    output::error(&error);
                }
                told = Some(report);
            }
        }
    }
}

impl ServeArgs {
    /// Returns the arguments that name policies and data.
    fn given(&self) -> Vec<PathBuf> {
        self.data.iter().chain(&self.bundle).cloned().collect()
    }

    fn fetcher(&self, options: &Options) -> Result<Fetcher, Error> {
        let fetcher = self.remote.fetcher(&self.network, options, true);
        let fetcher = fetcher.without(&self.load.ignore);
        if self.poll.is_some() {
            return fetcher.polling(&self.given());
        }
        Ok(fetcher)
    }
}

/// The policies that are served, for queries and as a gate.
struct Served {
    fetcher: Fetcher,
    data: Vec<PathBuf>,
    bundle: Vec<PathBuf>,
    keys: Option<BundleKeys>,
    load: LoadOptions,
    http: Option<Http>,
}

impl Served {
    fn options(&self) -> GateOptions {
        let mut options = GateOptions::default();
        options.load = self.load.clone();
        options.http.clone_from(&self.http);
        options
    }

    /// Loads what the arguments name.
    fn loaded(&self) -> Result<Loaded, Error> {
        let given = self.fetcher.given(&self.data, &self.bundle)?;
        let mut read = given.options();
        // Each time, whatever a signature was before.
        read.skip_verify = false;
        read.bundle_keys = self.keys.as_ref();
        // Read once, so that queries and the gate have the same policies whatever is written meanwhile.
        let gathered = Sources::gather(&given.paths, read)?;
        // A gate evaluates the policy documents; queries see neither them nor their modules.
        let mut plain = gathered.clone();
        plain.take_policy_documents();
        let policies = Policies::load(&plain.sources()?, self.load.clone())?;
        let mut options = self.options();
        options.fetched = given.fetched;
        options.bundle_keys.clone_from(&self.keys);
        let gate = Gate::load_gathered(gathered, &options);
        Ok(Loaded { policies, gate })
    }
}

/// Returns what makes the options of a gate's run.
fn gate_run(evaluate: &EvaluateOptions, options: &Options) -> GateRun {
    let (answered_by, origins) = match &evaluate.answers {
        Answers::Service(platform) => {
            let by =
                if options.local.is_some() { AnsweredBy::Emulator } else { AnsweredBy::Service };
            (by, [Api::ControlPlane, Api::Backend].map(|api| gate::origin(platform.address(api))))
        }
        _ => (AnsweredBy::Replay, [None, None]),
    };
    let [controlplane, backend] = origins;
    let mut service = Service::default();
    (service.controlplane, service.backend) = (controlplane, backend);
    service.answered_by = Some(answered_by);
    GateRun(Box::new(move |mut evaluate| {
        evaluate.strict_builtin_errors = true;
        let mut run = RunOptions::new(evaluate, answered_by, gate::tool());
        run.hint = hint::of_failure;
        run.inventory.service = service.clone();
        run
    }))
}

/// Returns `true` for an address, which is no file.
fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

impl LogArgs {
    fn destination(
        &self,
        context: &Context,
        options: &Options,
    ) -> Result<Option<LogDestination>, Error> {
        let wrong = |message: &str, hint: &str| Err(Error::configuration(message).with_hint(hint));
        let log = self.decision_log.as_deref();
        let Some(address) = log.filter(|log| is_address(log)) else {
            if self.decision_log_spool.is_some() || self.decision_log_token_file.is_some() {
                let message = "spool or token without an upload of decisions";
                return wrong(message, "`--decision-log https://…` uploads them");
            }
            return Ok(log.map(|log| match log {
                "-" => LogDestination::Stdout,
                path => LogDestination::File(path.into()),
            }));
        };
        let Some(spool) = &self.decision_log_spool else {
            let message = "missing spool folder for the upload of decisions";
            return wrong(
                message,
                "add `--decision-log-spool DIR`, a folder that outlasts a restart",
            );
        };
        let mut upload = Upload::new(address, spool)?;
        upload.token_file.clone_from(&self.decision_log_token_file);
        upload.most = self.decision_log_spool_size;
        upload.insecure = options.insecure;
        upload.certificates.extend(context.certificates()?);
        Ok(Some(LogDestination::Upload(Box::new(upload))))
    }
}

impl AccessArgs {
    fn access(&self, options: &Options) -> Result<Access, Error> {
        let read =
            |what: &str, path: &Path| option_files::read(what, path, MAX_FILE, options.timeout);
        let mut access = Access::default();
        access.expose = self.expose;
        if let Some(path) = &self.auth_token_file {
            let text = stdin::text(read("the file of tokens", path)?, &path.display().to_string())?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let tokens: Result<Vec<_>, _> = lines.map(AccessToken::new).collect();
            access.tokens =
                tokens.map_err(|error| option_files::in_file(path, "can't be used", error))?;
            if access.tokens.is_empty() {
                let message = format!("`{}` has no token", escape_path(path));
                return Err(
                    Error::configuration(message).with_hint("write one on a line of its own")
                );
            }
        }
        if let Some(path) = &self.webhook_secret {
            let text = stdin::text(read("the webhook secret", path)?, &path.display().to_string())?;
            let secret = WebhookSecret::new(text.trim());
            access.webhook_secret =
                Some(secret.map_err(|error| option_files::in_file(path, "can't be used", error))?);
        }
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            let authorities = self.tls_client_ca.as_ref();
            let authorities = authorities
                .map(|path| read("the authorities of clients' certificates", path))
                .transpose()?;
            let certificate = read("the server's certificate", certificate)?;
            let key = read("the server's private key", key)?;
            access.tls = Some(Tls::new(&certificate, &key, authorities.as_deref())?);
        }
        Ok(access)
    }
}

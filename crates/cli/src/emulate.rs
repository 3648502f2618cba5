//! `emulate`: the service from a folder of files, until interrupted.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use rego_platform::Error;
use rego_platform_emulator::{Emulator, EmulatorOptions, is_loopback};
use toml::{Table, Value};

use super::options::Options;
use super::output::{self, Reporter};
use super::signals::Signals;
use super::{Exit, local, watchdog};

/// Serve the service's interface from a folder of files
#[derive(Debug, Args)]
#[command(after_help = "Prints `export` lines for the shell, then serves until interrupted.\n\n\
    Example:\n  rego-platform emulate service --listen 127.0.0.1:8080")]
pub(super) struct EmulateArgs {
    /// The folder with the service's data
    dir: PathBuf,
    /// Address of the control plane; the other servers listen on the next three ports
    /// [default: free ports on 127.0.0.1]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Write the file of the client's login to DIR/PRODUCT/config.toml
    #[arg(long, value_name = "DIR")]
    write_config: Option<PathBuf>,
    /// Allow an address other than loopback, which other machines can reach
    #[arg(long)]
    expose: bool,
}

pub(super) fn run(args: EmulateArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let product = options.product()?;
    let [listen, backend_listen, store_listen, grpc_listen] = addresses(args.listen, args.expose)?;
    let faults = local::parse_faults(&options.fault)?;
    let settings = EmulatorOptions {
        listen,
        backend_listen,
        store_listen,
        grpc_listen,
        faults,
        product: product.to_string(),
        ..EmulatorOptions::default()
    };
    let emulator = local::serve(&args.dir, settings)?;
    watchdog::stop();
    // Signals are handled before the first output, so that no interrupt gets lost.
    let mut signals = Signals::listen()?;
    if let Some(folder) = &args.write_config {
        write_config(&folder.join(product.as_str()), &emulator)?;
    }
    let mut exports = String::new();
    for (suffix, value) in [
        ("CONTROLPLANE_URL", emulator.controlplane_url()),
        ("BASE_URL", emulator.base_url()),
        ("TOKEN", emulator.default_token()),
    ] {
        let _ = writeln!(exports, "export {}={}", product.env(suffix), shell_quoted(&value));
    }
    output::to_stdout(exports.as_bytes())?;
    reporter.note("serving until interrupted");
    signals.next()?;
    Ok(Exit::Passed)
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
        None => text.to_owned(),
    };
    numeric
        .parse()
        .map_err(|_| "expected an address such as `127.0.0.1:8080` or `[::1]:8080`".to_owned())
}

/// Writes the configuration file of the service's own client: a token and gRPC addresses.
fn write_config(folder: &Path, emulator: &Emulator) -> Result<(), Error> {
    let section = |key: &str, value: String| (key.to_owned(), Value::String(value));
    let of = |key, value| Value::from(Table::from_iter([section(key, value)]));
    let config = Table::from_iter([
        ("api-insecure".to_owned(), Value::Boolean(true)),
        ("artifact-cas".to_owned(), of("api", emulator.store_address())),
        ("auth".to_owned(), of("token", emulator.default_token())),
        ("control-plane".to_owned(), of("api", emulator.grpc_address())),
    ]);
    let path = folder.join("config.toml");
    // If that fails, writing the file says so.
    let _ = std::fs::create_dir_all(folder);
    output::to_file(&path, config.to_string().as_bytes())
}

/// Returns the addresses of the control plane, the backend, the content store and gRPC.
fn addresses(listen: Option<SocketAddr>, expose: bool) -> Result<[SocketAddr; 4], Error> {
    let listen = listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
    if !is_loopback(listen) && !expose {
        let message = format!("address reachable from other machines: `{listen}`");
        return Err(
            Error::configuration(message).with_hint("listen on 127.0.0.1, or add `--expose`")
        );
    }
    let next = |offset: u16| match listen.port() {
        0 => Ok(listen),
        port => match port.checked_add(offset) {
            Some(port) => Ok(SocketAddr::new(listen.ip(), port)),
            None => Err(Error::configuration(format!(
                "port too high for the three ports after it: `{listen}`"
            ))),
        },
    };
    Ok([listen, next(1)?, next(2)?, next(3)?])
}

/// Quotes `value` as one word of a POSIX shell.
fn shell_quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_quoted_value_is_one_word() {
        assert_eq!(shell_quoted("http://127.0.0.1:1/a_b"), "http://127.0.0.1:1/a_b");
        assert_eq!(shell_quoted("a b'c$d"), r"'a b'\''c$d'");
        assert_eq!(shell_quoted(""), "''");
    }

    #[test]
    fn an_address_for_other_machines_needs_expose() {
        let any = address("0.0.0.0:8080").unwrap();
        assert!(addresses(Some(any), false).unwrap_err().hint().unwrap().contains("--expose"));
        let [a, b, c, d] = addresses(Some(any), true).unwrap();
        assert_eq!([a, b, c, d].map(|address| address.port()), [8080, 8081, 8082, 8083]);
        assert_eq!(addresses(address("localhost:0").ok(), false).unwrap()[2].port(), 0);
        assert!(addresses(address("127.0.0.1:65535").ok(), false).is_err());
        assert!(address("nowhere").is_err());
    }
}

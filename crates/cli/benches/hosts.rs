//! The command's `serve` beside OPA's server: the same policies, the same clients.
//!
//! `OPA=/path/to/opa cargo bench --bench hosts`; `SECONDS=n` for each cell, five by default. Each
//! server is its own process, the clients are this one; it also contains the service that policies
//! ask, which serves both.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::pedantic)]
#![allow(clippy::panic, clippy::expect_used)]

mod support;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use support::server::{Process, serve};
use support::service::{Content, Service, TOKEN, digest};
use support::{is_measuring, wanted};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const WIDTHS: [usize; 4] = [1, 16, 64, 1000];

/// One call per evaluation, then this many independent ones.
const REFERENCES: usize = 10;

const PLAIN: &str = include_str!("hosts/plain.rego");

/// Returns the calls of a policy, in the form of this crate or of OPA.
fn calls(ask: &str) -> String {
    format!(
        "package calls\n\ndeny contains answer.digest if {{\n\tsome reference in \
         ask(input.digest).references\n\tanswer := ask(reference.digest)\n\tanswer.downloadable\n\
         }}\n\none contains ask(input.digest).digest\n\nask(digest) := {ask}\n"
    )
}

fn main() {
    if !is_measuring() {
        return;
    }
    let quick = Service::start(Content {
        latency: Duration::from_millis(5),
        width: REFERENCES,
        ..Content::default()
    });
    let slow = Service::start(Content { latency: Duration::from_secs(3), ..Content::default() });
    let mut servers =
        vec![("rego-platform", start_serve(&quick)), ("rego-platform, slow", start_serve(&slow))];
    let opa = std::env::var("OPA").ok();
    if let Some(opa) = &opa {
        servers.push(("OPA", start_opa(opa, &quick)));
        servers.push(("OPA, slow", start_opa(opa, &slow)));
    } else {
        println!("without OPA: set `OPA` to its command");
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        for (title, path) in [("without calls", "plain/deny"), ("with calls", "calls/deny")] {
            if !wanted(title) {
                continue;
            }
            println!("\n{title}: a client asks again as soon as it is answered");
            println!(
                "  {:<16} clients   a second       p50       p99  threads  memory over idle",
                "server"
            );
            for clients in WIDTHS {
                for (name, server) in servers.iter().filter(|(name, _)| !name.contains("slow")) {
                    load(name, server, path, clients).await;
                }
            }
        }
        if wanted("waiting") {
            println!("\n1,000 evaluations that wait, each for an answer of its own");
            for (name, server) in servers.iter().filter(|(name, _)| name.contains("slow")) {
                waiting(name, server).await;
            }
        }
    });
}

/// A server, in its own process.
struct Server {
    process: Process,
    address: SocketAddr,
    idle: (usize, u64),
    _folder: TempDir,
}

impl Server {
    /// Returns the number of threads, and the resident memory in bytes.
    fn taken(&self) -> (usize, u64) {
        (self.process.status("Threads:") as usize, self.process.status("VmRSS:") * 1024)
    }
}

/// Starts the command.
fn start_serve(service: &Service) -> Server {
    let (folder, policies) = policies("platform.discover(digest, \"\")");
    let url = service.url();
    let mut options = |command: &mut Command| {
        command.args(["--concurrency", "2000"]).env("PLATFORM_TOKEN", TOKEN);
        command.args(policies.iter().flat_map(|policy| ["-d".as_ref(), policy.as_os_str()]));
    };
    let (process, address) = serve(&mut options, [&url, &url]);
    ready(process, address, folder)
}

/// Writes the policies, which call the service by `ask`.
fn policies(ask: &str) -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["plain.rego", "calls.rego"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], PLAIN).unwrap();
    std::fs::write(&paths[1], calls(ask)).unwrap();
    (folder, paths)
}

fn start_opa(opa: &str, service: &Service) -> Server {
    // Nothing is cached: every evaluation asks, as on this crate.
    let ask = format!(
        "http.send({{\"method\": \"GET\", \"url\": concat(\"\", [\"{}/discover/\", digest]), \
         \"headers\": {{\"authorization\": \"Bearer {TOKEN}\"}}, \"timeout\": \"60s\"}}).body.result",
        service.url()
    );
    let (folder, policies) = policies(&ask);
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = Command::new(opa);
    command.args(["run", "--server", "--disable-telemetry", "--log-level", "error", "--addr"]);
    command.arg(address.to_string()).args(policies);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    ready(Process(command.spawn().unwrap()), address, folder)
}

/// Waits until the server listens, and reads its idle resources.
fn ready(process: Process, address: SocketAddr, folder: TempDir) -> Server {
    let mut server = Server { process, address, idle: (0, 0), _folder: folder };
    for _ in 0..1000 {
        if std::net::TcpStream::connect(address).is_ok() {
            std::thread::sleep(Duration::from_millis(500));
            server.idle = server.taken();
            return server;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no server listens on {address}");
}

/// Returns a body that was never sent before.
fn body(path: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = usize::try_from(NUMBER.fetch_add(1, Ordering::Relaxed)).unwrap();
    if path.starts_with("calls") {
        return serde_json::json!({"input": {"digest": digest(0, number)}}).to_string();
    }
    let containers: Vec<_> = (0..20)
        .map(|at| {
            serde_json::json!({
                "name": format!("service-{at}"),
                "image": format!("registry.example.com/shop/service-{at}:v1.{number}"),
                "memory": 256 * (at % 9), "user": "app",
                "environment": {"REGION": "eu", "LEVEL": "info"},
            })
        })
        .collect();
    serde_json::json!({"input": {"user": "mallory", "containers": containers}}).to_string()
}

/// A connection that sends one request after the other.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, address, buffer: Vec::new() }
    }

    /// Sends a request and returns the body of a success.
    async fn ask(&mut self, path: &str, body: &str) -> String {
        let head = format!(
            "POST /v1/data/{path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            let text = String::from_utf8_lossy(&self.buffer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            match length {
                Some(length) if body.len() < length => {}
                Some(length) => return body[..length].to_owned(),
                // In chunks, the last of which is empty.
                None if body.ends_with("0\r\n\r\n") => return body.to_owned(),
                None => {}
            }
        }
    }
}

/// Sends requests with a number of clients for some seconds.
async fn load(name: &str, server: &Server, path: &'static str, clients: usize) {
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let warm = Instant::now() + Duration::from_secs(1);
    let end = warm + Duration::from_secs(seconds);
    let address = server.address;
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            tokio::spawn(async move {
                let mut client = Client::connect(address).await;
                let mut took = Vec::new();
                while Instant::now() < end {
                    let body = body(path);
                    let started = Instant::now();
                    let answer = client.ask(path, &body).await;
                    if started > warm {
                        took.push(started.elapsed());
                    }
                    let found = answer.matches("sha256:").count() == REFERENCES;
                    assert!(found || answer.contains("mallory may not deploy"), "{answer}");
                }
                took
            })
        })
        .collect();
    tokio::time::sleep_until((end - Duration::from_millis(200)).into()).await;
    let (threads, memory) = server.taken();
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.unwrap());
    }
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().saturating_sub(1)));
    println!(
        "  {name:<16} {clients:>7} {:>10.0} {:>9} {:>9}  {threads:>7} {:>11} MiB",
        took.len() as f64 / seconds as f64,
        at(50).copied().map(support::show).unwrap_or_default(),
        at(99).copied().map(support::show).unwrap_or_default(),
        memory.saturating_sub(server.idle.1) >> 20,
    );
}

/// Measures a server's resources while 1,000 evaluations wait for the service.
async fn waiting(name: &str, server: &Server) {
    let address = server.address;
    let tasks: Vec<_> = (0..1000)
        .map(|_| {
            tokio::spawn(async move {
                let path = "calls/one";
                let answer = Client::connect(address).await.ask(path, &body(path)).await;
                assert!(answer.contains("sha256:"), "{answer}");
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (threads, memory) = server.taken();
    for task in tasks {
        task.await.unwrap();
    }
    println!(
        "  {name:<20} {threads:>5} threads, {} MiB over idle ({} threads, {} MiB)",
        memory.saturating_sub(server.idle.1) >> 20,
        server.idle.0,
        server.idle.1 >> 20,
    );
}

//! A minute of decisions by the command's `serve`, while the service it asks, its store of artifacts and its
//! clients misbehave: every decision is the right one or an error, and neither memory nor handles grow.
//!
//! `cargo bench --bench serve_soak`, or with the number of seconds: `cargo bench --bench serve_soak -- 600`. Linux
//! only.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::pedantic)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions, Fault};
use serde_json::Value;
use support::is_measuring;

const CLIENTS: usize = 12;
const BAD_CLIENTS: usize = 4;

const POLICY: &str = r#"
package soak

image := platform.discover(input.digest, "CONTAINER_IMAGE")

kinds contains found.kind if {
	some r in image.references
	found := platform.discover(r.digest, r.kind)
}

sboms contains bom.bomFormat if {
	some r in image.references
	r.kind == "SBOM_CYCLONEDX_JSON"
	bom := json.unmarshal(platform.download_artifact(r.digest))
}

failing := count([e |
	some e in platform.project_compliance({"project_version_id": input.version}).evaluations
	e.status == "fail"
])

verdict := {"kinds": kinds, "sboms": sboms, "failing": failing}
"#;

const INPUT: &str = r#"{"input": {
	"digest": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477",
	"version": "643224fb-4763-546c-9387-69d5984a8501"
}}"#;

/// The faults of the service, in turns; between them there are none.
const FAULTS: &[&str] = &[
    "discover:status=503:count=3",
    "store:cut=100:count=1",
    "discover:reset:count=2",
    "store:wrong-bytes:count=1",
    "*:latency=30ms:count=20",
    "compliance:status=429:retry-after=0:count=2",
    "compliance:cut=50:count=2",
    "download:status=500:count=9",
    "discover:status=403:count=1",
    "*:reset:count=4",
];

/// What came of the decisions that were asked for.
#[derive(Debug, Default)]
struct Tally {
    right: usize,
    errors: usize,
    busy: usize,
    without_answer: usize,
    wrong: Vec<String>,
}

/// A process that serves decisions.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Returns the number of open handles, and the resident memory in MiB.
    fn taken(&self) -> (usize, u64) {
        let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", self.0.id()));
        let status = std::fs::read_to_string(of("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        (std::fs::read_dir(of("fd")).unwrap().count(), kib >> 10)
    }
}

fn main() {
    if !is_measuring() {
        return;
    }
    let seconds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(60);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/platform");
    let service =
        Emulator::start(Dataset::load(&data).unwrap(), EmulatorOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let policy = folder.path().join("soak.rego");
    std::fs::write(&policy, POLICY).unwrap();
    let (server, address) = start(&service, &policy, &store);

    let (_, expected) = ask(address).expect("an answer without faults");
    assert_eq!(expected["result"]["failing"].as_u64().map(|_| ()), Some(()), "{expected}");
    let tally = Mutex::new(Tally::default());
    let done = AtomicBool::new(false);
    let mut before = None;
    let end = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            in_turns(&done, FAULTS, |fault| {
                service.set_faults(vec![fault.parse::<Fault>().unwrap()]);
            })
        });
        scope.spawn(|| in_turns(&done, STORE_FAULTS, |fault| each_object(&store, *fault)));
        for _ in 0..BAD_CLIENTS {
            scope.spawn(|| in_turns(&done, CLIENT_FAULTS, |fault| misbehave(address, *fault)));
        }
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    note(ask(address), &expected, &mut tally.lock().unwrap());
                }
            });
        }
        // After a sixth of the time everything is warm.
        std::thread::sleep(Duration::from_secs(seconds) / 6);
        before = Some(server.taken());
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        done.store(true, Ordering::Relaxed);
    });
    service.set_faults(Vec::new());
    std::thread::sleep(Duration::from_secs(1));
    let (after, tally) = (server.taken(), tally.into_inner().unwrap());
    let (status, answer) = ask(address).expect("an answer afterwards");
    println!(
        "{seconds} s: {} right, {} errors, {} refused as too many, {} without an answer, {} wrong; \
         handles {} → {}, memory {} → {} MiB",
        tally.right,
        tally.errors,
        tally.busy,
        tally.without_answer,
        tally.wrong.len(),
        before.unwrap().0,
        after.0,
        before.unwrap().1,
        after.1,
    );
    assert!(tally.wrong.is_empty(), "a decision was wrong: {:?}", tally.wrong.first());
    assert!(tally.right > tally.errors, "most decisions are answered");
    assert_eq!(tally.without_answer, 0, "each well-formed request has an answer");
    assert_eq!((status, &answer["result"]), (200, &expected["result"]), "it works afterwards");
}

fn start(service: &Emulator, policy: &Path, store: &Path) -> (Server, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rego-platform"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-cache", "--timeout", "10s"]);
    command.args(["--controlplane-url", &service.controlplane_url().to_string()]);
    command.args(["--base-url", &service.base_url().to_string()]);
    command.arg("--artifact-store").arg(format!("file://{}", store.display()));
    command.arg("-d").arg(policy);
    // Neither a proxy nor a login of this machine's.
    command.env_clear().env("PLATFORM_TOKEN", service.default_token());
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let address = line.strip_prefix("serving http://")?.strip_suffix(" until interrupted")?;
        address.parse().ok()
    });
    // Its warnings about the store are nobody's.
    std::thread::spawn(move || lines.for_each(drop));
    (Server(process), address.expect("the server starts"))
}

fn in_turns<T>(done: &AtomicBool, faults: &[T], mut misbehave: impl FnMut(&T)) {
    for fault in faults.iter().cycle() {
        if done.load(Ordering::Relaxed) {
            return;
        }
        misbehave(fault);
        std::thread::sleep(Duration::from_millis(60));
    }
}

/// Asks for a decision, and returns the status with the answer; `None` without a whole one.
fn ask(address: SocketAddr) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    stream.write_all(request("connection: close\r\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

fn request(header: &str) -> String {
    let length = INPUT.len();
    format!(
        "POST /v1/data/soak/verdict HTTP/1.1\r\nhost: localhost\r\n{header}content-type: application/json\r\n\
         content-length: {length}\r\n\r\n{INPUT}"
    )
}

fn note(answer: Option<(u16, Value)>, expected: &Value, tally: &mut Tally) {
    match answer {
        None => tally.without_answer += 1,
        Some((429, _)) => tally.busy += 1,
        Some((200, answer)) if answer["result"] == expected["result"] => tally.right += 1,
        Some((500.., answer)) if answer["code"].is_string() => tally.errors += 1,
        Some((status, answer)) => tally.wrong.push(format!("{status}: {answer}")),
    }
}

#[derive(Clone, Copy)]
enum StoreFault {
    None,
    Altered,
    Cut,
    Missing,
    Folder,
}

const STORE_FAULTS: &[StoreFault] = &[
    StoreFault::Altered,
    StoreFault::None,
    StoreFault::Cut,
    StoreFault::Missing,
    StoreFault::None,
    StoreFault::Folder,
];

/// Does the same to every object of the store; one may vanish meanwhile.
fn each_object(store: &Path, fault: StoreFault) {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    for object in below(&store.join("sha256")).iter().flat_map(|folder| below(folder)) {
        let _ = match fault {
            StoreFault::None => {
                if object.is_dir() {
                    std::fs::remove_dir(&object)
                } else {
                    Ok(())
                }
            }
            StoreFault::Altered => std::fs::write(&object, "{\"bomFormat\": \"another\"}"),
            StoreFault::Cut => {
                let file = std::fs::OpenOptions::new().write(true).open(&object);
                file.and_then(|file| file.set_len(10))
            }
            StoreFault::Missing => std::fs::remove_file(&object),
            StoreFault::Folder => {
                std::fs::remove_file(&object).and_then(|()| std::fs::create_dir(&object))
            }
        };
    }
}

#[derive(Clone, Copy)]
enum ClientFault {
    LeavesWithoutReading,
    SendsHalf,
    SendsHalfAndWaits,
    SendsNoHttp,
    SendsNoJson,
}

const CLIENT_FAULTS: &[ClientFault] = &[
    ClientFault::LeavesWithoutReading,
    ClientFault::SendsHalf,
    ClientFault::SendsHalfAndWaits,
    ClientFault::SendsNoHttp,
    ClientFault::SendsNoJson,
];

fn misbehave(address: SocketAddr, fault: ClientFault) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let request = request("");
    let half = &request[..request.len() - 40];
    let sent = match fault {
        ClientFault::LeavesWithoutReading => request.clone(),
        ClientFault::SendsHalf | ClientFault::SendsHalfAndWaits => half.to_owned(),
        ClientFault::SendsNoHttp => "\u{0}\u{1}{}\r\n\r\n".to_owned(),
        ClientFault::SendsNoJson => request.replace("\"input\"", "'input'"),
    };
    let _ = stream.write_all(sent.as_bytes());
    if let ClientFault::SendsHalfAndWaits = fault {
        std::thread::sleep(Duration::from_millis(300));
    }
}

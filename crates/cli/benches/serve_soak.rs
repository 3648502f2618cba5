//! A minute of decisions by the command's `serve`, while the service it asks, its store of artifacts and its
//! clients misbehave: every decision is the right one or an error, and afterwards no more handles are open than under
//! load. Its memory is shown.
//!
//! `cargo bench --bench serve_soak`, or with the number of seconds: `cargo bench --bench serve_soak -- 600`. Linux
//! only.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::pedantic)]

#[path = "../../../tests/it/soak/faults.rs"]
mod faults;
mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use faults::{INPUT, POLICY, in_turns};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use serde_json::Value;
use support::is_measuring;
use support::server::{Process, serve};

const CLIENTS: usize = 12;
const BAD_CLIENTS: usize = 4;

/// What came of the decisions that were asked for.
#[derive(Debug, Default)]
struct Tally {
    right: usize,
    errors: usize,
    busy: usize,
    without_answer: usize,
    wrong: Vec<String>,
}

/// Returns the number of open handles, and the resident memory in MiB.
fn taken(server: &Process) -> (usize, u64) {
    (std::fs::read_dir(server.about("fd")).unwrap().count(), server.status("VmRSS:") >> 10)
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
    assert!(expected["result"]["failing"].is_u64(), "{expected}");
    let tally = Mutex::new(Tally::default());
    let done = AtomicBool::new(false);
    let end = Instant::now() + Duration::from_secs(seconds);
    let before = std::thread::scope(|scope| {
        scope.spawn(|| faults::misbehave(&service, &done));
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
        let before = taken(&server);
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        done.store(true, Ordering::Relaxed);
        before
    });
    service.set_faults(Vec::new());
    std::thread::sleep(Duration::from_secs(1));
    let (after, tally) = (taken(&server), tally.into_inner().unwrap());
    let (status, answer) = ask(address).expect("an answer afterwards");
    println!(
        "{seconds} s: {} right, {} errors, {} refused as too many, {} without an answer, {} wrong; \
         handles {} → {}, memory {} → {} MiB",
        tally.right,
        tally.errors,
        tally.busy,
        tally.without_answer,
        tally.wrong.len(),
        before.0,
        after.0,
        before.1,
        after.1,
    );
    assert!(tally.wrong.is_empty(), "a decision was wrong: {:?}", tally.wrong.first());
    assert!(tally.right > tally.errors, "most decisions are answered");
    assert_eq!(tally.without_answer, 0, "each well-formed request has an answer");
    assert!(after.0 <= before.0, "handles stay open");
    assert_eq!((status, &answer["result"]), (200, &expected["result"]), "it works afterwards");
}

fn start(service: &Emulator, policy: &Path, store: &Path) -> (Process, SocketAddr) {
    let urls = [service.controlplane_url(), service.base_url()].map(|url| url.to_string());
    let mut options = |command: &mut Command| {
        command.args(["--no-cache", "--timeout", "10s", "--artifact-store"]);
        command.arg(format!("file://{}", store.display()));
        command.arg("-d").arg(policy).env("PLATFORM_TOKEN", service.default_token());
    };
    serve(&mut options, [&urls[0], &urls[1]])
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
    let body = format!("{{\"input\": {INPUT}}}");
    let length = body.len();
    format!(
        "POST /v1/data/soak/verdict HTTP/1.1\r\nhost: localhost\r\n{header}content-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
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

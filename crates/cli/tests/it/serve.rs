//! `serve`: its options, and the process. The interface is tested in its own crate.

mod changes;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{Run, Sandbox};
use crate::hostile::script::ok;
use crate::hostile::server::Server;
use crate::support::{CLEAN_IMAGE, HANG};

/// A running server.
struct Served {
    child: Child,
    address: String,
    /// What it said before it served.
    said: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(sandbox: &Sandbox, arguments: &[&str]) -> Served {
    started(sandbox.run(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat()))
}

fn started(run: Run) -> Served {
    let mut child = run.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut served = Served { child, address: String::new(), said: String::new(), stderr };
    while served.address.is_empty() {
        let mut line = String::new();
        assert_ne!(served.stderr.read_line(&mut line).unwrap(), 0, "{}", served.said);
        let address = line.strip_prefix("serving http://");
        let address = address.and_then(|rest| rest.strip_suffix(" until interrupted\n"));
        served.address = address.unwrap_or_default().to_owned();
        served.said += &line;
    }
    served
}

impl Served {
    /// Sends a request and returns the whole answer.
    fn ask(&self, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn until(&self, request: &str, expected: &str) {
        let began = Instant::now();
        loop {
            let answer = self.ask(request, "");
            if answer.contains(expected) {
                return;
            }
            assert!(began.elapsed() < HANG, "{request}: {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Interrupts it, and returns its exit status and the rest of what it said.
    #[cfg(unix)]
    fn interrupt(&mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").arg(&id).status().unwrap().success());
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

fn policies(sandbox: &Sandbox) -> String {
    sandbox.write(
        "policies/p.rego",
        "package p\n\nkind := platform.discover(input.image, \"\").kind\n\nversion := 1\n",
    );
    sandbox.path("policies").to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn it_decides_until_it_is_interrupted() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let mut served = serve(&sandbox, &["-d", &policies, "--local", "testdata/platform"]);
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let answer = served.ask("POST /v1/data/p/kind", &body);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("{\"result\":\"CONTAINER_IMAGE\"}\n"), "{answer}");
    let (code, said) = served.interrupt();
    assert_eq!((code, said.as_str()), (Some(0), "SIGTERM: finishing open requests\n"));
    assert!(TcpStream::connect(&served.address).is_err());
}

#[test]
fn a_recording_answers_and_nothing_else() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let (input, recording) = (
        sandbox.write("input.json", format!(r#"{{"image": "{CLEAN_IMAGE}"}}"#)),
        sandbox.path("recording.json"),
    );
    let recording = recording.to_str().unwrap();
    let record = ["eval", "-d", &policies, "-i", &input, "--record", recording, "data.p.kind"];
    sandbox.local(&record).output().code(0);
    let served = serve(&sandbox, &["-d", &policies, "--replay", recording]);
    let body = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let answer = served.ask("POST /v1/data/p/kind", &body);
    assert!(answer.ends_with("{\"result\":\"CONTAINER_IMAGE\"}\n"), "{answer}");
    let other = body.replace("8fa6a8", "000000");
    let answer = served.ask("POST /v1/data/p/kind", &other);
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
}

#[test]
fn watched_policies_are_exchanged_and_broken_ones_are_not() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let local = ["-d", policies.as_str(), "--local", "testdata/platform", "--watch"];
    let mut served = serve(&sandbox, &local);
    let file = Path::new(&policies).join("p.rego");
    served.until("GET /v1/data/p/version", "{\"result\":1}");
    // The first load of the watch may come after the change, which it then sees.
    let mut line = String::new();
    served.stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "watching for changes\n");
    std::fs::write(&file, "package p\n\nversion := 2\n").unwrap();
    served.until("GET /v1/data/p/version", "{\"result\":2}");
    std::fs::write(&file, "package p\n\nversion := platform.discovr(1)\n").unwrap();
    served.until("GET /health?bundles", "HTTP/1.1 500 ");
    served.until("GET /v1/data/p/version", "{\"result\":2}");
    std::fs::write(&file, "package p\n\nversion := 3\n").unwrap();
    served.until("GET /v1/data/p/version", "{\"result\":3}");
    served.until("GET /health?bundles", "HTTP/1.1 200 OK");
    served.child.kill().unwrap();
    let mut said = String::new();
    served.stderr.read_to_string(&mut said).unwrap();
    assert!(said.contains("platform.discovr"), "{said}");
}

#[test]
fn decisions_are_logged_on_standard_output() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let log = ["-d", policies.as_str(), "--local", "testdata/platform", "--decision-log", "-"];
    let mut served = serve(&sandbox, &log);
    served.ask("POST /v1/data/p/version", "{}");
    let mut line = String::new();
    BufReader::new(served.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&entry["path"], &entry["result"]), (&"p/version".into(), &1.into()), "{entry}");
}

#[cfg(unix)]
#[test]
fn decisions_are_uploaded_before_the_end() {
    let (sandbox, collector) = (Sandbox::new(), Server::start(|_| ok(Vec::new())));
    let (policies, token) = (policies(&sandbox), sandbox.write("token", "canary-of-the-log\n"));
    let (spool, url) = (sandbox.path("spool"), collector.url());
    let log = ["-d", &policies, "--local", "testdata/platform", "--decision-log", &url];
    let spool =
        ["--decision-log-spool", spool.to_str().unwrap(), "--decision-log-token-file", &token];
    let mut served = serve(&sandbox, &[&log[..], &spool[..]].concat());
    served.ask("POST /v1/data/p/version", "{}");
    let (code, said) = served.interrupt();
    assert_eq!((code, said.as_str()), (Some(0), "SIGTERM: finishing open requests\n"));
    let requests = collector.requests();
    let [upload] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(upload.line(), "POST /logs HTTP/1.1");
    assert_eq!(upload.header("authorization"), Some("Bearer canary-of-the-log"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*upload.body).read_to_string(&mut text).unwrap();
    let entries: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (entries[0]["path"].as_str(), &entries[1]),
        (Some("p/version"), &serde_json::Value::Null)
    );
}

#[test]
fn a_missing_token_for_the_service_is_said_at_the_start() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let mut served =
        serve(&sandbox, &["-d", &policies, "--controlplane-url", "http://127.0.0.1:1"]);
    assert!(served.said.contains("warning: no token for the service"), "{}", served.said);
    let answer = served.ask("POST /v1/data/p/kind", r#"{"input": {"image": "sha256:0"}}"#);
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    let digest = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let answer = served.ask("POST /v1/data/p/kind", &digest);
    let own = "missing token; that is this server's own token for the service";
    assert!(answer.contains(own), "{answer}");
    served.child.kill().unwrap();
}

#[test]
fn an_option_of_opas_server_names_the_one_in_its_place() {
    let sandbox = Sandbox::new();
    for (arguments, says) in [
        (&["serve", "--addr", ":8181"][..], "`--listen ADDR`"),
        (&["serve", "-a", ":8181"], "`--listen ADDR`"),
        (&["serve", "--authentication=token"], "`--auth-token-file FILE`"),
        (&["serve", "--tls-cert-file", "c"], "`--tls-cert FILE`"),
        (&["serve", "--log-level", "debug"], "`-vv`"),
        (&["serve", "--set", "decision_logs.console=true"], "`--decision-log`"),
        (&["serve", "policies"], "name policies with `-d`"),
        (&["run", "--server"], "`rego-platform serve`"),
    ] {
        sandbox.run(arguments).output().fails(says);
    }
    sandbox.run(&["serve", "--nonsense"]).output().fails("unexpected argument '--nonsense' found");
}

#[test]
fn what_would_be_unsafe_or_has_no_effect_is_refused() {
    let sandbox = Sandbox::new();
    let policies = policies(&sandbox);
    let short = sandbox.write("short", "0123456789\n");
    let empty = sandbox.write("empty", "\n");
    let good = sandbox.write("good", "0123456789abcdef\n");
    let broken = sandbox.write("broken.rego", "package p\n\nx := platform.discovr(1)\n");
    let listening = |address: &str, arguments: &[&str]| {
        let all = [&["serve", "-d", &policies, "--listen", address], arguments].concat();
        sandbox.local(&all).output()
    };
    listening("0.0.0.0:0", &[]).fails("address reachable from other machines");
    listening("0.0.0.0:0", &["--expose"]).fails("no access control for");
    let local = |arguments: &[&str]| listening("127.0.0.1:0", arguments);
    local(&["--auth-token-file", &short]).fails("at least 16 characters");
    local(&["--auth-token-file", &empty]).fails("has no token");
    local(&["--auth-token-file", "absent"]).fails("the file of tokens");
    local(&["--tls-cert", &good]).fails("--tls-key");
    local(&["--tls-cert", &good, "--tls-key", &good]).fails("no certificate found");
    let inside = format!("{policies}/log.json");
    local(&["--decision-log", &inside]).fails("would be read and written");
    local(&["--decision-log", &good, "--auth-token-file", &good])
        .fails("would be read and written");
    local(&["--decision-log", "/absent/log"]).fails("can't be opened");
    local(&["--decision-log", "https://logs.example"]).fails("--decision-log-spool DIR");
    local(&["--decision-log", &good, "--decision-log-spool", "spool"])
        .fails("without an upload of decisions");
    let spool = sandbox.path("spool");
    let plain =
        ["--decision-log", "http://logs.example", "--decision-log-spool", spool.to_str().unwrap()];
    local(&plain).fails("over plain HTTP");
    local(&["--record", "recording.json"]).fails("doesn't support `--record`");
    local(&["-d", &broken]).fails("platform.discovr");
    sandbox.local(&["serve"]).output().fails("--data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    listening(&taken, &[]).fails("can't listen on");
}

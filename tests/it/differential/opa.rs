//! OPA's answers, from its binary run as a server on loopback.
//!
//! One server has the modules and data of many cases at once, each below a root of its own.
//! Cases that OPA doesn't compile are found before and left out: their answer is an error.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::Answer;
use super::generate::{Case, Question};

/// The binary: `OPA` names it, or it is on the path.
pub(crate) fn binary() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("OPA").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("opa")).find(|file| file.is_file())
}

/// OPA's answers to every question of `cases`, case by case.
pub(crate) fn answers(binary: &Path, cases: &[Case]) -> Vec<Vec<Answer>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for case in cases {
        for (name, text) in &case.modules {
            std::fs::write(folder.path().join(name), text).expect("a module written");
        }
    }
    let refused = remove_refused(binary, folder.path());
    write_data(folder.path(), cases);
    let server = Server::start(binary, folder.path());
    let answer = |case: &Case| match refused.get(&case.seed) {
        Some(reason) => vec![Answer::Error(reason.clone()); case.questions.len()],
        None => case.questions.iter().map(|q| server.ask(q, &case.input)).collect(),
    };
    cases.iter().map(answer).collect()
}

fn write_data(folder: &Path, cases: &[Case]) {
    let mut data = serde_json::Map::new();
    for case in cases {
        if let Value::Object(fields) = &case.data {
            data.extend(fields.clone());
        }
    }
    std::fs::write(folder.join("data.json"), Value::from(data).to_string()).expect("data written");
}

/// Removes the modules of cases that OPA's compiler refuses, and returns why.
fn remove_refused(binary: &Path, folder: &Path) -> BTreeMap<u64, String> {
    let mut refused = BTreeMap::new();
    loop {
        let output = Command::new(binary)
            .args(["check", "--format", "json", "--max-errors", "0"])
            .arg(folder)
            .output()
            .expect("opa runs");
        if output.status.success() {
            return refused;
        }
        let before = refused.len();
        let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
        let report: Value = serde_json::from_slice(text).expect("opa's errors as json");
        for error in report["errors"].as_array().expect("errors") {
            let file = error["location"]["file"].as_str().expect("a file").to_owned();
            let seed = seed(&file).expect("a generated file");
            refused
                .insert(seed, format!("{}: {}", text_of(error, "code"), text_of(error, "message")));
            let _ = std::fs::remove_file(&file);
        }
        remove_files(folder, &refused);
        assert!(refused.len() > before, "opa refuses, and no case is why: {report}");
    }
}

fn text_of<'a>(error: &'a Value, field: &str) -> &'a str {
    error[field].as_str().unwrap_or_default()
}

fn remove_files(folder: &Path, refused: &BTreeMap<u64, String>) {
    for entry in folder.read_dir().expect("the folder") {
        let path = entry.expect("an entry").path();
        if seed(&path.to_string_lossy()).is_some_and(|seed| refused.contains_key(&seed)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The seed in `…/c17_0.rego`.
fn seed(file: &str) -> Option<u64> {
    let name = file.rsplit(['/', '\\']).next()?;
    name.strip_prefix('c')?.split('_').next()?.parse().ok()
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(binary: &Path, folder: &Path) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let child = Command::new(binary)
            .args(["run", "--server", "--log-level", "error", "--disable-telemetry", "--addr"])
            .arg(address.to_string())
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("opa runs");
        let server = Self { child, address };
        let start = Instant::now();
        while server.request("GET", "/health", "").is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "opa doesn't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn ask(&self, question: &Question, input: &Value) -> Answer {
        let (path, body) = match question {
            Question::Document(path) => (
                format!("/v1/data/{}?strict-builtin-errors=true", path.join("/")),
                json!({ "input": input }),
            ),
            Question::Bindings(query) => {
                ("/v1/query".to_owned(), json!({ "query": query, "input": input }))
            }
        };
        let (status, answer) = self.request("POST", &path, &body.to_string()).expect("opa answers");
        if status != 200 {
            let first = answer["errors"].get(0).unwrap_or(&answer);
            let (code, message) = (text_of(first, "code"), text_of(first, "message"));
            return Answer::Error(format!("{code}: {message}"));
        }
        match (question, answer.get("result")) {
            (_, None) => Answer::Undefined,
            (Question::Document(_), Some(value)) => Answer::Document(value.clone()),
            (Question::Bindings(_), Some(rows)) => match rows.as_array() {
                Some(rows) if !rows.is_empty() => Answer::Bindings(rows.clone()),
                _ => Answer::Undefined,
            },
        }
    }

    /// One request of HTTP 1.0, whose answer ends where the connection does.
    fn request(&self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(self.address)?;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }
}

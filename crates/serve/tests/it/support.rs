//! A server over policies in a folder, and a client.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Print};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{SourceLimits, Sources};
use rego_platform::{Error, Platform, Token, Value};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use rego_platform_gate::model::{AnsweredBy, Tool};
use rego_platform_gate::{Gate, GateOptions, RunOptions};
use rego_platform_serve::{GateRun, Journal, Load, Loaded, Server, ServerOptions};
use reqwest::Method;

/// A time limit that only a hang exceeds, even on a busy machine.
pub const HANG: Duration = Duration::from_mins(1);

/// The clean image of the shipped data.
pub const CLEAN_IMAGE: &str =
    "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

/// A running server, and the folder of its policies.
pub struct Served {
    pub server: Server,
    pub folder: tempfile::TempDir,
    pub journal: Arc<Heard>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        Value::from_json(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What a server said.
#[derive(Debug, Default)]
pub struct Heard {
    pub printed: Mutex<Vec<String>>,
    pub failed: Mutex<Vec<String>>,
}

impl Journal for Heard {
    fn printed(&self, print: &Print) {
        self.printed.lock().unwrap().push(print.message.clone());
    }

    fn failed(&self, error: &Error) {
        self.failed.lock().unwrap().push(error.report());
    }
}

pub fn unavailable() -> Answers {
    Answers::Unavailable("`{function}` isn't available here".to_owned())
}

pub fn emulator() -> Emulator {
    static SHIPPED: LazyLock<Dataset> =
        LazyLock::new(|| Dataset::load("../../testdata/platform".as_ref()).unwrap());
    Emulator::start(SHIPPED.clone(), EmulatorOptions::default()).unwrap()
}

pub fn platform(emulator: &Emulator) -> Platform {
    Platform::builder()
        .controlplane_url(emulator.controlplane_url())
        .base_url(emulator.base_url())
        .token(Token::new(emulator.default_token()).unwrap())
        .first_pause(Duration::from_millis(1))
        .build()
        .unwrap()
}

pub fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

pub fn load(folder: &Path) -> Load {
    let folder = folder.to_str().unwrap().to_owned();
    Load(Box::new(move || {
        let sources = Sources::read([&folder], SourceLimits::default())?;
        let policies = Policies::load(&sources, LoadOptions::default())?;
        let gate = Gate::load(std::slice::from_ref(&folder), &GateOptions::default());
        Ok(Loaded { policies, gate })
    }))
}

/// Returns options with the defaults, on a free port.
pub fn options(answers: Answers, journal: &Arc<Heard>) -> ServerOptions {
    let mut evaluate = EvaluateOptions::new(answers);
    evaluate.strict_builtin_errors = false;
    let tool = || Tool::new("test", "0");
    let gate = GateRun(Box::new(move |mut evaluate| {
        evaluate.strict_builtin_errors = true;
        RunOptions::new(evaluate, AnsweredBy::Emulator, tool())
    }));
    let mut options = ServerOptions::new(evaluate, gate, journal.clone());
    options.listen.set_port(0);
    options
}

/// Serves `files`.
pub fn serve(
    files: &[(&str, &str)],
    answers: Answers,
    change: impl FnOnce(&mut ServerOptions),
) -> Served {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    let journal = Arc::new(Heard::default());
    let mut options = options(answers, &journal);
    change(&mut options);
    let server = Server::start(load(folder.path()), options).unwrap();
    Served { server, folder, journal }
}

/// Serves one policy that asks nobody.
pub fn serve_policy(text: &str) -> Served {
    serve(&[("p.rego", text)], unavailable(), |_| {})
}

impl Served {
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(Method::POST, path, &[], body.to_owned()).await
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        ask(&self.url(path), method, headers, body).await
    }

    /// Sends bytes on a connection of its own, and returns everything that comes back.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut text = Vec::new();
        // A reset ends the answer, too.
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

pub async fn ask(
    url: &str,
    method: Method,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Answer {
    let _ = rego_platform::rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(HANG).build().unwrap();
    let mut request = client.request(method, url).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, body: response.text().await.unwrap() }
}

/// Waits until `holds` returns `true`.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < HANG, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

//! The command itself, run as a process of its own with an environment of its own.

mod auth;
mod cache;
mod call;
mod context;
mod cut;
mod emulate;
mod eval;
mod habits;
mod help;
mod messages;
mod process;
mod recordings;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use rego_platform::emulator::{Emulator, EmulatorOptions};
use serde_json::Value;

pub const BINARY: &str = env!("CARGO_BIN_EXE_rego-platform");

/// What no output may ever hold.
pub const CANARY: &str = "canary-9f2c";

/// A home directory of its own.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// A command line that is about to be run.
pub struct Run {
    command: Command,
    stdin: Vec<u8>,
}

/// What a run left.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file that only its owner can read.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        restrict(&path, 0o600);
        path.to_str().unwrap().to_owned()
    }

    /// Writes the configuration file of `product`.
    pub fn config(&self, product: &str, content: &str) -> String {
        self.write(&format!("config/{product}/config.toml"), content)
    }

    /// A command line, in the crate's folder, with nothing in its environment but a home.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        Run { command, stdin: Vec::new() }
    }

    /// A command line that asks the shipped data set.
    pub fn local(&self, arguments: &[&str]) -> Run {
        self.run(&[arguments, &["--local", "testdata/platform"]].concat())
    }
}

impl Run {
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// In this folder, instead of the crate's.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The bare command, for tests that look after the process themselves.
    pub fn command(self) -> Command {
        self.command
    }

    /// Runs it; the canary is in no output.
    pub fn output(self) -> Output {
        let (output, stdout) = self.bytes();
        Output { stdout: String::from_utf8(stdout).unwrap(), ..output }
    }

    /// Like [`output`](Self::output), with standard output as bytes.
    pub fn bytes(mut self) -> (Output, Vec<u8>) {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        // A command that doesn't read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains(CANARY), "{stderr}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(CANARY));
        (Output { code: output.status.code(), stdout: String::new(), stderr }, output.stdout)
    }
}

impl Output {
    /// The run ended with `code`.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard error holds `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` isn't in {self:#?}");
        self
    }

    /// Nothing was printed on standard error.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert_eq!(self.stderr, "");
        self
    }

    /// Nothing was printed on standard output.
    #[track_caller]
    pub fn empty(self) -> Self {
        assert_eq!(self.stdout, "");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A token with these claims. Nobody checks its signature before the service does.
pub fn jwt(claims: &Value) -> String {
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let part = |text: &str| base64.encode(text);
    format!("{}.{}.{CANARY}", part(r#"{"alg":"HS256","typ":"JWT"}"#), part(&claims.to_string()))
}

/// The shipped data set behind an emulator of the test's own.
pub fn service() -> Emulator {
    crate::emulator::start(EmulatorOptions::default())
}

#[cfg(unix)]
pub fn restrict(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
pub fn restrict(_: &Path, _: u32) {}

//! The command, run as a process with an environment of its own.

mod artifact_store;
mod auth;
mod cache;
mod call;
mod context;
mod cut;
mod emulate;
mod eval;
mod grpc;
mod habits;
mod help;
mod hosts;
mod messages;
mod process;
mod recordings;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use base64::Engine as _;
use rego_platform_emulator::{Emulator, EmulatorOptions};
use serde_json::Value;

pub const BINARY: &str = env!("CARGO_BIN_EXE_rego-platform");

/// A secret that must be in no output.
pub const CANARY: &str = "canary-9f2c";

/// A separate home directory.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// A command line that is about to be run.
pub struct Run {
    command: Command,
    stdin: Vec<u8>,
}

/// The result of a run.
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

    /// Returns a command line, run in the crate's folder, with only a home in its environment.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .current_dir(crate::ROOT);
        if arguments.contains(&"chainloop") {
            // Nothing listens there: no test reaches the hosted service. Loopback is never proxied.
            command.env("HTTPS_PROXY", "http://127.0.0.1:1");
        }
        Run { command, stdin: Vec::new() }
    }

    /// A command line that asks the shipped data set, which it reads itself.
    pub fn local(&self, arguments: &[&str]) -> Run {
        self.run(&[arguments, &["--local", "testdata/platform"]].concat())
    }

    /// A command line that asks the shipped data set, which this process serves to all tests: reading it
    /// takes longer than most commands. Faults are of a service of the command's own.
    pub fn served(&self, arguments: &[&str]) -> Run {
        if arguments.contains(&"--fault") {
            return self.local(arguments);
        }
        static SERVICE: LazyLock<Emulator> =
            LazyLock::new(|| crate::emulator::start(EmulatorOptions::default()));
        self.run(arguments)
            .env("PLATFORM_CONTROLPLANE_URL", &SERVICE.controlplane_url())
            .env("PLATFORM_BASE_URL", &SERVICE.base_url())
            .env("PLATFORM_TOKEN", &SERVICE.default_token())
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

    /// Runs it in this folder instead of the crate's.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Returns the command, for tests that manage the process themselves.
    pub fn command(self) -> Command {
        self.command
    }

    /// Runs it, and checks that the canary is in no output.
    pub fn output(self) -> Output {
        let (output, stdout) = self.bytes();
        Output { stdout: String::from_utf8(stdout).unwrap(), ..output }
    }

    /// Like [`output`](Self::output), with standard output as bytes.
    pub fn bytes(mut self) -> (Output, Vec<u8>) {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        // A command that doesn't read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains(CANARY), "{stderr}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(CANARY));
        (Output { code: output.status.code(), stdout: String::new(), stderr }, output.stdout)
    }
}

impl From<std::process::Output> for Output {
    fn from(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Output {
    /// Checks that the run ended with `code`.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that the run ended with status 2, and says why.
    #[track_caller]
    pub fn fails(self, reason: &str) -> Self {
        self.fails_with_one_of(&[reason])
    }

    /// Checks that the run ended with status 2, for one of these reasons.
    #[track_caller]
    pub fn fails_with_one_of(self, reasons: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{self:#?}");
        let is_said =
            |reason: &&str| self.stderr.contains(*reason) || self.stdout.contains(*reason);
        assert!(reasons.iter().any(is_said), "none of {reasons:?} is in {self:#?}");
        self
    }

    /// Checks that standard error contains `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` isn't in {self:#?}");
        self
    }

    /// Checks that nothing was printed on standard error.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert_eq!(self.stderr, "");
        self
    }

    /// Checks that nothing was printed on standard output.
    #[track_caller]
    pub fn empty(self) -> Self {
        assert_eq!(self.stdout, "");
        self
    }

    /// Returns standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

#[test]
fn every_check_of_status_2_names_its_reason() {
    fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rust_files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), &mut files);
    let without =
        [concat!(".code", "(2)"), concat!("code(), ", "Some(2)"), concat!("(code, ", "Some(2)")];
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let line = text.lines().position(|line| without.iter().any(|status| line.contains(status)));
        assert_eq!(line, None, "{}: use `fails`, with the reason", file.display());
    }
}

/// Returns a token with these claims. Only the service checks its signature.
pub fn jwt(claims: &Value) -> String {
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let part = |text: &str| base64.encode(text);
    format!("{}.{}.{CANARY}", part(r#"{"alg":"HS256","typ":"JWT"}"#), part(&claims.to_string()))
}

/// The shipped data set behind an emulator for one test.
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

//! The command's server, or another one, in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A process, which ends when this is dropped.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Returns the path of what the kernel says about it.
    pub fn about(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.0.id()))
    }

    /// Returns a number of its status, such as `VmRSS:` in KiB.
    pub fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(self.about("status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    }
}

/// Starts the command's server on a free port, with the options of a service.
pub fn serve(options: &mut dyn FnMut(&mut Command), urls: [&str; 2]) -> (Process, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rego-platform"));
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--controlplane-url", urls[0], "--base-url", urls[1]]);
    // Neither a proxy nor a login of this machine's.
    command.env_clear();
    options(&mut command);
    let mut process = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let stderr = process.0.stderr.take().unwrap();
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let address = line.strip_prefix("serving http://")?.strip_suffix(" until interrupted")?;
        address.parse().ok()
    });
    // What it says later is nobody's.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address.unwrap())
}

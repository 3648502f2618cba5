//! `emulate`: exports, service, end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Sandbox;

/// A running emulator and its exports.
struct Served {
    child: Child,
    exports: Vec<(String, String)>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(sandbox: &Sandbox, arguments: &[&str]) -> Served {
    let arguments = [&["emulate", "testdata/platform"], arguments].concat();
    let mut command = sandbox.run(&arguments).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(3);
    let exports = lines
        .map(|line| {
            let line = line.unwrap();
            let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        })
        .collect();
    Served { child, exports }
}

/// Sends a signal and waits for the end.
#[cfg(unix)]
fn signal(served: &mut Served, name: &str) -> Option<i32> {
    let id = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    let start = Instant::now();
    while start.elapsed() < crate::support::HANG {
        if let Some(status) = served.child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it doesn't end");
}

#[test]
#[cfg(unix)]
fn it_exports_serves_and_stops() {
    let sandbox = Sandbox::new();
    for name in ["-TERM", "-INT"] {
        let mut served = serve(&sandbox, &[]);
        let names: Vec<&str> = served.exports.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PLATFORM_CONTROLPLANE_URL", "PLATFORM_BASE_URL", "PLATFORM_TOKEN"]);
        let run = served
            .exports
            .iter()
            .fold(sandbox.run(&["auth", "status"]), |run, (name, value)| run.env(name, value));
        run.output().code(0);
        assert_eq!(signal(&mut served, name), Some(0));
        let mut stderr = String::new();
        served.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "serving until interrupted\n");
    }
}

#[test]
fn the_product_names_the_variables_and_faults_apply() {
    let sandbox = Sandbox::new();
    let served = serve(&sandbox, &["--product", "acme", "--fault", "evidence:status=403"]);
    assert_eq!(served.exports[2].0, "ACME_TOKEN");
    let run = sandbox.run(&["call", "evidence", "--product", "acme"]);
    let run = served.exports.iter().fold(run, |run, (name, value)| run.env(name, value));
    run.output().fails("acme.evidence").says("403");
}

#[test]
fn it_writes_what_a_login_leaves() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("config");
    let product = ["--product", "acme"];
    let written = ["--write-config", folder.to_str().unwrap()];
    let _served = serve(&sandbox, &[&product[..], &written].concat());
    let image = crate::emulator::CLEAN_IMAGE;
    let call = ["call", "discover", image, ""];
    let found = sandbox.run(&[&call[..], &product].concat()).output().code(0).json();
    assert_eq!(found["digest"], image);
}

#[test]
fn invalid_options_are_refused() {
    let sandbox = Sandbox::new();
    let data = "testdata/platform";
    for (arguments, says) in [
        (&["emulate", data, "--listen", "0.0.0.0:0"][..], "`--expose`"),
        (&["emulate", data, "--listen", "nowhere"], "expected an address such as"),
        (&["emulate", data, "--local", data], "`emulate` doesn't support `--local`"),
        (&["emulate", data, "--fault", "x"], "fault `x`"),
        (&["emulate", "/nonexistent"], "error"),
    ] {
        let output = sandbox.run(arguments).output().fails(says);
        assert_eq!(output.stdout, "");
    }
}

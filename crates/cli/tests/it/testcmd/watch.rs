//! `--watch`: a change is followed by a run, and an error doesn't end it.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::cli::Sandbox;

/// Longer than a run takes on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Longer than the time without changes before a run.
const QUIET: Duration = Duration::from_millis(800);

struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.run(&["test", ".", "--watch"]).command();
        command.current_dir(sandbox.path("p")).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        let stderr: Box<dyn Read + Send> = Box::new(child.stderr.take().unwrap());
        for stream in [stdout, stderr] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines }
    }

    /// Reads until there is a line for each of `wanted`, in any order: two streams are read.
    fn sees(&self, wanted: &[&str]) {
        let mut left = wanted.to_vec();
        let mut seen = Vec::new();
        while !left.is_empty() {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no line has {left:?} in {seen:#?}"));
            left.retain(|text| !line.contains(text));
            seen.push(line);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(folder: &Path, name: &str, body: &str) {
    std::fs::write(folder.join(name), format!("package a_test\n\n{body}\n")).unwrap();
}

#[test]
fn each_change_is_followed_by_a_run() {
    let sandbox = Sandbox::new();
    sandbox.write("p/sub/a_test.rego", "package a_test\n\ntest_x if true\n");
    let folder = sandbox.path("p");
    let watching = Watching::start(&sandbox);
    watching.sees(&["PASS: 1/1", "watching for changes"]);
    write(&folder, "sub/a_test.rego", "test_x if 1 == 2");
    watching.sees(&["sub/a_test.rego:3:", "FAIL: 1/1", "watching for changes"]);
    // A file that no run reads isn't a change.
    std::fs::write(folder.join("notes.txt"), "x").unwrap();
    assert_eq!(watching.lines.recv_timeout(QUIET).ok(), None);
    // A failure to load is reported, and the watch continues.
    write(&folder, "sub/a_test.rego", "test_x if");
    watching.sees(&["error[parse-error]", "watching for changes"]);
    // Editors replace the old file by a new one.
    write(&folder, "new.tmp", "test_x if true\n\ntest_y if true");
    std::fs::rename(folder.join("new.tmp"), folder.join("sub/a_test.rego")).unwrap();
    watching.sees(&["PASS: 2/2", "watching for changes"]);
    std::fs::write(folder.join("data.json"), "{\"a\": }").unwrap();
    watching.sees(&["error[data-error]", "watching for changes"]);
}

#[test]
fn a_path_that_cannot_be_watched_is_an_error() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("nowhere");
    for path in [path.to_str().unwrap().to_owned(), format!("a.b:{}", path.display())] {
        let output = sandbox
            .run(&["test", &path, "--watch"])
            .output()
            .fails("can't be watched: No such file or directory (os error 2");
        output.says("nowhere` can't be watched");
    }
}

//! The author's session in `docs/` runs as written.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_authors_session_runs_as_written() {
    let script = Path::new(crate::ROOT).join("docs/session.sh");
    let binary = Path::new(env!("CARGO_BIN_EXE_rego-platform"));
    let home = tempfile::tempdir().unwrap();
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("sh")
        .arg(script)
        .current_dir(home.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.path())
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
}

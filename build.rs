//! The commit that a release is built from, for `--version` and reports.
//!
//! Owns `REGO_PLATFORM_COMMIT`: from the environment, or from what `cargo package` noted, or from
//! the checkout. Builds for development name none: each commit would build everything again.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=REGO_PLATFORM_COMMIT");
    if env::var_os("CARGO_FEATURE_CLI").is_none()
        || env::var_os("REGO_PLATFORM_COMMIT").is_some()
        || env::var("PROFILE").as_deref() != Ok("release")
    {
        return;
    }
    if let Some(commit) = packaged().or_else(checked_out) {
        println!("cargo::rustc-env=REGO_PLATFORM_COMMIT={commit}");
    }
}

/// `{"git": {"sha1": "…"}}`, which `cargo package` writes.
fn packaged() -> Option<String> {
    let note = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = note.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let dirty = if note.contains("\"dirty\": true") { "-dirty" } else { "" };
    plain(commit).then(|| format!("{commit}{dirty}"))
}

/// The checkout's, if it is this crate's own and not one that this crate lies in.
fn checked_out() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let same = |a: &str, b: &str| {
        Some(Path::new(a).canonicalize().ok()? == Path::new(b).canonicalize().ok()?)
    };
    if !same(&root, ".")? {
        return None;
    }
    // Commits and checkouts both end up in this log.
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    for watched in ["src", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| plain(commit))?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

fn plain(commit: &str) -> bool {
    commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

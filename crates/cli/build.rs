//! The commit that a release is built from, for `--version` and reports, and the list of the
//! examples and collections that the command contains.
//!
//! Owns `REGO_PLATFORM_COMMIT`: from the environment, or from what `cargo package` noted, or from
//! the checkout. Builds for development name none: each commit would build everything again.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of the examples: where they are in the repository, and where they are written. In
/// `shipped` are links to them, under the names of the latter, which a package has copies of.
const EXAMPLES: [(&str, &str); 4] = [
    ("policies", "policies"),
    ("examples/release_gate", "release_gate"),
    ("testdata/inputs", "inputs"),
    ("testdata/platform", "service"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=REGO_PLATFORM_COMMIT");
    list_examples()?;
    if env::var_os("REGO_PLATFORM_COMMIT").is_some()
        || env::var("PROFILE").as_deref() != Ok("release")
    {
        return Ok(());
    }
    if let Some(commit) = packaged().or_else(checked_out) {
        println!("cargo::rustc-env=REGO_PLATFORM_COMMIT={commit}");
    }
    Ok(())
}

/// Writes `examples.rs`, which has the path and the content of each file.
fn list_examples() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut list = "pub(super) const FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for (source, target) in EXAMPLES {
        // A checkout on Windows may have no links.
        let shipped = root.join("shipped").join(target);
        let folder = if shipped.is_dir() { shipped } else { root.join("../..").join(source) };
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        walk(&folder, target, &mut files)?;
        for (path, target) in files {
            let path = path.to_str().ok_or("a path isn't UTF-8")?;
            writeln!(list, "    ({target:?}, include_bytes!({path:?})),")?;
        }
    }
    list += "];\n";
    std::fs::write(Path::new(&env::var("OUT_DIR")?).join("examples.rs"), list)?;
    Ok(())
}

/// Adds the files of a folder in the order of their names; hidden ones aren't the repository's.
fn walk(
    folder: &Path,
    target: &str,
    files: &mut Vec<(PathBuf, String)>,
) -> Result<(), Box<dyn Error>> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().map_err(|_| "a name isn't UTF-8")?;
        if name.starts_with('.') {
            continue;
        }
        let target = format!("{target}/{name}");
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &target, files)?;
        } else {
            files.push((entry.path(), target));
        }
    }
    Ok(())
}

/// `{"git": {"sha1": "…"}}`, which `cargo package` writes.
fn packaged() -> Option<String> {
    let note = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = note.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let dirty = if note.contains("\"dirty\": true") { "-dirty" } else { "" };
    plain(commit).then(|| format!("{commit}{dirty}"))
}

/// The checkout's commit, if the checkout is this repository's own.
fn checked_out() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let same = |a: &str, b: &str| {
        Some(Path::new(a).canonicalize().ok()? == Path::new(b).canonicalize().ok()?)
    };
    if !same(&root, "../..")? {
        return None;
    }
    // Commits and checkouts both end up in this log.
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    for watched in ["src", "crates", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed=../../{watched}");
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

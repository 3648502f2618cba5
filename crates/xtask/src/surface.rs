//! The public items of each crate, in a listing that is part of the repository, so that a change of them
//! is seen in a diff.

use std::process::Command;

use super::{Outcome, output, published, root, run, tool};

/// Compares the listings with the code; with `--update`, writes them.
pub(super) fn check(arguments: &[String]) -> Outcome {
    let updates = arguments.iter().any(|argument| argument == "--update");
    if !has_nightly() {
        println!("NOT CHECKED: nightly Rust, which lists the items, can't be had here");
        return Ok(());
    }
    let listing = tool("cargo-public-api", "0.52.0")?;
    let mut changed = Vec::new();
    for member in published() {
        // The command has no items for others.
        if member.name == "rego-platform-cli" {
            continue;
        }
        let mut command = Command::new(&listing);
        // Without the implementations that follow from others.
        command.args(["public-api", "--all-features", "-sss", "--color", "never", "--package"]);
        let now = output(command.arg(&member.name).current_dir(root()))?;
        let path = member.folder.join("public-api.txt");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        if updates {
            std::fs::write(&path, now).map_err(|error| format!("{}: {error}", path.display()))?;
        } else if now != before {
            show(&before, &now);
            changed.push(member.name);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let changed = changed.join(", ");
    Err(format!(
        "public items changed: {changed}; if that is meant, `cargo xtask surface --update`"
    ))
}

fn has_nightly() -> bool {
    let install = ["toolchain", "install", "nightly", "--profile", "minimal", "--no-self-update"];
    let version = output(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]));
    version.is_ok() || run(Command::new("rustup").args(install)).is_ok()
}

fn show(before: &str, now: &str) {
    for gone in before.lines().filter(|line| !now.lines().any(|other| other == *line)) {
        println!("-{gone}");
    }
    for new in now.lines().filter(|line| !before.lines().any(|other| other == *line)) {
        println!("+{new}");
    }
}

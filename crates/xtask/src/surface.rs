//! The public items of each crate, in a listing that is part of the repository, so that a change of them
//! is seen in a diff.

use std::process::Command;

use super::{Outcome, cargo, output, published, root, run};

/// Compares the listings with the code; with `--update`, writes them.
pub(super) fn check(arguments: &[String]) -> Outcome {
    let updates = arguments.iter().any(|argument| argument == "--update");
    if !has_nightly() {
        println!("NOT CHECKED: nightly Rust, which lists the items, can't be had here");
        return Ok(());
    }
    let mut members = published();
    // The command has no items for others.
    members.retain(|member| member.name != "rego-platform-cli");
    // All at once, so that each dependency is checked once; in a folder of its own, since what another
    // compiler leaves is of use to nothing else.
    let target = root().join("target/surface");
    let mut document = cargo(&["+nightly", "doc", "--locked", "--no-deps", "--lib"]);
    document.args(["--all-features", "--quiet"]);
    for member in &members {
        document.args(["--package", &member.name]);
    }
    document.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
    run(document.env("CARGO_TARGET_DIR", &target))?;
    let mut changed = Vec::new();
    for member in members {
        let file = target.join("doc").join(member.name.replace('-', "_") + ".json");
        // Without the implementations that follow from others.
        let items = public_api::Builder::from_rustdoc_json(file)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build();
        let now = items.map_err(|error| format!("{}: {error}", member.name))?.to_string();
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

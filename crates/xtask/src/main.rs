//! The tasks of this repository's developers: `cargo xtask`, which lists them.
//!
//! Owns what takes more than one command, so that a developer and CI do the same. Each task runs other
//! programs from the repository's root, and stops at the first that fails.

mod dist;
mod header;
mod messages;
mod packages;
mod release;
mod surface;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A task: its name, its arguments, what it does.
struct Task {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// `Err` with what went wrong.
type Outcome = Result<(), String>;

const TASKS: &[Task] = &[
    Task {
        name: "oracle",
        arguments: "",
        about: "builds OPA as a program that answers questions; needs Go",
        run: |_| oracle().map(drop),
    },
    Task {
        name: "compare",
        arguments: "KIND ARGUMENT…",
        about: "compares generated programs with OPA: `random 0 10000`, `calls 0 1000`, `yaml 0 1000`",
        run: compare,
    },
    Task {
        name: "fuzz",
        arguments: "TARGET [SECONDS]",
        about: "runs a fuzz target, for a minute if no time is given; needs nightly Rust, installs cargo-fuzz",
        run: fuzz,
    },
    Task {
        name: "features",
        arguments: "[--alone]",
        about: "checks each feature of each crate alone, but those that only name another's, and all together; with `--alone`, dependencies have only the features that this crate asks for, and each is checked again",
        run: features,
    },
    Task {
        name: "msrv",
        arguments: "",
        about: "checks all crates with the oldest Rust that they say they need",
        run: |_| msrv(),
    },
    Task {
        name: "targets",
        arguments: "",
        about: "checks the command's Rust code for macOS and Windows",
        run: |_| targets(),
    },
    Task {
        name: "surface",
        arguments: "[--update]",
        about: "compares each crate's public items with its public-api.txt; needs nightly Rust",
        run: surface::check,
    },
    Task {
        name: "messages",
        arguments: "[message|hint|help|doc]…",
        about: "lists every message, hint, help text and first line of documentation with its place",
        run: messages::list,
    },
    Task {
        name: "header",
        arguments: "[--check]",
        about: "writes the header of the C library from its source, or compares it",
        run: header::write,
    },
    Task {
        name: "mutate-policies",
        arguments: "[FOLDER [PATH…]]",
        about: "changes each policy of a folder (`policies`), or those whose path contains a PATH, in one place at a time, and runs its tests: they have to find 95 % of the changes",
        run: mutate_policies,
    },
    Task {
        name: "package",
        arguments: "[--no-verify]",
        about: "makes each crate's package, and builds it from that",
        run: packages::check,
    },
    Task {
        name: "dist",
        arguments: "[--target TARGET] [--profile PROFILE] [--out FOLDER] [--binary FILE]",
        about: "builds what a release publishes, reproducibly, into `dist`; packs a built command with `--binary`; needs Python",
        run: dist::make,
    },
    Task {
        name: "repository",
        arguments: "OWNER/NAME",
        about: "writes the address of the repository on GitHub wherever it stands",
        run: release::set_repository,
    },
    Task {
        name: "release",
        arguments: "[--push | --check OWNER/NAME TAG]",
        about: "creates the signed tags of a release; with `--push`, starts the release workflow",
        run: release::release,
    },
    Task {
        name: "snapshots",
        arguments: "",
        about: "takes over the snapshots of tests that changed, and shows their differences",
        run: |_| snapshots(),
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        for task in TASKS {
            println!("cargo xtask {} {}\n    {}", task.name, task.arguments, task.about);
        }
        return if name.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    match (task.run)(&arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Returns `cargo`, to be run from the root.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    // The toolchain that runs this would be used instead of one that is named.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(command))) }
}

/// Runs a command and returns its output.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{}: {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{}: {error}", shown(command)))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Returns the path of a tool from crates.io, installed below `target` unless it is there.
fn tool(name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/tools");
    let path = folder.join("bin").join(name);
    let is_there = path.exists()
        && output(cargo(&["install", "--list", "--root"]).arg(&folder))
            .is_ok_and(|list| list.contains(&format!("{name} v{version}:")));
    if !is_there {
        let install = ["install", "--locked", "--quiet", name, "--version", version, "--root"];
        run(cargo(&install).arg(&folder))?;
    }
    Ok(path)
}

/// A member of the workspace.
struct Member {
    name: String,
    folder: PathBuf,
}

/// Returns the crates that are published, the lowest first.
fn published() -> Vec<Member> {
    let folders = [
        "crates/rego",
        "crates/client",
        "crates/emulator",
        ".",
        "crates/formats",
        "crates/materials",
        "crates/gate",
        "crates/lsp",
        "crates/remote",
        "crates/serve",
        "crates/cli",
    ];
    let member = |folder: &str| {
        let last = folder.strip_prefix("crates/");
        let name = last
            .map_or_else(|| "rego-platform".to_owned(), |suffix| format!("rego-platform-{suffix}"));
        Member { name, folder: root().join(folder) }
    };
    folders.into_iter().map(member).collect()
}

fn oracle() -> Result<PathBuf, String> {
    let (folder, path) = (root().join("crates/rego/tests/oracle"), root().join("target/oracle"));
    run(Command::new("go").args(["build", "-o"]).arg(&path).arg(".").current_dir(folder))?;
    Ok(path)
}

fn compare(arguments: &[String]) -> Outcome {
    let oracle = oracle()?;
    let command = [
        "run",
        "--release",
        "--locked",
        "--package",
        "rego-platform-rego",
        "--example",
        "opa",
        "--",
    ];
    run(cargo(&command).args(arguments).env("ORACLE", oracle))
}

fn mutate_policies(arguments: &[String]) -> Outcome {
    let example = ["--release", "--locked", "--package", "xtask", "--example", "mutate_policies"];
    run(cargo(&["run", "--quiet"]).args(example).arg("--").args(arguments))
}

fn fuzz(arguments: &[String]) -> Outcome {
    let target = arguments.first().ok_or("which target? `fuzz/Cargo.toml` lists them")?;
    let seconds = arguments.get(1).map_or("60", String::as_str);
    let fuzz = tool("cargo-fuzz", "0.13.2")?;
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(fuzz).args(["run", target, "--"]);
    run(command.arg(format!("-max_total_time={seconds}")).current_dir(root()))
}

/// Features that needn't be checked alone, by crate, with the reason.
const NOT_ALONE: &[(&str, &[&str])] = &[
    // The one feature there is: alone, it is all of them.
    ("rego-platform-rego", &["crypto"]),
    // No line depends on these: other crates have them, and are checked with each.
    (
        "rego-platform",
        &["artifact-store-azure", "artifact-store-gcs", "artifact-store-s3", "crypto", "ring"],
    ),
    ("rego-platform-cli", &["artifact-store"]),
];

/// Checks each crate without features, with each of its features, with those of its default, and with all.
fn features(arguments: &[String]) -> Outcome {
    let alone = arguments.iter().any(|argument| argument == "--alone");
    for member in published() {
        let manifest = member.folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
        let lines = text.lines().skip_while(|line| *line != "[features]").skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        let names: Vec<&str> = lines.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        let excluded = NOT_ALONE.iter().filter(|(name, _)| *name == member.name);
        let excluded: Vec<&str> = excluded.flat_map(|(_, features)| *features).copied().collect();
        let mut selections = vec![vec!["--all-features"]];
        if !names.is_empty() {
            selections.push(vec!["--no-default-features"]);
        }
        for name in names {
            if name == "default" {
                selections.push(Vec::new());
            } else if !excluded.contains(&name) {
                selections.push(vec!["--no-default-features", "--features", name]);
            }
        }
        for selection in selections {
            println!("{} {}", member.name, selection.join(" "));
            let mut check = cargo(&["check", "--locked", "--quiet", "--package", &member.name]);
            if !alone {
                check.args(["--package", "third-party"]);
            }
            run(check.args(selection))?;
        }
    }
    Ok(())
}

fn msrv() -> Outcome {
    let manifest = root().join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or("Cargo.toml has no rust-version")?;
    // The lints, which come before this in CI, check the same then.
    if output(Command::new("rustc").arg("--version").current_dir(root()))?
        .contains(&format!(" {version}."))
    {
        println!("it is the present one, {version}");
        return Ok(());
    }
    let install = ["toolchain", "install", version, "--profile", "minimal", "--no-self-update"];
    run(Command::new("rustup").args(install))?;
    let toolchain = format!("+{version}");
    let check = [&toolchain, "check", "--locked", "--workspace", "--all-features"];
    run(cargo(&check).env("CARGO_TARGET_DIR", root().join("target/msrv")))
}

fn targets() -> Outcome {
    for target in ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"] {
        if run(Command::new("rustup").args(["target", "add", target])).is_err() {
            println!("NOT CHECKED: the standard library of {target} can't be had here");
            continue;
        }
        let mut check = cargo(&["check", "--locked", "--target", target]);
        // Nothing is linked, so that no compiler of the other system is needed for the parts in C.
        for tool in ["CC", "AR"] {
            check.env(format!("{tool}_{}", target.replace('-', "_")), "true");
        }
        run(check.env("CARGO_TARGET_DIR", root().join("target/targets")))?;
    }
    Ok(())
}

fn snapshots() -> Outcome {
    run(cargo(&["test", "--locked", "--tests"]).env("INSTA_UPDATE", "always"))?;
    run(Command::new("git").args(["diff", "--", "*.snap"]).current_dir(root()))
}

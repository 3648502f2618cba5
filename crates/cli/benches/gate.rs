//! A gate over many inputs: 10 packages and 10,000 files of 3.3 KB, beside a loop over regorus that reads
//! the same files, and the same gate with five reports.
//!
//! ```text
//! cargo bench --bench gate
//! ```
//! `ROUNDS=n` for more or fewer rounds. Prints processor time as well: the gate uses all processors.
//! Needs GNU time (`/usr/bin/time`).

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::pedantic)]
#![allow(clippy::panic, clippy::expect_used)]

mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rego_platform::regorus::{Engine, Value};
use support::{again, bare_command, is_measuring, median, role};

const PACKAGES: usize = 10;
const INPUTS: usize = 10_000;

fn main() {
    if let Some(folder) = role() {
        return loop_over(Path::new(&folder));
    }
    if !is_measuring() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_files(folder);
    let mut reports = gate(folder);
    for format in ["json", "junit", "sarif", "markdown", "html"] {
        reports.arg("-o").arg(format!("{format}={}", folder.join(format).display()));
    }
    let mut contenders = [
        ("the gate", gate(folder)),
        ("with five reports", reports),
        ("a loop over regorus", again(&folder.display().to_string())),
    ];
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut samples = vec![Vec::new(); contenders.len()];
    for _ in 0..=rounds {
        for (samples, (_, command)) in samples.iter_mut().zip(&mut contenders) {
            samples.push(timed(command));
        }
    }
    println!("{PACKAGES} packages, {INPUTS} inputs; medians of {rounds} rounds in turns");
    let medians: Vec<Sample> = samples.iter().map(|samples| medians(&samples[1..])).collect();
    let base = medians.last().unwrap();
    for ((name, _), own) in contenders.iter().zip(&medians) {
        println!(
            "  {name:24} wall {:6} ms ({:.2} ×)  processor {:6} ms ({:.2} ×)  {:.2} cores  peak {:4} MiB",
            own.wall,
            own.wall as f64 / base.wall as f64,
            own.processor,
            own.processor as f64 / base.processor as f64,
            own.processor as f64 / own.wall as f64,
            own.peak / 1024,
        );
    }
}

/// Milliseconds, and KiB.
#[derive(Clone, Copy)]
struct Sample {
    wall: u64,
    processor: u64,
    peak: u64,
}

fn medians(samples: &[Sample]) -> Sample {
    let of = |part: fn(&Sample) -> u64| median(&samples.iter().map(part).collect::<Vec<_>>());
    Sample { wall: of(|s| s.wall), processor: of(|s| s.processor), peak: of(|s| s.peak) }
}

fn gate(folder: &Path) -> Command {
    let mut command = bare_command();
    command.args(["gate", "-q", "-d"]).arg(folder.join("policies"));
    command.arg("-i").arg(folder.join("inputs"));
    command
}

/// Runs a command, which must succeed, below GNU time.
fn timed(command: &mut Command) -> Sample {
    let mut below = Command::new("/usr/bin/time");
    below.args(["-f", "%e %U %S %M"]).arg(command.get_program()).args(command.get_args());
    below.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            below.env(name, value);
        }
    }
    let output = below.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let figures: Vec<f64> =
        said.lines().last().unwrap().split(' ').map(|figure| figure.parse().unwrap()).collect();
    let [wall, user, system, peak] = figures[..] else { panic!("{said}") };
    let ms = |seconds: f64| (seconds * 1e3) as u64;
    Sample { wall: ms(wall), processor: ms(user + system), peak: peak as u64 }
}

/// Writes policies, each with ten rules, and inputs, all of which pass.
fn write_files(folder: &Path) {
    let (policies, inputs) = (folder.join("policies"), folder.join("inputs"));
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::create_dir_all(&inputs).unwrap();
    for package in 0..PACKAGES {
        let mut text = format!("package p{package}\n\nimport rego.v1\n\n");
        for rule in 0..10 {
            writeln!(
                text,
                "deny contains sprintf(\"{rule}: %s\", [c.name]) if {{\n\tsome c in input.components\n\t\
                 c.licence == \"GPL-{package}.{rule}\"\n}}\n"
            )
            .unwrap();
        }
        std::fs::write(policies.join(format!("p{package}.rego")), text).unwrap();
    }
    for input in 0..INPUTS {
        let component = |n: usize| {
            format!(
                r#"{{"name": "component-{n}", "version": "{n}.{input}", "licence": "MIT", "purl": "pkg:npm/component-{n}@{n}.{input}"}}"#
            )
        };
        let components: Vec<String> = (0..30).map(component).collect();
        let text =
            format!(r#"{{"name": "app-{input}", "components": [{}]}}"#, components.join(", "));
        std::fs::write(inputs.join(format!("{input:05}.json")), text).unwrap();
    }
}

/// Evaluates all policies over all inputs, one after the other, as a host of regorus would.
fn loop_over(folder: &Path) {
    let mut engine = Engine::new();
    for package in 0..PACKAGES {
        let path = folder.join("policies").join(format!("p{package}.rego"));
        engine.add_policy_from_file(path).unwrap();
    }
    let rules: Vec<String> = (0..PACKAGES).map(|package| format!("data.p{package}.deny")).collect();
    for input in 0..INPUTS {
        let path = folder.join("inputs").join(format!("{input:05}.json"));
        engine.set_input(Value::from_json_file(path).unwrap());
        for rule in &rules {
            assert!(engine.eval_rule(rule.clone()).unwrap().as_set().unwrap().is_empty());
        }
    }
}

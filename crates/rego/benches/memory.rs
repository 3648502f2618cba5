//! The memory of values: an SBOM of about 100 MB, read into an input and evaluated, each in a process of its own,
//! beside regorus and `serde_json::Value`. Linux alone tells a process's peak in `/proc`.
//!
//! `cargo bench --bench memory`; `COMPONENTS=n` for a smaller or larger SBOM.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::needless_pass_by_value
)]

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rego_platform_rego::{Options, Program, Run, SourceText, Value};

const POLICY: &str = "package p\n\nn := count([1 | some c in input.components; some l in c.licenses; l.license.id == \"MIT\"])";

/// Each in a process of its own. The first only reads the text.
const READERS: [(&str, fn(String)); 4] =
    [("text", text), ("ours", ours), ("regorus", regorus), ("serde_json", serde_json)];

fn text(text: String) {
    assert!(text.ends_with('}'));
}

fn ours(text: String) {
    let texts = vec![SourceText::new("p.rego", POLICY)];
    let program = Program::compile(texts, &Options::default()).unwrap();
    let query = program.query("data.p.n").unwrap();
    let input = Value::from_json(&text).unwrap();
    drop(text);
    let outcome = program.evaluate(&query, &Run::default().input(&input));
    println!("{}", outcome.result.unwrap()[0].expressions[0].value);
}

fn regorus(text: String) {
    let mut engine = regorus::Engine::new();
    engine.add_policy("p.rego".to_owned(), POLICY.to_owned()).unwrap();
    engine.set_input(regorus::Value::from_json_str(&text).unwrap());
    drop(text);
    println!("{}", engine.eval_rule("data.p.n".to_owned()).unwrap());
}

fn serde_json(text: String) {
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    drop(text);
    let components = value["components"].as_array().unwrap().iter();
    let licenses = components.flat_map(|component| component["licenses"].as_array().unwrap());
    println!("{}", licenses.filter(|one| one["license"]["id"] == "MIT").count());
}

/// Writes an SBOM, and returns the number of its values.
fn write(path: &Path, components: usize) -> usize {
    let mut file = BufWriter::new(std::fs::File::create(path).unwrap());
    file.write_all(b"{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.6\", \"components\": [")
        .unwrap();
    for n in 0..components {
        let mut one = String::new();
        let comma = if n == 0 { "" } else { "," };
        let license = ["MIT", "Apache-2.0", "BSD-3-Clause"][n % 3];
        write!(
            one,
            "{comma}\n  {{\"type\": \"library\", \"bom-ref\": \"pkg:npm/p{n}@1.{n}.0\", \"name\": \"p{n}\", \"version\": \
             \"1.{n}.0\", \"purl\": \"pkg:npm/p{n}@1.{n}.0\", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \
             \"{n:064x}\"}}], \"licenses\": [{{\"license\": {{\"id\": \"{license}\"}}}}], \"properties\": [{{\"name\": \
             \"path\", \"value\": \"node_modules/p{n}\"}}, {{\"name\": \"size\", \"value\": {n}}}]}}"
        )
        .unwrap();
        file.write_all(one.as_bytes()).unwrap();
    }
    file.write_all(b"\n]}").unwrap();
    file.flush().unwrap();
    3 + components * 21
}

/// Returns the most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn main() {
    if let (Ok(reader), Ok(path)) = (std::env::var("READER"), std::env::var("SBOM")) {
        let (_, read) = READERS.into_iter().find(|(name, _)| *name == reader).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let started = Instant::now();
        read(text);
        println!("{} {}", peak(), started.elapsed().as_secs_f64());
        // What the process has is given back as a whole.
        std::process::exit(0);
    }
    // `cargo test --benches` only compiles this.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let components = std::env::var("COMPONENTS").ok().and_then(|text| text.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sbom.json");
    let values = write(&path, components.unwrap_or(250_000));
    let size = std::fs::metadata(&path).unwrap().len();
    println!("{:.1} MB, {values} values", size as f64 / 1e6);
    for (name, _) in READERS {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.env("READER", name).env("SBOM", &path).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let last = said.lines().last().unwrap();
        let (peak, time) = last.split_once(' ').unwrap();
        let (peak, time): (usize, f64) = (peak.parse().unwrap(), time.parse().unwrap());
        let beyond = peak.saturating_sub(usize::try_from(size).unwrap()) as f64 / values as f64;
        println!(
            "{name:12} peak {:6.1} MiB, {beyond:6.1} bytes a value beside the text, {time:.2} s",
            peak as f64 / f64::from(1 << 20)
        );
    }
}

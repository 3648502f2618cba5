//! An artifact of 256 MiB through `download_artifact`, and 50 of 5 MiB, in time and memory.
//!
//! ```text
//! cargo bench --bench artifact [-- binary text many]
//! ```
//! Needs `curl`, `sha256sum`, `base64` and GNU time (`/usr/bin/time`).

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::pedantic)]
#![allow(clippy::panic, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use support::service::{Content, Service};
use support::{Contender, command, compare, is_measuring, median, run, wanted};

const SIZE: usize = 256 << 20;

fn main() {
    if !is_measuring() {
        return;
    }
    if wanted("binary") {
        artifact("binary", binary(), 2.8);
    }
    if wanted("text") {
        artifact("text", text(SIZE), 2.1);
    }
    if wanted("many") {
        many();
    }
}

/// Returns bytes that aren't UTF-8, and don't repeat.
fn binary() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(SIZE);
    while out.len() < SIZE {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out
}

/// Returns text like an SBOM's.
fn text(size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size);
    let mut index = 0_u64;
    while out.len() < size {
        let line =
            format!("{{\"name\":\"component-{index}\",\"licence\":\"MIT\",\"note\":\"größer\"}}\n");
        out.extend_from_slice(line.as_bytes());
        index += 1;
    }
    // Cut at a character boundary.
    out.truncate(size);
    while std::str::from_utf8(&out[out.len() - 8..]).is_err() {
        out.pop();
    }
    out
}

fn artifact(kind: &str, content: Vec<u8>, target: f64) {
    let name = hex(&Sha256::digest(&content));
    let digest = format!("sha256:{name}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("content");
    std::fs::write(&file, &content).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let input = folder.path().join("input.json").to_str().unwrap().to_owned();
    std::fs::write(&input, format!(r#"{{"digest":"{digest}"}}"#)).unwrap();
    let policy = folder.path().join("p.rego").to_str().unwrap().to_owned();
    std::fs::write(
        &policy,
        "package p\nx := is_string(content) if content := platform.download_artifact(input.digest)\n",
    )
    .unwrap();
    let artifacts = BTreeMap::from([(name.clone(), Bytes::from(content))]);
    let service = Service::start(Content { artifacts, ..Content::default() });
    let cache = folder.path().join("cache");
    let eval = |cached: bool| {
        let mut eval = command(&service);
        eval.args(["eval", "-d", &policy, "-i", &input, "-f", "raw", "data.p.x"]);
        eval.env("XDG_CACHE_HOME", &cache);
        if !cached {
            eval.arg("--no-cache");
        }
        eval
    };
    let ours = |cached: bool| {
        let (took, said) = run(&mut eval(cached));
        assert_eq!(said.trim(), "true");
        took
    };
    let url = service.store_url(&name);
    let mut pipe = format!("curl -s '{url}' | sha256sum");
    if kind == "binary" {
        pipe += &format!("; base64 -w0 '{file}' > /dev/null");
    }
    let mut contenders = [
        Contender::timed("rego-platform eval, into an empty cache", || {
            let _ = std::fs::remove_dir_all(&cache);
            ours(true)
        }),
        Contender::timed("rego-platform eval, from the cache", || ours(true)),
        Contender::timed("rego-platform eval --no-cache", || ours(false)),
        Contender::timed(&pipe.replace(&file, "FILE").replace(&url, "URL"), || {
            let (took, said) = run(Command::new("sh").args(["-c", &pipe]));
            assert!(said.starts_with(&name));
            took
        }),
    ];
    compare(&format!("256 MiB of {kind}"), rounds(), &mut contenders);
    println!("  peak memory, in artifacts (at most {target}):");
    for (name, cached) in [("--no-cache", false), ("from the cache", true)] {
        let peaks: Vec<u64> = (0..3).map(|_| peak(eval(cached))).collect();
        let ratio = median(&peaks) as f64 * 1024.0 / SIZE as f64;
        println!("    {name:<20} {ratio:.3} ({} KiB)", median(&peaks));
    }
    let _ = std::fs::remove_dir_all(&cache);
    let peaks: Vec<u64> = (0..3)
        .map(|_| {
            let _ = std::fs::remove_dir_all(&cache);
            peak(eval(true))
        })
        .collect();
    println!(
        "    {:<20} {:.3}",
        "into an empty cache",
        median(&peaks) as f64 * 1024.0 / SIZE as f64
    );
}

/// The number of artifacts of one evaluation, and the size of each.
const MANY: (usize, usize) = (50, 5 << 20);

fn many() {
    let (count, size) = MANY;
    let common = text(size);
    let artifacts: BTreeMap<String, Bytes> = (0..count)
        .map(|index| {
            let mut content = common.clone();
            let number = format!("{index:08}");
            content[..number.len()].copy_from_slice(number.as_bytes());
            (hex(&Sha256::digest(&content)), Bytes::from(content))
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, policy) = (at("input.json"), at("p.rego"));
    let digests: Vec<String> = artifacts.keys().map(|name| format!("sha256:{name}")).collect();
    std::fs::write(&input, serde_json::to_vec(&digests).unwrap()).unwrap();
    std::fs::write(
        &policy,
        "package p\nx := count([1 | some d in input; is_string(platform.download_artifact(d))])\n",
    )
    .unwrap();
    let service = Service::start(Content { artifacts: artifacts.clone(), ..Content::default() });
    let eval = |more: &[&str]| {
        let mut eval = command(&service);
        eval.args(["eval", "--no-cache", "-d", &policy, "-i", &input, "-f", "raw", "data.p.x"]);
        eval.args(more);
        eval
    };
    let ours = |more: &[&str]| {
        let (took, said) = run(&mut eval(more));
        assert_eq!(said.trim(), count.to_string());
        took
    };
    let urls: Vec<String> = artifacts.keys().map(|name| service.store_url(name)).collect();
    let pipes = format!("for url in {}; do curl -s $url | sha256sum; done", urls.join(" "));
    let mut contenders = [
        Contender::timed("rego-platform eval", || ours(&[])),
        Contender::timed("rego-platform eval --concurrency 4", || ours(&["--concurrency", "4"])),
        Contender::timed("curl URL | sha256sum, one after the other", || {
            let (took, said) = run(Command::new("sh").args(["-c", &pipes]));
            assert_eq!(said.lines().count(), count);
            took
        }),
    ];
    compare("50 artifacts of 5 MiB", rounds(), &mut contenders);
    let peaks: Vec<u64> = (0..3).map(|_| peak(eval(&[]))).collect();
    let ratio = median(&peaks) as f64 * 1024.0 / (count * size) as f64;
    println!("  peak memory, in all artifacts (at most 2): {ratio:.2} ({} KiB)", median(&peaks));
}

fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(7)
}

/// Returns the peak memory of a command, in KiB.
fn peak(command: Command) -> u64 {
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%M"]).arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            timed.env(name, value);
        }
    }
    let output = timed.output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().last().unwrap().trim().parse().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

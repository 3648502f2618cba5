//! Parts of a run (`--shard`), and the report of all of them (`gate merge`).

use rego_platform_emulator::Emulator;
use serde_json::Value;

use crate::cli::{Output, Sandbox, service};
use crate::support::CLEAN_IMAGE;

const POLICIES: &str = "package main\n\ndeny contains {\"msg\": sprintf(\"%v is a multiple\", [input.n]), \
                        \"id\": sprintf(\"N-%v\", [input.n])} if input.n % 3 == 0\n\n\
                        warn contains \"seven\" if input.n == 7\n\n\
                        deny contains \"no image\" if {\n\tinput.image\n\t\
                        not platform.discover(input.image, \"\").digest\n}\n";

/// A policy that reads nothing of the inputs, and passes all of them.
const OTHER: &str = "package other\n\ndeny contains \"x\" if input.missing == 1\n";

const WAIVERS: &str = "max_days: 100000\nwaivers:\n\
                       - {finding: N-9, subject: {input: '**'}, reason: r, owner: o, expires: 2199-01-01}\n\
                       - {finding: N-10, subject: {input: '**'}, reason: r, owner: o, expires: 2199-01-01}\n";

/// A folder with inputs of all kinds, and the service.
struct Parts {
    sandbox: Sandbox,
    service: Emulator,
}

/// Inputs that pass, fail and are waived, one that asks the service, and several in a file.
fn sandbox() -> Parts {
    let sandbox = Sandbox::new();
    sandbox.write("p/main.rego", POLICIES);
    sandbox.write("p/other.rego", OTHER);
    sandbox.write("waivers.yaml", WAIVERS);
    for n in 1..=12 {
        sandbox.write(&format!("in/{n}.json"), format!("{{\"n\": {n}}}"));
    }
    sandbox.write("in/image.json", format!("{{\"n\": 1, \"image\": \"{CLEAN_IMAGE}\"}}"));
    sandbox.write("in/lines.jsonl", "{\"n\": 15}\n{\"n\": 16}\n");
    Parts { sandbox, service: service() }
}

impl std::ops::Deref for Parts {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Parts {
    /// Runs the command in the folder, so that names are relative.
    fn run(&self, arguments: &[&str]) -> Output {
        let run = self.sandbox.run(arguments).within(self.path(""));
        let run = run.env("PLATFORM_CONTROLPLANE_URL", &self.service.controlplane_url());
        let run = run.env("PLATFORM_BASE_URL", &self.service.base_url());
        run.env("PLATFORM_TOKEN", &self.service.token("user").unwrap()).output()
    }
}

fn gate(sandbox: &Parts, more: &[&str]) -> Output {
    let fixed = ["gate", "-d", "p", "-i", "in", "--waivers", "waivers.yaml"];
    sandbox.run(&[&fixed, more].concat())
}

fn merge(sandbox: &Parts, more: &[&str]) -> Output {
    sandbox.run(&[&["gate", "merge"], more].concat())
}

/// Evaluates each part, and returns the names of the reports.
fn parts(sandbox: &Parts, of: usize, more: &[&str]) -> Vec<String> {
    let part = |number| {
        let (shard, file) = (format!("{number}/{of}"), format!("shard-{number}.json"));
        let output = format!("json={file}");
        gate(sandbox, &[&["--shard", &shard, "-o", &output, "-q"], more].concat());
        file
    };
    (1..=of).map(part).collect()
}

/// Returns a report without times.
fn timeless(text: &[u8]) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| {
                    !["started", "duration_ms", "latency_us"].contains(&name.as_str())
                });
                fields.values_mut().for_each(clear);
            }
            Value::Array(items) => items.iter_mut().for_each(clear),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(text).unwrap();
    clear(&mut value);
    value
}

/// Returns the text of a report without times, in which the order of fields counts.
fn text_of(sandbox: &Parts, file: &str) -> String {
    let text = std::fs::read(sandbox.path(file)).unwrap();
    serde_json::to_string_pretty(&timeless(&text)).unwrap()
}

#[test]
fn parts_in_any_order_make_the_report_of_one_run() {
    let sandbox = sandbox();
    for (more, outcome) in [
        (&[][..], "failed: 15 inputs"),
        (&["--fail-on-notes"], "no verdict: 15 inputs"),
        (&["--no-fail"], "failed: 15 inputs"),
        (&["-n", "other"], "passed: 15 inputs"),
    ] {
        let one = gate(&sandbox, &[&["-o", "json=whole.json"], more].concat());
        assert!(one.stdout.contains(outcome), "{one:#?}");
        let whole = text_of(&sandbox, "whole.json");
        for of in [1, 2, 7] {
            let mut parts = parts(&sandbox, of, more);
            parts.rotate_left(of / 2);
            let parts: Vec<_> = parts.iter().map(String::as_str).collect();
            let merged = merge(&sandbox, &[&parts[..], &["-o", "json=merged.json"]].concat());
            assert_eq!(text_of(&sandbox, "merged.json"), whole, "{of} parts, {more:?}");
            let shown = |run: &Output| run.stdout.replace("merged.json", "whole.json");
            assert_eq!((merged.code, shown(&merged)), (one.code, shown(&one)));
        }
    }
}

#[test]
fn an_error_in_one_part_is_no_verdict_for_all() {
    let sandbox = sandbox();
    sandbox.write("in/bad.json", "{");
    gate(&sandbox, &["-o", "json=whole.json"]).fails("1 without a verdict");
    let parts = parts(&sandbox, 2, &[]);
    let merged = merge(&sandbox, &[&parts[0], &parts[1], "-o", "json=merged.json"]);
    merged.fails("1 without a verdict");
    assert_eq!(text_of(&sandbox, "merged.json"), text_of(&sandbox, "whole.json"));
}

#[test]
fn a_file_stays_in_its_part_when_others_come() {
    let sandbox = sandbox();
    let names = |sandbox: &Parts| -> Vec<Vec<String>> {
        let names = |file: &String| {
            let report: Value =
                serde_json::from_slice(&std::fs::read(sandbox.path(file)).unwrap()).unwrap();
            let inputs = report["inputs"].as_array().unwrap().iter();
            inputs.map(|input| input["name"].as_str().unwrap().to_owned()).collect()
        };
        parts(sandbox, 3, &[]).iter().map(names).collect()
    };
    let before = names(&sandbox);
    assert!(before.iter().all(|part| !part.is_empty()), "{before:?}");
    sandbox.write("in/0.json", "{\"n\": 1}");
    let after = names(&sandbox);
    for (before, mut after) in before.into_iter().zip(after) {
        after.retain(|name| name != "in/0.json");
        assert_eq!(before, after);
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let sandbox = sandbox();
    parts(&sandbox, 3, &[]);
    let refused = |arguments: &[&str], reason: &str| {
        let merged = merge(&sandbox, &[arguments, &["-o", "json=merged.json"]].concat());
        merged.fails(reason);
        // Also to whoever reads nothing but the report.
        assert!(text_of(&sandbox, "merged.json").contains("\"no_verdict\""));
    };
    let all = ["shard-1.json", "shard-2.json", "shard-3.json"];
    refused(&all[1..], "missing shard 1 of 3");
    refused(&all[..2], "missing shard 3 of 3");
    refused(&[&all[..], &all[..1]].concat(), "duplicate shard 1 of 3");
    gate(&sandbox, &["-o", "json=whole.json"]);
    refused(&["whole.json", all[0]], "not the report of a shard: `whole.json`");
    refused(&["p/main.rego"], "isn't a JSON report of the gate");
    // One that ended before it was evaluated says why.
    gate(&sandbox, &["--shard", "3/3", "-o", "json=failed.json", "-d", "nothing"]).fails("nothing");
    refused(&["failed.json", all[0], all[1]], "not the report of a shard: `failed.json`: ");
    sandbox.write("more.json", "{\"n\": 1}");
    for (differing, what) in [
        (&["--no-fail"][..], "rules"),
        (&["--fail-on", "high"], "rules"),
        (&["-n", "main"], "policies"),
        (&["--set", "a=1"], "inventory"),
        (&["--ignore", "1.json"], "inventory"),
        (&["-i", "more.json"], "inventory"),
        (&["--no-strict-builtin-errors"], "inventory"),
        (&["--parser", "json"], "inventory"),
        (&["--wrap-arrays"], "inventory"),
        (&["--max-calls", "7"], "inventory"),
    ] {
        gate(&sandbox, &[&["--shard", "3/3", "-o", "json=other.json"], differing].concat());
        refused(&[all[0], all[1], "other.json"], &format!("differ in `{what}`"));
    }
    // The same number of other files, and another policy.
    let other = |reason: &str| {
        gate(&sandbox, &["--shard", "3/3", "-o", "json=other.json"]);
        refused(&[all[0], all[1], "other.json"], reason);
    };
    std::fs::rename(sandbox.path("in/12.json"), sandbox.path("in/13.json")).unwrap();
    other("differ in `part`");
    std::fs::rename(sandbox.path("in/13.json"), sandbox.path("in/12.json")).unwrap();
    sandbox.write("p/other.rego", OTHER.replace('1', "2"));
    other("differ in `policies`");
    sandbox.write("p/other.rego", OTHER);
    sandbox.write("waivers.yaml", WAIVERS.replace("N-10", "N-11"));
    other("differ in `waivers`");
}

#[test]
fn a_part_that_does_not_follow_from_its_inputs_is_refused() {
    let sandbox = sandbox();
    let parts = parts(&sandbox, 2, &[]);
    let text = |file: &str| std::fs::read_to_string(sandbox.path(file)).unwrap();
    let first = text(&parts[0]);
    let mut count = 0;
    for (field, other, reason) in [
        ("/inputs/0/outcome", serde_json::json!("no_verdict"), "its totals differ from its inputs"),
        ("/inputs", serde_json::json!([]), "its totals differ from its inputs"),
        ("/totals/violations", serde_json::json!(0), "its totals differ from its inputs"),
        ("/part/of", serde_json::json!(1), "differ in `part`"),
        ("/part/number", serde_json::json!(3), "missing shard 1 of 2"),
    ] {
        let mut altered: Value = serde_json::from_str(&first).unwrap();
        *altered.pointer_mut(field).unwrap() = other;
        sandbox.write("altered.json", altered.to_string());
        merge(&sandbox, &["altered.json", &parts[1]]).fails(reason);
        count += 1;
    }
    assert_eq!(count, 5);
    // Sums end at the largest number.
    let mut altered: Value = serde_json::from_str(&first).unwrap();
    altered["totals"]["not_evaluated"] = u64::MAX.into();
    sandbox.write("altered.json", altered.to_string());
    let merged = merge(&sandbox, &["altered.json", &parts[1]]).code(1);
    assert!(merged.stdout.contains("not evaluated"), "{merged:#?}");
    // Both say that they are all.
    for file in &parts {
        let mut altered: Value = serde_json::from_str(&text(file)).unwrap();
        altered["part"]["of"] = 1.into();
        sandbox.write(file, altered.to_string());
    }
    merge(&sandbox, &[&parts[0], &parts[1]]).fails("unexpected shard 2 of 1");
}

#[test]
fn what_has_no_parts_is_refused() {
    let sandbox = sandbox();
    for (more, reason) in [
        (
            &["--shard", "1/2", "--fail-fast"][..],
            "unsupported shards: the run stops at the first failure",
        ),
        (&["--shard", "1/2", "--combine"], "unsupported shards: the run combines its inputs"),
        (&["--shard", "1/2", "-i", "-"], "unsupported shards: a stream can be read only once"),
        (&["--shard", "0/2"], "invalid shard 0 of 2"),
        (&["--shard", "3/2"], "invalid shard 3 of 2"),
        (&["--shard", "1"], "expected `NUMBER/OF`"),
        (&["--shard", "a/2"], "invalid number `a`"),
        (&["merge", "part.json"], "the input `merge` doesn't exist"),
    ] {
        gate(&sandbox, more).fails(reason);
    }
    let alone = ["gate", "-d", "p", "--no-input", "--shard", "1/2"];
    sandbox.run(&alone).fails("unsupported shards: the run has no input");
}

#[test]
fn a_part_is_no_verdict_about_the_whole() {
    let sandbox = sandbox();
    let only = ["gate", "-d", "p", "-i", "in/1.json", "--shard"];
    let mut empty = 0;
    for number in ["1/2", "2/2"] {
        let part = sandbox.run(&[&only[..], &[number, "-o", "json=one.json"]].concat());
        let part = part.code(0);
        let of = number.replace('/', " of ");
        empty += usize::from(
            part.stdout.contains(&format!("shard {of} passed: no input in this shard")),
        );
        sandbox.run(&["attest", "one.json"]).fails("the report covers one shard only");
    }
    assert_eq!(empty, 1);
}

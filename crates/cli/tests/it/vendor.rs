//! The vendor's verdicts: the cases of `testdata/vendor.jsonl.gz`, through the built command.
//!
//! The cases have materials and policies written for this purpose, with the verdict that the vendor's client,
//! release 1.106.1, gave. Differences are in `testdata/vendor_known.txt`: a pattern of ids, the verdict of ours,
//! and the reason. A case that is laxer, a pass where the vendor fails, refuses or has an error, is only known
//! by its exact id. `RP_CASES=input/sarif` runs some cases and prints what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use serde_json::Value;

use crate::ROOT;
use crate::rego;

/// The most laxer cases that may be known.
const MAX_LAXER: usize = 15;

/// The options of which an older command has none.
const NEWER: [&str; 3] = ["--policy-input", "--policy-input-from-file", "--phase"];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn cases() -> Vec<Value> {
    let file = std::fs::File::open(format!("{ROOT}/testdata/vendor.jsonl.gz")).unwrap();
    let mut all = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut all).unwrap();
    all.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(case: &Value, folder: &Path) {
    for (name, content) in members(&case["files"]) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes = match content["base64"].as_str() {
            Some(text) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
            None => text(content).as_bytes().to_vec(),
        };
        std::fs::write(path, bytes).unwrap();
    }
}

/// Returns the arguments of `gate` for a case.
fn arguments(case: &Value) -> Vec<String> {
    let options = &case["options"];
    let mut all: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["gate", "--product", "chainloop", "-f", "json", "--allow-warnings", "-d"]);
    add(&[options["policy"].as_str().unwrap_or(text(&options["group"]))]);
    for (name, option) in [("policy_input", NEWER[0]), ("policy_input_from_file", NEWER[1])] {
        elements(&options[name]).for_each(|value| add(&[option, text(value)]));
    }
    if let Some(phase) = options["phase"].as_str() {
        add(&[NEWER[2], phase]);
    }
    for (name, value) in members(&options["args"]) {
        add(&["--arg", &format!("{name}={}", text(value))]);
    }
    let mut annotations: BTreeMap<&str, &str> = members(&options["annotations"])
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    let id = text(&case["id"]);
    if id.starts_with("metadata/") || id.starts_with("document/seen/") {
        let name = options["material_name"].as_str().unwrap_or("material");
        annotations.entry("chainloop.material.name").or_insert(name);
    }
    for (name, value) in annotations {
        add(&["--annotation", &format!("{name}={value}")]);
    }
    for (name, option) in [("project", "--project"), ("project_version", "--project-version")] {
        if let Some(value) = options[name].as_str() {
            add(&[option, value]);
        }
    }
    elements(&options["skip"]).for_each(|name| add(&["--skip", text(name)]));
    if let Some(time) = options["timeout_ms"].as_u64() {
        add(&["--timeout", &format!("{time}ms")]);
    }
    let statement = options["statement"].as_str();
    if let Some(group) = options["group"].as_str() {
        let materials: Vec<&Value> = elements(&options["materials"]).collect();
        let document = text(&case["files"][group]);
        let body = document.split_once("materials:").map_or("", |(_, body)| body);
        let body = body.split("attestation:").next().unwrap_or_default();
        let body = body.split("policies:").next().unwrap_or_default();
        let is_name = |line: &str| line.trim().trim_start_matches("- ").starts_with("name:");
        let is_named = materials.len() > 1 || body.lines().any(is_name);
        for material in &materials {
            let (name, file) = (text(&material["name"]), text(&material["file"]));
            if is_named {
                add(&["--material", &format!("{name}={file}")]);
            } else {
                add(&["-i", file, "--annotation", &format!("chainloop.material.name={name}")]);
            }
        }
        let kinds: BTreeSet<&str> =
            materials.iter().map(|material| text(&material["kind"])).collect();
        if let (1, Some(kind), None) = (kinds.len(), kinds.first(), statement) {
            add(&["--kind", kind]);
        }
        if let Some(statement) = statement {
            add(&["-i", statement, "--unverified"]);
            if materials.is_empty() {
                add(&["--kind", "ATTESTATION"]);
            }
        }
    } else if let Some(statement) = statement {
        add(&["-i", statement, "--kind", "ATTESTATION", "--unverified"]);
    } else {
        add(&["-i", text(&options["material"])]);
        match text(&case["kind"]) {
            "" => {}
            "ATTESTATION" => add(&["--kind", "ATTESTATION", "--unverified"]),
            kind => add(&["--kind", kind]),
        }
    }
    all
}

/// What the command or the vendor says of a case.
#[derive(Debug, Default)]
struct Verdict {
    outcome: String,
    violations: Vec<String>,
    why: String,
}

fn ours(case: &Value) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    write(case, folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_rego-platform"));
    command.args(arguments(case)).current_dir(folder.path());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CHAINLOOP")) {
        command.env_remove(name);
    }
    let output = command.env("XDG_CONFIG_HOME", folder.path().join(".none")).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let mut own =
        Verdict { why: text(&report["failure"]["message"]).to_owned(), ..Verdict::default() };
    let mut is_skipped = false;
    for input in elements(&report["inputs"]) {
        is_skipped |= text(&input["error"]["kind"]) == "all-skipped";
        let reasons = [&input["error"]]
            .into_iter()
            .chain(elements(&input["verdicts"]).map(|one| &one["error"]));
        own.why.push_str(&reasons.map(|error| text(&error["message"])).collect::<String>());
        let violations =
            elements(&input["verdicts"]).flat_map(|verdict| elements(&verdict["violations"]));
        let failing = violations.filter(|violation| text(&violation["effect"]) == "fails");
        own.violations.extend(failing.map(|violation| text(&violation["message"]).to_owned()));
    }
    if report.is_null() {
        own.why = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    }
    let outcome = match output.status.code() {
        Some(0) => "pass",
        Some(1) => "fail",
        Some(2) if is_skipped => "skip",
        Some(2) => "no-verdict",
        other => panic!("{}: {other:?}: {}", case["id"], own.why),
    };
    outcome.clone_into(&mut own.outcome);
    own
}

fn vendors(recorded: &Value) -> Verdict {
    Verdict {
        outcome: text(&recorded["verdict"]).to_owned(),
        violations: elements(&recorded["violations"]).map(|one| text(one).to_owned()).collect(),
        why: text(&recorded["why"]).to_owned(),
    }
}

/// Returns messages as a set; JSON is compared by value, without whether the service keeps a material.
fn values(messages: &[String], is_metadata: bool) -> BTreeSet<rego::Value> {
    let value = |message: &String| {
        let Ok(mut value) = rego::Value::from_json(message) else {
            return rego::Value::from(format!("text:{message}"));
        };
        let own = value.as_object_mut().filter(|_| is_metadata);
        let annotations = own.and_then(|own| own.get_mut(&"annotations".into())?.as_object_mut());
        if let Some(annotations) = annotations {
            annotations.remove(&"chainloop.material.cas".into());
            annotations.remove(&"chainloop.material.cas.inline".into());
        }
        value
    };
    messages.iter().map(value).collect()
}

fn is_equal(own: &Verdict, vendors: &Verdict, is_metadata: bool) -> bool {
    match vendors.outcome.as_str() {
        "fail" => {
            let [own_set, others] = [own, vendors].map(|one| values(&one.violations, is_metadata));
            own.outcome == "fail" && own_set == others
        }
        "pass" | "skip" => own.outcome == vendors.outcome,
        _ => matches!(own.outcome.as_str(), "no-verdict" | "skip"),
    }
}

/// Returns `true` if a pattern, in which `*` matches any text, matches all of an id.
fn matches(pattern: &str, id: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == id,
        Some((before, after)) => id.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
        }),
    }
}

#[test]
fn policies_get_the_vendors_verdicts() {
    let known = std::fs::read_to_string(format!("{ROOT}/testdata/vendor_known.txt")).unwrap();
    let known: Vec<(&str, &str)> = known
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut words = line.split_whitespace();
            let known = (words.next().unwrap(), words.next().unwrap());
            assert!(words.next().is_some(), "a reason is missing: {line}");
            assert!(
                known.1 != "pass" || !known.0.contains('*'),
                "a laxer case is known by its id: {line}"
            );
            known
        })
        .collect();
    assert!(known.iter().filter(|(_, verdict)| *verdict == "pass").count() <= MAX_LAXER);
    let help = Command::new(env!("CARGO_BIN_EXE_rego-platform"))
        .args(["gate", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let some = std::env::var("RP_CASES").ok();
    let mut cases = cases();
    cases.retain(|case| some.as_ref().is_none_or(|some| text(&case["id"]).contains(some.as_str())));
    cases.retain(|case| {
        let words = arguments(case);
        let lacks = |option: &str| !help.contains(&format!("{option} "));
        !NEWER.iter().any(|option| lacks(option) && words.iter().any(|word| word == option))
    });
    let next = AtomicUsize::new(0);
    let counts: Mutex<BTreeMap<String, [usize; 2]>> = Mutex::default();
    let differences: Mutex<BTreeSet<String>> = Mutex::default();
    let used: Mutex<BTreeSet<(&str, &str)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let id = text(&case["id"]);
                    let own = ours(case);
                    let is_metadata = id.starts_with("metadata/");
                    let recorded = [&case["vendor"], &case["vendor"]["develop_eval"]];
                    let all = recorded.into_iter().filter(|one| one.is_object()).map(vendors);
                    let is_equal =
                        all.into_iter().any(|vendors| is_equal(&own, &vendors, is_metadata));
                    let of_id = |(pattern, verdict): &&(&str, &str)| {
                        *verdict == own.outcome && matches(pattern, id)
                    };
                    let by: Vec<_> =
                        known.iter().filter(|one| !is_equal && of_id(one)).copied().collect();
                    let is_known = !by.is_empty();
                    used.lock().unwrap().extend(by);
                    let group = id.split('/').next().unwrap_or_default().to_owned();
                    let mut counts = counts.lock().unwrap();
                    let count = counts.entry(group).or_default();
                    count[0] += 1;
                    count[1] += usize::from(is_equal);
                    if !is_equal && !is_known {
                        let vendors = vendors(&case["vendor"]);
                        differences
                            .lock()
                            .unwrap()
                            .insert(format!("{id}\n  ours:   {own:?}\n  vendor: {vendors:?}"));
                    }
                }
            });
        }
    });
    for (group, [all, equal]) in counts.into_inner().unwrap() {
        println!("{group}: {equal} of {all} equal");
    }
    let used = used.into_inner().unwrap();
    let unused: Vec<_> = known.iter().filter(|one| !used.contains(one)).collect();
    assert!(unused.is_empty(), "no case needs {unused:?}");
    let differences = differences.into_inner().unwrap();
    let all: Vec<String> = differences.into_iter().collect();
    assert!(all.is_empty(), "{} cases differ:\n{}", all.len(), all.join("\n"));
}

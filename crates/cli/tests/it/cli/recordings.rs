//! Recordings that were changed.

use std::sync::LazyLock;

use proptest::prelude::*;
use rego_platform::ErrorKind;
use rego_platform::evaluate::{Answers, Evaluated, Recording, Replay};
use rego_platform_emulator::Emulator;
use serde_json::{Value, json};

use super::Sandbox;
use crate::emulator::{BINARY, CLEAN_IMAGE};
use crate::support;

/// Returns a recording of one answer and one failure, and the queries for them.
fn recorded(sandbox: &Sandbox) -> (Value, [String; 2]) {
    let queries = [
        format!("platform.discover(\"{CLEAN_IMAGE}\", \"\").kind"),
        format!("platform.discover(\"sha256:{}\", \"\")", "0".repeat(64)),
    ];
    let mut parts = Vec::new();
    for (query, code) in queries.iter().zip([0, 2]) {
        let file = sandbox.path("part.json");
        let file = file.to_str().unwrap();
        sandbox.local(&["eval", query, "--record", file]).output().code(code);
        let text = std::fs::read_to_string(file).unwrap();
        parts.push(serde_json::from_str::<Value>(&text).unwrap());
    }
    let mut whole = parts[0].clone();
    whole["failures"] = parts[1]["failures"].clone();
    (whole, queries)
}

fn replay(sandbox: &Sandbox, text: &str, query: &str) -> super::Output {
    let file = sandbox.write("recording.json", text);
    sandbox.run(&["eval", query, "--replay", &file]).output()
}

#[test]
fn answers_and_failures_come_back() {
    let sandbox = Sandbox::new();
    let (whole, [answer, failure]) = recorded(&sandbox);
    replay(&sandbox, &whole.to_string(), &answer).code(0);
    replay(&sandbox, &whole.to_string(), &failure).fails("not found");
}

#[test]
fn time_and_randomness_come_back() {
    let sandbox = Sandbox::new();
    let query =
        "[time.now_ns(), uuid.rfc4122(\"k\"), rand.intn(\"k\", 1000000), rand.intn(\"k\", 7)]";
    let file = sandbox.path("recording.json");
    let file = file.to_str().unwrap();
    let value = |args: &[&str]| {
        let output = sandbox.run(args).output().code(0);
        output.json()["result"][0]["expressions"][0]["value"].clone()
    };
    let first = value(&["eval", query, "--record", file]);
    let again = value(&["eval", query, "--replay", file]);
    assert_eq!(first, again);
    assert_ne!(first, value(&["eval", query]));
    let text = std::fs::read_to_string(file).unwrap();
    let parsed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed["nd_builtin_cache"]["time.now_ns"]["[]"], first[0]);
    // A gate replays the time that its policies saw.
    let policy = "package p\n\ndeny contains sprintf(\"%d\", [time.now_ns()])\n";
    let policy = sandbox.write("p.rego", policy);
    let gate = |args: &[&str]| {
        let all = [&["gate", "-d", &policy, "--no-input", "--format", "json"], args].concat();
        let report = sandbox.run(&all).output().code(1).json();
        report["inputs"][0]["verdicts"][0]["violations"].clone()
    };
    assert_eq!(gate(&["--record", file]), gate(&["--replay", file]));
    let now = parsed["nd_builtin_cache"]["time.now_ns"]["[]"].to_string();
    for wrong in ["1.5", "\"now\"", "null", "100000000000000000000"] {
        let damaged = text.replace(&now, wrong);
        let output = replay(&sandbox, &damaged, query).fails("the recording");
        output.says("isn't in whole nanoseconds");
    }
}

/// Only what asks for one thing can miss it: a list or an assessment that is "not found" would
/// become undefined.
#[test]
fn a_recorded_failure_that_the_function_does_not_have_is_refused() {
    let sandbox = Sandbox::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (function, arguments, is_refused) in [
        ("platform.discover", format!(r#"["{digest}",""]"#), false),
        ("platform.download_artifact", format!(r#"["{digest}"]"#), false),
        ("platform.evidence", "[{}]".to_owned(), true),
        ("platform.evidence_prompt", r##"["# Threat model","why?"]"##.to_owned(), true),
        ("http.send", r#"[{"method":"get","url":"http://localhost"}]"#.to_owned(), true),
    ] {
        let key = serde_json::Value::from(arguments.as_str());
        let text = format!(
            r#"{{"version": 1, "nd_builtin_cache": {{}}, "failures": {{"{function}": {{{key}:
                {{"kind": "not found", "message": "m"}}}}}}}}"#
        );
        let file = sandbox.write("recording.json", text);
        let call = format!("{function}({})", &arguments[1..arguments.len() - 1]);
        let args = [
            "eval",
            &call,
            "--replay",
            &file,
            "--not-found",
            "undefined",
            "--allow-host",
            "localhost",
        ];
        let output = sandbox.run(&args).output();
        if is_refused {
            output.fails("tampered");
        } else {
            output.code(0);
        }
    }
}

#[test]
fn a_failure_of_an_unknown_kind_is_refused() {
    let sandbox = Sandbox::new();
    let (whole, [answer, _]) = recorded(&sandbox);
    for kind in ["not  found", "NotFound", "", "passed", "\\u001b[31m"] {
        let text =
            whole.to_string().replace("\"kind\":\"not found\"", &format!("\"kind\":\"{kind}\""));
        assert_ne!(text, whole.to_string());
        // Even if only the other call is needed: such a file isn't understood.
        let output = replay(&sandbox, &text, &answer).fails("` isn't a recording: `");
        let output = output.says("isn't a recording").says("isn't a kind of failure");
        assert!(!output.stderr.contains('\u{1b}'), "{output:#?}");
    }
}

#[test]
fn a_duplicate_key_is_refused() {
    let sandbox = Sandbox::new();
    let (whole, [answer, _]) = recorded(&sandbox);
    let text = whole.to_string();
    let key = json!(json!([CLEAN_IMAGE, ""]).to_string()).to_string();
    assert!(text.contains(&format!("{key}:{{")), "{text}");
    let twice = text.replace(&format!("{key}:{{"), &format!("{key}:{{\"digest\":\"x\"}},{key}:{{"));
    replay(&sandbox, &twice, &answer).fails("appears twice");
    let within = text.replace(&format!("{key}:{{"), &format!("{key}:{{\"kind\":\"OTHER\","));
    replay(&sandbox, &within, &answer).fails("the key `kind` appears twice");
    let versions = text.replace("\"version\":1", "\"version\":1,\"version\":1");
    replay(&sandbox, &versions, &answer).fails("duplicate field `version`");
    let large = text.replace(&format!("{key}:{{"), &format!("{key}:{{\"more\":1e400,"));
    let output = replay(&sandbox, &large, &answer);
    assert!(!output.stderr.contains("twice"), "{output:#?}");
}

#[test]
fn a_recording_is_private_and_contains_no_secret() {
    let sandbox = Sandbox::new();
    let service = super::service();
    let token = service.token("user").unwrap();
    let file = sandbox.path("recording.json");
    let query = format!("[platform.download_artifact(\"{BINARY}\"), platform.evidence({{}})]");
    let arguments = ["eval", &query, "--record", file.to_str().unwrap(), "-v", "--no-cache"];
    let run = sandbox.run(&arguments).env("PLATFORM_TOKEN", &token);
    let output = run
        .env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
        .env("PLATFORM_BASE_URL", &service.base_url())
        .output()
        .code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(BINARY));
    // Neither the token nor the URL with the content store's ticket.
    let store = service.store_url();
    for shown in [&text, &output.stdout, &output.stderr] {
        assert!(!shown.contains(&token) && !shown.contains("ticket=") && !shown.contains(&store));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// A recording of these calls, as text.
static RECORDED: LazyLock<String> = LazyLock::new(|| {
    let emulator = support::emulator();
    let options = support::options(&support::platform(&emulator));
    let mut whole = Recording::new();
    for query in queries() {
        let evaluated = support::evaluate(&support::policies(&[]), &query, "{}", &options);
        whole.merge(evaluated.recording().unwrap()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.json");
    whole.save(&path).unwrap();
    std::fs::read_to_string(path).unwrap()
});

/// What it answers.
static RIGHT: LazyLock<Vec<Result<String, ErrorKind>>> =
    LazyLock::new(|| answers(replayed(RECORDED.as_bytes()).unwrap()));

/// A service that no replay may ask.
static SERVICE: LazyLock<Emulator> = LazyLock::new(support::emulator);

fn queries() -> [String; 3] {
    [
        format!("platform.download_artifact(\"{BINARY}\")"),
        format!("platform.discover(\"{CLEAN_IMAGE}\", \"\").digest"),
        format!("platform.discover(\"sha256:{}\", \"\")", "0".repeat(64)),
    ]
}

/// Returns the results of the queries when `text` answers; `None` when it is refused.
fn replayed(text: &[u8]) -> Option<Vec<Evaluated>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.json");
    std::fs::write(&path, text).unwrap();
    let recording = Recording::load(&path).ok()?;
    let emulator = &*SERVICE;
    let mut options = support::options(&support::platform(emulator));
    options.answers = Answers::Replay(Replay::new(recording).into());
    let policies = support::policies(&[]);
    let each = queries().map(|query| support::evaluate(&policies, &query, "{}", &options));
    assert!(emulator.requests().is_empty(), "a replay sends no requests");
    Some(each.into())
}

fn answers(replayed: Vec<Evaluated>) -> Vec<Result<String, ErrorKind>> {
    let answer = |evaluated: Evaluated| {
        let value = evaluated.result.map(|answer| answer.value().map(ToString::to_string));
        value.map(Option::unwrap_or_default).map_err(|error| error.kind())
    };
    replayed.into_iter().map(answer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_is_a_recording_by_chance(text in "\\PC{0,120}", bytes in any::<[u8; 9]>()) {
        prop_assert!(replayed(text.as_bytes()).is_none());
        prop_assert!(replayed(&bytes).is_none());
        let begun = format!("{{\"version\": 1, {text}");
        prop_assert!(replayed(begun.as_bytes()).is_none());
    }

    #[test]
    fn a_recording_with_a_wrong_byte_never_answers_with_other_content(
        at in any::<prop::sample::Index>(),
        byte in 0x20_u8..0x7f,
        cut in prop::bool::weighted(0.2),
    ) {
        let mut text = RECORDED.clone().into_bytes();
        let right = &*RIGHT;
        prop_assert_eq!(&right[2], &Err(ErrorKind::NotFound));
        let at = at.index(text.len());
        if cut {
            text.truncate(at);
        } else {
            text[at] = byte;
        }
        let Some(found) = replayed(&text).map(answers) else { return Ok(()) };
        // Content hashes to its digest, and an answer is about the question.
        prop_assert!(found[0] == right[0] || found[0].is_err(), "{:?}", found[0]);
        prop_assert!(found[1] == right[1] || found[1].is_err(), "{:?}", found[1]);
        // A failure stays one.
        prop_assert!(found[2].is_err(), "{:?}", found[2]);
    }
}

#[test]
fn a_recording_with_two_outcomes_of_a_call_is_refused() {
    let sandbox = Sandbox::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let compact = format!(r#"[\"{digest}\",\"\"]"#);
    let spaced = compact.replace(',', ", ");
    let failure = r#"{"kind": "not found", "message": "m"}"#;
    for (answers, failures) in [
        (format!(r#""{compact}": 1, "{spaced}": 2"#), String::new()),
        (format!(r#""{compact}": 1"#), format!(r#""{compact}": {failure}"#)),
        (format!(r#""{compact}": 1"#), format!(r#""{spaced}": {failure}"#)),
    ] {
        let text = format!(
            r#"{{"version": 1, "nd_builtin_cache": {{"platform.discover": {{{answers}}}}},
                "failures": {{"platform.discover": {{{failures}}}}}}}"#
        );
        let file = sandbox.write("recording.json", text);
        let output = sandbox
            .run(&["eval", "1", "--replay", &file])
            .output()
            .fails("has two outcomes of the call platform.discover([");
        assert!(output.stderr.contains("two outcomes"), "{}", output.stderr);
    }
}

#[test]
fn a_recording_of_unknown_functions_is_refused() {
    let sandbox = Sandbox::new();
    let (whole, [answer, _]) = recorded(&sandbox);
    for (known, unknown) in [
        ("\"platform.discover\":", "\"platform.Discover\":"),
        ("\"platform.discover\":", "\"discover\":"),
        ("\"failures\":{", "\"failures\":{\"time.now\":{},"),
    ] {
        let text = whole.to_string().replacen(known, unknown, 1);
        assert_ne!(text, whole.to_string());
        replay(&sandbox, &text, &answer).fails("unknown function in the recording");
    }
    let more = "\"nd_builtin_cache\":{\"time.now_ns\":{\"[]\":1},\"other.products\":{},";
    let text = whole.to_string().replace("\"nd_builtin_cache\":{", more);
    replay(&sandbox, &text, &answer).code(0);
}

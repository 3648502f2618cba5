//! The host on regorus that a gate can rely on: `Platform::regorus`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rego_platform::evaluate::{Answers, HostFunction, Replay};
use rego_platform::register::RegorusHost;
use rego_platform::regorus;
use rego_platform::{ErrorKind, Limit, Value};

use crate::support::{CLEAN_IMAGE, emulator, platform};

/// The policy of the README.
const RELEASE: &str = r#"package release

image := platform.discover(input.image, "CONTAINER_IMAGE")

deny contains "the image has no SBOM" if not has_sbom

has_sbom if {
	some reference in image.references
	startswith(reference.kind, "SBOM_")
}
"#;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn host(emulator: &rego_platform_emulator::Emulator, policy: &str) -> RegorusHost {
    let mut host = platform(emulator).regorus().unwrap();
    host.add_policy("p.rego", policy).unwrap();
    host
}

#[test]
fn a_rule_has_a_value_and_the_empty_input_is_an_error() {
    let emulator = emulator();
    let host = host(&emulator, RELEASE);
    host.check().unwrap();
    let input = json(&format!(r#"{{"image": "{CLEAN_IMAGE}"}}"#));
    let evaluated = host.evaluate("data.release.deny", input.clone());
    assert_eq!(evaluated.ledger.passes, 2, "{}", evaluated.ledger.table());
    let recording = evaluated.recording().unwrap();
    assert_eq!(evaluated.result.unwrap().value().unwrap().to_json(), "[]");
    assert_eq!(host.eval_rule("data.release.deny", input.clone()).unwrap().to_json(), "[]");

    let error = host.eval_rule("data.release.deny", json("{}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Policy);
    let expected = "p.rego:3:10: call skipped: argument `input.image` is undefined";
    assert!(error.to_string().starts_with(expected), "{error}");
    let error = host.eval_rule("data.release.dney", input.clone()).unwrap_err();
    assert!(error.to_string().contains("rule undefined: `data.release.dney`"), "{error}");

    // A violation doesn't make up for it.
    let both = format!("{RELEASE}\ndeny contains \"always\" if true\n");
    let unjudged = self::host(&emulator, &both).eval_rule("data.release.deny", json("{}"));
    assert!(unjudged.unwrap_err().to_string().contains("call skipped"));

    let requests = emulator.requests().len();
    let mut replayed = host.clone();
    replayed.options_mut().answers = Answers::Replay(Arc::new(Replay::new(recording)));
    assert_eq!(replayed.eval_rule("data.release.deny", input.clone()).unwrap().to_json(), "[]");
    assert_eq!(emulator.requests().len(), requests);

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let awaited = runtime.block_on(host.eval_rule_async("data.release.deny", input));
    assert_eq!(awaited.unwrap().to_json(), "[]");
    let awaited = runtime.block_on(host.eval_rule_async("data.release.deny", json("{}")));
    assert!(awaited.is_err());
}

#[test]
fn what_regorus_answers_otherwise_is_an_error() {
    let emulator = emulator();
    for (policy, input) in [
        // Neither true nor false, with the missing operand.
        ("deny contains 1 if not startswith(input.x, \"a\")", "{}"),
        ("allow := true if not startswith(input.x, \"a\")", "{}"),
        ("allow if every x in [2] { x = 1 }", "{}"),
        ("deny contains x if some {\"n\": x} in [input.o]", r#"{"o": {"n": 1, "m": 2}}"#),
        ("allow := 0.1 + 0.2 == 0.3", "{}"),
    ] {
        let host = host(&emulator, &format!("package p\n\n{policy}\n"));
        host.check().unwrap();
        let rule = if policy.starts_with("deny") { "data.p.deny" } else { "data.p.allow" };
        let error = host.eval_rule(rule, json(input)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Policy, "{policy}: {}", error.report());
    }
    let same = host(&emulator, "package p\n\ndeny contains 1 if not startswith(input.x, \"a\")\n");
    assert_eq!(same.eval_rule("data.p.deny", json(r#"{"x": "b"}"#)).unwrap().to_json(), "[1]");
}

#[test]
fn the_known_differences_are_refused_for_other_evaluations() {
    let emulator = emulator();
    let check = |policy: &str| {
        let mut engine = regorus::Engine::new();
        let functions = platform(&emulator).register(&mut engine).unwrap();
        engine.add_policy("p.rego".to_owned(), format!("package p\n\n{policy}\n")).unwrap();
        functions.check(&engine)
    };
    let negated = "deny contains 1 if not startswith(input.x, \"a\")";
    let error = check(negated).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, "regorus/negated-operand");
    let error = check("allow if every x in [2] { x = 1 }").unwrap_err();
    assert_eq!(error.diagnostics()[0].code, "regorus/every");
    check(&format!("# check:ignore regorus/negated-operand\n{negated}")).unwrap();
}

#[test]
fn a_policy_is_refused_by_check_and_by_its_first_evaluation() {
    let emulator = emulator();
    let mut host = host(&emulator, "package p\n\nx if platform.discvoer(input.d)\n\ny := 1\n");
    let error = host.check().unwrap_err();
    assert!(error.to_string().contains("discvoer"), "{error}");
    assert_eq!(host.eval_rule("data.p.y", json("{}")).unwrap_err().to_string(), error.to_string());
    assert_eq!(host.add_policy("q.rego", "package").unwrap_err().kind(), ErrorKind::Policy);
    assert!(host.add_policy_from_file("/nowhere/p.rego").is_err());

    host = self::host(&emulator, "package p\n\nx := data.allowed\n");
    assert!(host.eval_rule("data.p.x", json("{}")).is_err());
    host.add_data(&json(r#"{"allowed": ["a"]}"#)).unwrap();
    assert_eq!(host.eval_rule("data.p.x", json("{}")).unwrap().to_json(), r#"["a"]"#);
    assert!(host.add_data(&json("[]")).is_err());
}

#[test]
fn functions_of_the_host_are_called_once_for_both_engines() {
    let emulator = emulator();
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let owner = HostFunction::asynchronous("acme.owner", 1, move |_| {
        let counted = Arc::clone(&counted);
        async move {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(Value::from("team"))
        }
    });
    let mut host = platform(&emulator).regorus_with([owner]).unwrap();
    host.add_policy(
        "p.rego",
        "package p\n\nx := [acme.owner(input.n), time.now_ns() == time.now_ns()]\n",
    )
    .unwrap();
    let value = host.eval_rule("data.p.x", json(r#"{"n": 1}"#)).unwrap();
    assert_eq!(value.to_json(), r#"["team",true]"#);
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 1);

    // An extension of the engine's own isn't known to both.
    let extension = |_: Vec<regorus::Value>| Ok(regorus::Value::from(true));
    host.engine_mut().add_extension("acme.f".to_owned(), 1, Box::new(extension)).unwrap();
    host.add_policy("q.rego", "package q\n\nx := acme.f(1)\n").unwrap();
    let error = host.eval_rule("data.q.x", json("{}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAnswered, "{}", error.report());
}

#[test]
fn a_budget_of_half_a_second_is_half_a_second() {
    let emulator = emulator();
    let text = "package p\n\nx := count([1 | some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); \
                some c in [1, 2, 3]; a + b + c < 0])\n";
    let mut host = host(&emulator, text);
    host.options_mut().budget.timeout = Duration::from_millis(500);
    let started = Instant::now();
    let error = host.eval_rule("data.p.x", json("{}")).unwrap_err();
    assert_eq!((error.kind(), error.limit()), (ErrorKind::TimedOut, Some(Limit::Timeout)));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn hosts_are_shared_by_threads() {
    let emulator = emulator();
    let host = host(&emulator, RELEASE);
    let input = json(&format!(r#"{{"image": "{CLEAN_IMAGE}"}}"#));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let denied = host.eval_rule("data.release.deny", input.clone());
                assert_eq!(denied.unwrap().to_json(), "[]");
            });
        }
    });
}

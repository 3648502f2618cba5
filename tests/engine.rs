//! The functions on engines of the host's own: threads, runtimes, clones, and swallowed errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;

use rego_platform::emulator::{Dataset, Emulator, EmulatorOptions};
use rego_platform::regorus::{Engine, Value};
use rego_platform::{Error, ErrorKind, Platform, Registration, Token};

/// The clean image of the shipped data.
const CLEAN_IMAGE: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

fn start(options: EmulatorOptions) -> Emulator {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/platform");
    Emulator::start(Dataset::load(&folder).unwrap(), options).unwrap()
}

fn client(emulator: &Emulator) -> Platform {
    Platform::builder()
        .controlplane_url(emulator.controlplane_url())
        .base_url(emulator.base_url())
        .token(Token::new(emulator.default_token()).unwrap())
        .first_pause(Duration::from_millis(1))
        .build()
        .unwrap()
}

fn misbehave(emulator: &Emulator, faults: &[&str]) {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    emulator.set_faults(faults);
}

const POLICY: &str = "package p\nkind := platform.discover(input.digest, \"\").kind";

fn engine(emulator: &Emulator, policy: &str) -> (Engine, Registration) {
    let mut engine = Engine::new();
    let registration = client(emulator).register(&mut engine).unwrap();
    engine.add_policy("p.rego".to_owned(), policy.to_owned()).unwrap();
    (engine, registration)
}

fn evaluate(engine: &mut Engine, registration: &Registration) -> Result<Value, Error> {
    engine.set_input_json(&format!(r#"{{"digest":"{CLEAN_IMAGE}"}}"#)).unwrap();
    registration.run(engine, |engine| engine.eval_rule("data.p.kind".to_owned()))
}

#[test]
fn calls_block_on_plain_threads_and_in_runtimes_of_either_flavour() {
    let emulator = start(EmulatorOptions::default());
    let (engine, registration) = engine(&emulator, POLICY);
    let image = Value::from("CONTAINER_IMAGE");
    assert_eq!(evaluate(&mut engine.clone(), &registration).unwrap(), image);
    let inside = || async {
        let value = evaluate(&mut engine.clone(), &registration).unwrap();
        // Dropping the last handle of a platform must not panic inside a runtime either.
        let (mut own, own_registration) = self::engine(&emulator, POLICY);
        assert_eq!(evaluate(&mut own, &own_registration).unwrap(), value);
        value
    };
    let current = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(current.block_on(inside()), image);
    let several = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    assert_eq!(several.block_on(inside()), image);
    let spawned = {
        let (mut engine, registration) = (engine.clone(), registration.clone());
        several.spawn(async move { evaluate(&mut engine, &registration).unwrap() })
    };
    assert_eq!(several.block_on(spawned).unwrap(), image);
    let platform = client(&emulator);
    let answer =
        current.block_on(platform.call_async("discover", &[CLEAN_IMAGE.into(), "".into()]));
    assert_eq!(
        answer.unwrap().get_str("kind").and_then(|kind| kind.as_str()),
        Some("CONTAINER_IMAGE")
    );
}

#[test]
fn engines_and_clones_work_side_by_side_and_fail_apart() {
    let emulator = start(EmulatorOptions::default());
    let first = engine(&emulator, POLICY);
    let second = engine(&emulator, POLICY);
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (engine, registration) = if n % 2 == 0 { &first } else { &second };
            let (mut engine, registration) = (engine.clone(), registration.clone());
            scope.spawn(move || {
                for round in 0..5 {
                    if (n + round) % 3 == 0 {
                        engine.set_input_json(r#"{"digest":"nonsense"}"#).unwrap();
                        let kind = |engine: &mut Engine| engine.eval_rule("data.p.kind".to_owned());
                        let error = registration.run(&mut engine, kind).unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                    }
                    let value = evaluate(&mut engine, &registration).unwrap();
                    assert_eq!(value, Value::from("CONTAINER_IMAGE"));
                }
            });
        }
    });
}

#[test]
fn a_failed_call_fails_the_evaluation_even_if_the_policy_swallows_it() {
    let call = format!("platform.discover(\"{CLEAN_IMAGE}\", \"\")");
    let policies = [
        ("not", format!("result if not {call}")),
        ("not, one rule away", format!("known if {call}\nresult if not known")),
        ("default", format!("default result := true\nresult := false if {call}.kind == \"X\"")),
        ("a second definition", format!("f(x) := 1 if {call}\nf(x) := 2 if true\nresult := f(1)")),
        (
            "a second definition first",
            format!("f(x) := 2 if x == 1\nf(x) := 2 if {call}\nresult := f(1)"),
        ),
        ("a default function", format!("default f(_) := 2\nf(x) := 1 if {call}\nresult := f(1)")),
        ("else", format!("result := 1 if {call} else := 2")),
        ("an array comprehension", format!("result := [1 | {call}]")),
        ("a set comprehension", format!("result := {{1 | {call}}}")),
        ("an object comprehension", format!("result := {{\"a\": v | v := {call}}}")),
        ("count of a comprehension", format!("result if count([1 | {call}.kind]) == 0")),
        ("a partial set", format!("bad contains \"x\" if {call}\nresult := count(bad)")),
        ("a partial object", format!("bad[\"x\"] := 1 if {call}\nresult := count(bad)")),
        ("every", format!("result if every x in [1] {{ {call}.kind; x }}")),
        ("every over nothing", format!("result if every x in [v | v := {call}] {{ x.never }}")),
        ("some", format!("result := 2 if not hit\nhit if {{ some x in [1]; {call}[x] }}")),
        (
            "with input as a rule that fails",
            format!("broken := {call}\nresult if not h with input as broken\nh if input.x"),
        ),
        (
            "with a built-in as a rule that fails",
            format!(
                "broken := {call}\nresult := 1 if not h with count as broken\nh if count([]) == 1"
            ),
        ),
        (
            "with a built-in as a function that fails",
            format!(
                "broken(_) := v if v := {call}\nresult := 1 if not h with count as broken\nh if count([]) == 1"
            ),
        ),
        (
            "with data as a rule that fails",
            format!("broken := {call}\nresult if not h with data.x as broken\nh if data.x.y"),
        ),
        ("with data", format!("result if not bad with data.x as 1\nbad if {call}.kind == \"X\"")),
        ("a negated comparison", format!("result if not {call}.kind == \"X\"")),
        ("walk", format!("result := [v | walk({call}, [_, v])]")),
        (
            "object.get",
            format!(
                "result := object.get({{}}, \"x\", 1) if not object.get({call}, \"kind\", \"\") == \"X\""
            ),
        ),
        ("a failed argument", "result if not platform.discover(\"nonsense\", \"\")".to_owned()),
        ("a lookup in a set", format!("result if not {{\"x\"}}[{call}.kind]")),
    ];
    let emulator = start(EmulatorOptions::default());
    for (how, policy) in policies {
        let (mut engine, registration) = engine(&emulator, &format!("package p\n{policy}"));
        misbehave(&emulator, &["discover:status=403"]);
        let mut swallowed = false;
        let result = registration.run(&mut engine, |engine| {
            let result = engine.eval_rule("data.p.result".to_owned());
            swallowed = result.is_ok();
            result
        });
        let error = result.expect_err(how);
        let expected = if how == "a failed argument" {
            ErrorKind::InvalidArgument
        } else {
            ErrorKind::PermissionDenied
        };
        assert_eq!(error.kind(), expected, "{how} (swallowed: {swallowed})");
        assert_eq!(error.function(), Some("platform.discover"), "{how}");
    }
}

#[test]
fn after_the_first_failure_nothing_is_sent_within_the_scope() {
    let emulator = start(EmulatorOptions::default());
    let other = "sha256:ee365d2f06e4e744b38aa060b129cda3c422b7186be525f49d4758e78dae1ad6";
    let policy = format!(
        "package p\nf(x) := 1 if platform.discover(x, \"\")\nf(x) := 1 if x\n\
         result := [f(\"{CLEAN_IMAGE}\"), f(\"{other}\"), f(\"{CLEAN_IMAGE}\")]"
    );
    let (mut engine, registration) = engine(&emulator, &policy);
    misbehave(&emulator, &["discover:status=403:count=1"]);
    let twice = registration.run(&mut engine, |engine| {
        let _ = engine.eval_rule("data.p.result".to_owned());
        engine.eval_rule("data.p.result".to_owned())
    });
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(emulator.requests().len(), 1);
    let again =
        registration.run(&mut engine, |engine| engine.eval_rule("data.p.result".to_owned()));
    assert!(again.is_ok());
    assert!(emulator.requests().len() > 1);
}

#[test]
fn outside_of_the_scope_and_on_other_threads_nothing_answers() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, registration) = engine(&emulator, POLICY);
    engine.set_input_json(&format!(r#"{{"digest":"{CLEAN_IMAGE}"}}"#)).unwrap();
    let error = engine.eval_rule("data.p.kind".to_owned()).unwrap_err();
    assert!(error.to_string().contains("outside of the scope"), "{error}");
    let elsewhere = registration.run(&mut engine, |engine| {
        let mut clone = engine.clone();
        std::thread::spawn(move || clone.eval_rule("data.p.kind".to_owned())).join().unwrap()
    });
    assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::Policy);
    assert!(emulator.requests().is_empty());
}

#[test]
fn a_second_registration_on_an_engine_is_refused() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, registration) = engine(&emulator, POLICY);
    let error = client(&emulator).register(&mut engine).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`platform.discover` is registered"), "{error}");
    assert_eq!(evaluate(&mut engine, &registration).unwrap(), Value::from("CONTAINER_IMAGE"));
}

#[test]
fn an_error_of_the_policy_itself_is_one() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, registration) = engine(&emulator, "package p\nresult := 1 / 0");
    let error = registration
        .run(&mut engine, |engine| engine.eval_rule("data.p.result".to_owned()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Policy);
}

//! What holds on both engines: this crate's own, and regorus with the functions registered.
//!
//! Owns one way to evaluate on either, and the table of policies that hide a failed call.

use rego_platform::evaluate::{
    Answers, Budget, Cancellation, EvaluateOptions, Ledger, Recording, Replay,
};
use rego_platform::regorus::{self, Engine};
use rego_platform::{Error, ErrorKind, Limit, NotFound, Platform, Registration, Value};

use super::world::{Server, TREE, WIDE, input};
use crate::support::{CLEAN_IMAGE, builder, emulator, evaluate, options, platform, policies};

/// The end of an evaluation of one rule.
pub struct Ended {
    /// The value as JSON, in which a set is an array; `undefined` if there is none.
    pub value: Result<String, Error>,
    pub ledger: Ledger,
    /// The text of the policy's prints.
    pub prints: Vec<String>,
    pub recording: Result<Recording, Error>,
}

/// Evaluates a rule of one module on an engine: platform, text, rule, input, options.
pub type Evaluate = fn(&Platform, &str, &str, &str, &EvaluateOptions) -> Ended;

pub const ENGINES: [(&str, Evaluate); 2] = [("ours", on_ours), ("regorus", on_regorus)];

fn on_ours(_: &Platform, text: &str, rule: &str, input: &str, options: &EvaluateOptions) -> Ended {
    let policies = policies(&[("p.rego", text)]);
    let evaluated = evaluate(&policies, rule, input, options);
    let recording = evaluated.recording();
    let value = evaluated
        .result
        .map(|output| output.value().map_or_else(|| "undefined".to_owned(), Value::to_json));
    let prints = evaluated.prints.into_iter().map(|print| print.message).collect();
    Ended { value, ledger: evaluated.ledger, prints, recording }
}

pub fn on_regorus(
    platform: &Platform,
    text: &str,
    rule: &str,
    input: &str,
    options: &EvaluateOptions,
) -> Ended {
    let (mut engine, functions) = registered(platform, text, input);
    let evaluated =
        functions.evaluate(&mut engine, options, |engine| engine.eval_rule(rule.to_owned()));
    let recording = evaluated.recording();
    let prints = evaluated
        .prints
        .iter()
        .map(|print| print.splitn(3, ':').nth(2).unwrap_or_default().trim_start().to_owned());
    let prints = prints.collect();
    let value = evaluated.result.map(|value| shown(&value));
    Ended { value, ledger: evaluated.ledger, prints, recording }
}

pub fn registered(platform: &Platform, text: &str, input: &str) -> (Engine, Registration) {
    let mut engine = Engine::new();
    let functions = platform.register(&mut engine).unwrap();
    engine.add_policy("p.rego".to_owned(), text.to_owned()).unwrap();
    engine.set_input_json(input).unwrap();
    (engine, functions)
}

pub fn shown(value: &regorus::Value) -> String {
    match value {
        regorus::Value::Undefined => "undefined".to_owned(),
        value => Value::from_json(&value.to_json_str().unwrap()).unwrap().to_json(),
    }
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
            format!("f(x) := 2 if x == 1\nf(x) := x + 1 if {call}\nresult := f(1)"),
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
        ("some", format!("result := 2 if not hit\nhit if {{ some x in [\"kind\"]; {call}[x] }}")),
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
        ("a failed argument", "result if not platform.discover(input.d, \"\")".to_owned()),
        ("a lookup in a set", format!("result if not {{\"x\"}}[{call}.kind]")),
    ];
    let emulator = emulator();
    let platform = builder(&emulator).retries(0).build().unwrap();
    emulator.set_faults(vec!["discover:status=403".parse().unwrap()]);
    let input = r#"{"d": "nonsense"}"#;
    for (engine, evaluate) in ENGINES {
        for one_at_a_time in [false, true] {
            for (how, policy) in &policies {
                let mut options = options(&platform);
                options.budget.one_at_a_time = one_at_a_time;
                let text = format!("package p\n\n{policy}\n");
                let ended = evaluate(&platform, &text, "data.p.result", input, &options);
                let error = ended.value.expect_err(&format!("{how} on {engine}"));
                let expected = if *how == "a failed argument" {
                    ErrorKind::InvalidArgument
                } else {
                    ErrorKind::PermissionDenied
                };
                assert_eq!(error.kind(), expected, "{how} on {engine}: {}", error.report());
                assert_eq!(error.function(), Some("platform.discover"), "{how} on {engine}");
            }
        }
    }
    // Calls that are made directly, by an engine that the host evaluates. `check` refuses the one place where regorus
    // ignores the failure.
    let mut ignored = Vec::new();
    for (how, policy) in &policies {
        let mut engine = Engine::new();
        let functions = platform.register_direct(&mut engine).unwrap();
        engine.add_policy("p.rego".to_owned(), format!("package p\n\n{policy}\n")).unwrap();
        engine.set_input_json(input).unwrap();
        match engine.eval_rule("data.p.result".to_owned()) {
            Err(error) => {
                assert!(error.to_string().contains("platform.discover: "), "{how}: {error}");
            }
            Ok(_) => {
                let error = functions.check(&engine).expect_err(how);
                assert_eq!(error.diagnostics()[0].code, "regorus/with-value", "{how}");
                ignored.push(*how);
            }
        }
    }
    assert_eq!(ignored, ["with a built-in as a rule that fails"]);
}

const LEVELS: &str = r#"package p

l1 contains r.digest if some r in platform.discover(input.d[0], "").references

l2 contains r.digest if {
	some digest in l1
	some r in platform.discover(digest, "").references
}

l3 contains r.digest if {
	some digest in l2
	some r in platform.discover(digest, "").references
}

x := count(l3)
"#;

#[test]
fn a_walk_of_some_depth_takes_as_many_rounds_on_both() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    let input = input(TREE + (4 << 20) + 6);
    for (engine, evaluate) in ENGINES {
        let ended = evaluate(&platform, LEVELS, "data.p.x", &input, &options(&platform));
        assert_eq!(ended.value.unwrap(), "6", "{engine}");
        assert_eq!(ended.ledger.passes, 4, "{engine}: {}", ended.ledger.table());
        assert_eq!(ended.ledger.calls.len(), 1 + 6 + 6, "{engine}");
    }
}

const FAN_OUT: &str = r#"package p

root := platform.discover(input.d[0], "")

x := sum([a.score | some r in root.references; a := platform.discover(r.digest, "")])
"#;

#[test]
fn sixteen_evaluations_at_once_share_equal_calls() {
    for (engine, evaluate) in ENGINES {
        let server = Server::start();
        let platform = server.builder().concurrency(64).build().unwrap();
        server.set_latency(std::time::Duration::from_millis(400));
        let start = std::sync::Barrier::new(16);
        let values: Vec<String> = std::thread::scope(|scope| {
            let one = |_| {
                let (start, platform) = (&start, &platform);
                scope.spawn(move || {
                    start.wait();
                    let mut options = options(platform);
                    options.answers = Answers::Service(platform.clone());
                    evaluate(platform, FAN_OUT, "data.p.x", &input(WIDE + 20), &options)
                        .value
                        .unwrap()
                })
            };
            let all: Vec<_> = (0..16).map(one).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(values.iter().all(|value| *value == values[0]), "{engine}: {values:?}");
        // 21 calls each; one that starts after an answer came sends its own.
        assert!(server.requests() < 4 * 21, "{engine}: {} requests", server.requests());
    }
}

#[test]
fn budgets_count_what_is_needed_and_name_their_limit() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    let input = input(TREE + (4 << 20) + 6);
    let cases: [(fn(&mut Budget), Limit); 3] = [
        (|budget| budget.calls = 3, Limit::Calls),
        (|budget| budget.bytes = 900, Limit::Bytes),
        (|budget| budget.passes = 2, Limit::Passes),
    ];
    for (engine, evaluate) in ENGINES {
        for (change, limit) in cases {
            let mut options = options(&platform);
            change(&mut options.budget);
            let ended = evaluate(&platform, LEVELS, "data.p.x", &input, &options);
            let error = ended.value.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{engine}: {}", error.report());
            assert_eq!(error.limit(), Some(limit), "{engine}: {}", error.report());
        }
    }
}

#[test]
fn time_ends_an_evaluation_that_computes() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    let text = "package p\n\nx := count([1 | some a in input.n; some b in input.n; some c in input.n; \
                a + b + c < 0])\n\nf(_) if x > 0\n\nf(1) if true\n\ny if f(1)\n";
    let numbers: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
    let input = format!(r#"{{"n": [{}]}}"#, numbers.join(","));
    for (engine, evaluate) in ENGINES {
        // The second definition of `f` would swallow the error.
        for rule in ["data.p.x", "data.p.y"] {
            let mut options = options(&platform);
            options.budget.timeout = std::time::Duration::from_millis(300);
            let error = evaluate(&platform, text, rule, &input, &options).value.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{engine}: {}", error.report());
            assert_eq!(error.limit(), Some(Limit::Timeout), "{engine}: {}", error.report());
        }
    }
}

#[test]
fn a_cancelled_evaluation_ends_and_sends_nothing_more() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    for (engine, evaluate) in ENGINES {
        server.set_latency(std::time::Duration::from_secs(5));
        let cancellation = Cancellation::new();
        let mut options = options(&platform);
        options.cancellation = Some(cancellation.clone());
        let before = server.requests();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                while server.requests() == before {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                cancellation.cancel();
            });
            let input = input(WIDE + if engine == "ours" { 3 } else { 4 });
            evaluate(&platform, FAN_OUT, "data.p.x", &input, &options).value.unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{engine}: {}", error.report());
        assert_eq!(server.requests(), before + 1, "{engine}");
    }
}

#[test]
fn a_recording_of_one_engine_replays_on_the_other_without_requests() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let text = "package p\n\nx := [platform.discover(input.d, \"\").kind, time.now_ns(), \
                uuid.rfc4122(\"a\"), rand.intn(\"b\", 1000)]\n";
    let input = format!(r#"{{"d": "{CLEAN_IMAGE}"}}"#);
    for (engine, evaluate) in ENGINES {
        let live = evaluate(&platform, text, "data.p.x", &input, &options(&platform));
        let live_value = live.value.unwrap();
        assert!(live_value.starts_with("[\"CONTAINER_IMAGE\""), "{engine}: {live_value}");
        assert_eq!(live.ledger.passes, 2, "{engine}");
        let requests = emulator.requests().len();
        for (other, evaluate) in ENGINES {
            let recording = live.recording.clone().unwrap();
            let mut replay = options(&platform);
            replay.answers = Answers::Replay(Replay::new(recording).into());
            let again = evaluate(&platform, text, "data.p.x", &input, &replay);
            assert_eq!(again.value.unwrap(), live_value, "{engine}, replayed on {other}");
            let unknown = "package p\n\nx := platform.evidence({})\n";
            let ended = evaluate(&platform, unknown, "data.p.x", "{}", &replay);
            let error = ended.value.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotAnswered, "{other}: {}", error.report());
        }
        assert_eq!(emulator.requests().len(), requests, "a replay sends no requests");
    }
}

#[test]
fn prints_come_from_the_exact_pass_only() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let text = "package p\n\nknown := platform.discover(input.d, \"\").kind\n\nx := 1 if {\n\t\
                print(\"before\")\n\tnot known\n\tprint(\"wrong\")\n}\n\nelse := 2 if {\n\t\
                print(\"kind\", known)\n}\n";
    let input = format!(r#"{{"d": "{CLEAN_IMAGE}"}}"#);
    for (engine, evaluate) in ENGINES {
        let ended = evaluate(&platform, text, "data.p.x", &input, &options(&platform));
        assert_eq!(ended.value.unwrap(), "2", "{engine}");
        assert_eq!(ended.prints, ["before", "kind CONTAINER_IMAGE"], "{engine}");
    }
}

#[test]
fn not_found_is_undefined_only_if_the_host_wants_that() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let text = "package p\n\nx := true if not platform.discover(input.d, \"\")\n";
    let input = format!(r#"{{"d": "sha256:{}"}}"#, "0".repeat(64));
    for (engine, evaluate) in ENGINES {
        let mut options = options(&platform);
        let ended = evaluate(&platform, text, "data.p.x", &input, &options);
        assert_eq!(ended.value.unwrap_err().kind(), ErrorKind::NotFound, "{engine}");
        options.not_found = NotFound::Undefined;
        let ended = evaluate(&platform, text, "data.p.x", &input, &options);
        assert_eq!(ended.value.unwrap(), "true", "{engine}");
    }
}

#[test]
fn a_request_of_the_policy_is_an_error_unless_its_host_is_allowed() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let text = "package p\n\nf(_) if http.send({\"method\": \"GET\", \"url\": \"http://a.test/\"})\n\n\
                f(1) if true\n\nx if f(1)\n";
    for (engine, evaluate) in ENGINES {
        let ended = evaluate(&platform, text, "data.p.x", "{}", &options(&platform));
        let error = ended.value.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAnswered, "{engine}: {}", error.report());
        assert!(error.to_string().contains("no host is allowed"), "{engine}: {error}");
    }
}

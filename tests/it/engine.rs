//! The functions on engines of the host's own: passes, threads, runtimes, clones, and misuse.
//!
//! What both engines have in common is tested in `tests/it/passes`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rego_platform::evaluate::{EvaluateOptions, HostFunction};
use rego_platform::regorus::utils::limits::ExecutionTimerConfig;
use rego_platform::regorus::{Engine, Value};
use rego_platform::{
    Error, ErrorKind, EvaluationEvent, Observer, Platform, Product, Registration, Token,
    Value as OurValue,
};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};

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

const WALK: &str = r#"package walk

image := platform.discover(input.digest, "CONTAINER_IMAGE")

level_1 contains [r.digest, r.kind] if some r in image.references

level_2 contains r.digest if {
	some [digest, kind] in level_1
	some r in platform.discover(digest, kind).references
}
"#;

fn walking(emulator: &Emulator) -> (Engine, Registration, EvaluateOptions) {
    let (mut engine, registration) = engine(emulator, WALK);
    engine.set_input_json(&format!(r#"{{"digest":"{CLEAN_IMAGE}"}}"#)).unwrap();
    (engine, registration, client(emulator).options())
}

fn level_2(engine: &mut Engine) -> anyhow::Result<Value> {
    engine.eval_rule("data.walk.level_2".to_owned())
}

#[test]
fn independent_calls_are_sent_together() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, options) = walking(&emulator);
    functions.check(&engine).unwrap();
    let evaluated = functions.evaluate(&mut engine, &options, level_2);
    assert!(evaluated.result.unwrap().as_set().unwrap().len() > 5);
    assert_eq!(evaluated.ledger.passes, 3, "{}", evaluated.ledger.table());
    assert_eq!(emulator.requests().len(), evaluated.ledger.calls.len());
}

#[test]
fn a_task_that_evaluates_holds_no_thread() {
    let emulator = start(EmulatorOptions::default());
    let (engine, functions, options) = walking(&emulator);
    misbehave(&emulator, &["discover:latency=200ms"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let ticks = Arc::new(AtomicUsize::new(0));
        let own = Arc::clone(&ticks);
        let ticker = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                own.fetch_add(1, Ordering::SeqCst);
            }
        });
        let evaluated = functions.evaluate_async(engine.clone(), options.clone(), level_2).await;
        assert!(evaluated.result.is_ok());
        assert!(ticks.load(Ordering::SeqCst) > 10, "{ticks:?} ticks in more than 600 ms");
        // A dropped future sends nothing more.
        let waits = functions.evaluate_async(engine, options, level_2);
        let before = emulator.requests().len();
        assert!(tokio::time::timeout(Duration::from_millis(50), waits).await.is_err());
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(emulator.requests().len() <= before + 1);
        ticker.abort();
    });
    let several = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (engine, functions, options) = walking(&emulator);
    let task =
        several.spawn(async move { functions.evaluate_async(engine, options, level_2).await });
    assert!(several.block_on(task).unwrap().result.is_ok());
}

#[test]
fn functions_of_the_host_are_batched_and_get_values_without_loss() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let most = Arc::new(AtomicUsize::new(0));
    let running = Arc::new(AtomicUsize::new(0));
    let counted = (Arc::clone(&most), Arc::clone(&running));
    let owner = HostFunction::asynchronous("acme.owner", 1, move |arguments| {
        let (most, running) = counted.clone();
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(50)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            let name = arguments.first().and_then(OurValue::as_str).unwrap_or_default();
            Ok(OurValue::from(format!("owner of {name}")))
        }
    });
    let echo = HostFunction::pure("acme.echo", 1, |arguments| Ok(arguments.first().cloned()));
    let mut engine = Engine::new();
    let functions = platform.register_with(&mut engine, [owner, echo]).unwrap();
    let policy = "package p\n\nowners := [o | some x in [\"a\", \"b\", \"c\"]; o := acme.owner(x)]\n\n\
                  given := {\"s\": {{1, {\"x\"}}, [{}]}, 1: 123456789012345678901234567890, \"f\": 0.1}\n\n\
                  same if acme.echo(given) == given\n\nkept := type_name(acme.echo(given).s)\n\n\
                  big := acme.echo(given)[1] == 123456789012345678901234567890\n";
    engine.add_policy("p.rego".to_owned(), policy.to_owned()).unwrap();
    let options = platform.options();
    functions.check(&engine).unwrap();
    let mut rule = |rule: &str| {
        functions.evaluate(&mut engine, &options, |engine| engine.eval_rule(rule.to_owned()))
    };
    let owners = rule("data.p.owners");
    let expected = r#"["owner of a","owner of b","owner of c"]"#;
    assert_eq!(
        owners.result.as_ref().unwrap().to_json_str().unwrap().replace(['\n', ' '], ""),
        expected.replace(' ', "")
    );
    assert_eq!(owners.recording().unwrap().len(), 3);
    assert_eq!(most.load(Ordering::SeqCst), 3, "independent calls are made together");
    assert_eq!(rule("data.p.same").result.unwrap(), Value::from(true));
    assert_eq!(rule("data.p.kept").result.unwrap(), Value::from("set"));
    assert_eq!(rule("data.p.big").result.unwrap(), Value::from(true));
    let taken = HostFunction::declared("platform.discover", 1);
    let error = platform.register_with(&mut Engine::new(), [taken]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Policy);
}

#[test]
fn check_refuses_what_a_load_would() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let findings = |policy: &str, change: &dyn Fn(&Registration, &mut Engine)| {
        let mut engine = Engine::new();
        let functions = platform.register(&mut engine).unwrap();
        engine.set_rego_v0(!policy.contains(" if "));
        engine.add_policy("p.rego".to_owned(), format!("package p\n\n{policy}\n")).unwrap();
        engine.add_data_json(r#"{"known": 1}"#).unwrap();
        change(&functions, &mut engine);
        let found = functions.check(&engine);
        found.map_or_else(
            |error| error.diagnostics().iter().map(rego_platform::Diagnostic::render).collect(),
            |()| Vec::new(),
        )
    };
    let unchanged = |_: &Registration, _: &mut Engine| {};
    for (policy, part) in [
        ("x if platform.discvoer(input.d, \"\")", "discvoer"),
        ("x if false\n\ny if not platform.discvoer(input.d)", "discvoer"),
        ("x if platform.discover(input.d)", "platform.discover"),
        ("x if platform.discover(\"nonsense\", \"\")", "nonsense"),
        ("x if platform.evidence({\"project\": \"a\"})", "project"),
        ("x if y == 1", "unsafe"),
        ("x if acme.unknown(1)", "acme.unknown"),
        ("x if net.lookup_ip_adr(\"a\")", "net.lookup_ip_adr"),
        ("x if json.match_schema({}, {})", "regorus has no function `json.match_schema`"),
        ("x := platform.discvoer(input.d, \"\") { true }", "discvoer"),
    ] {
        let found = findings(policy, &unchanged);
        assert!(found.iter().any(|line| line.contains(part)), "{policy}: {found:?}");
        assert!(found.iter().all(|line| line.contains("p.rego:")), "{policy}: {found:?}");
    }
    for policy in [
        "x if platform.discover(input.d, \"\").kind == data.known",
        "x if { regex.match(\"a\", base64.decode(input.b)); time.now_ns() > 0; glob.match(\"a\", [], \"a\") }",
        "x if { count(yaml.unmarshal(input.y)) == 1; semver.compare(\"1.0.0\", \"1.0.1\") < 0; print(1) }",
        "x { input.y }",
    ] {
        assert_eq!(findings(policy, &unchanged), [""; 0], "{policy}");
    }
    let extended = |_: &Registration, engine: &mut Engine| {
        engine.add_extension("acme.f".to_owned(), 1, Box::new(|_| Ok(Value::from(true)))).unwrap();
    };
    assert_eq!(findings("x if acme.f(1)", &extended), [""; 0]);
    let replaced = |functions: &Registration, engine: &mut Engine| {
        // Of OPA's functions, those that this crate has and calls by a name.
        assert!(functions.replace_builtins(engine) > 130);
    };
    assert_eq!(findings("x if json.match_schema({}, {})", &replaced), [""; 0]);
}

#[test]
fn our_built_in_functions_can_replace_those_of_regorus() {
    let emulator = start(EmulatorOptions::default());
    // regorus takes a pattern that Go's regular expressions don't have.
    let policy = "result := [sprintf(\"%v\", [{1}]), json.match_schema({\"a\": 1}, {\"type\": \"string\"})[0], \
                  base64.decode(\"YQ==\"), time.now_ns() == time.now_ns()]\n\nwrong := to_number(input.x)\n";
    let (mut engine, functions) = engine(&emulator, &format!("package p\n\n{policy}"));
    functions.replace_builtins(&mut engine);
    engine.set_input_json(r#"{"x": "y"}"#).unwrap();
    let mut options = client(&emulator).options();
    let result =
        functions.evaluate(&mut engine, &options, |e| e.eval_rule("data.p.result".to_owned()));
    let expected = Value::from_json_str(r#"["{1}", false, "a", true]"#).unwrap();
    assert_eq!(result.result.unwrap(), expected);
    let mut wrong = |options: &EvaluateOptions| {
        functions.evaluate(&mut engine, options, |e| e.eval_rule("data.p.wrong".to_owned())).result
    };
    let error = wrong(&options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Policy);
    assert!(error.report().contains("to_number"), "{}", error.report());
    options.strict_builtin_errors = false;
    assert_eq!(wrong(&options).unwrap(), Value::Undefined);
}

#[test]
fn a_panic_is_an_error_and_leaves_the_engine_as_it_was() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, options) = walking(&emulator);
    let panics = functions.evaluate(&mut engine, &options, |_| -> anyhow::Result<Value> {
        std::panic::resume_unwind(Box::new("gone"))
    });
    let error = panics.result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("panicked, in the closure or the interpreter"), "{error}");
    assert!(emulator.requests().is_empty());
    assert!(functions.evaluate(&mut engine, &options, level_2).result.is_ok());
}

#[test]
fn a_panic_while_an_answer_is_missing_ends_the_evaluation() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, options) = walking(&emulator);
    let evaluated = functions.evaluate(&mut engine, &options, |engine| -> anyhow::Result<Value> {
        let _ = level_2(engine);
        std::panic::resume_unwind(Box::new("gone"))
    });
    assert!(evaluated.result.unwrap_err().to_string().contains("panicked"));
}

#[test]
fn the_engine_stays_as_it_was() {
    let emulator = start(EmulatorOptions::default());
    let text = "package p\n\nx := [print(input.n), platform.discover(input.digest, \"\").kind]\n\n\
                wrong := to_number(\"x\")\n";
    let (mut engine, functions) = engine(&emulator, text);
    let limit = Duration::from_millis(200);
    let timer = ExecutionTimerConfig { limit, check_interval: NonZeroU32::MIN };
    engine.set_execution_timer_config(timer);
    engine.set_strict_builtin_errors(false);
    engine.set_gather_prints(true);
    engine.set_input_json(r#"{"n": "of the host"}"#).unwrap();
    misbehave(&emulator, &["discover:latency=300ms"]);
    let options = client(&emulator).options();
    let mut passes = 0;
    let evaluated = functions.evaluate(&mut engine, &options, |engine| {
        passes += 1;
        // Each pass has a new clone, to which a policy of this name can be added.
        engine.add_policy("q.rego".to_owned(), "package q\n\nx := 1".to_owned())?;
        engine.set_input_json(&format!(r#"{{"n": "changed", "digest": "{CLEAN_IMAGE}"}}"#))?;
        engine.eval_rule("data.p.x".to_owned())
    });
    assert_eq!(
        evaluated.result.unwrap(),
        Value::from_json_str(r#"[true, "CONTAINER_IMAGE"]"#).unwrap()
    );
    assert_eq!((passes, evaluated.prints.len()), (2, 1));
    assert!(evaluated.prints[0].contains("changed"), "{:?}", evaluated.prints);

    assert_eq!(engine.get_packages().unwrap(), ["data.p"]);
    assert_eq!(engine.eval_rule("data.p.wrong".to_owned()).unwrap(), Value::Undefined, "lenient");
    let printed = engine.eval_query("print(input.n)".to_owned(), false);
    assert!(printed.is_ok());
    assert!(engine.take_prints().unwrap()[0].contains("of the host"));
    let numbers = "count([1 | some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); a + b < 0])";
    let error = engine.eval_query(numbers.to_owned(), false).unwrap_err();
    assert!(format!("{error:#}").contains("time limit"), "{error:#}");
}

#[test]
fn options_without_an_effect_are_refused() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, options) = walking(&emulator);
    let changes: [fn(&mut EvaluateOptions); 2] =
        [|options| options.coverage = true, |options| options.reached = true];
    for change in changes {
        let mut options = options.clone();
        change(&mut options);
        let error = functions.evaluate(&mut engine, &options, level_2).result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("option not supported"), "{error}");
    }
}

#[test]
fn the_time_of_a_compiled_policy_is_the_budget() {
    let emulator = start(EmulatorOptions::default());
    let text = "package p\n\nx := count([1 | some a in input.n; some b in input.n; a + b < 0])\n";
    let (mut engine, functions) = engine(&emulator, text);
    let compiled = engine.compile_with_entrypoint(&"data.p.x".into()).unwrap();
    let numbers: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let input = Value::from_json_str(&format!(r#"{{"n": [{}]}}"#, numbers.join(","))).unwrap();
    let mut options = client(&emulator).options();
    options.budget.timeout = Duration::from_millis(500);
    let started = std::time::Instant::now();
    let evaluate = move |_: &mut Engine| compiled.eval_with_input(input.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error =
        runtime.block_on(functions.evaluate_async(engine, options, evaluate)).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[derive(Debug, thiserror::Error)]
#[error("the registry is away")]
struct Away;

#[test]
fn errors_say_their_cause_and_keep_their_source() {
    let emulator = start(EmulatorOptions::default());
    let policy = "package p\n\nhost := acme.away(1)\n\nbroken := 1 / input.zero\n";
    let away = HostFunction::pure("acme.away", 1, |_| Err(Error::host(Away)));
    let platform = client(&emulator);
    let mut engine = Engine::new();
    let functions = platform.register_with(&mut engine, [away]).unwrap();
    engine.add_policy("p.rego".to_owned(), policy.to_owned()).unwrap();
    engine.set_input_json(r#"{"zero": 0}"#).unwrap();
    let options = platform.options();
    let source = |error: &Error| {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Away>)
    };
    let mut fails = |evaluate: &dyn Fn(&mut Engine) -> anyhow::Result<Value>| {
        functions.evaluate(&mut engine, &options, evaluate).result.unwrap_err()
    };

    let error = fails(&|engine| engine.eval_rule("data.p.host".to_owned()));
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Host, "acme.away: the registry is away")
    );
    assert!(source(&error));

    let error = fails(&|_| Err(Away.into()));
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Policy, "the registry is away")
    );
    assert!(source(&error));

    let error = fails(&|_| Err(Error::host(Away).into()));
    assert_eq!(error.kind(), ErrorKind::Host);

    let error = fails(&|engine| engine.eval_rule("data.p.broken".to_owned()));
    assert_eq!(error.kind(), ErrorKind::Policy);
    assert!(error.to_string().starts_with("p.rego:5:"), "{error}");
    assert!(error.to_string().contains("divide by zero"), "{error}");
    // What `main` prints.
    let printed = format!("{error:?}");
    assert!(printed.contains("5 | broken := 1 / input.zero\n"), "{printed}");
}

/// A module with a function that calls another one, and so on.
fn nested(depth: usize) -> String {
    let functions: String = (1..=depth).map(|n| format!("f{n}(x) := f{}(x)\n\n", n - 1)).collect();
    format!(
        "package p\n\nx := f{depth}(input.digest)\n\nf0(x) := platform.discover(x, \"\").kind\n\n{functions}"
    )
}

#[test]
fn deep_policies_end_with_a_result_or_an_error() {
    let emulator = start(EmulatorOptions::default());
    let image = Value::from("CONTAINER_IMAGE");
    for depth in [600, 3000] {
        let (mut engine, functions) = engine(&emulator, &nested(depth));
        engine.set_input_json(&format!(r#"{{"digest": "{CLEAN_IMAGE}"}}"#)).unwrap();
        let options = client(&emulator).options();
        let x = |engine: &mut Engine| engine.eval_rule("data.p.x".to_owned());
        let waited = functions.evaluate(&mut engine, &options, x).result;
        assert_eq!(waited.unwrap(), image, "{depth}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let awaited = runtime.block_on(functions.evaluate_async(engine, options, x)).result;
        assert_eq!(awaited.unwrap(), image, "{depth}");
    }
}

#[test]
fn functions_that_are_called_directly_answer_a_plain_evaluation() {
    let emulator = start(EmulatorOptions::default());
    let mut engine = Engine::new();
    let functions = client(&emulator).register_direct(&mut engine).unwrap();
    let policy = format!(
        "{POLICY}\n\nagain := platform.discover(input.digest, \"\").kind\n\nall := [kind, again]"
    );
    engine.add_policy("p.rego".to_owned(), policy).unwrap();
    functions.check(&engine).unwrap();
    engine.set_input_json(&format!(r#"{{"digest": "{CLEAN_IMAGE}"}}"#)).unwrap();
    let all = std::thread::scope(|scope| {
        let mut engine = engine.clone();
        scope.spawn(move || engine.eval_rule("data.p.all".to_owned())).join().unwrap()
    });
    assert_eq!(all.unwrap().as_array().unwrap().len(), 2);
    assert_eq!(emulator.requests().len(), 2);
    engine.set_input_json(r#"{"digest": "nonsense"}"#).unwrap();
    let error = engine.eval_rule("data.p.kind".to_owned()).unwrap_err();
    assert!(error.to_string().contains("platform.discover: "), "{error}");
    let http =
        "package h\n\nx := http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1:1\"})";
    engine.add_policy("h.rego".to_owned(), http.to_owned()).unwrap();
    assert!(engine.eval_rule("data.h.x".to_owned()).is_err(), "never undefined");
    let options = client(&emulator).options();
    let error = functions.evaluate(&mut engine, &options, level_2).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[test]
fn a_platform_of_another_product_is_refused() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, _) = walking(&emulator);
    let product = Product::new("other").unwrap();
    let other = Platform::builder().product(product).build().unwrap();
    let options = other.options();
    let error = functions.evaluate(&mut engine, &options, level_2).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`other`"), "{error}");
}

#[derive(Debug, Default)]
struct Ends(std::sync::Mutex<Vec<(u32, usize, Option<ErrorKind>)>>);

impl Observer for Ends {
    fn evaluation(&self, event: &EvaluationEvent<'_>) {
        self.0.lock().unwrap().push((event.passes, event.calls, event.error));
    }
}

#[test]
fn an_observer_is_notified_of_every_evaluation() {
    let emulator = start(EmulatorOptions::default());
    let (mut engine, functions, mut options) = walking(&emulator);
    let ends = Arc::new(Ends::default());
    options.observer = Some(Arc::<Ends>::clone(&ends));
    let evaluated = functions.evaluate(&mut engine, &options, level_2);
    let calls = evaluated.ledger.needed().count();
    options.budget.calls = 1;
    let _ = functions.evaluate(&mut engine, &options, level_2);
    let ends = ends.0.lock().unwrap();
    assert_eq!(ends.first(), Some(&(3, calls, None)));
    assert_eq!(ends.get(1).and_then(|end| end.2), Some(ErrorKind::TooLarge));
}

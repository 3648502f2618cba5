#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use std::thread;

use super::*;
use crate::evaluate::scope::tests::scope;
use regorus::Value;

fn engine(policy: &str) -> Engine {
    let mut engine = Engine::new();
    engine.add_policy("p.rego".to_owned(), policy.to_owned()).unwrap();
    engine
}

/// Evaluates the rule `data.p.x` of `policy` within `timeout`.
fn eval(policy: &str, timeout: Duration) -> Result<Value, Error> {
    let scope = Arc::new(scope().within(timeout));
    let inner = Arc::clone(&scope);
    evaluate(&scope, &Arc::new(engine(policy)), move |engine| {
        engine.eval_rule("data.p.x".to_owned()).map_err(|error| {
            limit(Some(&inner), &error)
                .unwrap_or_else(|| Error::new(ErrorKind::Policy, error.to_string()))
        })
    })
}

#[test]
fn an_evaluation_gives_its_value() {
    let value = eval("package p\nx := 1 + 1", Duration::from_secs(10)).unwrap();
    assert_eq!(value, Value::from(2));
}

#[test]
fn a_panic_is_an_error_and_the_worker_goes_on() {
    let scope = Arc::new(scope());
    let result: Result<(), Error> = run(&scope, || panic!("secret\u{1b}[0m"));
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().starts_with("the interpreter panicked: secret\\u{1b}[0m"), "{error}");
    assert!(run(&scope, || Ok(1)).is_ok());
}

#[test]
fn endless_recursion_ends_with_the_deadline() {
    let started = Instant::now();
    let result = eval("package p\nf(n) := f(n + 1)\nx := f(1)", Duration::from_millis(150));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_endless_loop_ends_with_the_deadline() {
    let policy = "package p\na := numbers.range(1, 3000)\nx := count([1 | a[_]; a[_]; a[_]])";
    let error = eval(policy, Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn what_cannot_be_interrupted_is_abandoned() {
    let scope = Arc::new(scope().within(Duration::from_millis(20)));
    let started = Instant::now();
    let result: Result<(), Error> = run(&scope, || {
        thread::sleep(Duration::from_millis(1500));
        Ok(())
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(started.elapsed() < Duration::from_millis(1200));
    assert!(scope.failure().is_some());
}

#[test]
fn a_failure_stands_whatever_the_evaluation_says() {
    let scope = Arc::new(scope());
    let inner = Arc::clone(&scope);
    let result = evaluate(&scope, &Arc::new(engine("package p\nx := 1")), move |engine| {
        inner.fail(Error::new(ErrorKind::Unavailable, "the service is away"));
        Ok(engine.eval_rule("data.p.x".to_owned()).unwrap())
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn the_depth_that_the_loader_allows_fits() {
    let deep = |depth: usize, step: &str| {
        let policy = format!(
            "package p\nimport rego.v1\nx := f({depth})\nf(n) := 0 if n == 0\n\
             f(n) := {step} + 1 if n > 0"
        );
        assert_eq!(eval(&policy, Duration::from_secs(60)).unwrap(), Value::from(depth));
    };
    deep(CALL_DEPTH, "f(n - 1)");
    // Comprehensions use the most stack for each call, and regorus is slow with deep ones.
    deep(CALL_DEPTH / 20, "[b | b := f(n - 1)][0]");
}

#[test]
fn a_number_that_has_no_text_is_an_error() {
    let policy = "package p\nimport rego.v1\nx if { y := 1e308 * 10; print(y) }";
    let error = eval(policy, Duration::from_secs(10)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Internal | ErrorKind::Policy), "{error}");
}

#[test]
fn evaluations_side_by_side_keep_apart() {
    let threads: Vec<_> = (0..16)
        .map(|n| {
            thread::spawn(move || {
                let value = eval(&format!("package p\nx := {n}"), Duration::from_secs(20));
                assert_eq!(value.unwrap(), Value::from(n));
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// The limit is the process's, so this runs in one of its own.
#[cfg(feature = "cli")]
#[test]
#[ignore = "run by the test below"]
fn eats_memory() {
    set_memory_limit(Some(256 << 20));
    let policy =
        "package p\na := numbers.range(1, 5000)\nx := count([[i, j] | i := a[_]; j := a[_]])";
    let error = eval(policy, Duration::from_secs(60)).unwrap_err();
    set_memory_limit(None);
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[cfg(feature = "cli")]
#[test]
fn a_policy_that_eats_memory_is_too_large() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "evaluate::contain::tests::eats_memory"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// What containment costs: run by hand with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    let mut template = engine(
        "package p\nimport rego.v1\nx := count([1 | some i in numbers.range(1, 40); i % 2 == 0])",
    );
    template.eval_query("true".to_owned(), false).unwrap();
    let time = |what: &str, one: &dyn Fn()| {
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let started = Instant::now();
            (0..500).for_each(|_| one());
            best = best.min(started.elapsed() / 500);
        }
        eprintln!("{what}: {best:?}");
    };
    let bare = template.clone();
    time("bare", &|| {
        let mut engine = bare.clone();
        engine.eval_rule("data.p.x".to_owned()).unwrap();
    });
    let contained = |engine: &Arc<Engine>| {
        let scope = Arc::new(scope().within(Duration::from_secs(60)));
        let rule = |engine: &mut Engine| {
            engine
                .eval_rule("data.p.x".to_owned())
                .map_err(|e| Error::new(ErrorKind::Policy, e.to_string()))
        };
        evaluate(&scope, engine, rule).unwrap();
    };
    let shared = Arc::new(bare.clone());
    time("contained", &|| contained(&shared));
    let mut used = template.clone();
    crate::evaluate::bounded::install(&mut used, &[], |name| {
        name == "numbers.range" || name == "count"
    })
    .unwrap();
    let used = Arc::new(used);
    time("contained, with the built-ins it uses", &|| contained(&used));
    let mut all = template.clone();
    crate::evaluate::bounded::install(&mut all, &[], |_| true).unwrap();
    let all = Arc::new(all);
    time("contained, with all built-ins", &|| contained(&all));
}

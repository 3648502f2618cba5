//! Hosts: tenants that share a platform, code of theirs that blocks or panics, and recordings that
//! they keep.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rego_platform::evaluate::{
    Answers, Cancellation, EvaluateOptions, Evaluated, FunctionCall, Policies, Pool, Recording,
    Replay, Responder,
};
use rego_platform::sources::Sources;
use rego_platform::{
    CallEvent, Error, ErrorKind, Limit, NotFound, Observer, Platform, Token, TokenFuture,
    TokenProvider, Value,
};

use crate::support::{CLEAN_IMAGE, builder, emulator, evaluate, options, platform, policies};

/// Longer than any test, so that only what hangs waits for it.
const HANGS: Duration = Duration::from_mins(1);

fn unanswered() -> EvaluateOptions {
    EvaluateOptions::new(Answers::Unavailable("there are no calls".to_owned()))
}

/// Loads `x := acme.f(1)` with this function.
fn asking<F>(
    platform: &Platform,
    function: impl Fn(Vec<Value>) -> F + Send + Sync + 'static,
) -> Policies
where
    F: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let text = "package p\n\nx := acme.f(1)\n\ny if x.a\n\ndeny contains \"x\" if x[\"evil\"]\n";
    let policies = Policies::builder().platform(platform).async_function("acme.f", 1, function);
    policies.load(&Sources::text("p.rego", text)).unwrap()
}

fn failure(evaluated: Evaluated) -> (ErrorKind, String) {
    let error = evaluated.result.unwrap_err();
    (error.kind(), error.report())
}

#[test]
fn a_function_answers_only_for_the_policies_that_it_was_loaded_with() {
    let emulator = emulator();
    for lifetime in [Duration::ZERO, Duration::from_mins(1)] {
        let platform = builder(&emulator).share_answers(lifetime).build().unwrap();
        let both = Arc::new(tokio::sync::Barrier::new(2));
        let tenant = |name: &'static str| {
            let both = Arc::clone(&both);
            asking(&platform, move |_| {
                let both = Arc::clone(&both);
                async move {
                    // Both are asked at the same time.
                    let met = tokio::time::timeout(Duration::from_secs(5), both.wait()).await;
                    met.map_err(|_| Error::new(ErrorKind::Internal, "the other wasn't asked"))?;
                    Ok(Value::from(name))
                }
            })
        };
        let (one, other) = (tenant("one"), tenant("other"));
        let run = |policies: &Policies| {
            let evaluated = evaluate(policies, "data.p.x", "{}", &options(&platform));
            evaluated.result.unwrap().value().unwrap().to_json()
        };
        let answers = thread::scope(|scope| {
            let one = scope.spawn(|| run(&one));
            (run(&other), one.join().unwrap())
        });
        assert_eq!(answers, ("\"other\"".to_owned(), "\"one\"".to_owned()));
    }
}

#[test]
fn code_that_blocks_suspends_no_time_limit() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    let ended = Arc::new(AtomicBool::new(false));
    let policies = {
        let ended = Arc::clone(&ended);
        asking(&platform, move |_| {
            let (released, ended) = (Arc::clone(&released), Arc::clone(&ended));
            async move {
                let _ = released.lock().unwrap().recv_timeout(HANGS);
                ended.store(true, Ordering::Release);
                Ok(Value::from(1))
            }
        })
    };
    let mut limited = options(&platform);
    limited.budget.timeout = Duration::from_millis(200);
    let (kind, _) = failure(evaluate(&policies, "data.p.x", "{}", &limited));
    assert_eq!((kind, ended.load(Ordering::Acquire)), (ErrorKind::TimedOut, false));
    // Nor do requests wait for it.
    assert!(platform.call("discover", &[Value::from(CLEAN_IMAGE), Value::from("")]).is_ok());
    drop(release);
}

/// A provider that evaluates a policy for its token.
struct Evaluates(Policies, Arc<std::sync::Mutex<Option<String>>>);

impl TokenProvider for Evaluates {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(async move {
            let asks = format!("x := platform.discover(\"{CLEAN_IMAGE}\", \"\")");
            let policies = policies(&[("q.rego", &format!("package q\n{asks}\n"))]);
            let done = policies.evaluate(&policies.query_path(&["q", "x"]), None, &unanswered());
            *self.1.lock().unwrap() = done.result.err().map(|error| error.to_string());
            let plain = self.0.evaluate(&self.0.query_path(&["p", "x"]), None, &unanswered());
            assert!(plain.result.is_ok(), "a query without calls is evaluated anywhere");
            Token::new("token")
        })
    }
}

#[test]
fn an_evaluation_that_blocks_is_refused_where_others_wait_for_the_thread() {
    let emulator = emulator();
    let seen = Arc::default();
    let provider = Evaluates(policies(&[("p.rego", "package p\nx := 1\n")]), Arc::clone(&seen));
    let platform = builder(&emulator).token_provider(provider).build().unwrap();
    let _ = platform.token();
    let refused = seen.lock().unwrap().clone().unwrap();
    assert!(
        refused.contains("blocking call in a token provider or an asynchronous function"),
        "{refused}"
    );
}

/// Answers every call with the function's value.
#[derive(Debug)]
struct Responds(fn() -> Value);

impl Responder for Responds {
    fn answer<'a>(
        &'a self,
        calls: &'a [FunctionCall],
        _: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>> {
        Box::pin(async move { calls.iter().map(|_| Ok((self.0)())).collect() })
    }
}

#[derive(Debug)]
struct Panics;

impl Observer for Panics {
    fn call(&self, _: &CallEvent<'_>) {
        std::panic::resume_unwind(Box::new("observer"));
    }
}

impl TokenProvider for Panics {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(async { std::panic::resume_unwind(Box::new("provider")) })
    }
}

#[test]
fn a_panic_of_the_hosts_code_is_an_error_whatever_answers() {
    let emulator = emulator();
    let own = platform(&emulator);
    let text = format!("package p\nx := platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n");
    let plain = policies(&[("p.rego", &text)]);
    let mut observed = options(&own);
    observed.observer = Some(Arc::new(Panics));
    assert!(evaluate(&plain, "data.p.x", "{}", &observed).result.is_ok());

    let panics = Responds(|| std::panic::resume_unwind(Box::new("responder")));
    let responder = EvaluateOptions::new(Answers::Responder(Arc::new(panics)));
    let (kind, report) = failure(evaluate(&plain, "data.p.x", "{}", &responder));
    assert_eq!((kind, report.contains("panicked")), (ErrorKind::Internal, true), "{report}");

    let provided = builder(&emulator).token_provider(Panics).build().unwrap();
    assert!(provided.token().unwrap_err().to_string().contains("the token provider panicked"));

    let panics = |_| async { std::panic::resume_unwind(Box::new("function")) };
    let policies = asking(&own, panics);
    for how in [options(&own), unanswered(), responder] {
        let (kind, report) = failure(evaluate(&policies, "data.p.x", "{}", &how));
        assert_eq!((kind, report.contains("panicked")), (ErrorKind::Internal, true), "{report}");
    }
}

#[test]
fn functions_have_timers_without_a_service() {
    let emulator = emulator();
    let policies = asking(&platform(&emulator), |_| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(Value::from(7))
    });
    let evaluated = evaluate(&policies, "data.p.x", "{}", &unanswered());
    assert_eq!(evaluated.result.unwrap().value().unwrap().to_json(), "7");
}

#[test]
fn only_the_services_not_found_becomes_undefined() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let missing = |_| async { Err(Error::new(ErrorKind::NotFound, "no such team")) };
    let mut lenient = options(&platform);
    lenient.not_found = NotFound::Undefined;
    let (kind, _) = failure(evaluate(&asking(&platform, missing), "data.p.x", "{}", &lenient));
    assert_eq!(kind, ErrorKind::NotFound);
}

#[test]
fn an_evaluation_that_waits_for_a_thread_keeps_its_time_and_its_cancellation() {
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let busy = Arc::new(AtomicU32::new(0));
    let text = format!(
        "package p\n\nx := acme.wait(1)\n\ny if platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n\n\
         z if {{\n\tx == 1\n\tplatform.discover(\"{CLEAN_IMAGE}\", \"\")\n}}\n"
    );
    let policies = {
        let busy = Arc::clone(&busy);
        let wait = move |_: &[Value]| {
            busy.fetch_add(1, Ordering::AcqRel);
            let _ = released.lock().unwrap().recv_timeout(HANGS);
            Ok(Some(Value::from(1)))
        };
        let builder = Policies::builder().function("acme.wait", 1, wait);
        builder.load(&Sources::text("p.rego", text)).unwrap()
    };
    let mut how = unanswered();
    how.pool = Some(Pool::new(NonZeroUsize::MIN));
    let mut context = Context::from_waker(Waker::noop());
    let first = policies.evaluate_async(policies.query_path(&["p", "z"]), None, how.clone());
    let mut first = pin!(first);
    while busy.load(Ordering::Acquire) == 0 {
        assert!(first.as_mut().poll(&mut context).is_pending());
        thread::yield_now();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let second = || policies.query_path(&["p", "y"]);
    let mut limited = how.clone();
    limited.budget.timeout = Duration::from_millis(100);
    let ended = runtime.block_on(policies.evaluate_async(second(), None, limited));
    assert_eq!(failure(ended).0, ErrorKind::TimedOut);
    let cancellation = Cancellation::new();
    how.cancellation = Some(cancellation.clone());
    let cancelled = thread::scope(|scope| {
        scope.spawn(|| cancellation.cancel());
        runtime.block_on(policies.evaluate_async(second(), None, how))
    });
    assert_eq!(failure(cancelled).0, ErrorKind::Cancelled);
    assert!(first.as_mut().poll(&mut context).is_pending(), "the thread is still busy");
    drop(release);
}

/// Panics outside of its future, or as the future is dropped.
#[derive(Debug)]
struct PanicsBeside {
    at_once: bool,
    ends: bool,
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("drop"));
    }
}

impl Responder for PanicsBeside {
    fn answer<'a>(
        &'a self,
        _: &'a [FunctionCall],
        _: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>> {
        if self.at_once {
            std::panic::resume_unwind(Box::new("answer"));
        }
        let bomb = PanicsInDrop;
        Box::pin(async move {
            if !self.ends {
                std::future::pending::<()>().await;
            }
            drop(bomb);
            Vec::new()
        })
    }
}

#[test]
fn a_responder_may_panic_outside_of_its_future() {
    let text = format!("package p\nx := platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n");
    let policies = policies(&[("p.rego", &text)]);
    for (at_once, ends, expected) in [
        (true, true, ErrorKind::Internal),
        (false, true, ErrorKind::Internal),
        (false, false, ErrorKind::TimedOut),
    ] {
        let panics = PanicsBeside { at_once, ends };
        let mut how = EvaluateOptions::new(Answers::Responder(Arc::new(panics)));
        how.budget.timeout = Duration::from_millis(200);
        assert_eq!(failure(evaluate(&policies, "data.p.x", "{}", &how)).0, expected);
    }
}

/// Blocks the thread on which its task runs until it is released.
#[derive(Debug)]
struct BlocksTask(Arc<std::sync::Mutex<mpsc::Receiver<()>>>);

impl Responder for BlocksTask {
    fn answer<'a>(
        &'a self,
        _: &'a [FunctionCall],
        _: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>> {
        let released = Arc::clone(&self.0);
        Box::pin(async move {
            let blocks = tokio::spawn(async move {
                let _ = released.lock().unwrap().recv_timeout(HANGS);
            });
            let _ = blocks.await;
            Vec::new()
        })
    }
}

#[test]
fn a_task_of_a_responder_that_blocks_suspends_no_time_limit() {
    let text = format!("package p\nx := platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n");
    let policies = policies(&[("p.rego", &text)]);
    let (release, released) = mpsc::channel::<()>();
    let blocks = BlocksTask(Arc::new(std::sync::Mutex::new(released)));
    let mut how = EvaluateOptions::new(Answers::Responder(Arc::new(blocks)));
    how.budget.timeout = Duration::from_millis(200);
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(failure(evaluate(&policies, "data.p.x", "{}", &how)).0));
        assert_eq!(ended.recv_timeout(HANGS), Ok(ErrorKind::TimedOut));
        drop(release);
    });
}

#[test]
fn arguments_that_json_cannot_tell_apart_are_different_calls() {
    let text = "package p\n\nof_array := acme.f([\"a\"])\n\nof_set := acme.f({\"a\"})\n\n\
                of_nested := acme.f([{\"a\"}])\n\nof_key := acme.f({1: 2})\n\n\
                of_text := acme.f({\"1\": 2})\n";
    let asked = |arguments: Vec<Value>| async move {
        Ok(Value::from(arguments.first().map(ToString::to_string).unwrap_or_default()))
    };
    let builder = Policies::builder().async_function("acme.f", 1, asked);
    let policies = builder.load(&Sources::text("p.rego", text)).unwrap();
    let evaluated = evaluate(&policies, "data.p", "{}", &unanswered());
    assert_eq!(
        evaluated.result.unwrap().value().unwrap().to_json(),
        r#"{"of_array":"[\"a\"]","of_key":"{1: 2}","of_nested":"[{\"a\"}]","of_set":"{\"a\"}","of_text":"{\"1\": 2}"}"#
    );
}

#[test]
fn functions_named_like_those_of_the_service_are_replayed() {
    let builder = Policies::builder()
        .async_function("acme.discover", 1, |_| async { Ok(Value::from("anything")) })
        .async_function("acme.products", 1, |_| async {
            Err(Error::new(ErrorKind::NotFound, "no such product"))
        });
    let text = "package p\n\nx := acme.discover(1)\n\ny := acme.products(1)\n";
    let policies = builder.load(&Sources::text("p.rego", text)).unwrap();
    let live = evaluate(&policies, "data.p.x", "{}", &unanswered());
    let missing = evaluate(&policies, "data.p.y", "{}", &unanswered());
    let replay = |evaluated: &Evaluated| {
        let replay = Replay::new(evaluated.recording().unwrap());
        EvaluateOptions::new(Answers::Replay(Arc::new(replay)))
    };
    let again = evaluate(&policies, "data.p.x", "{}", &replay(&live));
    assert_eq!(live.result.unwrap(), again.result.unwrap());
    let again = evaluate(&policies, "data.p.y", "{}", &replay(&missing));
    assert_eq!(failure(again).0, ErrorKind::NotFound);
}

#[test]
fn one_at_a_time_is_kept_without_waiting_within_a_pass() {
    let most = Arc::new(AtomicU32::new(0));
    let running = Arc::new(AtomicU32::new(0));
    let policies = {
        let (most, running) = (Arc::clone(&most), Arc::clone(&running));
        let counted = move |_: Vec<Value>| {
            let (most, running) = (Arc::clone(&most), Arc::clone(&running));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::AcqRel);
                Ok(Value::from(1))
            }
        };
        let text = "package p\n\nx := [y | some i in numbers.range(1, 10); y := acme.f(i)]\n";
        let builder = Policies::builder().async_function("acme.f", 1, counted);
        builder.load(&Sources::text("p.rego", text)).unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut at_once = 0;
    for one_at_a_time in [false, true] {
        most.store(0, Ordering::Release);
        let mut how = unanswered();
        how.budget.one_at_a_time = one_at_a_time;
        let query = policies.query_path(&["p", "x"]);
        let evaluated = runtime.block_on(policies.evaluate_async(query, None, how));
        assert_eq!(evaluated.ledger.calls.len(), 10);
        assert!(evaluated.result.is_ok());
        if one_at_a_time {
            assert_eq!(most.load(Ordering::Acquire), 1);
        } else {
            at_once = most.load(Ordering::Acquire);
        }
    }
    assert!(at_once > 1, "{at_once}");
}

thread_local! {
    static LAST: std::cell::RefCell<Option<AsksInDrop>> = const { std::cell::RefCell::new(None) };
}

/// Evaluates a query with calls as its thread ends.
struct AsksInDrop(Arc<Policies>, mpsc::Sender<Result<(), ErrorKind>>);

impl Drop for AsksInDrop {
    fn drop(&mut self) {
        let done = evaluate(&self.0, "data.p.x", "{}", &unanswered()).result;
        let _ = self.1.send(done.map(|_| ()).map_err(|error| error.kind()));
    }
}

#[test]
fn an_evaluation_as_a_thread_ends_is_an_error() {
    let builder = Policies::builder().async_function("acme.f", 1, |_| async { Ok(Value::from(1)) });
    let text = Sources::text("p.rego", "package p\n\nx := acme.f(1)\n");
    let policies = Arc::new(builder.load(&text).unwrap());
    let (sender, ended) = mpsc::channel();
    let ends = thread::spawn(move || {
        // Registered before the thread-local values of the runtime, it is dropped after them.
        LAST.with_borrow_mut(|last| *last = Some(AsksInDrop(Arc::clone(&policies), sender)));
        assert!(evaluate(&policies, "data.p.x", "{}", &unanswered()).result.is_ok());
    });
    assert!(ends.join().is_ok());
    let done = ended.recv_timeout(HANGS).unwrap();
    assert!(matches!(done, Ok(()) | Err(ErrorKind::Configuration)), "{done:?}");
}

#[test]
fn an_explanation_ends_when_it_is_cancelled() {
    let text = "package p\n\ndeny contains \"x\" if slow\n\n\
                deny contains \"y\" if {\n\tx := 7\n\n\tx > 8\n}\n\n\
                slow if {\n\tsome i in numbers.range(1, 100000)\n\ti < 0\n}\n";
    let policies = policies(&[("p.rego", text)]);
    let query = policies.query_path(&["p", "deny"]);
    let mut how = unanswered();
    let evaluated = policies.evaluate(&query, None, &how);
    let explained = |how: &EvaluateOptions| {
        policies.explain(&query, None, &evaluated, how).unwrap().fails.len()
    };
    let whole = explained(&how);
    let cancellation = Cancellation::new();
    cancellation.cancel();
    how.cancellation = Some(cancellation);
    let cut = explained(&how);
    assert!(cut < whole, "{cut} {whole}");
}

#[test]
fn deep_values_pass_through_calls_and_recordings() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(9_000), "]".repeat(9_000));
    let input = Value::from_json(&deep).unwrap();
    let same = |arguments: Vec<Value>| async move {
        Ok(Value::from(vec![arguments.into_iter().next().unwrap_or_default()]))
    };
    let text = "package p\n\nx if acme.f(input)\n";
    let builder = Policies::builder().async_function("acme.f", 1, same);
    let policies = builder.load(&Sources::text("p.rego", text)).unwrap();
    let small = thread::Builder::new().stack_size(512 * 1024);
    let ended = small.spawn(move || {
        let query = policies.query_path(&["p", "x"]);
        let evaluated = policies.evaluate(&query, Some(&input), &unanswered());
        assert_eq!(evaluated.recording().unwrap().len(), 1);
        evaluated.result.unwrap().value().unwrap().to_json()
    });
    assert_eq!(ended.unwrap().join().unwrap(), "true");
}

/// Returns an answer with 20,000 empty objects.
fn large() -> Value {
    let text = format!(
        "{{\"digest\": \"{CLEAN_IMAGE}\", \"kind\": \"\", \"downloadable\": false, \"public\": false, \
         \"createdAt\": \"\", \"references\": [], \"annotations\": [{}1]}}",
        "{},".repeat(20_000)
    );
    Value::from_json(&text).unwrap()
}

#[test]
fn the_values_of_answers_count_against_the_memory() {
    let text = format!("package p\nx := platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n");
    let policies = policies(&[("p.rego", &text)]);
    let mut how = EvaluateOptions::new(Answers::Responder(Arc::new(Responds(large))));
    assert!(evaluate(&policies, "data.p.x", "{}", &how).result.is_ok());
    how.budget.memory = 500_000;
    let error = evaluate(&policies, "data.p.x", "{}", &how).result.unwrap_err();
    assert_eq!((error.kind(), error.limit()), (ErrorKind::TooLarge, Some(Limit::Memory)));
}

/// Returns a recording of `platform.discover`, which it got this answer to.
fn recorded(answer: &str) -> String {
    format!("{{\"version\": 1, \"nd_builtin_cache\": {{\"acme.f\": {{\"[1]\": {answer}}}}}}}")
}

#[test]
fn a_recording_is_read_with_every_check() {
    let read = |text: &str| Recording::from_slice(text.as_bytes());
    let whole = read(&recorded("1")).unwrap();
    let mut written = Vec::new();
    whole.write(&mut written).unwrap();
    assert_eq!(Recording::from_slice(&written).unwrap().len(), 1);
    assert_eq!(
        Recording::from_slice(&{
            let mut empty = Vec::new();
            Recording::default().write(&mut empty).unwrap();
            empty
        })
        .unwrap()
        .len(),
        0
    );
    for wrong in [
        recorded("1").replace("\"version\": 1", "\"version\": 99"),
        recorded("1, \"[1]\": 2"),
        recorded("1, \"[ 1 ]\": 2"),
        recorded("{\"a\": 1, \"a\": 2}"),
        recorded("1").replace("}}}", "}}, \"failures\": {\"acme.f\": {\"[1]\": {\"kind\": \"internal\", \"message\": \"x\"}}}}"),
        "{}".to_owned(),
    ] {
        assert_eq!(read(&wrong).unwrap_err().kind(), ErrorKind::Configuration, "{wrong}");
    }
}

#[test]
fn recordings_that_contradict_each_other_are_not_merged() {
    let read = |text: &str| Recording::from_slice(text.as_bytes()).unwrap();
    let failed = recorded("1").replace(
        "\"nd_builtin_cache\": {\"acme.f\": {\"[1]\": 1}}",
        "\"nd_builtin_cache\": {}, \"failures\": {\"acme.f\": {\"[1]\": {\"kind\": \"internal\", \"message\": \"x\"}}}",
    );
    let mut whole = read(&recorded("1"));
    whole.merge(read(&recorded("1"))).unwrap();
    for other in [recorded("2"), failed.clone()] {
        let error = whole.merge(read(&other)).unwrap_err();
        assert!(
            error.to_string().contains("different outcomes of the call acme.f([1])"),
            "{error}"
        );
        assert_eq!(whole.len(), 1);
    }
    let mut failure = read(&failed);
    failure.merge(read(&failed)).unwrap();
    failure.merge(read(&failed.replace("\"x\"", "\"after 3 attempts\""))).unwrap();
    assert!(failure.merge(read(&recorded("1"))).is_err());
    let clock = |ns: u8| {
        read(
            &recorded("1")
                .replace("acme.f", "time.now_ns")
                .replace("[1]", "[]")
                .replace("1}}", &format!("{ns}}}}}")),
        )
    };
    let mut times = clock(1);
    times.merge(clock(2)).unwrap();
}

#[test]
fn a_value_that_a_replay_would_change_is_not_recorded() {
    let emulator = emulator();
    let own = platform(&emulator);
    let banned: Value =
        ["evil"].into_iter().map(Value::from).collect::<rego_platform::rego::value::Set>().into();
    let policies = asking(&own, move |_| {
        let banned = banned.clone();
        async move { Ok(banned) }
    });
    let live = evaluate(&policies, "data.p.deny", "{}", &unanswered());
    assert_eq!(live.result.as_ref().unwrap().value().unwrap().to_json(), "[\"x\"]");
    let error = live.recording().unwrap_err();
    assert!(error.report().contains("a set"), "{}", error.report());

    let text = "package p\n\nx := acme.f({1})\n";
    let builder = Policies::builder().async_function("acme.f", 1, |_| async { Ok(Value::from(1)) });
    let of_set = builder.load(&Sources::text("p.rego", text)).unwrap();
    let error = evaluate(&of_set, "data.p.x", "{}", &unanswered()).recording().unwrap_err();
    assert!(error.report().contains("an argument contains a set"), "{}", error.report());

    let policies = asking(&own, |_| async { Ok(Value::from_json("{\"a\": [1, null]}").unwrap()) });
    let live = evaluate(&policies, "data.p.y", "{}", &unanswered());
    let replay = Answers::Replay(Arc::new(Replay::new(live.recording().unwrap())));
    let again = evaluate(&policies, "data.p.y", "{}", &EvaluateOptions::new(replay));
    assert_eq!(live.result.unwrap(), again.result.unwrap());
}

//! Several evaluations on one platform: what they share, and what they must not.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rego_platform::evaluate::{EvaluateOptions, Evaluated, Origin};
use rego_platform::{ErrorKind, Platform};

use super::world::{Server, TREE, WIDE, input};
use crate::support::{HANG, evaluate, options, policies};

const FAN_OUT: &str = r#"package p
root := platform.discover(input.d[0], "")
x := sum([a.score | some r in root.references; a := platform.discover(r.digest, "")])
"#;

const ONE: &str = "package p\nx := platform.discover(input.d[0], \"\").kind\n";

const PROMPT: &str =
    "package p\nx := platform.evidence_prompt(sprintf(\"%d-1\", [input.n]), \"fine?\").skipped\n";

fn run(
    text: &str,
    world: u64,
    platform: &Platform,
    change: impl Fn(&mut EvaluateOptions),
) -> Evaluated {
    let policies = policies(&[("p.rego", text)]);
    let mut options = options(platform);
    change(&mut options);
    evaluate(&policies, "data.p.x", &input(world), &options)
}

fn value(evaluated: &Evaluated) -> String {
    match &evaluated.result {
        Ok(output) => output.value().map_or_else(|| "undefined".to_owned(), ToString::to_string),
        Err(error) => panic!("{}\n{}", error.report(), evaluated.ledger.table()),
    }
}

#[test]
fn equal_calls_of_ten_evaluations_are_sent_once_within_one_limit() {
    let server = Server::start();
    let platform = server.builder().concurrency(8).build().unwrap();
    let alone = value(&run(FAN_OUT, WIDE + 40, &platform, |_| {}));
    let other = value(&run(FAN_OUT, WIDE + 41, &platform, |_| {}));
    let before = server.requests();
    server.set_latency(Duration::from_millis(30));
    let start = Barrier::new(10);
    std::thread::scope(|scope| {
        for thread in 0..10 {
            let (start, platform, alone, other) = (&start, &platform, &alone, &other);
            scope.spawn(move || {
                start.wait();
                let even = thread % 2 == 0;
                let world = WIDE + if even { 40 } else { 41 };
                let evaluated = run(FAN_OUT, world, platform, |_| {});
                assert_eq!(&value(&evaluated), if even { alone } else { other });
                let calls = if even { 41 } else { 42 };
                assert_eq!(evaluated.ledger.calls.len(), calls, "nothing of the others");
            });
        }
    });
    let sent = server.requests() - before;
    assert!((83..=2 * 83).contains(&sent), "{sent} requests for 83 calls of 5 evaluations each");
    assert!(server.max_in_flight() <= 8, "{}", server.max_in_flight());
}

#[test]
fn a_shared_call_that_fails_because_of_its_sender_is_sent_again() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    server.set_latency(Duration::from_millis(600));
    let cases: [fn(&mut EvaluateOptions); 2] =
        [|o| o.budget.timeout = Duration::from_millis(300), |o| o.budget.bytes = 20];
    for (world, hasty) in (1..).zip(cases) {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| run(ONE, WIDE + world, &platform, hasty));
            std::thread::sleep(Duration::from_millis(100));
            let second = run(ONE, WIDE + world, &platform, |_| {});
            assert!(value(&second).contains('K'));
            let kind = first.join().unwrap().result.unwrap_err().kind();
            assert!(matches!(kind, ErrorKind::TimedOut | ErrorKind::TooLarge), "{kind}");
        });
    }
}

#[test]
fn a_prompt_is_sent_once_for_all_concurrent_evaluations() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    server.set_latency(Duration::from_millis(400));
    std::thread::scope(|scope| {
        let all: Vec<_> =
            (0..4).map(|_| scope.spawn(|| run(PROMPT, WIDE + 3, &platform, |_| {}))).collect();
        for evaluated in all {
            assert_eq!(value(&evaluated.join().unwrap()), "false");
        }
    });
    assert_eq!(server.take_prompts(3), ["3-1"]);
    // The sender gave up, and another evaluation makes the same call: it is still in flight.
    let hasty = run(PROMPT, WIDE + 3, &platform, |o| o.budget.timeout = Duration::from_millis(200));
    assert_eq!(hasty.result.unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(value(&run(PROMPT, WIDE + 3, &platform, |_| {})), "false");
    assert_eq!(server.take_prompts(3), ["3-1"]);
}

#[test]
fn nothing_is_sent_any_more_once_an_evaluation_is_over() {
    let server = Server::start();
    let platform = server.builder().concurrency(16).build().unwrap();
    server.set_latency(Duration::from_millis(100));
    let over = |evaluated: &Evaluated| {
        assert!(evaluated.ledger.calls.len() < 1500, "{}", evaluated.ledger.calls.len());
        std::thread::sleep(Duration::from_millis(150));
        let sent = server.requests();
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(server.in_flight(), 0);
        assert_eq!(server.requests(), sent, "given up calls are still sent");
    };
    let late = run(FAN_OUT, WIDE + 2000, &platform, |o| {
        o.budget.timeout = Duration::from_millis(800);
    });
    assert_eq!(late.result.as_ref().unwrap_err().kind(), ErrorKind::TimedOut);
    over(&late);
    // It ends long before its deadline, with most of its guesses not sent yet.
    let wrong = r#"package p
root := platform.discover(input.d[0], "")
wrong := [platform.discover(d, "").kind |
	not root.kind
	some i in numbers.range(1, 1500)
	d := sprintf("sha256:%s%048d", [substring(input.d[0], 7, 16), i])
]
x := count(wrong)
"#;
    let early = run(wrong, WIDE + 7, &platform, |o| o.budget.timeout = Duration::from_secs(4));
    assert_eq!(value(&early), "0");
    assert!(early.ledger.calls.len() > 20, "{}", early.ledger.table());
    over(&early);
}

#[test]
fn answers_are_shared_for_as_long_as_the_host_sets() {
    let server = Server::start();
    let platform = server.builder().share_answers(Duration::from_millis(700)).build().unwrap();
    let first = run(FAN_OUT, WIDE + 5, &platform, |_| {});
    let sent = server.requests();
    let second = run(FAN_OUT, WIDE + 5, &platform, |_| {});
    assert_eq!(value(&second), value(&first));
    assert_eq!(server.requests(), sent);
    assert_eq!((second.ledger.passes, second.ledger.calls.len()), (1, 6));
    assert!(second.ledger.calls.iter().all(|call| call.origin == Origin::Shared));
    std::thread::sleep(Duration::from_millis(800));
    run(FAN_OUT, WIDE + 5, &platform, |_| {});
    assert_eq!(server.requests(), 2 * sent, "too old");
    // Neither failures nor prompts are shared, and nothing unless the host asks for it.
    let missing = ONE.replace("\"\"", "\"BAD\"");
    for (text, platform) in [
        (missing.as_str(), &platform),
        (PROMPT, &platform),
        (ONE, &server.builder().build().unwrap()),
    ] {
        let before = server.requests();
        let _ = run(text, WIDE + 3, platform, |_| {});
        let once = server.requests() - before;
        let _ = run(text, WIDE + 3, platform, |_| {});
        assert_eq!(server.requests(), before + 2 * once, "{text}");
    }
}

/// Returns a policy that walks this number of levels.
fn walk(depth: u64) -> String {
    use std::fmt::Write as _;
    let mut text = "package p\nl0 := {input.d[0]}\n".to_owned();
    for level in 1..=depth {
        let above = level - 1;
        let _ = writeln!(
            text,
            "l{level} contains r.digest if {{\n\tsome d in l{above}\n\tsome r in platform.discover(d, \"\").references\n}}"
        );
    }
    let _ = writeln!(text, "x := count(l{depth})");
    text
}

#[test]
fn a_walk_takes_as_many_round_trips_as_levels() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    // Each node of a level refers to all of the next, so wide ones have two levels only.
    for (depth, width) in [(1, 1000), (2, 10), (3, 10), (6, 4), (5, 30)] {
        let world = TREE + (depth << 20) + width;
        let evaluated = run(&walk(depth), world, &platform, |_| {});
        assert_eq!(value(&evaluated), width.to_string());
        let passes = u64::from(evaluated.ledger.passes);
        assert_eq!(passes, depth + 1, "depth {depth}, width {width}");
    }
}

#[test]
fn five_thousand_calls_of_one_pass_cost_little_beside_their_requests() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    let evaluated = run(FAN_OUT, WIDE + 5000, &platform, |_| {});
    assert!(evaluated.result.is_ok());
    // On a busy machine some answers come too late for the second pass.
    assert!(evaluated.ledger.passes >= 3);
    assert_eq!(evaluated.ledger.calls.len(), 5001);
    // The same without requests: the cost of noting, waking and accounting.
    let text = FAN_OUT;
    let mut replay = options(&platform);
    replay.answers = rego_platform::evaluate::Answers::Replay(
        rego_platform::evaluate::Replay::new(evaluated.recording().unwrap()).into(),
    );
    let policies = policies(&[("p.rego", text)]);
    let started = Instant::now();
    let again = evaluate(&policies, "data.p.x", &input(WIDE + 5000), &replay);
    let took = started.elapsed();
    assert_eq!(again.ledger.calls.len(), 5001);
    println!("5,001 calls in 3 passes without requests: {took:?}");
    assert!(took < HANG, "{took:?}");
}

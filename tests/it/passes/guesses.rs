//! The limits of a guess: it must not cost money, fail the evaluation, or use up the budget or the
//! time that it needs.

use std::time::Duration;

use rego_platform::ErrorKind;
use rego_platform::evaluate::{EvaluateOptions, Evaluated};

use super::world::{Server, WIDE, input};
use crate::support::{HANG, evaluate, options, policies};

fn run(
    world: u64,
    body: &str,
    server: &Server,
    change: impl Fn(&mut EvaluateOptions),
) -> Evaluated {
    let policies = policies(&[("p.rego", &format!("package p\n{body}"))]);
    let platform = server.builder().build().unwrap();
    let mut options = options(&platform);
    change(&mut options);
    evaluate(&policies, "data.p.x", &input(world), &options)
}

fn value(evaluated: &Evaluated) -> String {
    match &evaluated.result {
        Ok(output) => {
            output.value().map_or_else(|| "undefined".to_owned(), rego_platform::Value::to_json)
        }
        Err(error) => panic!("{}\n{}", error.report(), evaluated.ledger.table()),
    }
}

/// A world of 8 nodes without failures, in which node 0 refers to all others.
const FINE: u64 = WIDE + 7;

#[test]
fn a_prompt_behind_an_unknown_answer_is_not_sent() {
    let server = Server::start();
    // Nested in functions, comprehensions and `every`, and guessed again in the second pass, when
    // the first answer is known and the second isn't.
    let body = r#"
first := platform.discover(input.d[0], "")
second := platform.discover(first.references[0].digest, "")
ask(text) := platform.evidence_prompt(text, "fine?").skipped
guess_1 contains 1 if {
	not first.kind
	ask("1-1")
}
guess_2 contains v if {
	not second.kind
	v := {ask("1-2") | some _ in [1, 2]}
}
guess_3 contains 1 if {
	not second.kind
	every y in ["1-3"] { not ask(y) }
}
needed := ask("7-1") if second.kind
x := [guess_1, guess_2, guess_3, needed]
"#;
    let evaluated = run(FINE, body, &server, |_| {});
    assert_eq!(value(&evaluated), "[[],[],[],false]");
    assert_eq!(server.take_prompts(7), ["7-1"]);
    assert!(server.take_prompts(1).is_empty(), "{}", evaluated.ledger.table());
    let eager = run(
        FINE,
        "first := platform.discover(input.d[0], \"\")\nx := 1 if not first.kind\nelse := platform.evidence_prompt(\"9-1\", \"fine?\").skipped",
        &server,
        |o| {
            o.budget.eager_prompts = true;
        },
    );
    assert_eq!(value(&eager), "false");
    assert_eq!(server.take_prompts(9), ["9-1"], "once, also when hosts opt in");
}

#[test]
fn a_loop_over_what_is_unknown_costs_a_slice_of_the_time() {
    let server = Server::start();
    let body = r#"
first := platform.discover(input.d[0], "")
long := numbers.range(1, 100000)
x := count([1 | some i in long; some j in long; i * j < 0]) if not first.kind
x := count(first.references) if first.kind
"#;
    // It would take all of the time, and more.
    let evaluated = run(FINE, body, &server, |o| o.budget.timeout = HANG);
    assert_eq!(value(&evaluated), "7");
}

#[test]
fn an_exact_pass_gets_all_the_time_there_is() {
    let server = Server::start();
    // It loops before its first call, for longer than a slice of 2 s in a build without
    // optimization.
    let body = r#"
long := numbers.range(1, 2000)
x := count([1 | some i in long; some j in long; i * j > 0]) + count(platform.discover(input.d[0], "").references)
"#;
    let evaluated = run(FINE, body, &server, |o| o.budget.timeout = 2 * HANG);
    assert_eq!(value(&evaluated), "4000007");
    let short = run(FINE, body, &server, |o| o.budget.timeout = Duration::from_millis(100));
    assert_eq!(short.result.unwrap_err().kind(), ErrorKind::TimedOut);
}

/// While the first answer is unknown, hundreds of calls are guessed that turn out not to be needed.
const MANY_WRONG: &str = r#"
first := platform.discover(input.d[0], "")
wrong contains kind if {
	not first.kind
	some i in numbers.range(1, 300)
	kind := platform.discover(sprintf("sha256:%s%048d", [substring(input.d[0], 7, 16), i]), "").kind
}
x := [kind | count(wrong) == 0; some i in numbers.range(1, 6); kind := platform.discover(input.d[i], "").kind]
"#;

#[test]
fn budgets_are_not_used_up_by_guesses() {
    let server = Server::start();
    for change in [
        (|o: &mut EvaluateOptions| o.budget.calls = 7) as fn(&mut EvaluateOptions),
        // The first answer has 1.3 kB, the others 200 bytes.
        |o| o.budget.bytes = 3000,
        |o| o.budget.passes = 12,
    ] {
        let evaluated = run(FINE, MANY_WRONG, &server, change);
        assert_eq!(value(&evaluated).matches('K').count(), 6);
        assert_eq!(evaluated.ledger.needed().count(), 7, "{}", evaluated.ledger.table());
    }
    let exceeded = run(FINE, MANY_WRONG, &server, |o| o.budget.calls = 6);
    assert_eq!(exceeded.result.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn right_guesses_give_back_what_they_took() {
    let server = Server::start();
    let body = r#"
root := platform.discover(input.d[0], "")
wrong contains kind if {
	not root.kind
	some i in numbers.range(1, 50)
	kind := platform.discover(sprintf("sha256:%s%016d%032d", [substring(input.d[0], 7, 16), 40 + i, 0]), "").kind
}
one contains r.digest if { some r in root.references; platform.discover(r.digest, r.kind).kind }
two contains r.digest if { some r in root.references; platform.discover(r.digest, "").kind; count(one) > 0 }
x := count([1 | count(wrong) == 0; some d in two; platform.discover(d, "").kind; some k in ["K0", "K1", "K2"]; platform.discover(d, k).kind])
"#;
    // 1 + 4 × 20 calls of 4,070 and 210 bytes are needed; 50 guesses are wrong.
    let world = WIDE + 20;
    let needed = run(world, body, &server, |_| {});
    let (calls, bytes) = needed
        .ledger
        .needed()
        .fold((0, 0), |(calls, bytes), entry| (calls + 1, bytes + entry.bytes));
    let wrong = needed.ledger.calls.len() - calls;
    assert!(wrong >= 49, "{}", needed.ledger.table());
    server.set_latency(Duration::from_millis(30));
    for change in [
        Box::new(|o: &mut EvaluateOptions| o.budget.calls = calls) as Box<dyn Fn(&mut _)>,
        Box::new(|o: &mut EvaluateOptions| o.budget.bytes = bytes),
    ] {
        let before = server.requests();
        let evaluated = run(world, body, &server, change);
        assert_eq!(value(&evaluated), value(&needed));
        // None is read in part and sent again.
        assert_eq!(server.requests() - before, evaluated.ledger.calls.len());
        // Each call that is sent alone takes a pass.
        assert!(evaluated.ledger.passes <= 12, "{}", evaluated.ledger.table());
    }
}

#[test]
fn calls_are_sent_together_again_after_a_chain() {
    let server = Server::start();
    server.set_latency(Duration::from_millis(30));
    let body = r#"
a := platform.discover(input.d[1], "")
b := platform.discover(input.d[2], a.kind)
c := platform.discover(input.d[3], b.kind)
d := platform.discover(input.d[4], c.kind)
e := platform.discover(input.d[5], d.kind)
f := platform.discover(input.d[0], e.kind)
x := count([1 | some r in f.references; platform.discover(r.digest, "").kind])
"#;
    let evaluated = run(WIDE + 300, body, &server, |_| {});
    assert_eq!(value(&evaluated), "300");
    assert!(evaluated.ledger.passes <= 7, "{}", evaluated.ledger.table());
}

#[test]
fn a_chain_with_a_wrong_guess_at_each_step_takes_few_passes() {
    use std::fmt::Write as _;
    let server = Server::start();
    let mut body = r#"
of(n, before) := platform.discover(sprintf("sha256:%s%016d%032d", [substring(input.d[0], 7, 16), n, 0 * count(before)]), "")
f0 := of(1000, [])
"#
    .to_owned();
    for n in 1..=250 {
        let before = n - 1;
        // Once the previous answer is known and this one isn't.
        let _ = writeln!(body, "f{n} := of({}, f{before}.references)", 1000 + n);
        let _ = writeln!(
            body,
            "wrong contains of({}, f{before}.references) if not f{n}.kind",
            5000 + n
        );
    }
    let evaluated = run(FINE, &format!("{body}\nx := [count(wrong), f250.kind]"), &server, |_| {});
    assert!(value(&evaluated).starts_with("[0,"), "{}", value(&evaluated));
    assert!(evaluated.ledger.passes < 20, "{}", evaluated.ledger.passes);
}

#[test]
fn a_failed_call_has_its_place_in_the_policy() {
    let server = Server::start();
    let body = "known := platform.discover(input.d[1], \"\")\n\nx := [known.kind,\n\tplatform.discover(input.d[2], \"BAD\").kind]\n";
    let evaluated = run(FINE, body, &server, |_| {});
    assert_eq!(evaluated.result.unwrap_err().kind(), ErrorKind::NotFound);
    let place = evaluated.failed_at.unwrap();
    assert_eq!((place.file.as_str(), place.line, place.column), ("p.rego", 5, 2));
    assert!(place.text.contains("\"BAD\""), "{place:?}");
    let built_in = run(FINE, "x := to_number(input.d[1])\n", &server, |_| {});
    assert!(built_in.result.is_err());
    assert_eq!(built_in.failed_at.unwrap().line, 2);
    // If the policy swallows it, the interpreter may stop at another call.
    let body = "f(_) := platform.discover(input.d[2], \"BAD\")\nf(1) := 7\nx := [f(1), platform.discover(input.d[3], \"\").kind]\n";
    let swallowed = run(FINE, body, &server, |_| {});
    assert_eq!(swallowed.result.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(swallowed.failed_at.is_none_or(|place| place.line == 2));
}

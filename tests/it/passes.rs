//! Evaluation in passes, through the emulator.

mod engines;
mod generate;
mod guesses;
mod property;
mod rounds;
mod together;
mod world;

use rego_platform::evaluate::Answers;

use crate::support::{CLEAN_IMAGE, emulator, evaluate, options, platform, policies};

const WALK: &str = r#"
package walk

image := platform.discover(input.digest, "CONTAINER_IMAGE")

level_1 contains [r.digest, r.kind] if some r in image.references

level_2 contains r.digest if {
	some [digest, kind] in level_1
	some r in platform.discover(digest, kind).references
}
"#;

fn input() -> String {
    format!(r#"{{"digest":"{CLEAN_IMAGE}"}}"#)
}

#[test]
fn independent_calls_are_sent_together() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let policies = policies(&[("walk.rego", WALK)]);
    let evaluated = evaluate(&policies, "data.walk.level_2", &input(), &options(&platform));
    let output = evaluated.result.unwrap();
    assert!(output.value().unwrap().as_set().unwrap().len() > 5);
    assert_eq!(evaluated.ledger.passes, 3, "{}", evaluated.ledger.table());
    assert!(evaluated.ledger.needed().count() > 5);
    let requests = emulator.requests().len();
    assert_eq!(requests, evaluated.ledger.calls.len(), "one request for equal calls");
}

#[test]
fn a_failed_call_that_was_only_guessed_is_not_reported() {
    let emulator = emulator();
    let platform = platform(&emulator);
    // While the first call is unknown, `not` holds and the second call is guessed.
    let policies = policies(&[(
        "p.rego",
        r#"package p
first := platform.discover(input.digest, "CONTAINER_IMAGE")
x := "asked" if {
	not first.kind
	platform.discover("sha256:0000000000000000000000000000000000000000000000000000000000000000", "")
}
x := "fine" if first.kind == "CONTAINER_IMAGE"
"#,
    )]);
    let evaluated = evaluate(&policies, "data.p.x", &input(), &options(&platform));
    assert_eq!(evaluated.result.unwrap().value().unwrap().to_string(), "\"fine\"");
    let unneeded: Vec<_> = evaluated.ledger.calls.iter().filter(|c| !c.needed).collect();
    assert!(unneeded.iter().all(|c| c.outcome == "not found"), "{}", evaluated.ledger.table());
}

#[test]
fn prompts_are_never_sent_on_a_guess() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let policies = policies(&[(
        "p.rego",
        r#"package p
first := platform.discover(input.digest, "CONTAINER_IMAGE")
x := platform.evidence_prompt("text", "is it fine?").skipped if not first.kind
y := first.kind
"#,
    )]);
    let evaluated = evaluate(
        &policies,
        "[data.p.y, object.get(data.p, \"x\", 0)]",
        &input(),
        &options(&platform),
    );
    let _ = evaluated.result;
    assert!(emulator.requests().iter().all(|r| r.method != "POST"));
}

#[test]
fn every_needs_few_passes() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let policies = policies(&[(
        "p.rego",
        r#"package p
image := platform.discover(input.digest, "CONTAINER_IMAGE")
x if every r in image.references { platform.discover(r.digest, r.kind).kind == r.kind }
"#,
    )]);
    let evaluated = evaluate(&policies, "data.p.x", &input(), &options(&platform));
    assert_eq!(evaluated.result.unwrap().value().unwrap().to_string(), "true");
    // 3 passes that found one call each, and then 4, 16 and 64 calls at once.
    assert!(evaluated.ledger.calls.len() > 3 + 4 + 16, "{}", evaluated.ledger.table());
    assert!(evaluated.ledger.passes <= 6, "{}", evaluated.ledger.table());
}

#[test]
fn a_replacement_may_need_a_rule_that_is_needed_inside() {
    let policies = policies(&[(
        "p.rego",
        "package p\nd := \"x\"\nc := {\"i\": d}\nr if d == \"x\"\na if r with input as {\"i\": d}\nb if r with input as c\ne if not r with input as {\"i\": d}\nall := [x | some x in [a, b]]\n",
    )]);
    let options =
        rego_platform::evaluate::EvaluateOptions::new(Answers::Unavailable(String::new()));
    let all = evaluate(&policies, "data.p.all", "{}", &options).result.unwrap();
    assert_eq!(all.value().unwrap().to_json(), "[true,true]");
    assert!(evaluate(&policies, "data.p.e", "{}", &options).result.unwrap().is_undefined());
}

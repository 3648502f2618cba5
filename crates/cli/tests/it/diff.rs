//! `diff`: which verdicts a change of policies changes.

use serde_json::json;

use crate::cli::{Output, Sandbox};
use crate::support::CLEAN_IMAGE;

const LOCAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/platform");

/// Evaluates `before` and `after` over five numbers.
fn diff(before: &str, after: &str, more: &[&str]) -> Output {
    let sandbox = Sandbox::new();
    for (name, rules) in [("before", before), ("after", after)] {
        sandbox.write(&format!("{name}/p.rego"), format!("package p\n\n{rules}\n"));
    }
    for n in 1..=5 {
        let image = if n == 5 { CLEAN_IMAGE } else { "" };
        let input = json!({"n": n, "image": image}).to_string();
        sandbox.write(&format!("in/{n}.json"), input);
    }
    let fixed = ["diff", "--before", "before", "--after", "after", "-i", "in"];
    sandbox.run(&[&fixed, more].concat()).within(sandbox.path("")).output()
}

const EVEN: &str = "deny contains sprintf(\"%v is even\", [input.n]) if input.n % 2 == 0";

#[test]
fn a_change_is_stated_with_its_violations() {
    let odd =
        EVEN.replace("even", "odd").replace("== 0", "== 1").replace("deny", "\n# moved\ndeny");
    let changed = diff(EVEN, &odd, &[]).code(1);
    assert_eq!(
        changed.stdout,
        "in/1.json: failed instead of passed\n  + p: 1 is odd (after/p.rego:5:1)\n\
         in/2.json: passed instead of failed\n  - p: 2 is even (before/p.rego:3:1)\n\
         in/3.json: failed instead of passed\n  + p: 3 is odd (after/p.rego:5:1)\n\
         in/4.json: passed instead of failed\n  - p: 4 is even (before/p.rego:3:1)\n\
         in/5.json: failed instead of passed\n  + p: 5 is odd (after/p.rego:5:1)\n\
         changed: 5 of 5 inputs, 3 now fail, 2 now pass\n"
    );
    // Wherever a rule stands, and however it is written.
    let same = format!("# moved\n\n{}", EVEN.replace("input.n % 2 == 0", "input.n in {2, 4}"));
    assert_eq!(diff(EVEN, &same, &[]).code(0).stdout, "unchanged: 5 inputs\n");
    // The outcome stays, and its reason changes.
    let other = EVEN.replace("even", "not odd");
    let changed = diff(EVEN, &other, &["-f", "json"]).code(1).json();
    assert_eq!(changed["changed"].as_array().unwrap().len(), 2);
    let first = &changed["changed"][0];
    assert_eq!((&first["before"], &first["after"]), (&json!("failed"), &json!("failed")));
    let policy = &first["policies"][0];
    assert_eq!(policy["found"][0]["message"], "2 is not odd");
    assert_eq!(policy["gone"][0]["message"], "2 is even");
    assert_eq!(policy["found"].as_array().unwrap().len(), 1);
    // A warning changes no outcome; it is a change nevertheless.
    let warns = format!("{EVEN}\n\nwarn contains \"four\" if input.n == 4");
    let changed = diff(EVEN, &warns, &["--format", "markdown"]).code(1).stdout;
    assert_eq!(
        changed,
        "## Verdicts changed: 1 of 5 inputs\n\n- `in/4.json`: failed as before, for different reasons\n  \
         - now `p`: `four (warning, after/p.rego:5:1)`\n"
    );
}

#[test]
fn a_policy_that_comes_or_goes_passes_where_it_is_not() {
    let sandbox = Sandbox::new();
    sandbox.write("before/p.rego", format!("package p\n\n{EVEN}\n"));
    sandbox.write(
        "after/p.rego",
        format!("package q\n\n{}\n", EVEN.replace("even", "odd").replace("== 0", "== 1")),
    );
    for n in 1..=2 {
        sandbox.write(&format!("in/{n}.json"), format!("{{\"n\": {n}}}"));
    }
    let run = |sides: [&str; 4]| {
        let arguments = [&["diff", "-i", "in"], &sides[..]].concat();
        sandbox.run(&arguments).within(sandbox.path("")).output().code(1).stdout
    };
    assert_eq!(
        run(["--before", "before", "--after", "after"]),
        "in/1.json: failed instead of passed\n  + q: 1 is odd (after/p.rego:3:1)\n\
         in/2.json: passed instead of failed\n  - p: 2 is even (before/p.rego:3:1)\n\
         changed: 2 of 2 inputs, 1 now fails, 1 now passes\n"
    );
    // What both have isn't given twice.
    sandbox.write("none/r.rego", "package r\n\ndeny contains \"x\" if input.n == 9\n");
    let both = ["diff", "-i", "in", "-d", "before", "--before", "none", "--after", "after"];
    let both = sandbox.run(&both).within(sandbox.path("")).output().code(1).stdout;
    assert_eq!(
        both,
        "in/1.json: failed instead of passed\n  + q: 1 is odd (after/p.rego:3:1)\n\
         changed: 1 of 2 inputs, 1 now fails\n"
    );
}

#[test]
fn both_runs_have_the_same_answers() {
    let asks = "deny contains \"none\" if {\n\tinput.image != \"\"\n\tnot platform.discover(input.image, \"\").digest\n}";
    let local = ["--local", LOCAL];
    // A second request would fail: it isn't sent.
    let once = [&local[..], &["--fault", "discover:status=400:after=1"]].concat();
    assert_eq!(diff(asks, asks, &once).code(0).stdout, "unchanged: 5 inputs\n");
    let faults = [&local[..], &["--fault", "*:status=400", "-f", "json"]].concat();
    let failed = diff(asks, asks, &faults).fails("\"unknown\"").json();
    assert_eq!((&failed["compared"], &failed["changed"]), (&json!(4), &json!([])));
    let unknown = &failed["unknown"][0];
    assert_eq!((&unknown["name"], &unknown["after"]), (&json!("in/5.json"), &json!("no_verdict")));
}

#[test]
fn an_input_without_a_verdict_is_unknown() {
    let fails =
        format!("{EVEN}\n\ndeny contains \"x\" if {{\n\tinput.n == 3\n\tto_number(\"x\")\n}}");
    let unknown = diff(EVEN, &fails, &[]).fails("unknown: 1 of 5 inputs\n");
    let stated = "in/3.json: passed before, no verdict after: ";
    assert!(unknown.stdout.contains(stated), "{}", unknown.stdout);
    let both = diff(&EVEN.replace("== 0", "== 1"), &fails, &[]);
    both.fails("unknown: 1 of 5 inputs, 4 changed, 2 now fail, 2 now pass\n");
}

#[test]
fn a_run_without_a_verdict_as_a_whole_is_unknown() {
    let notes = format!("{EVEN}\n\nunused(x) := x");
    let notes = diff(EVEN, &notes, &["--fail-on-notes", "--allow-warnings"]);
    notes.fails("no verdict after: 1 note found, none allowed\nunknown: 5 inputs\n");
}

#[test]
fn what_cannot_be_evaluated_twice_is_refused() {
    diff(EVEN, EVEN, &["-"]).fails("standard input can't be read twice");
    diff(EVEN, EVEN, &["--fail-fast"]).fails("`--fail-fast` leaves inputs out");
    diff(EVEN, EVEN, &["--shard", "1/2"]).fails("`--shard` leaves inputs out");
    diff(EVEN, EVEN, &["--record", "r.json"]).fails("`diff` doesn't support `--record`");
    diff(EVEN, "deny contains", &[]).fails("unexpected eof token");
    diff(EVEN, EVEN, &["-i", "nothing"]).fails("the input `nothing` doesn't exist");
}

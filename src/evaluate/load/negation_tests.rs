#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use regorus::Value;

use crate::evaluate::load::{LoadOptions, load};
use crate::evaluate::sources::{ModuleSource, Sources};

/// The rewritten text after the package's line, and what `data.p.r` is without an input.
fn rewritten(rules: &str) -> (String, Option<Value>) {
    let text = format!("package p\n{rules}");
    let module = ModuleSource { path: "p.rego".to_owned(), text };
    let sources = Sources { modules: vec![module], data: Vec::new() };
    let loaded = load(&sources, &LoadOptions::default()).expect("loads");
    let text = loaded.rewritten("p.rego").expect("a text").to_owned();
    let mut engine = loaded.engine();
    engine.set_input(Value::from_json_str(r#"{"xs": [1, 2]}"#).unwrap());
    let results = engine.eval_query("data.p.r".to_owned(), false).expect("evaluates");
    let value = results.result.first().map(|r| r.expressions[0].value.clone());
    (text.split_once('\n').unwrap().1.to_owned(), value.filter(|v| *v != Value::Undefined))
}

#[test]
fn undefined_operands_fail_the_statement() {
    let yes = Some(Value::from(true));
    for (rules, want) in [
        ("r if not startswith(input.user, \"a\")", &None),
        ("r if { not input.user != \"a\" }", &None),
        ("r if { not input.user in {\"a\"} }", &None),
        ("r if { not input.user > 1 with input.n as 1 }", &None),
        ("r if { not (input.user) # >\n >= # <\n (1) }", &None),
        ("r if not (input.xs[0] >= 2)", &yes),
        ("r if { x := input.xs\nnot [3] < x[1] }", &yes),
        ("r if { x := input.xs[0]\nnot -1 > x }", &yes),
        ("r if { x := input.xs[0]\nnot (x - input.xs[1]) > x }", &yes),
        ("r if not count(input.xs) != 2", &yes),
        ("r if not input.xs[0] <= input.xs[1]", &None),
        ("r if { not s[input.user] }\ns contains \"a\"", &None),
        ("r if { not t > 3 }\nt if input.user", &None),
        ("r if { x := 2; not x > 3; not x in [input.user] }", &None),
        ("r if { not f(input.user) == 1 }\nf(x) := 2", &None),
        ("r if not input.user == \"a\"", &yes),
        ("r if not input.user", &yes),
        ("r if not input.user.name == upper(\"a\")", &yes),
        ("r if { some x in input.xs; not x > 3 }", &yes),
        ("r if { not count({x | x := input.user}) > 3 }", &yes),
        ("r if { not \"b\" in ({\"a\"} | {\"c\"}) }", &yes),
        ("r if { not \"b\" in (object.keys({\"b\": 1}) | {\"c\"}) }", &None),
        ("r if { not \"a\" in ({\"a\"} | {\"c\"}) }", &None),
        ("r if { not (input.xs[0] + 1) * 2 > 10 }", &yes),
        ("r if { not (input.xs[0] > 5) }", &yes),
        ("r if { every x in input.xs { not x + input.xs[0] == 1 } }", &yes),
        ("r if { not input.xs[0] in {1 | not input.n > 5} }", &yes),
        ("r if { not input.xs[0] in {1 | not startswith(input.n, \"a\")} }", &yes),
        ("r if { not input.xs[0] in {1 | not input.xs[1] in {2 | not input.n in {1}}} }", &None),
    ] {
        let (text, value) = rewritten(rules);
        assert_eq!(&value, want, "{rules}\n{text}");
    }
}

#[test]
fn lines_stay_where_they_are() {
    let rules = "r if {\n\tnot startswith( # first\n\t\tinput.user,\n\t\t`a`, # last\n\t) with \
                 input.user as # what\n\t\"b\"\n}\ns := 1";
    let (text, value) = rewritten(rules);
    assert_eq!(value, Some(Value::from(true)), "{text}");
    assert_eq!(text.lines().count(), rules.lines().count(), "{text}");
    assert_eq!(text.lines().last(), Some("s := 1"));
}

#[test]
fn what_needs_nothing_stays_as_it_is() {
    for rules in [
        "r if not input.user",
        "r if { x := 1; not x == 2; not startswith(\"b\", \"a\") }",
        "f(x) if { not x > 1 }",
        "r if { some x; input.xs[x] }",
    ] {
        assert_eq!(rewritten(rules).0, rules);
    }
}

#[test]
fn some_in_the_middle_of_a_body_declares_once() {
    let (text, value) = rewritten("r if { x := input.xs[_]; some i; input.xs[i] == x; i == 1 }");
    assert_eq!(value, Some(Value::from(true)), "{text}");
}

//! What a policy can try against the process, and what comes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::tests::{eval, eval_in};
use super::*;
use crate::evaluate::scope::Limits;
use crate::evaluate::scope::tests::scope;
use crate::evaluate::{contain, output};

/// Calls that make far more than they are given, and what the error says about it.
#[test]
fn built_ins_that_explode_name_their_limit() {
    let elements = "the limit is 1000000";
    for (expression, says) in [
        (
            "numbers.range(1, 10000000001)",
            "numbers.range: would make 10000000001 elements, the limit is 1000000",
        ),
        ("numbers.range_step(1, 10000000000, 2)", elements),
        ("numbers.range(-9223372036854775808, 9223372036854775807)", elements),
        (r#"net.cidr_expand("0.0.0.0/0")"#, elements),
        (r#"net.cidr_expand("::/0")"#, elements),
        ("bits.lsh(1, 1000000000)", "bits.lsh: would make 1000000001 bits, the limit is 65536"),
        (r#"sprintf("%999999999d", [1])"#, "a width of 999999999, the limit is 1000000"),
        (r#"sprintf("%.999999999f", [1.5])"#, "a width of 999999999"),
        (r#"sprintf("%*d", [999999999, 1])"#, "a width of 999999999"),
        (
            r#"concat(sprintf("%1000000d", [1]), [x | x := sprintf("%d", [numbers.range(1, 1000)[_]])])"#,
            "string of",
        ),
        (
            r#"replace(sprintf("%0100000d", [0]), "0", sprintf("%0100000d", [0]))"#,
            "string of 10000000000 bytes",
        ),
        (
            r#"strings.replace_n({"0": sprintf("%0100000d", [0])}, sprintf("%0100000d", [0]))"#,
            "string of",
        ),
        (
            r#"regex.replace(sprintf("%0100000d", [0]), "0", sprintf("%0100000d", [0]))"#,
            "string of",
        ),
        (r#"regex.match("((a{100}){100}){100}", "a")"#, "compiles to more than"),
    ] {
        let started = Instant::now();
        let error = eval(expression).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{expression}: {error}");
        assert!(error.to_string().contains(says), "{expression}: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{expression}");
    }
}

/// Together they are bounded as well, however small each one is.
#[test]
fn what_all_built_ins_make_is_bounded() {
    let limits = Limits { total: 1 << 20, ..Limits::default() };
    let expression = "[numbers.range(1, 1000) | some i in numbers.range(1, 1000)]";
    let error = eval_in(scope().limits(limits), expression).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("the limit is 1048576"), "{error}");
}

/// A value that holds the one before twice, 60 times over: small in memory, endless as text.
fn doubled() -> Value {
    (0..60).fold(Value::from("x"), |value, _| Value::from(vec![value.clone(), value]))
}

/// An array in an array, 100,000 times.
fn deep() -> Value {
    (0..100_000).fold(Value::from(1), |value, _| Value::from(vec![value]))
}

fn call(scope: &Scope, name: &str, args: &[Value]) -> Outcome {
    table::TABLE.iter().find(|builtin| builtin.name == name).unwrap().call(scope, args)
}

#[test]
fn shared_and_deep_values_are_survived() {
    let scope = Arc::new(scope().within(Duration::from_secs(60)));
    let inner = Arc::clone(&scope);
    let refused = contain::run(&scope, move || {
        let mut refused = 0;
        let format = Value::from("%v");
        for value in [doubled(), deep()] {
            let list = Value::from(vec![value.clone()]);
            for (name, args) in [
                ("json.marshal", vec![value.clone()]),
                ("yaml.marshal", vec![value.clone()]),
                ("walk", vec![value.clone()]),
                ("sprintf", vec![format.clone(), list.clone()]),
                // The type is wrong; the error must not hold the value.
                ("startswith", vec![value.clone(), Value::from("a")]),
                ("regex.match", vec![value.clone(), Value::from("a")]),
                ("concat", vec![Value::from(","), list.clone()]),
                ("sum", vec![list.clone()]),
                ("union", vec![Value::from(std::collections::BTreeSet::from([value.clone()]))]),
                ("time.clock", vec![list.clone()]),
                ("json.patch", vec![Value::Null, list.clone()]),
                ("json.remove", vec![Value::new_object(), list.clone()]),
                ("object.union_n", vec![list.clone()]),
                ("strings.any_prefix_match", vec![list.clone(), list]),
            ] {
                match call(&inner, name, &args) {
                    Err(Fault::Operand(message)) => assert!(message.len() < 1000, "{name}"),
                    Err(_) => refused += 1,
                    Ok(_) => {}
                }
            }
            assert!(fits(&value, inner.bounds()).is_err());
        }
        let (one, other) = (deep(), deep());
        assert_eq!(one, other);
        assert!(output::compact(&one).unwrap().len() > 200_000);
        drop(one);
        Ok(refused)
    });
    assert!(refused.unwrap() >= 4);
}

#[test]
fn what_panics_in_regorus_is_answered_or_refused() {
    assert_eq!(eval("object.subset([1], [])").unwrap(), Some(Value::from(true)));
    assert_eq!(eval(r#"strings.count("a", "")"#).unwrap(), Some(Value::from(2)));
    let error = eval(r#"time.parse_ns("é2006", "é2023")"#).unwrap_err();
    assert!(error.to_string().contains("beyond ASCII"), "{error}");
    let error = eval(r#"regex.template_match("abcdef{a}", "x", "{", "}")"#);
    assert_eq!(error.unwrap(), Some(Value::from(false)));
}

#[test]
fn a_document_that_multiplies_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\\n".to_owned();
    for n in 1..12 {
        let refs = format!("*a{}, ", n - 1).repeat(9);
        text.extend(["a", &n.to_string(), ": &a", &n.to_string(), " [", &refs, "]\\n"]);
    }
    assert!(eval(&format!("yaml.unmarshal(\"{text}\")")).is_err());
    let brackets =
        r#"json.unmarshal(concat("", [x | some i in numbers.range(1, 9999); x := "["]))"#;
    assert!(eval(brackets).is_err());
}

#[test]
fn the_first_failure_stands_in_a_pass() {
    // The second definition would pass; `not` would pass.
    for expression in [
        "[x | x := 1; not numbers.range(1, 10000000001)]",
        "{x | some x in [1, 2]; not to_number(\"nothing\")}",
    ] {
        assert!(eval(expression).is_err(), "{expression}");
    }
    let lenient = scope().strict(false);
    assert_eq!(eval_in(lenient, r#"to_number("nothing")"#).unwrap(), None);
    let lenient = scope().strict(false);
    assert!(eval_in(lenient, "numbers.range(1, 10000000001)").is_err());
}

#[test]
fn what_varies_is_the_same_in_all_passes() {
    let chance = Arc::new(crate::evaluate::scope::Chance::new(1_700_000_000_000_000_000, 7));
    let pass = || {
        let scope = Scope::new(Arc::new(crate::evaluate::scope::tests::Echo), Arc::clone(&chance));
        let all = r#"[time.now_ns(), uuid.rfc4122("a"), uuid.rfc4122("b"), rand.intn("a", 100), rand.intn("a", 7), rand.intn("b", 0)]"#;
        eval_in(scope, all).unwrap().unwrap()
    };
    let first = pass();
    assert_eq!(first, pass());
    assert_ne!(first[1], first[2]);
    assert_eq!(first[0], Value::from(1_700_000_000_000_000_000_i64));
    assert_eq!(chance.given().len(), 6);
    let told = crate::evaluate::scope::Chance::new(1, 1);
    told.preset("time.now_ns", Vec::new(), Value::from(5));
    let scope = Scope::new(Arc::new(crate::evaluate::scope::tests::Echo), Arc::new(told));
    assert_eq!(eval_in(scope, "time.now_ns()").unwrap(), Some(Value::from(5)));
}

#[test]
fn what_has_no_answer_says_why() {
    for (expression, says) in [
        (
            r#"http.send({"method": "get", "url": "http://127.0.0.1"})"#,
            "neither authenticated nor recorded",
        ),
        ("opa.runtime()", "no OPA runs this evaluation"),
        ("json.match_schema({}, {})", "other rules than OPA's"),
    ] {
        let error = eval(expression).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn variables_for_results_work() {
    for (expression, value) in [
        ("[x | numbers.range(1, 3, x)]", "[[1,2,3]]"),
        ("[v | walk([7], [[0], v])]", "[7]"),
        (r#"[x | regex.split(",", "a,b", x)]"#, r#"[["a","b"]]"#),
    ] {
        assert_eq!(output::compact(&eval(expression).unwrap().unwrap()).unwrap(), value);
    }
}

/// Strings, numbers and collections that built-ins stumble over.
fn hostile() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "a",
            "%",
            "%s%d%[",
            "(",
            "[[:",
            "{",
            "}",
            "\\",
            "\\Q",
            "é",
            "\u{0}",
            "1e999",
            "-",
            "0/0",
            "::/0",
            "0.0.0.0/0",
            "2006-01-02",
            "é2006",
            "RFC822",
            "1h",
            "99999999999999999999h",
            "[[[",
            "&a *a",
            "*",
            "**",
            "{a,",
            "[a-",
            "%zz",
            "a=1;b",
            "a{1000}",
            "1Ei",
            "/a/~1b",
            "9999-12-31T23:59:59Z",
        ])
        .prop_map(Value::from),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
        prop::sample::select(vec![0, 1, -1, 2, 10, 64, 1_000_000]).prop_map(Value::from),
    ];
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), text, number];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_set(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(inner.clone(), inner, 0..5).prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_call_harms_the_process(at in any::<prop::sample::Index>(), args in prop::collection::vec(hostile(), 4)) {
        let builtin = at.get(table::TABLE);
        let limits = Limits { elements: 1000, string: 1 << 20, total: 1 << 24, ..Limits::default() };
        let scope = Arc::new(scope().limits(limits).within(Duration::from_secs(5)));
        let inner = Arc::clone(&scope);
        let arity = usize::from(builtin.arity());
        let started = Instant::now();
        let result = contain::run(&scope, move || {
            let args = args.get(..arity).unwrap_or_default();
            match builtin.call(&inner, args) {
                Ok(value) => fits(&value, inner.bounds()).map(|written| written.bytes),
                Err(Fault::Refused(error)) => Err(error),
                Err(_) => Ok(0),
            }
        });
        prop_assert!(started.elapsed() < Duration::from_secs(4), "{} took too long", builtin.name);
        match result {
            Ok(bytes) => prop_assert!(bytes <= 1 << 26, "{} made {bytes} bytes", builtin.name),
            Err(error) => prop_assert!(error.kind() != ErrorKind::TimedOut, "{error}"),
        }
    }
}

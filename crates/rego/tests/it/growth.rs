//! Rules that are looked up under many keys and lists that are searched for many values: what it
//! costs, and that the policy can't tell.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rego_platform_rego::internal::engine::{TraceEvent, Tracer};
use rego_platform_rego::value::Object;
use rego_platform_rego::{
    Host, HostAnswer, HostCall, NoHost, Options, Outcome, Program, Run, SourceText, Span, Value,
};

fn program(policy: &str) -> Program {
    let texts = vec![SourceText::new("p.rego", format!("package p\n{policy}"))];
    Program::compile(texts, &Options::default()).expect("the policy compiles")
}

fn evaluate(policy: &str, input: &str) -> Outcome {
    let program = program(policy);
    let query = program.query("data.p.found").expect("the query compiles");
    let input = Value::from_json(input).expect("the input is JSON");
    program.evaluate(&query, &Run::default().input(&input))
}

fn first_value(outcome: &Outcome) -> String {
    let solutions = outcome.result.as_ref().expect("the evaluation succeeds");
    let value = solutions.first().and_then(|solution| solution.expressions.first());
    value.map_or_else(|| "undefined".to_owned(), |value| value.value.to_string())
}

/// The value of `found`, and the number of steps that it took.
fn found(policy: &str, input: &str) -> (String, u64) {
    let outcome = evaluate(policy, input);
    (first_value(&outcome), outcome.steps)
}

/// The same in a trace, in which every key is searched for by itself and every element is tried.
fn found_one_by_one(policy: &str, input: &Value) -> String {
    struct Ignored;
    impl Tracer for Ignored {
        fn event(&self, _: &TraceEvent<'_>) {}
    }
    let program = program(policy);
    let query = program.query("data.p.found").expect("the query compiles");
    let run = Run::default().input(input).tracer(Some(&Ignored));
    first_value(&program.evaluate(&query, &run))
}

fn items(count: usize) -> String {
    let items: Vec<String> =
        (0..count).map(|n| format!(r#"{{"id": "i{n}", "v": {n}, "k": {n}}}"#)).collect();
    format!(r#"{{"items": [{}]}}"#, items.join(", "))
}

#[test]
fn looking_up_each_key_is_linear() {
    for rule in [
        "m[i.id] := i.v if some i in input.items\n found := count([x | some i in input.items; x := m[i.id]])",
        "s contains i.id if some i in input.items\n found := count([x | some i in input.items; x := s[i.id]])",
        "m[i.id][i.k] := i.v if some i in input.items\n found := count([x | some i in input.items; x := m[i.id][i.k]])",
        "m[i.id] contains i.v if some i in input.items\n found := count([x | some i in input.items; x := m[i.id]])",
        "m[i.id] := 1 if some i in input.items\n found := n if { n := count([x | some i in input.items; x := m[i.id]]) with input.more as 1 }",
    ] {
        let (few, steps_of_few) = found(rule, &items(200));
        let (many, steps_of_many) = found(rule, &items(3200));
        assert_eq!((few.as_str(), many.as_str()), ("200", "3200"), "{rule}");
        assert!(steps_of_many < 32 * steps_of_few, "{rule}: {steps_of_few}, {steps_of_many}");
    }
}

#[test]
fn few_keys_of_a_large_document_cost_little() {
    let rule = "m[k] := v if some k, v in input.items\n found := count([x | some n in numbers.range(0, 9); x := m[n]])";
    let (_, of_small) = found(rule, &items(20));
    let (_, of_large) = found(rule, &items(20_000));
    assert!(of_large < 2 * of_small, "{of_small}, {of_large}");
}

#[test]
fn an_error_of_another_key_is_not_met() {
    let conflict = r#"
m[i.id] := i.v if some i in input.items
m["other"] := n if some n in [1, 2]
found := sum([x | some i in input.items; x := m[i.id]])"#;
    assert_eq!(found(conflict, &items(200)).0, "19900");

    // Only the key "i7" divides by zero.
    let builtin = "m[k] := x if { some i in input.items; k := i.id; x := 1 / (i.v - 7) }\n found := count([x | some i in input.items; i.id != \"i7\"; x := m[i.id]])";
    let outcome = evaluate(builtin, &items(200));
    assert!(outcome.builtin_errors.is_empty(), "{:?}", outcome.builtin_errors);
}

#[test]
fn a_key_in_another_spelling_gives_its_spelling_to_the_value() {
    let rule = "m[k] := {\"is\": [k]} if { some i in input.items; k = i.v }\n many := count([x | some i in input.items; i.v > 1; x := m[i.v]])\n found := [many, m[1.0], [x | x := m[1e0]]]";
    assert_eq!(found(rule, &items(200)).0, r#"[198, {"is": [1.0]}, [{"is": [1.0]}]]"#);
}

/// A host that records what it prints.
#[derive(Default)]
struct Printing(std::cell::RefCell<Vec<String>>);

impl Host for Printing {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        NoHost.call(call)
    }

    fn print(&self, _: Span, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }
}

#[test]
fn a_rule_that_prints_is_evaluated_key_by_key() {
    let rule = "v(i) := i.v if print(i.id)\nm[i.id] := v(i) if some i in input.items\nfound := count([x | some i in input.items; i.v < 100; x := m[i.id]])";
    let program = program(rule);
    let query = program.query("data.p.found").expect("the query compiles");
    let input = Value::from_json(&items(200)).expect("the input is JSON");
    let host = Printing::default();
    let outcome = program.evaluate(&query, &Run::new(&host).input(&input));
    assert!(outcome.result.is_ok());
    assert_eq!(host.0.borrow().len(), 100);
}

/// Policies that search lists, sets and objects for the values in `input.wanted`.
const SEARCHES: [&str; 10] = [
    "found := [x | some b in input.wanted; some x in input.list; x.k == b]",
    r#"found contains x if { some b in input.wanted; some x in input.list; x.type == "a"; b == x.k }"#,
    "found contains [i, x] if { some b in input.wanted; x := input.list[i]; x.k == b; x.v > 3 }",
    "found contains i if { some b in input.wanted; some i; input.list[i].k == b }",
    "found contains [k, b] if { some b in input.wanted; some k, x in input.object; x.k == b }",
    "found contains b if { some b in input.wanted; not has(b) }\nhas(b) if { some x in input.list; x.k == b }",
    "found contains x if { some b in input.wanted; some x in distinct; x.k == b }\ndistinct := {x | some x in input.list}",
    "found contains x if { some n in input.list; some x in input.list; x.k == n.k; x.v == n.v }",
    "found contains [x, y] if { some b in input.wanted; some x in input.list; x.k == b; y := input.object[_]; y.k == x.k }",
    "found contains [b, m[b]] if { some b in input.wanted }\nm[x.k] contains x.v if some x in input.list",
];

#[test]
fn searching_a_list_for_many_values_is_linear() {
    for policy in SEARCHES.iter().take(7) {
        let input = |count: usize| {
            let element = |n: usize| format!(r#"{{"k": "k{n}", "type": "a", "v": {n}}}"#);
            let wanted: Vec<String> = (0..count).map(|n| format!(r#""k{n}""#)).collect();
            let list: Vec<String> = (0..count).map(element).collect();
            let object: Vec<String> =
                (0..count).map(|n| format!(r#""o{n}": {}"#, element(n))).collect();
            let (wanted, list, object) = (wanted.join(","), list.join(","), object.join(","));
            format!(r#"{{"wanted": [{wanted}], "list": [{list}], "object": {{{object}}}}}"#)
        };
        let (_, few) = found(policy, &input(100));
        let (_, many) = found(policy, &input(800));
        assert!(many < 12 * few, "{policy}: {few}, {many}");
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    let spelled = |text: &str| Value::from_json(text).expect("a number");
    prop_oneof![
        Just(Value::Null),
        Just(Value::from(true)),
        (0_i64..4).prop_map(Value::from),
        (0_i64..4).prop_map(move |n| spelled(&format!("{n}.0"))),
        "[ab]".prop_map(Value::from),
        Just(spelled("[1]")),
    ]
}

fn element() -> impl Strategy<Value = Value> {
    let with = |k: Option<Value>, kind: bool, v: i64| {
        let members = [
            k.map(|k| (Value::from("k"), k)),
            Some((Value::from("type"), Value::from(if kind { "a" } else { "b" }))),
            Some((Value::from("v"), Value::from(v))),
        ];
        Value::from(members.into_iter().flatten().collect::<Object>())
    };
    let object = (option::of(scalar()), any::<bool>(), 0_i64..7);
    prop_oneof![9 => object.prop_map(move |(k, kind, v)| with(k, kind, v)), 1 => scalar()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_is_found_one_by_one(
        wanted in vec(scalar(), 0..24),
        list in vec(element(), 0..60),
    ) {
        let object: Object =
            list.iter().enumerate().map(|(n, x)| (Value::from(format!("o{n}")), x.clone())).collect();
        let input: Object = [("wanted", Value::from(wanted)), ("list", Value::from(list)), ("object", Value::from(object))]
            .into_iter()
            .map(|(name, value)| (Value::from(name), value))
            .collect();
        let input = Value::from(input);
        for policy in SEARCHES {
            let (value, _) = found(policy, &input.to_string());
            prop_assert_eq!(value, found_one_by_one(policy, &input), "{}", policy);
        }
    }
}

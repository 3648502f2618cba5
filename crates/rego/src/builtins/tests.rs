//! Stored answers of OPA 1.22.4. Each line of `opa_answers.txt` is a call: function, arguments and
//! answer, separated by tabs. Values are JSON, plus `<…>` for sets and keys of any type. An answer
//! is `V` and a value (several for a relation), `U` for undefined, or `E` and the kind of error.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::fmt::Write as _;

use super::opa_sample::decode;
use super::*;
use crate::value::{Number, Object, Set};

/// A context that allows everything within a fixed memory limit.
#[derive(Default)]
pub(crate) struct TestContext {
    cache: Cache,
    patterns: CompiledPatterns,
    used: std::cell::Cell<u64>,
}

impl Context for TestContext {
    fn now_ns(&self) -> i64 {
        1_700_000_000_123_456_789
    }

    fn random(&self, key: &str) -> u64 {
        key.bytes().map(u64::from).sum()
    }

    fn charge(&self, bytes: u64) -> Result<(), Error> {
        self.used.set(self.used.get().saturating_add(bytes));
        if self.used.get() > 64 << 20 {
            Err(Error::halt(Code::Limit, "too much memory"))
        } else {
            Ok(())
        }
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn patterns(&self) -> &CompiledPatterns {
        &self.patterns
    }

    fn runtime(&self) -> Value {
        Value::new_object()
    }

    fn http_send(&self, _: &Value) -> Answer {
        Err(Error::failed("no network"))
    }

    fn lookup_host(&self, _: &str) -> Answer {
        Err(Error::failed("no network"))
    }
}

/// Reads values in the stored notation.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.text.strip_prefix(token).is_some_and(|rest| {
            self.text = rest;
            true
        })
    }

    fn list(&mut self, end: &str) -> Vec<Value> {
        let mut values = Vec::new();
        while !self.eat(end) {
            self.eat(",");
            values.push(self.value());
        }
        values
    }

    fn value(&mut self) -> Value {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.eat(word) {
                return value;
            }
        }
        if self.eat("[") {
            return Value::from(self.list("]"));
        }
        if self.eat("<") {
            let mut set = Set::new();
            set.extend(self.list(">"));
            return Value::from(set);
        }
        if self.eat("{") {
            let mut object = Object::new();
            while !self.eat("}") {
                self.eat(",");
                let key = self.value();
                assert!(self.eat(":"));
                object.insert(key, self.value());
            }
            return Value::from(object);
        }
        let end = if self.text.starts_with('"') {
            let mut escaped = false;
            let close = self.text.char_indices().skip(1).find(|(_, c)| {
                let found = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                found
            });
            close.unwrap().0 + 1
        } else {
            self.text.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(self.text.len())
        };
        let (token, rest) = self.text.split_at(end);
        self.text = rest;
        if token.starts_with('"') {
            Value::from_json(token).unwrap()
        } else {
            Value::from(Number::parse(token).unwrap())
        }
    }
}

/// Writes a value in the stored notation.
fn write(out: &mut String, value: &Value) {
    let list = |out: &mut String, ends: [char; 2], values: &mut dyn Iterator<Item = &Value>| {
        out.push(ends[0]);
        for (i, value) in values.enumerate() {
            if i > 0 {
                out.push(',');
            }
            write(out, value);
        }
        out.push(ends[1]);
    };
    match value {
        Value::Array(array) => list(out, ['[', ']'], &mut array.iter()),
        Value::Set(set) => list(out, ['<', '>'], &mut set.iter()),
        Value::Object(object) => {
            out.push('{');
            for (i, (key, value)) in object.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
        Value::String(text) => write!(out, "{}", serde_json::to_string(&**text).unwrap()).unwrap(),
        scalar => write!(out, "{scalar}").unwrap(),
    }
}

/// Returns the answer of a call in the stored notation.
fn answer(name: &str, args: &[Value]) -> String {
    let context = TestContext::default();
    let mut values = String::new();
    let result = match lookup(name).unwrap().run {
        Run::Plain(run) => run(&context, args)
            .map(|value| value.iter().for_each(|value| write(&mut values, value))),
        Run::Each(run) => run(&context, args, &mut |value| {
            if !values.is_empty() {
                values.push(' ');
            }
            write(&mut values, &value);
            true
        }),
        Run::Machine | Run::Missing => panic!("{name} isn't run here"),
    };
    match result {
        Ok(()) if values.is_empty() => "U".to_owned(),
        Ok(()) => format!("V\t{values}"),
        Err(error) if error.halt => format!("halt: {error}"),
        Err(error) => match error.code {
            Code::Type => "E\teval_type_error".to_owned(),
            _ => "E\teval_builtin_error".to_owned(),
        },
    }
}

#[test]
fn stored_answers_match_opa() {
    let mut differences = Vec::new();
    let mut functions = std::collections::BTreeSet::new();
    for line in include_str!("opa_answers.txt").lines() {
        let mut fields = line.splitn(3, '\t');
        let (name, args, expected) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let args = Reader { text: args }.value();
        let got = answer(name, args.as_array().unwrap());
        if got != expected {
            differences.push(format!("{line}\n  got {got}"));
        }
        functions.insert(name);
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(functions.len() > 120);
}

#[test]
fn compiled_patterns_are_told_apart() {
    let context = TestContext::default();
    let glob = |pattern: &str, delimiters: Value, text: &str| {
        let Run::Plain(run) = lookup("glob.match").unwrap().run else { panic!("it is plain") };
        run(&context, &[Value::from(pattern), delimiters, Value::from(text)]).unwrap().unwrap()
    };
    let list = |delimiters: &[&str]| delimiters.iter().map(|d| Value::from(*d)).collect::<Value>();
    // Joined, each pair was the same text.
    for (one, other) in [
        (("api/*", list(&[".", "/"]), "api/x"), ("/api/*", list(&["."]), "/api/x")),
        (("**", list(&["/"]), "x"), ("/**", Value::Null, "/x")),
        (("", list(&["-"]), ""), ("-", Value::Null, "-")),
    ] {
        assert_eq!(glob(one.0, one.1, one.2), Value::from(true));
        assert_eq!(glob(other.0, other.1, other.2), Value::from(true));
    }
    assert_eq!(glob("/**", Value::Null, "x"), Value::from(false));
}

#[test]
fn a_pattern_over_our_own_limit_has_no_answer() {
    let context = TestContext::default();
    let long = Value::from("a".repeat(200_100));
    for name in ["regex.match", "regex.is_valid"] {
        let Run::Plain(run) = lookup(name).unwrap().run else { panic!("{name} is plain") };
        assert!(run(&context, &[long.clone(), Value::from("b")]).unwrap_err().halt, "{name}");
    }
}

/// Returns JSON in which schema violations are sorted, since OPA's have no fixed order.
fn with_sorted_violations(function: &str, value: &Value) -> String {
    if function == "json.match_schema"
        && let Some([fits, problems]) = value.as_array().map(Vec::as_slice)
    {
        let mut problems = problems.as_array().unwrap().clone();
        problems.sort();
        return Value::from(vec![fits.clone(), Value::from(problems)]).to_json();
    }
    value.to_json()
}

/// A fixed sample of calls with OPA's answer (`ok`) or error code (`err`): certificates, keys,
/// tokens, schemas, templates, signed requests, modules.
#[cfg(feature = "crypto")]
#[test]
fn sampled_answers_match_opa() {
    let context = TestContext::default();
    let mut differences = Vec::new();
    let mut functions = std::collections::BTreeSet::new();
    for line in include_str!("opa_sample.jsonl").lines() {
        let call = Value::from_json(line).unwrap();
        let text = |name| call.get_str(name).and_then(Value::as_str);
        let function = text("f").unwrap();
        let Run::Plain(run) = lookup(function).unwrap().run else {
            panic!("{function} isn't run here")
        };
        let args: Vec<Value> =
            call.get_str("args").unwrap().as_array().unwrap().iter().map(decode).collect();
        let got = match run(&context, &args) {
            Ok(value) => value
                .map_or_else(|| "undefined".to_owned(), |v| with_sorted_violations(function, &v)),
            Err(error) if error.halt => format!("halt: {error}"),
            Err(Error { code: Code::Type, .. }) => "eval_type_error".to_owned(),
            Err(_) => "eval_builtin_error".to_owned(),
        };
        let expected = match (call.get_str("ok"), text("err")) {
            (Some(value), _) => with_sorted_violations(function, &decode(value)),
            (None, code) => code.unwrap().to_owned(),
        };
        if got != expected {
            differences.push(format!("{line}\n  got {got}"));
        }
        functions.insert(function.to_owned());
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(functions.len() > 35, "{}", functions.len());
}

#[test]
fn sprintf_takes_widths_and_precisions_as_large_as_go_does() {
    for (format, number) in [
        ("%.70000d", "5"),
        ("%070000d", "-5"),
        ("%70000d", "5"),
        ("%.70000x", "5"),
        ("%.70000U", "5"),
        ("%.70000f", "1.5"),
        ("%.70000e", "1.5"),
        ("%.70000e", "5e-324"),
        ("%.70000f", "123456789012345678901234567890.5"),
    ] {
        let number = Value::Number(Number::parse(number).unwrap());
        let args = [Value::from(format), [number].into_iter().collect()];
        let got = answer("sprintf", &args);
        assert!(got.starts_with('V') && got.len() >= 70_000, "{format}: {}", got.len());
    }
}

#[test]
fn large_answers_are_refused_before_they_are_built() {
    let text = Value::from("x".repeat(1 << 20));
    let parts: Value = (0..1000).map(|_| text.clone()).collect();
    let calls = [
        ("numbers.range", vec![Value::from(0), Value::from(1_i64 << 50)]),
        ("bits.lsh", vec![Value::from(1), Value::from(1_i64 << 40)]),
        ("concat", vec![text.clone(), parts]),
        ("replace", vec![text.clone(), Value::from("x"), text.clone()]),
        (
            "sprintf",
            vec![Value::from("%1000000d".repeat(100)), (0..100).map(Value::from).collect()],
        ),
        ("net.cidr_expand", vec![Value::from("::/0")]),
        ("regex.replace", vec![text.clone(), Value::from("x"), text.clone()]),
        ("strings.replace_n", vec![[("", text.clone())].into_iter().collect(), text.clone()]),
        ("units.parse", vec![Value::from("1e999999Ei")]),
        (
            "product",
            vec![(0..40).map(|_| Value::from(Number::parse("1e20000").unwrap())).collect()],
        ),
    ];
    for (name, args) in calls {
        assert!(answer(name, &args).starts_with("halt"), "{name}: {}", answer(name, &args));
    }
    // A failure like any other, as in OPA.
    assert!(answer("yaml.unmarshal", &[Value::from(billion_laughs())]).starts_with('E'));
}

/// Comparing each text, or each position of a text, with each pattern would not end.
#[test]
fn many_patterns_are_searched_at_once() {
    let names = |end: &str| (0..100_000).map(|n| Value::from(format!("a{n}{end}"))).collect();
    let (texts, patterns): (Value, Value) = (names("x"), names("y"));
    for name in ["strings.any_prefix_match", "strings.any_suffix_match"] {
        assert_eq!(answer(name, &[texts.clone(), patterns.clone()]), "V\tfalse", "{name}");
    }
    let pairs: Value = (0..100_000).map(|n| (format!("a{n}y"), Value::from("z"))).collect();
    let text = Value::from("a12a123ya".repeat(20_000));
    let expected = Value::from("a12za".repeat(20_000)).to_string();
    assert_eq!(answer("strings.replace_n", &[pairs, text]), format!("V\t{expected}"));
}

#[test]
fn the_first_pattern_that_matches_is_replaced() {
    let pairs = |all: &[(&str, &str)]| -> Value {
        all.iter().map(|(old, new)| (*old, Value::from(*new))).collect()
    };
    for (all, text, expected) in [
        // A longer pattern that begins with another one is never reached.
        (&[("a", "1"), ("ab", "2"), ("b", "3")][..], "abab", "1313"),
        (&[("ab", "1"), ("abc", "2"), ("b", "3"), ("c", "4")], "abcbc", "1434"),
        (&[("", "-"), ("a", "1")], "aba", "-1-b-1-"),
        (&[("", "-")], "aé", "-a-\u{fffd}-\u{fffd}-"),
        (&[("é", "e"), ("ée", "x")], "éeé", "eee"),
        (&[], "abc", "abc"),
    ] {
        let found = answer("strings.replace_n", &[pairs(all), Value::from(text)]);
        assert_eq!(found, format!("V\t{}", Value::from(expected)), "{all:?} {text}");
    }
    for (texts, affixes, prefix, suffix) in [
        (&["abc"][..], &["ab", "abcd", "b"][..], true, false),
        (&["abc"], &["bc", "c", "zabc"], false, true),
        (&["abc"], &[""], true, true),
        (&["", "x"], &["y", "xx"], false, false),
        (&["é"], &["é"], true, true),
        (&["abc"], &[], false, false),
    ] {
        let list = |all: &[&str]| -> Value { all.iter().map(|text| Value::from(*text)).collect() };
        let args = [list(texts), list(affixes)];
        let found = answer("strings.any_prefix_match", &args);
        assert_eq!(found, format!("V\t{prefix}"), "{texts:?} {affixes:?}");
        let found = answer("strings.any_suffix_match", &args);
        assert_eq!(found, format!("V\t{suffix}"), "{texts:?} {affixes:?}");
    }
}

fn billion_laughs() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let list = vec![format!("*a{}", i - 1); 9].join(", ");
        writeln!(text, "a{i}: &a{i} [{list}]").unwrap();
    }
    text
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use proptest::prelude::*;

use super::tree::{FileId, Module};
use super::{
    BaseVersion, ParseOptions, WriteOptions, format_module, parse_module, parse_query, print,
};
use crate::problem::{ProblemCode, Problems};

const VERSIONS: [BaseVersion; 4] =
    [BaseVersion::V0, BaseVersion::V0CompatV1, BaseVersion::V1, BaseVersion::V2];

fn module(version: BaseVersion, text: &str) -> Result<Module, Problems> {
    parse_module(FileId(0), text, &ParseOptions::version(version))
}

fn printed(version: BaseVersion, text: &str) -> String {
    module(version, text).unwrap().to_string()
}

fn formatted(version: BaseVersion, text: &str) -> Result<String, Problems> {
    let options = ParseOptions { keep_layout: true, ..ParseOptions::version(version) };
    parse_module(FileId(0), text, &options).and_then(|module| {
        format_module(&module, text, WriteOptions { version, ..WriteOptions::default() })
    })
}

fn messages(version: BaseVersion, text: &str) -> Vec<String> {
    module(version, text).unwrap_err().iter().map(ToString::to_string).collect()
}

/// A policy with all kinds of statements and terms.
const POLICY: &str = r#"# METADATA
# title: t
package a.b["c-d"]

import data.foo as bar
import future.keywords.and
import future.keywords.not
import future.keywords.or

# above
default allow := false # behind

p contains x if { some x in [1, .5, -2e3]; x > 1 + 2 * 3 }
f(x, [w, y]) := z if {
	z := y with input.a as 3 # here
	not x
} else := 4 if not { x; y }
q[x].y["z"] if every k, v in {"b": 1, "a": {3, 1}} { k == v }
r := $"a{input.y}b{1} \{" if (x | y) == set() or { a; b } and c
s := {k: v | v := input[k]; v in [i | i := `raw`]}
deny contains msg if {
	msg := sprintf("%v", [
		1, 2, # why
		3,
	])
}
"#;

#[test]
fn the_tree_is_printed_as_opa_prints_it() {
    assert_eq!(
        printed(
            BaseVersion::V0,
            "package p\nq[x] { x = 1 } { x := 2 }\nf(_) = 1 { y } else = 2 { not _ }"
        ),
        "package p\n\nq[x] { x = 1 }\nq[x] { assign(x, 2) }\n\
         f(_) = 1 { y } else = 2 { not _ }"
    );
}

#[test]
fn braces_are_parsed_as_opa_parses_them() {
    let query = |version, text: &str| {
        let body = parse_query(FileId(0), text, &ParseOptions::version(version));
        body.map(|body| print::body(&body).to_string()).unwrap_or_default()
    };
    assert_eq!(query(BaseVersion::V1, "{x | y}"), "{x | y}");
    assert_eq!(query(BaseVersion::V1, "[x | y, z]"), "[or(x, y), z]");
    assert_eq!(query(BaseVersion::V1, "{a: b | c, d: e}"), "{a: or(b, c), d: e}");
    assert_eq!(query(BaseVersion::V1, "x = {2, 1, 2.0}"), "x = {1, 2}");
    assert_eq!(query(BaseVersion::V2, "{x; y} and not {z}"), "{ x; y } and not {z}");
    assert_eq!(query(BaseVersion::V2, "({x}) or y"), "({x}) or y");
    // Keywords can be used as names in references.
    assert_eq!(query(BaseVersion::V1, "not.x; [y | if.z, 1]"), "not.x; [or(y, if.z), 1]");
}

#[test]
fn all_errors_of_a_file_are_reported_with_hints() {
    let text =
        "package p\n\nallow if !x\n\ndeny[msg] { msg := 'a' }\n\nok if { x && y }\n\np { x }\n";
    let messages = messages(BaseVersion::V1, text);
    assert!(messages.len() >= 3, "{messages:#?}");
    assert!(messages[0].contains("write `not x`"), "{messages:#?}");
    assert!(messages[1].contains("double quotes"), "{messages:#?}");
    assert!(messages[2].contains("no `&&`"), "{messages:#?}");
    let old = self::messages(BaseVersion::V1, "package p\ndeny[msg] { msg := input.x }");
    assert!(old[0].contains("`deny contains msg if { ... }`"), "{old:#?}");
    assert!(self::messages(BaseVersion::V1, "allow := true")[0].contains("`package NAME`"));
}

#[test]
fn hints_fit_the_place_of_the_error() {
    for (text, expected) in [
        ("package p\n// note\nx := 1", "comments begin with `#`"),
        ("package p\nx := 1 // note", "comments begin with `#`"),
        ("package p\n/* note */\nx := 1", "comments begin with `#`"),
        ("package my-policy", "`my_policy`, for example"),
        ("package p;", "drop the `;`"),
        ("package p\nimport data.x;", "drop the `;`"),
        ("package p\nimport \"data.x\"", "`import data.x`"),
        ("package p\ndeny contains f\"{x}\" if input.x", "`$\"...{x}...\"`"),
        ("package p\nx := f\"{y}\"", "`$\"...{x}...\"`"),
        ("package p\nx if {\n\tif input.a { true }\n}", "no `if` statement"),
        ("package p\nx := if input.a { 1 }", "no `if` statement"),
        ("package p\nx if input.a is null", "`is_null(x)`"),
        ("package p\nx if input.a == \"b", "the closing `\"` is missing"),
        ("package p\nx if { print input.a }", "`print(x)`"),
        ("package p\nx if { print \"a\" }", "`print(x)`"),
        ("package p\nx if input.a => 3", "write `>=`"),
        ("package p\nx if input.a =< 3", "write `<=`"),
        ("package p\nx if { 1 + }", "a value is missing before `}`"),
        ("package p\nx := (1 +)", "a value is missing before `)`"),
        ("package p\nx if { every y in input.ys }", "`every x in xs { ... }`"),
        ("package p\nx if every y in input.ys", "`every x in xs { ... }`"),
        ("package p\nx if {\n\ty := [1,\n", "the `[` in line 3 isn't closed"),
        ("package p\nx if {\n\tf(1)\n", "the `{` in line 2 isn't closed"),
        ("package p\nx := 1 +", "an expression is missing at the end"),
        ("package p\nx if {\n\t1 ==", "an expression is missing at the end"),
    ] {
        let all = messages(BaseVersion::V1, text).join("\n");
        assert!(all.contains(expected), "{text}: {all}");
        if !expected.contains("isn't closed") {
            assert!(!all.contains("isn't closed"), "{text}: {all}");
        }
    }
}

#[test]
fn too_deep_nesting_is_refused_quickly() {
    let nest = |open: &str, middle: &str, close: &str, count: usize| {
        format!("package p\nx := {}{middle}{}", open.repeat(count), close.repeat(count))
    };
    let start = std::time::Instant::now();
    assert!(module(BaseVersion::V2, &nest("{\"a\": [", "1", "]}", 200)).is_ok());
    for text in [
        nest("[", "", "", 50_000),
        nest("{x | {y | ", "", "", 50_000),
        nest("(", "", "", 50_000),
        nest("$\"{", "", "", 50_000),
        nest("not {", "", "", 50_000),
        format!("package p\nx := 1{}", "+1".repeat(50_000)),
        format!("package p\nx := f{}", "(y)".repeat(50_000)),
        format!("package p\nx if a{}", " and a".repeat(50_000)),
        format!("package p\nx := 1 if a{}", " else := 1 if a".repeat(50_000)),
    ] {
        let problems = module(BaseVersion::V2, &text).unwrap_err();
        let known = [ProblemCode::Limit, ProblemCode::Parse];
        assert!(problems.iter().all(|problem| known.contains(&problem.code)));
    }
    // Exponential work would take years.
    assert!(start.elapsed().as_secs() < 300);
}

#[test]
fn depth_is_counted_for_each_statement_not_for_the_file() {
    let rule =
        |at| format!("f{at}(x) := y if {{ y := [x.a.b] }}\ng{at}(x) if x[_] == {at} else := 1\n");
    let text: String =
        std::iter::once("package p\n".to_owned()).chain((0..600).map(rule)).collect();
    assert_eq!(module(BaseVersion::V1, &text).unwrap().rules.len(), 1200);
}

#[test]
fn the_layout_is_that_of_opa_fmt() {
    let text = "package   p\n\n\nallow   if {input.x==1;input.y}\n";
    assert_eq!(
        formatted(BaseVersion::V1, text).unwrap(),
        "package p\n\nallow if {\n\tinput.x == 1\n\tinput.y\n}\n"
    );
    let once = formatted(BaseVersion::V1, POLICY).unwrap();
    assert_eq!(formatted(BaseVersion::V1, &once).unwrap(), once);
    assert_eq!(printed(BaseVersion::V1, &once), printed(BaseVersion::V1, POLICY));
}

fn tokens() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        ";",
        ":=",
        "=",
        "==",
        "+",
        "-",
        "|",
        "&",
        ".",
        "\n",
        " ",
        "not ",
        "and ",
        "or ",
        "some ",
        "every ",
        " in ",
        "if ",
        "contains ",
        "else ",
        "default ",
        "with ",
        "as ",
        "input",
        "x",
        "_",
        "1",
        ".5",
        "\"a\"",
        "`r`",
        "$\"a{",
        "}b\"",
        "import rego.v2\n",
        "import future.keywords\n",
        "# c\n",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "é",
        "!",
        "'",
        "\\",
        "set()",
        "f(x)",
        "p[x]",
        "{x | y}",
        "true",
    ])
}

fn check(text: &str) {
    for version in VERSIONS {
        let _ = parse_query(FileId(0), text, &ParseOptions::version(version));
        match module(version, text) {
            Ok(module) => {
                let _ = module.to_string();
                let _ = formatted(version, text);
            }
            Err(problems) => assert!(!problems.is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_are_parsed_or_refused(tokens in prop::collection::vec(tokens(), 0..60)) {
        check(&format!("package p\n{}", tokens.concat()));
    }

    #[test]
    fn a_broken_policy_is_parsed_or_refused(
        at in 0..POLICY.len(),
        length in 0..20_usize,
        insert in prop::collection::vec(tokens(), 0..3),
    ) {
        let end = (at + length).min(POLICY.len());
        let (before, after) = (&POLICY[..at], &POLICY[end..]);
        check(&format!("{before}{}{after}", insert.concat()));
    }
}

//! Tests of every shape that a verdict can have.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::sources::Sources;

use super::*;
use crate::policy::{Reach, verdict_packages};

fn verdict_of(text: &str, origin: PackageOrigin) -> Result<RawVerdict, String> {
    let sources = Sources::text("p.rego", format!("package p\n{text}\n"));
    let policies = Policies::load(&sources, LoadOptions::default()).map_err(|e| e.to_string())?;
    let reach = Reach::new(&policies);
    let packages = verdict_packages(&policies, (&["p".to_owned()], &[]), origin, &reach)
        .map_err(|e| e.to_string())?;
    let options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    let evaluated = policies.evaluate(&packages[0].query, None, &options);
    read(&packages[0], &[], &evaluated.result.map_err(|e| e.to_string())?)
        .map_err(|e| e.to_string())
}

fn messages(text: &str) -> Vec<String> {
    let raw = verdict_of(text, PackageOrigin::Plain).unwrap();
    raw.items.into_iter().map(|item| item.message).collect()
}

#[test]
fn violations_of_all_verdict_rules_count_together() {
    let text = "deny contains \"a\"\ndeny_b contains {\"message\": \"b\", \"severity\": \"low\"}\n\
                violations := [\"c\"]\nwarn contains \"d\"\nwarn_e contains \"e\"";
    assert_eq!(messages(text), ["a", "b", "c", "d", "e"]);
    assert!(messages("deny contains \"a\" if false").is_empty());
}

#[test]
fn a_field_is_nested_no_deeper_than_readers_of_reports_take() {
    let nested = |depth: usize| {
        let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!("deny contains {{\"message\": \"m\", \"d\": {value}}}");
        verdict_of(&text, PackageOrigin::Plain).map(|raw| raw.items.len())
    };
    assert_eq!(nested(MAX_DEPTH - 1), Ok(1));
    let refused = nested(MAX_DEPTH).unwrap_err();
    assert_eq!(refused, "violation nested too deeply: the limit is 100");
}

#[test]
fn findings_replace_the_violations_that_say_the_same() {
    let finding = "findings contains {\"message\": \"f\", \"severity\": \"low\", \
                   \"vulnerability\": {\"id\": \"CVE-1\"}}";
    let text = format!("violations := [\"v\", \"f\"]\ndeny := [\"d\", \"f\"]\n{finding}");
    let raw = verdict_of(&text, PackageOrigin::Plain).unwrap();
    let found: Vec<_> = raw.items.iter().map(|i| (i.message.as_str(), i.class)).collect();
    let violation = Class::Violation;
    let expected = [("d", violation), ("f", violation), ("v", violation), ("f", Class::Finding)];
    assert_eq!(found, expected);
    assert_eq!(raw.items[3].id.as_deref(), Some("CVE-1"));
    assert_eq!(messages(&format!("violations contains \"f\"\n{finding} if false")), ["f"]);
    for (violation, count) in [
        ("\"f\"", 1),
        ("\"f \"", 2),
        ("{\"message\": \"f\"}", 1),
        ("{\"message\": \"f\", \"severity\": \"low\"}", 1),
        ("{\"message\": \"f\", \"severity\": \"high\"}", 2),
        ("{\"message\": \"f\", \"vulnerability\": {\"id\": \"CVE-2\"}}", 2),
        ("{\"message\": \"f\", \"digest\": \"sha256:x\"}", 2),
    ] {
        let text = format!("violations contains {violation}\n{finding}");
        assert_eq!(messages(&text).len(), count, "{text}");
        let result = "result := {\"violations\": violations, \"findings\": findings}";
        assert_eq!(messages(&format!("{text}\n{result}")).len(), count, "{text}");
    }
}

#[test]
fn a_result_is_the_whole_verdict() {
    let text = "result := {\"skipped\": true, \"skip_reason\": \"why\", \"ignore\": false}";
    let beside = format!("{text}\ndeny contains \"not asked\"");
    assert!(
        verdict_of(&beside, PackageOrigin::Plain)
            .unwrap_err()
            .contains("never evaluated: `result` (")
    );
    let found = verdict_of(text, PackageOrigin::Plain).unwrap();
    assert!(found.skipped && !found.ignored && found.items.is_empty());
    assert_eq!(found.reason.as_deref(), Some("why"));
    let found =
        verdict_of("result := {\"ignore\": true, \"violations\": {\"x\"}}", PackageOrigin::Plain)
            .unwrap();
    assert!(found.ignored && found.items.len() == 1);
}

#[test]
fn rules_that_policy_documents_omit_have_defaults() {
    let skipped = |text: &str| {
        let raw =
            verdict_of(&format!("violations contains \"v\"\n{text}"), PackageOrigin::Document)
                .unwrap();
        (raw.skipped, raw.reason)
    };
    let unknown = Some(NOT_RECOGNIZED.to_owned());
    assert_eq!(skipped(""), (false, None));
    assert_eq!(skipped("valid_input := false"), (true, unknown.clone()));
    assert_eq!(skipped("valid_input if input.kind"), (true, unknown));
    assert_eq!(skipped("valid_input if true"), (false, None));
    assert_eq!(skipped("skipped := true\nskip_reason := \"r\""), (true, Some("r".into())));
    assert!(
        verdict_of("ignore := true\nviolations := []", PackageOrigin::Document).unwrap().ignored
    );
}

#[test]
fn values_of_another_shape_are_errors() {
    for (text, expected) in [
        ("result := [\"x\"]", "`result` is an array, not an object"),
        ("result := true", "`result` is a boolean"),
        ("result := {\"violations\": []} if false", "`result` is undefined"),
        ("result := {}", "neither `violations` nor `findings`"),
        ("result := {\"skipped\": false}", "neither"),
        (
            "result := {\"skipped\": \"true\", \"violations\": []}",
            "`skipped` of `result` is a string",
        ),
        ("result := {\"ignore\": 1, \"violations\": []}", "`ignore` of `result` is a number"),
        (
            "result := {\"violation\": [], \"findings\": []}",
            "has `violation`, which no verdict uses",
        ),
        (
            "result := {\"violations\": [], \"denies\": [\"x\"]}",
            "has `denies`, which no verdict uses",
        ),
        (
            "result := {\"violations\": [], \"warnings\": [\"x\"]}",
            "has `warnings`, which no verdict uses",
        ),
        ("result := {\"violations\": \"x\"}", "`violations` of `result` is a string"),
        ("result := {\"violations\": null}", "is null"),
        ("result := {\"violations\": {\"a\": \"b\"}}", "is an object"),
        ("result := {\"findings\": [1]}", "holds a finding that is a number"),
        ("result := {\"findings\": [{}]}", "without a `message`"),
        ("result := {\"findings\": [{\"message\": 1}]}", "whose `message` isn't a string"),
        (
            "result := {\"violations\": [], \"skip_reason\": 1}",
            "`skip_reason` of `result` is a number",
        ),
        ("violations := \"x\"", "`violations` is a string"),
        ("violations := true", "`violations` is a boolean"),
        ("violations := [\"x\"] if false", "`violations` is undefined"),
        ("deny[x] := 1 if x := \"a\"", "`deny` is an object"),
        ("deny contains 1", "holds a violation that is a number"),
        ("deny contains {\"msg\": 1}", "whose `msg` isn't a string"),
        ("deny contains {\"text\": \"x\"}", "without a `message`"),
        ("deny contains {\"message\": [\"x\"]}", "whose `message` isn't a string"),
        ("warn contains true\ndeny := []", "holds a warning that is a boolean"),
        ("deny(x) := x", "is a function"),
        ("deny.high contains \"x\"", "verdict rule with a longer name"),
        ("allow := false", "has no verdict rule"),
        ("# empty", "has no verdict rule"),
    ] {
        let error = verdict_of(text, PackageOrigin::Plain).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error = verdict_of("skipped := 1\nviolations := []", PackageOrigin::Document).unwrap_err();
    assert!(error.contains("`skipped` is a number"), "{error}");
}

#[test]
fn the_identifier_of_a_violation_is_that_of_its_first_field() {
    for (fields, expected) in [
        (r#"{"id": "a", "cve": "b"}"#, Some("a")),
        (r#"{"cve": "b", "vulnerability": "c"}"#, Some("b")),
        (r#"{"vulnerability": "c"}"#, Some("c")),
        (r#"{"vulnerability": {"id": "d"}}"#, Some("d")),
        (r#"{"id": 7, "cve": "b"}"#, Some("7")),
        (r#"{"id": null, "cve": "b"}"#, None),
        (r#"{"id": ["b"], "cve": "b"}"#, None),
        ("{}", None),
    ] {
        let fields: serde_json::Map<_, _> = serde_json::from_str(fields).unwrap();
        assert_eq!(super::id(&fields).as_deref(), expected, "{fields:?}");
    }
}

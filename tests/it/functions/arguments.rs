//! Arguments are checked before anything is sent, and the error says what to write instead.

use proptest::prelude::*;
use rego_platform::ErrorKind;
use rego_platform_emulator::EmulatorOptions;

use super::*;
use crate::emulator::start;

fn hex(length: usize) -> String {
    "0123456789abcdef".repeat(9)[..length].to_owned()
}

/// Returns a client without a reachable address: a failure other than one of the arguments means
/// that the call was sent.
fn nowhere() -> Platform {
    Platform::builder().build().unwrap()
}

#[test]
fn each_bad_argument_is_named_with_what_was_expected() {
    let (h40, h63, h64, h128) = (hex(40), hex(63), hex(64), hex(128));
    let upper = h64.to_uppercase();
    let long = "x".repeat(5000);
    let id = json!(RELEASED);
    #[rustfmt::skip]
    let cases = [
        // function, arguments, in the message, in the hint
        ("discover", json!(["", ""]), "argument `digest`", "lowercase hex"),
        ("discover", json!([7, ""]), "argument `digest` is a number, expected a string", ""),
        ("discover", json!([h64, ""]), "isn't a valid digest", "sha256:<64"),
        ("discover", json!([format!("sha256:{upper}"), ""]), "isn't a valid digest", "lowercase"),
        ("discover", json!([format!("sha256:{h63}"), ""]), "isn't a valid digest", ""),
        ("discover", json!([format!("sha1:{h64}"), ""]), "isn't a valid digest", "sha1:<40"),
        ("discover", json!([format!("sha256:{h64}\n"), ""]), "isn't a valid digest", ""),
        ("discover", json!([format!(" sha256:{h64}"), ""]), "isn't a valid digest", ""),
        ("discover", json!([format!("sha256:{h64}/../x"), ""]), "isn't a valid digest", ""),
        ("discover", json!([format!("sha256:{h64}"), 7]), "argument `kind` is a number", ""),
        ("discover", json!([format!("sha256:{h64}"), "a\r\nb"]), "contains a control character", ""),
        ("discover", json!([format!("sha256:{h64}"), long]), "5000 bytes long", ""),
        ("discover", json!([format!("sha256:{h64}")]), "takes 2 arguments, not 1", ""),
        ("download_artifact", json!([format!("sha1:{h40}")]), "argument `digest`", "sha256:<64"),
        ("download_artifact", json!([format!("sha512:{h128}")]), "argument `digest`", "sha256:<64"),
        ("download_artifact", json!([null]), "is null, expected a string", ""),
        ("evidence", json!(["x"]), "argument `filters` is a string, expected an object", ""),
        ("evidence", json!([{"knd": ["x"]}]), "unknown key `knd`", "did you mean `kind`?"),
        ("evidence", json!([{"project": "x"}]), "unknown key `project`", ""),
        ("evidence", json!([{"zzzzzzzzzzzzzzz": 1}]), "unknown key", "the keys are `project_name`"),
        ("evidence", json!([{"projectName": "x"}]), "unknown key `projectName`", "project_name"),
        ("evidence", json!([{"kind": "SARIF"}]), "argument `filters.kind` is a string, expected an array", ""),
        ("evidence", json!([{"kind": []}]), "argument `filters.kind` is empty", "leave the key out"),
        ("evidence", json!([{"kind": [""]}]), "argument `filters.kind[0]` is empty", ""),
        ("evidence", json!([{"kind": ["a", 7]}]), "argument `filters.kind[1]` is a number", ""),
        ("evidence", json!([{"project_name": ""}]), "argument `filters.project_name` is empty", ""),
        ("evidence", json!([{"project_name": null}]), "is null, expected a string", ""),
        ("evidence", json!([{"search": ["x"]}]), "argument `filters.search` is an array", ""),
        ("evidence", json!([{"latest": "true"}]), "argument `filters.latest` is a string, expected a boolean", ""),
        ("evidence", json!([{"limit": 0}]), "argument `filters.limit`", ""),
        ("evidence", json!([{"limit": -1}]), "whole number ≥ 1", ""),
        ("evidence", json!([{"limit": 1.5}]), "whole number ≥ 1", ""),
        ("evidence", json!([{"limit": "5"}]), "is a string, expected a whole number", ""),
        ("evidence", json!([{"limit": 1e30}]), "whole number ≥ 1", ""),
        ("project_compliance", json!([{}]), "lacks the key `project_version_id`", "required"),
        ("project_compliance", json!([{"project_version_id": "x"}]), "isn't a valid UUID", "123e4567"),
        ("project_compliance", json!([{"project_version_id": h64[..32]}]), "isn't a valid UUID", ""),
        ("project_compliance", json!([{"project_version_id": format!("{{{RELEASED}}}")}]), "isn't a valid UUID", ""),
        ("project_compliance", json!([{"project_version_id": id, "framework_ids": []}]), "argument `filters.framework_ids` is empty", ""),
        ("project_compliance", json!([{"project_version_id": id, "framework_ids": "x"}]), "expected an array", ""),
        ("project_compliance", json!([{"project_version_id": id, "framework": "x"}]), "unknown key `framework`", "framework_ids"),
        ("evidence_prompt", json!(["", "x"]), "argument `evidence` is empty", ""),
        ("evidence_prompt", json!([{}, "x"]), "argument `evidence` is an object", ""),
        ("evidence_prompt", json!(["x", ""]), "argument `prompt` is empty", ""),
        ("evidence_prompt", json!(["x", " \n"]), "argument `prompt` is empty", ""),
        ("evidence_prompt", json!(["x", null]), "argument `prompt` is null", ""),
        ("evidence_prompt", json!([format!("sha256:{upper}"), "x"]), "looks like a digest", "exactly `sha256:"),
        ("evidence_prompt", json!([format!("sha512:{h128}"), "x"]), "looks like a digest", ""),
        ("evidence_prompt", json!([format!("sha256:{h64}\n"), "x"]), "looks like a digest", ""),
        ("evidence_prompt", json!([format!("sha256:{h63}"), "x"]), "looks like a digest", ""),
    ];
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    for (function, arguments, message, hint) in cases {
        let error = ask(&platform, function, &arguments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{function} {arguments}");
        assert_eq!(error.function(), Some(&*format!("platform.{function}")));
        let text = error.to_string();
        assert!(text.starts_with(&format!("platform.{function}: ")), "{text}");
        assert!(text.contains(message), "{text}\nlacks {message}");
        assert!(error.hint().is_some_and(|h| h.contains(hint)), "{:?} lacks {hint}", error.hint());
    }
    assert_eq!(emulator.requests().len(), 0, "a bad argument was sent");
    let unknown = ask(&platform, "discoverr", &json!([])).unwrap_err();
    assert!(unknown.hint().unwrap().contains("`discover`"));
}

#[test]
fn an_enormous_key_costs_no_enormous_error() {
    let mut filters = serde_json::Map::new();
    filters.insert("k".repeat(1 << 20), json!(1));
    let error = ask(&nowhere(), "evidence", &json!([filters])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.report().len() < 1000);
}

#[test]
fn more_filters_than_a_request_can_hold_are_refused_unsent() {
    let emulator = start(EmulatorOptions::default());
    let kinds: Vec<String> = (0..10_000).map(|n| format!("KIND_{n}")).collect();
    let error = ask(&client(&emulator), "evidence", &json!([{"kind": kinds}])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(emulator.requests().len(), 0);
}

/// Returns `true` if a call passed the check of its arguments.
fn accepted(function: &str, arguments: &Value) -> bool {
    match ask(&nowhere(), function, arguments) {
        Ok(answer) => panic!("no service can have answered {answer}"),
        Err(error) => match error.kind() {
            ErrorKind::InvalidArgument => false,
            // No token, or no address.
            ErrorKind::Unauthenticated | ErrorKind::Configuration => true,
            kind => panic!("{kind}: {}", error.report()),
        },
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |f| f.is_finite()).prop_map(Value::from),
        "\\PC{0,80}".prop_map(Value::from),
        "(sha256|sha1|sha512|md5):[0-9a-fA-F]{40,64}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("limit|kind|search|latest|[a-z_]{1,12}", inner, 0..5)
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_arguments_make_a_check_panic(arguments in prop::collection::vec(any_json(), 0..3)) {
        let arguments = Value::from(arguments);
        for function in rego_platform::functions::FUNCTIONS {
            accepted(function.name, &arguments);
        }
    }

    #[test]
    fn exactly_the_digests_are_digests(
        algorithm in "sha256|sha1|sha512|sha384|SHA256|md5|",
        digits in "([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}|[0-9a-fA-F]{64}|[0-9a-g]{64}|[0-9a-f]{0,70})",
        before in "| |\n|/", after in "| |\n|/|%2f|\\?|#",
    ) {
        let digest = format!("{before}{algorithm}:{digits}{after}");
        let lower = digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let is = before.is_empty() && after.is_empty() && lower
            && matches!((algorithm.as_str(), digits.len()), ("sha256", 64) | ("sha1", 40) | ("sha512", 128));
        prop_assert_eq!(accepted("discover", &json!([digest, null])), is);
        let is = is && algorithm == "sha256";
        prop_assert_eq!(accepted("download_artifact", &json!([digest])), is);
    }

    #[test]
    fn exactly_the_whole_numbers_from_1_are_limits(limit in prop_oneof![
        any::<i64>().prop_map(Value::from), any::<u64>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from), (0.5_f64..9.0).prop_map(Value::from),
    ]) {
        let is = limit.as_u64().is_some_and(|n| n >= 1)
            || limit.as_f64().is_some_and(|f| !limit.is_i64() && !limit.is_u64() && f >= 1.0 && f.fract() == 0.0);
        prop_assert_eq!(accepted("evidence", &json!([{"limit": limit}])), is);
    }

    #[test]
    fn exactly_hyphenated_uuids_are_uuids(id in "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32}|[0-9a-f-]{36}|\\PC{0,40}") {
        let groups: Vec<&str> = id.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|g| g.len()).collect();
        let is = lengths == [8, 4, 4, 4, 12] && groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_hexdigit()));
        prop_assert_eq!(accepted("project_compliance", &json!([{"project_version_id": id}])), is);
    }
}

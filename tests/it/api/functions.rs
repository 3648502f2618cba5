//! The read functions: off by default, and otherwise like the five.

use std::collections::BTreeMap;
use std::sync::Arc;

use rego_platform::Value as Rego;
use rego_platform::check::check;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::Sources;
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Recording, Replay};
use rego_platform::functions::{FUNCTIONS, FunctionSet};
use rego_platform::{ErrorKind, Level, NotFound, setting};
use rego_platform_emulator::EmulatorOptions;
use serde_json::{Value, json};

use super::*;
use crate::emulator::{backend, start};
use crate::functions::{ask, client, client_as, misbehave, paths};
use crate::hostile::script::ok;
use crate::hostile::server::Server;
use crate::support::{self, evaluate, options};

const OPTIONAL: [&str; 5] =
    ["products", "product_version", "projects", "environments", "product_compliance"];

fn sources(text: &str) -> Sources {
    Sources::text("p.rego", format!("package p\n\n{text}"))
}

fn load(text: &str, enabled: FunctionSet) -> Result<Policies, rego_platform::Error> {
    let mut options = LoadOptions::default();
    options.enabled = enabled;
    Policies::load(&sources(text), options)
}

#[test]
fn they_are_rows_of_the_table_that_are_off() {
    let off: Vec<_> = FUNCTIONS.iter().filter(|f| f.optional).map(|f| f.name).collect();
    let (documented, newer) = off.split_at(OPTIONAL.len());
    assert_eq!(documented, OPTIONAL);
    assert_eq!(newer, ["findings", "effective_assessments"]);
    for function in FUNCTIONS.iter().filter(|f| f.optional) {
        let source =
            if newer.contains(&function.name) { "API reference" } else { "nterface section" };
        assert!(function.doc.contains(source), "{}", function.name);
        let unknown = ["approve", "update", "delete", "create"];
        assert!(unknown.iter().all(|verb| !function.name.contains(verb)));
    }
}

/// Reached or not, called or mocked: a function that is off doesn't exist.
#[test]
fn off_is_refused_at_load_with_the_way_to_turn_it_on() {
    for name in OPTIONAL {
        let arguments = if name == "product_version" { "\"a\", \"b\"" } else { "{}" };
        for text in [
            format!("x := platform.{name}({arguments})"),
            format!("x if {{ false; platform.{name}({arguments}) }}"),
            format!("y := 1\nx if y == 1 with platform.{name} as 1"),
        ] {
            let error = load(&text, FunctionSet::default()).unwrap_err();
            let decides: Vec<_> = error.diagnostics().iter().filter_map(|d| d.setting).collect();
            assert_eq!(decides.first(), Some(&setting::FUNCTION.of(name)), "{text}");
            let refused = load(&text, FunctionSet::all());
            // The filters of one of them are still wrong.
            assert!(name == "product_compliance" || refused.is_ok(), "{text}");
        }
        let others = OPTIONAL.iter().filter(|other| **other != name);
        let others = others.fold(FunctionSet::default(), |set, other| set.with(other).unwrap());
        assert!(load(&format!("x := platform.{name}({arguments})"), others).is_err());
    }
    let misspelt = load("x := platform.product({})", FunctionSet::all()).unwrap_err();
    let hint = misspelt.diagnostics()[0].render();
    assert!(hint.contains("did you mean `platform.products`?"), "{hint}");
}

#[test]
fn a_platform_has_them_where_its_host_turned_them_on() {
    let emulator = start(EmulatorOptions::default());
    let off = client(&emulator);
    let error = ask(&off, "products", &json!([{}])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.setting(), Some(setting::FUNCTION.of("products")));
    let products = "package p\nx := count(platform.products({}).products)";
    let run = |platform: &rego_platform::Platform| support::value(platform, products, "data.p.x");
    assert!(run(&off).is_err());
    let on = client_as(&emulator, "ci").functions("products".parse().unwrap()).build().unwrap();
    assert_eq!(run(&on).unwrap(), Rego::from(2_u64));
    assert!(ask(&on, "projects", &json!([{}])).is_err());
}

fn all_on(emulator: &rego_platform_emulator::Emulator) -> rego_platform::Platform {
    client_as(emulator, "ci").functions(FunctionSet::all()).build().unwrap()
}

/// Checks that what is served is in what a policy sees; absent fields have their default, except
/// resources.
fn within(served: &Value, seen: &Value, place: &str) {
    match (served, seen) {
        (Value::Object(served), Value::Object(seen)) => {
            for (key, value) in served {
                within(value, &seen[key], &format!("{place}.{key}"));
            }
            for (key, value) in seen.iter().filter(|(key, _)| !served.contains_key(*key)) {
                let default = ["", "0"].map(|text| json!(text)).contains(value)
                    || [json!(0), json!(false), json!([]), json!({})].contains(value);
                assert!(default, "{place}.{key} is {value}");
            }
        }
        (Value::Array(served), Value::Array(seen)) => {
            assert_eq!(served.len(), seen.len(), "{place}");
            for (index, (served, seen)) in served.iter().zip(seen).enumerate() {
                within(served, seen, &format!("{place}[{index}]"));
            }
        }
        // `100.0` and `100` are the same number to a policy.
        (Value::Number(served), Value::Number(seen)) => {
            assert_eq!(served.as_f64(), seen.as_f64(), "{place}");
        }
        _ => assert_eq!(served, seen, "{place}"),
    }
}

#[test]
fn policies_see_the_documented_objects_whole() {
    let emulator = start(EmulatorOptions::default());
    let platform = all_on(&emulator);
    for version in [TRIAL, FIRST_RELEASE] {
        for (function, arguments, target, name) in [
            ("products", json!([{}]), "/v1/products".to_owned(), "products"),
            ("projects", json!([{}]), "/v1/projects".to_owned(), "results"),
            ("environments", json!([{}]), "/v1/environments".to_owned(), "environments"),
            (
                "product_compliance",
                json!([{"product_version_id": version}]),
                format!("/v1/compliance/product?product_version_id={version}"),
                "frameworks",
            ),
        ] {
            let seen = ask(&platform, function, &arguments).unwrap();
            assert_eq!(seen.as_object().unwrap().len(), 1);
            within(&backend(&emulator, &target).json()[name], &seen[name], function);
        }
        let seen = ask(&platform, "product_version", &json!([BACK_OFFICE, version])).unwrap();
        let target = format!("/v1/products/{BACK_OFFICE}/versions/{version}");
        within(&backend(&emulator, &target).json()["version"], &seen, "version");
    }
}

#[test]
fn either_casing_and_nothing_at_all_read_as_documented() {
    let body = json!({"frameworks": [{
        "frameworkId": "f",
        "evaluations": [{"overallStatus": "pass", "projectEvaluations": [{"projectName": "a"}]}],
        "metrics": {"totalRequirements": "3", "compliancePercentage": 33.3},
    }]});
    let server = Server::start(move |_| ok(body.to_string().into_bytes()));
    let platform = rego_platform::Platform::builder()
        .base_url(server.url())
        .token(rego_platform::Token::new("x").unwrap())
        .functions(FunctionSet::all())
        .build()
        .unwrap();
    let seen =
        ask(&platform, "product_compliance", &json!([{"product_version_id": "v-1"}])).unwrap();
    let framework = &seen["frameworks"][0];
    assert_eq!(framework["framework_display_name"], "");
    assert_eq!(framework["metrics"]["total_requirements"], 3);
    assert_eq!(framework["metrics"]["compliance_percentage"], 33.3);
    let row = &framework["evaluations"][0];
    assert_eq!((&row["overall_status"], &row["expired_tests"]), (&json!("pass"), &json!([])));
    // A policy that looks for an override must not find an empty one.
    assert_eq!(row.get("override"), None);
    assert_eq!(row["project_evaluations"][0]["policies"], json!({}));
}

const POLICY: &str = r#"
versions := [platform.product_version(product.id, product.latest_version.id) |
	some product in platform.products({}).products
]

again := platform.products({"limit": 2}).products

statuses[version.name] := status if {
	some version in versions
	status := {row.overall_status |
		some framework in platform.product_compliance({"product_version_id": version.id}).frameworks
		some row in framework.evaluations
	}
}

live := [e.name | some e in platform.environments({"query": "PRODUCTION"}).environments]

projects := count(platform.projects({"product_id": versions[0].product_id}).results)
"#;

#[test]
fn they_batch_memoize_record_and_replay() {
    let emulator = start(EmulatorOptions::default());
    let policies = load(POLICY, FunctionSet::all()).unwrap();
    let options = options(&all_on(&emulator));
    let evaluated = evaluate(&policies, "data.p", "{}", &options);
    let recording = evaluated.recording().unwrap();
    let ledger = evaluated.ledger.table();
    let value = evaluated.result.unwrap().value().unwrap().clone();
    let value = serde_json::to_value(&value).unwrap();
    assert_eq!(value["projects"], 2);
    assert_eq!(value["statuses"].as_object().unwrap().len(), 2);
    // The list, then both versions, then what depends on them; each once.
    assert!(evaluated.ledger.passes <= 4, "{ledger}");
    let mut asked = BTreeMap::<String, usize>::new();
    for path in paths(&emulator) {
        *asked.entry(path).or_default() += 1;
    }
    assert_eq!(asked["GET /v1/products"], 2, "with and without a limit");
    assert_eq!(asked["GET /v1/compliance/product"], 2);
    assert_eq!(asked.values().sum::<usize>(), 8, "{asked:?}");

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recording.json");
    recording.save(&file).unwrap();
    let replay = Replay::new(Recording::load(&file).unwrap());
    let replayed = EvaluateOptions::new(Answers::Replay(Arc::new(replay)));
    let again = evaluate(&policies, "data.p", "{}", &replayed).result.unwrap();
    assert_eq!(serde_json::to_value(again.value().unwrap()).unwrap(), value);
    assert_eq!(paths(&emulator).len(), 8);
}

#[test]
fn a_failed_call_is_never_a_pass_and_not_found_is_undefined_on_demand() {
    let emulator = start(EmulatorOptions::default());
    let platform = all_on(&emulator);
    for (call, route) in [
        ("platform.products({})", "products"),
        ("platform.projects({})", "projects"),
        ("platform.environments({})", "environments"),
        (r#"platform.product_version("a", "b")"#, "product_version"),
        (r#"platform.product_compliance({"product_version_id": "v"})"#, "product_compliance"),
    ] {
        let text = format!("x := 1 if not f\n\nf if {call}\n\ndefault y := 2\n\ny := 3 if {call}");
        let policies = load(&text, FunctionSet::all()).unwrap();
        for (status, kind) in [(403, ErrorKind::PermissionDenied), (404, ErrorKind::Protocol)] {
            misbehave(&emulator, &[&format!("*:status={status}")]);
            for rule in ["data.p.x", "data.p.y"] {
                let evaluated = evaluate(&policies, rule, "{}", &options(&platform));
                let error = evaluated.result.unwrap_err();
                assert_eq!(error.kind(), kind, "{route}");
                assert_eq!(error.function(), Some(&*format!("platform.{route}")));
            }
        }
        let mut undefined = options(&platform);
        undefined.not_found = NotFound::Undefined;
        let error = evaluate(&policies, "data.p.y", "{}", &undefined).result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{route}");
    }
}

#[test]
fn they_are_mocked_by_value_and_by_function() {
    let text = r#"
names := {product.name | some product in platform.products({}).products}

by_value if names == {"a"} with platform.products as {"products": [{"name": "a"}]}

version(product_id, version_id) := {"id": version_id, "product_id": product_id}

by_function if {
	platform.product_version("p", "v").product_id == "p" with platform.product_version as version
}
"#;
    let policies = load(text, FunctionSet::all()).unwrap();
    let everything = rego_platform::Platform::builder().functions(FunctionSet::all());
    let offline = options(&everything.build().unwrap());
    for rule in ["data.p.by_value", "data.p.by_function"] {
        let value = evaluate(&policies, rule, "{}", &offline).result.unwrap();
        assert_eq!(value.value(), Some(&Rego::from(true)), "{rule}");
    }
}

#[test]
fn a_cut_list_is_reported_and_checks_know_the_functions() {
    let emulator = start(EmulatorOptions::default());
    let policies =
        support::policies(&[("p.rego", "package p\nx := platform.projects({\"limit\": 1})")]);
    let evaluated = evaluate(&policies, "data.p.x", "{}", &options(&all_on(&emulator)));
    assert_eq!(evaluated.ledger.cut().count(), 1);

    let found = |text: &str| {
        let mut load = LoadOptions::default();
        load.enabled = FunctionSet::all();
        let found = check(&sources(&format!("{text}\n\ndeny contains \"x\" if x\n")), load);
        found.iter().map(|d| (d.level, d.render())).collect::<Vec<_>>()
    };
    for (text, level, what) in [
        ("x := platform.projects({\"name\": \"a\"})", Level::Error, "unknown key `name`"),
        ("x := platform.projects({\"project_name\": \"\"})", Level::Error, "is empty"),
        ("x := platform.environments({\"query\": 7})", Level::Error, "expected a string"),
        ("x := platform.product_compliance({})", Level::Error, "`product_version_id`"),
        ("x := platform.product_version(\"\", \"v\")", Level::Error, "is empty"),
        (
            "x := platform.products({}).products[0].lastest_version",
            Level::Warning,
            "latest_version",
        ),
        (
            "x := [s | s := platform.product_version(\"p\", \"v\").frameworks[_].sections[_].subsections]",
            Level::Warning,
            "sub_sections",
        ),
    ] {
        let found = found(text);
        assert!(
            found.iter().any(|(l, text)| *l == level && text.contains(what)),
            "{text}: {found:?}"
        );
    }
}

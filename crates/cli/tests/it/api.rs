//! `api` and `--functions`: the command for people who look things up.

use serde_json::json;

use crate::cli::{Sandbox, service};
use crate::emulator::{
    BACK_OFFICE, BACK_OFFICE_RELEASE as FIRST_RELEASE, BACK_OFFICE_TRIAL as TRIAL,
};

const PRODUCT_SECURITY: &str = "05bb449f-aba1-5eee-918b-786ed8b8839a";

#[test]
fn answers_are_the_documented_json() {
    let sandbox = Sandbox::new();
    for (arguments, name, rows) in [
        (&["products"][..], "products", 2),
        (&["projects", "--project-name", "mail-relay"], "results", 1),
        (&["environments", "--query", "production"], "environments", 2),
        (&["product-compliance", FIRST_RELEASE], "frameworks", 3),
        (&["product-compliance", TRIAL, "--framework-id", PRODUCT_SECURITY], "frameworks", 1),
    ] {
        let output = sandbox.local(&[&["api"], arguments].concat()).output().code(0).silent();
        assert_eq!(output.json()[name].as_array().unwrap().len(), rows, "{arguments:?}");
    }
    let version = ["api", "product-version", BACK_OFFICE, TRIAL];
    let output = sandbox.local(&version).output().code(0).silent();
    assert_eq!(output.json()["version"]["id"], TRIAL);
    let output = sandbox.local(&["api", "infoz"]).output().code(0).silent();
    assert_eq!(output.json()["version"], "v1.42.0");
}

#[test]
fn tables_have_a_line_for_each_row() {
    let sandbox = Sandbox::new();
    let table = |arguments: &[&str]| {
        let arguments = [&["api"], arguments, &["--format", "table"]].concat();
        sandbox.local(&arguments).output().code(0).silent().stdout
    };
    let version = ["product-version", BACK_OFFICE, FIRST_RELEASE];
    let compliance = ["product-compliance", FIRST_RELEASE];
    let all = [
        &["products"][..],
        &["projects"],
        &["environments"],
        &["infoz"],
        &version,
        &compliance,
        &["projects", "--project-name", "unknown"],
    ];
    let text: String = all
        .iter()
        .map(|arguments| format!("$ {}\n{}\n", arguments.join(" "), table(arguments)))
        .collect();
    insta::with_settings!({
        snapshot_path => "snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("api-tables", text);
    });
}

#[test]
fn a_specification_is_written_as_it_is_published() {
    let sandbox = Sandbox::new();
    let backend = sandbox.local(&["api", "openapi"]).output().code(0).silent().stdout;
    assert!(backend.contains("/v1/products/{product_id}/versions/{version_id}"));
    let control = sandbox.local(&["api", "openapi", "--control-plane"]).output().code(0).silent();
    assert!(control.stdout.contains("/infoz") && control.stdout != backend);
    let file = sandbox.path("openapi.yaml");
    let arguments = ["api", "openapi", "--output", file.to_str().unwrap()];
    assert_eq!(sandbox.local(&arguments).output().code(0).silent().stdout, "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), backend);
}

#[test]
fn a_person_approves_and_a_token_of_ci_may_not() {
    let (sandbox, emulator) = (Sandbox::new(), service());
    let pending = "03f15fed-ba3d-5b11-a5cb-af87a180f3fb";
    let (control, base) = (emulator.controlplane_url(), emulator.base_url());
    let approve = |token: &str, note: &[&str]| {
        let file = sandbox.write("token", emulator.token(token).unwrap());
        let start = ["api", "approve", pending, "--token-file", &file];
        let addresses = ["--controlplane-url", &control, "--base-url", &base];
        sandbox.run(&[&start[..], &addresses, note].concat()).output()
    };
    approve("ci", &[]).fails("permission");
    let output = approve("user", &["--note", "fine"]).code(0).silent();
    assert_eq!(output.json()["result"]["review_note"], "fine");
    approve("user", &[]).fails("isn't pending");
}

#[test]
fn a_failure_is_not_an_answer() {
    let sandbox = Sandbox::new();
    let unknown = "00000000-0000-0000-0000-000000000000";
    let run = |arguments: &[&str]| {
        let output = sandbox.local(&[&["api"], arguments].concat()).output().fails_with_one_of(&[
            "unknown resource in the arguments (404): product",
            "invalid value '' for '--project-name <NAME>': expected a value",
            "the service rejected the token (401): injected fault",
            "`api products` doesn't support `--record`",
            "`api products` doesn't support `--not-found`",
        ]);
        assert_eq!(output.stdout, "");
        output
    };
    run(&["product-version", BACK_OFFICE, unknown]).says("no version");
    run(&["product-compliance", unknown]).says("not found");
    run(&["projects", "--project-name", ""]).says("expected a value, found an empty string");
    run(&["products", "--fault", "*:status=401"]).says("the service rejected the token");
    run(&["products", "--record", "x.json"]).says("doesn't support `--record`");
    run(&["products", "--not-found", "undefined"]).says("doesn't support");
    sandbox.run(&["api", "infoz"]).output().fails("missing address of the");
}

#[test]
fn functions_are_turned_on_by_name() {
    let sandbox = Sandbox::new();
    let policy =
        "package p\n\ndeny contains \"none\" if count(platform.products({}).products) == 0\n";
    let test = "package p_test\n\nimport data.p\n\ntest_none if p.deny == {\"none\"} \
                with platform.products as {\"products\": []}\n";
    let (policy, test) = (sandbox.write("p.rego", policy), sandbox.write("p_test.rego", test));
    let input = sandbox.write("input.json", "{}");
    let commands: [&[&str]; 4] = [
        &["eval", "-d", &policy, "data.p.deny", "--local", "testdata/platform"],
        &["gate", "-d", &policy, "-i", &input, "--local", "testdata/platform"],
        &["test", &policy, &test],
        &["call", "products", "--local", "testdata/platform"],
    ];
    for arguments in commands {
        sandbox.run(arguments).output().fails("`--functions products` enables it");
        for on in ["products", "all", "projects,products"] {
            sandbox.run(&[arguments, &["--functions", on]].concat()).output().code(0);
        }
    }
    let renamed = "count(chainloop.products({}).products)";
    let eval = ["eval", "--product", "chainloop", renamed, "--format", "raw"];
    sandbox.local(&eval).output().fails("`chainloop.products` is off by default");
    let output = sandbox.local(&[&eval[..], &["--functions", "all"]].concat()).output().code(0);
    assert_eq!(output.stdout, "2\n");
    let check = sandbox.run(&["check", &policy]).output().code(1);
    assert!(check.stdout.contains("`--functions products` enables it"), "{check:?}");
    sandbox.run(&["check", &policy, "--functions", "products"]).output().code(0);
    sandbox
        .run(&["check", &policy, "--functions", "product"])
        .output()
        .fails("did you mean `products`?");
    let named = |arguments: &[&str]| {
        let document = sandbox.run(arguments).output().code(0).json();
        document["builtins"]
            .as_array()
            .unwrap()
            .iter()
            .any(|b| b["name"] == json!("platform.products"))
    };
    assert!(!named(&["capabilities"]));
    assert!(named(&["capabilities", "--functions", "products"]));
}

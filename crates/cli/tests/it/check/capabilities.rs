//! The capabilities document, without OPA.

use rego_platform::functions::FUNCTIONS;
use serde_json::{Value, json};

use crate::cli::Sandbox;

fn document(arguments: &[&str]) -> Value {
    Sandbox::new().run(&[&["capabilities"], arguments].concat()).output().code(0).silent().json()
}

/// Refuses everything that OPA's reader of types refuses or ignores.
fn check_type(ty: &Value) {
    let object = ty.as_object().unwrap();
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    keys.retain(|key| !["type", "name", "description"].contains(key));
    match ty["type"].as_str().unwrap() {
        "string" | "number" | "boolean" | "null" => assert!(keys.is_empty(), "{ty}"),
        "any" if keys.is_empty() => {}
        "any" => {
            assert_eq!(keys, ["of"]);
            ty["of"].as_array().unwrap().iter().for_each(check_type);
        }
        "array" => {
            assert_eq!(keys, ["dynamic"]);
            check_type(&ty["dynamic"]);
        }
        "set" => {
            assert_eq!(keys, ["of"]);
            check_type(&ty["of"]);
        }
        "object" => {
            assert!(keys.iter().all(|key| ["static", "dynamic"].contains(key)), "{ty}");
            for field in ty["static"].as_array().into_iter().flatten() {
                assert!(field["key"].is_string());
                check_type(&field["value"]);
            }
            check_type(&ty["dynamic"]["key"]);
            check_type(&ty["dynamic"]["value"]);
        }
        other => panic!("no type of OPA's: {other}"),
    }
}

#[test]
fn every_function_is_declared_with_its_types() {
    let document = document(&["--functions", "all"]);
    let builtins = document["builtins"].as_array().unwrap();
    assert_eq!(builtins.len(), FUNCTIONS.len());
    for function in FUNCTIONS {
        let name = format!("platform.{}", function.name);
        let found = builtins.iter().find(|b| b["name"] == name.as_str()).unwrap();
        assert!(found["description"].as_str().unwrap().len() > 40);
        let decl = &found["decl"];
        assert_eq!(decl["type"], "function");
        let arguments = decl["args"].as_array().unwrap();
        assert_eq!(arguments.len(), function.arguments.len());
        for (argument, declared) in function.arguments.iter().zip(arguments) {
            assert_eq!(declared["name"], argument.name);
            check_type(declared);
        }
        check_type(&decl["result"]);
    }
    let discover = builtins.iter().find(|b| b["name"] == "platform.discover").unwrap();
    let result = &discover["decl"]["result"];
    assert_eq!(result["dynamic"]["value"], json!({"type": "any"}), "undocumented fields");
    let references = result["static"].as_array().unwrap().iter().find(|f| f["key"] == "references");
    assert_eq!(references.unwrap()["value"]["dynamic"]["dynamic"]["value"], json!({"type": "any"}));
    insta::with_settings!({
        snapshot_path => "../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_json_snapshot!("capabilities", document);
    });
}

#[test]
fn the_names_are_the_products() {
    let document = document(&["--product", "chainloop"]);
    assert!(
        document["builtins"]
            .as_array()
            .unwrap()
            .iter()
            .all(|b| { b["name"].as_str().unwrap().starts_with("chainloop.") })
    );
}

#[test]
fn merging_keeps_everything_else_and_can_be_done_again() {
    let sandbox = Sandbox::new();
    let theirs = json!({
        "builtins": [
            {"name": "count", "decl": {"type": "function"}, "categories": ["x"], "infix": "n"},
            {"name": "platform.discover", "decl": {"type": "function"}, "description": "stale"},
        ],
        "future_keywords": ["in"],
        "wasm_abi_versions": [{"version": 1, "minor_version": 18_446_744_073_709_551_615_u64}],
        "features": ["rego_v1"],
        "allow_net": [],
    });
    let file = sandbox.write("opa.json", theirs.to_string());
    let merge = |file: &str| sandbox.run(&["capabilities", "--merge", file]).output().code(0);
    let once = merge(&file).json();
    for (key, value) in theirs.as_object().unwrap() {
        if key != "builtins" {
            assert_eq!(&once[key], value);
        }
    }
    let builtins = once["builtins"].as_array().unwrap();
    assert_eq!(builtins[0], theirs["builtins"][0]);
    let five = FUNCTIONS.iter().filter(|function| !function.optional).count();
    assert_eq!(builtins.len(), 1 + five);
    assert_ne!(builtins[1]["description"], "stale");
    let again = sandbox.write("again.json", once.to_string());
    assert_eq!(merge(&again).json(), once);
}

#[test]
fn functions_of_other_hosts_are_declared_by_a_capabilities_document() {
    let sandbox = Sandbox::new();
    let text = |kind: &str| json!({"type": kind});
    let layers = json!({"type": "object", "static": [
        {"key": "size", "value": text("number")},
        {"key": "types", "value": {"type": "set", "of": text("string")}},
    ]});
    let document = json!({"builtins": [
        {"name": "count", "decl": {"type": "function", "args": [text("any")], "result": text("number")}},
        {"name": "ec.manifest", "decl": {"type": "function", "args": [text("string")],
            "result": {"type": "array", "dynamic": layers}}},
        {"name": "ec.now", "decl": {"type": "function", "result": {"type": "any", "of": [text("number"), text("null")]}}},
    ]});
    let capabilities = sandbox.write("caps.json", document.to_string());
    let sizes = "package p\n\nsizes contains l.size if some l in ec.manifest(input.ref)\n";
    let policy = sandbox.write("p/p.rego", sizes);
    let test = "package p_test\n\nimport data.p\n\nanswer(_) := [{\"size\": 1}]\n\n\
                test_mocked if p.sizes == {1} with ec.manifest as answer with input.ref as \"x\"\n\n\
                test_value if p.sizes == {2} with ec.manifest as [{\"size\": 2}] with input.ref as \"x\"\n";
    sandbox.write("p/p_test.rego", test);
    let folder = sandbox.path("p").display().to_string();
    let tested = sandbox.run(&["test", "--capabilities", &capabilities, &folder]).output().code(0);
    assert_eq!(tested.stdout, "PASS: 2/2\n");
    sandbox.run(&["test", &folder]).output().fails("must reference existing");
    // Without a mock there is no answer: a gate has no verdict.
    let query = ["eval", "--capabilities", &capabilities, "-d", &policy, "data.p"];
    let asked = sandbox.run(&[&query[..], &["-i", "-"]].concat()).stdin("{\"ref\": \"x\"}");
    asked.output().fails("no response of the host");
    for (body, expected) in [
        ("ec.manifest(1)", Some("invalid argument(s)")),
        ("ec.manifest(\"a\", \"b\", \"c\")", Some("arity mismatch")),
        ("ec.manifest(\"a\").size", Some("undefined ref")),
        ("startswith(ec.now(), \"x\")", Some("invalid argument(s)")),
        ("ec.manifest(\"a\")[0].size == 1", None),
        ("ec.now() == null", None),
    ] {
        let module = format!("package q\n\ndeny contains \"x\" if {body}\n");
        let file = sandbox.write("q.rego", module);
        let check = ["check", "--capabilities", &capabilities, "--level", "error", &file];
        let output = sandbox.run(&check).output();
        match expected {
            Some(expected) => {
                let output = output.code(1);
                assert!(output.stdout.contains(expected), "{body}: {}", output.stdout);
            }
            None => drop(output.code(0)),
        }
    }
    let broken = sandbox.write("broken.json", "{}");
    let check = ["check", "--capabilities", &broken, &policy];
    sandbox.run(&check).output().fails("can't be used").says("no `builtins`");
}

#[test]
fn an_invalid_capabilities_document_is_refused() {
    let sandbox = Sandbox::new();
    for (text, why) in [
        ("[]", "isn't an object"),
        ("{}", "no `builtins`"),
        (r#"{"builtins": {}}"#, "isn't an array"),
        (r#"{"builtins": [{"name": "x"}]}"#, "no `decl`"),
        ("builtins:", "isn't valid JSON"),
        ("{} {}", "isn't valid JSON"),
    ] {
        let file = sandbox.write("x.json", text);
        let output = sandbox.run(&["capabilities", "--merge", &file]).output().fails(why);
        assert_eq!(output.stdout, "");
    }
    sandbox.run(&["capabilities", "--merge", "none.json"]).output().fails("doesn't exist");
}

//! Types of data from outside: the functions' results, and input with a schema.

use super::table;
use crate::cli::Sandbox;

/// The errors are those of OPA 1.22.2 with the merged capabilities.
#[test]
fn documented_fields_have_their_types() {
    let wrong = "type-error";
    let discover = "d := platform.discover(input.d, \"\")\n";
    for (rule, column) in [
        ("a if d.downloadable == \"true\"", 6),
        ("a if d.public = \"no\"", 6),
        ("a if { p := d.public; \"no\" == p }", 23),
        ("a if { some r in d.references; r.kind == 3 }", 32),
        ("a if d.references[0].digest == {\"sha256\": input.d}", 6),
        ("a if d.createdAt.year == 2026", 6),
        ("a if d.references.kind == \"SARIF\"", 6),
        ("a if 3 in d.references", 6),
        ("a if \"a\" in {r.public | some r in d.references}", 6),
        ("a if startswith(d.references, \"a\")", 6),
        ("a if platform.download_artifact(input.d).bomFormat == \"x\"", 6),
        (
            "a if { some e in platform.project_compliance({\"project_version_id\": input.v}).evaluations; e.requirement_revision == \"3\" }",
            92,
        ),
        ("a if platform.evidence({}).results.kind == \"SARIF\"", 6),
        ("a if platform.evidence_prompt(input.x, \"x\").skipped == null", 6),
        ("a if platform.evidence_prompt(input.x, \"x\").violations[_].message", 6),
        ("f(x) := platform.discover(x, \"\").references\na if f(1).kind == 2", 6),
    ] {
        let line = 2 + u64::try_from(rule.matches('\n').count()).unwrap();
        table(&[(&format!("{discover}{rule}"), &[(wrong, line, column)])]);
    }
    for rule in [
        // Fields that aren't documented, and code that OPA's checker accepts.
        "a if d.metadata.size == 3",
        "a if d.references[_].metadata.labels[0].x",
        "a if true in d.kind",
        "a if platform.evidence({}).results[_].annotations.approved == true",
        "a if d == {\"kind\": \"SARIF\"}",
        "a if count(d.references) > 3",
        "f(x) := x.kind == 3\na if f(d)",
    ] {
        table(&[(&format!("{discover}{rule}"), &[])]);
    }
}

#[test]
fn mocks_keep_the_types() {
    let test = "test_a if d == 1 with platform.discover as 1\n\
        test_b if d.public == \"x\" with platform.discover as {\"public\": \"x\"}\n\
        test_c if d.foo == \"x\" with platform.discover as {\"foo\": \"x\"}";
    table(&[(
        &format!("d := platform.discover(input.d, \"\")\n{test}"),
        &[("type-error", 2, 11), ("type-error", 3, 11)],
    )]);
}

const SCHEMA: &str =
    r#"{"properties": {"digest": {"type": "string"}, "size": {"type": "number"}}}"#;

#[test]
fn a_schema_gives_input_its_type() {
    let sandbox = Sandbox::new();
    let schema = sandbox.write("schema.json", SCHEMA);
    let policy = sandbox.write(
        "p.rego",
        "package p\n\ndeny contains \"1\" if input.dgest\n\ndeny contains \"2\" if input.size == \"3\"\n",
    );
    let input = sandbox.write("input.json", "{\"size\": 3}");
    for arguments in [
        &["check"][..],
        &["test"],
        &["eval", "data.p.deny", "-d"],
        &["gate", "-i", &input, "-d"],
        &["run"],
    ] {
        let given = [arguments, &[&policy, "--schema", &schema]].concat();
        let code = i32::from(arguments[0] != "check") + 1;
        let output = sandbox.run(&given).output().code(code);
        for said in ["undefined ref: input.dgest", "want (one of): [\"digest\" \"size\"]"] {
            let all = format!("{}{}", output.stdout, output.stderr);
            assert!(all.contains(said), "{arguments:?}: {output:#?}");
        }
    }
    let found = sandbox.run(&["check", "-s", &schema, &policy]).output().code(1).stdout;
    assert!(found.contains("did you mean `digest`?"), "{found}");
    assert!(found.contains("match error; left: number; right: string"), "{found}");
    // Without it, the policy is fine; and so is a query of an existing field.
    sandbox.run(&["check", &policy]).output().code(0);
    sandbox.run(&["eval", "-s", &schema, "-i", &input, "input.size"]).output().code(0);
    let output = sandbox.run(&["eval", "-s", &schema, "input.sizes"]).output().code(2);
    assert!(output.stderr.contains("undefined ref: input.sizes"), "{output:#?}");
}

#[test]
fn annotations_name_schemas_of_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("schemas/input.json", SCHEMA);
    sandbox
        .write("schemas/d/acl.yaml", "properties: {users: {type: array, items: {type: string}}}\n");
    let policy = sandbox.write(
        "q.rego",
        "# METADATA\n# schemas:\n#   - input: schema.input\n#   - data.acl: schema.d.acl\npackage q\n\n\
         deny contains \"1\" if input.dgest\n\n# METADATA\n# schemas:\n#   - input.more: {type: object, \
         properties: {n: {type: number}}}\ndeny contains \"2\" if {\n\tinput.more.n == \"x\"\n\tsome user in \
         data.acl.users\n\tuser == 3\n\tdata.acl.admins\n}\n",
    );
    let schemas = sandbox.path("schemas");
    let lines = |arguments: &[&str]| -> Vec<u64> {
        let given = [&["check", "--format", "json", policy.as_str()], arguments].concat();
        let report = sandbox.run(&given).output().json();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|it| it["position"]["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(lines(&["--schema", schemas.to_str().unwrap()]), [7, 13, 15, 16]);
    // Without the folder, only the schema in the policy itself is known.
    assert_eq!(lines(&[]), [13]);
    sandbox.write("schemas/d/acl.yaml", "{\"$ref\": \"https://schemas.example/acl.json\"}");
    sandbox.write("schemas/input.json", "{\"type\": \"text\"}");
    let output = sandbox.run(&["check", &policy, "-s", schemas.to_str().unwrap()]).output().code(1);
    for said in [
        "unable to compile the schema: remote reference loading disabled: https://schemas.example/acl.json",
        "put what it refers to under `definitions`",
        "has a primitive type that is NOT VALID -- given: /text/",
    ] {
        assert!(output.stdout.contains(said), "{output:#?}");
    }
}

#[test]
fn an_invalid_schema_is_refused() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\ndeny contains \"1\" if input.x\n");
    for (text, why) in [
        ("{\"type\": \"text\"}", "NOT VALID -- given: /text/"),
        ("{\"properties\": 3}", "Properties must be of type object"),
        ("[", "schema.json:1:2:"),
        ("", "no schema"),
        ("{\"$ref\": \"https://schemas.example/a.json\"}", "nothing is fetched"),
        ("{\"$ref\": \"file:///etc/passwd\"}", "nothing is fetched"),
        ("{\"allOf\": [{\"$ref\": \"#\"}]}", "refers to itself"),
    ] {
        let schema = sandbox.write("schema.json", text);
        let output = sandbox.run(&["check", "--schema", &schema, &policy]).output().code(2);
        assert!(output.stderr.contains(why), "{text}: {output:#?}");
    }
    let output = sandbox.run(&["check", "--schema", "none", &policy]).output().code(2);
    assert!(output.stderr.contains("`none` doesn't exist"), "{output:#?}");
}

#[test]
fn arguments_that_may_be_absent_are_a_warning() {
    let sandbox = Sandbox::new();
    let schema = sandbox.write(
        "schema.json",
        "{\"required\": [\"a\", \"items\", \"free\"], \"properties\": {\"a\": {\"type\": \"string\"}, \
         \"b\": {\"type\": \"string\"}, \"free\": {\"properties\": {\"x\": {\"type\": \"string\"}}}, \
         \"items\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/item\"}}}, \
         \"definitions\": {\"item\": {\"required\": [\"n\"], \"properties\": {\"n\": {}, \"o\": {\"type\": \
         \"string\"}}}}}",
    );
    let found = |rule: &str| -> Vec<u64> {
        let policy = sandbox.write("p.rego", format!("package p\n\n{rule}\n"));
        let arguments = ["check", "--format", "json", "-s", &schema, &policy];
        let report = sandbox.run(&arguments).output().json();
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().all(|it| it["code"] == "optional-argument"), "{report:#}");
        findings.iter().map(|it| it["position"]["column"].as_u64().unwrap()).collect()
    };
    for (rule, column) in [
        ("deny contains \"1\" if startswith(input.b, \"x\")", 33),
        ("deny contains \"1\" if not startswith(input.b, \"x\")", 37),
        ("deny contains \"1\" if startswith(input.items[_].o, \"x\")", 33),
        ("deny contains \"1\" if f(input.b)\n\nf(x) if x == \"y\"", 24),
        ("deny contains sprintf(\"%v\", [count(input.b)]) if input.a", 36),
        (
            "deny contains \"1\" if time.parse_rfc3339_ns(platform.discover(input.a, \"\").references[_].createdAt) > 1",
            44,
        ),
    ] {
        assert_eq!(found(rule), [column], "{rule}");
    }
    for rule in [
        "deny contains \"1\" if startswith(input.a, \"x\")",
        "deny contains \"1\" if startswith(input.items[_].n, \"x\")",
        "deny contains \"1\" if startswith(input.free.x, \"x\")",
        "deny contains \"1\" if startswith(object.get(input, \"b\", \"\"), \"x\")",
        "deny contains \"1\" if { input.b; startswith(input.b, \"x\") }",
        "deny contains \"1\" if { b := input.b; startswith(b, \"x\") }",
        "deny contains \"1\" if input.b == \"x\"",
        "deny contains \"1\" if startswith(platform.discover(input.a, \"\").kind, \"S\")",
        "deny contains \"1\" if startswith(platform.discover(input.a, \"\").metadata.name, \"S\")",
    ] {
        assert_eq!(found(rule), [0_u64; 0], "{rule}");
    }
}

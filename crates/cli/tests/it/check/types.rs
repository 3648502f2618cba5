//! Types of data from outside: the functions' results, and input with a schema.

use std::collections::BTreeMap;

use super::table;
use crate::cli::Sandbox;

/// The errors are those of OPA 1.22.4 with the merged capabilities.
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
        test_b if d.public == \"x\" with platform.discover as {\"public\": \"x\"}";
    table(&[(
        &format!("d := platform.discover(input.d, \"\")\n{test}"),
        &[
            ("type-error", 2, 11),
            ("wrong-mock", 2, 44),
            ("type-error", 3, 11),
            ("wrong-mock", 3, 64),
        ],
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
    let output = sandbox
        .run(&["eval", "-s", &schema, "input.sizes"])
        .output()
        .fails("undefined ref: input.sizes; have");
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
        let given =
            [&["check", "--level", "error", "--format", "json", policy.as_str()], arguments]
                .concat();
        let report = sandbox.run(&given).output().json();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["position"]["line"].as_u64().unwrap()).collect()
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
        let output =
            sandbox.run(&["check", "--schema", &schema, &policy]).output().fails_with_one_of(&[
                "unable to compile the schema: has a primitive type that is",
                "unable to compile the schema: Properties must be of type",
                "invalid JSON: unexpected end of JSON input",
                "no schema as input to compile",
                "unable to compile the schema: remote reference loading",
                "unable to compile the schema: reference loading from files",
                "type checking: the schema is nested too deep, or refers to",
            ]);
        assert!(output.stderr.contains(why), "{text}: {output:#?}");
    }
    let output = sandbox
        .run(&["check", "--schema", "none", &policy])
        .output()
        .fails("the schema `none` doesn't exist");
    assert!(output.stderr.contains("`none` doesn't exist"), "{output:#?}");
}

/// Calls and whether `opa check` refuses them, with what `capabilities --functions all` prints merged
/// into OPA's own; `crates/rego/CONFORMANCE.md` says how the answers were stored.
const CALLS: &str = include_str!("../../../../../testdata/arguments.txt");

/// The calls of one file: only so many wrong arguments of a file are reported.
const CALLS_OF_A_FILE: usize = 50;

#[test]
fn calls_are_refused_by_types_as_by_opa() {
    let sandbox = Sandbox::new();
    let calls: Vec<(&str, &str)> =
        CALLS.lines().map(|line| line.split_once('\t').unwrap()).collect();
    for (number, calls) in calls.chunks(CALLS_OF_A_FILE).enumerate() {
        let mut text = format!(
            "package p{number}\n\ndefault maybe := \"d\"\n\nmaybe := 2 if input.x\n\nlisted \
             contains x if some x in input.l\n\nf(x) := x\n\nkey := input.key if true\n\n",
        );
        for (at, (_, call)) in calls.iter().enumerate() {
            text.push_str(&format!("r{at} if {{ {call} }}\n"));
        }
        sandbox.write(&format!("p/{number}.rego"), text);
    }
    let folder = sandbox.path("p");
    let arguments = ["check", "--functions", "all", "--format", "json", "--level", "error"];
    let arguments = [&arguments[..], &[folder.to_str().unwrap()]].concat();
    let report = sandbox.run(&arguments).output().code(1).json();
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap() {
        let text = finding["position"]["text"].as_str().unwrap();
        let call = text.split_once("if { ").unwrap().1.strip_suffix(" }").unwrap();
        found.entry(call).or_default().push(finding["code"].as_str().unwrap());
    }
    let (mut refused, mut ours) = (0, 0);
    for (opa, call) in calls {
        let codes = found.get(call).map_or(&[][..], Vec::as_slice);
        let by_types = codes.contains(&"type-error");
        // What the function itself says of a literal says more, and stands alone.
        let by_us = codes.contains(&"invalid-argument");
        assert!(codes.iter().all(|code| ["type-error", "invalid-argument"].contains(code)));
        match opa {
            "refused" => assert!(by_types || by_us, "{call}"),
            _ => assert!(!by_types, "{call}: {codes:?}"),
        }
        if !call.ends_with(" == 1") {
            assert!(!(by_types && by_us), "{call}: {codes:?}");
        }
        refused += u32::from(opa == "refused");
        ours += u32::from(by_types);
    }
    assert!(refused > 250 && ours > 50, "{refused} {ours}");
}

#[test]
fn an_argument_of_another_type_ends_every_load() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"1\" if {\n\tn := count(input)\n\tnot platform.discover(n, \"\")\n}\n";
    let policy = sandbox.write("p.rego", policy);
    let input = sandbox.write("i.json", "{}");
    let said = "platform.discover: invalid argument(s); have: (number, string); want: (string, any<null, \
                string>, object<...>[...])";
    for arguments in [
        &["eval", "-d", &policy, "data.p.deny"][..],
        &["gate", "-d", &policy, "-i", &input],
        &["test", &policy],
        &["check", &policy],
        &["eval", "n := count([1]); platform.discover(n, \"\")"],
    ] {
        let output = sandbox.run(arguments).env("PLATFORM_TOKEN", "t").output();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("platform.discover: invalid argument(s)"), "{arguments:?} {all}");
        assert!(all.contains("call it as platform.discover(digest, kind)"), "{all}");
        let refused = if arguments[0] == "check" { 1 } else { 2 };
        assert_eq!(output.code, Some(refused), "{arguments:?} {all}");
    }
    let output = sandbox.run(&["check", &policy]).output().code(1);
    assert!(output.stdout.contains(said), "{output:#?}");
    // So it is in a query, with its own lines.
    let query = "x := 1\nplatform.evidence({\"kind\": [[x]]})";
    let output = sandbox
        .local(&["eval", query])
        .output()
        .fails("platform.evidence`: argument `filters.kind[0]");
    assert!(output.stderr.contains(" --> query:2:28\n"), "{output:#?}");
    assert!(output.stderr.contains("argument `filters.kind[0]` is an array"), "{output:#?}");
    assert!(!output.stderr.contains("type-error"), "{output:#?}");
    // What the function says of a literal stands alone, once, in each form of a statement.
    for statement in [
        "platform.evidence([])",
        "not platform.evidence([])",
        "not  (platform.evidence([]))",
        "x := platform.evidence([]).results",
        "some x in platform.evidence([]).results",
        "every x in platform.evidence([]).results { x.kind }",
        "platform.evidence([]) with input as {}",
        "count([1 | platform.evidence([])]) == 1",
        "platform.evidence([], input.x)",
    ] {
        let policy =
            sandbox.write("p.rego", format!("package p\n\ndeny contains 1 if {{ {statement} }}\n"));
        let report = sandbox.run(&["check", "--format", "json", "--level", "error", &policy]);
        let report = report.output().code(1).json();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{statement}: {report:#}");
        assert_eq!(findings[0]["code"], "invalid-argument", "{statement}");
    }
}

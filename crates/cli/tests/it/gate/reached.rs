//! What an evaluation reached: calls that couldn't be made, and inputs of another shape than policies
//! read, can't pass.

use serde_json::Value;

use super::gate;
use crate::cli::Sandbox;
use crate::support::CLEAN_IMAGE;

/// Evaluates rules over an input, with the emulator. Returns the report; `code` is its exit status.
fn run(sandbox: &Sandbox, rules: &str, input: &str, code: i32) -> Value {
    let rules = rules.replace("IMAGE", CLEAN_IMAGE);
    let file = sandbox.write("p.rego", format!("package p\n\n{rules}\n"));
    let input = input.replace("IMAGE", CLEAN_IMAGE);
    let arguments = ["gate", "-d", &file, "-i", "-", "-f", "json", "--allow-warnings"];
    sandbox.served(&arguments).stdin(input).output().code(code).json()
}

/// Returns the error of the only verdict.
fn error(report: &Value) -> &Value {
    &report["inputs"][0]["verdicts"][0]["error"]
}

const HELPER: &str = "\n\nhas_sbom(digest) if {\n\tsome row in platform.discover(digest, \"\").references\n\t\
                      row.kind == \"SBOM_CYCLONEDX_JSON\"\n}\n";

/// Rules that reach a call that can't be made, with the input, the call's line, its operand and the
/// field that is missing.
const UNMADE: &[(&str, &str, (u64, &str, &str))] = &[
    // The call itself, and a function from which one is reached.
    (
        "deny contains 1 if not platform.discover(input.imge, \"\")",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    ("deny contains \"x\" if not has_sbom(input.imge)", "{}", (3, "input.imge", "input.imge")),
    (
        "deny contains \"x\" if not twice(input.imge)\n\ntwice(x) if once(x)\n\nonce(x) if has_sbom(x)",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    // An operand that is computed, of any depth.
    (
        "deny contains \"x\" if not platform.discover(lower(trim(input.imge, \" \")), \"\")",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if not platform.evidence({\"search\": input.name}).results",
        "{}",
        (3, "input.name", "input.name"),
    ),
    (
        "deny contains \"x\" if count(platform.discover(object.get(input, \"imge\", [])[0], \"\")) > 9",
        "{}",
        (3, "object.get(input, \"imge\", [])[0]", "object.get(input, \"imge\", [])[0]"),
    ),
    // Through another rule.
    (
        "deny contains \"x\" if not platform.discover(img, \"\")\n\nimg := input.imge",
        "{}",
        (3, "img", "input.imge"),
    ),
    (
        "deny contains \"x\" if img == 1\n\ndeny contains \"y\" if not platform.discover(img, \"\")\n\nimg := input.imge",
        "{}",
        (5, "img", "input.imge"),
    ),
    // Through a variable, a pattern, a look-up and an iteration.
    (
        "deny contains \"x\" if {\n\timg := input.imge\n\tnot platform.discover(img, \"\")\n}",
        "{}",
        (5, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if {\n\td := trim_prefix(input.imge, \"a\")\n\tplatform.discover(d, \"\").public\n}",
        "{}",
        (5, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if {\n\tsome i\n\td := input.list[i].digest\n\tplatform.discover(d, \"\").public\n}",
        r#"{"list": [{"a": 1}]}"#,
        (6, "input.list[i].digest", "input.list[i].digest"),
    ),
    (
        "deny contains \"x\" if {\n\tsome d in input.images\n\tplatform.discover(d, \"\").public\n}",
        "{}",
        (5, "input.images", "input.images"),
    ),
    (
        "deny contains \"x\" if {\n\td := input.imge\n\tx := [r | r := platform.discover(d, \"\")]\n\tcount(x) > 9\n}",
        "{}",
        (5, "input.imge", "input.imge"),
    ),
    // A look-up that binds the operand.
    (
        "deny contains \"x\" if {\n\tinput.images[d]\n\tplatform.discover(d, \"\").kind == \"X\"\n}",
        "{}",
        (5, "input.images[d]", "input.images[d]"),
    ),
    (
        "deny contains \"x\" if {\n\tplatform.discover(d, \"\").kind == \"X\"\n\tinput.images[d].sign\n}",
        "{}",
        (4, "input.images[d].sign", "input.images[d].sign"),
    ),
    (
        "deny contains \"x\" if every r in input.rows { r.kind == \"image\"; platform.discover(r.digest, \"\").kind }",
        r#"{"rows": [{"kind": "image"}]}"#,
        (3, "r.digest", "r.digest"),
    ),
    // A row without the field, whatever the other rows give.
    (
        "deny contains \"x\" if {\n\tsome r in input.rows\n\tplatform.discover(r.digest, \"\").kind == \"X\"\n}",
        r#"{"rows": [{"digest": "IMAGE"}, {}]}"#,
        (5, "r.digest", "r.digest"),
    ),
    (
        "deny contains \"x\" if platform.discover(input.rows[_].digest, \"\").kind == \"X\"",
        r#"{"rows": [{"digest": "IMAGE"}, {}]}"#,
        (3, "input.rows[_].digest", "input.rows[_].digest"),
    ),
    (
        "deny contains \"x\" if platform.discover(input.rows[_].digest, \"\").kind == \"X\"",
        "{}",
        (3, "input.rows[_].digest", "input.rows[_].digest"),
    ),
    (
        "deny contains \"x\" if not found\n\nfound if {\n\tsome r in input.rows\n\tplatform.discover(r.digest, \"\").kind\n}",
        r#"{"rows": [{"digest": "IMAGE"}, {}]}"#,
        (7, "r.digest", "r.digest"),
    ),
    // `every` ends at the first row, and the function exits early.
    (
        "deny contains \"x\" if every r in input.rows { not platform.discover(r.digest, \"\").kind }",
        r#"{"rows": [{"digest": "IMAGE"}, {}]}"#,
        (3, "r.digest", "r.digest"),
    ),
    (
        "deny contains \"x\" if not ok\n\nok if true\n\nok if platform.discover(input.imge, \"\").kind",
        "{}",
        (7, "input.imge", "input.imge"),
    ),
    // A definition that the rule index excludes.
    (
        "deny contains \"x\" if {\n\tnot platform.discover(input.imge, \"\")\n\tinput.kind == \"image\"\n}",
        r#"{"kind": "file"}"#,
        (4, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if {\n\tnot platform.discover(\"IMAGE\", \"\").kind\n}\n\ndeny contains \"x\" if {\n\tnot platform.discover(input.imge, \"\")\n\tinput.kind == \"image\"\n}",
        r#"{"kind": "file"}"#,
        (8, "input.imge", "input.imge"),
    ),
    // Comprehensions, `else`, `default`, functions' results, heads, partial objects, `with`.
    (
        "deny contains \"x\" if count([1 | platform.discover(input.imge, \"\").kind]) > 0",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if kind == \"X\"\n\nkind := \"Y\" if input.y\nelse := platform.discover(input.imge, \"\").kind",
        "{}",
        (6, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if not ok\n\ndefault ok := true\n\nok := false if platform.discover(input.imge, \"\").kind == \"X\"",
        "{}",
        (7, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if kinds[\"a\"] == \"X\"\n\nkinds[name] := platform.discover(row.digest, \"\").kind if some name, row in input.rows",
        r#"{"rows": {"a": {}}}"#,
        (5, "row.digest", "row.digest"),
    ),
    (
        "deny contains platform.discover(input.imge, \"\").kind",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    (
        "deny contains \"x\" if not has_sbom(input.imge) with input as {\"a\": 1}",
        "{}",
        (3, "input.imge", "input.imge"),
    ),
    // What replaces the input is an operand of whatever reads it.
    (
        "deny contains \"x\" if bad with input as input.spec\n\nbad if platform.discover(input.image, \"\").kind == \"X\"",
        r#"{"image": "IMAGE"}"#,
        (3, "input.spec", "input.spec"),
    ),
    (
        "deny contains \"x\" if {\n\tspec := input.spec\n\tbad with input as spec\n}\n\nbad if platform.discover(input.image, \"\").kind == \"X\"",
        "{}",
        (5, "input.spec", "input.spec"),
    ),
    (
        "deny contains \"x\" if not ok with input.image as input.spec.image\n\nok if platform.discover(input.image, \"\").kind",
        r#"{"spec": {}}"#,
        (3, "input.spec.image", "input.spec.image"),
    ),
    // An element that a pattern doesn't fit, although no value in it differs.
    (
        "deny contains \"x\" if {\n\tsome {\"digest\": d} in input.rows\n\tplatform.discover(d, \"\").kind == \"X\"\n}",
        r#"{"rows": [{"digest": "IMAGE"}, {"digest": "IMAGE", "name": "b"}]}"#,
        (5, "input.rows", "input.rows"),
    ),
    (
        "deny contains \"x\" if {\n\tsome {\"kind\": \"image\", \"digest\": d} in input.rows\n\tplatform.discover(d, \"\").kind == \"X\"\n}",
        r#"{"rows": [{"kind": "image"}]}"#,
        (5, "input.rows", "input.rows"),
    ),
    (
        "deny contains \"x\" if {\n\t[_, d] := input.rows[_]\n\tplatform.discover(d, \"\").kind == \"X\"\n}",
        r#"{"rows": [["a", "IMAGE"], ["b"]]}"#,
        (5, "input.rows[_]", "input.rows[_]"),
    ),
    (
        "deny contains \"x\" if not http.send({\"method\": \"get\", \"url\": input.url})",
        "{}",
        (3, "input.url", "input.url"),
    ),
];

#[test]
fn a_reached_call_that_couldnt_be_made_is_no_verdict() {
    let sandbox = Sandbox::new();
    for (rules, input, (line, operand, field)) in UNMADE {
        let helper = if rules.contains("has_sbom") { HELPER } else { "" };
        let report = run(&sandbox, &format!("{rules}{helper}"), input, 2);
        let error = error(&report);
        assert_eq!(error["kind"], "unmade-call", "{rules}: {report:#}");
        assert_eq!(error["position"]["line"], *line, "{rules}: {error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("`{field}`")), "{rules}: {message}");
        if !operand.starts_with("input") {
            assert!(message.contains(&format!("`{operand}` is undefined")), "{rules}: {message}");
        }
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("before the call"), "{rules}: {hint}");
    }
}

/// Arguments of a function that calls the service, whether a definition's head fits them, or selects others.
#[test]
fn an_argument_that_fits_no_head_cant_pass() {
    let sandbox = Sandbox::new();
    let call = "if platform.discover(d, \"\").kind == \"X\"";
    for (heads, row, code) in [
        (["{\"digest\": d}", ""], "{}", 2),
        (["{\"digest\": d}", ""], r#"{"digest": "IMAGE", "name": "a"}"#, 2),
        (["{\"digest\": d}", ""], r#""IMAGE""#, 2),
        (["{\"spec\": {\"digest\": d}}", ""], r#"{"spec": {}}"#, 2),
        (["[_, d]", ""], r#"["a"]"#, 2),
        (["{\"kind\": \"image\", \"digest\": d}", ""], r#"{"kind": "image"}"#, 2),
        (["{\"kind\": \"image\", \"digest\": d}", "[_, d]"], r#"["a"]"#, 2),
        (["{\"digest\": d}", ""], r#"{"digest": "IMAGE"}"#, 0),
        (["{\"kind\": \"image\", \"digest\": d}", ""], r#"{"kind": "file"}"#, 0),
        (["{\"kind\": \"image\", \"digest\": d}", ""], "{}", 0),
        (["{\"digest\": d}", "[_, d]"], r#"["a", "IMAGE"]"#, 0),
        (["{\"digest\": d}", "d"], r#""IMAGE""#, 0),
    ] {
        let definitions: Vec<String> = heads
            .iter()
            .filter(|head| !head.is_empty())
            .map(|head| format!("bad({head}) {call}\n\n"))
            .collect();
        let definitions = definitions.concat();
        let rules = format!("deny contains \"x\" if bad(input.row)\n\n{definitions}");
        let report = run(&sandbox, &rules, &format!("{{\"row\": {row}}}"), code);
        let kind = &error(&report)["kind"];
        assert_eq!(*kind == "unmade-call", code == 2, "{heads:?} {row}: {report:#}");
    }
}

/// Rules that end at a missing value before a call which decides, and the exit status for the input's image,
/// which has an SBOM.
const DECIDED_BY_CALL: &[(&str, i32)] = &[
    ("deny contains sprintf(\"%s has no SBOM\", [input.name]) if not has_sbom(input.image)", 0),
    ("deny contains sprintf(\"%s has an SBOM\", [input.name]) if has_sbom(input.image)", 2),
    ("deny contains m if { m := concat(\"\", [\"x\", input.name]); not has_sbom(input.image) }", 0),
    (
        "deny contains sprintf(\"%s\", [input.name]) if platform.discover(input.image, \"\").kind == \"ARTIFACT\"",
        0,
    ),
    (
        "deny contains sprintf(\"%s\", [input.name]) if platform.discover(input.image, \"\").kind != \"ARTIFACT\"",
        2,
    ),
    (
        "deny contains \"x\" if {\n\tnot startswith(input.branch, \"main\")\n\tnot has_sbom(input.image)\n}",
        0,
    ),
    (
        "deny contains \"x\" if {\n\tnot startswith(input.branch, \"main\")\n\thas_sbom(input.image)\n}",
        2,
    ),
    // A call behind another one.
    (
        "deny contains \"x\" if {\n\tnot startswith(input.branch, \"main\")\n\tsome row in platform.discover(input.image, \"\").references\n\tplatform.discover(row.digest, row.kind).kind == \"X\"\n}",
        0,
    ),
    // It costs money, so that nothing is decided.
    (
        "deny contains \"x\" if {\n\tnot startswith(input.branch, \"main\")\n\tplatform.evidence_prompt(\"x\", input.image).violations\n}",
        2,
    ),
    // The call fails.
    (
        "deny contains \"x\" if {\n\tnot startswith(input.branch, \"main\")\n\tplatform.discover(\"sha256:0000000000000000000000000000000000000000000000000000000000000000\", \"\").kind\n}",
        2,
    ),
];

#[test]
fn a_call_that_only_a_reading_reaches_is_made() {
    let sandbox = Sandbox::new();
    for (rule, code) in DECIDED_BY_CALL {
        let report = run(&sandbox, &format!("{rule}{HELPER}"), r#"{"image": "IMAGE"}"#, *code);
        let kind = error(&report)["kind"].as_str().unwrap_or_default();
        let expected = ["unreported-violation", "undecided-negation", "undecided-call"];
        assert_eq!(expected.contains(&kind), *code == 2, "{rule}: {report:#}");
    }
}

/// Statements after a call of the service, for lack of whose values the rule index leaves the rule out; with the
/// input and the kind of the error, if any.
const AFTER_A_CALL: &[(&str, &str, &str)] = &[
    ("platform.discover(input.base, \"\").kind == \"ATTESTATION\"", "{}", "unmade-call"),
    (
        "base := input.base; platform.discover(base, \"\").kind == \"ATTESTATION\"",
        "{}",
        "unmade-call",
    ),
    ("has_sbom(input.base)", "{}", "unmade-call"),
    ("input.args.mode == \"strict\"", "{}", "absent-member"),
    ("some name in [\"nme\"]; data.conftest.file[name] == \"x\"", "{}", "absent-member"),
    ("input.mode == \"strict\"", "[{}]", "other-shape"),
    ("input.mode == \"strict\"", "{}", ""),
    ("input.mode == \"strict\"; platform.discover(input.base, \"\").kind", "{}", ""),
];

#[test]
fn the_rule_index_hides_nothing_behind_a_call() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("i.json", "{}");
    let before = [
        "platform.discover(\"IMAGE\", \"\").kind != \"ATTESTATION\"",
        "found := platform.discover(\"IMAGE\", \"\"); count(found.references) > 0",
        "some row in platform.discover(\"IMAGE\", \"\").references; row.kind == \"SBOM_CYCLONEDX_JSON\"",
        "not platform.discover(\"IMAGE\", \"\").kind == \"ATTESTATION\"",
        "known",
    ];
    for call in before {
        for (statement, input, kind) in AFTER_A_CALL {
            let rules = format!(
                "deny contains \"x\" if {{ {call}; {statement} }}\n\n\
                 known if platform.discover(\"IMAGE\", \"\").digest{HELPER}"
            );
            let policy = sandbox
                .write("p.rego", format!("package p\n\n{}", rules.replace("IMAGE", CLEAN_IMAGE)));
            std::fs::write(&file, input).unwrap();
            let arguments = ["gate", "-d", &policy, "-i", &file, "-f", "json", "--allow-warnings"];
            let report =
                sandbox.served(&arguments).output().code(if kind.is_empty() { 0 } else { 2 });
            let report = report.json();
            let found = error(&report)["kind"].as_str().unwrap_or_default();
            assert_eq!(found, *kind, "{call}; {statement}: {report:#}");
        }
    }
    // A call that doesn't hold hides what is behind it, as in the order of the body.
    let rule = "deny contains \"x\" if {\n\tplatform.discover(\"IMAGE\", \"\").kind == \"ATTESTATION\"\n\t\
                platform.discover(input.base, \"\").kind\n}";
    run(&sandbox, rule, "{}", 0);
}

/// Rules whose calls are made, or aren't reached.
const REACHED_OR_NOT: &[(&str, &str, i32)] = &[
    (
        "deny contains \"x\" if not platform.discover(input.image, \"\").kind",
        r#"{"image": "IMAGE"}"#,
        0,
    ),
    // The statement before says that it is meant only for inputs with the field.
    (
        "deny contains \"x\" if {\n\tinput.imge\n\tnot platform.discover(input.imge, \"\")\n}",
        "{}",
        0,
    ),
    (
        "deny contains \"x\" if {\n\tinput.kind == \"image\"\n\tnot platform.discover(input.imge, \"\")\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    (
        "deny contains \"x\" if {\n\tsome r in input.rows\n\tr.digest\n\tplatform.discover(r.digest, \"\").kind == \"X\"\n}",
        r#"{"rows": [{}]}"#,
        0,
    ),
    // Nothing to call.
    (
        "deny contains \"x\" if platform.discover(input.rows[_].digest, \"\").kind == \"X\"",
        r#"{"rows": []}"#,
        0,
    ),
    (
        "deny contains \"x\" if platform.discover(rows[_], \"\").kind == \"X\"\n\nrows contains r if some r in input.rows",
        r#"{"rows": []}"#,
        0,
    ),
    (
        "deny contains \"x\" if every r in input.rows { platform.discover(r.digest, \"\").kind == \"X\" }",
        r#"{"rows": [{"digest": "IMAGE"}]}"#,
        0,
    ),
    // A condition on an element says for which the call is meant.
    (
        "deny contains \"x\" if every r in input.rows { r.kind == \"image\"; platform.discover(r.digest, \"\").kind }",
        r#"{"rows": [{}]}"#,
        0,
    ),
    // `else` after a value, and `or` after what holds, aren't reached.
    (
        "deny contains \"x\" if kind == \"X\"\n\nkind := \"Y\" if true\nelse := platform.discover(input.imge, \"\").kind",
        "{}",
        0,
    ),
    // Behind a call that the evaluation didn't make, nothing is reached.
    (
        "deny contains \"x\" if {\n\tplatform.discover(\"IMAGE\", \"\").kind == \"X\"\n\tnot platform.discover(input.imge, \"\")\n\tinput.kind == \"image\"\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    (
        "deny contains \"x\" if {\n\tnot platform.discover(\"IMAGE\", \"\")\n\tnot platform.discover(input.imge, \"\")\n\tinput.kind == \"image\"\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    // A function that `with` replaces isn't the service's.
    (
        "deny contains \"x\" if not f(input.imge) with f as true\n\nf(x) := platform.discover(x, \"\")",
        "{}",
        0,
    ),
    // A pattern that selects other elements.
    (
        "deny contains \"x\" if {\n\tsome {\"kind\": \"image\", \"digest\": d} in input.rows\n\tplatform.discover(d, \"\").kind == \"X\"\n}",
        r#"{"rows": [{"kind": "file"}, {"digest": "IMAGE"}]}"#,
        0,
    ),
    (
        "deny contains \"x\" if {\n\tinput.spec\n\tbad with input as input.spec\n}\n\nbad if platform.discover(input.image, \"\").kind == \"X\"",
        "{}",
        0,
    ),
    // A guard in a function, of a parameter.
    (
        "deny contains \"x\" if bad(input)\n\nbad(x) if {\n\tx.kind == \"image\"\n\tplatform.discover(x.digest, \"\").kind == \"X\"\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    (
        "deny contains \"x\" if bad(input)\n\nbad(x) if {\n\tx.digest\n\tplatform.discover(x.digest, \"\").kind == \"X\"\n}",
        "{}",
        0,
    ),
    (
        "deny contains \"x\" if bad(input)\n\nbad(x) if {\n\tstartswith(x.ref, \"a\")\n\tplatform.discover(x.digest, \"\").kind == \"X\"\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    (
        "deny contains \"x\" if {\n\tsome r in input.rows\n\tbad(r)\n}\n\nbad(x) := 1 if {\n\tx[0] == \"a\"\n\tplatform.discover(x[1], \"\").kind == \"X\"\n}",
        r#"{"rows": [["b"]]}"#,
        0,
    ),
    (
        "deny contains \"x\" if {\n\tx := input\n\tcount([1 |\n\t\tx.kind == \"image\"\n\t\tplatform.discover(x.digest, \"\").kind == \"X\"\n\t]) > 0\n}",
        r#"{"kind": "file"}"#,
        0,
    ),
    // A fail stays one, and so does what is skipped.
    (
        "deny contains \"no\"\n\ndeny contains \"x\" if not platform.discover(input.imge, \"\")",
        "{}",
        1,
    ),
    (
        "result := {\"skipped\": true, \"violations\": []} if not platform.discover(\"IMAGE\", \"\").x\n\nunused if platform.discover(input.imge, \"\")",
        "{}",
        2,
    ),
];

#[test]
fn a_call_that_is_made_or_not_reached_changes_no_verdict() {
    let sandbox = Sandbox::new();
    for (rules, input, code) in REACHED_OR_NOT {
        let report = run(&sandbox, rules, input, *code);
        assert_ne!(error(&report)["kind"], "unmade-call", "{rules}: {report:#}");
    }
}

const SHAPE_HELPERS: &str = "named(x) if x.name == \"x\"\n\ndocument := input\n\nsame(x) := x\n\n\
     taken({\"name\": name}) if name == \"x\"\n\n\
     opened(x) if { {\"name\": name} := x; name == \"x\" }\n\n\
     around := {\"d\": input}\n\nheld contains input\n\nitems := [x | some x in input]\n";

/// Rules over inputs, and the error's message; `None` if the input passes.
const SHAPES: &[(&str, &str, Option<&str>)] = &[
    ("input.name == \"x\"", "[{\"name\": \"y\"}]", Some("the input is an array")),
    ("input.name == \"x\"", "\"FROM scratch\"", Some("the input is a string")),
    // What `conftest parse Dockerfile` writes.
    (
        "input[_].Cmd == \"from\"",
        "[[{\"Cmd\": \"add\"}]]",
        Some("an element of the input is an array"),
    ),
    ("input[0].name == \"x\"", "[1]", Some("an element of the input is a number")),
    ("some x in input; x.name == \"x\"", "[{}, 1]", Some("an element of the input is a number")),
    (
        "every x in input { x.name == \"x\" }",
        "[{}, 1]",
        Some("an element of the input is a number"),
    ),
    // A Dockerfile that was read as a string, and what a failed command left.
    ("input[i].Cmd == \"from\"", "\"FROM scratch\"", Some("the input is a string")),
    ("some x in input; x.name == \"x\"", "null", Some("the input is null")),
    // Behind an excluded definition, and in a helper.
    ("input.name == \"x\"; input.kind == \"y\"", "[]", Some("the input is an array")),
    ("helper == 1", "[]", Some("the input is an array")),
    // By a computed name, through a function, a rule and a collection.
    ("name := lower(\"NAME\"); input[name] == \"x\"", "[{}]", Some("the input is an array")),
    ("some name in [\"name\"]; input[name] == \"x\"", "[{}]", Some("the input is an array")),
    ("named(input)", "[{}]", Some("the input is an array")),
    ("some x in input; named(x)", "[{}, \"x\"]", Some("an element of the input is a string")),
    ("some x in input; named(x)", "[{}, [1]]", Some("an element of the input is an array")),
    ("document.name == \"x\"", "[{}]", Some("the input is an array")),
    ("document[_].name == \"x\"", "[{}, [1]]", Some("an element of the input is an array")),
    ("some x in [input]; x.name == \"x\"", "[{}]", Some("the input is an array")),
    ("[input][_].name == \"x\"", "[{}]", Some("the input is an array")),
    ("same(input).name == \"x\"", "[{}]", Some("the input is an array")),
    ("document.critical > 0", "[{}]", Some("the input is an array")),
    ("x := document.image; count(x) > 9", "[{}]", Some("the input is an array")),
    ("document.name != \"x\"", "[{}]", Some("the input is an array")),
    ("\"a\" in document.list", "[{}]", Some("the input is an array")),
    ("around.d.name == \"x\"", "[{}]", Some("the input is an array")),
    ("held[_].name == \"x\"", "[{}]", Some("the input is an array")),
    ("items[_].name == \"x\"", "[{}, [1]]", Some("an element of the input is an array")),
    ("named(input)", "null", Some("the input is null")),
    ("named(input)", "5", Some("the input is a number")),
    ("some x in input; named(x)", "[{}, 5]", Some("an element of the input is a number")),
    ("items[_].name == \"x\"", "[{}, null]", Some("an element of the input is null")),
    ("input[_].script == 1", "{\"stages\": [], \"n\": 1}", Some("an element of the input is a")),
    ("input[_].contents.bad", "{\"elements\": [{}]}", Some("an element of the input is an array")),
    (
        "some e in input; e.script == 1",
        "{\"stages\": []}",
        Some("an element of the input is an array"),
    ),
    ("e := input[_]; e.script == 1", "{\"n\": 1}", Some("an element of the input is a number")),
    (
        "every e in input { e.script == 1 }",
        "{\"n\": 1}",
        Some("an element of the input is a number"),
    ),
    // Behind a pattern in the head of a function.
    ("taken(input)", "[{}]", Some("the input is an array")),
    ("taken(input)", "\"text\"", Some("the input is a string")),
    ("some x in input; taken(x)", "[[1]]", Some("an element of the input is an array")),
    ("taken(input)", "{\"name\": \"y\"}", None),
    ("taken(input)", "{}", None),
    // Behind a pattern for a variable, in a function and within an array.
    ("it := input; {\"name\": name} := it; name == \"x\"", "[{}]", Some("the input is an array")),
    ("some x in input; {\"name\": name} := x; name == 1", "[[1]]", Some("an element of the input")),
    ("it := input; opened(it)", "\"text\"", Some("the input is a string")),
    ("[{\"name\": name}] := input; name == 1", "[\"x\"]", Some("an element of the input is a")),
    ("it := input; [{\"name\": name}] := it; name == 1", "[[]]", Some("an element of the input")),
    ("it := input; {\"name\": name} := it; name == \"x\"", "{}", None),
    ("it := input; [[name], _] := it; name == \"x\"", "[[\"y\"], 1]", None),
    ("it := input.xs; {\"name\": name} := it; name == \"x\"", "{\"xs\": []}", None),
    // These mean it.
    ("walk(input, [_, x]); x.name == \"x\"", "[{}, \"x\", [1]]", None),
    ("walk(input, [_, x]); named(x)", "[{}, \"x\", [1]]", None),
    ("is_object(input); named(input)", "[{}]", None),
    ("some x in input.xs; named(x)", "{\"xs\": [{}, \"x\", [1]]}", None),
    ("some x in input; is_object(x); named(x)", "[{}, 5]", None),
    ("input[_].name == \"x\"", "[{\"name\": \"y\"}]", None),
    ("some x in input; is_object(x); x.name == \"x\"", "[{\"name\": 1}, 1]", None),
    ("is_object(input); input.name == \"x\"", "[1]", None),
    ("input[0] == 3", "[1]", None),
    ("count(input) > 3", "[1]", None),
    // Deeper, and in an object, types vary for good reasons.
    ("input.on.push == 1", "{\"on\": \"push\"}", None),
    ("input[_].script == 1", "{\"stages\": [], \"build\": {\"script\": 2}}", None),
    ("some job in input; job.script == 1", "{\"stages\": [], \"build\": {\"script\": 2}}", None),
    // Another input than the one that was given.
    ("input.name == \"x\" with input as [1]", "{\"a\": 1}", None),
];

#[test]
fn an_input_of_another_shape_is_no_verdict() {
    let sandbox = Sandbox::new();
    for (body, input, message) in SHAPES {
        let policy = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nhelper := input.number\n\n{SHAPE_HELPERS}"
        );
        let file = sandbox.write("i.json", input);
        let run = gate(&sandbox, &policy, &["-i", &file, "--allow-warnings"]);
        let Some(message) = message else {
            run.code(0);
            continue;
        };
        let report = run.fails(message).json();
        let error = error(&report);
        assert!(error["message"].as_str().unwrap().contains(message), "{body}: {error:#}");
        assert_eq!(error["kind"], "other-shape", "{body}: {error:#}");
        let line = match body {
            body if body.contains("helper") => 5,
            body if body.contains("named") => 7,
            body if body.contains("opened") => 15,
            _ => 3,
        };
        assert_eq!(error["position"]["line"], line, "{body}: {error:#}");
    }
}

#[test]
fn an_input_of_which_nothing_was_read_is_noted() {
    let sandbox = Sandbox::new();
    let noted = |body: &str, input: &str| {
        let policy = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nbad(x) if x.bad\n\ngood(x) if x.good > 1\n"
        );
        let file = sandbox.write("i.json", input);
        let report = gate(&sandbox, &policy, &["-i", &file]).code(0).json();
        let notes = report["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        notes.filter(|note| note.contains("without reading any of its values")).count() == 1
    };
    for (body, input) in [
        ("input.critcal > 0", "{\"critical\": 3}"),
        ("input.kind == \"x\"; input.name", "{\"critical\": 3}"),
        ("some r in input.rows; r.bad", "{\"rws\": []}"),
        ("input[_].bad", "[{\"good\": 1}]"),
        ("input[_].bad", "[]"),
        ("bad(input)", "{\"good\": 1}"),
    ] {
        assert_eq!(noted(body, input), input != "[]", "{body}");
    }
    for (body, input) in [
        ("input.critical > 3", "{\"critical\": 3}"),
        ("input.bad == 1; input.critical > 3", "{\"critical\": 3, \"bad\": 2}"),
        ("input.b == 1", "{\"b\": false}"),
        ("some k, v in input; k == v", "{\"critical\": 3}"),
        ("some r in input; r.good > 1", "[{\"good\": 1}]"),
        ("count(input) > 3", "{\"critical\": 3}"),
        ("1 == 2", "{\"critical\": 3}"),
        ("good(input)", "{\"good\": 1}"),
    ] {
        assert!(!noted(body, input), "{body}");
    }
}

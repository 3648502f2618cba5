//! What an evaluation couldn't judge can't pass: negations and messages for lack of an operand, orderings
//! of different types, members that aren't there, content that isn't text.

use serde_json::Value;

use super::gate;
use crate::cli::Sandbox;

/// Evaluates a policy over an input, with data; returns the exit status, and the kind of the error.
fn judged(sandbox: &Sandbox, policy: &str, input: &str, more: &[&str]) -> (i32, String, Value) {
    let input = sandbox.write("i.json", input);
    let data = sandbox.write("d.json", DATA);
    let arguments = ["-i", &input, "-d", &data, "--allow-warnings"];
    let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
    let output = gate(sandbox, policy, &arguments);
    let report = output.json();
    let code = code_of(&report);
    let kind = report["inputs"][0]["verdicts"][0]["error"]["kind"].as_str().unwrap_or_default();
    let kind = kind.to_owned();
    (code, kind, report)
}

fn code_of(report: &Value) -> i32 {
    match report["outcome"].as_str().unwrap() {
        "passed" => 0,
        "failed" => 1,
        _ => 2,
    }
}

const DATA: &str =
    r#"{"limits": {"a": {"max": 1}}, "ok": ["ghcr.io/a"], "allowed": {"ghcr.io/a": true}}"#;

/// An input in which `image`, `team` and the image of an element are missing.
const INPUT: &str =
    r#"{"name": "svc", "one": {"name": "a"}, "list": [{"name": "a"}], "empty": []}"#;

const HELPERS: &str = "trusted(i) if startswith(i, \"ghcr.io/\")\n\nboth(i, j) if i == j\n\n\
                       image := input.image\n\nimage_of(x) := x.image\n\nsame(x) := x\n\n\
                       names contains c.name if some c in input.list\n\n\
                       listed contains c if some c in input.list\n\n\
                       kind_of(x) := \"x\" if x.kind\n\n\
                       labels[c.name] := \"x\" if some c in input.list\n\n\
                       named if input.name\n\n\
                       nullable(x) if x == null\n\nnullable(x) if startswith(x, \"ghcr.io/\")\n";

/// Negated calls and look-ups with a missing operand.
const NEGATED: &[&str] = &[
    "not startswith(input.image, \"ghcr.io/\")",
    "not endswith(input.image, \"@sha256:\")",
    "not contains(input.image, \"@sha256:\")",
    "not regex.match(\"^ghcr.io/\", input.image)",
    "not glob.match(\"ghcr.io/*\", [], input.image)",
    "not input.image in data.ok",
    "not input.image in {\"a\", \"b\"}",
    "not \"a\" in input.tags",
    "not input.tags[0] in data.ok",
    "not count(input.approvals) > 1",
    "not to_number(input.coverage) >= 80",
    "not input.coverage >= 80",
    "not input.coverage + 1 >= 80",
    "not lower(input.image) == \"x\"",
    "not lower(trim(input.image, \" \")) == \"x\"",
    "not is_string(input.image)",
    "not trusted(input.image)",
    "not trusted(lower(input.image))",
    "not both(input.image, input.team)",
    "not both(input.name, input.team)",
    "not trusted(image)",
    "not startswith(image, \"ghcr.io/\")",
    "not startswith(image_of(input), \"ghcr.io/\")",
    "not startswith(same(input).image, \"ghcr.io/\")",
    "not data.allowed[input.image]",
    "not data.limits[input.team].max",
    "not named with input as input.spec",
    "not named with input.name as input.image",
    "not names[input.team]",
    "not startswith(data.missing.prefix, \"x\")",
    "not startswith(input.one.image, \"ghcr.io/\")",
    "not startswith(input.list[0].image, \"ghcr.io/\")",
    "not startswith(input.list[7].image, \"ghcr.io/\")",
    "some c in input.list; not startswith(c.image, \"ghcr.io/\")",
    "some c in listed; not startswith(c.image, \"ghcr.io/\")",
    "c := input.list[_]; not trusted(c.image)",
    "x := input.one; not startswith(x.image, \"ghcr.io/\")",
    "x := input; not startswith(x.image, \"ghcr.io/\")",
    "some i; c := input.list[i]; not c.image in data.ok",
    "every c in input.list { not startswith(c.image, \"ghcr.io/\") }",
    "count([1 | not startswith(input.image, \"ghcr.io/\")]) > 0",
    "not startswith(sprintf(\"%s\", [input.image]), \"ghcr.io/\")",
    "not startswith(input.image, \"ghcr.io/\") with data.x as 1",
];

/// The same with everything that a negation needs, or of which nothing is missing.
const DECIDED: &[&str] = &[
    "not startswith(input.name, \"svc\")",
    "not input.name in {\"svc\"}",
    "not data.limits[input.one.name].max",
    // A condition before says that it is meant only for inputs with it.
    "input.image; not startswith(input.image, \"ghcr.io/\")",
    "input.kind == \"image\"; not startswith(input.image, \"ghcr.io/\")",
    "image; not startswith(image, \"ghcr.io/\")",
    // A default, and what lacks a member that was computed.
    "not startswith(object.get(input, \"image\", \"ghcr.io/\"), \"ghcr.io/\")",
    "not startswith(object.get(input, \"one\", {}).name, \"a\")",
    "x := json.unmarshal(`{\"a\": 1}`); not startswith(x.b, \"ghcr.io/\")",
    "x := json.unmarshal(\"{}\"); not startswith(x.image, \"ghcr.io/\")",
    // The function of the policy takes `null`.
    "not nullable(input.image)",
    // A function that a condition makes undefined, and what a collection of rules lacks, is no reference.
    "not startswith(kind_of(input), \"ghcr.io/\")",
    "not startswith(labels[input.name], \"ghcr.io/\")",
    // Nothing to loop over.
    "some c in input.empty; not startswith(c.image, \"ghcr.io/\")",
    // Positive statements stay what they are.
    "startswith(input.image, \"ghcr.io/\")",
    "img := input.image; not startswith(img, \"ghcr.io/\")",
    // What the reading makes true changes nothing.
    "not startswith(input.image, \"ghcr.io/\"); input.name == \"other\"",
];

/// The places in which an expression can decide a verdict.
const PLACES: &[&str] = &[
    "deny contains \"bad\" if { EXPRESSION }\n",
    "deny contains msg if {\n\tEXPRESSION\n\tmsg := sprintf(\"%v isn't trusted\", [input.image])\n}\n",
    "deny contains \"bad\" if bad\n\nbad if { EXPRESSION }\n",
    "deny := [\"bad\" | EXPRESSION]\n",
    "result := {\"violations\": found}\n\nfound contains \"bad\" if { EXPRESSION }\n",
    "deny contains \"bad\" if fails(1)\n\nfails(_) if { EXPRESSION }\n",
    "default ok := true\n\ndeny contains \"bad\" if not ok\n\nok := false if { EXPRESSION }\n",
    // What is found is named by what is missing.
    "bad := {input.image | EXPRESSION}\n\ndeny contains \"bad\" if count(bad) > 0\n",
    "bad contains input.image if { EXPRESSION }\n\ndeny contains sprintf(\"%v\", [b]) if some b in bad\n",
    "deny contains problem(input)\n\nproblem(doc) := sprintf(\"%s\", [doc.image]) if { EXPRESSION }\n",
    "deny contains text(input) if { EXPRESSION }\n\ntext(x) := sprintf(\"%s\", [x.image])\n",
];

fn policy(place: &str, expression: &str, import: &str) -> String {
    let rules = place.replace("EXPRESSION", expression);
    format!("package p\n\n{import}{rules}\n{HELPERS}")
}

/// Evaluates policies in one run over an input, each in a package of its own; returns the status and the kind of the
/// error of each.
fn judged_together(sandbox: &Sandbox, policies: &[String], input: &str) -> Vec<(String, String)> {
    let input = sandbox.write("i.json", input);
    let data = sandbox.write("d.json", DATA);
    for (index, policy) in policies.iter().enumerate() {
        let text = policy.replacen("package p\n", &format!("package p{index:03}\n"), 1);
        sandbox.write(&format!("all/p{index}.rego"), text);
    }
    let folder = sandbox.path("all").to_str().unwrap().to_owned();
    let arguments = ["gate", "-d", &folder, "-d", &data, "-i", &input, "--allow-warnings"];
    let report = sandbox.run(&[&arguments[..], &["-f", "json"]].concat()).output().json();
    std::fs::remove_dir_all(folder).unwrap();
    let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), policies.len());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    verdicts.iter().map(|of| (text(&of["status"]), text(&of["error"]["kind"]))).collect()
}

#[test]
fn a_negated_call_without_its_operand_cant_pass() {
    let sandbox = Sandbox::new();
    let mut wrong = Vec::new();
    for place in PLACES {
        for (expressions, expected) in
            [(NEGATED, ("no_verdict", "undecided-negation")), (DECIDED, ("passed", ""))]
        {
            let policies: Vec<String> =
                expressions.iter().map(|expression| policy(place, expression, "")).collect();
            let verdicts = judged_together(&sandbox, &policies, INPUT);
            for ((status, kind), expression) in verdicts.into_iter().zip(expressions) {
                if (&*status, &*kind) != expected {
                    wrong.push((status, kind, *place, *expression));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// OPA itself has both readings: with the import, such a negation is true.
#[test]
fn a_negation_is_undecided_exactly_if_opas_two_readings_differ() {
    let sandbox = Sandbox::new();
    for (expressions, undecided) in [(NEGATED, true), (DECIDED, false)] {
        // In the modifier's scope and for a function that takes `null`, the readings are the same or differ
        // for other reasons.
        let differs = |expression: &&&str| {
            !["with", "nullable", "x.b", "x.image", "kind_of", "labels"]
                .iter()
                .any(|own| expression.contains(own))
        };
        for expression in expressions.iter().filter(differs) {
            let text = policy(PLACES[0], expression, "import future.keywords.not\n\n");
            let (code, _, report) = judged(&sandbox, &text, INPUT, &[]);
            assert_eq!(code, i32::from(undecided), "{text}\n{report:#}");
        }
    }
}

#[test]
fn the_error_says_what_is_missing_and_what_to_write() {
    let sandbox = Sandbox::new();
    let text = policy(PLACES[0], NEGATED[0], "");
    let (_, _, report) = judged(&sandbox, &text, INPUT, &[]);
    let error = &report["inputs"][0]["verdicts"][0]["error"];
    assert_eq!(error["position"]["line"], 3, "{error:#}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`not startswith(input.image, \"ghcr.io/\")`"), "{message}");
    assert!(message.contains("`input.image` is missing"), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("statement `input.image`"), "{error:#}");
}

/// Violations whose conditions hold and whose message has no value.
const UNSAID: &[&str] = &[
    "deny contains sprintf(\"%v: %v\", [input.name, input.owner]) if not input.owner",
    "deny contains concat(\" \", [input.name, input.owner]) if input.name",
    "deny contains {\"message\": \"m\", \"owner\": input.owner} if input.name",
    "deny contains msgs[input.name] if input.name\n\nmsgs := {\"x\": \"y\"}",
    "deny := [sprintf(\"%s\", [input.owner]) | input.name]",
    "deny := {sprintf(\"%s\", [input.owner]) | input.name}",
    "result := {\"violations\": v}\n\nv contains sprintf(\"%s\", [input.owner]) if input.name",
    "result := {\"violations\": [m | input.name; m := input.owner]}",
    "deny contains msg if {\n\tmsg := sprintf(\"%s\", [input.owner])\n\tinput.name\n}",
    "deny contains msg if {\n\tinput.name\n\towner := input.owner\n\tmsg := sprintf(\"%s\", [owner])\n}",
    "deny contains msg if some msg in v\n\nv contains input.owner if input.name",
    "deny contains msg if {\n\tsome c in input.list\n\tmsg := sprintf(\"%s\", [c.image])\n}",
    "deny := a | b\n\na contains input.owner if input.name\n\nb contains \"x\" if input.none",
    "violation contains {\"msg\": msg} if {\n\tinput.name\n\tmsg := sprintf(\"%s\", [input.owner])\n}",
    "warn contains sprintf(\"%s\", [input.owner]) if input.name",
    // Destructured, with a modifier, and combined.
    "deny contains msg if {\n\tinput.name\n\t[msg, _] := [sprintf(\"%s\", [input.owner]), 1]\n}",
    "deny contains msg if {\n\tinput.name\n\t{\"owner\": msg} := input.one\n}",
    "deny contains msg if {\n\tinput.name\n\t[owner, msg] := [input.owner, \"x\"]\n}",
    "deny contains msg if {\n\tinput.name\n\tmsg := sprintf(\"%s\", [input.owner]) with data.x as 1\n}",
    "deny contains object.union({\"msg\": \"x\"}, {\"owner\": input.owner}) if input.name",
    "result := object.union({\"skipped\": false}, {\"violations\": v})\n\nv contains input.owner if input.name",
    // Taken out of what others build.
    "deny contains v.msg if some v in found\n\nfound contains {\"msg\": input.owner} if input.name",
    "deny contains found[_].msg\n\nfound contains {\"msg\": input.owner} if input.name",
    "deny contains msg if msg := found[_]\n\nfound[c.name] := c.image if some c in input.list",
    "deny contains m if some m in {c.name: c.image | some c in input.list}",
    "deny contains m if some m in {c.image: c.name | some c in input.list}",
    "deny contains {\"a\": [c.image | some c in input.list]}.a[_]",
    // In containers, by keys, and through operators.
    "deny contains m if { some s in [found]; some m in s }\n\nfound contains input.owner if input.name",
    "deny contains [found][_][_]\n\nfound contains input.owner if input.name",
    "deny contains m if { some s in g; some m in s }\n\ng[\"k\"] contains input.owner if input.name",
    "deny := found - {\"z\"}\n\nfound contains input.owner if input.name",
    "deny := union({s | some s in [found]})\n\nfound contains input.owner if input.name",
    "deny contains m if found[m]\n\nfound contains input.owner if input.name",
    "deny contains m if some m, _ in found\n\nfound[input.owner] := 1 if input.name",
    "deny contains m if some m in sort(found)\n\nfound contains input.owner if input.name",
    "deny contains m if some m in array.reverse([c.image | some c in input.list])",
    "deny contains m if some m in ({c.image | some c in input.list} - {\"z\"})",
    // Built by a function.
    "deny := found(input)\n\nfound(x) := {c.image | some c in x.list}",
    "deny contains m if some m in found(input)\n\nfound(x) := [sprintf(\"%s\", [c.image]) | some c in x.list]",
];

/// Those that have one, whose conditions don't hold, or whose message is a condition.
const SAID: &[&str] = &[
    "deny contains sprintf(\"%v\", [object.get(input, \"owner\", \"?\")]) if input.none",
    "deny contains sprintf(\"%v\", [input.owner]) if input.none",
    "deny contains msg if {\n\tmsg := sprintf(\"%s\", [input.owner])\n\tinput.none\n}",
    "deny contains m(input) if input.name\n\nm(x) := x.owner",
    "deny contains msg if {\n\tinput.name\n\tmsg := m(input)\n}\n\nm(x) := x.owner",
    "deny contains msg if {\n\tinput.name\n\tsome msg in input.messages\n}",
    "deny contains msg if {\n\towner := input.owner\n\towner == \"x\"\n\tmsg := sprintf(\"%s\", [owner])\n}",
    "deny contains \"x\" if helper\n\nhelper := input.owner",
    "deny contains msg if {\n\tinput.name\n\t[msg, 2] = [input.owner, 1]\n}",
    "deny contains v.msg if { some v in found; v.kind == \"x\" }\n\nfound contains {\"msg\": \"m\", \"kind\": \"y\"} if input.name",
    "deny contains m if some m in found(input)\n\nfound(x) := [sprintf(\"%s\", [x.owner])] if x.name",
    // What is subtracted, looked up with a default or formatted isn't taken over.
    "deny := {\"m\" | input.none} - {c.image | some c in input.list}",
    "deny contains object.get(images, input.name, \"x\") if input.none\n\nimages[c.name] := c.image if some c in input.list",
    "deny contains sprintf(\"%s\", [m]) if some m in images\n\nimages contains c.image if some c in input.list",
    // An element on which a condition depends, and a detail of an item that is reported anyway.
    "deny contains m if { some m in images; m == \"bad\" }\n\nimages contains c.image if some c in input.list",
    "deny contains {\"msg\": \"x\"} if { some m in images; m.old }\n\nimages contains c.image if some c in input.list",
    "deny contains m if { all := {c.image | some c in input.list}; count(all) > 5; some m in all }",
    "deny contains {\"msg\": \"x\", \"all\": all} if { all := {c.image | some c in input.list}; count(all) > 5 }",
    "warn contains {\"msg\": \"x\", \"all\": [c.image | some c in input.list]} if input.name",
    // The conditions hold whatever the negation is read as; only the message has no value.
    "deny contains msg if {\n\tnot high(input)\n\tmsg := shown(sprintf(\"%v\", [input.cpu]))\n}\n\nhigh(c) if {\n\tnot is_number(c.cpu)\n\tstartswith(c.cpu, \"$\")\n}\n\nshown(x) := concat(\" \", [\"wrong:\", x])",
];

#[test]
fn a_violation_that_cant_be_said_cant_pass() {
    let sandbox = Sandbox::new();
    for (rules, expected) in
        [(UNSAID, ("no_verdict", "unreported-violation")), (SAID, ("passed", ""))]
    {
        let policies: Vec<String> =
            rules.iter().map(|rules| format!("package p\n\n{rules}\n")).collect();
        let verdicts = judged_together(&sandbox, &policies, INPUT);
        for ((status, kind), rules) in verdicts.iter().zip(rules) {
            assert_eq!((&**status, &**kind), expected, "{rules}");
        }
    }
}

/// The variables of a reference that finds nothing have no values, whatever the comparison is read as.
#[test]
fn a_comparison_without_its_operand_leaves_violations_alone() {
    let sandbox = Sandbox::new();
    let rows = r#"{"rs": {"x": {"a": {"all": false}}, "y": {"b": {"role": "q"}}}}"#;
    for (body, code) in [
        ("some name, type; input.rs[name][type].all != true; m := concat(\" \", [name, type])", 1),
        ("input.r.list[i] != \"\"; m := sprintf(\"%v\", [i])", 0),
        ("input.r.list[i] > 3; is_number(i); m := \"x\"", 0),
        ("not input.r.list[0] == 3; m := \"x\"", 1),
        ("some i; input.r[i].a < 3; f(i); m := i", 0),
    ] {
        let text = format!(
            "package p\n\ndeny contains m if {{ {body} }}\n\nf(x) if startswith(x, \"a\")\n"
        );
        let (found, kind, report) = judged(&sandbox, &text, rows, &[]);
        assert_eq!((found, &*kind), (code, ""), "{body}: {report:#}");
    }
}

#[test]
fn values_of_different_types_have_no_order() {
    let sandbox = Sandbox::new();
    let input = r#"{"coverage": "45%", "list": [1, 2], "mixed": [1, "2"], "pairs": [[1, 2], ["x", 1]],
                    "expires": "2020-01-01T00:00:00Z", "none": null}"#;
    for body in [
        "input.coverage < 80",
        "input.coverage <= 80",
        "80 > input.coverage",
        "80 >= input.coverage",
        "count(input.list) > input.args.max",
        "time.now_ns() > input.expires",
        "input.none > 1",
        "[1, \"x\"] > [\"y\", 1]",
        "max(input.mixed) == 1",
        "min(input.mixed) == \"2\"",
        "sort(input.mixed)[0] == \"2\"",
        "max(input.pairs)[0] == 1",
        "not input.coverage > 80",
        "high == 1",
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nhigh := 1 if input.coverage < 80\n\n\
             warn contains \"most\" if input.args.max == \"never\"\n"
        );
        let (code, kind, report) = judged(&sandbox, &text, input, &["--arg", "max=5"]);
        assert_eq!((code, &*kind), (2, "mixed-ordering"), "{body}\n{report:#}");
    }
    for body in [
        "count(input.list) > to_number(input.args.max)",
        "max(input.list) > 9",
        "is_number(input.coverage); input.coverage < 80",
        "input.coverage == 80",
        "[1, 2] > [1, 3]",
        "sort(input.list)[0] == 3",
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nwarn contains \"most\" if input.args.max == \"never\"\n"
        );
        let (code, _, report) = judged(&sandbox, &text, input, &["--arg", "max=5"]);
        assert_eq!(code, 0, "{body}\n{report:#}");
    }
}

#[test]
fn a_comparison_without_its_operand_is_noted() {
    let sandbox = Sandbox::new();
    for (rules, missing) in [
        ("deny contains \"x\" if input.image != \"x\"", Some("input.image")),
        ("deny contains \"x\" if data.limits[input.team].max < 3", Some("input.team")),
        ("deny contains \"x\" if input.coverage < 80", Some("input.coverage")),
        ("deny contains \"x\" if not ok\n\nok if not input.image == \"x\"", Some("input.image")),
        ("deny contains \"x\" if { input.image; input.image != \"x\" }", None),
        ("deny contains \"x\" if input.image == \"x\"", None),
        ("deny contains \"x\" if { input.image != \"x\"; input.name == \"y\" }", None),
    ] {
        let text = format!("package p\n\n{rules}\n");
        let (code, _, report) = judged(&sandbox, &text, INPUT, &[]);
        assert_eq!(code, 0, "{rules}\n{report:#}");
        let notes = report["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        let found: Vec<&str> = notes.filter(|note| note.contains("could have failed")).collect();
        assert_eq!(found.len(), usize::from(missing.is_some()), "{rules}: {found:?}");
        let named =
            |name: &str| found.iter().all(|note| note.contains(&format!("`{name}` is missing")));
        assert!(missing.is_none_or(named), "{rules}: {found:?}");
        let (code, ..) = judged(&sandbox, &text, INPUT, &["--fail-on-notes"]);
        assert!(code == 2 || missing.is_none(), "{rules}");
    }
}

#[test]
fn a_member_that_only_the_gate_supplies_cant_be_missing() {
    let sandbox = Sandbox::new();
    let input = r#"{"platform_metadata": {"project_name": "shop"}, "name": "a"}"#;
    for (body, closed) in [
        ("input.args.max == 1", true),
        ("count(input.args.max) > 3", true),
        ("args := input.args; args.max == 1", true),
        ("{\"max\": max} := input.args; max == 1", true),
        ("{\"min\": min} := input.args; min == 1", false),
        ("limits.max == 1", true),
        ("input.args.min == \"2\"; input.args[input.name] == 1", true),
        ("input.platform_metadata.version == 1", true),
        // A pattern names it, also in the head of a function, within others, and behind an iteration.
        ("taken(input.args)", true),
        ("within(input)", true),
        ("listed([input.args])", true),
        ("{\"args\": {\"max\": max}} := {\"args\": input.args}; max == 1", true),
        ("some {\"max\": max} in [input.args]; max == 1", true),
        ("input.kind == 1; input.args.max == 1", false),
        ("object.get(input.args, \"max\", 1) == 2", false),
        ("object.get(input, [\"args\", \"max\"], 1) == 2", false),
        ("input.args.min == \"1\"", false),
        ("input.platform_metadata.annotations.x == 1", false),
        ("input.platform_metadata.project_name == \"x\"", false),
        ("input.other.max == 1", false),
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nlimits := input.args\n\n\
             warn contains \"least\" if input.args.min == \"never\"\n\n\
             taken({{\"max\": max}}) if max == 1\n\n\
             within({{\"name\": _, \"platform_metadata\": _, \"args\": {{\"max\": max}}}}) if max == 1\n\n\
             listed([{{\"max\": max}}]) if max == 1\n"
        );
        let (code, kind, report) = judged(&sandbox, &text, input, &["--arg", "min=2"]);
        let expected = if closed { (2, "absent-member") } else { (0, "") };
        assert_eq!((code, &*kind), expected, "{body}\n{report:#}");
    }
    // Without any argument, the object itself is missing.
    for (body, closed) in [
        ("input.args.max == 1", true),
        ("args := input.args; args.max == 1", true),
        ("{\"max\": max} := input.args; max == 1", true),
        ("object.get(input.args, \"max\", 1) == 2", true),
        ("some _, max in input.args; max == 1", true),
        ("of(input.args)", true),
        ("object.get(input, [\"args\", \"max\"], 1) == 2", false),
        ("some member, _ in input; member == \"x\"", false),
        ("input.other == 1", false),
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nof(args) if args.max == \"never\"\n"
        );
        let (code, kind, report) = judged(&sandbox, &text, input, &[]);
        let expected = if closed { (2, "absent-member") } else { (0, "") };
        assert_eq!((code, &*kind), expected, "{body}\n{report:#}");
    }
}

#[test]
fn members_of_the_data_that_the_gate_supplies_cant_be_missing() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("input.json", "{}");
    for (body, closed) in [
        ("file := data.conftest.file; file.nme == \"x\"", true),
        ("file := data.conftest.file; startswith(file.nme, \"x\")", true),
        ("about := data.conftest; about.fle.name == \"x\"", true),
        ("about := data.conftest; key := \"file\"; about[key].nme == \"x\"", true),
        ("{\"nme\": name} := data.conftest.file; name == \"x\"", true),
        ("own.nme == \"x\"", true),
        ("key := \"nme\"; data.conftest.file[key] == \"x\"", true),
        ("some key in [\"nme\"]; data.conftest.file[key]", true),
        // The rule index asks for a member with this value.
        ("some key in [\"nme\"]; data.conftest.file[key] == \"x\"", true),
        ("some key in {\"nme\"}; \"x\" = data.conftest.file[key]", true),
        ("some key in [\"nme\"]; file := data.conftest.file; file[key] == \"x\"", true),
        ("some top in [\"conftest\"]; data[top].file.nme == \"x\"", true),
        ("top := \"conftest\"; data[top].file.nme", true),
        ("every key in [\"nme\"] { data.conftest.file[key] != \"x\" }", true),
        ("some key in [\"name\"]; data.conftest.file[key] == \"x\"", false),
        ("top := \"conftest\"; data[top].file.name == \"x\"", false),
        ("data.conftest.file[_] == \"x\"", false),
        ("key := \"fle\"; data.conftest[key].name == \"x\"", true),
        ("key := \"nme\"; not data.conftest.file[key]; 1 == 2", true),
        ("taken(data.conftest.file)", true),
        ("is(data.conftest.file)", true),
        ("file := data.conftest.file; file.name == \"x\"", false),
        ("file := data.conftest.file; object.get(file, \"nme\", \"\") == \"x\"", false),
        ("own.name == \"x\" with data.conftest.file as {}", false),
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nown := data.conftest.file\n\n\
             is(file) if file.nme == \"x\"\n\n\
             taken({{\"nme\": name, \"dir\": _}}) if name == \"x\"\n"
        );
        let policy = sandbox.write("p.rego", text);
        let arguments = ["gate", "-d", &policy, "-i", &file, "-f", "json", "--allow-warnings"];
        let report = sandbox.run(&arguments).output().code(if closed { 2 } else { 0 }).json();
        let kind = &report["inputs"][0]["verdicts"][0]["error"]["kind"];
        assert_eq!(*kind == "absent-member", closed, "{body}: {report:#}");
    }
}

/// A `with` that adds to an object which only the gate supplies doesn't open it.
#[test]
fn a_member_stays_missing_while_with_replaces_another_one() {
    let sandbox = Sandbox::new();
    let input = r#"{"platform_metadata": {"project_name": "shop"}}"#;
    for (body, closed) in [
        ("bad with input.foo as 1", true),
        ("bad with input.args.min as 1", true),
        ("bad with input.args.least as 1 with input.args.min as 2", true),
        ("input.platform_metadata.version with input.platform_metadata.annotations as {}", true),
        (
            "some name in [\"nme\"]; data.conftest.file[name] == 1 with data.conftest.file.x as 1",
            true,
        ),
        ("bad with data.foo as 1", true),
        ("bad with input.args.max as 1", false),
        ("bad with input.args as {\"min\": 1}", false),
        ("bad with input as {\"args\": {}}", false),
        ("data.conftest.file.nme == 1 with data.conftest.file as {}", false),
    ] {
        for arguments in [&["--arg", "min=2"][..], &[]] {
            let text = format!(
                "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nbad if input.args.max == 3\n\n\
                 warn contains \"least\" if object.get(input, [\"args\", \"min\"], 1) == \"never\"\n"
            );
            let (code, kind, report) = judged(&sandbox, &text, input, arguments);
            let expected = if closed { (2, "absent-member") } else { (0, "") };
            assert_eq!((code, &*kind), expected, "{body} {arguments:?}\n{report:#}");
        }
    }
}

/// A negation without its operand hides nothing that stands before or behind it.
#[test]
fn what_a_negation_hides_is_judged() {
    let sandbox = Sandbox::new();
    let missing = "not startswith(input.image, \"x\")";
    for (statement, kind) in [
        ("input.coverage < 80", "mixed-ordering"),
        ("max([input.coverage, 1]) == 9", "mixed-ordering"),
        ("input.args.mode == \"strict\"", "absent-member"),
        ("input.other == \"strict\"", ""),
    ] {
        for body in [format!("{statement}; {missing}"), format!("{missing}; {statement}")] {
            let text = format!("package p\n\ndeny contains \"x\" if {{ {body} }}\n");
            let (code, found, report) = judged(&sandbox, &text, r#"{"coverage": "45%"}"#, &[]);
            let code_expected = if kind.is_empty() { 0 } else { 2 };
            assert_eq!((code, &*found), (code_expected, kind), "{body}\n{report:#}");
        }
    }
}

/// Without an input, `input.args` has no member either.
#[test]
fn arguments_are_missing_without_an_input() {
    let sandbox = Sandbox::new();
    for (body, code) in [
        ("input.args.max == 1", 2),
        ("startswith(input.args.max, \"x\")", 2),
        ("object.get(input, [\"args\", \"max\"], 1) == 2", 0),
        ("input.other == 1", 0),
    ] {
        let policy =
            sandbox.write("p.rego", format!("package p\n\ndeny contains \"x\" if {body}\n"));
        let arguments = ["gate", "-d", &policy, "--no-input", "-f", "json", "--allow-warnings"];
        let report = sandbox.run(&arguments).output().code(code).json();
        let kind = &report["inputs"][0]["verdicts"][0]["error"]["kind"];
        assert_eq!(*kind == "absent-member", code == 2, "{body}: {report:#}");
    }
}

#[test]
fn arguments_that_are_no_object_have_no_members() {
    let sandbox = Sandbox::new();
    for input in
        [r#"{"args": null}"#, r#"{"args": "max"}"#, r#"{"args": [1]}"#, r#"{"args": {"min": 1}}"#]
    {
        let text = "package p\n\ndeny contains \"x\" if input.args.max == 1\n";
        let (code, kind, report) = judged(&sandbox, text, input, &[]);
        assert_eq!((code, &*kind), (2, "absent-member"), "{input}\n{report:#}");
    }
}

/// Whether a policy skips an input is judged as its verdict is.
#[test]
fn what_skips_an_input_is_judged() {
    let sandbox = Sandbox::new();
    let text = "package p\n\nresult := {\"skipped\": skipped, \"violations\": []}\n\n\
                default skipped := true\n\nskipped := false if input.args.mode == \"strict\"\n";
    let (code, kind, report) = judged(&sandbox, text, "{\"name\": \"a\"}", &["--allow-skipped"]);
    assert_eq!((code, &*kind), (2, "absent-member"), "{report:#}");
    let text = text.replace("input.args.mode", "object.get(input, \"mode\", \"\")");
    let (code, _, report) = judged(&sandbox, &text, "{\"name\": \"a\"}", &["--allow-skipped"]);
    assert_eq!(code, 0, "{report:#}");
}

/// The emulator sends `public` where its data have it, as the service does.
#[test]
fn public_that_the_service_didnt_send_cant_be_read() {
    let sandbox = Sandbox::new();
    let private = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";
    let public = "sha256:99add481bff769e418dea38ceca60c294097a657a8d0cbf7a18816bc2f65ee70";
    let local = format!("{}/testdata/platform", crate::ROOT);
    for (digest, body, expected) in [
        (private, "image.public", (2, "absent-member")),
        (private, "image.public == true", (2, "absent-member")),
        (private, "not image.public; 1 == 2", (2, "absent-member")),
        (private, "some r in image.references; r.public", (2, "absent-member")),
        (private, "is_public(image)", (2, "absent-member")),
        (private, "image[\"public\"]", (2, "absent-member")),
        (private, "{\"public\": p} := image; p", (2, "absent-member")),
        (private, "some {\"kind\": _, \"public\": p} in image.references; p", (2, "absent-member")),
        (private, "taken(image)", (2, "absent-member")),
        (private, "nodes[d].public", (2, "absent-member")),
        (private, "nodes[_].public", (2, "absent-member")),
        (private, "some d in [image.digest]; nodes[d].public", (2, "absent-member")),
        (private, "image.references[_].public", (2, "absent-member")),
        (private, "all := [image]; all[_].public", (2, "absent-member")),
        (private, "not nodes[image.digest].public; 1 == 2", (2, "absent-member")),
        (private, "some d; object.get(nodes[d], \"public\", false)", (0, "")),
        (public, "nodes[_].public == false", (0, "")),
        (private, "object.get(image, \"public\", false)", (0, "")),
        (private, "some r in image.references; object.get(r, \"public\", false)", (0, "")),
        (private, "image.kind == \"x\"; image.public", (0, "")),
        (public, "image.public == false", (0, "")),
        (public, "image.public", (1, "")),
        (private, "not object.get(image, \"public\", false)", (1, "")),
    ] {
        let text = format!(
            "package p\n\nimage := platform.discover(\"{digest}\", \"CONTAINER_IMAGE\")\n\n\
             is_public(x) if x.public\n\ntaken({{\"kind\": _, \"public\": p}}) if p\n\nnodes[image.digest] := image\n\ndeny contains \"x\" if {{ {body} }}\n"
        );
        let (code, kind, report) = judged(&sandbox, &text, INPUT, &["--local", &local]);
        assert_eq!((code, &*kind), expected, "{digest} {body}\n{report:#}");
    }
}

#[test]
fn an_empty_response_that_a_pass_read_is_a_note() {
    let sandbox = Sandbox::new();
    let local = format!("{}/testdata/platform", crate::ROOT);
    let evidence =
        |project: &str| format!("platform.evidence({{\"project_name\": \"{project}\"}}).results");
    let compliance = "platform.project_compliance({\"project_version_id\": \"2fb90197-269e-5a23-8348-44b594d0d003\"}).evaluations";
    for (rows, body, note) in [
        (evidence("nothing"), "some r in rows; r.kind == \"x\"", Some("platform.evidence")),
        (
            evidence("nothing"),
            "every r in rows { r.kind == \"x\" }; 1 == 2",
            Some("platform.evidence"),
        ),
        (compliance.to_owned(), "some r in rows; r.x == 1", Some("platform.project_compliance")),
        (evidence("payments-api"), "some r in rows; r.kind == \"x\"", None),
        // Not read, since a statement before says for which inputs the rule is.
        (evidence("nothing"), "input.kind == \"x\"; some r in rows; r.kind == \"x\"", None),
    ] {
        let text = format!("package p\n\nrows := {rows}\n\ndeny contains \"x\" if {{ {body} }}\n");
        let (code, _, report) = judged(&sandbox, &text, INPUT, &["--local", &local]);
        assert_eq!(code, 0, "{body}\n{report:#}");
        let notes = report["notes"].to_string();
        let expected = note.map(|function| format!("with an empty response from `{function}`"));
        let is_noted = notes.contains("empty response");
        assert_eq!(is_noted, note.is_some(), "{body}: {notes}");
        assert!(expected.is_none_or(|expected| notes.contains(&expected)), "{body}: {notes}");
        let (code, ..) = judged(&sandbox, &text, INPUT, &["--local", &local, "--fail-on-notes"]);
        assert!(note.is_none() || code == 2, "{body}");
    }
    // A violation was said, or the list's length was judged.
    let counted = format!(
        "package p\n\nrows := {}\n\ndeny contains \"no evidence\" if count(rows) == 0\n",
        evidence("nothing")
    );
    assert_eq!(judged(&sandbox, &counted, INPUT, &["--local", &local]).0, 1);
}

#[test]
fn combined_documents_have_the_shape_that_is_read() {
    let sandbox = Sandbox::new();
    for (body, input, misshapen) in [
        ("input[_].contents.name == \"x\"", "[1]", true),
        ("input[_].contents[_].name == \"x\"", "[[1]]", true),
        ("some f in input; some x in f.contents; x.name == 1", "[1]", true),
        ("some f in input; doc := f.contents; doc.name == 1", "\"text\"", true),
        ("{\"name\": n} := input[_].contents; n == 1", "[1]", true),
        ("some f in input; f.contents.name == \"x\"", "[1]", true),
        ("some f in input; f.contents[_].name == \"x\"", "[[1]]", true),
        ("f := input[_]; f.contents.name == \"x\"", "\"text\"", true),
        ("some i; input[i].contents.name == \"x\"", "[1]", true),
        ("named(input[_])", "[1]", true),
        ("every f in input { f.contents.name != \"x\" }; 1 == 2", "[1]", true),
        ("some f in input; f.contents.name == \"x\"", "{\"name\": \"y\"}", false),
        ("some f in input; f.path == \"x\"", "[1]", false),
        ("input[_].contents.name == \"x\"", "{\"name\": \"y\"}", false),
        ("input[_].contents[_].name == \"x\"", "[{\"name\": \"y\"}]", false),
        ("input[_].contents.name.first == \"x\"", "{\"name\": \"y\"}", false),
        ("input[_].path == \"x\"", "[1]", false),
    ] {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{ {body} }}\n\nnamed(f) if f.contents.name == \"x\"\n"
        );
        let (code, kind, report) = judged(&sandbox, &text, input, &["--combine"]);
        let expected = if misshapen { (2, "other-shape") } else { (0, "") };
        assert_eq!((code, &*kind), expected, "{body}\n{report:#}");
    }
    // An element of the combined input has no other members than the gate gives it.
    for (body, absent) in [
        ("input[_].name == \"x\"", true),
        ("some f in input; f.name == \"x\"", true),
        ("some f in input; f.content.name == \"x\"", true),
        ("some f in input; object.get(f, \"name\", \"\") == \"x\"", false),
        ("some f in input; f.path == \"x\"", false),
        ("some f in input; f.contents.other == \"x\"", false),
    ] {
        let text = format!("package p\n\ndeny contains \"x\" if {{ {body} }}\n");
        let (code, kind, report) = judged(&sandbox, &text, "{\"name\": \"x\"}", &["--combine"]);
        let expected = if absent { (2, "absent-member") } else { (0, "") };
        assert_eq!((code, &*kind), expected, "{body}\n{report:#}");
    }
    for (body, input) in
        [("{\"name\": n} := input; n == 1", "[1]"), ("some {\"name\": n} in input; n == 1", "[1]")]
    {
        let text = format!("package p\n\ndeny contains \"x\" if {{ {body} }}\n");
        let (code, kind, report) = judged(&sandbox, &text, input, &[]);
        assert_eq!((code, &*kind), (2, "other-shape"), "{body}\n{report:#}");
    }
}

#[test]
fn on_regorus_our_engine_judges() {
    let sandbox = Sandbox::new();
    for (rules, expected) in [
        // Regorus itself takes such a negation for true, also where that makes an exception of it.
        ("deny contains \"x\" if not startswith(input.image, \"x\")", (2, "policy")),
        (
            "deny contains \"x\" if not exempt\n\nexempt if not startswith(input.image, \"x\")",
            (2, "policy"),
        ),
        (
            "deny contains \"x\" if bad\n\nbad := false if exempt\nelse := true\n\nexempt if not startswith(input.image, \"x\")",
            (2, "policy"),
        ),
        ("deny contains sprintf(\"%s\", [input.owner]) if input.name", (2, "unreported-violation")),
        ("deny contains \"x\" if input.name < 80", (2, "mixed-ordering")),
    ] {
        let text = format!("package p\n\n{rules}\n");
        let (code, found, report) = judged(&sandbox, &text, INPUT, &["--engine", "regorus"]);
        assert_eq!((code, &*found), expected, "{rules}\n{report:#}");
    }
}

#[test]
fn a_violation_without_a_severity_fails_beside_its_finding() {
    let sandbox = Sandbox::new();
    for (violation, code) in [
        ("\"m\"", 1),
        ("{\"message\": \"m\", \"severity\": \"odd\"}", 1),
        ("{\"message\": \"m\", \"severity\": \"low\"}", 0),
    ] {
        let text = format!(
            "package p\n\nviolations contains {violation}\n\n\
             findings contains {{\"message\": \"m\", \"severity\": \"low\"}}\n"
        );
        let (found, _, report) = judged(&sandbox, &text, INPUT, &["--fail-on", "high"]);
        assert_eq!(found, code, "{violation}\n{report:#}");
    }
}

#[test]
fn documents_of_a_combined_input_are_judged_whatever_takes_them_apart() {
    let sandbox = Sandbox::new();
    let mut wrong = Vec::new();
    for body in [
        "{ some f in input; c := f.contents; c.kind == \"x\" }",
        "{ cs[_].kind == \"x\" }\n\ncs := [f.contents | some f in input]",
        "has_kind(input[_].contents)\n\nhas_kind(document) if document.kind == \"x\"",
        "{ some f in input; {\"kind\": k} = f.contents; k == \"x\" }",
        "{ some f in input; {\"kind\": k} := f.contents; k == \"x\" }",
        "{ some {\"path\": _, \"contents\": {\"kind\": k}} in input; k == \"x\" }",
        "{ some f in input; {\"path\": _, \"contents\": {\"kind\": k}} = f; k == \"x\" }",
        "{ {\"path\": _, \"contents\": {\"kind\": k}} = input[_]; k == \"x\" }",
        "kind(input[_]) == \"x\"\n\nkind({\"path\": _, \"contents\": {\"kind\": k}}) := k",
    ] {
        let text = format!("package p\n\ndeny contains \"m\" if {body}\n");
        for input in ["[1]", "\"s\"", "5", "true", "null", "{\"kind\": \"y\"}"] {
            let (code, kind, _) = judged(&sandbox, &text, input, &["--combine"]);
            let expected = if input.starts_with('{') { (0, "") } else { (2, "other-shape") };
            if (code, &*kind) != expected {
                wrong.push(format!("{body} {input}: {code} {kind}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_argument_that_only_a_look_up_with_a_default_could_read_has_to_be_read() {
    let sandbox = Sandbox::new();
    for look_up in [
        "object.get(input, [\"args\", \"max\"], \"100\")",
        "object.get(input.args, \"max\", \"100\")",
        "object.get(input.args, [\"max\"], \"100\")",
    ] {
        let rule = format!("deny contains \"m\" if input.n > to_number({look_up})");
        let policy = format!("package p\n\n{rule}\n");
        let input = sandbox.write("i.json", "{\"n\": 50}");
        let run = |argument: &str| gate(&sandbox, &policy, &["-i", &input, "--arg", argument]);
        run("max=5").code(1);
        run("max=60").code(0);
        run("maxx=5").fails("unused argument: `maxx`");
    }
    // Any argument may be read here.
    for whole in ["object.keys(input.args)", "object.keys(object.get(input, \"args\", {}))"] {
        let policy = format!("package p\n\ndeny contains \"m\" if \"max\" in {whole}\n");
        gate(&sandbox, &policy, &["--arg", "maxx=5"]).code(0);
    }
}

#[test]
fn rules_in_the_place_of_what_the_gate_supplies_are_refused() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("i.json", "{}");
    for (package, rule, place) in [
        ("conftest", "file := {\"name\": \"x\"}", "data.conftest.file"),
        ("conftest", "default file := {}", "data.conftest.file"),
        ("conftest.file", "name := \"x\"", "data.conftest.file"),
        ("attestation", "signers := []", "data.attestation.signers"),
        ("attestation", "signers[0] := {\"key\": \"x\"}", "data.attestation.signers"),
    ] {
        let policy = format!("package {package}\n\n{rule}\n\ndeny contains \"m\" if false\n");
        let said = format!("rule in the place of `{place}`, which the gate supplies");
        gate(&sandbox, &policy, &["-i", &input, "--allow-warnings"]).fails(&said);
    }
    gate(&sandbox, "package conftest\n\ndeny contains \"m\" if input.x\n", &["-i", &input]).code(0);
}

#[test]
fn a_call_with_several_undefined_arguments_cant_pass() {
    let sandbox = Sandbox::new();
    for body in [
        "platform.discover(input.imge, input.knd).kind == \"ATTESTATION\"",
        "d := input.imge; k := input.knd; platform.discover(d, k).kind == \"ATTESTATION\"",
        "platform.discover(sprintf(\"%s%s\", [input.a, input.b]), \"\").kind == \"ATTESTATION\"",
        "some c in input.cs; platform.discover(c.d, c.k).kind == \"ATTESTATION\"",
        "d := input.imge; o := input.owner; platform.discover(d, \"\"); m := sprintf(\"%v\", [o]); m != \"\"",
        "d := input.imge; count([1 | some e in input.known; e == d]) == 0; platform.discover(d, \"\").kind == \"ATTESTATION\"",
    ] {
        let text = format!("package p\n\ndeny contains \"m\" if {{ {body} }}\n");
        let policy = sandbox.write("p.rego", text);
        let input = sandbox.write("i.json", "{\"q\": 1, \"cs\": [{}], \"known\": [\"a\"]}");
        sandbox.served(&["gate", "-d", &policy, "-i", &input]).output().fails("call skipped");
    }
}

#[test]
fn what_decides_that_a_policy_is_skipped_has_to_be_asked() {
    let sandbox = Sandbox::new();
    let text = "package p\n\nresult := {\"skipped\": skipped, \"violations\": set()}\n\n\
        default skipped := true\n\n\
        skipped := false if platform.discover(input.imge, \"\").kind == \"CONTAINER_IMAGE\"\n";
    let policy = sandbox.write("p.rego", text);
    let input = sandbox.write("i.json", "{\"q\": 1}");
    let run = ["gate", "-d", &policy, "-i", &input, "--allow-skipped"];
    sandbox.served(&run).output().fails("call skipped");
}

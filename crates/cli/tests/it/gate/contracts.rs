//! Contracts, and inputs of policies that are given for one run.

use crate::cli::{Output, Sandbox};

/// A policy that shows its arguments.
const SHOWS: &str = "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata: {name: shows}\nspec:\n  inputs:\n    - {name: x}\n    \
    - {name: w, default: dw}\n  policies:\n    - kind: EVIDENCE\n      embedded: |\n        package main\n\n        \
    import rego.v1\n\n        violations contains json.marshal(input.args)\n";

const CONTRACT: &str = "apiVersion: chainloop.dev/v1\nkind: Contract\nmetadata: {name: c}\nspec:\n  materials:\n    \
    - {name: a, type: EVIDENCE}\n    - {name: b, type: EVIDENCE, optional: true}\n    \
    - {name: one, type: EVIDENCE, group: any}\n    - {name: two, type: EVIDENCE, group: any}\n  \
    policies:\n    materials:\n      - ref: file://shows.yaml\n        gate: false\n        selector: {name: a}\n        with: {x: '1'}\n";

fn gate(sandbox: &Sandbox, more: &[&str]) -> Output {
    sandbox.write("shows.yaml", SHOWS);
    sandbox.write("a.json", "{\"n\": 1}");
    let fixed = ["gate", "--product", "chainloop", "-f", "json"];
    sandbox.run(&[&fixed[..], more].concat()).within(sandbox.path("")).output()
}

/// The messages of all violations.
fn said(output: Output) -> Vec<String> {
    let report = output.code(1).json();
    let inputs = report["inputs"].as_array().unwrap().iter();
    let verdicts = inputs.flat_map(|input| input["verdicts"].as_array().unwrap());
    let found = verdicts.flat_map(|verdict| verdict["violations"].as_array().unwrap());
    found.map(|found| found["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn inputs_of_policies_are_given_for_one_run() {
    let sandbox = Sandbox::new();
    sandbox.write("f.csv", "x,other\n/a,1\n/b,2\n");
    for (more, expected) in [
        (&[][..], r#"{"w":"dw"}"#),
        (&["--arg", "x=1", "--policy-input", "x=2"], r#"{"w":"dw","x":"2"}"#),
        (&["--policy-input", "shows:x=3", "--policy-input", "x=2"], r#"{"w":"dw","x":"3"}"#),
        (
            &["--arg", "x=1", "--policy-input-from-file", "x=f.csv"],
            r#"{"w":"dw","x":["1","/a","/b"]}"#,
        ),
        (&["--policy-input-from-file", "w=f.csv:OTHER"], r#"{"w":["1","2"]}"#),
        (&["--arg", "w="], "{}"),
        (&["--arg", "x={{ inputs.y }}"], r#"{"w":"dw"}"#),
    ] {
        let fixed = ["-d", "shows.yaml", "-i", "a.json", "--kind", "EVIDENCE"];
        assert_eq!(said(gate(&sandbox, &[&fixed[..], more].concat())), [expected], "{more:?}");
    }
    for (option, value, says) in [
        ("--policy-input", "x=", "missing value in `x=`"),
        ("--policy-input", "x", "missing `=` in `x`"),
        ("--policy-input", "y=1", "unused input: `y`"),
        ("--policy-input", "other:x=1", "unused input: `other:x`"),
        ("--policy-input-from-file", "x=f.csv:none", "no column `none`"),
        ("--policy-input-from-file", "x=none.csv", "can't read values from"),
        ("--arg", "y=1", "unused argument: `y`"),
        ("--arg", "x={{", "invalid template"),
    ] {
        let fixed = ["-d", "shows.yaml", "-i", "a.json", "--kind", "EVIDENCE"];
        gate(&sandbox, &[&fixed[..], &[option, value]].concat()).fails(says);
    }
    let undeclared = SHOWS.replace("input.args)", "input.args.y)");
    sandbox.write("u.yaml", undeclared);
    gate(&sandbox, &["-d", "u.yaml", "-i", "a.json"])
        .fails("undeclared input of the policy `shows`: `y`");
    for (unknown, says) in [
        ("trace(\"x\")", "trace"),
        ("input.chainloop_metadata.nam", "input.chainloop_metadata.nam"),
        ("opa.runtime().env", "opa.runtime"),
    ] {
        sandbox.write("u.yaml", SHOWS.replace("json.marshal(input.args)", unknown));
        let output = gate(&sandbox, &["-d", "u.yaml", "-i", "a.json"]).fails(says);
        assert!(format!("{output:?}").contains("u.yaml"), "{output:?}");
    }
}

#[test]
fn a_contract_is_evaluated() {
    let sandbox = Sandbox::new();
    sandbox.write("contract.yaml", CONTRACT);
    let run = |more: &[&str]| gate(&sandbox, &[&["--contract", "contract.yaml"], more].concat());
    let named = ["--material", "a=a.json"];
    sandbox.write("o.json", "{}");
    let one = [&named[..], &["--material", "one=o.json"]].concat();
    // An attachment's `gate: false` changes nothing, and an input that no policy is for has no verdict.
    let report = run(&one).fails("no policy for this input").json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["policy"], "c/shows");
    assert_eq!(
        report["inputs"][0]["verdicts"][0]["violations"][0]["message"],
        r#"{"w":"dw","x":"1"}"#
    );
    run(&named).fails("missing material of the group `any`: expected one of `one`, `two`");
    run(&["--material", "one=o.json"]).fails("missing material");
    let all = CONTRACT.replace("        selector: {name: a}\n", "");
    sandbox.write("contract.yaml", &all);
    let replaced = [&one[..], &["--policy-input", "c/none:x=2"]].concat();
    run(&replaced).fails("unused input: `c/none:x`");
    let replaced = [&one[..], &["--policy-input", "shows:x=2"]].concat();
    assert_eq!(said(run(&replaced)), vec![r#"{"w":"dw","x":"2"}"#; 2]);
    // The older form, and a group.
    let group = "apiVersion: chainloop.dev/v1\nkind: PolicyGroup\nmetadata: {name: g}\nspec:\n  inputs: [{name: v}]\n  policies:\n    \
        materials:\n      - policies:\n          - ref: file://shows.yaml\n            with: {x: '{{ inputs.v }}'}\n";
    sandbox.write("g.yaml", group);
    let older = "schemaVersion: v1\nmaterials:\n  - {name: a, type: EVIDENCE}\npolicyGroups:\n  - ref: file://g.yaml\n    with: {v: '7'}\n";
    sandbox.write("contract.yaml", older);
    assert_eq!(said(run(&named)), [r#"{"w":"dw","x":"7"}"#]);
    sandbox.write("contract.yaml", format!("{older}    skip: [shows]\n"));
    run(&named).fails("no policies to evaluate");
    for (from, to, says) in [
        ("v1\n", "v2\n", "unknown version `v2`: expected `v1`"),
        ("{v: '7'}", "{u: '7'}", "undeclared input of"),
        ("{v: '7'}", "{v: '{{ inputs.z }}'}", "a contract binds no inputs"),
        ("file://g.yaml", "g", "unsupported reference to a policy"),
        ("name: a,", "name: A,", "invalid name `A`"),
        ("EVIDENCE", "EVIDNCE", "did you mean `EVIDENCE`?"),
        ("policyGroups", "policyGrops", "unknown field `policyGrops`"),
    ] {
        sandbox.write("contract.yaml", older.replace(from, to));
        run(&named).fails(says);
    }
    sandbox.write("contract.yaml", all.replace("kind: Contract", "kind: Policy"));
    run(&named).fails("unexpected kind: expected `Contract`");
    // As data it is nothing to evaluate.
    sandbox.write("contract.yaml", &all);
    gate(&sandbox, &["-d", "contract.yaml", "-i", "a.json"])
        .fails("is a contract")
        .says("`--contract FILE`");
}

#[test]
fn authors_work_with_documents() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| sandbox.run(arguments).within(sandbox.path("")).output();
    run(&["new", "my_policy", "--for", "chainloop"]).code(0);
    run(&["new", "my_policy", "--for", "chainloop"]).fails("already exist");
    run(&["test", "my_policy.yaml", "my_policy_test.rego"]).code(0);
    run(&["test"]).code(0);
    run(&["check", "my_policy.yaml", "my_policy_test.rego"]).code(0);
    run(&["fmt", "--check", "--product", "chainloop"]).code(0);
    let gate = |input: &str| {
        run(&[
            "gate",
            "--product",
            "chainloop",
            "-d",
            "my_policy.yaml",
            "--kind",
            "EVIDENCE",
            "-i",
            input,
        ])
    };
    gate("inputs/pass/evidence.json").code(0);
    gate("inputs/fail/evidence.json").code(1);
    let output = run(&[
        "eval",
        "-d",
        "my_policy.yaml",
        "-i",
        "inputs/fail/evidence.json",
        "data.my_policy.result.skipped",
    ]);
    assert!(output.code(0).stdout.contains("false"));
    // A broken test or module has its place in the document.
    let text = std::fs::read_to_string(sandbox.path("my_policy.yaml")).unwrap();
    sandbox.write("my_policy.yaml", text.replace("found < wanted", "found<wanted"));
    assert_eq!(run(&["fmt", "--list"]).code(0).stdout, "my_policy.yaml\n");
    run(&["fmt", "--write"]).code(0);
    assert_eq!(std::fs::read_to_string(sandbox.path("my_policy.yaml")).unwrap(), text);
    sandbox.write("my_policy.yaml", text.replace("found < wanted", "found < wantd"));
    let line = 1 + text.lines().position(|line| line.contains("found < wanted")).unwrap();
    run(&["test"]).fails(&format!("my_policy.yaml:{line}:"));
    let check = run(&["check", "my_policy.yaml"]).code(1);
    assert!(check.stdout.contains(&format!("my_policy.yaml:{line}:")), "{check:?}");
}

/// A document in the form in which the vendor's client begins a new policy: no rule yet, its module beside it.
#[test]
fn a_begun_policy_passes_check() {
    let sandbox = Sandbox::new();
    let module = "package main\n\nimport rego.v1\n\n# Whether the policy understands the input\nvalid_input := true\n";
    let document = |source: &str| {
        format!(
            "# A new policy\napiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: begun\n  description: New\nspec:\n  \
             policies:\n    # The material\n    - kind: SBOM_CYCLONEDX_JSON\n      {source}\n"
        )
    };
    sandbox.write("begun.yaml", document("path: begun.rego"));
    sandbox.write("begun.rego", module);
    let run = |arguments: &[&str]| sandbox.run(arguments).within(sandbox.path("")).output();
    run(&["check"]).code(0);
    run(&["check", "begun.yaml"]).code(0);
    let indented = module.replace('\n', "\n        ");
    sandbox.write("begun.yaml", document(&format!("embedded: |\n        {indented}")));
    std::fs::remove_file(sandbox.path("begun.rego")).unwrap();
    run(&["check"]).code(0);
    run(&["gate", "-d", "begun.yaml", "--no-input"]).fails("has no verdict rule");
}

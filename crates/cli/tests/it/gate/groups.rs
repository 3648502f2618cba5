//! Groups of policies: which inputs their policies are for, and with which arguments.

use crate::cli::{Output, Sandbox};

/// A policy that takes the argument `max`, and says how its input is known.
const LIMIT: &str = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: limit}\nspec:\n  inputs:\n    \
    - {name: max, required: true}\n    - {name: unit, default: 'of {{ inputs.team }}'}\n  policies:\n    \
    - kind: SBOM_SPDX_JSON\n      embedded: |\n        package main\n\n        import rego.v1\n\n        \
    violations contains msg if {\n          input.n > to_number(input.args.max)\n          \
    own := input.platform_metadata.annotations\n          \
    msg := sprintf(\"%d %s %s\", [input.n, input.args.unit, own[\"platform.material.name\"]])\n        }\n";

const GROUP: &str = "apiVersion: workflowcontract.example/v1\nkind: PolicyGroup\nmetadata: {name: g}\nspec:\n  inputs:\n    \
    - {name: limit, required: true}\n    - {name: sbom, default: sbom}\n    - {name: team}\n  policies:\n    \
    materials:\n      - name: '{{ inputs.sbom }}'\n        type: SBOM_SPDX_JSON\n        policies:\n          \
    - ref: file://p/limit.yaml\n            with:\n              max: '{{ inputs.limit }}'\n      \
    - name: scan\n        type: SARIF\n        optional: true\n        policies:\n          \
    - embedded:\n              apiVersion: workflowcontract.example/v1\n              kind: Policy\n              metadata: {name: clean}\n              spec:\n                policies:\n                  \
    - embedded: |\n                      package main\n\n                      import rego.v1\n\n                      \
    violations contains sprintf(\"%s is bad\", [kind]) if {\n                        input.bad\n                        \
    kind := input.platform_metadata.annotations[\"platform.material.type\"]\n                      }\n";

/// Runs a gate over a group, in a folder with the policy to which it refers.
fn gate(sandbox: &Sandbox, group: &str, more: &[&str]) -> Output {
    sandbox.write("p/limit.yaml", LIMIT);
    sandbox.write("g.yaml", group);
    sandbox.write("a.json", super::SPDX.replacen('{', "{\"n\": 1, ", 1));
    sandbox.write("b.json", "{\"$schema\": \"s\", \"bad\": 1}");
    let fixed = ["gate", "-d", "g.yaml", "-f", "json"];
    sandbox.run(&[&fixed[..], more].concat()).within(sandbox.path("")).output()
}

/// The names of the policies with a verdict for an input, and what they say.
fn said(report: &serde_json::Value, input: usize) -> Vec<String> {
    let verdicts = report["inputs"][input]["verdicts"].as_array().unwrap().iter();
    let shown = |verdict: &serde_json::Value| {
        let found = verdict["violations"].as_array().unwrap().iter();
        let found: Vec<_> = found.map(|found| found["message"].as_str().unwrap()).collect();
        format!("{}: {}", verdict["policy"].as_str().unwrap(), found.join(", "))
    };
    verdicts.map(shown).collect()
}

#[test]
fn the_policies_of_a_group_are_for_its_materials() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| gate(&sandbox, GROUP, more);
    let sbom = ["--material", "sbom=a.json"];
    let limit = |limit: &'static str| [&sbom[..], &["--arg", limit]].concat();
    let report = run(&limit("limit=1")).code(0).json();
    assert_eq!(said(&report, 0), ["g/limit: "]);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("`g/clean` wasn't evaluated: no input for the material `scan`"),
        "{notes}"
    );
    let packages = report["inventory"]["packages"].as_array().unwrap();
    let clean = packages.iter().find(|package| package["name"] == "g/clean").unwrap();
    assert_eq!(
        (&clean["asked"], &clean["reason"]),
        (&false.into(), &"no input for the material `scan`".into())
    );
    assert_eq!(report["inventory"]["inputs"][0]["argument"], "sbom=a.json");
    let sources = report["sources"].to_string();
    assert!(sources.contains(&super::digest_of(LIMIT.as_bytes())), "{sources}");
    // Both materials, each with its own policies.
    let both = [&limit("limit=0")[..], &["--material", "scan=b.json", "--arg", "team=t"]].concat();
    let report = run(&both).code(1).json();
    assert_eq!(said(&report, 0), ["g/limit: 1 of t sbom"]);
    assert_eq!(said(&report, 1), ["g/clean: SARIF is bad"]);
    // The name is that of the file, or the one that is given for all inputs.
    let named = ["-i", "a.json", "--arg", "limit=0", "--arg", "sbom=a.json"];
    assert_eq!(said(&run(&named).code(1).json(), 0), ["g/limit: 1 of a.json"]);
    let named = ["-i", "a.json", "--arg", "limit=0", "--annotation", "platform.material.name=sbom"];
    run(&named).code(1);
    // Another folder than that of the group.
    let report = run(&["-d", "p", "--material", "sbom=a.json", "--arg", "limit=1"]).code(0).json();
    assert_eq!(said(&report, 0), ["g/limit: "]);
}

#[test]
fn a_material_that_is_missing_is_no_verdict() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| gate(&sandbox, GROUP, &[&["--arg", "limit=9"], more].concat());
    let missing = "missing material `sbom` of the group `g`";
    run(&["-i", "a.json"]).fails(missing).says("`--material NAME=FILE`");
    run(&["--material", "scan=a.json"]).fails(missing);
    run(&["--material", "sbom=a.json", "--combine"]).fails(missing);
    run(&["--no-input"]).fails(missing);
    // A prefix is one only where the group says so.
    run(&["--material", "sbom-1=a.json"]).fails(missing);
    let prefix = GROUP.replace("optional: true", "optional: true\n        match_mode: PREFIX");
    let prefix = prefix
        .replace("type: SBOM_SPDX_JSON\n", "type: SBOM_SPDX_JSON\n        matchMode: PREFIX\n");
    gate(&sandbox, &prefix, &["--arg", "limit=9", "--material", "sbom-1=a.json"]).code(0);
    // Every input has a policy, or no verdict.
    let report = run(&["--material", "sbom=a.json", "-i", "b.json"])
        .fails("no policy for this input")
        .json();
    assert_eq!(said(&report, 1), ["g/limit: "]);
    let optional =
        GROUP.replace("type: SBOM_SPDX_JSON\n", "type: SBOM_SPDX_JSON\n        optional: true\n");
    gate(&sandbox, &optional, &["--arg", "limit=9", "-i", "a.json"])
        .fails("no policy for this input");
    gate(&sandbox, &optional, &["--arg", "limit=9", "--no-input"])
        .fails("no policy for this input");
    run(&["--material", "sbom=a.json", "--material", "scan=a.json"])
        .fails("is given as two materials");
    let twice = GROUP.replace("name: scan", "name: sbom");
    gate(&sandbox, &twice, &["--arg", "limit=9", "--material", "sbom=a.json"])
        .fails("conflicting types of the material");
    // Of another kind than all inputs are said to be: nothing is evaluated.
    run(&["--material", "sbom=a.json", "--kind", "SARIF"]).fails("no policy for this input");
}

#[test]
fn policies_of_a_group_are_chosen_and_skipped_by_name() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| gate(&sandbox, GROUP, more);
    let both = ["--material", "sbom=a.json", "--material", "scan=b.json", "--arg", "limit=0"];
    let skipped = |name: &str| run(&[&both[..], &["--skip", name]].concat());
    let report = skipped("g/clean").fails("no policy for this input").json();
    assert_eq!(said(&report, 0), ["g/limit: 1 of sbom"]);
    let scan = ["--material", "scan=b.json", "--skip", "*/limit", "--arg", "limit=0"];
    let report = run(&scan).code(1).json();
    assert_eq!(said(&report, 0), ["g/clean: SARIF is bad"]);
    assert!(report["notes"].to_string().contains("`g/limit` wasn't evaluated: skipped by name"));
    assert_eq!(report["inventory"]["options"][0]["name"], "skip");
    // By the policy's own name too, as a contract does.
    assert_eq!(
        said(&skipped("clean").fails("no policy for this input").json(), 0),
        ["g/limit: 1 of sbom"]
    );
    skipped("limits").fails("no package matches `limits`");
    skipped("g").fails("no policies to evaluate");
    run(&["-n", "g/clean", "--material", "scan=b.json", "--arg", "limit=0"]).code(1);
    run(&["-n", "g/clean", "--material", "scan=b.json"])
        .fails("missing argument `limit` of the group `g`");
    // Of plain policies too.
    sandbox.write("q.rego", "package q\n\ndeny contains \"q\"\n");
    let plain = ["-d", "q.rego", "--material", "sbom=a.json", "--arg", "limit=1"];
    run(&plain).code(1);
    run(&[&plain[..], &["--skip", "q"]].concat()).code(0);
}

#[test]
fn a_material_without_a_name_is_every_input() {
    let sandbox = Sandbox::new();
    let nameless = GROUP.replace("      - name: '{{ inputs.sbom }}'\n        type", "      - type");
    let run = |more: &[&str]| gate(&sandbox, &nameless, &[&["--arg", "limit=0"], more].concat());
    assert_eq!(said(&run(&["-i", "a.json"]).code(1).json(), 0), ["g/limit: 1 of a.json"]);
    let report = run(&["-i", "a.json", "--kind", "SBOM_SPDX_JSON"]).code(1).json();
    let notes = report["notes"].to_string();
    assert!(notes.contains("`g/clean` wasn't evaluated: no input for the material"), "{notes}");
    // The kind of an input that is a named material is known.
    let report = run(&["-i", "a.json", "--material", "scan=b.json"]).code(1).json();
    assert_eq!(said(&report, 1), ["g/clean: SARIF is bad"]);
    // A name that is empty is none, as in the vendor's engine.
    let empty = GROUP.replace("default: sbom", "default: ''");
    let report = gate(&sandbox, &empty, &["--arg", "limit=0", "-i", "a.json"]).code(1).json();
    assert_eq!(said(&report, 0), ["g/limit: 1 of a.json"]);
}

#[test]
fn policies_for_attestations_are_for_that_kind() {
    let sandbox = Sandbox::new();
    let group = format!(
        "{GROUP}    attestation:\n      - embedded:\n          apiVersion: workflowcontract.example/v1\n          kind: Policy\n          \
         metadata: {{name: signed}}\n          spec:\n            \
         policies:\n              - embedded: |\n                  package main\n\n                  \
         import rego.v1\n\n                  violations contains \"subject\" if not input.subject\n"
    );
    let run = |more: &[&str]| gate(&sandbox, &group, &[&["--arg", "limit=9"], more].concat());
    let report = run(&["--material", "sbom=a.json"]).code(0).json();
    assert_eq!(said(&report, 0), ["g/limit: "]);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("`g/signed` wasn't evaluated: no input of the kind `ATTESTATION`"),
        "{notes}"
    );
    let statement = sandbox
        .write("s.json", "{\"_type\": \"https://in-toto.io/Statement/v1\", \"subject\": [], \"predicateType\": \"chainloop.dev/attestation/v0.2\", \"predicate\": {}}");
    let one = ["-n", "g/signed", "-i", &statement, "--kind", "ATTESTATION", "--unverified"];
    let report = run(&one).code(0).json();
    assert_eq!(said(&report, 0), ["g/signed: "]);
    run(&["-i", &statement, "--kind", "ATTESTATION", "--unverified"])
        .fails("missing material `sbom`");
}

#[test]
fn a_broken_group_is_refused_with_its_place() {
    let sandbox = Sandbox::new();
    for (from, to, says) in [
        (
            "inputs.limit",
            "inputs.limits",
            "g.yaml:16:20: undeclared input of the group `g`: `limits`",
        ),
        (
            "'{{ inputs.limit }}'",
            "'{{ inputs.limit'",
            "g.yaml:14:13: invalid template `{{ inputs.limit`",
        ),
        ("'{{ inputs.limit }}'", "'{{ limit }}'", "g.yaml:14:13: invalid template `{{ limit }}`"),
        ("inputs.sbom", "inputs.sbm", "g.yaml:11:15: undeclared input of the group `g`: `sbm`"),
        (
            "default: sbom",
            "default: '{{ inputs.team }}'",
            "g.yaml:7:29: template not supported here",
        ),
        ("max: '", "maximum: '", "g.yaml:16:24: undeclared input of the policy `limit`: `maximum`"),
        ("p/limit.yaml", "p/other.yaml", "g.yaml:14:18: can't read the policy `p/other.yaml`"),
        (
            "file://p/limit.yaml",
            "limit",
            "g.yaml:14:18: unsupported reference to a policy: `limit`",
        ),
        ("p/limit.yaml", "../p/limit.yaml", "is outside of"),
        ("p/limit.yaml", "p/limit.rego", "unexpected extension of the policy document"),
        (
            "p/limit.yaml",
            "g.yaml",
            "g.yaml:2:7: invalid policy document: unexpected kind: expected `Policy`",
        ),
        ("p/limit.yaml", "p/limit.yaml@sha256:00", "g.yaml:14:18: digest mismatch"),
        ("file://p/limit.yaml", "https://x.example/p.yaml", "missing digest of the policy"),
        ("        type: SARIF\n", "", "g.yaml:17:15: missing `type` of a named material"),
        ("type: SARIF", "typ: SARIF", "g.yaml:18:9: invalid policy group: unknown field `typ`"),
        (
            "type: SARIF",
            "type: '{{ inputs.team }}'",
            "g.yaml:18:15: invalid policy group: unknown kind",
        ),
        (
            "            with:\n",
            "            gate: 1\n            with:\n",
            "g.yaml:15:19: invalid policy group",
        ),
        (
            "            with:\n",
            "            selector: {nam: x}\n            with:\n",
            "unknown field `nam`",
        ),
        (
            "            with:\n",
            "            requirements: [x]\n            with:\n",
            "invalid requirement `x`",
        ),
        ("              kind: Policy\n", "", "missing field `kind`"),
        (
            "            with:\n              max: '{{ inputs.limit }}'\n",
            "",
            "g.yaml:14:13: missing argument `max` of the policy `g/limit`",
        ),
        (
            "- ref: file://p/limit.yaml\n            with",
            "- with",
            "g.yaml:14:13: invalid attachment: expected exactly one of `ref` and `embedded`",
        ),
        ("optional: true", "matchMode: GLOB", "unknown mode `GLOB`: expected `EXACT` or `PREFIX`"),
        ("spec:\n  inputs", "skip: [x]\nspec:\n  inputs", "unknown field `skip`"),
        ("name: g}", "name: ''}", "invalid name ``"),
    ] {
        let group = GROUP.replacen(from, to, 1);
        assert_ne!(group, GROUP, "{from}");
        let output = gate(&sandbox, &group, &["--material", "sbom=a.json", "--arg", "limit=1"]);
        let (place, says) = match says.split_once(": ") {
            Some((place, says)) if place.starts_with("g.yaml:") => (place, says),
            _ => ("", says),
        };
        output.fails(says).says(&format!(" {place}"));
    }
    let run =
        |more: &[&str]| gate(&sandbox, GROUP, &[&["--material", "sbom=a.json"], more].concat());
    run(&[]).fails("missing argument `limit` of the group `g`").says("`--arg NAME=VALUE`");
    run(&["--arg", "limit=1", "--arg", "limi=2"]).fails("unused argument: `limi`");
    // Only the group gives arguments to its policies.
    run(&["--arg", "limit=1", "--arg", "max=2"]).fails("unused argument: `max`");
    run(&["--material", "x"]).fails("`--material x` has no value");
    let optional = GROUP.replace("{name: limit, required: true}", "{name: limit}");
    gate(&sandbox, &optional, &["--material", "sbom=a.json"])
        .fails("missing argument `max` of the policy `g/limit`")
        .says("--> g.yaml:16:20");
    let none = "apiVersion: workflowcontract.example/v1\nkind: PolicyGroup\nmetadata: {name: g}\nspec: {policies: {}}\n";
    gate(&sandbox, none, &["--no-input"]).fails("policy group without policies");
}

#[test]
fn violations_of_a_group_fail_whatever_its_gates_say() {
    let sandbox = Sandbox::new();
    let group = GROUP.replace(
        "            with:\n",
        "            gate: false\n            disabled: true\n            selector: {name: x}\n            \
         requirements: [owasp/top-10@2021]\n            with:\n",
    );
    gate(&sandbox, &group, &["--material", "sbom=a.json", "--arg", "limit=0"]).code(1);
}

#[test]
fn a_group_that_attaches_a_policy_twice_numbers_both() {
    let sandbox = Sandbox::new();
    let twice = "          - ref: file://p/limit.yaml\n            with:\n              max: '5'\n          - ref: file://p/limit.yaml\n            with:";
    let group = GROUP.replace("          - ref: file://p/limit.yaml\n            with:", twice);
    let report =
        gate(&sandbox, &group, &["--material", "sbom=a.json", "--arg", "limit=0"]).code(1).json();
    assert_eq!(said(&report, 0), ["g/limit/1: ", "g/limit/2: 1 of sbom"]);
}

#[test]
fn a_group_is_checked() {
    let sandbox = Sandbox::new();
    sandbox.write("p/limit.yaml", LIMIT);
    sandbox.write("g.yaml", GROUP);
    let check = || sandbox.run(&["check", "g.yaml", "p"]).within(sandbox.path("")).output();
    check().code(0);
    // Arguments are given elsewhere, also by a group.
    sandbox.write("g.yaml", GROUP.replace("{name: limit, required: true}", "{name: limit}"));
    check().code(0);
    sandbox.write("g.yaml", GROUP.replace("input.bad", "platform.discoverr(input.bad, \"\")"));
    let output = check().code(1);
    assert!(output.stdout.contains("platform.discoverr"), "{output:?}");
    sandbox.write("g.yaml", GROUP.replace("max: '", "maximum: '"));
    check().fails("g.yaml:16:24");
}

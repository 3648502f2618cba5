//! Collections of rules: `--collection`, parameters, effective dates, and copies.

use serde_json::json;

use crate::cli::{Output, Sandbox};

/// An SBOM that says of each component what a rule of the collection asks for.
const SBOM: &str = r#"{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
  "metadata": {"timestamp": "2020-01-01T00:00:00Z", "authors": [{"name": "a"}],
    "component": {"type": "application", "bom-ref": "app", "name": "app", "version": "1"}},
  "components": [{"type": "library", "bom-ref": "b", "name": "b", "version": "2", "purl": "pkg:npm/b@2",
    "supplier": {"name": "s"}, "licenses": [{"license": {"id": "MIT"}}]}],
  "dependencies": [{"ref": "app", "dependsOn": ["b"]}, {"ref": "b"}]}"#;

fn gate(sandbox: &Sandbox, arguments: &[&str], input: &str) -> Output {
    sandbox.run(&[&["gate", "-i", "-", "-f", "json"], arguments].concat()).stdin(input).output()
}

#[test]
fn a_collection_needs_no_policy_of_ones_own() {
    let sandbox = Sandbox::new();
    let report = gate(&sandbox, &["--collection", "sbom"], SBOM).code(1).json();
    let failed: Vec<_> = report["inputs"][0]["verdicts"].as_array().unwrap().iter().collect();
    let failed: Vec<_> = failed.iter().filter(|own| own["status"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["policy"], "sbom.fresh");
    assert_eq!(failed[0]["violations"][0]["position"]["file"], "collection:sbom/fresh.rego");
    let sources = report["inventory"]["policies"].as_array().unwrap();
    let source = sources.iter().find(|own| own["argument"] == "collection:sbom").unwrap();
    assert!(source["digest"].as_str().unwrap().starts_with("sha256:"), "{source}");
    // One rule, and rules of one's own in the same run.
    let one = gate(&sandbox, &["--collection", "sbom/fresh"], SBOM).code(1).json();
    assert_eq!(one["policies"].as_array().unwrap().len(), 1);
    let own =
        sandbox.write("own.rego", "package own\n\ndeny contains \"v2\" if input.version == 2\n");
    let both = ["--collection", "sbom/fresh", "--collection", "sbom/unique", "-d", &own];
    let both = gate(&sandbox, &both, SBOM).code(1).json();
    assert_eq!(both["policies"].as_array().unwrap().len(), 3);
    gate(&sandbox, &["--collection", "sbon"], SBOM).fails("did you mean `sbom`");
    gate(&sandbox, &["--collection", "sbom/fresch"], SBOM).fails("did you mean `fresh`");
    // The functions of a different product.
    let other = ["--collection", "sbom", "--product", "chainloop", "--skip", "sbom.fresh"];
    gate(&sandbox, &other, SBOM).code(0);
}

#[test]
fn an_argument_is_a_parameter_whatever_the_input_is() {
    let sandbox = Sandbox::new();
    let fresh = |value: &str, input: &str| {
        let argument = format!("max_sbom_age_days={value}");
        gate(&sandbox, &["--collection", "sbom/fresh", "--arg", &argument], input)
    };
    let report = fresh("36500", SBOM).code(0).json();
    assert_eq!(report["inventory"]["arguments"], json!({"max_sbom_age_days": "36500"}));
    let description = "The greatest age of an SBOM, in days.";
    fresh("soon", SBOM).fails(description).fails("expected a number, found `soon`");
    gate(&sandbox, &["--collection", "sbom/fresh", "--arg", "max_sbom_age_day=1"], SBOM)
        .fails("did you mean `max_sbom_age_days`");
    gate(&sandbox, &["--collection", "sbom/fresh", "--arg", "age=1"], SBOM)
        .fails("the parameters of the rules are max_sbom_age_days");
    // No argument is put into an input that isn't an object, nor replaces a member of the input.
    let policy = "# METADATA\n# custom:\n#   parameters:\n#     - {name: names, description: Names., default: []}\n\
        package p\n\ndeny contains name if some name in object.get(data.parameters, \"names\", [])\n\n\
        deny contains \"n\" if input.n\n";
    let policy = sandbox.write("p.rego", policy);
    let none = sandbox.write("parameters.rego", "package parameters\n");
    let set = sandbox.write("set/parameters.rego", "package parameters\n\nnames := [\"x\"]\n");
    let reads = sandbox
        .write("reads.rego", "package q\n\ndeny contains \"q\" if input.args.names == \"a\"\n");
    let messages = |more: &[&str], input: &str| -> Vec<String> {
        let report = gate(&sandbox, &[&["-d", &policy], more].concat(), input).code(1).json();
        let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap();
        let found = verdicts.iter().flat_map(|own| own["violations"].as_array().unwrap());
        found.map(|own| own["message"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(messages(&["-d", &none, "--arg", "names=a,b"], r#"{"args": 1}"#), ["a", "b"]);
    assert_eq!(messages(&["-d", &none, "--arg", "names=a"], "{}"), ["a"]);
    assert_eq!(messages(&["-d", &set], "{}"), ["x"]);
    assert_eq!(messages(&["-d", &set, "--arg", "names=a"], "{}"), ["a"]);
    // Where a package reads `input.args`, it is there as well.
    assert_eq!(messages(&["-d", &none, "-d", &reads, "--arg", "names=a"], "{}"), ["a", "q"]);
    let skipped = ["-d", &none, "-d", &policy, "-d", &reads, "--skip", "p", "--arg", "name=a"];
    gate(&sandbox, &skipped, "{}").fails("unused argument");
}

#[test]
fn a_violation_before_its_date_is_a_warning() {
    let sandbox = Sandbox::new();
    let policy = |date: &str| {
        let above =
            format!("# METADATA\n# custom:\n#   remediation: Do it.\n#   effective_on: {date}\n");
        sandbox.write("p.rego", format!("{above}package p\n\ndeny contains \"bad\" if input.bad\n"))
    };
    let run = |file: &str, more: &[&str]| {
        gate(&sandbox, &[&["-d", file], more].concat(), r#"{"bad": true}"#)
    };
    let file = policy("\"2099-12-31\"");
    let report = run(&file, &[]).code(0).json();
    let found = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!(found["message"], "bad (becomes a failure on 2099-12-31)");
    assert_eq!((&found["effect"], &found["class"]), (&json!("warns"), &json!("warning")));
    assert_eq!(report["policies"][0]["effective_on"], "2099-12-31");
    run(&file, &["--fail-on-warn"]).code(1);
    // A date without quotes is one, too.
    run(&policy("2099-12-31"), &[]).code(0);
    let report = run(&policy("2020-01-31"), &[]).code(1).json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "bad");
    let report = run(&policy("soon"), &[]).code(1).json();
    assert!(
        report["notes"][0].as_str().unwrap().starts_with("date ignored: `custom.effective_on`")
    );
    // The remedy is in the reports.
    let human = sandbox.run(&["gate", "-d", &policy("2020-01-31"), "-i", "-"]);
    let human = human.stdin(r#"{"bad": true}"#).output().code(1).stdout;
    assert!(human.contains("\n  help: Do it.\n"), "{human}");
    let sarif = sandbox.run(&["gate", "-d", &policy("2020-01-31"), "-i", "-", "-f", "sarif"]);
    let sarif = sarif.stdin(r#"{"bad": true}"#).output().code(1).json();
    let rule = &sarif["runs"][0]["tool"]["driver"]["rules"][0];
    assert_eq!(rule["help"]["text"], "Do it.", "{rule}");
}

#[test]
fn controls_may_be_grouped_by_framework() {
    let sandbox = Sandbox::new();
    let policy = "# METADATA\n# custom:\n#   controls:\n#     osps: [OSPS-QA-02.02]\n#     slsa: [Build L2]\n\
        package p\n\ndeny contains \"bad\" if input.bad\n";
    let policy = sandbox.write("p.rego", policy);
    let report = gate(&sandbox, &["-d", &policy], "{}").code(0).json();
    assert_eq!(report["policies"][0]["controls"], json!(["OSPS-QA-02.02", "Build L2"]));
}

#[test]
fn policies_are_listed_and_described() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| sandbox.run(&[&["policies"], arguments].concat()).output();
    let list = run(&[]).code(0).stdout;
    assert!(list.lines().any(|line| line.starts_with("sbom ")), "{list}");
    let rules = run(&["show", "sbom"]).code(0).stdout;
    assert!(
        rules.lines().any(|line| line.starts_with("fresh ") && line.contains("medium")),
        "{rules}"
    );
    let rule = run(&["show", "sbom/fresh"]).code(0).stdout;
    for text in
        ["sbom/fresh: ", "severity ", "remedy ", "inputs ", "functions ", "controls ", "parameter "]
    {
        assert!(rule.lines().any(|line| line.starts_with(text)), "{text}: {rule}");
    }
    let one = run(&["show", "sbom/allowed-licenses"]).code(0).stdout;
    assert_eq!(run(&["show", "allowed-licenses"]).code(0).stdout, one);
    run(&["show", "fresh"]).fails("`sbom/fresh`");
    let json = run(&["show", "sbom/fresh", "--format", "json"]).code(0).json();
    assert_eq!(json["parameters"][0]["default"], 90);
    let json = run(&["--format", "json"]).code(0).json();
    assert!(json["collections"].as_array().unwrap().iter().any(|own| own["name"] == "sbom"));
    run(&["show", "alowed-licenses"]).fails("did you mean `allowed-licenses`");
}

#[test]
fn a_copy_of_a_collection_is_a_folder_of_policies() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("copy");
    let dir = dir.to_str().unwrap();
    let new = || sandbox.run(&["new", "--from", "sbom", "--dir", dir]).output();
    new().code(0);
    new().fails("already exists");
    sandbox.run(&["test", dir]).output().code(0);
    let messages = |report: Output| -> Vec<serde_json::Value> {
        let report = report.code(1).json();
        let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap();
        verdicts
            .iter()
            .flat_map(|own| own["violations"].as_array().unwrap().clone())
            .map(|own| own["message"].clone())
            .collect()
    };
    let original = messages(gate(&sandbox, &["--collection", "sbom"], SBOM));
    assert_eq!(messages(gate(&sandbox, &["-d", dir], SBOM)), original);
    let folder = format!("{dir}/sbom");
    assert_eq!(messages(gate(&sandbox, &["-d", &folder], SBOM)), original);
    let argument = ["-d", dir, "--arg", "max_sbom_age_days=36500"];
    gate(&sandbox, &argument, SBOM).code(0);
    sandbox
        .write("copy/sbom/parameters.rego", "package parameters\n\nmax_sbom_age_days := 36500\n");
    gate(&sandbox, &["-d", dir], SBOM).code(0);
    sandbox.run(&["new", "--from", "sbon"]).output().fails("did you mean `sbom`");
}

#[test]
fn a_settings_file_chooses_collections() {
    let sandbox = Sandbox::new();
    let text = "[gate]\ncollection = [\"sbom/fresh\"]\narg = { max_sbom_age_days = 36500 }\ninput = [\"sbom.json\"]\n";
    sandbox.write("rego-platform.toml", text);
    sandbox.write("sbom.json", SBOM);
    let run = |more: &[&str]| {
        let run = sandbox.run(&[&["gate", "-f", "json"], more].concat());
        run.command().current_dir(sandbox.path("")).output().unwrap()
    };
    assert_eq!(run(&[]).status.code(), Some(0));
    assert_eq!(run(&["--arg", "max_sbom_age_days=1"]).status.code(), Some(1));
    // A file that nobody named doesn't loosen the collections of the command line.
    let given = ["--collection", "sbom/fresh"];
    let refused = String::from_utf8(run(&given).stderr).unwrap();
    assert!(refused.contains("isn't trusted: `arg` would set parameters"), "{refused}");
    let trusted = ["--settings", "rego-platform.toml"];
    assert_eq!(run(&[&given[..], &trusted].concat()).status.code(), Some(0));
}

//! `check` and `capabilities`, through the command.

mod arguments;
mod attacks;
mod bundles;
mod capabilities;
mod dead;
mod hints;
mod ignore;
mod names;
mod references;
mod regorus;
mod reports;
mod shapes;
mod tests;
mod types;
mod values;
mod vendor;

use serde_json::Value;

use crate::cli::Sandbox;

/// A finding: code, line and column.
type Finding = (String, u64, u64);

/// A policy's rules, and the findings: code, line and column.
type Case<'a> = (&'a str, &'a [(&'a str, u64, u64)]);

/// Returns the findings of `check --format json` in these files, in one folder.
#[track_caller]
fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
    let sandbox = Sandbox::new();
    for (name, text) in files {
        sandbox.write(&format!("p/{name}"), text);
    }
    let folder = sandbox.path("p");
    let run = sandbox.run(&["check", "--format", "json", "-d", folder.to_str().unwrap()]);
    let output = run.output().silent();
    let report = output.json();
    let found: Vec<Finding> = report["findings"].as_array().unwrap().iter().map(finding).collect();
    assert_eq!(output.code, Some(i32::from(!found.is_empty())), "{report:#}");
    found
}

fn finding(value: &Value) -> Finding {
    let place = |name: &str| value["position"][name].as_u64().unwrap_or_default();
    (value["code"].as_str().unwrap().to_owned(), place("line"), place("column"))
}

/// Another package, which uses every rule of `p`.
const USER: &str = "package u\n\ndeny contains \"2\" if data.p[input.name]\n";

/// Checks a table: a policy's rules, and the findings, with lines from the first rule on.
///
/// A package and a verdict are added to each policy, and another package that uses all its rules.
#[track_caller]
fn table(cases: &[Case<'_>]) {
    for (rules, expected) in cases {
        let text = format!("package p\ndeny contains \"1\" if input.x\n{rules}\n");
        let expected: Vec<Finding> = expected
            .iter()
            .map(|(code, line, column)| ((*code).to_owned(), *line + 2, *column))
            .collect();
        assert_eq!(findings(&[("p.rego", &text), ("u.rego", USER)]), expected, "{rules}");
    }
}

/// What data there will be isn't known, unless `-d` or a bundle has it.
#[test]
fn paths_name_policies_and_data_is_named_apart() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| {
        sandbox.run(&[&["check"], arguments].concat()).within(sandbox.path("")).output()
    };
    sandbox.write("p/a.rego", "package a\n\ndeny contains data.list.bad if input.x\n");
    sandbox.write("p/package.json", "[{\"list\": 3}]");
    sandbox.write("p/chart/values.yaml", "list: 1\n");
    sandbox.write("p/chart/more.yaml", "list: 2\n");
    run(&["p"]).code(0);
    run(&[]).code(0);
    run(&["p", "-d", "p/chart/values.yaml"]).code(1);
    let output = run(&["-d", "p", "--ignore", "package.json", "--ignore", "chart/more.yaml"]);
    let shown = output.code(1).stdout;
    assert!(shown.contains("`data.list.bad`") && shown.contains("missing-data"), "{shown}");
    run(&["-d", "p"]).fails("doesn't contain an object");
    sandbox.write("d/list/data.json", "{\"bad\": \"it is bad\"}");
    run(&["p", "-d", "d"]).code(0);
    run(&["p", "d"]).fails("no policies in `d`").says("name data with `-d`");
    run(&["p", "d/list/data.json"]).fails("no policies in `d/list/data.json`");
    // A gate knows its data.
    let gate = ["gate", "-d", "p/a.rego", "--no-input", "--set", "x=1"];
    sandbox.run(&gate).within(sandbox.path("")).output().fails("`data.list.bad`");
    // A misspelt rule is found all the same, and a policy document is a policy.
    sandbox.write("p/b.rego", "package b\n\ndeny contains 1 if data.a.dny\n");
    assert!(run(&["p"]).code(1).stdout.contains("did you mean `data.a.deny`?"));
    std::fs::remove_file(sandbox.path("p/b.rego")).unwrap();
    sandbox.write(
        "p/policy.yaml",
        "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: 'n'}\nspec: {typ: 1}\n",
    );
    run(&["p"]).fails("`typ`");
    // Which it might be, if it were YAML.
    sandbox.write("p/policy.yaml", "apiVersion: workflowcontract.example/v1\nkind: [\n");
    run(&["p"]).fails("policy.yaml");
}

#[test]
fn the_shipped_policies_have_no_findings() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["check", "policies"]).output().code(0);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("0 errors and 0 warnings in "), "{}", output.stderr);
}

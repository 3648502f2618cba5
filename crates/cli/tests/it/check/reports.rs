//! The three reports, and the exit status.

use serde_json::Value;

use crate::cli::{BINARY, Output, Sandbox};

const POLICY: &str = "package p\n\nimport data.unused\n\n\
    deny contains \"ü\" if platform.evidence({\"knd\": [\"SARIF\"]})\n";

/// A folder with one wrong policy, and the command run within it.
fn run(policy: &str, arguments: &[&str]) -> Output {
    let sandbox = Sandbox::new();
    sandbox.write("my policies/p.rego", policy);
    sandbox.run(arguments).within(sandbox.path(".")).output()
}

#[test]
fn the_reports_are_as_documented() {
    for format in ["human", "json", "sarif"] {
        let output = run(POLICY, &["check", "--format", format, "my policies"]).code(1);
        insta::with_settings!({
            snapshot_path => "../snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
            filters => vec![(r#""semanticVersion": "[^"]*""#, r#""semanticVersion": "…""#)],
        }, {
            insta::assert_snapshot!(format!("check-{format}"), output.stdout);
        });
    }
}

#[test]
fn the_core_is_printed_beside_its_source() {
    let policy = "package p\n\ndeny contains msg if {\n\tsome x in input.xs\n\tmsg := x.name\n}\n";
    let output = run(policy, &["check", "--print-core", "my policies"]).code(0).silent();
    let line = |start: &str| output.stdout.lines().find(|line| line.trim().starts_with(start));
    let (set, rule) = (line("set data.p.deny set"), line("rule data[").unwrap_or_default());
    assert!(set.is_some() && rule.contains(" contains %"), "{}", output.stdout);
    assert!(
        rule.ends_with("# my policies/p.rego:3:1 | deny contains msg if {"),
        "{}",
        output.stdout
    );
    // A policy that doesn't load has no core.
    run("package p\n\nallow if x\n", &["check", "--print-core", "my policies"])
        .fails("var x is unsafe");
}

#[test]
fn sarif_points_at_what_is_meant() {
    let output = run(POLICY, &["check", "--format", "sarif", "./my policies/"]).code(1);
    let log: Value = output.json();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20policies/p.rego");
    }
    // `ü` before it is one column, as `columnKind` states.
    let region = &results[1]["locations"][0]["physicalLocation"]["region"];
    let column = |name: &str| usize::try_from(region[name].as_u64().unwrap()).unwrap();
    let line = POLICY.lines().nth(column("startLine") - 1).unwrap();
    let (start, end) = (column("startColumn") - 1, column("endColumn") - 1);
    let meant: String = line.chars().skip(start).take(end - start).collect();
    assert_eq!(meant, "\"knd\"");
    assert_eq!(run["columnKind"], "unicodeCodePoints");
}

#[test]
fn every_code_is_described_once() {
    let codes: Vec<&str> = rego_platform::check::RULES.iter().map(|rule| rule.code).collect();
    let once: std::collections::HashSet<_> = codes.iter().collect();
    assert_eq!(once.len(), codes.len());
    let mut used = Vec::new();
    for sources in ["src", "crates/gate/src", "crates/cli/src"] {
        codes_in(&std::path::Path::new(crate::ROOT).join(sources), &mut used);
    }
    assert!(used.len() > 30, "{used:?}");
    for (code, level) in &used {
        let rule = rego_platform::check::rule(code);
        let known = rule.unwrap_or_else(|| panic!("`{code}` isn't described"));
        assert_eq!(format!("{:?}", known.level).to_lowercase(), *level, "{code}");
    }
    for code in codes {
        assert!(used.iter().any(|(used, _)| used == code), "`{code}` is nowhere found");
    }
}

/// Collects the codes in the sources: those after `Diagnostic::error(` and `Diagnostic::warning(`, where a constant
/// has its code's name, and strings with a hyphen that are passed to helpers.
fn codes_in(folder: &std::path::Path, out: &mut Vec<(String, String)>) {
    let pattern =
        regex::Regex::new(r#"Diagnostic::(error|warning)\(\s*(?:"([a-z-]+)"|([A-Z_]+),)"#).unwrap();
    let code = |c: &regex::Captures<'_>| match c.get(2) {
        Some(code) => code.as_str().to_owned(),
        None => c[3].to_lowercase().replace('_', "-"),
    };
    let helpers = regex::Regex::new(
        r#"(?:self\.push|problem)\([^"()]*(?:\(\))?[^"()]*"([a-z]+(?:-[a-z]+)*)","#,
    )
    .unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The language's own problems have OPA's codes.
            if !path.ends_with("rego") {
                codes_in(&path, out);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let found = pattern.captures_iter(&text);
            out.extend(found.map(|c| (code(&c), c[1].to_owned())));
            let found = helpers.captures_iter(&text);
            out.extend(found.map(|c| (c[1].to_owned(), "error".to_owned())));
        }
    }
}

#[test]
fn the_exit_status_depends_on_the_level() {
    let warned = "package p\nimport data.unused\ndeny contains \"1\" if input.x\n";
    run(warned, &["check", "my policies"]).code(1);
    let output = run(warned, &["check", "--level", "error", "my policies"]).code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.contains("0 errors")), ("", true));
    let ignored = "package p\ndeny contains \"1\" if input.x # check:ignore unused-local\n";
    run(ignored, &["check", "--level", "error", "my policies"]).code(0);
    run(ignored, &["check", "my policies"]).code(1);
    assert_eq!(run(warned, &["check", "-q", "--level", "error", "my policies"]).stderr, "");
}

#[test]
fn policies_that_cannot_be_checked_do_not_pass() {
    run(POLICY, &["check", "no such"]).fails("no such");
    run(POLICY, &["check"]).code(1);
    run(POLICY, &["check", "my policies", "--local", "x"]).fails("doesn't support");
    let sandbox = Sandbox::new();
    let empty = sandbox.write("d/data.json", "{}");
    sandbox.run(&["check", &empty]).output().fails("no policies");
    let list = sandbox.write("list.json", "[1]");
    for (format, code) in
        [("json", r#""code": "data-error""#), ("sarif", r#""ruleId": "data-error""#)]
    {
        let output = sandbox
            .run(&["check", "-d", &list, "--format", format])
            .output()
            .fails("doesn't contain an object");
        assert!(output.stdout.contains(code), "{output:#?}");
    }
    assert!(std::path::Path::new(BINARY).exists());
}

#[test]
fn a_policy_cannot_command_the_terminal() {
    let policy = "package p\n\n::error::x\u{1b}[2J\n";
    for format in ["human", "json", "sarif"] {
        let output = run(policy, &["check", "--format", format, "my policies"]).code(1);
        assert!(!output.stdout.contains('\u{1b}'), "{output:?}");
        assert!(!output.stdout.lines().any(|l| l.trim_start().starts_with("::")), "{output:?}");
    }
}

#[test]
fn a_machine_format_is_a_document_whatever_happens() {
    let sandbox = crate::cli::Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for path in ["no/such/path", "empty"] {
        let check = |format| {
            let run = sandbox.run(&["check", "--format", format, path]).within(sandbox.path(""));
            run.output().fails_with_one_of(&["no policies", "no/such/path"]).json()
        };
        assert_eq!(check("json")["errors"], 1, "{path}");
        let sarif = check("sarif");
        let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], path);
    }
}

//! The help texts, as snapshots.

use super::Sandbox;

#[test]
fn help_texts() {
    let sandbox = Sandbox::new();
    for (name, arguments) in [
        ("main", &[][..]),
        ("eval", &["eval"]),
        ("test", &["test"]),
        ("new", &["new"]),
        ("check", &["check"]),
        ("fmt", &["fmt"]),
        ("run", &["run"]),
        ("capabilities", &["capabilities"]),
        ("gate", &["gate"]),
        ("serve", &["serve"]),
        ("attest", &["attest"]),
        ("pull", &["pull"]),
        ("push", &["push"]),
        ("vendor", &["vendor"]),
        ("call", &["call"]),
        ("api", &["api"]),
        ("api-products", &["api", "products"]),
        ("api-product-version", &["api", "product-version"]),
        ("api-projects", &["api", "projects"]),
        ("api-environments", &["api", "environments"]),
        ("api-approve", &["api", "approve"]),
        ("api-product-compliance", &["api", "product-compliance"]),
        ("api-infoz", &["api", "infoz"]),
        ("api-openapi", &["api", "openapi"]),
        ("auth", &["auth"]),
        ("auth-status", &["auth", "status"]),
        ("emulate", &["emulate"]),
        ("cache", &["cache"]),
        ("completions", &["completions"]),
        ("man", &["man"]),
    ] {
        let output = sandbox.run(&[arguments, &["--help"]].concat()).output().code(0).silent();
        insta::with_settings!({
            snapshot_path => "../snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("help-{name}"), output.stdout);
        });
    }
}

/// Rare options are in the manual alone.
#[test]
fn the_help_of_the_gate_is_short() {
    let sandbox = Sandbox::new();
    // Not the values of an option, which begin with `- `.
    let is_option = |line: &&str| {
        let line = line.trim_start();
        line.starts_with('-') && !line.starts_with("- ")
    };
    let common = ["--data", "--input", "--fail-on", "--allow-warnings", "--fail-on-notes"];
    for (help, most) in [("-h", 30), ("--help", 50)] {
        let output = sandbox.run(&["gate", help]).output().code(0).silent();
        let options: Vec<&str> = output.stdout.lines().filter(is_option).collect();
        assert!(options.len() <= most, "{}: {options:#?}", options.len());
        for option in common {
            assert!(options.iter().any(|line| line.contains(option)), "{option}: {options:#?}");
        }
    }
    let folder = sandbox.path("man").to_str().unwrap().to_owned();
    sandbox.run(&["man", &folder]).output().code(0);
    let page = std::fs::read_to_string(sandbox.path("man/rego-platform-gate.1")).unwrap();
    for option in common.iter().chain(&["--shard", "--max-calls", "--skip-verify"]) {
        let option = option.replace('-', "\\-");
        assert!(page.contains(&option), "{option}");
    }
}

#[test]
fn the_version_is_the_packages() {
    let output = Sandbox::new().run(&["--version"]).output().code(0).silent();
    let expected = concat!("rego-platform ", env!("CARGO_PKG_VERSION"));
    assert!(output.stdout.starts_with(expected), "{output:#?}");
}

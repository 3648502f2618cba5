//! `new`: what it writes passes at once, and nothing is overwritten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Sandbox;

#[test]
fn the_files_it_writes_pass_their_tests_and_the_check() {
    for product in ["platform", "chainloop"] {
        for (project, tests) in [("image", 5), ("release", 6), ("chainloop", 3)] {
            let sandbox = Sandbox::new();
            let dir = sandbox.path("made");
            let dir = dir.to_str().unwrap();
            let options = ["--for", project, "--dir", dir, "--product", product];
            let run = sandbox.run(&[&["new", "shipping"], &options[..]].concat());
            let output = run.output().code(0).silent();
            assert!(output.stdout.contains("rego-platform test"), "{output:#?}");
            let product = if project == "chainloop" { "chainloop" } else { product };
            let output =
                sandbox.run(&["test", dir, "--product", product]).output().code(0).silent();
            assert_eq!(output.stdout, format!("PASS: {tests}/{tests}\n"));
            let output = sandbox.run(&["check", dir, "--product", product]).output().code(0);
            assert_eq!(output.says("0 errors and 0 warnings in 2 files").stdout, "");
            sandbox.run(&["fmt", "--check", dir, "--product", product]).output().code(0);
            let workflow =
                std::fs::read_to_string(sandbox.path("made/.github/workflows/shipping.yml"))
                    .unwrap();
            let token = format!("{}_TOKEN", product.to_uppercase());
            assert!(
                workflow.contains(&format!("{token}: ${{{{ secrets.{token} }}}}")),
                "{workflow}"
            );
        }
    }
}

/// Runs the commands that `new` says are next, as a reader would.
fn follow(sandbox: &Sandbox, made: &str) {
    let commands: Vec<&str> =
        made.lines().filter_map(|line| line.strip_prefix("  rego-platform ")).collect();
    assert!(commands.len() > 1, "{made}");
    for command in commands {
        let (command, comment) = command.split_once("  # ").unwrap_or((command, ""));
        let arguments: Vec<&str> = command.split(' ').collect();
        let code = i32::from(comment == "fails");
        sandbox.run(&arguments).within(sandbox.path(".")).output().code(code);
    }
}

#[test]
fn the_next_steps_work_in_an_empty_folder() {
    for product in ["platform", "chainloop"] {
        for what in [
            &["shipping"][..],
            &["shipping", "--for", "image"],
            &["shipping", "--for", "release"],
            &["shipping", "--for", "chainloop"],
            &["--examples"],
        ] {
            let sandbox = Sandbox::new();
            let run = sandbox.run(&[&["new", "--product", product], what].concat());
            let made = run.within(sandbox.path(".")).output().code(0).silent();
            follow(&sandbox, &made.stdout);
        }
    }
}

/// The settings that are written are a gate's, so that the workflow needs no options.
#[test]
fn the_settings_it_writes_gate() {
    for project in ["image", "release", "chainloop"] {
        let sandbox = Sandbox::new();
        let within = |arguments: &[&str]| sandbox.run(arguments).within(sandbox.path(".")).output();
        within(&["new", "shipping", "--for", project]).code(0);
        within(&["new", "--examples", "--dir", "examples"]).code(0);
        let workflow =
            std::fs::read_to_string(sandbox.path(".github/workflows/shipping.yml")).unwrap();
        let gate = workflow.lines().find_map(|line| line.strip_prefix("          args:")).unwrap();
        let mut arguments = vec!["gate", "--local", "examples/service"];
        arguments.extend(gate.split_whitespace());
        within(&arguments).code(0);
        let file = if project == "chainloop" { "evidence" } else { project };
        let failing = format!("inputs/fail/{file}.json");
        within(&[&arguments[..], &["-i", &*failing]].concat()).code(1);
    }
}

#[test]
fn the_examples_are_those_of_the_repository() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("made");
    sandbox.run(&["new", "--examples", "--dir", dir.to_str().unwrap()]).output().code(0);
    let root = Path::new(crate::ROOT);
    for (made, source) in [
        ("policies", "policies"),
        ("release_gate", "examples/release_gate"),
        ("inputs", "testdata/inputs"),
        ("service", "testdata/platform"),
    ] {
        let of_policies = source == "policies";
        let (made, mut source) = (files(&dir.join(made)), files(&root.join(source)));
        // Collections are copied with `--from`.
        source.retain(|path, _| !of_policies || path.components().count() == 1);
        assert!(!made.is_empty());
        assert_eq!(made, source);
    }
    // A second time, nothing is changed.
    std::fs::remove_dir_all(dir.join("inputs")).unwrap();
    let run = sandbox.run(&["new", "--examples", "--dir", dir.to_str().unwrap()]);
    run.output().fails("service` already exist");
    assert!(!dir.join("inputs").exists());
}

/// Returns the files of a folder and what is below it, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
    }
    found
}

#[test]
fn nothing_is_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write("made/rego-platform.toml", "mine");
    let dir = sandbox.path("made");
    let run = sandbox.run(&["new", "release", "--dir", dir.to_str().unwrap()]);
    run.output().fails("rego-platform.toml` already exists");
    assert_eq!(std::fs::read_to_string(dir.join("rego-platform.toml")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
}

#[test]
fn names_are_packages() {
    let sandbox = Sandbox::new();
    for name in ["", "A", "a-b", "../a", "time", "platform", "a_test", "1"] {
        let dir = sandbox.path("none");
        let run = sandbox.run(&["new", "--dir", dir.to_str().unwrap(), "--", name]);
        run.output().fails_with_one_of(&[
            "`` isn't a valid policy name",
            "`A` isn't a valid policy name",
            "`a-b` isn't a valid policy name",
            "`../a` isn't a valid policy name",
            "`time` is reserved in Rego",
            "`platform` is the prefix of the functions",
            "`a_test` is a name for tests",
            "`1` isn't a valid policy name",
        ]);
        assert!(!dir.exists(), "{name}");
    }
    for (name, said) in [
        ("my-policy", "digits and `_`: `my_policy`"),
        ("data", "`data` is reserved in Rego"),
        ("time", "try `time_policy`"),
    ] {
        sandbox.run(&["new", name]).output().fails(said);
    }
    sandbox.run(&["new"]).output().fails("<NAME|--examples|--from <COLLECTION>>");
}

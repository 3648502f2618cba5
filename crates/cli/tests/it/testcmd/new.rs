//! `new`: what it writes passes at once, and nothing is overwritten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Sandbox;

#[test]
fn the_files_it_writes_pass_their_tests_and_the_check() {
    for product in ["platform", "chainloop"] {
        let sandbox = Sandbox::new();
        let dir = sandbox.path("made");
        let dir = dir.to_str().unwrap();
        let run = sandbox.run(&["new", "release", "--dir", dir, "--product", product]);
        let output = run.output().code(0).silent();
        assert!(output.stdout.contains("rego-platform test"), "{output:#?}");
        let output = sandbox.run(&["test", dir, "--product", product]).output().code(0).silent();
        assert_eq!(output.stdout, "PASS: 5/5\n");
        let output = sandbox.run(&["check", dir, "--product", product]).output().code(0);
        assert_eq!(output.says("0 errors and 0 warnings in 2 files").stdout, "");
    }
}

/// Runs the commands that `new` says are next, as a reader would.
fn follow(sandbox: &Sandbox, made: &str) {
    let commands: Vec<&str> =
        made.lines().filter_map(|line| line.strip_prefix("  rego-platform ")).collect();
    assert!(commands.len() > 1, "{made}");
    for command in commands {
        let (command, _) = command.split_once("  #").unwrap_or((command, ""));
        let arguments: Vec<&str> = command.split(' ').collect();
        sandbox.run(&arguments).within(sandbox.path(".")).output().code(0);
    }
}

#[test]
fn the_next_steps_work_in_an_empty_folder() {
    for product in ["platform", "chainloop"] {
        for what in ["release", "--examples"] {
            let sandbox = Sandbox::new();
            let run = sandbox.run(&["new", what, "--product", product]);
            let made = run.within(sandbox.path(".")).output().code(0).silent();
            follow(&sandbox, &made.stdout);
        }
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
        let (made, source) = (files(&dir.join(made)), files(&root.join(source)));
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
    sandbox.write("made/input.json", "mine");
    let dir = sandbox.path("made");
    let run = sandbox.run(&["new", "release", "--dir", dir.to_str().unwrap()]);
    run.output().fails("input.json` already exists");
    assert_eq!(std::fs::read_to_string(dir.join("input.json")).unwrap(), "mine");
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
    sandbox.run(&["new"]).output().fails("<NAME|--examples>");
}

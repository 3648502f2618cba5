//! `new`: what it writes passes at once, and nothing is overwritten.

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

#[test]
fn nothing_is_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write("made/input.json", "mine");
    let dir = sandbox.path("made");
    let run = sandbox.run(&["new", "release", "--dir", dir.to_str().unwrap()]);
    run.output().code(2).says("input.json` exists");
    assert_eq!(std::fs::read_to_string(dir.join("input.json")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
}

#[test]
fn names_are_packages() {
    let sandbox = Sandbox::new();
    for name in ["", "A", "a-b", "../a", "time", "platform", "a_test", "1"] {
        let dir = sandbox.path("none");
        let run = sandbox.run(&["new", "--dir", dir.to_str().unwrap(), "--", name]);
        run.output().code(2);
        assert!(!dir.exists(), "{name}");
    }
}

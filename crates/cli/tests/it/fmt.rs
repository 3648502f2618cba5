//! `fmt`, through the command.

use crate::cli::{Output, Sandbox};

const LOOSE: &str = "package p\nallow if {input.x==1}\n";
const TIGHT: &str = "package p\n\nallow if input.x == 1\n";

/// Runs the command in a folder with these files.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.run(arguments).within(sandbox.path(".")).output()
}

fn folder() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a/loose.rego", LOOSE);
    sandbox.write("a/deep/tight.rego", TIGHT);
    sandbox.write("a/notes.txt", "no policy");
    sandbox
}

fn content(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(name)).unwrap()
}

#[test]
fn formatted_policies_go_to_standard_output() {
    let sandbox = folder();
    let output = run(&sandbox, &["fmt", "a/loose.rego"]).code(0).silent();
    assert_eq!(output.stdout, TIGHT);
    assert_eq!(run(&sandbox, &["fmt"]).code(0).stdout, format!("{TIGHT}{TIGHT}"));
    assert_eq!(content(&sandbox, "a/loose.rego"), LOOSE);
    let output = sandbox.run(&["fmt", "-"]).stdin(LOOSE).output().code(0).silent();
    assert_eq!(output.stdout, TIGHT);
}

#[test]
fn files_that_would_change_are_named() {
    let sandbox = folder();
    assert_eq!(run(&sandbox, &["fmt", "--list"]).code(0).stdout, "a/loose.rego\n");
    for check in ["--check", "--fail"] {
        let output = run(&sandbox, &["fmt", check, "a"]).code(1);
        assert_eq!(output.stdout, "a/loose.rego\n");
        assert!(output.stderr.contains("fmt --write"), "{output:#?}");
    }
    run(&sandbox, &["fmt", "--check", "a/deep"]).code(0).silent();
    let output = run(&sandbox, &["fmt", "--diff", "--check", "a"]).code(1);
    assert_eq!(
        output.stdout,
        "--- a/a/loose.rego\n+++ b/a/loose.rego\n@@ -1,2 +1,3 @@\n package p\n\
         -allow if {input.x==1}\n+\n+allow if input.x == 1\n"
    );
    run(&sandbox, &["fmt", "--diff", "a"]).code(0);
}

#[cfg(unix)]
#[test]
fn files_are_written_where_they_are() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = folder();
    std::os::unix::fs::symlink("a/loose.rego", sandbox.path("link.rego")).unwrap();
    let mode = || std::fs::metadata(sandbox.path("a/loose.rego")).unwrap().permissions().mode();
    let before = mode();
    run(&sandbox, &["fmt", "-w", "link.rego"]).code(0);
    assert_eq!(content(&sandbox, "a/loose.rego"), TIGHT);
    assert!(std::fs::symlink_metadata(sandbox.path("link.rego")).unwrap().is_symlink());
    assert_eq!(mode(), before);
    run(&sandbox, &["fmt", "--check"]).code(0).silent();
}

#[test]
fn a_file_that_cannot_be_formatted_is_an_error_and_the_rest_is_formatted() {
    let sandbox = folder();
    sandbox.write("a/bad.rego", "package p\nallow if {\n");
    let output = run(&sandbox, &["fmt", "--write", "a"]).fails("unexpected eof token");
    assert!(output.stderr.contains("a/bad.rego:3:"), "{output:#?}");
    assert_eq!(content(&sandbox, "a/loose.rego"), TIGHT);
    assert_eq!(content(&sandbox, "a/bad.rego"), "package p\nallow if {\n");
    for (name, said) in [("a/notes.txt", "isn't a policy"), ("none", "doesn't exist")] {
        let output = run(&sandbox, &["fmt", name])
            .fails_with_one_of(&["`a/notes.txt` isn't a policy", "`none` doesn't exist"]);
        assert!(output.stderr.contains(said), "{output:#?}");
    }
    sandbox.write("empty/x", "");
    let output = run(&sandbox, &["fmt", "empty"]).fails("no policies found in these paths");
    assert!(output.stderr.contains("no policies"), "{output:#?}");
    // What a newer version doesn't accept isn't written for it.
    sandbox.write("old.rego", "package p\n\nimport data.a\nimport data.b.a\n\nq { any([]) }\n");
    let output = run(&sandbox, &["fmt", "--v0-v1", "old.rego"])
        .fails("deprecated built-in function calls in expression: any");
    for said in ["import must not shadow import data.a", "deprecated built-in function calls"] {
        assert!(output.stderr.contains(said), "{output:#?}");
    }
    run(&sandbox, &["fmt", "--v0", "old.rego"]).code(0);
}

#[test]
fn versions_are_read_and_written_as_opa_does() {
    let sandbox = Sandbox::new();
    sandbox.write("old.rego", "package p\n\nimport future.keywords.in\n\nq[x] { x in [1] }\n");
    let both = "package p\n\nimport rego.v1\n\nq contains x if x in [1]\n";
    assert_eq!(run(&sandbox, &["fmt", "--rego-v1", "old.rego"]).code(0).stdout, both);
    let v0 = "package p\n\nimport future.keywords.in\n\nq[x] {\n\tx in [1]\n}\n";
    assert_eq!(run(&sandbox, &["fmt", "--v0-compatible", "old.rego"]).code(0).stdout, v0);
    run(&sandbox, &["fmt", "old.rego"])
        .fails("`contains` keyword is required for partial set rules");
    sandbox.write("new.rego", both);
    let v1 = "package p\n\nq contains x if x in [1]\n";
    assert_eq!(run(&sandbox, &["fmt", "--drop-v0-imports", "new.rego"]).code(0).stdout, v1);
    sandbox.write("v1.rego", v1);
    let output = run(&sandbox, &["fmt", "--v0-v1", "--v1-compatible", "v1.rego"]).code(0);
    assert_eq!(output.stdout, both);
}

#[test]
fn a_file_in_the_new_syntax_is_noted_as_unchanged() {
    let sandbox = Sandbox::new();
    let v1 = "package p\n\nimport rego.v1\n\nq contains x if x in [1]\n";
    sandbox.write("v1.rego", v1);
    for arguments in [&["fmt", "--v0-v1", "v1.rego"][..], &["fmt", "--write", "v1.rego"]] {
        run(&sandbox, arguments).code(0).says("nothing changed: already formatted");
    }
    // Without the import, Rego v0 reads other rules than v1, or none.
    sandbox.write("bare.rego", v1.replace("import rego.v1\n\n", ""));
    run(&sandbox, &["fmt", "--v0-v1", "--write", "bare.rego"])
        .fails("nothing changed: already Rego v1: `bare.rego`");
    assert_eq!(content(&sandbox, "v1.rego"), v1);
}

//! `run`, with its lines from a pipe.

#[cfg(unix)]
mod terminal;

use crate::cli::{Output, Sandbox};

const POLICY: &str = "package p\n\nallow if input.user == \"admin\"\n\nnames contains name if {\n\t\
    some name in input.names\n\ttrace(name)\n}\n";

fn typed(sandbox: &Sandbox, more: &[&str], lines: &str) -> Output {
    let policy = sandbox.write("p.rego", POLICY);
    sandbox.run(&[&["run", &policy], more].concat()).stdin(lines).output()
}

#[test]
fn queries_are_answered() {
    let sandbox = Sandbox::new();
    let lines = "1 + 1\nx := [1, 2][_]; x > 1\ndata.p.allow\n\n# nothing\ncount(\"é\") == 1\n";
    let output = typed(&sandbox, &[], lines).code(0).silent();
    // `x := …; …` isn't a rule: it is a query with a variable.
    assert_eq!(output.stdout, "2\n┌───┐\n│ x │\n├───┤\n│ 2 │\n└───┘\nundefined\ntrue\n");
}

/// Tests aside, a single package is the session's; of several, none is.
#[test]
fn rules_of_the_only_package_have_their_names() {
    let sandbox = Sandbox::new();
    let tests = sandbox.write("p_test.rego", "package p_test\n\ntest_a if data.p.allow\n");
    let lines = "allow with input.user as \"admin\"\n";
    let output = typed(&sandbox, &[&tests], lines).code(0);
    assert_eq!(output.stdout, "true\n");
    let other = sandbox.write("q.rego", "package q\n\nx := 1\n");
    typed(&sandbox, &[&other], lines).fails("var allow is unsafe").says("import data.p");
}

#[test]
fn every_line_is_recorded() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("recording.json");
    let file = file.to_str().unwrap();
    let lines = "time.now_ns() > 0\nrand.intn(\"k\", 1000000)\n";
    let first = typed(&sandbox, &["--record", file], lines).code(0);
    let again = typed(&sandbox, &["--replay", file], lines).code(0);
    assert_eq!(first.stdout, again.stdout);
    let policy = sandbox.path("p.rego");
    let output = typed(&sandbox, &["--record", policy.to_str().unwrap()], lines)
        .fails("would be read and written");
    assert!(output.stderr.contains("p.rego"), "{output:#?}");
    assert_eq!(std::fs::read_to_string(policy).unwrap(), POLICY);
}

#[test]
fn rules_and_imports_are_kept_and_replaced() {
    let sandbox = Sandbox::new();
    let lines = "limit := 1\nlimit := 2\nbig(x) := y if {\n\ty := x > limit\n}\nbig(2)\nbig(3)\n\
        import data.p as policy\npolicy.names with input as {\"names\": [\"a\"]}\n\
        package other\nlimit\npackage p\nlimit\n:unset limit\n:show\n";
    let output = typed(&sandbox, &[], lines).fails("var limit is unsafe");
    // In another package there is no such rule; and a rule that others use can't be unset.
    assert!(output.stderr.contains("var limit is unsafe"), "{output:#?}");
    assert!(output.stdout.starts_with("false\ntrue\n[\n  \"a\"\n]\n2\npackage p\n"), "{output:#?}");
    assert!(output.stdout.contains("limit := 2\n") && !output.stdout.contains("limit := 1\n"));
}

#[test]
fn the_input_comes_from_a_file_or_a_line() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("i.json", "{\"user\": \"admin\"}");
    let lines = format!(
        "data.p.allow\ninput := {{\"user\": \"bob\"}}\ninput.user\n:input {file}\ninput\n:input\ninput\n"
    );
    let output = typed(&sandbox, &["-i", &file], &lines).code(0).silent();
    let expected = "true\n\"bob\"\n{\n  \"user\": \"admin\"\n}\nundefined\n";
    assert_eq!(output.stdout, expected);
}

#[test]
fn commands_show_more_about_the_last_query() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("i.json", "{\"user\": \"bob\", \"names\": [\"a\"]}");
    let lines = "data.p.allow\n:explain\ntrace\ndata.p.names\n:calls\n:help\n";
    let output = typed(&sandbox, &["-i", &input], lines).code(0);
    for said in ["data.p.allow produced no value: this is false", "input.user: \"bob\"", "note: a"]
    {
        assert!(output.stderr.contains(said), "{said}: {output:#?}");
    }
    assert!(output.stdout.contains(":explain [QUERY]"));
    let output =
        typed(&sandbox, &[], ":explain\n:explian\n:unset\n").fails("unknown command `:explian`");
    for said in ["no previous query", "did you mean `:explain`?", "add an argument"] {
        assert!(output.stderr.contains(said), "{said}: {output:#?}");
    }
}

#[test]
fn the_service_is_asked_as_ever() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", POLICY);
    let image = crate::support::CLEAN_IMAGE;
    let lines = format!(
        "kind := platform.discover(\"{image}\", \"\").kind\nkind\n:calls\nplatform.discvoer(1)\n"
    );
    let output = sandbox
        .local(&["run", &policy])
        .stdin(&*lines)
        .output()
        .fails("`platform.discvoer` is not a function");
    assert!(output.stdout.starts_with("\"CONTAINER_IMAGE\"\n"), "{output:#?}");
    assert!(output.stdout.contains("platform.discover"), "{output:#?}");
    assert!(output.stderr.contains("did you mean `platform.discover`?"), "{output:#?}");
}

#[test]
fn a_line_that_does_not_load_is_not_kept() {
    let sandbox = Sandbox::new();
    let more = sandbox.write("more/d.json", "{\"d\": [1]}");
    let lines = format!("x := y\nx\n:load nowhere\n:load {more}\ndata.d\np if {{\n\nexit\n1 + 1\n");
    let output = typed(&sandbox, &[], &lines).fails("`nowhere` doesn't exist");
    for said in ["var y is unsafe", "var x is unsafe", "`nowhere` doesn't exist"] {
        assert!(output.stderr.contains(said), "{said}: {output:#?}");
    }
    assert!(output.stdout.starts_with("[\n  1\n]\n"), "{output:#?}");
}

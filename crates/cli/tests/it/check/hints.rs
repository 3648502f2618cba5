//! Hints about mistakes that compile stages and the type checker find.

use crate::cli::Sandbox;

/// Checks a module, and that the finding has a hint.
fn says(sandbox: &Sandbox, body: &str, expected: &str) {
    let policy = sandbox.write("p.rego", format!("package p\n\n{body}\n"));
    let output = sandbox.run(&["check", &policy]).output().code(1);
    assert!(output.stdout.contains(expected), "{body}: {output:#?}");
}

#[test]
fn an_unsafe_variable_is_explained() {
    let sandbox = Sandbox::new();
    for (body, expected) in [
        ("deny contains \"x\" if input.a == True", "help: write `true`"),
        ("deny contains \"x\" if input.a == None", "help: write `null`"),
        (
            "deny contains x if {\n\tx in input.xs\n\tx.bad\n}",
            "help: `in` only tests: `some x in xs` binds `x`",
        ),
        ("deny contains \"x\" if not input.a[i] == 1", "`some i, _ in xs`"),
        ("deny contains \"x\" if inptu.bad", "did you mean `input`?"),
        ("deny contains \"x\" if is_okk\n\nis_ok if input.x", "did you mean `is_ok`?"),
        ("deny contains \"x\" if not lmit\n\nlimit if input.x", "did you mean `limit`?"),
        (
            "deny contains \"x\" if {\n\tsome container in input.xs\n\tcontaner.bad\n}",
            "did you mean `container`?",
        ),
        ("deny contains \"x\" if p.allowed\n\nallowed if input.ok", "did you mean `data.p`?"),
        (
            "deny contains \"x\" if img == 1",
            "nothing gives `img` a value: assign one with `img := ...`",
        ),
        ("deny contains msg if input.x", "nothing gives `msg` a value"),
    ] {
        says(&sandbox, body, expected);
    }
    sandbox.write("t/a.rego", "package ci.release\n\ndeny contains \"x\" if input.x\n");
    sandbox.write("t/a_test.rego", "package ci.release_test\n\ntest_a if count(deny) == 0\n");
    let folder = sandbox.path("t");
    let output = sandbox.run(&["check", folder.to_str().unwrap()]).output().code(1);
    let hint = "import its package: `import data.ci.release`, then `release.deny`";
    assert!(output.stdout.contains(hint), "{output:#?}");
}

#[test]
fn functions_of_other_languages_are_recognised() {
    let sandbox = Sandbox::new();
    for (call, builtin) in [
        ("strings.starts_with(input.a, \"b\")", "startswith"),
        ("len(input.a) == 1", "count"),
        ("re.matches(\"a\", input.a)", "regex.match"),
        ("to_upper(input.a) == \"A\"", "upper"),
        ("json_decode(input.a)", "json.unmarshal"),
    ] {
        let body = format!("deny contains \"x\" if {call}");
        says(&sandbox, &body, &format!("did you mean `{builtin}`?"));
    }
}

#[test]
fn mistakes_that_other_stages_find_are_explained() {
    let sandbox = Sandbox::new();
    for (body, expected) in [
        (
            "default deny := []\n\ndeny contains \"x\" if input.a",
            "help: a set needs no default: without elements it's empty; drop the `default`",
        ),
        ("q := 1\n\nq contains 2", "a rule is either a set (`contains`, at "),
        ("x if input.a\n\ndeny contains \"x\" if x with inptu as {}", "did you mean `input`?"),
        ("x if input.a\n\ndeny contains \"x\" if x with inptu.b as 1", "did you mean `input.b`?"),
        (
            "deny contains \"x\" if is_string(input.a) == \"true\"",
            "compared without quotes: `true`",
        ),
        ("deny contains \"x\" if count(input.a) == \"1\"", "or converted with `to_number`"),
        ("deny contains x if x := \"a\" + input.b", "strings are joined with `concat("),
        (
            "deny contains x if x := chainloop.discover(input.d, \"\")",
            "write `platform.discover`, or set the product to `chainloop`",
        ),
        ("deny contains x if x := helpers.first(input.d)", "is `import data.….helpers` missing?"),
    ] {
        says(&sandbox, body, expected);
    }
}

#[test]
fn a_query_has_the_same_hints() {
    let sandbox = Sandbox::new();
    for (query, expected) in [
        ("platform.discover(\"x\")", "`platform.discover` takes 2 arguments, not 1"),
        ("platform.discover(\"x\")", "call it as platform.discover(digest, kind)"),
        ("1 +", "an expression is missing at the end"),
        ("every x in xs", "`every x in xs { ... }`"),
        ("[1, 2", "the `[` in line 1 isn't closed"),
        ("foo", "documents begin with `input` or `data`: `data.foo`"),
        ("x in [1]", "`some x in xs` binds `x`"),
    ] {
        sandbox.run(&["eval", query]).output().fails(expected);
    }
    let product = ["eval", "--product", "chainloop", "platform.discover(\"x\", \"\")"];
    sandbox
        .run(&product)
        .output()
        .fails("write `chainloop.discover`, or set the product to `platform`");
}

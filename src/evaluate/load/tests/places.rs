//! Scopes, old modules, refusals and queries, each with its place.

use serde_json::json;

use super::*;

#[test]
fn locals_hide_imports_and_rules() {
    let module = "package p\nimport data.cfg\nr := 5\n\
        a if { some cfg in [1]; cfg == 1 }\n\
        b := f(2)\nf(cfg) := cfg\n\
        c := [cfg | some cfg in [3]]\n\
        d if { every cfg in [4] { cfg == 4 } }\n\
        e := cfg.x\n\
        g if { some r in [1]; r == 1 }\n\
        h if { some r; {\"k\": 1}[r] == 1 }\n\
        i := [v | cfg := {\"x\": 9}; v := cfg.x]\n\
        j := {\"cfg\": cfg.x, cfg.x: 1}\n";
    let wanted = json!({
        "a": true, "b": 2, "c": [3], "d": true, "e": "x", "g": true, "h": true, "i": [9],
        "j": {"cfg": "x", "x": 1}, "r": 5,
    });
    let loaded = load(&sources(&[module], &json!({"cfg": {"x": "x"}})), &options()).unwrap();
    assert_eq!(evaluate(&loaded, "data.p", &json!({})), Ok(wanted));
}

#[test]
fn old_modules_and_quoted_packages_keep_working() {
    let old = "package a[\"b-c\"]\nimport future.keywords.in\nimport data.cfg[\"k-1\"] as k\n\
        x = k.v { 1 in [1] }\ns[v] { v := k.list[_] }\nf(a) = a { true }\n";
    let user = "package u\nimport rego.v1\nimport data.a[\"b-c\"] as lib\n\
        y := [lib.x, lib.s, lib.f(3)]\nall := lib\n";
    let data = json!({"cfg": {"k-1": {"v": 7, "list": [1, 2]}}});
    let options = LoadOptions { rego_v0: true, ..options() };
    let loaded = load(&sources(&[old, user], &data), &options).unwrap();
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    assert_eq!(ask("data.u.y"), json!([7, [1, 2], 3]));
    assert_eq!(ask("data.u.all"), json!({"x": 7, "s": [1, 2]}));
    assert_eq!(ask("data.a[\"b-c\"].x"), json!(7));
}

#[test]
fn every_refusal_has_its_place() {
    for (module, code, line, column) in [
        ("package p\nx := y\n", "unsafe-variable", 2, 6),
        ("package p\nx if { not input.xs[_] == 1 }\n", "unsafe-variable", 2, 21),
        ("package p\nx := http.send({})\n", "unsupported-builtin", 2, 6),
        ("package p\nx := io.jwt.decode(\"\")\n", "unsupported-builtin", 2, 6),
        ("package p\nx := cuont([])\n", "unknown-function", 2, 6),
        ("package p\n# é\nx := \"é\" if { count([], 1, 2) }\n", "arity", 3, 15),
        ("package p\nf(a) := a\nx := f(1, 2)\n", "arity", 3, 6),
        ("package p\nx if { platform.discover(\"\", {}, y); y }\n", "arity", 2, 8),
        ("package p\nx if { host.lookup(1, y); y }\n", "arity", 2, 8),
        ("package p\nf(a) := a\nf(a, b) := a\n", "arity", 3, 1),
        ("package p\nx := 1\nx contains 2\n", "rule-conflict", 3, 1),
        ("package p\ndefault x := 1\ndefault x := 2\n", "rule-conflict", 3, 9),
        ("package p\nx := 1\nx.y := 2\n", "rule-conflict", 3, 1),
        ("package p\ndefault x := input.y\n", "default-value", 2, 14),
        ("package p\nx if any([true])\n", "deprecated-builtin", 2, 6),
        ("package p\nx := 1 +\n", "parse-error", 3, 1),
        ("package p\nf(input) := 1\n", "name-collision", 2, 3),
        ("package p\nx if { some y; true }\n", "unused-variable", 2, 13),
    ] {
        let found = refused(&[module], &json!({}), &options());
        assert_eq!(found.len(), 1, "{module}: {found:?}");
        assert_eq!(
            (found[0].0.as_str(), found[0].2, found[0].3),
            (code, line, column),
            "{module}: {found:?}"
        );
    }
    let below = ["package p\nq := 1\n", "package p.q\nx := 1\n"];
    assert_eq!(codes(&below), ["package-conflict"]);
    let many = ["package p\nx := y\nz := nope.f(1)\n", "package q\nx := w\n"];
    assert_eq!(codes(&many).len(), 3);
    assert_eq!(codes(&["package p\nx := \n", "package q\ny := ]\n"]), ["parse-error"; 2]);
}

#[test]
fn positions_and_prints_lead_back_to_the_author() {
    let module = "package p\nimport data.a.long.path as s\n\
        x := concat(s.sep, [s.n, 1 / s.zero]) if print(\"é\", s.n)\n";
    let data = json!({"a": {"long": {"path": {"sep": "", "n": "n", "zero": 0}}}});
    let loaded = load(&sources(&[module], &data), &options()).unwrap();
    let mut engine = loaded.engine();
    engine.set_gather_prints(true);
    let error = engine.eval_query("data.p.x".into(), false).unwrap_err();
    let diagnostic = loaded.diagnose(&error.to_string());
    let position = diagnostic.position.unwrap();
    assert_eq!((position.file.as_str(), position.line), ("0.rego", 3));
    assert_eq!(position.text, module.lines().nth(2).unwrap());
    assert!(diagnostic.message.contains("divi"), "{}", diagnostic.message);
    let prints = engine.take_prints().unwrap();
    let line = loaded.print_line(&prints[0]);
    assert_eq!((line.file.as_str(), line.line, line.message.as_str()), ("0.rego", 3, "é n"));
}

#[test]
fn queries_are_checked_and_told_apart() {
    let loaded = loaded(&SPLIT);
    let form = |query: &str| loaded.rewrite_query(query).unwrap().form;
    let reference = |path: &[&str], target| QueryForm::Reference {
        path: path.iter().map(ToString::to_string).collect(),
        target,
    };
    assert_eq!(form("data"), reference(&[], QueryTarget::Root));
    assert_eq!(form("data.p"), reference(&["p"], QueryTarget::Package));
    assert_eq!(form("data.p.allow"), reference(&["p", "allow"], QueryTarget::Rule));
    assert_eq!(form("data[\"p\"].helper.v"), reference(&["p", "helper", "v"], QueryTarget::Rule));
    assert_eq!(form("data.cfg.x"), reference(&["cfg", "x"], QueryTarget::Document));
    assert_eq!(form("data.p[x]"), QueryForm::Expression);
    assert_eq!(form("data.p.allow == true"), QueryForm::Expression);
    for query in ["platform.discoverr(1, 2)", "x", "data.p.allow with nope as 1", "1 +", "allow"] {
        let error = loaded.rewrite_query(query).expect_err(query);
        assert_eq!(error.diagnostics()[0].position.as_ref().unwrap().file, "<query>", "{query}");
    }
    let called = loaded.rewrite_query("platform.evidence({}); x := data.p[_]").unwrap();
    assert_eq!(called.functions, ["platform.evidence"]);
}

/// Calls and comprehensions within a statement are evaluated before it. Each is what OPA says.
#[test]
fn what_a_statement_binds_is_no_help_to_its_calls() {
    let module = |body: &str| {
        format!("package p\nf(x) := x\ng(x, y) := x\narr := [1, 2] if input.v\nr if {{ {body} }}\n")
    };
    for body in [
        "x := [arr[i], f(i)]",
        "arr[i] == f(i)",
        "g(arr[i], f(i))",
        "x := {\"a\": arr[i], \"b\": i + 1}",
        "x := f(i) + arr[i]",
        "x := [arr[i], [y | y := i]]",
        "arr[i] > count([i])",
        "[x, y] = [1, f(x)]",
    ] {
        let found = refused(&[&module(body)], &json!({}), &options());
        assert!(found.iter().any(|(code, ..)| code == "unsafe-variable"), "{body}: {found:?}");
    }
    for body in [
        "g(arr[i], i)",
        "x := arr[i] + i",
        "x := [arr[i], i]",
        "x := [count(arr[i]), i]",
        "x := [count([arr[i]]), f(i)]",
        "f(g(arr[i], i), i)",
        "x = f(y); y = 1",
        "every x in arr[i] { f(i) }",
        "f(arr[i]) == i",
        "some i, v in arr; f(i) == v",
    ] {
        loaded(&[&module(body)]);
    }
}

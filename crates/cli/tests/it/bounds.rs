//! Every command ends in time, whatever a policy does: values that share their parts have more of
//! them than could ever be visited.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{Output, Sandbox};

/// Far more than any command may take, on any machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Two values of 2^40 parts that are equal and share none of them, as `s` and `t`.
fn values() -> String {
    let chain = |name: &str| {
        let steps: String =
            (1..=40).map(|n| format!("{name}{n} := [{name}{0}, {name}{0}]\n", n - 1)).collect();
        format!("{name}0 := 1\n{steps}\n{name} := {name}40\n\n")
    };
    chain("s") + &chain("t")
}

/// What is done with them; each is the body of a rule.
const ATTACKS: &[(&str, &str)] = &[
    ("==", "s == t"),
    ("<", "s < t"),
    ("a pattern", "[s, 1] = [t, 1]"),
    ("in", "s in [t]"),
    ("a set", "count({s, t}) > 1"),
    ("a key", "{s: 1}[t] == 2"),
    ("a union", "count({s} | {t}) > 2"),
    ("an argument", "f(s) + f(t) > 5"),
    ("max", "max([s, t]) == 1"),
    ("sort", "count(sort([s, t])) > 5"),
    ("json.marshal", "json.marshal(s) == \"\""),
    ("yaml.marshal", "yaml.marshal(s) == \"\""),
    ("sprintf", "sprintf(\"%v\", [s]) == \"\""),
    ("print", "print(s)\n\t1 == 2"),
    ("a template", "$\"{s}\" == \"\""),
    ("walk", "walk(s, [_, v])\n\tv == 2"),
    ("a schema", "json.match_schema(s, {\"type\": \"array\"})[0]"),
    (
        "json.patch",
        "json.patch({\"a\": s}, [{\"op\": \"test\", \"path\": \"/a\", \"value\": t}]) == {}",
    ),
    ("a subset", "object.subset({\"a\": s}, {\"a\": t}) == false"),
    ("a comprehension", "count({x | some x in [s, t]}) > 5"),
    ("every", "every x in [s] { x == t }\n\t1 == 2"),
    ("a call of the service", "platform.evidence({\"search\": json.marshal(s)})"),
];

/// Rules whose value is too large to be shown.
const RESULTS: &[(&str, &str)] = &[
    ("violations", "deny contains sprintf(\"%d\", [x]) if some x in numbers.range(1, 200000)"),
    ("a violation", "deny contains {\"message\": \"x\", \"detail\": s}"),
    (
        "texts",
        "long := concat(\"\", [\"0123456789\" | some _ in numbers.range(1, 100000)])\n\n\
               deny contains {\"message\": \"x\", \"d\": [long | some _ in numbers.range(1, 1000)]}",
    ),
    ("prints", "deny contains \"x\" if { some x in numbers.range(1, 200000); print(x); x < 0 }"),
];

/// Waits for a command, and kills it if it doesn't end. Returns its exit status if it did.
fn wait(mut child: Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Runs a command with its output in files, so that it never waits for a reader.
fn run(
    sandbox: &Sandbox,
    arguments: &[&str],
    stdin: Option<&str>,
) -> (Option<i32>, String, String) {
    let stdout = sandbox.path("stdout.txt");
    let stderr = sandbox.path("stderr.txt");
    let stdin = match stdin {
        Some(text) => {
            let file = sandbox.write("stdin.txt", text);
            Stdio::from(std::fs::File::open(file).unwrap())
        }
        None => Stdio::null(),
    };
    let mut command = sandbox.run(arguments).command();
    command.stdin(stdin).stdout(std::fs::File::create(&stdout).unwrap());
    command.stderr(std::fs::File::create(&stderr).unwrap());
    let code = wait(command.spawn().unwrap());
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (code, read(stdout), read(stderr))
}

/// The words of errors that a limit was reached.
const LIMITS: &[&str] = &["timed out", "more than", "the limit is", "no result after"];

#[test]
fn every_command_ends_whatever_a_policy_does() {
    let sandbox = Sandbox::new();
    for (name, body) in ATTACKS {
        let policy = format!(
            "package p\n\n{}f(_) := 1\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n\n\
             test_it if {{\n\tcount(deny) == 0\n}}\n",
            values()
        );
        let file = sandbox.write("d/p.rego", &policy);
        for arguments in [
            &["eval", "--timeout", "100ms", "-d", &file, "data.p.deny"][..],
            &["gate", "--timeout", "100ms", "-d", &file, "--no-input", "--allow-warnings"],
            &["test", "--timeout", "100ms", &file],
        ] {
            let (code, stdout, stderr) = run(&sandbox, arguments, None);
            assert!(code.is_some(), "{name}: {arguments:?} didn't end");
            Output { code, stdout, stderr }.fails_with_one_of(LIMITS);
        }
        let session = ["run", "--timeout", "100ms", "-d", &file];
        let (code, stdout, stderr) = run(&sandbox, &session, Some("data.p.deny\n"));
        assert!(code.is_some(), "{name}: {session:?} didn't end");
        let said = format!("{stdout}{stderr}");
        assert!(LIMITS.iter().any(|words| said.contains(words)), "{name}: {said}");
    }
    // What only reads a policy takes the longest for the values that all of them share.
    let rules: String = ATTACKS
        .iter()
        .map(|(_, body)| format!("deny contains \"x\" if {{\n\t{body}\n}}\n\n"))
        .collect();
    let policy = format!("package p\n\n{}f(_) := 1\n\n{rules}", values());
    let file = sandbox.write("all.rego", &policy);
    for arguments in [&["check", &file][..], &["fmt", "--list", &file]] {
        let (code, ..) = run(&sandbox, arguments, None);
        assert!(code.is_some(), "{arguments:?} didn't end");
    }
}

#[test]
fn what_a_policy_produces_is_bounded() {
    let sandbox = Sandbox::new();
    for (name, rules) in RESULTS {
        let file = sandbox.write("p.rego", format!("package p\n\n{}{rules}\n", values()));
        let arguments = ["gate", "-d", &file, "--no-input", "--allow-warnings", "-f", "json"];
        let (code, stdout, stderr) = run(&sandbox, &arguments, None);
        assert!(code.is_some(), "{name} didn't end");
        Output { code, stdout, stderr }.fails_with_one_of(&["more than", "the limit is"]);
    }
}

#[test]
fn an_explanation_shows_the_beginning_of_a_huge_value() {
    let sandbox = Sandbox::new();
    let rule = "deny contains \"x\" if {\n\tx := s40\n\tx[0] == input.nothing\n}\n";
    let file = sandbox.write("p.rego", format!("package p\n\n{}{rule}", values()));
    let arguments = ["eval", "-d", &file, "--explain", "fails", "data.p.deny"];
    let (code, stdout, stderr) = run(&sandbox, &arguments, None);
    assert_eq!(code, Some(0), "{stdout} {stderr}");
    assert!(stderr.contains("x: [[[[") && stderr.len() < 2_000, "{stderr}");
}

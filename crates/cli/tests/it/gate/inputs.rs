//! The sources of inputs, and how they are read.

use base64::Engine as _;
use sha2::Digest as _;

use super::{DENY_BAD, gate, gate_with, outcomes};
use crate::cli::Sandbox;
use crate::support::CLEAN_IMAGE;

#[test]
fn files_folders_globs_and_standard_input_in_the_order_given() {
    let sandbox = Sandbox::new();
    sandbox.write("in/b.yaml", "bad: true\n---\nbad: false\n");
    sandbox.write("in/a.json", "{}");
    sandbox.write("in/notes.txt", "no input");
    sandbox.write("in/c/d.jsonl", "{}\n{\"bad\": 1}\n");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (folder, glob) = (path("in"), path("in/*.json"));
    let arguments = ["-i", "-", "-i", &folder, "-i", &glob];
    let report = gate_with(&sandbox, DENY_BAD, &arguments, "{\"bad\": 1} {}").code(1).json();
    let expected = [
        ("<stdin>#1".to_owned(), "failed"),
        ("<stdin>#2".to_owned(), "passed"),
        (path("in/a.json"), "passed"),
        (path("in/b.yaml") + "#1", "failed"),
        (path("in/b.yaml") + "#2", "passed"),
        (path("in/c/d.jsonl") + "#1", "passed"),
        (path("in/c/d.jsonl") + "#2", "failed"),
    ];
    assert_eq!(outcomes(&report), expected.map(|(name, outcome)| (name, outcome.to_owned())));
}

#[test]
fn an_input_that_cannot_be_read_has_no_verdict() {
    let sandbox = Sandbox::new();
    for (content, says) in [("{\"a\": }", "invalid JSON"), (" ", "empty"), ("[1", "invalid JSON")] {
        let file = sandbox.write("in.json", content);
        let good = sandbox.write("good.json", "{}");
        let report = gate(&sandbox, DENY_BAD, &["-i", &file, "-i", &good])
            .fails_with_one_of(&[
                "invalid JSON: invalid character '}' looking for beginning",
                "the document is empty",
                "invalid JSON: unexpected end of JSON input",
            ])
            .json();
        let error = report["inputs"][0]["error"]["message"].as_str().unwrap();
        assert!(error.contains(says), "{error}");
        assert_eq!(report["inputs"][1]["outcome"], "passed");
    }
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    for nothing in [path("empty"), path("no.json"), path("*.none")] {
        gate(&sandbox, DENY_BAD, &["-i", &nothing]).fails_with_one_of(&[
            "no input in",
            "doesn't exist",
            "no file matches the glob: ",
        ]);
    }
}

#[test]
fn without_inputs_there_is_one_evaluation_which_is_reported() {
    let sandbox = Sandbox::new();
    let report = gate(&sandbox, DENY_BAD, &[]).code(0).json();
    assert_eq!(report["inputs"][0]["name"], "(no input)");
}

#[test]
fn arrays_arguments_and_combination() {
    let sandbox = Sandbox::new();
    let show = "package p\n\nwarn contains json.marshal(input)\n";
    let array = sandbox.write("a.json", "[1, 2]");
    let object = sandbox.write("o.json", "{\"x\": 1}");
    let seen = |arguments: &[&str]| -> serde_json::Value {
        let report = gate(&sandbox, show, arguments).code(0).json();
        let warning = &report["inputs"][0]["verdicts"][0]["violations"][0]["message"];
        serde_json::from_str(warning.as_str().unwrap()).unwrap()
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(seen(&["-i", &array]), json("[1, 2]"));
    assert_eq!(seen(&["-i", &array, "--wrap-arrays"]), json("{\"elements\": [1, 2]}"));
    let arguments = ["-i", &object, "--arg", "a=b,c", "--arg", "d=e=f"];
    let expected = json("{\"x\": 1, \"args\": {\"a\": [\"b\", \"c\"], \"d\": \"e=f\"}}");
    assert_eq!(seen(&arguments), expected);
    let combined = seen(&["-i", &array, "-i", &object, "--combine"]);
    assert_eq!(combined[0]["path"], array);
    assert_eq!(combined[1]["contents"]["x"], 1);
    let given = ["-i", &array, "-i", &object, "--project", "shop"];
    let report = gate(&sandbox, show, &given)
        .fails("can't add arguments to the input: expected an object")
        .json();
    assert_eq!(report["inputs"][0]["outcome"], "no_verdict");
    let shown = &report["inputs"][1]["verdicts"][0]["violations"][0]["message"];
    assert!(shown.as_str().unwrap().contains("\"project_name\":\"shop\""), "{shown}");
    gate(&sandbox, show, &["-i", &array, "--arg", "a=b"])
        .fails("can't add arguments to the input: expected an object");
    gate(&sandbox, show, &["--arg", "a"]).fails("no value");
    // An argument without a value is absent.
    for empty in ["a=", "a= , ", "a=\n"] {
        let report = gate(&sandbox, show, &["-i", &object, "--arg", empty]).code(0).json();
        let shown = &report["inputs"][0]["verdicts"][0]["violations"][0]["message"];
        assert!(!shown.as_str().unwrap().contains("args"), "{shown}");
    }
}

#[test]
fn values_are_put_into_every_input() {
    let sandbox = Sandbox::new();
    let show = "package p\n\nwarn contains json.marshal(input)\n";
    let a = sandbox.write("a.json", r#"{"labels": {"x": 1}, "image": "old"}"#);
    let b = sandbox.write("b.json", "{}");
    let set = ["--set", "image=sha256:aa", "--set", "labels.n=[1]", "--set", r#"tag="1.0""#];
    let report = gate(&sandbox, show, &[&["-i", &a, "-i", &b], &set[..]].concat()).code(0).json();
    let seen = |index: usize| {
        report["inputs"][index]["verdicts"][0]["violations"][0]["message"].as_str().unwrap()
    };
    assert_eq!(seen(0), r#"{"image":"sha256:aa","labels":{"n":[1],"x":1},"tag":"1.0"}"#);
    assert_eq!(seen(1), r#"{"image":"sha256:aa","labels":{"n":[1]},"tag":"1.0"}"#);
    assert_eq!(report["inventory"]["values"]["labels.n"], "[1]");
    let alone = gate(&sandbox, show, &["--set", "a.b=x y"]).code(0).json();
    let message = &alone["inputs"][0]["verdicts"][0]["violations"][0]["message"];
    assert_eq!(message, r#"{"a":{"b":"x y"}}"#);
    let array = sandbox.write("array.json", "[1]");
    gate(&sandbox, show, &["-i", &array, "--set", "a=1"])
        .fails("in `input`: expected an object, found an array");
    gate(&sandbox, show, &["-i", &a, "--set", "image.x=1"])
        .fails("in `input.image`: expected an object, found a string");
    for (text, says) in [
        ("a", "`--set a` has no value"),
        ("=1", "`--set =1` has no key"),
        ("a=", "`--set a` has an empty value"),
        ("a..b=1", "invalid path in the input"),
        (r#"a={"b": 1, "b": 2}"#, "appears twice"),
    ] {
        gate(&sandbox, show, &["--set", text]).fails(says);
    }
    gate(&sandbox, show, &["--set", "a=1", "--set", "a=2"]).fails("duplicate value of `a`");
    let query = ["eval", "--set", "a.b=true", "-i", &b, "-f", "raw", "input"];
    assert_eq!(sandbox.run(&query).output().code(0).stdout.trim(), r#"{"a":{"b":true}}"#);
    assert_eq!(
        sandbox.run(&["eval", "--set", "a=1", "input.a", "-f", "raw"]).output().code(0).stdout,
        "1\n"
    );
}

#[test]
fn a_digest_reaches_a_policy_without_a_file() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write(
        "p.rego",
        "package p\n\ndeny contains \"it isn't an image\" if {\n\t\
         platform.discover(input.image, \"\").kind != \"CONTAINER_IMAGE\"\n}\n",
    );
    let run = |option: &str, value: &str| {
        sandbox.served(&["gate", "-d", &policy, "--no-input", option, value]).output()
    };
    run("--set", &format!("image={CLEAN_IMAGE}")).code(0);
    // An argument of this name is nothing that the policy reads.
    let output = run("--arg", &format!("image={CLEAN_IMAGE}"));
    output.fails("unused argument: `image`");
    run("--arg", "image=x").fails("`--set NAME=VALUE` puts a value into `input`");
    run("--set", &format!("image=ghcr.io/shop/app@{CLEAN_IMAGE}"))
        .fails("cut `ghcr.io/shop/app@`, as in `split(image, \"@\")[1]`");
    let reads = |what: &str| {
        let rule = format!("package p\n\ndeny contains \"x\" if {what}\n");
        gate(&sandbox, &rule, &["--arg", "a=b"])
    };
    for read in [
        "input.args.a == 1",
        "some k\n\tinput.args[k] == 1",
        "object.get(input, [\"args\", \"a\"], 0) == 1",
    ] {
        reads(&format!("{{\n\t{read}\n}}")).code(0);
    }
    reads("input.args.b == 1").fails("unused argument: `a`");
    reads("input.a == \"args\"").fails("unused argument: `a`");
}

#[test]
fn a_name_with_a_line_break_is_one_line_of_a_combined_digest() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("a\nb.json", "{}");
    let arguments = ["-i", &path, "--combine"];
    let report = gate(&sandbox, "package p\n\ndeny := set()\n", &arguments).code(0).json();
    let empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let line = format!("{empty} {}\n", path.replace('\n', "\\n"));
    let expected = sha2::Sha256::digest(line);
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(report["inputs"][0]["digest"], format!("sha256:{expected}"));
}

#[test]
fn attestations_are_unwrapped() {
    let sandbox = Sandbox::new();
    let digest = "a".repeat(64);
    let statement = format!(
        "{{\"_type\": \"https://in-toto.io/Statement/v1\", \"predicateType\": \"t\", \"subject\": \
         [{{\"name\": \"n\", \"digest\": {{\"sha256\": \"{digest}\"}}}}], \"predicate\": \
         {{\"bad\": true}}}}"
    );
    let payload = base64::engine::general_purpose::STANDARD.encode(&statement);
    let envelope = format!(
        "{{\"payloadType\": \"application/vnd.in-toto+json\", \"payload\": \"{payload}\", \
         \"signatures\": []}}"
    );
    let policy = "package p\n\ndeny contains \"bad\" if input.predicate.bad\n";
    for document in [&statement, &envelope] {
        let arguments = ["-i", "-", "--attestation", "--unverified"];
        let report = gate_with(&sandbox, policy, &arguments, document).code(1).json();
        let input = &report["inputs"][0];
        assert_eq!(input["predicate_type"], "t");
        assert_eq!(input["subjects"][0]["digest"]["sha256"], digest);
    }
    gate_with(&sandbox, policy, &["-i", "-", "--attestation", "--unverified"], "{}")
        .fails("not an attestation: expected a DSSE envelope or an in-toto statement");
}

#[test]
fn many_inputs_keep_their_order_and_little_memory() {
    let sandbox = Sandbox::new();
    let padding = "x".repeat(20_000);
    let lines: String = (0..1_000)
        .map(|n| format!("{{\"n\": {n}, \"bad\": {}, \"p\": \"{padding}\"}}\n", n % 7 == 0))
        .collect();
    let policy = "package p\n\ndeny contains sprintf(\"%d\", [input.n]) if input.bad == true\n";
    let report = gate_with(&sandbox, policy, &["-i", "-", "-q"], &lines).code(1).json();
    let inputs = report["inputs"].as_array().unwrap();
    assert_eq!(inputs.len(), 1_000);
    for (n, input) in inputs.iter().enumerate() {
        assert_eq!(input["name"], format!("<stdin>#{}", n + 1));
        let said = &input["verdicts"][0]["violations"];
        let expected = if n % 7 == 0 { Some(n.to_string()) } else { None };
        assert_eq!(said[0]["message"].as_str().map(str::to_owned), expected);
    }
}

#[cfg(unix)]
#[test]
fn globs_leave_nothing_out() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.json", "{}");
    sandbox.write("d/b.json", "{\"bad\": true}");
    sandbox.write("e/c.json", "{\"bad\": true}");
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    for (glob, code) in [("d/[a].json", 0), ("d/[^a].json", 1), ("d/[!a].json", 1)] {
        gate(&sandbox, DENY_BAD, &["-i", &path(glob)]).code(code);
    }
    std::fs::remove_file(sandbox.path("d/b.json")).unwrap();
    gate(&sandbox, DENY_BAD, &["-i", &path("d/**/*.json")]).code(0);
    // The pattern matches the folder below, too: its file is one input all the same.
    sandbox.write("f/g/a.json", "{}");
    let report = gate(&sandbox, DENY_BAD, &["-i", &path("f/**/*")]).code(0).json();
    assert_eq!(report["totals"]["inputs"], 1);
    std::os::unix::fs::symlink("../e", sandbox.path("d/link")).unwrap();
    let report = gate(&sandbox, DENY_BAD, &["-i", &path("d/**/*.json")]).code(1).json();
    assert_eq!(report["totals"]["inputs"], 2);
    std::os::unix::fs::symlink("..", sandbox.path("e/round")).unwrap();
    gate(&sandbox, DENY_BAD, &["-i", &path("d/**/*.json")]).fails("within itself");
}

/// A path that exists is that path, and what it also matches as a glob is read as well.
#[test]
fn a_name_that_looks_like_a_glob_is_a_name() {
    let sandbox = Sandbox::new();
    for (named, other) in [
        ("1/scan[1].json", "1/scan1.json"),
        ("2/a*.json", "2/ab.json"),
        ("3/a?.json", "3/ac.json"),
        ("t{1}/s.json", "t1/s.json"),
    ] {
        sandbox.write(named, "{\"bad\": true}");
        sandbox.write(other, "{}");
        let path = sandbox.path(named);
        let report = gate(&sandbox, DENY_BAD, &["-i", path.to_str().unwrap()]).code(1).json();
        let first = report["inputs"][0]["name"].as_str().unwrap();
        assert_eq!(
            (first, &report["inputs"][0]["outcome"]),
            (path.to_str().unwrap(), &"failed".into())
        );
        assert_eq!(report["totals"]["passed"], 1, "{named}");
    }
    // A folder in the middle of a glob, as where a settings file lies, is itself too.
    sandbox.write("team[2]/gate.toml", "[gate]\ndata = [\"p.rego\"]\ninput = \"s*.json\"\n");
    sandbox.write("team[2]/p.rego", DENY_BAD);
    sandbox.write("team[2]/scan.json", "{\"bad\": true}");
    sandbox.write("team2/scan.json", "{}");
    let settings = sandbox.path("team[2]/gate.toml");
    sandbox.run(&["gate", "--settings", settings.to_str().unwrap()]).output().code(1);
}

#[test]
fn an_input_named_twice_is_evaluated_once() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in/a.json", "{}");
    let folder = sandbox.path("in").to_str().unwrap().to_owned();
    let (dotted, up) = (format!("{folder}/./a.json"), format!("{folder}/../in/a.json"));
    let glob = format!("{folder}/*.json");
    let all = ["-i", &file, "-i", &dotted, "-i", &up, "-i", &folder, "-i", &glob, "-i", &file];
    let report = gate(&sandbox, DENY_BAD, &all).code(0).json();
    assert_eq!(report["totals"]["inputs"], 1);
    assert_eq!(report["inputs"][0]["name"], file);
}

/// `yes`, `no`, `on`, `off`, `y` and `n` are booleans in YAML 1.1, which Kubernetes and conftest read, and strings for
/// OPA: what depends on that is no verdict.
#[test]
fn scalars_that_yaml_1_1_takes_for_booleans_give_no_verdict_where_it_depends_on_them() {
    let sandbox = Sandbox::new();
    let network = "package p\n\ndeny contains \"network\" if input.spec.hostNetwork == true\n";
    let token = "package p\n\ndeny contains \"token\" if not input.spec.token == false\n";
    let tested = "package p\n\ndeny contains \"writable\" if not input.spec.readOnly\n";
    let listed =
        "package p\n\ndeny contains \"mode\" if not input.spec.mode in {\"on\", \"off\"}\n";
    let looked_up = "package p\n\nallowed := {true}\n\ndeny contains \"a\" if {\n\tsome x in input.spec.list\n\tnot allowed[x]\n}\n";
    let counted = "package p\n\ndeny contains \"many\" if count(input.spec) > 5\n";
    let run = |policy: &str, text: &str, more: &[&str]| {
        let file = sandbox.write("pod.yaml", text);
        gate(&sandbox, policy, &[&["-i", &file], more].concat())
    };
    for (policy, text) in [
        (network, "spec: {hostNetwork: yes}"),
        (network, "spec:\n  hostNetwork: ON"),
        (network, "--- \nspec: {hostNetwork: y}"),
        (token, "spec: {token: no}"),
        (tested, "spec: {readOnly: off}"),
        (listed, "spec: {mode: on}"),
        (looked_up, "spec: {list: [on, Yes]}"),
    ] {
        run(policy, text, &[]).fails("a boolean in YAML 1.1 and a string in 1.2");
        run(policy, text, &[]).fails("`--yaml 1.1` reads it as a boolean");
    }
    for (policy, text, one, two) in [
        (network, "spec: {hostNetwork: yes}", 1, 0),
        (token, "spec: {token: no}", 0, 1),
        (tested, "spec: {readOnly: off}", 1, 0),
    ] {
        run(policy, text, &["--yaml", "1.1"]).code(one);
        run(policy, text, &["--yaml", "1.2"]).code(two);
    }
    // Quoted ones, keys, other spellings, and what the verdict doesn't depend on.
    for (policy, text, code) in [
        (network, "spec: {hostNetwork: 'yes'}", 0),
        (network, "spec: {hostNetwork: !!str yes}", 0),
        (network, "spec: {hostNetwork: yEs}", 0),
        (network, "spec: {hostNetwork: true, x: no}", 1),
        (network, "on: push\nyes: 1", 0),
        (counted, "spec: {a: on, b: off}", 0),
        (tested, "spec: {readOnly: yes}", 0),
    ] {
        run(policy, text, &[]).code(code);
    }
}

/// Returns the reason why the first input has no verdict, with its hint.
fn failure(report: &serde_json::Value) -> String {
    report["inputs"][0]["verdicts"][0]["error"].to_string()
}

#[test]
fn combined_documents_are_elements_with_contents() {
    let sandbox = Sandbox::new();
    let good = sandbox.write("good.json", "{\"bad\": false}");
    let list = sandbox.write("list.yaml", "- bad: true\n");
    let whole = sandbox.write("bad.json", "{\"bad\": true}");
    let rule = |body: &str| format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n");
    for body in [
        "input[_].contents.bad",
        "some f in input\n\tf.contents.bad",
        "count(input) > 1\n\tcontents := input[_].contents\n\tcontents.bad",
    ] {
        let run = |file: &str| gate(&sandbox, &rule(body), &["-i", &good, "-i", file, "--combine"]);
        run(&good).code(0);
        run(&whole).code(1);
    }
    let both = "input[_].contents[_].bad";
    gate(&sandbox, &rule(both), &["-i", &good, "-i", &list, "--combine"]).code(1);
    let report =
        gate(&sandbox, DENY_BAD, &["-i", &good, "--combine"]).fails("the input is an array").json();
    assert!(failure(&report).contains("the input is an array"), "{report}");
}

#[test]
fn policies_find_the_kind_of_the_input_in_its_metadata() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"not SARIF\" if {\n\t\
                  input.platform_metadata.annotations[\"platform.material.type\"] != \"SARIF\"\n}\n\n\
                  deny contains \"no kind\" if not input.platform_metadata.annotations\n";
    let own = |kind: &str| {
        format!(
            "{{\"$schema\": \"s\", \"platform_metadata\": {{\"annotations\": {{\"platform.material.type\": \"{kind}\"}}}}}}"
        )
    };
    for (text, kind, code) in [
        ("{\"$schema\": \"s\"}".to_owned(), Some("SARIF"), 0),
        ("{\"@id\": \"i\"}".to_owned(), Some("OPENVEX"), 1),
        ("{}".to_owned(), None, 1),
        (own("SARIF"), Some("SARIF"), 0),
        (own("SARIF"), None, 0),
        (own("OPENVEX"), Some("SARIF"), 2),
        ("{\"$schema\": \"s\", \"platform_metadata\": 1}".to_owned(), Some("SARIF"), 2),
        (
            "{\"$schema\": \"s\", \"platform_metadata\": {\"annotations\": []}}".to_owned(),
            Some("SARIF"),
            2,
        ),
    ] {
        let file = sandbox.write("i.json", &text);
        let kind = kind.map(|kind| ["--kind", kind]);
        let given = [&["-i", &file][..], kind.as_ref().map_or(&[][..], |kind| &kind[..])].concat();
        let report = gate(&sandbox, policy, &given).code(code).json();
        assert_eq!(report["exit"], code, "{text}: {report}");
    }
    // A policy that doesn't look for it gets the input as it is.
    let whole = "package p\n\ndeny contains \"changed\" if count(input) != 1\n";
    let file = sandbox.write("i.json", "{\"$schema\": \"s\"}");
    gate(&sandbox, whole, &["-i", &file, "--kind", "SARIF"]).code(0);
}

#[test]
fn a_wrapped_array_is_in_elements() {
    let sandbox = Sandbox::new();
    let list = sandbox.write("list.json", "[{\"bad\": true}]");
    let bad = sandbox.write("bad.json", "{\"bad\": true}");
    let rego = |body: &str| format!("package p\n\nviolations contains \"x\" if {body}\n");
    let document = |body: &str| {
        let embedded = rego(body).replace("package p\n", "package p\nimport rego.v1\n");
        let embedded = embedded.replace('\n', "\n      ");
        format!(
            "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {{name: d}}\nspec:\n  \
             policies:\n  - kind: EVIDENCE\n    embedded: |\n      {embedded}\n"
        )
    };
    for (body, input, options, code) in [
        ("input.bad", &list, &["--wrap-arrays"][..], 0),
        ("input.elements[_].bad", &list, &["--wrap-arrays"], 1),
        ("input.bad", &bad, &["--combine", "--wrap-arrays"], 0),
        ("input.elements[_].contents.bad", &bad, &["--combine", "--wrap-arrays"], 1),
    ] {
        let given = [&["-i", input.as_str()], options].concat();
        let report = gate(&sandbox, &rego(body), &given).code(code).json();
        let notes = report["notes"].to_string();
        assert_eq!(
            notes.contains("without reading any of its values"),
            code == 0,
            "{body}: {notes}"
        );
        // Policy documents get arrays wrapped in any case.
        let file = sandbox.write("d.yaml", document(body));
        let own: Vec<&str> =
            options.iter().filter(|option| **option == "--combine").copied().collect();
        let fixed = ["gate", "-d", &file, "-i", input.as_str(), "--kind", "EVIDENCE"];
        sandbox.run(&[&fixed[..], &own].concat()).output().code(code);
    }
}

#[test]
fn a_verdict_is_about_one_project() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"other\" if {\n\t\
                  input.platform_metadata.project_name != \"shop\"\n}\n";
    for (own, code) in [
        ("{}", 0),
        (
            "{\"platform_metadata\": {\"project_name\": \"shop\", \"project_version_name\": \"1\"}}",
            0,
        ),
        ("{\"platform_metadata\": {\"project_name\": \"evil\"}}", 2),
        (
            "{\"platform_metadata\": {\"project_name\": \"shop\", \"project_version_name\": \"2\"}}",
            2,
        ),
        ("{\"platform_metadata\": \"evil\"}", 2),
        ("{\"platform_metadata\": null}", 2),
    ] {
        let input = sandbox.write("i.json", own);
        let given = ["-i", &input, "--project", "shop", "--project-version", "1"];
        let report = gate(&sandbox, policy, &given).code(code).json();
        if code == 2 {
            let error = failure(&report);
            assert!(error.contains("platform_metadata"), "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn pipes_of_options_are_read_once_and_within_the_time_limit() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let policy = sandbox.write("p.rego", DENY_BAD);
    for option in ["--waivers", "--replay", "--token-file", "--config", "--schema"] {
        let given = ["gate", "-d", &policy, "--no-input", "--timeout", "20ms", option, pipe];
        let output = sandbox.run(&given).output().fails("timed out after 20ms");
        assert!(output.stderr.contains(pipe) && output.stderr.contains("`--timeout`"));
    }
    for (option, text, file) in [
        ("--waivers", "waivers: []\n", "waivers"),
        ("--replay", "{\"version\": 1, \"nd_builtin_cache\": {}}", "recording"),
    ] {
        let (from, to) = (sandbox.write("from", text), pipe.to_owned());
        let writer = std::thread::spawn(move || std::fs::copy(from, to));
        let given = [option, pipe];
        let report = gate(&sandbox, DENY_BAD, &given).code(0).json();
        writer.join().unwrap().unwrap();
        let named = sandbox.write("named", text);
        let other = gate(&sandbox, DENY_BAD, &[option, &named]).code(0).json();
        let digest = |report: &serde_json::Value| report["inventory"][file]["digest"].clone();
        assert!(digest(&report).is_string());
        assert_eq!(digest(&report), digest(&other), "{option}");
    }
}

#[test]
fn a_json_input_with_a_key_twice_has_no_verdict() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\ndeny contains \"bad\" if input.a.bad\n");
    for (text, code) in [
        (r#"{"a": {"bad": true, "bad": false}}"#, 2),
        (r#"{"a": {"bad": true, "b\u0061d": false}}"#, 2),
        (r#"{"a": {"bad": false}, "b": {"bad": true}}"#, 0),
    ] {
        for name in ["in.json", "in.yaml"] {
            let input = sandbox.write(name, text);
            let output = sandbox.run(&["gate", "-d", &policy, "-i", &input]).output().code(code);
            assert_eq!(output.stdout.contains("appears twice"), code == 2, "{output:?}");
        }
    }
}

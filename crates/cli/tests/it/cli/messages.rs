//! The most frequent mistakes of authors, and the next step that each message names.

use super::Sandbox;
use crate::emulator::CLEAN_IMAGE;

/// Rules, and parts of `check`'s messages about them.
const POLICIES: &[(&str, &str)] = &[
    ("x := http.send({\"url\": \"https://a.b\"})", "`--allow-host HOST[:PORT]` allows one"),
    ("x := platform.evidence({\"kind\": \"SARIF\"})", "write `[\"SARIF\"]`"),
    (
        "x := platform.discover(\"sha256:0\")",
        "platform.discover(digest, kind); `kind` may be `\"\"`",
    ),
    ("x := platform.products({})", "`--functions products` enables it"),
    ("deny[msg] { msg := \"a\" }", "in Rego v1 write `deny contains msg if { ... }`"),
    ("deny contains 1 if helpers.is_ok(input)", "is `import data.….helpers` missing?"),
    ("x if any([true])", "Rego v1 has no `any`: write `true in xs`"),
    ("x if re_match(\"a\", \"b\")", "write `regex.match(pattern, text)`"),
    ("x if !input.y", "to negate a condition, write `not x`"),
    ("x := 'a'", "strings are written in double quotes"),
    ("x if input.a && input.b", "Rego has no `&&`"),
    ("x if input.a || input.b", "Rego has no `||`"),
    ("x if input.a or input.b", "write a second rule, or `import future.keywords.or`"),
    ("x if input.a and input.b", "write one condition per line, or `import future.keywords.and`"),
];

#[test]
fn check_suggests_what_to_write_instead() {
    let sandbox = Sandbox::new();
    for (rule, says) in POLICIES {
        let policy = sandbox.write("p.rego", format!("package p\n\n{rule}\n"));
        let output = sandbox.run(&["check", &policy]).output().code(1);
        assert!(output.stdout.contains(says), "{rule}: {}", output.stdout);
    }
    let policy = sandbox.write("p.rego", "deny contains 1 if true\n");
    let output = sandbox.run(&["check", &policy]).output().code(1);
    assert!(output.stdout.contains("the file must begin with `package NAME`"));
}

#[test]
fn wrong_arguments_and_files_have_a_next_step() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("ok.rego", "package ok\n\ndeny contains \"x\" if input.y\n");
    let list = sandbox.write("waivers.yaml", "- a: 1\n");
    let input = sandbox.write("input.json", "{\"y\": 1}");
    for (arguments, says) in [
        (&["call", "evidence", "project_name"][..], "write `project_name=VALUE`"),
        (&["eval", "-d", &policy, "ok.deny"], "did you mean `data.ok.deny`?"),
        (&["eval", "-d", "s3://example.com/policies", "1"], "pull it into a folder first"),
        (&["eval", "-d", &policy, "--replay", &input, "data.ok.deny"], "isn't a recording"),
        (
            &["gate", "-d", &policy, "-i", &input, "--waivers", &list],
            "write `waivers:`, a list of `policy` or `finding`, `subject`, `reason`, `owner` and `expires",
        ),
        (&["new", "my policy"], "`my policy` isn't a valid policy name"),
        (&["gate", &policy, &input], "name policies with `-d`"),
        (&["eval", &policy, "data.ok.deny"], "name policies with `-d`"),
    ] {
        sandbox.run(arguments).output().fails(says);
    }
    let output = sandbox.run(&["eval", "data.ok.deny"]).output().code(0);
    output.says("no policies or data are loaded: name them with `-d`");
}

#[test]
fn json_with_a_common_mistake_has_a_hint() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", "package p\n\ndeny contains \"x\" if input.y\n");
    for (text, says) in [
        ("{\"y\": [1,\n ]}", "remove the comma before it"),
        ("{'y': 1}", "strings are written in double quotes"),
        ("{y: 1}", "keys are written in double quotes"),
        ("{\"y\": True}", "JSON has `true`, `false` and `null`"),
        ("{\"y\": 1} // one", "JSON has no comments"),
        ("{\"y\": \"é\"", "the text is incomplete"),
    ] {
        let input = sandbox.write("input.json", text);
        sandbox.run(&["eval", "-i", &input, "1"]).output().fails(says);
        let run =
            sandbox.run(&["gate", "-d", &policy, "-i", &input]).output().fails_with_one_of(&[
                "invalid JSON: invalid character ']' looking for beginning",
                "'' looking for beginning of object key string",
                "invalid JSON: invalid character 'y' looking for beginning",
                "invalid JSON: invalid character 'T' looking for beginning",
                "invalid JSON: invalid character '/' looking for beginning",
                "invalid JSON: unexpected end of JSON input",
            ]);
        assert!(run.stdout.contains(says), "{run:#?}");
    }
    let data = sandbox.write("data.json", "{\"a\": 1}\n{\"b\": 2}\n");
    let output = sandbox
        .run(&["eval", "-d", &data, "1"])
        .output()
        .fails("invalid JSON: invalid character '{' after top-level value");
    output.says("a file holds one document");
}

#[test]
fn a_server_of_another_protocol_and_a_proxy_are_named() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::{Read as _, Write as _};
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let ask = |address: &str| {
        sandbox.run(&[
            "call",
            "discover",
            CLEAN_IMAGE,
            "--token",
            "opaque",
            "--controlplane-url",
            address,
            "--base-url",
            address,
        ])
    };
    let output = ask(&format!("https://{address}"))
        .output()
        .fails("received corrupt message of type InvalidContentType");
    output.says("check the address: the server doesn't use TLS");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxied =
        ask("https://platform.example.com").env("HTTPS_PROXY", &format!("http://u:p@{closed}"));
    let output = proxied.output().fails("platform.discover: can't connect to");
    let output = output.says(&format!("check the proxy `{closed}`"));
    assert!(!output.stderr.contains("u:p"), "{output:#?}");
}

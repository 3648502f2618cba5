//! `http.send` and `net.lookup_ip_addr`: policies that contact their own hosts, over real HTTP.

mod server;

use std::sync::Arc;

use rego_platform::evaluate::{
    Answers, Budget, EvaluateOptions, Evaluated, Origin, Policies, Recording, Replay,
};
use rego_platform::http::Http;
use rego_platform::{ErrorKind, Limit, Value, setting};

use crate::support::{CLEAN_IMAGE, emulator, evaluate, platform, policies};
use server::Server;

/// Returns options that allow these hosts, and have no service.
fn allowing(hosts: &[&str]) -> EvaluateOptions {
    let mut builder = Http::builder();
    for host in hosts {
        builder = builder.allow_host(host.parse().unwrap());
    }
    let mut options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    options.http = Some(builder.build());
    options
}

/// Returns a module of package `p` with `get(path)`, `post(path)` and `quiet(path)`.
fn module(server: &Server, body: &str) -> Policies {
    let url = server.url("");
    let text = format!(
        r#"package p
get(path) := http.send({{"method": "get", "url": concat("", ["{url}", path])}})
post(path) := http.send({{"method": "post", "url": concat("", ["{url}", path]), "body": {{}}}})
quiet(path) := http.send({{
	"method": "get", "url": concat("", ["{url}", path]), "raise_error": false, "timeout": "2s"
}})
{body}
"#
    );
    policies(&[("p.rego", &text)])
}

fn run(policies: &Policies, options: &EvaluateOptions) -> Evaluated {
    evaluate(policies, "data.p.x", "{}", options)
}

fn shown(evaluated: Evaluated) -> String {
    let output = evaluated.result.unwrap_or_else(|error| panic!("{}", error.report()));
    output.value().map_or_else(|| "undefined".to_owned(), Value::to_json)
}

#[test]
fn a_response_is_opas_object() {
    let server = Server::start();
    let policies = module(&server, "x := get(\"/status/404\")");
    let text = shown(run(&policies, &allowing(&[&server.host()])));
    let body = r#"{"method":"GET","path":"/status/404","count":1}"#;
    let expected = serde_json::json!({
        "status": "404 Said", "status_code": 404, "raw_body": body,
        "body": {"method": "GET", "path": "/status/404", "count": 1},
        "headers": {
            "content-type": ["application/json"], "x-of": ["/status/404"],
            "content-length": [body.len().to_string()],
        },
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
}

#[test]
fn independent_requests_are_sent_together_and_equal_ones_once() {
    let server = Server::start();
    let policies = module(
        &server,
        r#"first := {p | some i in numbers.range(1, 40); p := get(sprintf("/%d", [i])).body.path}
second := {q | some p in first; q := get(concat("", [p, p])).body.path}
x := [count(second), get("/1").body.count == get("/1").body.count]"#,
    );
    let evaluated = run(&policies, &allowing(&[&server.host()]));
    let ledger = &evaluated.ledger;
    assert_eq!((ledger.passes, ledger.calls.len()), (3, 80), "{}", ledger.table());
    assert!(ledger.calls.iter().all(|call| call.attempts == 1 && call.bytes > 0 && call.needed));
    assert!(ledger.calls.iter().all(|call| call.origin == Origin::Network));
    assert_eq!(shown(evaluated), "[40,true]");
    assert_eq!(server.requests().len(), 80);
}

#[test]
fn evaluations_that_wait_hold_no_thread() {
    let server = Server::start();
    let policies = module(&server, "x := get(get(\"/a\").body.path).body.count");
    let query = policies.query("data.p.x").unwrap();
    let options = allowing(&[&server.host()]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let evaluated = runtime.block_on(policies.evaluate_async(query, None, options));
    assert_eq!(shown(evaluated), "1");
}

#[test]
fn a_failed_request_fails_the_evaluation_whatever_the_policy_does() {
    let server = Server::start();
    for failing in ["get(\"/closed\")", "get(\":1/elsewhere\")", "net.lookup_ip_addr(\"a.test\")"] {
        for body in [
            "x := true if not F",
            "default x := true\nx := false if F.ok",
            "f(_) := F\nf(1) := 7\nx := f(1)",
            "x := 1 if F.ok\nelse := 2",
            "x := count([1 | F])",
            "x if every y in [1] { not F == y }",
            "x := {y | some i in [1, 2]; y := [F, i]}",
        ] {
            let policies = module(&server, &body.replace('F', failing));
            let mut options = allowing(&[&server.host()]);
            for strict in [true, false] {
                options.strict_builtin_errors = strict;
                let evaluated = run(&policies, &options);
                assert!(evaluated.failed_at.is_some());
                let error = evaluated.result.unwrap_err();
                let kinds =
                    [ErrorKind::Unavailable, ErrorKind::Configuration, ErrorKind::InvalidArgument];
                assert!(kinds.contains(&error.kind()), "{failing} {body}: {}", error.report());
            }
        }
    }
}

#[test]
fn a_request_can_get_its_failure_as_a_value() {
    let server = Server::start();
    let options = allowing(&[&server.host()]);
    for (path, code) in [("/closed", "network"), (":1/", "internal")] {
        let policies = module(&server, &format!("x := quiet(\"{path}\")"));
        let text = shown(run(&policies, &options));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["status_code"], 0);
        assert_eq!(value["error"]["code"], format!("eval_http_send_{code}_error"), "{text}");
        assert_eq!(value.as_object().unwrap().len(), 2);
    }
}

#[test]
fn without_a_host_nothing_is_asked_and_nothing_is_undefined() {
    let server = Server::start();
    for body in
        ["x := quiet(\"/a\")", "x := 1 if not get(\"/a\")", "x := net.lookup_ip_addr(\"a\")"]
    {
        let mut options = allowing(&[]);
        for http in [options.http.take(), None] {
            options.http = http;
            let error = run(&module(&server, body), &options).result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotAnswered);
            assert_eq!(error.setting(), Some(setting::ALLOWED_HOSTS));
        }
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_guess_only_reads() {
    let server = Server::start();
    // While the first answer is unknown, `not` holds, and what follows is a guess.
    let policies = module(
        &server,
        r#"first := get("/first").body.path
guessed contains 1 if {
	not first
	post("/guessed")
}
guessed contains 2 if {
	not first
	get("/read")
}
x := [first, count(guessed), post("/certain").body.method, post("/certain").body.method]"#,
    );
    let mut options = allowing(&[&server.host()]);
    options.budget.eager_prompts = true;
    assert_eq!(shown(run(&policies, &options)), r#"["/first",0,"POST","POST"]"#);
    let mut asked: Vec<_> = server.requests().into_iter().map(|a| (a.method, a.path)).collect();
    asked.sort();
    let expected = [("GET", "/first"), ("GET", "/read"), ("POST", "/certain")];
    assert_eq!(asked, expected.map(|(method, path)| (method.to_owned(), path.to_owned())));
}

#[test]
fn mocks_stand_in_for_requests() {
    let server = Server::start();
    let policies = module(
        &server,
        r#"answer(request) := {"status_code": 200, "body": request.method}
x := [v, f, n] if {
	v := get("/a").body with http.send as {"body": "value"}
	f := get("/a").body with http.send as answer
	n := net.lookup_ip_addr("a.test") with net.lookup_ip_addr as {"192.0.2.1"}
}"#,
    );
    let options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    assert_eq!(shown(run(&policies, &options)), r#"["value","get",["192.0.2.1"]]"#);
}

#[test]
fn a_recording_can_be_replayed_and_contains_no_secret() {
    let server = Server::start();
    let policies = module(
        &server,
        &format!(
            r#"x := [secret("canary-1"), secret("canary-2"), post("/p").body.count, quiet(":1/").status_code, names]
secret(s) := http.send({{
	"method": "get", "url": "{}", "headers": {{"Authorization": s, "X-Plain": "shown"}}
}}).body.count
names := net.lookup_ip_addr("127.0.0.1")"#,
            server.url("/s")
        ),
    );
    let live = run(&policies, &allowing(&[&server.host(), "127.0.0.1"]));
    assert!(!live.ledger.table().contains("canary"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.json");
    live.recording().unwrap().save(&path).unwrap();
    let live = shown(live);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("canary") && text.contains("shown"), "{text}");
    let asked = server.requests();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().any(|asked| asked.head.contains("authorization: canary-2")));
    let replay = |recording| {
        run(&policies, &EvaluateOptions::new(Answers::Replay(Arc::new(Replay::new(recording)))))
    };
    assert_eq!(shown(replay(Recording::load(&path).unwrap())), live);
    assert_eq!(server.requests().len(), 3);
    // An invalid answer, and a call that the recording doesn't have.
    std::fs::write(&path, text.replace("status_code", "status_cod")).unwrap();
    let error = replay(Recording::load(&path).unwrap()).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tampered);
    let error = replay(Recording::new()).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAnswered);
    // Failures are recorded too.
    let failing = module(&server, "x := get(\"/closed\")");
    let live = run(&failing, &allowing(&[&server.host()]));
    let recording = live.recording().unwrap();
    let options = EvaluateOptions::new(Answers::Replay(Arc::new(Replay::new(recording))));
    let again = run(&failing, &options).result.unwrap_err();
    assert_eq!(again.report(), live.result.unwrap_err().report());
}

#[test]
fn our_token_goes_to_the_service_alone() {
    let emulator = emulator();
    let server = Server::start();
    let policies = module(
        &server,
        &format!(
            r#"image := platform.discover("{CLEAN_IMAGE}", "CONTAINER_IMAGE")
x := [image.kind, get("/a").body.path, post(sprintf("/%s", [image.kind])).body.path]"#
        ),
    );
    let mut options = crate::support::options(&platform(&emulator));
    options.http = allowing(&[&server.host()]).http;
    let evaluated = run(&policies, &options);
    let functions: Vec<_> =
        evaluated.ledger.calls.iter().map(|call| call.function.as_str()).collect();
    assert!(functions.contains(&"platform.discover") && functions.contains(&"http.send"));
    assert_eq!(shown(evaluated), r#"["CONTAINER_IMAGE","/a","/container_image"]"#);
    for asked in server.requests() {
        assert!(!asked.head.contains("authorization") && !asked.head.contains("organization"));
        assert!(!asked.head.contains(&emulator.default_token().to_lowercase()), "{}", asked.head);
    }
    // The service's own addresses are hosts like any others: they have to be allowed.
    let control = emulator.controlplane_url();
    let text = format!(
        "package p\nx := http.send({{\"method\": \"get\", \"url\": \"{control}/infoz\"}}).status_code"
    );
    let error = run(&crate::support::policies(&[("p.rego", &text)]), &options).result.unwrap_err();
    assert!(error.report().contains("disallowed host"), "{}", error.report());
}

#[test]
fn requests_are_counted_against_the_budget() {
    let server = Server::start();
    let all = |count: usize| {
        let x = format!(
            "x := count([i | some i in numbers.range(1, {count}); get(sprintf(\"/%d\", [i])).body])"
        );
        module(&server, &x)
    };
    let options = |change: &dyn Fn(&mut Budget)| {
        let mut options = allowing(&[&server.host()]);
        change(&mut options.budget);
        options
    };
    let error = run(&all(101), &options(&|budget| budget.calls = 100)).result.unwrap_err();
    assert_eq!(error.limit(), Some(Limit::Calls));
    let error = run(&all(100), &options(&|budget| budget.bytes = 2000)).result.unwrap_err();
    assert_eq!(error.limit(), Some(Limit::Bytes));
    let evaluated = run(&all(10_000), &options(&|_| {}));
    assert_eq!(evaluated.ledger.calls.len(), 10_000);
    assert_eq!(shown(evaluated), "10000");
}

#[test]
fn wrong_requests_have_opas_codes() {
    let server = Server::start();
    let options = allowing(&[&server.host()]);
    for (request, expected) in [
        (
            r#"{"method": "get"}"#,
            "eval_type_error: http.send: operand 1 missing required request parameters(s): {\"url\"}",
        ),
        (
            r#"{"method": "get", "url": "U", "x": 1}"#,
            "eval_type_error: http.send: operand 1 invalid request parameters(s): {\"x\"}",
        ),
        (
            r#"{"method": "get", "url": "U", "timeout": []}"#,
            "eval_type_error: http.send: operand 1 'timeout' must be one of {string, number} but got array",
        ),
        (
            r#"{"method": "get", "url": "U", "timeout": "x"}"#,
            "eval_builtin_error: http.send: invalid timeout value \"x\": time: invalid duration \"x\"",
        ),
        (
            r#"{"method": 1, "url": "U"}"#,
            "eval_builtin_error: http.send: \"method\" must be a string",
        ),
        (
            r#"{"method": "get", "url": "U", "raise_error": 1}"#,
            "eval_builtin_error: http.send: invalid value for raise_error field",
        ),
        (
            r#"{"method": "get", "url": "U", "max_retry_attempts": -1}"#,
            "eval_builtin_error: http.send: invalid value -1 for field \"max_retry_attempts\"",
        ),
    ] {
        let request = request.replace('U', &server.url("/"));
        let policies = policies(&[("p.rego", &format!("package p\nx := http.send({request})"))]);
        let error = run(&policies, &options).result.unwrap_err();
        assert_eq!(error.diagnostics()[0].message, expected);
    }
    assert!(server.requests().is_empty());
}

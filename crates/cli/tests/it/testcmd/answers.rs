//! The answers of calls that aren't mocked, the number of concurrent tests, and their time limit.

use rego_platform_emulator::{Emulator, Fault};
use serde_json::json;

use super::test_with;
use crate::cli::{Output, Sandbox, service};
use crate::emulator::{BINARY, CLEAN_IMAGE};
use crate::support::HANG;

const LOCAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/platform");

/// A policy that calls the service, and a test that doesn't mock it.
fn files() -> Vec<(&'static str, String)> {
    let policy = format!(
        "package p\n\nkind := platform.discover(\"{CLEAN_IMAGE}\", \"\").kind\n\n\
        other := platform.discover(\"{BINARY}\", \"\").digest\n"
    );
    let tests = "package p_test\n\nimport data.p\n\n\
        test_kind if p.kind == \"CONTAINER_IMAGE\"\n";
    vec![("p.rego", policy), ("p_test.rego", tests.to_owned())]
}

fn with_service(service: &Emulator, files: &[(&str, String)], arguments: &[&str]) -> Output {
    test_with(&Sandbox::new(), files, arguments, |run| {
        run.env("PLATFORM_TOKEN", &service.default_token())
            .env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
            .env("PLATFORM_BASE_URL", &service.base_url())
    })
}

fn plain(sandbox: &Sandbox, files: &[(&str, String)], arguments: &[&str]) -> Output {
    test_with(sandbox, files, arguments, |run| run)
}

#[test]
fn the_service_is_asked_with_live_and_never_without() {
    let service = service();
    let output =
        with_service(&service, &files(), &[]).fails("no source of responses for this call");
    assert!(output.stdout.contains("with platform.discover as"), "{output:#?}");
    assert!(service.requests().is_empty());
    with_service(&service, &files(), &["--live"]).code(0).silent();
    let asked: Vec<String> =
        service.requests().iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(asked, [format!("/discover/{CLEAN_IMAGE}")]);
    with_service(&service, &files(), &["--live", "--local", LOCAL]).fails("cannot be used");
}

#[test]
fn a_folder_answers_with_local() {
    let sandbox = Sandbox::new();
    plain(&sandbox, &files(), &["--local", LOCAL]).code(0).silent();
    // A failure of the service isn't a verdict on the policy.
    let fault = ["--local", LOCAL, "--fault", "discover:status=403"];
    let output = plain(&sandbox, &files(), &fault)
        .fails("platform.discover: not found or not allowed for this API token (403)");
    assert!(output.stdout.contains("p.rego:3:"), "{output:#?}");
    assert!(output.stdout.contains("data.p_test.test_kind: ERROR"), "{output:#?}");
}

#[test]
fn a_recording_answers_again_and_nothing_else() {
    let sandbox = Sandbox::new();
    let recording = sandbox.path("run.json");
    let recording = recording.to_str().unwrap();
    plain(&sandbox, &files(), &["--local", LOCAL, "--record", recording]).code(0);
    let text = std::fs::read_to_string(recording).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
    let calls = recorded["nd_builtin_cache"]["platform.discover"].as_object().unwrap();
    assert_eq!(calls.keys().collect::<Vec<_>>(), [&json!([CLEAN_IMAGE, ""]).to_string()]);
    plain(&sandbox, &files(), &["--replay", recording]).code(0).silent();
    let mut more = files();
    more[1].1.push_str("\ntest_other if p.other\n");
    let output = plain(&sandbox, &more, &["--replay", recording])
        .fails("platform.discover: the recording has no response for the call");
    assert!(output.stdout.contains("PASS: 1/2\nERROR: 1/2\n"), "{output:#?}");
    assert!(output.stdout.contains("the recording has no response for the call"), "{output:#?}");
}

#[test]
fn so_many_tests_run_at_a_time() {
    let digests: Vec<String> = (0..6).map(|n| format!("sha256:{n:064x}")).collect();
    let mut tests = "package a_test\n".to_owned();
    for (n, digest) in digests.iter().enumerate() {
        let evidence = format!("platform.evidence({{\"search\": \"{digest}\"}})");
        tests.push_str(&format!("\ntest_{n} if {evidence}.results == []\n"));
    }
    for (parallel, expected) in [("1", 1..=1), ("4", 2..=4)] {
        let service = service();
        service.set_faults(vec!["evidence:latency=300ms".parse::<Fault>().unwrap()]);
        let arguments = ["--live", "--parallel", parallel];
        let output = with_service(&service, &[("a_test.rego", tests.clone())], &arguments).code(0);
        assert_eq!(output.stdout, "PASS: 6/6\n");
        assert!(expected.contains(&service.max_in_flight()), "{}", service.max_in_flight());
    }
    let none = [("a_test.rego", tests)];
    plain(&Sandbox::new(), &none, &["--parallel", "0"]).fails("--parallel");
}

#[test]
fn the_time_is_each_tests_own() {
    let tests = "package a_test\n\nxs := numbers.range(1, 5000)\n\n\
        test_endless if count([1 | some a in xs; some b in xs; some c in xs; a + b == c]) == 0\n\n\
        test_quick if true\n";
    let started = std::time::Instant::now();
    let arguments = ["--timeout", "700ms", "--parallel", "2", "-v"];
    let output = plain(&Sandbox::new(), &[("a_test.rego", tests.to_owned())], &arguments)
        .fails("the evaluation timed out after");
    assert!(output.stdout.contains("test_endless: ERROR"), "{output:#?}");
    assert!(output.stdout.contains("test_quick: PASS"), "{output:#?}");
    assert!(started.elapsed() < HANG, "{:?}", started.elapsed());
}

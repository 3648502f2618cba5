//! The origins of token, organization and addresses, and the messages when they are wrong.

use serde_json::{Value, json};

use super::{CANARY, Sandbox, jwt, service};

/// Returns the status as JSON, whatever the exit status.
fn status(run: super::Run) -> Value {
    run.output().json()
}

const STATUS: &[&str] = &["auth", "status", "--format", "json", "--timeout", "1s"];

#[test]
fn option_wins_over_environment_over_file() {
    let sandbox = Sandbox::new();
    let file = sandbox.config(
        "platform",
        "organization = 'from-file'\n[auth]\ntoken = 'canary-9f2c-file'\n\
         [control-plane]\nurl = 'http://127.0.0.1:1/file'\n[platform]\nurl = 'http://127.0.0.1:1/f'\n",
    );
    let found = status(sandbox.run(STATUS));
    let origin = |key: &str, name: &str| json!(format!("`{key}` in `{name}`"));
    assert_eq!(found["organization"]["value"], "from-file");
    assert_eq!(found["organization"]["origin"], origin("organization", &file));
    assert_eq!(found["token"]["origin"], origin("auth.token", &file));
    assert_eq!(found["controlplane_url"]["origin"], origin("control-plane.url", &file));
    assert_eq!(found["base_url"]["origin"], origin("platform.url", &file));
    assert_eq!(found["config"], json!(file));

    let environment = |run: super::Run| {
        run.env("PLATFORM_TOKEN", CANARY)
            .env("PLATFORM_ORGANIZATION", "from-env")
            .env("PLATFORM_CONTROLPLANE_URL", "http://127.0.0.1:1/env")
            .env("PLATFORM_BASE_URL", "http://127.0.0.1:1/e")
    };
    let found = status(environment(sandbox.run(STATUS)));
    assert_eq!(found["organization"]["value"], "from-env");
    for (field, name) in [
        ("organization", "PLATFORM_ORGANIZATION"),
        ("token", "PLATFORM_TOKEN"),
        ("controlplane_url", "PLATFORM_CONTROLPLANE_URL"),
        ("base_url", "PLATFORM_BASE_URL"),
    ] {
        assert_eq!(found[field]["origin"], json!(format!("environment variable `{name}`")));
    }

    let options = ["--token", CANARY, "--organization", "from-option"];
    let urls = ["--controlplane-url", "http://127.0.0.1:1/o", "--base-url", "http://127.0.0.1:1/p"];
    let found = status(environment(sandbox.run(&[STATUS, &options, &urls].concat())));
    assert_eq!(found["organization"]["value"], "from-option");
    for (field, name) in [
        ("organization", "--organization"),
        ("token", "--token"),
        ("controlplane_url", "--controlplane-url"),
        ("base_url", "--base-url"),
    ] {
        assert_eq!(found[field]["origin"], json!(format!("option `{name}`")));
    }
}

#[test]
fn every_name_follows_the_product() {
    let sandbox = Sandbox::new();
    sandbox.config("chainloop", "organization = 'theirs'");
    sandbox.config("platform", "organization = 'ours'");
    let run = sandbox.run(&[STATUS, &["--product", "chainloop"]].concat());
    let found = status(run.env("CHAINLOOP_TOKEN", CANARY).env("PLATFORM_TOKEN", "other"));
    assert_eq!(found["product"], "chainloop");
    assert_eq!(found["organization"]["value"], "theirs");
    assert_eq!(found["token"]["origin"], "environment variable `CHAINLOOP_TOKEN`");
    sandbox.run(&["auth", "status", "--product", "http"]).output().fails("reserved in Rego");
}

#[test]
fn an_explicit_file_must_be_there_and_be_toml() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("none.toml");
    let missing = missing.to_str().unwrap();
    let run = sandbox.run(&["auth", "status", "--config", missing]);
    run.output().fails("none.toml` doesn't exist").says("error: the configuration file");

    let broken = sandbox.write("broken.toml", format!("a = 1\n[auth]\ntoken = \"{CANARY}\n"));
    let output =
        sandbox.run(&["auth", "status", "--config", &broken]).output().fails("isn't valid TOML");
    output.says("line 3 of").says("isn't valid TOML").says("help:");

    let wrong = sandbox.write("wrong.toml", format!("organization = ['{CANARY}']\n"));
    let output =
        sandbox.run(&["auth", "status", "--config", &wrong]).output().fails("organization` in `");
    output.says("`organization` in").says("isn't a string");
}

#[test]
fn a_token_comes_from_a_file_or_standard_input() {
    let sandbox = Sandbox::new();
    let service = service();
    let (control_plane, base) = (service.controlplane_url(), service.base_url());
    let urls = ["--controlplane-url", &control_plane, "--base-url", &base];
    let call = ["call", "evidence", "search=nothing"];
    let token = service.token("ci").unwrap();
    let file = sandbox.write("token", format!("{token}\n"));
    let run = sandbox.run(&[&call, &urls[..], &["--token-file", &file]].concat());
    run.output().code(0).silent();
    let run = sandbox.run(&[&call, &urls[..], &["--token-file", "-"]].concat());
    run.stdin(format!("{token}\n")).output().code(0).silent();
    let run = sandbox.run(&[&call, &urls[..], &["--token", &token]].concat());
    let output = run.output().code(0).says("list of processes");
    assert!(!output.stderr.contains(&token));
    assert_eq!(output.stderr.matches("warning:").count(), 1);
}

#[test]
fn standard_input_is_read_once() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["eval", "1", "-i", "-", "--token-file", "-"]);
    run.stdin(CANARY).output().fails("standard input can't be both");
    let run = sandbox.run(&["call", "evidence_prompt", "-", "-"]);
    run.stdin("x").output().fails("is given twice");
}

#[test]
fn token_options_that_are_wrong_are_refused() {
    let sandbox = Sandbox::new();
    let empty = sandbox.write("empty", "\n");
    let binary = sandbox.write("binary", [b'\n', 0xff]);
    let two = sandbox.write("two", format!("{CANARY}\n{CANARY}\n"));
    for (arguments, says) in [
        (&["--token", CANARY, "--token-file", "x"][..], "can't be used together"),
        (&["--token-file", "/nonexistent/token"], "doesn't exist"),
        (&["--token-file", &empty], "empty token (from option `--token-file`)"),
        (&["--token-file", &binary], "invalid UTF-8"),
        (&["--token-file", &two], "white space"),
        (&["--token", ""], "empty token (from option `--token`)"),
    ] {
        let run = sandbox.run(&[&["auth", "status"], arguments].concat());
        run.output().fails(says);
    }
    let run = sandbox.run(&["auth", "status"]).env("PLATFORM_TOKEN", &format!("{CANARY}\u{7}"));
    run.output().fails("from environment variable `PLATFORM_TOKEN`");
}

#[test]
fn an_invalid_address_names_its_origin() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["auth", "status", "--base-url", ""]);
    run.output().fails("is empty (from option `--base-url`)");
    let with_password = format!("https://user:{CANARY}@example.com");
    let run = sandbox.run(&["auth", "status"]).env("PLATFORM_CONTROLPLANE_URL", &with_password);
    let output = run.output().fails("user name or password");
    output.says("(from environment variable `PLATFORM_CONTROLPLANE_URL`)");
    sandbox.config("platform", "platform.url = 'http://example.com'\n");
    let output = sandbox.run(&["auth", "status"]).output().fails("plain HTTP");
    output.says("`platform.url` in").says("help: use https");
    sandbox.config("platform", "[endpoints]\ndiscoverr = '/x/{digest}'\n");
    let output = sandbox
        .run(&["auth", "status"])
        .output()
        .fails("unknown endpoint `discoverr` (from `endpoints` in `");
    output.says("(from `endpoints` in").says("did you mean `discover`");
}

#[test]
fn insecure_is_only_ever_an_option() {
    let sandbox = Sandbox::new();
    sandbox.config("platform", "insecure = true\nplatform.url = 'http://example.com'\n");
    let run = sandbox.run(STATUS).env("PLATFORM_INSECURE", "true").env("INSECURE", "1");
    run.output().fails("plain HTTP");
    let run = sandbox.run(&[STATUS, &["--insecure"]].concat());
    assert_eq!(status(run)["base_url"]["value"], "http://example.com");
}

#[test]
fn a_user_token_in_ci_earns_one_warning() {
    let sandbox = Sandbox::new();
    let user = jwt(&json!({"aud": "user-auth.platform"}));
    let api = jwt(&json!({"aud": "api-token-auth.platform"}));
    for (token, ci, warnings) in
        [(&user, "true", 1), (&user, "false", 0), (&user, "", 0), (&api, "true", 0)]
    {
        let run = sandbox.run(STATUS).env("PLATFORM_TOKEN", token).env("CI", ci);
        let output = run.output();
        assert_eq!(output.stderr.matches("24 hours").count(), warnings, "{output:#?}");
    }
}

#[test]
fn a_missing_token_names_the_variable_to_set() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["call", "evidence"]).output().fails("missing token");
    output.says("`PLATFORM_TOKEN`");
    let run = sandbox.run(&["call", "evidence", "--product", "acme"]);
    run.output().fails("`ACME_TOKEN`");
    let run = sandbox.run(&["call", "evidence"]).env("PLATFORM_TOKEN", "");
    run.output().fails("missing token");
}

#[test]
fn an_expired_token_is_refused_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    let service = service();
    let three_hours_ago = chrono::Utc::now().timestamp() - 3 * 3600 - 5;
    let token = jwt(&json!({"aud": "user-auth.platform", "exp": three_hours_ago}));
    let run = sandbox.run(&["call", "evidence"]).env("PLATFORM_TOKEN", &token);
    let run = run.env("PLATFORM_BASE_URL", &service.base_url());
    let output = run.output().fails("the user token expired 3 hours ago");
    output.says("help: log in again");
    assert!(service.requests().is_empty());
}

#[test]
fn the_emulator_never_meets_the_real_context() {
    let sandbox = Sandbox::new();
    sandbox.config(
        "platform",
        "organization = 'unknown'\n[auth]\ntoken = 'canary-9f2c'\n[endpoints]\nevidence = '/x'\n\
         [platform]\nurl = 'https://real.example'\n",
    );
    let run = sandbox.local(&["call", "evidence", "search=nothing"]).env("PLATFORM_TOKEN", CANARY);
    run.env("PLATFORM_BASE_URL", "https://real.example").output().code(0).silent();
    let run = sandbox.local(&["call", "evidence", "--base-url", "https://real.example"]);
    run.output().fails("`--local` and `--base-url` can't be used together");
    let explicit = sandbox.config("platform", "[platform]\nurl = 'https://real.example'\n");
    let run = sandbox.local(&["call", "evidence", "--config", &explicit]);
    run.output().fails("can't be used together");
    let run = sandbox.run(&["call", "evidence", "--local", "/nonexistent"]);
    run.output().fails("/nonexistent");
    let user = service().token("user").unwrap();
    let run = sandbox.local(&["auth", "status", "--format", "json", "--token-file", "-"]);
    let found = run.stdin(user).output().code(0).json();
    assert_eq!(found["token"]["kind"], "user token");
    assert_eq!(found["controlplane_url"]["origin"], "the emulator of `--local`");
}

#[test]
fn the_largest_number_of_results_and_paths_come_from_the_file() {
    let sandbox = Sandbox::new();
    let service = service();
    let token = service.token("ci").unwrap();
    let text = format!("[auth]\ntoken = '{token}'\n[platform]\nurl = '{}'\n", service.base_url());
    sandbox.config("platform", &format!("max-results = 3\n{text}"));
    sandbox.run(&["call", "evidence"]).output().fails("3");
    sandbox.config("platform", &format!("{text}[endpoints]\nevidence = '/elsewhere'\n"));
    sandbox.run(&["call", "evidence"]).output().fails("404");
    assert!(service.requests().iter().any(|r| format!("{r:?}").contains("/elsewhere")));
}

#[test]
fn an_organization_that_an_api_token_ignores_earns_a_warning() {
    let sandbox = Sandbox::new();
    let token = jwt(&json!({"aud": "api-token-auth.platform"}));
    let run = sandbox.run(&[STATUS, &["--organization", "other"]].concat());
    run.env("PLATFORM_TOKEN", &token).output().says("bound to its organization");
    let run = sandbox.run(STATUS).env("PLATFORM_ORGANIZATION", "other");
    assert_eq!(run.env("PLATFORM_TOKEN", &token).output().stderr, "");
}

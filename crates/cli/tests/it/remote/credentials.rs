//! Who is told the credentials of a registry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::registry::Registry;
use super::{run, stored};
use crate::cli::{CANARY, Output, Sandbox};
use crate::hostile::script;
use crate::hostile::server::{Request, Server, Step};

/// Answers a request without the right header with a challenge.
fn guarded(
    wanted: &str,
    challenge: &str,
) -> impl Fn(&Request) -> Option<Vec<Step>> + Send + Sync + use<> {
    let (wanted, challenge) = (wanted.to_owned(), challenge.to_owned());
    move |request| {
        let is_in = request.header("authorization") == Some(&wanted);
        (!is_in).then(|| script::status(401, &[("www-authenticate", &challenge)], ""))
    }
}

fn login(sandbox: &Sandbox, registry: &Registry, user: &str) -> String {
    let basic = STANDARD.encode(format!("{user}:{CANARY}"));
    let host = registry.server.address;
    let text =
        format!(r#"{{"auths": {{"{host}": {{"auth": "{basic}"}}, "other": {{"auth": "eDp5"}}}}}}"#);
    sandbox.write(".docker/config.json", text);
    format!("Basic {basic}")
}

/// Gives a token whatever it is asked.
fn tokens() -> Server {
    Server::start(|_| script::ok(format!(r#"{{"token": "t-{CANARY}"}}"#).into_bytes()))
}

fn gate(sandbox: &Sandbox, registry: &Registry, digest: &str, more: &[&str]) -> Output {
    let pinned = registry.address(&format!("acme/policies@{digest}"));
    run(sandbox, &[&["gate", "-d", &pinned, "-i", "-"], more].concat())
}

#[test]
fn a_registry_is_told_its_own_credentials() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let sandbox = Sandbox::new();
    let basic = login(&sandbox, &registry, "u");
    registry.hook(guarded(&basic, "Basic realm=\"x\""));
    gate(&sandbox, &registry, &digest, &[]).code(1);
    // Before it asks, it isn't told.
    assert!(registry.server.requests().first().unwrap().header("authorization").is_none());
    gate(&Sandbox::new(), &registry, &digest, &[]).fails("unauthenticated at");
    let other = Sandbox::new();
    other.write(".docker/config.json", r#"{"auths": {"other": {"auth": "eDp5"}}}"#);
    gate(&other, &registry, &digest, &[]).fails("`docker login`");
    for text in ["7", "{\"auths\": 1}", "", "{\"auths\": {\"HOST\": {\"auth\": \"canary\"}}}"] {
        let text = text.replace("HOST", &registry.server.address.to_string());
        other.write(".docker/config.json", text);
        let output = gate(&other, &registry, &digest, &[]).fails("valid");
        assert!(!output.stderr.contains("canary"), "{output:#?}");
    }
}

#[test]
fn a_token_service_elsewhere_is_told_nothing_unless_it_is_allowed() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let service = tokens();
    let bearer = format!("Bearer t-{CANARY}");
    let challenge = format!(
        "Bearer realm=\"{}/token?a=b\",service=\"s\",scope=\"repository:other:pull,push\"",
        service.url()
    );
    registry.hook(guarded(&bearer, &challenge));
    gate(&Sandbox::new(), &registry, &digest, &[]).code(1);
    let [request] = service.requests().try_into().unwrap();
    assert_eq!(request.header("authorization"), None);
    // What is asked for is what is needed, whatever the registry says.
    assert_eq!(request.query("scope"), ["repository:acme/policies:pull"]);
    assert_eq!(
        (request.query("service"), request.query("a")),
        (vec!["s".into()], vec!["b".into()])
    );
    let sandbox = Sandbox::new();
    let basic = login(&sandbox, &registry, "u");
    gate(&sandbox, &registry, &digest, &[]).fails("token service of");
    assert_eq!(service.requests().len(), 1);
    let host = service.address.to_string();
    gate(&sandbox, &registry, &digest, &["--allow-host", &host]).code(1);
    assert_eq!(service.requests()[1].header("authorization"), Some(&*basic));
    // A token that is exchanged for others.
    let text = format!(
        r#"{{"auths": {{"{}": {{"identitytoken": "{CANARY}"}}}}}}"#,
        registry.server.address
    );
    sandbox.write(".docker/config.json", text);
    gate(&sandbox, &registry, &digest, &["--allow-host", &host]).code(1);
    let exchanged = &service.requests()[2];
    assert_eq!((exchanged.method(), exchanged.query("refresh_token")), ("POST", Vec::new()));
    assert!(String::from_utf8_lossy(&exchanged.body).contains(&format!("refresh_token={CANARY}")));
    for (realm, says) in [
        ("http://token.example/t", "token service"),
        ("file:///etc/passwd", "invalid address of"),
        ("/token", "invalid address of"),
    ] {
        registry.hook(guarded(&bearer, &format!("Bearer realm=\"{realm}\"")));
        gate(&sandbox, &registry, &digest, &[]).fails(says);
    }
}

#[test]
fn a_token_service_that_gives_no_token_is_an_error() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let sandbox = Sandbox::new();
    for (answer, says) in [
        (script::ok(b"{}".to_vec()), "no usable token"),
        (script::ok(b"{\"token\": 1}".to_vec()), "no usable token"),
        (script::ok(br#"{"token": "a\nb"}"#.to_vec()), "no usable token"),
        (script::ok(vec![b' '; 2 << 20]), "exceeds the limit of 1 MiB"),
        (script::status(302, &[("location", "/x")], ""), "unexpected status"),
        (script::status(401, &[], ""), "unauthenticated at"),
    ] {
        let service = Server::start(move |_| answer.clone());
        registry.hook(guarded("x", &format!("Bearer realm=\"{}/t\"", service.url())));
        gate(&sandbox, &registry, &digest, &[]).fails(says);
    }
}

#[cfg(unix)]
#[test]
fn a_helper_is_asked_for_the_registry_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let registry = Registry::new();
    let digest = stored(&registry);
    let sandbox = Sandbox::new();
    let host = registry.server.address.to_string();
    let basic = format!("Basic {}", STANDARD.encode(format!("u:{CANARY}")));
    registry.hook(guarded(&basic, "Basic realm=\"x\""));
    let helper = |script: &str| {
        let path = sandbox.write("bin/docker-credential-fake", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let pinned = registry.address(&format!("acme/policies@{digest}"));
        let bin = sandbox.path("bin");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let run = sandbox.run(&["gate", "-d", &pinned, "-i", "-", "--timeout", "3s"]);
        run.env("PATH", &path).stdin("{\"bad\": 1}").output()
    };
    for text in [
        format!(r#"{{"credHelpers": {{"{host}": "fake"}}}}"#),
        r#"{"credsStore": "fake"}"#.to_owned(),
    ] {
        sandbox.write(".docker/config.json", text);
        let good = format!(
            "[ \"$1\" = get ] && [ \"$(cat)\" = \"{host}\" ] || exit 1\n\
             echo '{{\"ServerURL\": \"x\", \"Username\": \"u\", \"Secret\": \"{CANARY}\"}}'"
        );
        helper(&good).code(1);
        helper("echo 'credentials not found'; exit 1").fails("unauthenticated at");
        helper(&format!("echo '{CANARY}'")).fails("invalid response of the credential helper");
        helper("exec sleep 60").fails("timed out after 3s");
    }
    for name in ["../fake", "a b", ""] {
        let text = format!(r#"{{"credHelpers": {{"{host}": "{name}"}}}}"#);
        sandbox.write(".docker/config.json", text);
        gate(&sandbox, &registry, &digest, &[]).fails("invalid name of a credential helper");
    }
}

#[test]
fn credentials_are_stored_with_a_scheme_or_a_path_too() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let sandbox = Sandbox::new();
    let pair = STANDARD.encode(format!("u:{CANARY}"));
    registry.hook(guarded(&format!("Basic {pair}"), "Basic realm=\"x\""));
    let host = registry.server.address.to_string();
    let with = |keys: &[String]| {
        let auths: Vec<String> =
            keys.iter().map(|key| format!(r#""{key}": {{"auth": "{pair}"}}"#)).collect();
        sandbox.write(".docker/config.json", format!("{{\"auths\": {{{}}}}}", auths.join(", ")));
        gate(&sandbox, &registry, &digest, &[])
    };
    for key in ["https://HOST", "https://HOST/", "https://HOST/v2/", "http://HOST", "HOST/acme"] {
        with(&[key.replace("HOST", &host)]).code(1);
    }
    for key in ["https://other/HOST", "HOST/ac", "https://x.HOST"] {
        with(&[key.replace("HOST", &host)]).fails("unauthenticated at");
    }
}

#[test]
fn a_helper_that_is_not_installed_is_named() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let sandbox = Sandbox::new();
    let host = registry.server.address.to_string();
    for text in [
        format!(r#"{{"auths": {{"{host}": {{}}}}, "credsStore": "not-installed"}}"#),
        format!(r#"{{"credHelpers": {{"{host}": "not-installed"}}}}"#),
    ] {
        sandbox.write(".docker/config.json", text);
        registry.hook(guarded("x", "Basic realm=\"x\""));
        let says = "the credential helper `docker-credential-not-installed` isn't installed";
        gate(&sandbox, &registry, &digest, &[]).fails(says);
        let service = Server::start(|_| script::status(401, &[], ""));
        registry.hook(guarded("x", &format!("Bearer realm=\"{}/t\"", service.url())));
        gate(&sandbox, &registry, &digest, &[]).fails(says);
        // What anyone may read needs none.
        registry.hook(|_| None);
        gate(&sandbox, &registry, &digest, &[]).code(1);
        let service = tokens();
        let bearer = format!("Bearer t-{CANARY}");
        registry.hook(guarded(&bearer, &format!("Bearer realm=\"{}/t\"", service.url())));
        gate(&sandbox, &registry, &digest, &[]).code(1);
    }
}

#[test]
fn a_registry_that_is_asked_too_often_is_asked_again_later() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let limited = |count: usize, after: Option<&'static str>| {
        let registry = Registry::new();
        let digest = stored(&registry);
        let left = AtomicUsize::new(count);
        registry.hook(move |_| {
            let take = |left: usize| left.checked_sub(1);
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
            let headers: Vec<_> = after.into_iter().map(|after| ("retry-after", after)).collect();
            Some(script::status(429, &headers, ""))
        });
        let before = registry.server.requests().len();
        let output = gate(&Sandbox::new(), &registry, &digest, &["--timeout", "30s"]);
        (output, registry.server.requests().len() - before)
    };
    limited(1, Some("1")).0.code(1);
    limited(5, None).0.code(1);
    limited(5, Some("0")).0.code(1);
    // Nobody waits for what outlasts the deadline.
    let (output, requests) = limited(1, Some("3600"));
    output.fails(": retry after 3600s");
    assert_eq!(requests, 1);
}

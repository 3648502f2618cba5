//! The authentication context is the same for a host in Rust and for the command: each case of
//! `testdata/context.json` has the same outcome and the same message, and the command adds its options to the hint.
//! The Python package is held against the same cases in `bindings/python/tests/test_context.py`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rego_platform::{Platform, Value};
use rego_platform_emulator::EmulatorOptions;
use serde::Deserialize;
use serde_json::json;

use super::{CANARY, Output, Sandbox, jwt};
use crate::emulator::{CLEAN_IMAGE, THREAT_MODEL, start};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    file: Option<String>,
    #[serde(rename = "as")]
    form: Option<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    call: Option<String>,
    error: Option<String>,
}

/// The variable that makes [`rust_host`] a host.
const HOST: &str = "REGO_PLATFORM_TEST_HOST";

/// A host, when the matrix runs this test as a process of its own.
#[test]
fn rust_host() {
    let Ok(function) = std::env::var(HOST) else { return };
    let host = || {
        if function == "own-token" {
            // A host that sets a token reads no file.
            let token = rego_platform::Token::new("own")?;
            let platform = Platform::builder().token(token).context()?.build()?;
            return Ok(format!(
                "{:?} {:?}",
                platform.config_file(),
                platform.address(rego_platform::Api::Backend)
            ));
        }
        let platform = Platform::from_context()?;
        if function == "evidence" {
            return platform
                .call("evidence", &[Value::from(rego_platform::rego::value::Object::default())])
                .map(|_| String::new());
        }
        let image = platform.call("discover", &[CLEAN_IMAGE.into(), "".into()])?;
        if function == "discover" {
            return Ok(image.to_json());
        }
        let model = platform.call("download_artifact", &[THREAT_MODEL.into()])?;
        Ok(format!("{}\n{}", image.to_json(), model.to_json()))
    };
    let report = match host() {
        Ok(answers) => json!({ "answers": answers }),
        Err(error) => {
            json!({ "error": rego_platform::Error::report(&error), "hint": error.hint() })
        }
    };
    println!("\nREPORT {report}");
}

/// Runs [`rust_host`] with the environment of a sandbox.
fn in_rust(
    sandbox: &Sandbox,
    environment: &BTreeMap<String, String>,
    function: &str,
) -> serde_json::Value {
    let mut host = Command::new(std::env::current_exe().unwrap());
    host.args(["--exact", "cli::hosts::rust_host", "--nocapture"]).env_clear();
    host.env("HOME", sandbox.path("")).env("XDG_CONFIG_HOME", sandbox.path("config"));
    let output = host.envs(environment).env(HOST, function).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report = text.lines().find_map(|line| line.strip_prefix("REPORT "));
    serde_json::from_str(report.unwrap_or_else(|| panic!("{text}"))).unwrap()
}

fn in_command(
    sandbox: &Sandbox,
    environment: &BTreeMap<String, String>,
    arguments: &[&str],
) -> Output {
    let run = sandbox.run(&[&["call"], arguments].concat());
    environment.iter().fold(run, |run, (name, value)| run.env(name, value)).output()
}

/// A relay from TLS to a plain address, and its authority.
fn tls(to: String) -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, to) = (acceptor.clone(), to.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut there = tokio::net::TcpStream::connect(to).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut there).await;
                });
            }
        });
    });
    (address, pem)
}

/// Puts the file of a case into its place.
fn write(sandbox: &Sandbox, path: &str, text: &str, form: Option<&str>) {
    match form {
        None => drop(sandbox.write(path, text)),
        Some("2 MiB") => drop(sandbox.write(path, format!("{text}#{}", "x".repeat(2 << 20)))),
        Some("folder") => std::fs::create_dir_all(sandbox.path(path)).unwrap(),
        #[cfg(unix)]
        Some("link") => {
            let real = sandbox.write("elsewhere", text);
            std::fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(real, sandbox.path(path)).unwrap();
        }
        Some(other) => panic!("{other}"),
    }
}

#[test]
fn a_rust_host_and_the_command_have_the_same_context() {
    let text =
        std::fs::read_to_string(Path::new(crate::ROOT).join("testdata/context.json")).unwrap();
    let Cases { cases } = serde_json::from_str(&text).unwrap();
    let product = "chainloop".to_owned();
    let service = start(EmulatorOptions { product, ..EmulatorOptions::default() });
    let three_hours_ago = chrono::Utc::now().timestamp() - 3 * 3600 - 30;
    let expired = jwt(&json!({"aud": "user-auth.chainloop", "exp": three_hours_ago}));
    let (tls, ca) = tls(service.grpc_address());
    let values = [
        ("{grpc}", service.grpc_address()),
        ("{store}", service.store_address()),
        ("{http}", service.controlplane_url()),
        ("{base}", service.base_url()),
        ("{token}", service.default_token()),
        ("{expired}", expired),
        ("{tls}", tls),
        ("{ca}", ca.clone()),
    ];
    let check = |case: &Case| {
        let sandbox = Sandbox::new();
        let path = "config/chainloop/config.toml";
        let fill = |text: &str| {
            let filled = values
                .iter()
                .fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
            let file = sandbox.path(path);
            let folder = file.parent().unwrap().to_str().unwrap();
            filled.replace("{config}", file.to_str().unwrap()).replace("{folder}", folder)
        };
        sandbox.write("config/chainloop/ca.pem", &ca);
        if let Some(text) = &case.file {
            write(&sandbox, path, &fill(text), case.form.as_deref());
        }
        let mut environment = BTreeMap::from([
            ("REGO_PLATFORM_PRODUCT".to_owned(), "chainloop".to_owned()),
            // Nothing listens there: no test reaches a hosted service. Loopback is never proxied.
            ("HTTPS_PROXY".to_owned(), "http://127.0.0.1:1".to_owned()),
        ]);
        environment
            .extend(case.environment.iter().map(|(name, value)| (name.clone(), fill(value))));
        let name = &case.name;
        let only = case.call.as_deref();
        let function = only.unwrap_or("discover");
        let host = in_rust(&sandbox, &environment, only.unwrap_or("both"));
        assert!(!host.to_string().contains("canary"), "{name}: {host}");
        let arguments: &[&str] = if function == "evidence" { &[] } else { &[CLEAN_IMAGE, ""] };
        let command = in_command(&sandbox, &environment, &[&[function], arguments].concat());
        let Some(error) = &case.error else {
            let mut expected = vec![command.code(0).json()];
            if only.is_none() {
                let model = ["download_artifact", THREAT_MODEL];
                expected.push(in_command(&sandbox, &environment, &model).code(0).json());
            }
            let answers = host["answers"].as_str().unwrap_or_else(|| panic!("{name}: {host}"));
            let answers = answers.lines().map(serde_json::from_str::<serde_json::Value>);
            let answers: Vec<_> = answers.map(Result::unwrap).collect();
            assert_eq!(answers, expected, "{name}");
            return;
        };
        let message = host["error"].as_str().unwrap_or_else(|| panic!("{name}: {host}"));
        assert!(message.contains(&fill(error)), "{name}: {host}");
        let command = command.fails(message);
        assert!(
            command.stderr.contains(&format!("error: {message}\n")),
            "{name}: {host} {command:#?}"
        );
        if let Some(hint) = host["hint"].as_str() {
            assert!(
                command.stderr.contains(&format!("help: {hint}")),
                "{name}: {host} {command:#?}"
            );
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = cases.iter().map(|case| scope.spawn(move || check(case))).collect();
        assert!(running.len() > 20);
        for case in running {
            case.join().unwrap();
        }
    });
}

/// Its token isn't sent to an address that a file names, nor to a hosted service in its place.
#[test]
fn a_host_with_a_token_of_its_own_reads_no_file() {
    let sandbox = Sandbox::new();
    let product = ("REGO_PLATFORM_PRODUCT".to_owned(), "chainloop".to_owned());
    let environment = BTreeMap::from([product]);
    let there = |host: serde_json::Value| host["answers"].as_str().map(str::to_owned);
    let hosted = "None Some(\"https://api.app.chainloop.dev/\")".to_owned();
    assert_eq!(there(in_rust(&sandbox, &environment, "own-token")), Some(hosted));
    sandbox.config("chainloop", &format!("not TOML: {CANARY}"));
    let none = "None None".to_owned();
    assert_eq!(there(in_rust(&sandbox, &environment, "own-token")), Some(none));
}

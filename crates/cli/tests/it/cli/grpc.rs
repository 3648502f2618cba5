//! What a login with the service's own client leaves on disk is enough.

use rego_platform_emulator::{Address, Dataset, Emulator, EmulatorOptions};

use super::{CANARY, Sandbox, restrict};
use crate::emulator::{CLEAN_IMAGE, THREAT_MODEL, copy, data, start};

const POLICY: &str = r#"package release

image := chainloop.discover(input.image, "CONTAINER_IMAGE")

deny contains "the image has no SBOM" if not has_sbom

deny contains "the threat model is empty" if chainloop.download_artifact(input.model) == ""

has_sbom if {
	some reference in image.references
	startswith(reference.kind, "SBOM_")
}
"#;

fn service() -> Emulator {
    let product = "chainloop".to_owned();
    start(EmulatorOptions { product, ..EmulatorOptions::default() })
}

/// Returns the file as that client writes it.
fn file(address: &str, token: &str) -> String {
    with_store(address, address, token)
}

fn with_store(address: &str, store: &str, token: &str) -> String {
    format!(
        "api-insecure = true\norganization = 'acme'\n\n[artifact-cas]\napi = '{store}'\n\n\
         [auth]\ntoken = '{token}'\n\n[control-plane]\napi = '{address}'\n"
    )
}

const GATE: &[&str] = &["gate", "--product", "chainloop", "--no-cache"];

fn gate(sandbox: &Sandbox, options: &[&str]) -> super::Run {
    let policy = sandbox.write("policy.rego", POLICY);
    let input = format!(r#"{{"image": "{CLEAN_IMAGE}", "model": "{THREAT_MODEL}"}}"#);
    let input = sandbox.write("input.json", input);
    sandbox.run(&[GATE, &["-d", &policy, "-i", &input], options].concat())
}

#[test]
fn a_login_is_all_it_takes() {
    let sandbox = Sandbox::new();
    let service = service();
    let text = file(&service.grpc_address(), &service.default_token());
    let config = sandbox.config("chainloop", &text);
    restrict(config.as_ref(), 0o644);
    let output = gate(&sandbox, &[]).output().code(0).silent();
    assert!(output.stdout.starts_with("passed: 1 input"), "{output:#?}");
    let requests = service.requests();
    let addresses: Vec<_> = requests.iter().map(|request| request.api).collect();
    assert_eq!(addresses.len(), 3, "{requests:?}");
    assert!(!addresses.contains(&Address::ControlPlane), "{requests:?}");
    assert_eq!(addresses.iter().filter(|address| **address == Address::Grpc).count(), 2);
}

/// The service has no signed URLs.
#[test]
fn content_comes_from_the_store_of_the_login_where_there_is_no_other_way() {
    let sandbox = Sandbox::new();
    let faults = vec!["/controlplane.v1.CASRedirectService/:status=501".parse().unwrap()];
    let product = "chainloop".to_owned();
    let service = start(EmulatorOptions { product, faults, ..EmulatorOptions::default() });
    let (control_plane, store) = (service.grpc_address(), service.store_address());
    let token = service.default_token();
    sandbox.config("chainloop", &with_store(&control_plane, &store, &token));
    let output = gate(&sandbox, &[]).output().code(0).silent();
    assert!(output.stdout.starts_with("passed: 1 input"), "{output:#?}");
    let paths: Vec<_> = service.requests().iter().map(|r| r.path().to_owned()).collect();
    assert!(paths.contains(&"/google.bytestream.ByteStream/Read".to_owned()), "{paths:?}");
    // Its variable comes before the file.
    sandbox.config("chainloop", &with_store(&control_plane, "127.0.0.1:1", &token));
    gate(&sandbox, &[]).env("CHAINLOOP_ARTIFACT_CAS_API", &store).output().code(0);
    // Without it, the error says what to set.
    let text = file(&control_plane, &token);
    sandbox.config("chainloop", &text.replace("[artifact-cas]", "[other]"));
    let output = gate(&sandbox, &[]).output().fails("the service doesn't implement this");
    let hint =
        "set `CHAINLOOP_ARTIFACT_CAS_API` to the content store's gRPC address; `artifact-cas.api`";
    assert!(output.stdout.contains(hint) || output.stderr.contains(hint), "{output:#?}");
}

#[test]
fn the_variables_of_that_client_come_before_its_file() {
    let sandbox = Sandbox::new();
    let service = service();
    let text = file("127.0.0.1:1", &service.default_token());
    sandbox.config("chainloop", &text.replace("api-insecure = true", "api-insecure = false"));
    let run = gate(&sandbox, &[]).env("CHAINLOOP_CONTROL_PLANE_API", &service.grpc_address());
    run.env("CHAINLOOP_API_INSECURE", "true").output().code(0);
    let run = gate(&sandbox, &[]).env("CHAINLOOP_API_INSECURE", "maybe");
    run.output().fails("environment variable `CHAINLOOP_API_INSECURE` is neither `true` nor");
}

#[test]
fn an_http_address_given_by_hand_wins() {
    let sandbox = Sandbox::new();
    let service = service();
    sandbox.config("chainloop", &file("127.0.0.1:1", &service.default_token()));
    gate(&sandbox, &["--controlplane-url", &service.controlplane_url()]).output().code(0);
    assert!(service.requests().iter().all(|request| request.api != Address::Grpc));
}

#[test]
fn the_status_says_what_a_login_gives_and_what_it_lacks() {
    let sandbox = Sandbox::new();
    let service = service();
    let text = file(&service.grpc_address(), &service.default_token());
    let config = sandbox.config("chainloop", &text);
    let status = ["auth", "status", "--product", "chainloop"];
    // What is configured works; each function says what it lacks.
    let output = sandbox.run(&status).output().code(0);
    let address = service.grpc_address();
    for line in [
        format!("control plane  {address}, over gRPC (from `control-plane.api` in `{config}`)\n"),
        "; accepts the token\n".to_owned(),
        format!(
            "content        signed URLs, else {address} over gRPC (from `artifact-cas.api` in \
             `{config}`)\n"
        ),
        "lacking        evidence: the platform backend's address (`CHAINLOOP_BASE_URL`)\n"
            .to_owned(),
    ] {
        assert!(output.stdout.contains(&line), "{line}: {output:#?}");
    }
    assert_eq!(output.stdout.matches("lacking ").count(), 3, "{output:#?}");
    assert_eq!(output.stdout.matches("problem: ").count(), 0, "{output:#?}");
    let found = sandbox.run(&[&status[..], &["--format", "json"]].concat());
    let found = found.env("CHAINLOOP_BASE_URL", &service.base_url()).output().code(0).json();
    assert_eq!(found["grpc_address"]["value"], address);
    assert_eq!(found["store_address"]["value"], address);
    assert_eq!(found["control_plane"]["accepted"], true);
    assert!(found["functions"].as_object().unwrap().values().all(serde_json::Value::is_null));
    let infoz = sandbox.run(&["api", "infoz", "--product", "chainloop"]).output().code(0);
    assert!(infoz.stdout.contains("v1.42.0"), "{infoz:#?}");
    // What needs HTTP says that the other was found, and what to set.
    let openapi = ["api", "openapi", "--control-plane", "--product", "chainloop"];
    let openapi = sandbox.run(&openapi).output();
    let openapi = openapi.fails("missing address of the control plane");
    let hint = "this call needs HTTP, not gRPC: set the environment \
                variable `CHAINLOOP_CONTROLPLANE_URL`";
    assert!(openapi.stderr.contains(hint), "{openapi:#?}");
}

#[test]
fn check_says_that_a_self_hosted_service_does_not_name_its_backend() {
    let sandbox = Sandbox::new();
    let text = "package p\n\ndeny contains \"none\" if count(chainloop.evidence({\"search\": input.x})) == 0\n";
    let policy = sandbox.write("p.rego", text);
    let check = ["check", "--product", "chainloop", &policy];
    let says = "warning: `chainloop.evidence`: missing address of the platform backend; for a self-hosted control plane, set the environment \
                variable `CHAINLOOP_BASE_URL`\n";
    let output = sandbox.run(&check).output().code(0);
    assert!(!output.stderr.contains("warning: "), "{output:#?}");
    sandbox.config("chainloop", &file("127.0.0.1:1", CANARY));
    sandbox.run(&check).output().code(0).says(says);
    let run = sandbox.run(&check).env("CHAINLOOP_BASE_URL", "http://127.0.0.1:1");
    let output = run.output().code(0);
    assert!(!output.stderr.contains("warning: "), "{output:#?}");
}

#[test]
fn the_status_shows_hosted_defaults_and_the_variable_of_the_product() {
    let sandbox = Sandbox::new();
    sandbox.config("chainloop", &format!("[auth]\ntoken = '{CANARY}'\n"));
    let run = sandbox.run(&["auth", "status", "--timeout", "2s"]);
    let run = run.env("REGO_PLATFORM_PRODUCT", "chainloop");
    // Nothing listens there: no test reaches the hosted service.
    let output = run.env("HTTPS_PROXY", "http://127.0.0.1:1").output().fails("problem: ");
    for line in [
        "product        chainloop (from environment variable `REGO_PLATFORM_PRODUCT`)\n",
        "control plane  api.cp.chainloop.dev:443, over gRPC (from default of the hosted service)\n",
        "backend        https://api.app.chainloop.dev (from default of the hosted service)\n",
    ] {
        assert!(output.stdout.contains(line), "{line}: {output:#?}");
    }
    assert!(!output.stdout.contains("lacking"), "{output:#?}");
}

/// It is where people log in, if the control plane answers there.
#[test]
fn the_status_says_where_the_control_plane_is_over_http() {
    let sandbox = Sandbox::new();
    let over_http = service();
    let at = |login: &str| {
        let folder = sandbox.path("data");
        copy(&data(), &folder);
        let path = folder.join("service.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("http://localhost/auth/login", login)).unwrap();
        let product = "chainloop".to_owned();
        let options = EmulatorOptions { product, ..EmulatorOptions::default() };
        let service = Emulator::start(Dataset::load(&folder).unwrap(), options).unwrap();
        sandbox.config("chainloop", &file(&service.grpc_address(), &service.default_token()));
        let status = ["auth", "status", "--product", "chainloop"];
        let output = sandbox.run(&status).output();
        (output.code(0).stdout.clone(), service)
    };
    let http = over_http.controlplane_url();
    let (stdout, _service) = at(&format!("{http}/auth/login?next=/"));
    assert!(stdout.contains(&format!("  over HTTP    {http} (`--controlplane-url` uses it)\n")));
    assert!(stdout.contains(", version v1.42.0, in "), "{stdout}");
    let [asked] = &over_http.requests()[..] else { panic!("{:?}", over_http.requests()) };
    assert!(asked.path() == "/infoz" && !asked.had_authorization, "{asked:?}");
    // Something else answers there, or nothing does.
    for login in [over_http.base_url(), "http://127.0.0.1:1".to_owned(), "nonsense".to_owned()] {
        let (stdout, _service) = at(&format!("{login}/auth/login"));
        assert!(!stdout.contains("over HTTP"), "{stdout}");
    }
}

/// Its certificates come from a file, or are PEM or base64 themselves: what its `config save` writes (the vendor's
/// public source, release 1.106.1: `app/cli/cmd/root.go`, `pkg/grpcconn/grpcconn.go`).
#[test]
fn the_certificates_of_that_client_are_read_from_its_variables() {
    use base64::Engine as _;
    let sandbox = Sandbox::new();
    let service = service();
    let text = file(&service.grpc_address(), CANARY).replace("= true", "= false");
    sandbox.config("chainloop", &text);
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let pem = sandbox.write("broken.pem", broken);
    let base64 = base64::engine::general_purpose::STANDARD.encode(broken);
    for name in ["CHAINLOOP_CONTROL_PLANE_API_CA", "CHAINLOOP_ARTIFACT_CAS_API_CA"] {
        let from = format!("environment variable `{name}`");
        let wrong = format!("invalid CA certificate (from {from})");
        for (value, says) in [
            (broken, wrong.clone()),
            (&base64, wrong),
            (&pem, format!("invalid CA certificate (from `{pem}`, {from})")),
            ("nowhere.pem", format!("the certificate file (from {from})")),
        ] {
            gate(&sandbox, &["--timeout", "2s"]).env(name, value).output().fails(&says);
        }
    }
}

/// Each is one line that says what is wrong, and where.
#[test]
fn a_file_that_does_not_fit_is_named() {
    let sandbox = Sandbox::new();
    let service = service();
    let good = file(&service.grpc_address(), CANARY);
    let of = |section: &str, ca: &str| {
        let api = format!("[{section}]\napi-ca = '{ca}'");
        good.replace("= true", "= false").replace(&format!("[{section}]"), &api)
    };
    let tls = |ca: &str| of("control-plane", ca);
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let pem = sandbox.write("config/chainloop/broken.pem", broken);
    let inline = of("artifact-cas", &format!("''{broken}''"));
    let in_file = |key: &str| format!("invalid CA certificate (from `{pem}`, `{key}` in `");
    let grpc = service.grpc_address();
    let http = service.controlplane_url();
    let http = http.strip_prefix("http://").unwrap();
    for (text, says) in [
        (good[..good.len() - 9].to_owned(), "line 11 of `"),
        (file("127.0.0.1", CANARY), "the gRPC address of the control plane has no port (from `"),
        (
            with_store(&grpc, "127.0.0.1", CANARY),
            "of the content store has no port (from `artifact-",
        ),
        (file("https://a.example:1", CANARY), "control plane isn't `host:port` (from `control-"),
        (file("a.example:1", CANARY), "is plain text, which exposes the token"),
        (good.replace("= true", "= 'yes'"), "`api-insecure` in `"),
        (tls("nowhere.pem"), "the certificate file (from `control-plane.api-ca` in `"),
        (tls("-----BEGIN nothing"), "can't read the CA certificate: illegal section start"),
        (tls("broken.pem"), &in_file("control-plane.api-ca")),
        (of("artifact-cas", "broken.pem"), &in_file("artifact-cas.api-ca")),
        (inline, "invalid CA certificate (from `artifact-cas.api-ca` in `"),
        (tls(""), "check the address: the server doesn't use TLS"),
        ("[default]\nregion = 'x'\n".to_owned(), "missing token"),
        (file("127.0.0.1:1", CANARY), "can't connect to http://127.0.0.1:1"),
        (good.clone(), "chainloop.discover: the service rejected the token (Unauthenticated): the"),
        (file(http, CANARY), "unexpected response of"),
    ] {
        sandbox.config("chainloop", &text);
        let output = gate(&sandbox, &["--timeout", "2s"]).output().fails(says);
        let errors = |text: &str, start| text.lines().filter(|l| l.starts_with(start)).count();
        let shown = errors(&output.stderr, "error") + errors(&output.stdout, "ERROR");
        assert_eq!(shown, 1, "{says}: {output:#?}");
    }
}

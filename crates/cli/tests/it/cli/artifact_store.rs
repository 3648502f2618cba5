//! One store of artifacts for many gates, and what it does wrong: whatever that is, the artifact comes from the
//! service, and nothing that isn't the artifact is used.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rego_platform_emulator::{Emulator, Fault, FaultKind, FaultTarget, RouteKind};

use super::{CANARY, Output, Run, Sandbox, service};
use crate::hostile::script::http;
use crate::hostile::server::{Request, Server, Step};

/// A CycloneDX document of the shipped data.
const SBOM: &str = "sha256:c321d57bb3091416bdda4d3c170e77883f5db296d10d8985c4050fc06702c885";

/// What a bucket does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Works,
    Denies,
    /// Every answer, once it has begun.
    Stalls,
    Alters,
    /// The content is half of what is announced.
    Cuts,
    /// The content has more behind it.
    Grows,
    Fails,
    Redirects,
}

/// A server that speaks as much of S3 as is needed, without a look at signatures.
struct Bucket {
    server: Server,
    does: Arc<Mutex<Does>>,
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Bucket {
    fn new() -> Self {
        let does = Arc::new(Mutex::new(Does::Works));
        let objects = Arc::<Mutex<BTreeMap<String, Vec<u8>>>>::default();
        let (own, kept) = (Arc::clone(&does), Arc::clone(&objects));
        let server = Server::start(move |request| {
            answer(*own.lock().unwrap(), &mut kept.lock().unwrap(), request)
        });
        Self { server, does, objects }
    }

    fn now(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    fn asked(&self, method: &str) -> usize {
        self.server.requests().iter().filter(|request| request.method() == method).count()
    }
}

fn answer(does: Does, objects: &mut BTreeMap<String, Vec<u8>>, request: &Request) -> Vec<Step> {
    let headers = [("etag", "\"1\""), ("last-modified", "Mon, 02 Jan 2006 15:04:05 GMT")];
    let ok = |body: &[u8]| vec![Step::Send(http(200, &headers, body))];
    match does {
        Does::Denies => return vec![Step::Send(http(403, &[], CANARY.as_bytes()))],
        Does::Fails => return vec![Step::Send(http(500, &[], CANARY.as_bytes()))],
        Does::Redirects => {
            return vec![Step::Send(http(307, &[("location", "http://127.0.0.1:1/")], b""))];
        }
        _ => {}
    }
    if request.method() == "PUT" {
        objects.insert(request.path().to_owned(), request.body.clone());
        return ok(b"");
    }
    let Some(body) = objects.get(request.path()) else {
        return vec![Step::Send(http(404, &[], b"<Error><Code>NoSuchKey</Code></Error>"))];
    };
    let whole = http(200, &headers, body);
    match does {
        Does::Stalls => vec![
            Step::Send(whole[..whole.len() - body.len() / 2].to_vec()),
            Step::Pause(Duration::from_mins(10)),
        ],
        Does::Alters => {
            let altered = String::from_utf8_lossy(body).replace("CycloneDX", "EvilDX");
            ok(altered.as_bytes())
        }
        Does::Cuts => vec![Step::Send(whole[..whole.len() - body.len() / 2].to_vec())],
        Does::Grows => ok(&[body.as_slice(), &[b' '; 4096]].concat()),
        _ => ok(body),
    }
}

fn download(sandbox: &Sandbox, service: &Emulator, store: &str) -> Run {
    sandbox
        .run(&["call", "download_artifact", SBOM, "--format", "raw", "--artifact-store", store])
        .env("XDG_CACHE_HOME", sandbox.path("cache").to_str().unwrap())
        .env("PLATFORM_TOKEN", &service.default_token())
        .env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
        .env("PLATFORM_BASE_URL", &service.base_url())
}

/// A download on a machine of its own.
fn by(bucket: &Bucket, sandbox: &Sandbox, service: &Emulator) -> Run {
    download(sandbox, service, "s3://bucket/artifacts")
        .env("AWS_ENDPOINT_URL", &bucket.server.url())
        .env("AWS_ACCESS_KEY_ID", "gate")
        .env("AWS_SECRET_ACCESS_KEY", CANARY)
        .env("AWS_REGION", "here")
}

fn from(bucket: &Bucket, service: &Emulator) -> Output {
    is_sbom(by(bucket, &Sandbox::new(), service).output().code(0))
}

fn is_sbom(output: Output) -> Output {
    assert!(output.stdout.contains("CycloneDX"), "{output:#?}");
    output
}

fn contents(service: &Emulator) -> usize {
    service.requests().iter().filter(|r| r.path().contains("/content/")).count()
}

fn file(sandbox: &Sandbox) -> (String, PathBuf) {
    let folder = sandbox.path("store");
    let hex = SBOM.strip_prefix("sha256:").unwrap();
    let object = folder.join("sha256").join(&hex[..2]).join(hex);
    (format!("file://{}", folder.display()), object)
}

#[test]
fn machines_share_a_store_and_access_is_asked_for_each_time() {
    let (bucket, service) = (Bucket::new(), service());
    assert_eq!(from(&bucket, &service).stderr, "");
    assert_eq!(from(&bucket, &service).stderr, "");
    assert_eq!(contents(&service), 1, "the content comes once");
    assert_eq!((bucket.asked("GET"), bucket.asked("PUT")), (2, 1));
    let signed = |request: &Request| {
        request.header("authorization").is_some_and(|value| value.starts_with("AWS4"))
    };
    assert!(bucket.server.requests().iter().all(signed), "{:?}", bucket.server.requests());
    let all = format!("{:?}", bucket.server.requests());
    assert!(!all.contains(&service.default_token()), "the store got the service's token");

    let (sandbox, strangers) = (Sandbox::new(), service.token("globex-ci").unwrap());
    let run = by(&bucket, &sandbox, &service)
        .env("PLATFORM_TOKEN", &strangers)
        .output()
        .fails("platform.download_artifact: no such resource of the service");
    assert!(!run.stdout.contains("CycloneDX"), "the store widened access");
    assert_eq!(bucket.asked("GET"), 2, "the store was asked before the service");
}

#[test]
fn a_store_that_does_wrong_is_told_and_the_service_answers() {
    let service = service();
    for (does, told) in [
        (Does::Denies, "can't be read: access denied"),
        (Does::Stalls, "can't be read: timed out"),
        (Does::Alters, "digest mismatch in the artifact store"),
        (Does::Cuts, "can't be read: the store failed"),
        (Does::Grows, "digest mismatch in the artifact store"),
        (Does::Fails, "can't be read: the store failed"),
        (Does::Redirects, "can't be read: the store failed"),
    ] {
        let bucket = Bucket::new();
        from(&bucket, &service);
        let before = contents(&service);
        bucket.now(does);
        let output = from(&bucket, &service).says(told);
        assert_eq!(contents(&service), before + 1, "{does:?}: {output:#?}");
        if does == Does::Alters {
            // It was replaced by what the service has.
            assert_eq!(bucket.asked("PUT"), 2);
        }
        if does == Does::Denies {
            output.says("can't be written: access denied");
        }
    }
}

#[test]
fn no_store_makes_up_for_a_service_that_fails() {
    let (bucket, service) = (Bucket::new(), service());
    from(&bucket, &service);
    service.set_faults(vec!["download:status=403".parse().unwrap()]);
    let sandbox = Sandbox::new();
    by(&bucket, &sandbox, &service).output().fails("platform.download_artifact");

    // Content that the service alters isn't stored.
    bucket.objects.lock().unwrap().clear();
    let altering = Fault::new(FaultTarget::Route(RouteKind::Store), FaultKind::WrongBytes);
    service.set_faults(vec![altering]);
    by(&bucket, &sandbox, &service).output().fails("digest mismatch");
    assert!(bucket.objects.lock().unwrap().is_empty());
}

#[test]
fn a_folder_is_a_store_and_what_was_altered_in_it_is_replaced() {
    let (sandbox, service) = (Sandbox::new(), service());
    let (store, object) = file(&sandbox);
    let run = || is_sbom(download(&sandbox, &service, &store).output().code(0));
    // Without the machine's own cache, which is asked first.
    let without = || {
        let mut command = download(&sandbox, &service, &store).command();
        command.arg("--no-cache").output().unwrap()
    };
    run();
    let stored = std::fs::read(&object).unwrap();
    assert!(without().status.success());
    assert_eq!(contents(&service), 1);
    for broken in [&b"{\"bomFormat\":\"CycloneDX\"}"[..], b""] {
        std::fs::write(&object, broken).unwrap();
        let output = without();
        assert!(
            String::from_utf8_lossy(&output.stderr)
                .contains("digest mismatch in the artifact store"),
            "{output:?}"
        );
        assert_eq!(output.stdout, stored);
        assert_eq!(std::fs::read(&object).unwrap(), stored, "it is replaced");
    }
    assert_eq!(contents(&service), 3);
}

#[test]
fn processes_write_to_a_store_at_once() {
    let (sandbox, service) = (Sandbox::new(), service());
    let (store, object) = file(&sandbox);
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = download(&sandbox, &service, &store).command();
            command.arg("--no-cache").stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("CycloneDX"));
    }
    assert!(String::from_utf8(std::fs::read(object).unwrap()).unwrap().contains("CycloneDX"));
}

#[test]
fn an_address_that_is_none_of_a_store_is_refused_without_its_secrets() {
    let (sandbox, service) = (Sandbox::new(), service());
    for (address, reason) in [
        ("s3:bucket", "invalid address of an artifact store"),
        ("bucket", "expected a URL"),
        ("file:folder", "invalid address of an artifact store: `file:folder`"),
        ("file:///", "invalid address of an artifact store"),
        ("file://host/folder", "invalid address of an artifact store"),
        ("https://bucket.example/a", "invalid address of an artifact store"),
        (
            &format!("s3://user:{CANARY}@bucket/a"),
            "invalid address of the artifact store: expected only a bucket and a path",
        ),
        (
            &format!("s3://bucket/a?secret={CANARY}"),
            "invalid address of the artifact store: expected only a bucket and a path",
        ),
    ] {
        download(&sandbox, &service, address).output().fails(reason);
    }
    // Plain HTTP needs the command line's consent, whatever the environment allows.
    let run = download(&sandbox, &service, "s3://bucket/a")
        .env("AWS_ENDPOINT_URL", "http://store.example")
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "gate")
        .env("AWS_SECRET_ACCESS_KEY", CANARY);
    is_sbom(run.output().code(0)).says("it would be asked over plain HTTP, which isn't allowed");
    assert_eq!(contents(&service), 1);
}

//! Artifacts on disk, and recordings, when the disk or another process interferes.

use std::path::PathBuf;
use std::time::Duration;

use rego_platform_emulator::{Emulator, FaultKind, FaultTarget, RouteKind};

use super::{Output, Run, Sandbox, service};

/// A CycloneDX document of the shipped data.
const SBOM: &str = "sha256:c321d57bb3091416bdda4d3c170e77883f5db296d10d8985c4050fc06702c885";

fn downloading(sandbox: &Sandbox, service: &Emulator) -> Run {
    sandbox
        .run(&["call", "download_artifact", SBOM, "--format", "raw"])
        .env("XDG_CACHE_HOME", sandbox.path("cache").to_str().unwrap())
        .env("PLATFORM_TOKEN", &service.default_token())
}

fn download(sandbox: &Sandbox, service: &Emulator) -> Run {
    downloading(sandbox, service)
        .env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url())
        .env("PLATFORM_BASE_URL", &service.base_url())
}

fn download_over_grpc(sandbox: &Sandbox, service: &Emulator) -> Run {
    downloading(sandbox, service)
        .env("PLATFORM_CONTROL_PLANE_API", &service.grpc_address())
        .env("PLATFORM_ARTIFACT_CAS_API", &service.store_address())
        .env("PLATFORM_API_INSECURE", "true")
}

fn entry(sandbox: &Sandbox) -> PathBuf {
    let hex = SBOM.strip_prefix("sha256:").unwrap();
    let below = format!("cache/platform/artifacts/content-v2/sha256/{}/{}", &hex[..2], &hex[2..4]);
    sandbox.path(&below).join(&hex[4..])
}

fn asked(service: &Emulator, part: &str) -> usize {
    service.requests().iter().filter(|r| r.path().contains(part)).count()
}

fn is_sbom(output: &Output) {
    assert!(output.stdout.contains("CycloneDX"), "{output:#?}");
}

#[test]
fn an_artifact_is_kept_and_access_asked_for_each_time() {
    is_kept(&service(), download, "/download/", "/content/");
}

#[test]
fn an_artifact_from_a_stream_is_kept_as_well() {
    let service = service();
    service.set_faults(vec!["/controlplane.v1.CASRedirectService/:status=501".parse().unwrap()]);
    is_kept(&service, download_over_grpc, "CASCredentialsService", "ByteStream");
}

/// Checks it by requests for access and for content.
fn is_kept(
    service: &Emulator,
    download: fn(&Sandbox, &Emulator) -> Run,
    access: &str,
    content: &str,
) {
    let sandbox = Sandbox::new();
    is_sbom(&download(&sandbox, service).output().code(0));
    is_sbom(&download(&sandbox, service).output().code(0));
    assert_eq!(asked(service, access), 2, "the service says who may have it");
    assert_eq!(asked(service, content), 1, "the content comes once");
    let strangers = service.token("globex-ci").unwrap();
    let run = download(&sandbox, service)
        .env("PLATFORM_TOKEN", &strangers)
        .output()
        .fails("platform.download_artifact: no such resource of the service");
    assert!(!run.stdout.contains("CycloneDX"), "an entry widened access");
    let mut run = download(&sandbox, service).command();
    assert!(run.arg("--no-cache").output().unwrap().status.success());
    assert_eq!(asked(service, content), 2);
}

#[test]
fn a_broken_entry_is_fetched_anew() {
    let (sandbox, service) = (Sandbox::new(), service());
    download(&sandbox, &service).output().code(0);
    let entry = entry(&sandbox);
    for broken in [&b"{\"bomFormat\":\"Cyclone"[..], b"", b"{\"bomFormat\":\"EvilDX\"}"] {
        std::fs::write(&entry, broken).unwrap();
        is_sbom(&download(&sandbox, &service).output().code(0));
    }
    assert_eq!(asked(&service, "/content/"), 4);
}

#[test]
fn a_cache_that_cannot_be_written_does_not_fail_a_call() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("cache", "a file where the folder should be");
    is_sbom(&download(&sandbox, &service).output().code(0));
    is_sbom(&download(&sandbox, &service).output().code(0));
    assert_eq!(asked(&service, "/content/"), 2);
}

#[test]
fn processes_share_a_cache() {
    let (sandbox, service) = (Sandbox::new(), service());
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = download(&sandbox, &service).command();
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("CycloneDX"));
    }
}

#[test]
fn nothing_half_written_is_used_after_an_interrupt() {
    let (sandbox, service) = (Sandbox::new(), service());
    let fault = rego_platform_emulator::Fault::new(
        FaultTarget::Route(RouteKind::Store),
        FaultKind::StallBody(100),
    );
    service.set_faults(vec![fault]);
    let mut child = download(&sandbox, &service).command().spawn().unwrap();
    while asked(&service, "/content/") == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    service.set_faults(Vec::new());
    is_sbom(&download(&sandbox, &service).output().code(0));
}

#[test]
fn the_cache_can_be_found_and_cleared() {
    let (sandbox, service) = (Sandbox::new(), service());
    download(&sandbox, &service).output().code(0);
    let cache = sandbox.path("cache");
    let run = |what| sandbox.run(&["cache", what]).env("XDG_CACHE_HOME", cache.to_str().unwrap());
    assert!(run("dir").output().code(0).stdout.trim_end().ends_with("platform/artifacts"));
    run("clear").output().code(0).silent();
    assert!(!entry(&sandbox).exists());
    run("clear").output().code(0).silent();
}

#[test]
fn an_earlier_recording_survives_a_failure_to_write() {
    let sandbox = Sandbox::new();
    let recording = sandbox.path("recording.json");
    let record = |limit: &str| {
        let query = "platform.discover(\"sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477\", \"\").kind";
        let command = sandbox.local(&["eval", query, "--record", recording.to_str().unwrap()]);
        let line = format!("{limit} exec \"$0\" \"$@\"");
        let bare = command.command();
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(line).arg(bare.get_program()).args(bare.get_args());
        shell.env_clear().env("HOME", sandbox.path("home")).current_dir(crate::ROOT);
        shell.output().unwrap()
    };
    assert!(record("").status.success());
    let before = std::fs::read(&recording).unwrap();
    // No file may grow, as on a full disk.
    assert!(!record("trap '' XFSZ; ulimit -f 0;").status.success());
    assert_eq!(std::fs::read(&recording).unwrap(), before);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&recording).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

//! What a soak asks, and what the service does meanwhile.
//!
//! Used by each soak: of the library (`load`), and of the command's server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rego_platform_emulator::{Emulator, Fault};

pub const POLICY: &str = r#"
package soak

image := platform.discover(input.digest, "CONTAINER_IMAGE")

kinds contains found.kind if {
	some r in image.references
	found := platform.discover(r.digest, r.kind)
}

sboms contains bom.bomFormat if {
	some r in image.references
	r.kind == "SBOM_CYCLONEDX_JSON"
	bom := json.unmarshal(platform.download_artifact(r.digest))
}

failing := count([e |
	some e in platform.project_compliance({"project_version_id": input.version}).evaluations
	e.status == "fail"
])

verdict := {"kinds": kinds, "sboms": sboms, "failing": failing}
"#;

pub const INPUT: &str = r#"{
	"digest": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477",
	"version": "643224fb-4763-546c-9387-69d5984a8501"
}"#;

/// The faults, in turns; between them there are none.
const FAULTS: &[&str] = &[
    "discover:status=503:count=3",
    "discover:reset:count=2",
    "store:cut=100:count=1",
    "store:wrong-bytes:count=1",
    "*:latency=30ms:count=20",
    "compliance:status=429:retry-after=0:count=2",
    "compliance:cut=50:count=2",
    "download:status=500:count=9",
    "discover:status=403:count=1",
    "*:reset:count=4",
];

/// Lets a service misbehave until the soak is done.
pub fn misbehave(service: &Emulator, done: &AtomicBool) {
    in_turns(done, FAULTS, |fault| {
        let fault: Fault = fault.parse().unwrap();
        service.set_faults(vec![fault]);
    });
}

/// Does one thing after the other, again and again, until the soak is done.
pub fn in_turns<T>(done: &AtomicBool, faults: &[T], misbehave: impl Fn(&T)) {
    for fault in faults.iter().cycle() {
        if done.load(Ordering::Relaxed) {
            return;
        }
        misbehave(fault);
        std::thread::sleep(Duration::from_millis(60));
    }
}

//! A container image as an OCI layout in an archive, written without a daemon.
//!
//! Owns what the image has: the command, the shared libraries that it loads, authorities for TLS, and a
//! user without rights. The formats are those of the OCI image specification 1.1.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::archive::Archive;
use super::{Dist, Outcome, output, sbom, sha256, tools};

/// The user and the group of the command.
const USER: u64 = 65532;

/// The largest archive, in bytes.
const MAX_BYTES: usize = 40 << 20;

const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

pub(super) fn write(dist: &Dist, binary: &Path) -> Outcome {
    let layer = layer(dist, binary)?;
    let compressed = layer.compressed()?;
    let image = layout(dist, &sha256(&layer.bytes()?), compressed)?.bytes()?;
    if dist.profile == "release" && dist.binary.is_none() && image.len() > MAX_BYTES {
        return Err(format!("the image has {} bytes, more than {MAX_BYTES}", image.len()));
    }
    dist.write(&format!("{}.oci.tar", dist.name("rego-platform")), &image)
}

/// Returns the files of the image.
fn layer(dist: &Dist, binary: &Path) -> Result<Archive, String> {
    let mut layer = Archive::new(dist.epoch);
    layer.add_file("usr/bin/rego-platform", binary, 0o755)?;
    for library in libraries(binary)? {
        let path = library.display().to_string();
        layer.add_file(path.trim_start_matches('/'), &library, 0o755)?;
    }
    layer.add_file(AUTHORITIES, &authorities()?, 0o644)?;
    let user = format!("rego-platform:x:{USER}:{USER}::/tmp:/sbin/nologin\n");
    layer.add("etc/passwd", user.into_bytes(), 0o644);
    layer.add("etc/group", format!("rego-platform:x:{USER}:\n").into_bytes(), 0o644);
    layer.add("etc/nsswitch.conf", b"hosts: files dns\n".to_vec(), 0o644);
    layer.add_folder("tmp/", 0o1777, 0);
    layer.add_folder("workspace/", 0o755, USER);
    Ok(layer)
}

/// Returns the shared libraries that a program loads, its loader included; none for a static program.
fn libraries(binary: &Path) -> Result<Vec<PathBuf>, String> {
    // Its status for a static program differs between C libraries.
    let listed =
        Command::new("ldd").arg(binary).output().map_err(|error| format!("ldd: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    if listed.contains("not found") {
        return Err(format!("a library is missing: {listed}"));
    }
    let mut paths: Vec<PathBuf> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(PathBuf::from)
        .collect();
    paths.sort();
    Ok(paths)
}

/// Returns the file with the certificates of authorities, from the pinned package.
fn authorities() -> Result<PathBuf, String> {
    let python = tools()?.join("python3");
    let path = output(Command::new(python).args(["-m", "certifi"]))?;
    Ok(path.trim_end().into())
}

/// Returns the OCI layout of an image with one layer, whose digest before its compression is `diff`.
fn layout(dist: &Dist, diff: &str, layer: Vec<u8>) -> Result<Archive, String> {
    let architecture = if dist.target.starts_with("aarch64") { "arm64" } else { "amd64" };
    let created = sbom::time(dist.epoch)?;
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/rego-platform"],
            "Cmd": ["--help"],
            "WorkingDir": "/workspace",
            "Env": ["PATH=/usr/bin", "HOME=/tmp", "XDG_CACHE_HOME=/tmp", format!("SSL_CERT_FILE=/{AUTHORITIES}")],
            "Labels": {
                "org.opencontainers.image.title": "rego-platform",
                "org.opencontainers.image.version": dist.version,
                "org.opencontainers.image.revision": dist.commit,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{diff}")] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let mut layout = Archive::new(dist.epoch);
    let mut blob = |kind: &str, bytes: Vec<u8>| {
        let digest = sha256(&bytes);
        let media = format!("application/vnd.oci.image.{kind}");
        let about = json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": bytes.len() });
        layout.add(&format!("blobs/sha256/{digest}"), bytes, 0o644);
        about
    };
    let layer = blob("layer.v1.tar+gzip", layer);
    let config = blob("config.v1+json", text(&config)?);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blob("manifest.v1+json", text(&manifest)?);
    if let Some(about) = manifest.as_object_mut() {
        about.insert("platform".into(), json!({ "architecture": architecture, "os": "linux" }));
        let name = json!({ "org.opencontainers.image.ref.name": dist.version });
        about.insert("annotations".into(), name);
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    layout.add("index.json", text(&index)?, 0o644);
    layout.add("oci-layout", text(&json!({ "imageLayoutVersion": "1.0.0" }))?, 0o644);
    Ok(layout)
}

fn text(value: &Value) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used)]

    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read as _;

    fn dist() -> Dist {
        Dist {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            profile: "dev".to_owned(),
            out: PathBuf::new(),
            binary: None,
            version: "1.2.3".to_owned(),
            commit: "c0ffee".to_owned(),
            epoch: 1_700_000_000,
        }
    }

    #[test]
    fn descriptors_name_the_blobs_that_are_there() {
        let bytes = layout(&dist(), "d1ff", b"layer".to_vec()).unwrap().bytes().unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(entry.path().unwrap().display().to_string(), content);
        }
        let blob = |about: &Value| {
            let digest = about["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
            let content = &files[&format!("blobs/sha256/{digest}")];
            assert_eq!(sha256(content), digest);
            assert_eq!(about["size"], content.len());
            content
        };
        let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let manifest: Value = serde_json::from_slice(blob(&index["manifests"][0])).unwrap();
        assert_eq!(blob(&manifest["layers"][0]), b"layer");
        let config: Value = serde_json::from_slice(blob(&manifest["config"])).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], "sha256:d1ff");
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(config["created"], "2023-11-14T22:13:20Z");
    }
}

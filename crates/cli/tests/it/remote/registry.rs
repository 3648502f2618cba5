//! A small registry on loopback. Its content, and its answers, are the test's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::gate::digest_of;
use crate::hostile::script::http;
use crate::hostile::server::{Request, Server, Step};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const POLICY: &str = "application/vnd.cncf.openpolicyagent.policy.layer.v1+rego";
pub const DATA: &str = "application/vnd.cncf.openpolicyagent.data.layer.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const BUNDLE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

type Hook = Box<dyn Fn(&Request) -> Option<Vec<Step>> + Send + Sync>;

#[derive(Default)]
struct State {
    /// By repository and tag or digest, joined by a space.
    manifests: BTreeMap<String, Vec<u8>>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// The entries of the list of what refers to a manifest, by repository and digest; not kept unless
    /// something is attached so.
    referrers: BTreeMap<String, Vec<Value>>,
    /// Answers in place of the registry, where it does.
    hook: Option<Hook>,
}

/// How something is attached to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Referrers,
    /// The tag that stands in for them.
    Fallback,
    /// A tag of cosign's with this ending.
    Tag(&'static str),
}

/// A layer of what is attached: its type, content and signature.
pub type Layer<'a> = (&'a str, &'a [u8], &'a str);

/// A running registry.
pub struct Registry {
    pub server: Server,
    state: Arc<Mutex<State>>,
}

impl Registry {
    pub fn new() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = Arc::clone(&state);
        let server = Server::start(move |request| answer(&mut own.lock().unwrap(), request));
        Self { server, state }
    }

    /// The address of what is at `name`, such as `a:v1`.
    pub fn address(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.server.address)
    }

    /// Answers in place of the registry where `hook` does.
    pub fn hook(&self, hook: impl Fn(&Request) -> Option<Vec<Step>> + Send + Sync + 'static) {
        self.state.lock().unwrap().hook = Some(Box::new(hook));
    }

    /// Stores a manifest of layers, each with its type, name and content. Returns its digest.
    pub fn store(&self, repository: &str, tag: &str, layers: &[(&str, &str, &[u8])]) -> String {
        let mut state = self.state.lock().unwrap();
        let layer = |(kind, name, content): &(&str, &str, &[u8])| {
            let digest = digest_of(content);
            state.blobs.insert(digest.clone(), content.to_vec());
            let mut layer = json!({"mediaType": kind, "digest": digest, "size": content.len()});
            if !name.is_empty() {
                layer["annotations"] = json!({"org.opencontainers.image.title": name});
            }
            layer
        };
        let layers: Vec<Value> = layers.iter().map(layer).collect();
        let config = json!({"mediaType": "x", "digest": digest_of(b"{}"), "size": 2});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        drop(state);
        self.store_manifest(repository, tag, manifest.to_string().into_bytes())
    }

    /// Attaches a manifest of layers to an image. Returns its digest.
    pub fn attach(&self, image: (&str, &str), by: By, layers: &[Layer<'_>]) -> String {
        let annotated = |(kind, content, signature): &Layer<'_>| {
            self.layer(kind, content, &json!({"dev.cosignproject.cosign/signature": signature}))
        };
        self.attach_layers(image, by, layers.iter().map(annotated).collect())
    }

    /// Stores a blob. Returns its layer with annotations.
    pub fn layer(&self, kind: &str, content: &[u8], annotations: &Value) -> Value {
        let digest = digest_of(content);
        self.state.lock().unwrap().blobs.insert(digest.clone(), content.to_vec());
        let size = content.len();
        json!({"mediaType": kind, "digest": digest, "size": size, "annotations": annotations})
    }

    pub fn attach_layers(&self, image: (&str, &str), by: By, layers: Vec<Value>) -> String {
        let config = json!({"mediaType": "x", "digest": digest_of(b"{}"), "size": 2});
        let mut manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        if !matches!(by, By::Tag(_)) {
            manifest["subject"] = json!({"mediaType": MANIFEST, "digest": image.1, "size": 1});
        }
        self.attach_manifest(image, by, &manifest)
    }

    /// Attaches a manifest, listed under a type that it hasn't, and with another size.
    pub fn attach_manifest(
        &self,
        (repository, image): (&str, &str),
        by: By,
        manifest: &Value,
    ) -> String {
        let tag = image.replace(':', "-");
        let content = manifest.to_string().into_bytes();
        let digest = digest_of(&content);
        let name = if let By::Tag(kind) = by { format!("{tag}.{kind}") } else { digest.clone() };
        self.store_manifest(repository, &name, content);
        let entry = json!({
            "mediaType": MANIFEST, "digest": digest, "size": 1, "artifactType": "text/plain",
        });
        match by {
            By::Tag(_) => {}
            By::Referrers => {
                let mut state = self.state.lock().unwrap();
                state.referrers.entry(format!("{repository} {image}")).or_default().push(entry);
            }
            By::Fallback => {
                let key = format!("{repository} {tag}");
                let present = self.state.lock().unwrap().manifests.get(&key).cloned();
                let mut index = present.map_or_else(
                    || json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}),
                    |index| serde_json::from_slice(&index).unwrap(),
                );
                index["manifests"].as_array_mut().unwrap().push(entry);
                self.store_manifest(repository, &tag, index.to_string().into_bytes());
            }
        }
        digest
    }

    pub fn manifest(&self, repository: &str, reference: &str) -> Vec<u8> {
        self.state.lock().unwrap().manifests[&format!("{repository} {reference}")].clone()
    }

    pub fn store_manifest(&self, repository: &str, tag: &str, manifest: Vec<u8>) -> String {
        let digest = digest_of(&manifest);
        let mut state = self.state.lock().unwrap();
        state.manifests.insert(format!("{repository} {digest}"), manifest.clone());
        state.manifests.insert(format!("{repository} {tag}"), manifest);
        digest
    }
}

fn answer(state: &mut State, request: &Request) -> Vec<Step> {
    if let Some(hook) = &state.hook
        && let Some(steps) = hook(request)
    {
        return steps;
    }
    let send = |status: u16, headers: &[(&str, &str)], body: &[u8]| {
        vec![Step::Send(http(status, headers, body))]
    };
    let path = request.path().strip_prefix("/v2/").unwrap_or_default();
    if let Some((repository, reference)) = path.split_once("/manifests/") {
        let key = format!("{repository} {reference}");
        if request.method() == "PUT" {
            let by_digest = format!("{repository} {}", digest_of(&request.body));
            state.manifests.insert(by_digest, request.body.clone());
            state.manifests.insert(key, request.body.clone());
            return send(201, &[], b"");
        }
        return match state.manifests.get(&key) {
            Some(manifest) => send(200, &[("content-type", MANIFEST)], manifest),
            None => send(404, &[], b"{}"),
        };
    }
    if let Some((repository, digest)) = path.split_once("/referrers/") {
        return match state.referrers.get(&format!("{repository} {digest}")) {
            Some(entries) => {
                let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
                send(200, &[("content-type", INDEX)], index.to_string().as_bytes())
            }
            None => send(404, &[], b"404 page not found"),
        };
    }
    if path.ends_with("/blobs/uploads/") && request.method() == "POST" {
        let location = format!("{}?state=1", request.path());
        return send(202, &[("location", &location)], b"");
    }
    if path.ends_with("/blobs/uploads/") && request.method() == "PUT" {
        let digest = digest_of(&request.body);
        if request.query("digest") != [digest.clone()] || request.query("state") != ["1"] {
            return send(400, &[], b"{}");
        }
        state.blobs.insert(digest, request.body.clone());
        return send(201, &[], b"");
    }
    let blob = path.split_once("/blobs/").and_then(|(_, digest)| state.blobs.get(digest));
    match blob {
        Some(_) if request.method() == "HEAD" => send(200, &[], b""),
        Some(blob) => send(200, &[], blob),
        None => send(404, &[], b"{}"),
    }
}

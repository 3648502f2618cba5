//! `graph/`: the reference graph, one node for each digest and kind.
//!
//! A reference is written as a digest; the service shows it with the kind and metadata of the node
//! that it leads to.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::super::scalars::{Digest, Kind, Name, Timestamp};
use super::artifacts::Artifacts;
use super::files::{Folder, Source, code};
use super::identity::Identity;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphYaml {
    organization: Name,
    nodes: Vec<NodeEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeEntry {
    digest: Digest,
    kind: Kind,
    created_at: Timestamp,
    #[serde(default)]
    downloadable: bool,
    public: Option<bool>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    references: Vec<ReferenceEntry>,
}

/// A reference: a digest, and its kind if the digest has several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceEntry {
    digest: Digest,
    kind: Option<Kind>,
}

/// A digest under one kind.
#[derive(Clone)]
pub(crate) struct Node {
    pub digest: Digest,
    pub kind: Kind,
    pub organization: usize,
    pub created_at: Timestamp,
    pub downloadable: bool,
    /// Whether other organizations can see it; served only if the data says so.
    pub public: Option<bool>,
    pub metadata: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    references: Vec<usize>,
}

/// The reference graph.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    by_digest: HashMap<Digest, Vec<usize>>,
}

impl Graph {
    /// Returns the nodes of a digest that an organization can see: its own, or else public ones.
    pub fn visible(&self, digest: &Digest, organization: usize) -> Vec<&Node> {
        let nodes = self.by_digest.get(digest).into_iter().flatten();
        let all: Vec<&Node> = nodes.filter_map(|index| self.nodes.get(*index)).collect();
        let own: Vec<&Node> =
            all.iter().copied().filter(|node| node.organization == organization).collect();
        if own.is_empty() {
            all.into_iter().filter(|node| node.public == Some(true)).collect()
        } else {
            own
        }
    }

    /// Returns `true` if an organization can see a digest.
    pub fn sees(&self, digest: &Digest, organization: usize) -> bool {
        !self.visible(digest, organization).is_empty()
    }

    /// Returns the nodes that a node refers to, in the order of the file.
    pub fn references(&self, node: &Node) -> Vec<&Node> {
        node.references.iter().filter_map(|index| self.nodes.get(*index)).collect()
    }
}

pub(super) fn load(folder: &Folder, identity: &Identity, artifacts: &Artifacts) -> Graph {
    let mut graph = Graph::default();
    let mut pending: Vec<(usize, Vec<ReferenceEntry>, std::rc::Rc<Source>)> = Vec::new();
    for (source, file) in folder.topic::<GraphYaml>("graph") {
        let source = std::rc::Rc::new(source);
        let name = file.organization.as_str();
        let Some(organization) = identity.organization(name) else {
            let message = format!("unknown organization `{name}`: not in `organizations.yaml`");
            source.report(&format!("organization: {name}"), 0, code::REFERENCE, message);
            continue;
        };
        for entry in file.nodes {
            check_node(&source, &entry, organization, artifacts, &graph);
            let index = graph.nodes.len();
            graph.by_digest.entry(entry.digest.clone()).or_default().push(index);
            graph.nodes.push(Node {
                digest: entry.digest,
                kind: entry.kind,
                organization,
                created_at: entry.created_at,
                downloadable: entry.downloadable,
                public: entry.public,
                metadata: entry.metadata,
                annotations: entry.annotations,
                references: Vec::new(),
            });
            pending.push((index, entry.references, source.clone()));
        }
    }
    for (index, references, source) in pending {
        let resolved = references.iter().filter_map(|reference| {
            let found = resolve(&graph, index, reference);
            let needle = format!("{{digest: {}", reference.digest);
            found.map_err(|m| source.report(&needle, 0, code::REFERENCE, m)).ok()
        });
        let resolved = resolved.collect();
        if let Some(node) = graph.nodes.get_mut(index) {
            node.references = resolved;
        }
    }
    unreachable_artifacts(artifacts, &graph);
    graph
}

fn check_node(
    source: &Source,
    entry: &NodeEntry,
    organization: usize,
    artifacts: &Artifacts,
    graph: &Graph,
) {
    let digest = &entry.digest;
    if entry.downloadable && !artifacts.by_digest.contains_key(digest) {
        let message = format!("downloadable artifact not listed in `artifacts.yaml`: `{digest}`");
        source.report(&format!("- digest: {digest}"), 0, code::REFERENCE, message);
    }
    let twins = graph.by_digest.get(digest).into_iter().flatten();
    let twin = twins
        .filter_map(|index| graph.nodes.get(*index))
        .any(|node| node.kind == entry.kind && node.organization == organization);
    if twin {
        let message = format!("duplicate kind of `{digest}`: `{}`", entry.kind.as_str());
        source.report(&format!("- digest: {digest}"), 1, code::DUPLICATE, message);
    }
}

/// Returns the only node that a reference can mean.
fn resolve(graph: &Graph, from: usize, reference: &ReferenceEntry) -> Result<usize, String> {
    let digest = &reference.digest;
    let organization = graph.nodes.get(from).map(|node| node.organization);
    let candidates = graph.by_digest.get(digest).into_iter().flatten();
    let fitting: Vec<usize> = candidates
        .copied()
        .filter(|index| {
            graph.nodes.get(*index).is_some_and(|node| {
                (Some(node.organization) == organization || node.public == Some(true))
                    && reference.kind.as_ref().is_none_or(|kind| *kind == node.kind)
            })
        })
        .collect();
    match fitting.as_slice() {
        [one] => Ok(*one),
        [] => Err(format!("no node for the reference to `{digest}`")),
        _ => Err(format!("ambiguous reference to `{digest}`: select a node with `kind`")),
    }
}

/// Reports artifacts without a node, which can't be downloaded, probably because a digest was changed in only
/// one file.
fn unreachable_artifacts(artifacts: &Artifacts, graph: &Graph) {
    let lost = artifacts.by_digest.keys().filter(|digest| !graph.by_digest.contains_key(*digest));
    for digest in lost {
        let message = format!("no node of the graph for the artifact `{digest}`");
        artifacts.report(digest, message);
    }
}

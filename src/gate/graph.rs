//! The graph of references that `discover` returned, for reports.
//!
//! Owns collecting it from answers, within bounds. No verdict depends on it.

use std::collections::{BTreeSet, HashMap};

use crate::rego::Value;

use super::model::{Graph, Node};

/// The most nodes that are kept for one input.
const MAX_NODES: usize = 1_000;

/// A graph that is being collected.
#[derive(Debug, Default)]
pub(super) struct Collector {
    graph: Graph,
    by_digest: HashMap<String, usize>,
    edges: BTreeSet<(usize, usize)>,
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    match value {
        Value::Object(object) => match object.get(&Value::from(name))? {
            Value::String(text) => Some(text.as_ref()),
            _ => None,
        },
        _ => None,
    }
}

impl Collector {
    /// Adds an answer of `discover`.
    pub fn add(&mut self, answer: &Value) {
        let Some(from) = self.node(answer) else { return };
        let Value::Object(object) = answer else { return };
        let Some(Value::Array(references)) = object.get(&Value::from("references")) else { return };
        for reference in references.iter() {
            if let Some(to) = self.node(reference) {
                self.edges.insert((from, to));
            }
        }
    }

    fn node(&mut self, value: &Value) -> Option<usize> {
        let digest = text(value, "digest")?;
        let metadata = value.get(&Value::from("metadata"));
        let field = |name| metadata.and_then(|metadata| text(metadata, name));
        let bad = field("hasPolicyViolations") == Some("true");
        let name = field("name").map(str::to_owned);
        if let Some(index) = self.by_digest.get(digest).copied() {
            if let Some(node) = self.graph.nodes.get_mut(index) {
                node.bad |= bad;
                node.name = node.name.take().or(name);
            }
            return Some(index);
        }
        if self.graph.nodes.len() >= MAX_NODES {
            self.graph.left_out += 1;
            return None;
        }
        let kind = text(value, "kind").unwrap_or_default().to_owned();
        self.graph.nodes.push(Node { digest: digest.to_owned(), kind, name, bad });
        let index = self.graph.nodes.len() - 1;
        self.by_digest.insert(digest.to_owned(), index);
        Some(index)
    }

    /// Returns the graph, in which the digests that failing violations name are marked as bad.
    /// Unless `all` nodes are wanted, it is reduced to the first node, the bad ones and their
    /// neighbours.
    pub fn finish<'a>(mut self, named: impl Iterator<Item = &'a str>, all: bool) -> Graph {
        for digest in named {
            let node = self.by_digest.get(digest).and_then(|at| self.graph.nodes.get_mut(*at));
            if let Some(node) = node {
                node.bad = true;
            }
        }
        self.graph.edges = self.edges.iter().copied().collect();
        if all { self.graph } else { self.reduced() }
    }

    fn reduced(mut self) -> Graph {
        let nodes = &self.graph.nodes;
        let bad = |at: usize| nodes.get(at).is_some_and(|node| node.bad);
        let beside = self.edges.iter().filter(|(a, b)| bad(*a) || bad(*b));
        let kept: BTreeSet<usize> = beside
            .flat_map(|(a, b)| [*a, *b])
            .chain((0..nodes.len()).filter(|at| *at == 0 || bad(*at)))
            .collect();
        let places: HashMap<usize, usize> =
            kept.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let place = |at: &usize| places.get(at).copied();
        let edges = self.edges.iter().filter_map(|(a, b)| Some((place(a)?, place(b)?))).collect();
        let left = nodes.len() - kept.len();
        let mut at = 0;
        self.graph.nodes.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
        Graph { edges, left_out: self.graph.left_out + left as u64, ..self.graph }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn answers_are_collected_into_a_graph() {
        let mut collector = Collector::default();
        for text in [
            r#"{"digest": "a", "kind": "K", "metadata": {"name": "n"}, "references": [
                {"digest": "b", "kind": "L", "metadata": {"hasPolicyViolations": "true"}},
                {"digest": "c", "kind": "L"}, {"digest": "b", "kind": "L"}]}"#,
            r#"{"digest": "c", "kind": "L", "references": [{"digest": "a", "kind": "K"}]}"#,
        ] {
            collector.add(&Value::from_json(text).unwrap());
        }
        let graph = collector.finish(["c", "z"].into_iter(), true);
        let bad: Vec<_> = graph.nodes.iter().map(|n| (n.digest.as_str(), n.bad)).collect();
        assert_eq!(bad, [("a", false), ("b", true), ("c", true)]);
        assert_eq!(graph.edges, [(0, 1), (0, 2), (2, 0)]);
    }

    #[test]
    fn other_nodes_are_counted_unless_all_are_wanted() {
        let answer = r#"{"digest": "a", "kind": "K", "references": [{"digest": "b", "kind": "L"},
            {"digest": "c", "kind": "L"}, {"digest": "d", "kind": "L"}]}"#;
        let other = r#"{"digest": "d", "kind": "L", "references": [{"digest": "e", "kind": "M"}]}"#;
        let graph = |named: &[&str], all| {
            let mut collector = Collector::default();
            collector.add(&Value::from_json(answer).unwrap());
            collector.add(&Value::from_json(other).unwrap());
            let graph = collector.finish(named.iter().copied(), all);
            let kept: String = graph.nodes.iter().map(|node| node.digest.as_str()).collect();
            (kept, graph.edges, graph.left_out)
        };
        assert_eq!(graph(&[], true).0, "abcde");
        assert_eq!(graph(&[], false), ("a".to_owned(), vec![], 4));
        assert_eq!(graph(&["e"], false), ("ade".to_owned(), vec![(0, 1), (1, 2)], 2));
    }
}

//! Graphs and trees: everything here can make far more than it is given.

use std::collections::BTreeSet;

use regorus::Value;
use regorus::value::Object;

use super::arguments::{any, members, object};
use super::{Fault, Outcome, Scope, size};

/// `walk(document)`: all paths with their values, charged as they are made.
pub(super) fn walk(scope: &Scope, args: &[Value]) -> Outcome {
    let mut out = Vec::new();
    visit(scope, &mut Vec::new(), any(args, 0)?, &mut out)?;
    Ok(Value::from(out))
}

fn visit(
    scope: &Scope,
    path: &mut Vec<Value>,
    value: &Value,
    out: &mut Vec<Value>,
) -> Result<(), Fault> {
    if out.len().is_multiple_of(4096) {
        scope.check()?;
    }
    size::bytes(scope, (path.len() as u64 + 8) * size::ELEMENT)?;
    out.push(Value::from(vec![Value::from(path.clone()), value.clone()]));
    let mut step = |key: Value, member: &Value| {
        path.push(key);
        let result = visit(scope, path, member, out);
        path.pop();
        result
    };
    match value {
        Value::Array(array) => array
            .iter()
            .enumerate()
            .try_for_each(|(index, member)| step(Value::from(index), member)),
        Value::Set(set) => set.iter().try_for_each(|member| step(member.clone(), member)),
        Value::Object(object) => {
            object.iter_sorted().try_for_each(|(key, member)| step(key.clone(), member))
        }
        _ => Ok(()),
    }
}

/// The neighbours of `node`; `None` when it is no node of the graph.
fn neighbours<'a>(graph: &'a Object, node: &Value) -> Option<Vec<&'a Value>> {
    match graph.get(node)? {
        Value::Array(array) => Some(array.iter().collect()),
        Value::Set(set) => Some(set.iter().collect()),
        // OPA goes no further where the neighbours are no collection.
        _ => Some(Vec::new()),
    }
}

/// `graph.reachable(graph, from)`.
pub(super) fn reachable(scope: &Scope, args: &[Value]) -> Outcome {
    let graph = object(args, 0)?;
    let mut todo = members(args, 1)?;
    let mut seen = BTreeSet::new();
    while let Some(node) = todo.pop() {
        if seen.contains(node) {
            continue;
        }
        if let Some(next) = neighbours(graph, node) {
            seen.insert(node.clone());
            size::bytes(scope, 2 * size::ELEMENT)?;
            todo.extend(next);
        }
    }
    Ok(Value::from(seen))
}

/// `graph.reachable_paths(graph, from)`: there can be exponentially many.
///
/// As in OPA, a node that was seen on another path from the same neighbour of the start isn't
/// visited again: the path ends before it.
pub(super) fn reachable_paths(scope: &Scope, args: &[Value]) -> Outcome {
    let graph = object(args, 0)?;
    let mut search =
        Search { scope, graph, seen: BTreeSet::new(), path: Vec::new(), paths: BTreeSet::new() };
    for node in members(args, 1)? {
        search.start(node)?;
    }
    Ok(Value::from(search.paths))
}

struct Search<'a> {
    scope: &'a Scope,
    graph: &'a Object,
    /// The nodes that were gone to from the neighbour of the start.
    seen: BTreeSet<Value>,
    path: Vec<Value>,
    paths: BTreeSet<Value>,
}

impl Search<'_> {
    fn start(&mut self, node: &Value) -> Result<(), Fault> {
        let Some(next) = neighbours(self.graph, node) else { return Ok(()) };
        self.path = vec![node.clone()];
        if next.is_empty() {
            self.end()?;
        }
        for neighbour in next {
            self.seen = BTreeSet::from([node.clone()]);
            self.visit(neighbour)?;
        }
        Ok(())
    }

    fn visit(&mut self, node: &Value) -> Result<(), Fault> {
        let Some(next) = neighbours(self.graph, node) else { return self.end() };
        self.path.push(node.clone());
        if next.is_empty() {
            self.end()?;
        }
        for neighbour in next {
            if self.seen.insert(neighbour.clone()) {
                self.visit(neighbour)?;
            } else {
                self.end()?;
            }
        }
        self.path.pop();
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        if self.path.is_empty() {
            return Ok(());
        }
        if self.paths.len().is_multiple_of(1024) {
            self.scope.check()?;
        }
        size::bytes(self.scope, (self.path.len() as u64 + 4) * size::ELEMENT)?;
        self.paths.insert(Value::from(self.path.clone()));
        Ok(())
    }
}

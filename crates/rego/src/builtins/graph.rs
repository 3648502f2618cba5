//! Graphs as objects of neighbours, and walks through documents.

use std::collections::VecDeque;

use super::aggregates::list_operand;
use super::operands::{Ticks, answer, charge_elements, elements, object, operand};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, Object, Set, deeper};

/// Returns the neighbours of a node; none if they aren't an array or a set.
fn neighbours<'a>(edges: &'a Value) -> Box<dyn ExactSizeIterator<Item = &'a Value> + 'a> {
    elements(edges).unwrap_or_else(|| Box::new([].iter()))
}

pub(super) fn reachable(context: &dyn Context, args: &[Value]) -> Answer {
    let graph = object(args, 0)?;
    let mut queue: VecDeque<&Value> = list_operand(args, 1, &["{array, set}"])?.collect();
    let mut reached = Set::new();
    let mut ticks = Ticks::new();
    while let Some(node) = queue.pop_front() {
        ticks.tick(context)?;
        let Some(edges) = graph.get(node) else { continue };
        if reached.contains(node) {
            continue;
        }
        for neighbour in neighbours(edges) {
            ticks.tick(context)?;
            if !reached.contains(neighbour) {
                queue.push_back(neighbour);
            }
        }
        charge_elements(context, 1)?;
        reached.insert(node.clone());
    }
    answer(reached)
}

/// A depth-first search for paths.
struct Paths<'a> {
    context: &'a dyn Context,
    graph: &'a Object,
    path: Vec<&'a Value>,
    found: Set,
}

impl<'a> Paths<'a> {
    fn keep(&mut self) -> Result<(), Error> {
        charge_elements(self.context, self.path.len())?;
        self.found.insert(self.path.iter().copied().cloned().collect());
        Ok(())
    }

    fn follow(&mut self, node: &'a Value) -> Result<(), Error> {
        self.context.check()?;
        // A node that isn't in the graph ends the path before it.
        let Some(edges) = self.graph.get(node) else { return self.keep() };
        self.path.push(node);
        let neighbours = neighbours(edges);
        if neighbours.len() == 0 {
            self.keep()?;
        }
        for neighbour in neighbours {
            if self.path.contains(&neighbour) {
                self.keep()?;
            } else {
                deeper(|| self.follow(neighbour))?;
            }
        }
        self.path.pop();
        Ok(())
    }
}

pub(super) fn reachable_paths(context: &dyn Context, args: &[Value]) -> Answer {
    let graph = object(args, 0)?;
    let mut paths = Paths { context, graph, path: Vec::new(), found: Set::new() };
    for node in list_operand(args, 1, &["{array, set}"])? {
        let Some(edges) = graph.get(node) else { continue };
        paths.path.push(node);
        let neighbours = neighbours(edges);
        if neighbours.len() == 0 {
            paths.keep()?;
        }
        for neighbour in neighbours {
            // An edge from the node to itself is followed once.
            paths.follow(neighbour)?;
        }
        paths.path.pop();
    }
    answer(paths.found)
}

/// Visits every value nested in a document with its path, starting with the document itself.
pub(super) fn walk(
    context: &dyn Context,
    args: &[Value],
    each: &mut dyn FnMut(Value) -> bool,
) -> Result<(), Error> {
    let mut ticks = Ticks::new();
    let mut path = Array::new();
    let mut visit = |path: &Array, value: &Value| -> Result<bool, Error> {
        ticks.tick(context)?;
        Ok(each(Value::from(vec![Value::from(path.clone()), value.clone()])))
    };
    descend(&mut path, operand(args, 0)?, &mut visit).map(|_| ())
}

type Visit<'a> = dyn FnMut(&Array, &Value) -> Result<bool, Error> + 'a;

fn descend(path: &mut Array, value: &Value, visit: &mut Visit<'_>) -> Result<bool, Error> {
    if !visit(path, value)? {
        return Ok(false);
    }
    let mut step = |key: Value, part: &Value| {
        path.push(key);
        let more = deeper(|| descend(path, part, visit));
        path.pop();
        more
    };
    let mut more = Ok(true);
    // Goes on until a step fails or returns `false`.
    let mut goes_on = |key: Value, part: &Value| {
        more = step(key, part);
        matches!(more, Ok(true))
    };
    match value {
        Value::Array(array) => {
            array.iter().enumerate().all(|(index, part)| goes_on(Value::from(index), part))
        }
        Value::Object(object) => object.iter().all(|(key, part)| goes_on(key.clone(), part)),
        Value::Set(set) => set.iter().all(|part| goes_on(part.clone(), part)),
        _ => true,
    };
    more
}

/// Visits every value nested in a document, starting with the document itself, until `each` returns
/// `false`. Returns `true` if it visited all.
pub fn walk_values(value: &Value, each: &mut dyn FnMut(&Value) -> bool) -> bool {
    each(value)
        && match value {
            Value::Array(array) => array.iter().all(|part| deeper(|| walk_values(part, each))),
            Value::Object(object) => object.values().all(|part| deeper(|| walk_values(part, each))),
            Value::Set(set) => set.iter().all(|part| deeper(|| walk_values(part, each))),
            _ => true,
        }
}

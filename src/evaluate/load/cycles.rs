//! Recursion among rules and functions.
//!
//! Owns the graph of which rule depends on which, the search for cycles in it, and the bound on
//! the longest chain: the interpreter would recurse until its stack ends, and no policy may end
//! the process. Depends on paths alone, as Rego's own check does.

use std::collections::HashMap;

use super::parse::Module;
use super::scope::{Head, Step, Use};
use super::tree::Tree;
use crate::Diagnostic;

/// Longest chain of rules and functions that call each other.
pub(super) const MAX_CHAIN: usize = 5_000;

/// One edge: to which node, and by which reference (module, index of the use).
type Edge = (usize, (usize, usize));

/// Finds cycles and chains that are too long.
pub(super) fn check(modules: &[Module], tree: &Tree, out: &mut Vec<Diagnostic>) {
    let graph = edges(modules, tree);
    let components = components(&graph);
    let mut member = vec![usize::MAX; graph.len()];
    for (index, component) in components.iter().enumerate() {
        for node in component {
            if let Some(slot) = member.get_mut(*node) {
                *slot = index;
            }
        }
    }
    let mut found = false;
    for component in &components {
        let Some(&start) = component.iter().min() else { continue };
        if component.len() > 1 || next(&graph, start).iter().any(|(to, _)| *to == start) {
            found = true;
            out.extend(cycle(&graph, start, &member, modules, tree));
        }
    }
    if !found {
        depth(&graph, &components, modules, tree, out);
    }
}

fn next(graph: &[Vec<Edge>], node: usize) -> &[Edge] {
    graph.get(node).map_or(&[], Vec::as_slice)
}

/// The nodes are the groups of the tree, and behind them one for each reference that depends on
/// many groups, so that a hundred rules that look at `data.policies[_]` don't make a hundred times
/// as many edges.
fn edges(modules: &[Module], tree: &Tree) -> Vec<Vec<Edge>> {
    let mut graph: Vec<Vec<Edge>> = vec![Vec::new(); tree.groups.len()];
    let mut patterns: HashMap<&[Step], usize> = HashMap::new();
    for (index, module) in modules.iter().enumerate() {
        for (number, found) in module.uses.iter().enumerate() {
            if found.head != Head::Data {
                continue;
            }
            let Some(&from) = tree.group_of.get(index).and_then(|g| g.get(found.rule)) else {
                continue;
            };
            let label = (index, number);
            let to = match patterns.get(found.steps.as_slice()) {
                Some(node) => vec![*node],
                None => match tree.targets(&found.steps) {
                    many if many.len() > 1 => {
                        let node = graph.len();
                        patterns.insert(&found.steps, node);
                        graph.push(many.into_iter().map(|to| (to, label)).collect());
                        vec![node]
                    }
                    few => few,
                },
            };
            if let Some(list) = graph.get_mut(from) {
                list.extend(to.into_iter().map(|to| (to, label)));
            }
        }
    }
    graph
}

/// Strongly connected components, those that others depend on first (Tarjan), without recursion.
fn components(graph: &[Vec<Edge>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, Default)]
    struct State {
        index: usize,
        low: usize,
        on_stack: bool,
    }
    let mut states = vec![State::default(); graph.len()];
    let mut counter = 0;
    let mut stack = Vec::new();
    let mut out = Vec::new();
    let get = |states: &[State], node: usize| states.get(node).copied().unwrap_or_default();
    for root in 0..graph.len() {
        if get(&states, root).index != 0 {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                counter += 1;
                if let Some(state) = states.get_mut(node) {
                    *state = State { index: counter, low: counter, on_stack: true };
                }
                stack.push(node);
            }
            let mut low = get(&states, node).low;
            let mut descend = None;
            for (at, (to, _)) in next(graph, node).iter().enumerate().skip(edge.max(1) - 1) {
                let other = get(&states, *to);
                if other.index == 0 {
                    descend = Some((at, *to));
                    break;
                }
                if other.on_stack {
                    low = low.min(other.low);
                }
            }
            if let Some(state) = states.get_mut(node) {
                state.low = low;
            }
            if let Some((at, to)) = descend {
                // Comes back to the same edge, whose end is then known.
                work.push((node, at + 1));
                work.push((to, 0));
                continue;
            }
            if low == get(&states, node).index {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    if let Some(state) = states.get_mut(member) {
                        state.on_stack = false;
                    }
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                out.push(component);
            }
        }
    }
    out
}

/// The shortest way from `start` back to itself, as a diagnostic.
fn cycle(
    graph: &[Vec<Edge>],
    start: usize,
    member: &[usize],
    modules: &[Module],
    tree: &Tree,
) -> Option<Diagnostic> {
    let home = member.get(start)?;
    let mut from: HashMap<usize, (usize, (usize, usize))> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    'search: while let Some(node) = queue.pop_front() {
        for (to, label) in next(graph, node) {
            if member.get(*to) == Some(home) && !from.contains_key(to) {
                from.insert(*to, (node, *label));
                if *to == start {
                    break 'search;
                }
                queue.push_back(*to);
            }
        }
    }
    let mut names = vec![start];
    let mut label = from.get(&start)?.1;
    let mut node = start;
    loop {
        let (before, via) = *from.get(&node)?;
        names.push(before);
        label = if before == start { via } else { label };
        node = before;
        if node == start {
            break;
        }
    }
    names.reverse();
    let names: Vec<String> = shown(&names, tree);
    let first = names.first()?.clone();
    let message = format!("`{first}` depends on itself: {}", names.join(" → "));
    Some(
        at(Diagnostic::error("recursion", message), modules, label)
            .with_hint("rules and functions can't be recursive; `walk` and `graph.reachable` search deep structures"),
    )
}

fn shown(nodes: &[usize], tree: &Tree) -> Vec<String> {
    nodes.iter().filter_map(|node| tree.groups.get(*node)).map(super::tree::Group::name).collect()
}

fn at(diagnostic: Diagnostic, modules: &[Module], label: (usize, usize)) -> Diagnostic {
    let position = modules.get(label.0).and_then(|module| {
        let found: &Use = module.uses.get(label.1)?;
        Some(module.file.position(found.start, found.end()))
    });
    match position {
        Some(position) => diagnostic.at(position),
        None => diagnostic,
    }
}

/// The bound on the longest chain; the components come with those that others depend on first.
fn depth(
    graph: &[Vec<Edge>],
    components: &[Vec<usize>],
    modules: &[Module],
    tree: &Tree,
    out: &mut Vec<Diagnostic>,
) {
    let mut depths = vec![0_usize; graph.len()];
    for node in components.iter().flatten() {
        let below = next(graph, *node).iter().filter_map(|(to, _)| depths.get(*to)).max().copied();
        let depth = below.unwrap_or(0) + usize::from(*node < tree.groups.len());
        if let Some(slot) = depths.get_mut(*node) {
            *slot = depth;
        }
        if depth == MAX_CHAIN + 1 && *node < tree.groups.len() {
            let name = shown(&[*node], tree).concat();
            let message = format!(
                "`{name}` is the end of a chain of more than {MAX_CHAIN} rules and functions"
            );
            let label = next(graph, *node).first().map_or((usize::MAX, 0), |(_, label)| *label);
            out.push(
                at(Diagnostic::error("too-deep", message), modules, label)
                    .with_hint("let fewer rules depend on each other in a row"),
            );
            return;
        }
    }
}

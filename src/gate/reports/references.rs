//! The drawing of the reference graph on the HTML page: the artifacts that policies asked about
//! first are on the left, with a column for each step away from them.
//!
//! Owns its geometry. The number of nodes is bounded, and the page states how many are left out;
//! bad nodes are named even if they aren't drawn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::words::esc;
use crate::gate::model::{Graph, Ledger};
use crate::text::shorten;

/// The most nodes that are drawn.
const MAX_NODES: usize = 150;

/// The width of a column, and of a node in it.
const COLUMN_WIDTH: usize = 270;
const NODE_WIDTH: usize = 205;
/// The height of a row, and of a node in it.
const ROW_HEIGHT: usize = 44;
const NODE_HEIGHT: usize = 34;

/// Returns the drawing of a graph; the ledger tells which nodes were asked about first.
pub(super) fn references(graph: &Graph, ledger: &Ledger) -> String {
    if graph.is_empty() {
        return String::new();
    }
    let drawn = graph.nodes.len().min(MAX_NODES);
    let places = places(graph, ledger, drawn);
    let columns = places.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let (width, height) = (columns * COLUMN_WIDTH, rows * ROW_HEIGHT);
    let bad = graph.nodes.iter().filter(|node| node.bad).count();
    let mut out = format!(
        "<h3>References <span class=\"dim\">{} seen, {bad} bad</span></h3>\n<div \
         class=\"scroll\"><svg class=\"graph\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 \
         {width} {height}\" role=\"img\" aria-label=\"what discover saw\">\n",
        graph.nodes.len() as u64 + graph.left_out,
    );
    for line in lines(graph, &places) {
        let _ = writeln!(out, "{line}");
    }
    for (node, (column, row)) in graph.nodes.iter().zip(&places) {
        let (x, y) = (column * COLUMN_WIDTH + 5, row * ROW_HEIGHT + 3);
        let label = node.name.as_ref().filter(|n| !n.is_empty()).unwrap_or(&node.digest);
        let whole = format!("{} {} {}", node.kind, node.digest, node.name.as_deref().unwrap_or(""));
        let (class, mark) = if node.bad { (" class=\"bad\"", "✗ ") } else { ("", "") };
        let _ = writeln!(
            out,
            "<g{class}><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{NODE_WIDTH}\" \
             height=\"{NODE_HEIGHT}\" rx=\"4\"/><text x=\"{t}\" y=\"{}\">{mark}{}</text><text class=\"name\" \
             x=\"{t}\" y=\"{}\">{}</text></g>",
            esc(&whole),
            y + 14,
            short(&node.kind),
            y + 28,
            short(label),
            t = x + 7,
        );
    }
    out.push_str("</svg></div>\n");
    let hidden = (graph.nodes.len() - drawn) as u64 + graph.left_out;
    if hidden > 0 {
        let _ = writeln!(out, "<p class=\"dim\">{hidden} more nodes are not drawn</p>");
    }
    for node in graph.nodes.iter().skip(drawn).filter(|node| node.bad) {
        let _ = writeln!(out, "<div><b class=\"failed\">✗</b> {}</div>", esc(&node.digest));
    }
    out
}

fn short(text: &str) -> String {
    esc(&shorten(text, 24))
}

/// Returns a line for each pair of nodes of which one refers to the other. Lines to bad nodes come
/// last, on top of the others.
fn lines(graph: &Graph, places: &[(usize, usize)]) -> Vec<String> {
    let pairs: BTreeSet<(usize, usize)> =
        graph.edges.iter().map(|(a, b)| (*a.min(b), *a.max(b))).filter(|(a, b)| a != b).collect();
    let bad = |index: usize| graph.nodes.get(index).is_some_and(|node| node.bad);
    let mut lines: Vec<(bool, String)> = Vec::new();
    for (a, b) in pairs {
        let (Some(one), Some(other)) = (places.get(a), places.get(b)) else { continue };
        let (left, right) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        let middle = |(_, row): &(usize, usize)| row * ROW_HEIGHT + NODE_HEIGHT / 2 + 3;
        let (x1, y1) = (left.0 * COLUMN_WIDTH + NODE_WIDTH + 5, middle(left));
        // A line between nodes of the same column bends around on the right.
        let (x2, bend) = if left.0 == right.0 {
            (x1, x1 + 40)
        } else {
            let x2 = right.0 * COLUMN_WIDTH + 5;
            (x2, usize::midpoint(x1, x2))
        };
        let y2 = middle(right);
        let class = if bad(a) || bad(b) { " class=\"bad\"" } else { "" };
        let path = format!("<path{class} d=\"M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}\"/>");
        lines.push((!class.is_empty(), path));
    }
    lines.sort_by_key(|(bad, _)| *bad);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns the column and row of each drawn node.
fn places(graph: &Graph, ledger: &Ledger, drawn: usize) -> Vec<(usize, usize)> {
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); drawn];
    for (from, to) in graph.edges.iter().filter(|(from, to)| *from < drawn && *to < drawn) {
        for (one, other) in [(from, to), (to, from)] {
            if let Some(list) = beside.get_mut(*one) {
                list.push(*other);
            }
        }
    }
    let mut places: Vec<Option<(usize, usize)>> = vec![None; drawn];
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    // Starts from the nodes that were asked about first, then takes unconnected ones in order.
    let first: VecDeque<_> =
        asked(graph, ledger, drawn).into_iter().map(|node| (node, 0)).collect();
    let others = (0..drawn).map(|node| VecDeque::from([(node, 0)]));
    for mut queue in std::iter::once(first).chain(others) {
        while let Some((node, column)) = queue.pop_front() {
            match places.get_mut(node) {
                Some(place) if place.is_none() => {
                    let row = rows.entry(column).or_default();
                    *place = Some((column, *row));
                    *row += 1;
                }
                _ => continue,
            }
            queue.extend(beside.get(node).into_iter().flatten().map(|to| (*to, column + 1)));
        }
    }
    places.into_iter().flatten().collect()
}

/// Returns the nodes that the policies asked about first.
fn asked(graph: &Graph, ledger: &Ledger, drawn: usize) -> Vec<usize> {
    let mut policies = BTreeSet::new();
    let mut digests = BTreeSet::new();
    for call in ledger.calls.iter().filter(|call| call.function.ends_with(".discover")) {
        if policies.insert(call.policy.as_str())
            && let Ok(serde_json::Value::Array(arguments)) = serde_json::from_str(&call.arguments)
            && let Some(serde_json::Value::String(digest)) = arguments.into_iter().next()
        {
            digests.insert(digest);
        }
    }
    let nodes = graph.nodes.iter().take(drawn).enumerate();
    nodes.filter(|(_, node)| digests.contains(&node.digest)).map(|(index, _)| index).collect()
}

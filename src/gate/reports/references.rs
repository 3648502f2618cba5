//! The page's drawing of what `discover` saw: what was asked about first on the left, and a column
//! for each step away from it.
//!
//! Owns its geometry. It is bounded, and says what it leaves out; what is bad is named whether it
//! is drawn or not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::html::esc;
use crate::gate::model::{Graph, Ledger};
use crate::text::shorten;

/// The number of nodes that are drawn.
const NODES: usize = 150;

/// The width of a column, and that of a node in it.
const COLUMN: usize = 270;
const NODE: usize = 205;
/// The height of a row, and that of a node in it.
const ROW: usize = 44;
const HIGH: usize = 34;

/// What `discover` saw; the calls tell what was asked about first.
pub(super) fn references(graph: &Graph, ledger: &Ledger) -> String {
    if graph.is_empty() {
        return String::new();
    }
    let drawn = graph.nodes.len().min(NODES);
    let places = places(graph, ledger, drawn);
    let columns = places.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let (width, height) = (columns * COLUMN, rows * ROW);
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
        let (x, y) = (column * COLUMN + 5, row * ROW + 3);
        let label = node.name.as_ref().filter(|n| !n.is_empty()).unwrap_or(&node.digest);
        let whole = format!("{} {} {}", node.kind, node.digest, node.name.as_deref().unwrap_or(""));
        let (class, mark) = if node.bad { (" class=\"bad\"", "✗ ") } else { ("", "") };
        let _ = writeln!(
            out,
            "<g{class}><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{NODE}\" \
             height=\"{HIGH}\" rx=\"4\"/><text x=\"{t}\" y=\"{}\">{mark}{}</text><text class=\"name\" \
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

/// A line for each pair of nodes of which one names the other. What isn't bad is drawn first.
fn lines(graph: &Graph, places: &[(usize, usize)]) -> Vec<String> {
    let pairs: BTreeSet<(usize, usize)> =
        graph.edges.iter().map(|(a, b)| (*a.min(b), *a.max(b))).filter(|(a, b)| a != b).collect();
    let bad = |index: usize| graph.nodes.get(index).is_some_and(|node| node.bad);
    let mut lines: Vec<(bool, String)> = Vec::new();
    for (a, b) in pairs {
        let (Some(one), Some(other)) = (places.get(a), places.get(b)) else { continue };
        let (left, right) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        let middle = |(_, row): &(usize, usize)| row * ROW + HIGH / 2 + 3;
        let (x1, y1) = (left.0 * COLUMN + NODE + 5, middle(left));
        // Between two of one column the line goes around on the right.
        let (x2, bend) = if left.0 == right.0 {
            (x1, x1 + 40)
        } else {
            let x2 = right.0 * COLUMN + 5;
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

/// Column and row of each node that is drawn.
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
    // From what was asked first; then whatever isn't connected with it, in order.
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

/// What each policy asked about first.
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

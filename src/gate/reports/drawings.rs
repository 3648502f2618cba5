//! The drawings of the page: calls by pass, and what `discover` saw.
//!
//! Owns their geometry. Sizes are attributes, since the page's policy refuses inline styles. Both
//! are bounded, and say what they leave out.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use super::facts;
use super::html::esc;
use super::words::microseconds;
use crate::gate::model::{Call, Graph, Ledger};

/// How many nodes are drawn.
const NODES: usize = 150;

/// The calls of an input: one bar each, at the time at which its pass sent it.
pub(super) fn waterfall(ledger: &Ledger) -> String {
    if ledger.calls.is_empty() && ledger.left_out == 0 {
        return String::new();
    }
    let starts = starts(&ledger.calls);
    let begin = |call: &Call| starts.get(&(call.policy.as_str(), call.pass)).copied().unwrap_or(0);
    let end = ledger.calls.iter().map(|call| begin(call).saturating_add(call.latency_us));
    let total = end.max().unwrap_or(0).max(1);
    let mut out = format!("<h3>Calls in {} passes</h3>\n<div class=\"calls\">\n", ledger.passes);
    for call in &ledger.calls {
        let class = match (call.outcome.as_str(), call.needed) {
            ("ok", true) => "bar",
            ("ok", false) => "guess",
            _ => "wrong",
        };
        let text = esc(&facts::call(call));
        let (x, width) = (begin(call), call.latency_us.max(total / 200).max(1));
        let _ = writeln!(
            out,
            "<div class=\"mono\">{} <span class=\"dim\">pass {}, {}</span></div>\n\
             <svg viewBox=\"0 0 {total} 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{text}\">\
             <title>{text}</title><rect class=\"{class}\" x=\"{x}\" y=\"1\" width=\"{width}\" height=\"8\"/></svg>",
            esc(&call.function),
            call.pass,
            microseconds(call.latency_us),
        );
    }
    out.push_str("</div>\n<details><summary>Every call</summary>\n<ul class=\"mono\">\n");
    for call in &ledger.calls {
        let _ = writeln!(out, "<li>{}</li>", esc(&facts::call(call)));
    }
    out.push_str("</ul></details>\n");
    if ledger.left_out > 0 {
        let _ = writeln!(out, "<p class=\"dim\">{} more calls are not shown</p>", ledger.left_out);
    }
    out
}

/// When each pass of each policy sent its calls: after the slowest one of the pass before.
fn starts(calls: &[Call]) -> BTreeMap<(&str, u32), u64> {
    let mut slowest: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for call in calls {
        let known = slowest.entry((&call.policy, call.pass)).or_default();
        *known = call.latency_us.max(*known);
    }
    let (mut policy, mut at) = ("", 0_u64);
    let start = |((name, pass), latency): ((_, u32), u64)| {
        if name != policy {
            (policy, at) = (name, 0);
        }
        let start = at;
        at = at.saturating_add(latency);
        ((name, pass), start)
    };
    slowest.into_iter().map(start).collect()
}

/// What `discover` saw: a column for each step away from what was asked about.
pub(super) fn graph(graph: &Graph) -> String {
    if graph.is_empty() {
        return String::new();
    }
    let drawn = graph.nodes.len().min(NODES);
    let (places, columns, rows) = places(graph, drawn);
    let (width, height) = (columns * 260, rows * 44);
    let mut out = format!(
        "<h3>References</h3>\n<div class=\"scroll\"><svg class=\"graph\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"what discover saw\">\n"
    );
    for (from, to) in &graph.edges {
        if let (Some((x1, y1)), Some((x2, y2))) = (places.get(*from), places.get(*to)) {
            let (x1, y1, x2, y2) = (x1 * 260 + 205, y1 * 44 + 20, x2 * 260 + 5, y2 * 44 + 20);
            let middle = usize::midpoint(x1, x2);
            let _ = writeln!(out, "<path d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\"/>");
        }
    }
    for (node, (column, row)) in graph.nodes.iter().zip(&places) {
        let (x, y) = (column * 260 + 5, row * 44 + 3);
        let label = node.name.as_ref().filter(|n| !n.is_empty()).unwrap_or(&node.digest);
        let whole = format!("{} {} {}", node.kind, node.digest, node.name.as_deref().unwrap_or(""));
        let (class, mark) = if node.bad { (" class=\"bad\"", "✗ ") } else { ("", "") };
        let _ = writeln!(
            out,
            "<g{class}><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"200\" height=\"34\" rx=\"4\"/>\
             <text x=\"{t}\" y=\"{}\">{mark}{}</text><text x=\"{t}\" y=\"{}\">{}</text></g>",
            esc(&whole),
            y + 14,
            short(&node.kind),
            y + 28,
            short(label),
            t = x + 6,
        );
    }
    out.push_str("</svg></div>\n");
    let hidden = (graph.nodes.len() - drawn) as u64 + graph.left_out;
    let bad: Vec<_> = graph.nodes.iter().skip(drawn).filter(|node| node.bad).collect();
    if hidden > 0 {
        let _ = writeln!(out, "<p class=\"dim\">{hidden} more nodes are not drawn</p>");
    }
    for node in bad {
        let _ = writeln!(out, "<div><b class=\"failed\">✗</b> {}</div>", esc(&node.digest));
    }
    out
}

fn short(text: &str) -> String {
    esc(&crate::text::shorten(text, 24))
}

/// Column and row of each node that is drawn, and how many there are of both.
fn places(graph: &Graph, drawn: usize) -> (Vec<(usize, usize)>, usize, usize) {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); drawn];
    let mut named = vec![false; drawn];
    for (from, to) in graph.edges.iter().filter(|(from, to)| *from < drawn && *to < drawn) {
        if let (Some(list), Some(flag)) = (next.get_mut(*from), named.get_mut(*to)) {
            list.push(*to);
            *flag = true;
        }
    }
    let mut column: Vec<Option<usize>> = vec![None; drawn];
    // First from what nothing refers to; then whatever is left, in order: cycles.
    let roots = (0..drawn).filter(|i| named.get(*i) == Some(&false)).chain(0..drawn);
    for root in roots {
        let mut queue = VecDeque::from([(root, 0)]);
        while let Some((node, depth)) = queue.pop_front() {
            match column.get_mut(node) {
                Some(place) if place.is_none() => *place = Some(depth),
                _ => continue,
            }
            queue.extend(next.get(node).into_iter().flatten().map(|to| (*to, depth + 1)));
        }
    }
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let place = |column: Option<usize>| {
        let column = column.unwrap_or(0);
        let row = rows.entry(column).or_default();
        *row += 1;
        (column, *row - 1)
    };
    let places: Vec<_> = column.into_iter().map(place).collect();
    let columns = rows.len().max(1);
    (places, columns, rows.values().copied().max().unwrap_or(1))
}

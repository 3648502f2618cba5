//! The drawing of the calls on the HTML page: a bar for each call, by policy, starting at the time
//! at which its pass sent it.
//!
//! Owns its geometry. Sizes are attributes, since the page's content security policy forbids inline
//! styles. The number of bars is bounded, and the page states how many calls are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::facts;
use super::words::esc;
use super::words::microseconds;
use crate::gate::model::{Call, Ledger};
use crate::text::shorten;

/// The most calls that are drawn.
const MAX_BARS: usize = 300;

/// Returns the drawing of an input's calls.
pub(super) fn waterfall(ledger: &Ledger) -> String {
    if ledger.calls.is_empty() && ledger.left_out == 0 {
        return String::new();
    }
    let starts = starts(&ledger.calls);
    let begin = |call: &Call| starts.get(&(call.policy.as_str(), call.pass)).copied().unwrap_or(0);
    let end = ledger.calls.iter().map(|call| begin(call).saturating_add(call.latency_us));
    let total = end.max().unwrap_or(0).max(1);
    let passes = if ledger.passes == 1 { "pass" } else { "passes" };
    let mut out = format!(
        "<h3>Calls in {} {passes}</h3>\n<p class=\"dim\"><span class=\"key needed\"></span> the \
         verdict depends on it <span class=\"key shared\"></span> answered already <span \
         class=\"key guess\"></span> sent ahead and not needed <span class=\"key wrong\"></span> \
         failed; the whole width is {}</p>\n<div class=\"calls\">\n",
        ledger.passes,
        microseconds(total)
    );
    let mut policy = None;
    for call in ledger.calls.iter().take(MAX_BARS) {
        if policy != Some(&call.policy) {
            let _ = writeln!(out, "<div class=\"of\">{}</div>", esc(&call.policy));
            policy = Some(&call.policy);
        }
        bar(&mut out, call, begin(call), total);
    }
    out.push_str("</div>\n");
    let hidden = ledger.calls.len().saturating_sub(MAX_BARS);
    if hidden > 0 {
        let _ = writeln!(out, "<p class=\"dim\">{hidden} more calls are listed but not drawn</p>");
    }
    out.push_str("<details><summary>Every call</summary>\n<ul class=\"mono\">\n");
    for call in &ledger.calls {
        let _ = writeln!(out, "<li>{}</li>", esc(&facts::call(call)));
    }
    out.push_str("</ul></details>\n");
    if ledger.left_out > 0 {
        let _ = writeln!(out, "<p class=\"dim\">{} more calls are not shown</p>", ledger.left_out);
    }
    out
}

fn bar(out: &mut String, call: &Call, begin: u64, total: u64) {
    let class = match (call.outcome.as_str(), call.needed, call.origin.as_str()) {
        ("ok", true, "network") => "needed",
        ("ok", true, _) => "shared",
        ("ok", false, _) => "guess",
        _ => "wrong",
    };
    let text = esc(&facts::call(call));
    // Bars that would be too narrow to see are drawn wider.
    let width = call.latency_us.max(total / 200).max(1);
    let function = call.function.split_once('.').map_or(call.function.as_str(), |(_, name)| name);
    let argument = call.arguments.trim_start_matches(['[', '"']);
    let _ = writeln!(
        out,
        "<div class=\"mono\">{} <span class=\"dim\">{}</span></div>\
         <div class=\"mono dim\">pass {}, {}</div>\n\
         <svg viewBox=\"0 0 {total} 10\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{text}\"><title>{text}</title><rect class=\"{class}\" x=\"{begin}\" y=\"1\" \
         width=\"{width}\" height=\"8\"/></svg>",
        esc(function),
        esc(&shorten(argument, 18)),
        call.pass,
        microseconds(call.latency_us),
    );
}

/// Returns the time at which each pass of each policy sent its calls, taken as the end of the
/// slowest call of the previous pass.
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

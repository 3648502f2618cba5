//! The output format `pretty`: one value, or a table.

use super::{compact, pretty as json};
use crate::Error;
use crate::evaluate::query::{QueryOutput, Row};
use crate::rego::Value;

/// Returns `undefined`, a single value, or a table as `opa eval` prints it: a column for each
/// expression, and for each variable. Beside variables, booleans are left out.
pub(super) fn pretty(output: &QueryOutput) -> Result<String, Error> {
    let Some(first) = output.rows.first() else {
        return Ok("undefined\n".to_owned());
    };
    if let ([Row { bindings, .. }], Some(value)) = (output.rows.as_slice(), output.value())
        && bindings.is_empty()
    {
        return Ok(json(value)? + "\n");
    }
    let one = output.rows.len() == 1 && first.bindings.is_empty();
    if one && first.expressions.iter().all(|answer| is_boolean(&answer.value)) {
        return Ok("true\n".to_owned());
    }
    // A condition next to variables adds nothing.
    let shown: Vec<usize> = (0..first.expressions.len())
        .filter(|index| {
            let answer = first.expressions.get(*index);
            first.bindings.is_empty() || !answer.is_some_and(|answer| is_boolean(&answer.value))
        })
        .collect();
    let text = |index: &usize| first.expressions.get(*index).map(|answer| answer.text.clone());
    let mut head: Vec<String> = shown.iter().filter_map(text).collect();
    head.extend(first.bindings.keys().cloned());
    let mut rows = Vec::new();
    for row in &output.rows {
        let answers = shown.iter().filter_map(|index| row.expressions.get(*index));
        let values = answers.map(|answer| &answer.value).chain(row.bindings.values());
        rows.push(values.map(compact).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(table(&head, &rows))
}

fn is_boolean(value: &Value) -> bool {
    matches!(value, Value::Bool(_))
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells =
                head.get(column).into_iter().chain(rows.iter().filter_map(|r| r.get(column)));
            cells.flat_map(|cell| cell.lines()).map(columns).max().unwrap_or_default()
        })
        .collect();
    let rule = |left: &str, between: &str, right: &str| {
        let parts: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        format!("{left}{}{right}\n", parts.join(between))
    };
    let mut out = rule("┌", "┬", "┐");
    lines(head, &widths, true, &mut out);
    out.push_str(&rule("├", "┼", "┤"));
    for row in rows {
        lines(row, &widths, false, &mut out);
    }
    out + &rule("└", "┴", "┘")
}

/// Writes a row, over as many lines as its longest cell has.
fn lines(row: &[String], widths: &[usize], centred: bool, out: &mut String) {
    let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or_default();
    for line in 0..height {
        for (cell, width) in row.iter().zip(widths) {
            let text = cell.lines().nth(line).unwrap_or_default();
            let room = width.saturating_sub(columns(text));
            let left = if centred { room / 2 } else { 0 };
            out.push_str("│ ");
            out.push_str(&" ".repeat(left));
            out.push_str(text);
            out.push_str(&" ".repeat(room - left + 1));
        }
        out.push_str("│\n");
    }
}

/// Returns the number of columns that `text` takes on a terminal; East Asian characters take two.
fn columns(text: &str) -> usize {
    let wide = |c: char| {
        matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{33ff}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a000}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1f64f}'
            | '\u{20000}'..='\u{3fffd}')
    };
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

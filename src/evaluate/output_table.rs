//! The output format `pretty`: one value, or a table.

use super::{compact, pretty as json};
use crate::Error;
use crate::evaluate::query::{QueryOutput, Row};

/// The widest cell, in columns; longer text is wrapped.
const WIDTH: usize = 30;

/// Returns `undefined`, a single value, or a table with a column for each binding and each
/// expression whose value isn't a boolean.
pub(super) fn pretty(output: &QueryOutput) -> Result<String, Error> {
    let Some(first) = output.rows.first() else {
        return Ok("undefined\n".to_owned());
    };
    if let ([Row { bindings, .. }], Some(value)) = (output.rows.as_slice(), output.value())
        && bindings.is_empty()
    {
        return Ok(json(value)? + "\n");
    }
    let shown: Vec<usize> = (0..first.expressions.len())
        .filter(|index| {
            let answer = first.expressions.get(*index);
            !answer.is_some_and(|answer| matches!(answer.value, crate::rego::Value::Bool(_)))
        })
        .collect();
    let mut head: Vec<String> = first.bindings.keys().cloned().collect();
    let text = |index: &usize| first.expressions.get(*index).map(|answer| answer.text.clone());
    head.extend(shown.iter().filter_map(text));
    if head.is_empty() {
        return Ok("true\n".to_owned());
    }
    let mut rows = Vec::new();
    for row in &output.rows {
        let values = row.bindings.values().map(compact);
        let answers = shown.iter().filter_map(|index| row.expressions.get(*index));
        let cells = values.chain(answers.map(|answer| compact(&answer.value)));
        rows.push(cells.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(table(&head, &rows))
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let head: Vec<_> = head.iter().map(|cell| wrap(cell)).collect();
    let rows: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(|cell| wrap(cell)).collect()).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            std::iter::once(&head)
                .chain(&rows)
                .filter_map(|row| row.get(column))
                // A wrapped cell takes the whole width.
                .flat_map(|cell| {
                    let least = if cell.len() > 1 { WIDTH } else { 0 };
                    cell.iter().map(move |line| columns(line).max(least))
                })
                .max()
                .unwrap_or_default()
        })
        .collect();
    let rule: String = widths.iter().map(|width| "-".repeat(width + 2) + "+").collect();
    let rule = format!("+{rule}\n");
    let mut out = rule.clone();
    lines(&head, &widths, true, &mut out);
    out.push_str(&rule);
    for row in &rows {
        lines(row, &widths, false, &mut out);
    }
    out + &rule
}

fn lines(row: &[Vec<String>], widths: &[usize], centred: bool, out: &mut String) {
    let height = row.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..height {
        for (cell, width) in row.iter().zip(widths) {
            let text = cell.get(line).map_or("", String::as_str);
            let room = width.saturating_sub(columns(text));
            let left = if centred { room / 2 } else { 0 };
            out.push_str("| ");
            out.push_str(&" ".repeat(left));
            out.push_str(text);
            out.push_str(&" ".repeat(room - left + 1));
        }
        out.push_str("|\n");
    }
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
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

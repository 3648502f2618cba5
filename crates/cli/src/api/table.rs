//! Tables for people.
//!
//! Owns column widths and escaping: text from the service can't leave its cell.

use std::fmt::Write as _;

use rego_platform_client::text::{escape_for_log, shorten};

/// The widest cell; the JSON has the whole text.
const MAX_CELL: usize = 80;

/// Rows under headings, with an optional title.
pub(super) struct Table {
    pub title: Option<String>,
    pub headings: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: &[&'static str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { title: None, headings: headings.to_vec(), rows: rows.into_iter().collect() }
    }

    /// Creates a table of one resource's fields, one per line, without the empty ones.
    pub fn of_fields(fields: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Self::new(&[], fields.map(|(name, value)| vec![name.to_owned(), value]))
    }
}

/// Renders tables one after another, with an empty line between them.
pub(super) fn text(tables: &[Table]) -> String {
    if tables.is_empty() {
        return "nothing\n".to_owned();
    }
    let parts: Vec<String> = tables.iter().map(one).collect();
    escape_for_log(&parts.join("\n"))
}

fn one(table: &Table) -> String {
    let mut out = String::new();
    out.extend(table.title.as_ref().map(|title| format!("{}\n", shorten(title, 2 * MAX_CELL))));
    let heading = table.headings.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>();
    let rows =
        table.rows.iter().map(|row| row.iter().map(|cell| shorten(cell, MAX_CELL)).collect());
    let mut lines: Vec<Vec<String>> = rows.collect();
    if lines.is_empty() && table.title.is_none() {
        return "nothing\n".to_owned();
    }
    if !heading.is_empty() {
        lines.insert(0, heading);
    }
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |at: usize| {
        lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or_default()).collect();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_columns_and_lines() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let table = Table::new(&["ID", "NAME"], [row("1", "a\nb\u{1b}[31m"), row("::x", "")]);
        assert_eq!(text(&[table]), "ID   NAME\n1    a\\nb\\u{1b}[31m\n\\::x\n");
        assert_eq!(text(&[Table::new(&["ID"], [])]), "nothing\n");
        let fields = [("Name", "x".to_owned()), ("Other", String::new())];
        assert_eq!(text(&[Table::of_fields(fields)]), "Name  x\n");
    }
}

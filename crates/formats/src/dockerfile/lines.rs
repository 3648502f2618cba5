//! The lines of a Dockerfile: comments, instructions joined over their lines, and here-documents.

use super::here_documents::Marker;
use crate::problem::{Problem, shown};

/// A comment, or an instruction with the number of its first line.
pub(super) enum Line {
    Comment(String),
    Instruction(usize, String),
}

pub(super) struct Lines<'t> {
    rest: &'t str,
    /// The number of the last line, from 1.
    number: usize,
    escape: char,
}

impl<'t> Lines<'t> {
    /// Creates an iterator, behind the parser's directives.
    pub fn new(text: &'t str) -> Result<Self, Problem> {
        let mut lines = Self { rest: text, number: 0, escape: '\\' };
        let mut seen = Vec::new();
        loop {
            let before = (lines.rest, lines.number);
            let Some((name, value)) = lines.line().and_then(directive) else {
                (lines.rest, lines.number) = before;
                return Ok(lines);
            };
            let invalid = |message: String| Problem::on(lines.number, message);
            if seen.contains(&name) {
                return Err(invalid(format!("duplicate directive `{name}`")));
            }
            seen.push(name);
            match (name, value) {
                ("escape", "`") => lines.escape = '`',
                ("escape", "\\") | ("syntax" | "check", _) => {}
                _ => {
                    return Err(invalid(
                        "invalid directive `escape`: expected a backslash or a backtick".to_owned(),
                    ));
                }
            }
        }
    }

    /// Returns the character for escapes and continued lines.
    pub fn escape(&self) -> char {
        self.escape
    }

    pub fn next(&mut self) -> Option<Line> {
        loop {
            let line = self.line()?.trim_start();
            if line.is_empty() {
                continue;
            }
            if let Some(comment) = line.strip_prefix('#') {
                let comment = comment.trim();
                if comment.is_empty() {
                    continue;
                }
                return Some(Line::Comment(comment.to_owned()));
            }
            return Some(self.instruction(line));
        }
    }

    /// Joins the lines of an instruction: comments and empty lines among them don't count.
    fn instruction(&mut self, first: &str) -> Line {
        let number = self.number;
        let mut text = String::new();
        let mut next = Some(first);
        while let Some(line) = next {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                next = self.line();
                continue;
            }
            let end = line.trim_end_matches([' ', '\t']);
            match end.strip_suffix(self.escape) {
                Some(continued) if !continued.ends_with(self.escape) => {
                    text.push_str(continued);
                    next = self.line();
                }
                _ => {
                    text.push_str(line);
                    break;
                }
            }
        }
        Line::Instruction(number, text.trim().to_owned())
    }

    /// Returns the text of a here-document, whose lines are the next ones.
    pub fn here_document(&mut self, marker: &Marker) -> Result<String, String> {
        let mut text = String::new();
        while let Some(line) = self.line() {
            let line = if marker.is_indented { line.trim_start_matches('\t') } else { line };
            if line == marker.name {
                return Ok(text);
            }
            text.push_str(line);
            text.push('\n');
        }
        Err(format!("unterminated here-document `{}`", shown(&marker.name)))
    }

    fn line(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line.trim_end_matches('\r'))
    }
}

/// Returns the name and the value of a directive such as `# escape=...`.
fn directive(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.trim().strip_prefix('#')?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let known =
        ["syntax", "escape", "check"].into_iter().find(|own| name.eq_ignore_ascii_case(own));
    (!value.is_empty()).then_some((known?, value))
}

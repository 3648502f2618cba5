//! The lines of a Dockerfile: comments, instructions joined over their lines, and here-documents.

/// A comment, or an instruction with the number of its first line.
pub(super) enum Line {
    Comment(String),
    Instruction(usize, String),
}

pub(super) struct Lines<'t> {
    rest: &'t str,
    /// The number of the last line, from 1.
    number: usize,
    /// What a line ends with that is continued.
    escape: char,
}

impl<'t> Lines<'t> {
    /// Creates an iterator, behind the parser's directives.
    pub fn new(text: &'t str) -> Self {
        let mut lines = Self { rest: text, number: 0, escape: '\\' };
        loop {
            let before = (lines.rest, lines.number);
            match lines.line().and_then(directive) {
                Some(("escape", "`")) => lines.escape = '`',
                Some(_) => {}
                None => {
                    (lines.rest, lines.number) = before;
                    return lines;
                }
            }
        }
    }

    pub fn next(&mut self) -> Option<Line> {
        loop {
            let line = self.line()?.trim();
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

    /// Returns the text and the name of the here-document that a word begins, if it does.
    pub fn here_document(&mut self, word: &str) -> Result<Option<(String, String)>, String> {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let Some(name) = word.strip_prefix("<<").filter(|name| !name.contains('<')) else {
            return Ok(None);
        };
        let (is_indented, name) = match name.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let name: String = name.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
        if name.is_empty() {
            return Ok(None);
        }
        let mut text = String::new();
        while let Some(line) = self.line() {
            let line = if is_indented { line.trim_start_matches('\t') } else { line };
            if line == name {
                return Ok(Some((text, name)));
            }
            text.push_str(line);
            text.push('\n');
        }
        let shown: String = name.chars().take(40).collect();
        Err(format!("the here-document `{shown}` has no end"))
    }

    fn line(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

/// Returns the name and the value of a directive such as `# escape=...`.
fn directive(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.trim().strip_prefix('#')?.split_once('=')?;
    let name = name.trim();
    let known =
        ["syntax", "escape", "check"].into_iter().find(|own| name.eq_ignore_ascii_case(own));
    Some((known?, value.trim()))
}

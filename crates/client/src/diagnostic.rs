//! A message about a position in the author's text.
//!
//! Owns the form of a diagnostic and its plain rendering. The loader, the checker and the
//! evaluation create diagnostics; reports print them.

use std::fmt::Write as _;

use crate::Setting;

/// The fix of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fix {
    /// Replaces the name at the end of the finding's text.
    Name {
        /// The current name.
        wrong: String,
        /// The intended name.
        right: String,
    },
    /// Removes the statement, which has its own lines.
    Remove,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Level {
    /// Doesn't refuse the policy.
    Warning,
    /// Refuses the policy.
    Error,
}

/// A position in a file of the author's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Position {
    /// The file's path as it was given to the command or to the API.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The number of characters, at least 1.
    pub length: u32,
    /// The line's text, without its line break; empty if it has more than 4,096 bytes.
    pub text: String,
}

/// The maximum length of a line in a position, in bytes. Many positions may be on one long line.
pub const MAX_LINE: usize = 4096;

impl Position {
    /// Returns as many spaces as the line's number has digits.
    pub fn gutter(&self) -> String {
        " ".repeat(self.line.to_string().len())
    }

    /// Returns the line below the text, with carets under the position.
    pub fn carets(&self) -> String {
        let mut line: String = self
            .text
            .chars()
            .take(self.column.saturating_sub(1) as usize)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let room = self.text.chars().count().saturating_sub(line.chars().count()).max(1);
        line.push_str(&"^".repeat((self.length as usize).clamp(1, room)));
        line
    }
}

/// A message about a position in the author's text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The severity.
    pub level: Level,
    /// A stable name for this kind of message, such as `unknown-function`.
    pub code: &'static str,
    /// The message: lowercase, no full stop, the author's words in backticks.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// The setting that would change the outcome, if any. The host names its option.
    #[serde(skip)]
    pub setting: Option<Setting>,
    pub position: Option<Position>,
    /// The fix, if there is exactly one.
    #[serde(skip)]
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Creates an error with a stable code.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        let (level, message) = (Level::Error, message.into());
        Self { level, code, message, hint: None, setting: None, position: None, fix: None }
    }

    /// Creates a warning with a stable code.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(code, message) }
    }

    /// Sets the position.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// Sets the hint: the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the setting that would change the outcome.
    #[must_use]
    pub fn by_setting(mut self, setting: Setting) -> Self {
        self.setting = Some(setting);
        self
    }

    /// Sets the fix: replaces the name at the end of the position.
    #[must_use]
    pub fn renamed(mut self, wrong: &str, right: impl Into<String>) -> Self {
        self.fix = Some(Fix::Name { wrong: wrong.to_owned(), right: right.into() });
        self
    }

    /// Sets the fix: removes the text at the position.
    #[must_use]
    pub fn removed(mut self) -> Self {
        self.fix = Some(Fix::Remove);
        self
    }

    /// Returns `policy.rego:3:14: message`, on one line.
    pub fn headline(&self) -> String {
        match &self.position {
            Some(p) => format!("{}:{}:{}: {}", p.file, p.line, p.column, self.message),
            None => self.message.clone(),
        }
    }

    /// Returns the message for people: position, source line with carets, and hint.
    ///
    /// Nothing is escaped here; the code that prints it to a terminal or a log does that.
    pub fn render(&self) -> String {
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        let mut out = format!("{level}[{}]: {}", self.code, self.message);
        if let Some(p) = &self.position {
            let gutter = p.gutter();
            let _ = write!(out, "\n{gutter}--> {}:{}:{}", p.file, p.line, p.column);
            if !p.text.is_empty() {
                let (line, text, carets) = (p.line, &p.text, p.carets());
                let _ = write!(out, "\n{gutter} |\n{line} | {text}\n{gutter} | {carets}");
            }
            out.extend(self.hint.as_ref().map(|hint| format!("\n{gutter} = help: {hint}")));
        } else if let Some(hint) = &self.hint {
            let _ = write!(out, "\n  = help: {hint}");
        }
        out
    }
}

//! Hints for common mistakes: the author's probable intention, and the text to write instead.

use super::super::token::Tok;
use super::super::tree::{Rule, Span};
use super::{BaseVersion, Parser};

/// The hint for files that don't begin with a package.
pub(super) const PACKAGE_FIRST: &str = "the file must begin with `package NAME`";

/// The largest length of a text that is repeated in hints.
const MAX_QUOTED: usize = 60;

/// The largest number of tokens in a path.
const MAX_PATH: usize = 64;

/// The note of a message about `every` without a body.
pub(super) const MISSING_BODY: &str = "missing body";

const COMMENT: &str = "comments begin with `#`";
const IF_STATEMENT: &str = "Rego has no `if` statement: `if` follows the head of a rule, and each \
                            case is a rule of its own";
const TEMPLATE: &str = "a template string is written `$\"...{x}...\"`";

/// Returns `true` if an expression must follow a token.
fn takes_operand(tok: Tok) -> bool {
    matches!(
        tok,
        Tok::Add
            | Tok::Sub
            | Tok::Mul
            | Tok::Div
            | Tok::Rem
            | Tok::And
            | Tok::Or
            | Tok::Unify
            | Tok::Equal
            | Tok::Assign
            | Tok::Neq
            | Tok::Gt
            | Tok::Lt
            | Tok::Gte
            | Tok::Lte
            | Tok::Dot
    )
}

impl Parser<'_> {
    /// The hint for an unexpected token.
    pub(super) fn hint_for_unexpected(&self, note: &str) -> Option<String> {
        let tok = self.tok();
        if note == MISSING_BODY {
            return Some("`every` takes a body: `every x in xs { ... }`".to_owned());
        }
        let before = self.state.at.checked_sub(1).map(|at| self.token(at));
        let previous = before.map_or(Tok::Eof, |token| token.kind);
        let touching = before.is_some_and(|token| token.end == self.start());
        let word = self.literal();
        let previous_word =
            before.map(|token| self.slice(token.start, token.end)).unwrap_or_default();
        let hint = match (previous, tok) {
            (Tok::And, Tok::And) if touching => {
                "Rego has no `&&`: write one condition per line, or separate them with `;`"
            }
            (Tok::Or, Tok::Or) if touching => {
                "Rego has no `||`: write a second rule, or `true in {x, y}`"
            }
            (_, Tok::LogicalAnd) => "one condition per line means `and`",
            (_, Tok::LogicalOr) => "for `or`, write a second rule",
            (Tok::Equal, Tok::Unify) => "values are compared with `==`",
            (Tok::Add | Tok::Sub, Tok::Unify) => {
                "variables can't be changed; assign to a new one with `:=`"
            }
            (_, Tok::If) if self.options.version == BaseVersion::V0 => {
                "`if` needs `import rego.v1` in v0"
            }
            (Tok::LBrace | Tok::Semicolon | Tok::Assign | Tok::Unify, Tok::If) => IF_STATEMENT,
            (_, Tok::If) if self.token(self.state.at).newline => IF_STATEMENT,
            (_, Tok::Else) => "`else` follows the closing brace of the rule's body",
            (Tok::Div, Tok::Div) if touching => COMMENT,
            (_, Tok::Div) if self.touches_next(Tok::Div) => COMMENT,
            (_, Tok::Div) if self.touches_next(Tok::Mul) => COMMENT,
            (Tok::Unify, Tok::Gt) if touching => "Rego has no `=>`: write `>=`",
            (Tok::Unify, Tok::Lt) if touching => "Rego has no `=<`: write `<=`",
            (_, Tok::Eof) => return Some(self.hint_for_end(previous)),
            (_, Tok::Semicolon | Tok::Sub) if self.in_package_or_import() => {
                return Some(self.hint_for_path(tok));
            }
            (_, Tok::RBrace | Tok::RBracket | Tok::RParen)
                if previous == Tok::Comma || takes_operand(previous) =>
            {
                return Some(format!("a value is missing before `{}`", tok.name()));
            }
            (Tok::Ident, Tok::String | Tok::RawString) if previous_word == "import" => {
                let path = word.trim_matches(['"', '`']);
                let quotable = path.len() <= MAX_QUOTED && !path.is_empty();
                let path = if quotable { path } else { "data.NAME" };
                return Some(format!("a path stands without quotes: `import {path}`"));
            }
            (Tok::Ident, Tok::String | Tok::RawString) if touching && previous_word == "f" => {
                TEMPLATE
            }
            (Tok::String | Tok::RawString, _) if self.follows_f_string() => TEMPLATE,
            (Tok::Ident, Tok::Ident | Tok::String | Tok::RawString | Tok::Number)
                if previous_word == "print" =>
            {
                "`print` is a function: `print(x)`"
            }
            (_, Tok::Ident) if word == "in" => "`in` needs `import rego.v1` in v0",
            (_, Tok::Ident) if word == "and" => {
                "write one condition per line, or `import future.keywords.and`"
            }
            (_, Tok::Ident) if word == "or" => {
                "write a second rule, or `import future.keywords.or`"
            }
            (_, Tok::Ident) if previous_word == "every" => "`every` needs `import rego.v1` in v0",
            (Tok::Ident, Tok::Ident | Tok::LBrace)
                if matches!(previous_word, "for" | "foreach") =>
            {
                "Rego has no `for`: write `some x in xs` or `every x in xs { ... }`"
            }
            (Tok::Ident, _) if matches!(previous_word, "let" | "var" | "const" | "set") => {
                "variables are assigned with `x := value`"
            }
            (Tok::Ident, _) if matches!(previous_word, "def" | "function" | "func" | "fn") => {
                "functions are written `f(x) := value if { ... }`"
            }
            (Tok::Ident, _) if previous_word == "return" => {
                "a rule's value stands in its head: `p := value if { ... }`"
            }
            _ => "",
        };
        Some(hint.to_owned()).filter(|hint| !hint.is_empty())
    }

    /// Returns `true` if a token follows the current one without space.
    fn touches_next(&self, tok: Tok) -> bool {
        let next = self.token(self.state.at + 1);
        next.kind == tok && next.start == self.token_end()
    }

    /// Returns `true` if the token before is a string that follows the name `f` without space, as
    /// template strings begin in Python.
    fn follows_f_string(&self) -> bool {
        let Some(name) = self.state.at.checked_sub(2).map(|at| self.token(at)) else {
            return false;
        };
        let string = self.token(self.state.at - 1);
        name.end == string.start && self.slice(name.start, name.end) == "f"
    }

    /// Returns `true` if the current line is a `package` or an `import`.
    fn in_package_or_import(&self) -> bool {
        let tokens = self.tokens.get(..=self.state.at).unwrap_or_default();
        let first =
            tokens.iter().rev().take(MAX_PATH).find(|token| token.newline || token.start == 0);
        first
            .is_some_and(|first| matches!(self.slice(first.start, first.end), "package" | "import"))
    }

    /// The hint for a token that the name of a package can't contain.
    fn hint_for_path(&self, tok: Tok) -> String {
        if tok == Tok::Semicolon {
            return "a line break ends it: drop the `;`".to_owned();
        }
        let (before, after) = (self.token(self.state.at - 1), self.token(self.state.at + 1));
        let [before, after] = [before, after].map(|token| self.slice(token.start, token.end));
        if before.len() + after.len() > MAX_QUOTED || after.is_empty() {
            return "a name consists of letters, digits and `_`".to_owned();
        }
        format!("a name consists of letters, digits and `_`: `{before}_{after}`, for example")
    }

    /// The hint for a text that ends too early.
    fn hint_for_end(&self, previous: Tok) -> String {
        let mut open = Vec::new();
        for token in self.tokens.iter().take(self.state.at) {
            match token.kind {
                Tok::LBrace | Tok::LBracket | Tok::LParen => open.push(*token),
                Tok::RBrace | Tok::RBracket | Tok::RParen => drop(open.pop()),
                _ => {}
            }
        }
        match open.last() {
            Some(token) if !takes_operand(previous) => {
                let line = self.text.get(..usize::try_from(token.start).unwrap_or(0));
                let line = line.map_or(1, |before| before.matches('\n').count() + 1);
                format!("the `{}` in line {line} isn't closed", token.kind.name())
            }
            _ => "an expression is missing at the end".to_owned(),
        }
    }

    /// The hint for an expression between rules that isn't a rule.
    pub(super) fn hint_for_stray(&self, span: Span) -> Option<String> {
        let text = self.slice(span.start, span.end);
        if text.starts_with('"') && self.slice(0, span.start).ends_with('f') {
            return Some(TEMPLATE.to_owned());
        }
        let rest = self.text.get(usize::try_from(span.end).ok()?..)?;
        let next = rest.trim_start_matches([' ', '\t']);
        if self.options.version == BaseVersion::V0 {
            if next.starts_with("if ") || next.starts_with("if{") {
                return Some("`if` needs `import rego.v1` in v0".to_owned());
            }
            if next.starts_with("contains ") {
                return Some("`contains` needs `import rego.v1` in v0".to_owned());
            }
        }
        match text {
            "is" => {
                let hint = "Rego has no `is`: write `x == null`, or `is_null(x)`";
                return Some(hint.to_owned());
            }
            "or" => return Some("write a second rule, or `import future.keywords.or`".to_owned()),
            "and" => {
                let hint = "write one condition per line, or `import future.keywords.and`";
                return Some(hint.to_owned());
            }
            _ => {}
        }
        let quotable = text.len() <= MAX_QUOTED && !text.contains('\n');
        let rule = if quotable { text } else { "..." };
        Some(format!("conditions stand in the body of a rule: `allow if {{ {rule} }}`"))
    }

    /// The text of a head, if it's on one line.
    fn head_text(&self, rule: &Rule) -> Option<&str> {
        let text = self.slice(rule.head.span.start, rule.head.span.end);
        (text.len() <= MAX_QUOTED && !text.contains('\n') && !text.starts_with('{')).then_some(text)
    }

    /// The hint for a rule that is only a head.
    pub(super) fn hint_for_bare_head(&self, rule: &Rule) -> Option<String> {
        let head = self.head_text(rule)?;
        Some(format!("write `{head} := value`, or `{head} if {{ ... }}`"))
    }

    /// The hint for a body without `if`.
    pub(super) fn hint_for_missing_if(&self, rule: &Rule) -> Option<String> {
        let head = self.head_text(rule)?;
        let head = self.modern_head(rule).unwrap_or_else(|| head.to_owned());
        Some(format!("in Rego v1 write `{head} if {{ ... }}`"))
    }

    /// The hint for an element of a set without `contains`.
    pub(super) fn hint_for_missing_contains(&self, rule: &Rule) -> Option<String> {
        let head = self.modern_head(rule)?;
        let body = if rule.generated_body { "" } else { " if { ... }" };
        Some(format!("in Rego v1 write `{head}{body}`"))
    }

    /// Rewrites `p[x]` in the syntax of v1.
    fn modern_head(&self, rule: &Rule) -> Option<String> {
        let head = &rule.head;
        if head.value.is_some() || head.has_contains {
            return None;
        }
        let key = head.key.as_ref()?;
        let text = self.slice(key.span.start, key.span.end);
        let name = head.reference.first()?;
        let quotable = text.len() <= MAX_QUOTED && !text.contains('\n') && !text.is_empty();
        let dotted =
            self.text.as_bytes().get(usize::try_from(key.span.start).ok()?.checked_sub(1)?);
        let text = match (quotable, dotted) {
            (true, Some(b'.')) => format!("\"{text}\""),
            (true, _) => text.to_owned(),
            (false, _) => "...".to_owned(),
        };
        Some(format!("{name} contains {text}"))
    }
}

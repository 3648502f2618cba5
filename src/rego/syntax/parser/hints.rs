//! Hints for common mistakes: the author's probable intention, and the text to write instead.

use super::super::token::Tok;
use super::super::tree::{Rule, Span};
use super::{BaseVersion, Parser};

/// The hint for files that don't begin with a package.
pub(super) const PACKAGE_FIRST: &str = "the file must begin with `package NAME`";

/// The largest length of a text that is repeated in hints.
const MAX_QUOTED: usize = 60;

impl Parser<'_> {
    /// The hint for an unexpected token.
    pub(super) fn hint_for_unexpected(&self) -> Option<String> {
        let tok = self.tok();
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
            (_, Tok::Else) => "`else` follows the closing brace of the rule's body",
            (_, Tok::Eof) => "something that was opened isn't closed",
            (_, Tok::RBrace) if previous == Tok::Comma => "a value is missing before `}`",
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

    /// The hint for an expression between rules that isn't a rule.
    pub(super) fn hint_for_stray(&self, span: Span) -> Option<String> {
        let text = self.slice(span.start, span.end);
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

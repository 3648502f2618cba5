//! The tokens that the lexer makes.

/// A kind of token. Words are [`Tok::Ident`] until the parser has classified them, since the
/// imports before them determine which are keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tok {
    Illegal,
    Eof,
    /// The space before a token, reported only if the parser asks for it.
    Space,
    Ident,
    Package,
    Import,
    As,
    Default,
    Else,
    Not,
    Some,
    With,
    Null,
    True,
    False,
    In,
    Every,
    Contains,
    If,
    LogicalAnd,
    LogicalOr,
    Number,
    String,
    RawString,
    /// The text of a template string up to an expression or, if `last`, up to its end.
    Template {
        raw: bool,
        last: bool,
    },
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LParen,
    RParen,
    Comma,
    Colon,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Unify,
    Equal,
    Assign,
    Neq,
    Gt,
    Lt,
    Gte,
    Lte,
    Dot,
    Semicolon,
}

impl Tok {
    /// OPA's name of the token in messages; for operators, the name of the function.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Illegal => "illegal",
            Self::Eof => "eof",
            Self::Space => "whitespace",
            Self::Ident => "identifier",
            Self::Package => "package",
            Self::Import => "import",
            Self::As => "as",
            Self::Default => "default",
            Self::Else => "else",
            Self::Not => "not",
            Self::Some => "some",
            Self::With => "with",
            Self::Null => "null",
            Self::True => "true",
            Self::False => "false",
            Self::In => "in",
            Self::Every => "every",
            Self::Contains => "contains",
            Self::If => "if",
            Self::LogicalAnd | Self::And => "and",
            Self::LogicalOr | Self::Or => "or",
            Self::Number => "number",
            Self::String | Self::RawString => "string",
            Self::Template { raw: false, last: false } => "template-string-part",
            Self::Template { raw: false, last: true } => "template-string-end",
            Self::Template { raw: true, last: false } => "raw-template-string-part",
            Self::Template { raw: true, last: true } => "raw-template-string-end",
            Self::LBracket => "[",
            Self::RBracket => "]",
            Self::LBrace => "{",
            Self::RBrace => "}",
            Self::LParen => "(",
            Self::RParen => ")",
            Self::Comma => ",",
            Self::Colon => ":",
            Self::Add => "plus",
            Self::Sub => "minus",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Rem => "rem",
            Self::Unify => "eq",
            Self::Equal => "equal",
            Self::Assign => "assign",
            Self::Neq => "neq",
            Self::Gt => "gt",
            Self::Lt => "lt",
            Self::Gte => "gte",
            Self::Lte => "lte",
            Self::Dot => ".",
            Self::Semicolon => ";",
        }
    }

    /// Returns `true` if the token is a keyword.
    pub(super) fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Package
                | Self::Import
                | Self::As
                | Self::Default
                | Self::Else
                | Self::Not
                | Self::Some
                | Self::With
                | Self::Null
                | Self::True
                | Self::False
                | Self::In
                | Self::Every
                | Self::Contains
                | Self::If
                | Self::LogicalAnd
                | Self::LogicalOr
        )
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Tok,
    pub(super) start: u32,
    pub(super) end: u32,
    /// `true` if space or a comment precedes it.
    pub(super) space: bool,
    /// `true` if a line break precedes it.
    pub(super) newline: bool,
    /// The number of comments before it in the text.
    pub(super) comments: u32,
}

/// A set of those keywords that aren't keywords in every context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Keywords(u8);

impl Keywords {
    pub(super) const NONE: Self = Self(0);
    pub(super) const IN: Self = Self(1);
    pub(super) const EVERY: Self = Self(2 | 1);
    pub(super) const CONTAINS: Self = Self(4);
    pub(super) const IF: Self = Self(8);
    pub(super) const NOT: Self = Self(16);
    pub(super) const AND: Self = Self(32);
    pub(super) const OR: Self = Self(64);
    /// The keywords that v1 introduced.
    pub(super) const V0_FUTURE: Self = Self(1 | 2 | 4 | 8);
    pub(super) const ALL: Self = Self(127);

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The keywords that an import of this name adds. `every` also adds `in`.
    pub(super) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "in" => Self::IN,
            "every" => Self::EVERY,
            "contains" => Self::CONTAINS,
            "if" => Self::IF,
            "not" => Self::NOT,
            "and" => Self::AND,
            "or" => Self::OR,
            _ => return None,
        })
    }

    /// The kind of token for a word.
    pub(super) fn classify(self, word: &str) -> Tok {
        let when = |keyword: Self, tok: Tok| if self.has(keyword) { tok } else { Tok::Ident };
        match word {
            "package" => Tok::Package,
            "import" => Tok::Import,
            "as" => Tok::As,
            "default" => Tok::Default,
            "else" => Tok::Else,
            "some" => Tok::Some,
            "with" => Tok::With,
            "null" => Tok::Null,
            "true" => Tok::True,
            "false" => Tok::False,
            "not" => when(Self::NOT, Tok::Not),
            "in" => when(Self::IN, Tok::In),
            "every" => when(Self(2), Tok::Every),
            "contains" => when(Self::CONTAINS, Tok::Contains),
            "if" => when(Self::IF, Tok::If),
            "and" => when(Self::AND, Tok::LogicalAnd),
            "or" => when(Self::OR, Tok::LogicalOr),
            _ => Tok::Ident,
        }
    }

    /// Returns `true` if a word is a keyword.
    pub(super) fn contains(self, word: &str) -> bool {
        self.classify(word) != Tok::Ident
    }
}

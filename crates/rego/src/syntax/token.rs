//! The tokens that the lexer makes.

macro_rules! tokens {
    (
        $($(#[$doc:meta])* $other:ident $other_name:literal)+;
        keywords: $($keyword:ident $keyword_name:literal)+
    ) => {
        /// A kind of token. Words are [`Tok::Ident`] until the parser has classified them, since
        /// the imports before them determine which are keywords.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tok {
            $($(#[$doc])* $other,)+
            $($keyword,)+
            /// The text of a template string up to an expression or, if `last`, up to its end.
            Template {
                raw: bool,
                last: bool,
            },
        }

        impl Tok {
            /// OPA's name of the token in messages; for operators, the name of the function.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$other => $other_name,)+
                    $(Self::$keyword => $keyword_name,)+
                    Self::Template { raw: false, last: false } => "template-string-part",
                    Self::Template { raw: false, last: true } => "template-string-end",
                    Self::Template { raw: true, last: false } => "raw-template-string-part",
                    Self::Template { raw: true, last: true } => "raw-template-string-end",
                }
            }

            /// Returns `true` if the token is a keyword.
            pub(super) fn is_keyword(self) -> bool {
                matches!(self, $(Self::$keyword)|+)
            }
        }
    };
}

tokens! {
    Illegal "illegal"
    Eof "eof"
    /// The space before a token, reported only if the parser asks for it.
    Space "whitespace"
    Ident "identifier"
    Number "number" String "string" RawString "string"
    LBracket "[" RBracket "]" LBrace "{" RBrace "}" LParen "(" RParen ")"
    Comma "," Colon ":" Dot "." Semicolon ";"
    Add "plus" Sub "minus" Mul "mul" Div "div" Rem "rem" And "and" Or "or"
    Unify "eq" Equal "equal" Assign "assign" Neq "neq" Gt "gt" Lt "lt" Gte "gte" Lte "lte";
    keywords:
    Package "package" Import "import" As "as" Default "default" Else "else" Not "not" Some "some"
    With "with" Null "null" True "true" False "false" In "in" Every "every" Contains "contains"
    If "if" LogicalAnd "and" LogicalOr "or"
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

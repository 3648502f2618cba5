//! Words with a special meaning: keywords, operators, names of functions.

/// The words that v1 doesn't accept as the name of a rule.
const KEYWORDS_V1: &[&str] = &[
    "not", "package", "import", "as", "default", "else", "with", "null", "true", "false", "some",
    "if", "contains", "in", "every",
];

/// Returns `true` if a word is a keyword of v1.
pub fn is_keyword_v1(word: &str) -> bool {
    KEYWORDS_V1.contains(&word)
}

/// The infix operator of a function, except `in`.
pub fn infix(function: &str) -> Option<&'static str> {
    Some(match function {
        "assign" => ":=",
        "eq" => "=",
        "equal" => "==",
        "neq" => "!=",
        "lt" => "<",
        "lte" => "<=",
        "gt" => ">",
        "gte" => ">=",
        "plus" => "+",
        "minus" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        "and" => "&",
        "or" => "|",
        _ => return None,
    })
}

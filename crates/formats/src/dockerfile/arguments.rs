//! The arguments of an instruction: its flags, and the form in which its values are written.

use rego::Value;

use crate::problem::shown;

/// The syntax of an instruction's values.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// One text.
    Text,
    /// Words between blanks.
    Words,
    /// Words that may be quoted.
    Quoted,
    /// Pairs `NAME=VALUE`, or one `NAME VALUE`: name, value and what is between them.
    Pairs,
    /// An array of JSON, or one text.
    JsonOrText,
    /// An array of JSON, or words.
    JsonOrWords,
    /// An array of JSON.
    Json,
    /// A word, and an array of JSON or a text.
    Check,
}

/// Returns the form of an instruction, by its name in lowercase.
pub(super) fn form(cmd: &str) -> Option<Form> {
    Some(match cmd {
        "maintainer" | "stopsignal" | "user" | "workdir" => Form::Text,
        "from" | "expose" => Form::Words,
        "arg" => Form::Quoted,
        "env" | "label" => Form::Pairs,
        "cmd" | "entrypoint" | "run" => Form::JsonOrText,
        "add" | "copy" | "volume" => Form::JsonOrWords,
        "shell" => Form::Json,
        "healthcheck" => Form::Check,
        _ => return None,
    })
}

impl Form {
    /// Returns the values, and `true` if they are written as JSON.
    pub fn split(self, text: &str, escape: char) -> Result<(bool, Vec<String>), String> {
        let words =
            || text.split(BLANK).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let list = match self {
            Self::JsonOrText | Self::JsonOrWords | Self::Json => json(text)?,
            _ => None,
        };
        if let Some(list) = list {
            return Ok((true, list));
        }
        let values = match self {
            Self::Text | Self::JsonOrText => vec![text.to_owned()],
            Self::Words | Self::JsonOrWords => words(),
            Self::Quoted => quoted_words(text, escape).map(str::to_owned).collect(),
            Self::Pairs => pairs(text, escape)?,
            Self::Json => return Err("invalid arguments: expected a JSON array".to_owned()),
            Self::Check => {
                let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                let rest = rest.trim();
                let (is_json, rest) = match json(rest)? {
                    Some(list) => (true, list),
                    None if rest.is_empty() => (false, Vec::new()),
                    None => (false, vec![rest.to_owned()]),
                };
                return Ok((is_json, [vec![first.to_owned()], rest].concat()));
            }
        };
        Ok((false, values))
    }
}

/// Returns the texts of an array of JSON; other text isn't one.
fn json(text: &str) -> Result<Option<Vec<String>>, String> {
    let Some(Value::Array(list)) =
        text.starts_with('[').then(|| Value::from_json(text).ok()).flatten()
    else {
        return Ok(None);
    };
    let texts = list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>();
    texts.map(Some).ok_or_else(|| "invalid arguments: expected a JSON array of strings".to_owned())
}

/// Takes the flags, such as `--from=build`, from the beginning, their quotes removed.
pub(super) fn take_flags(text: &str, escape: char) -> Result<(Vec<String>, &str), String> {
    let mut flags = Vec::new();
    let mut rest = text.trim_start();
    while rest.starts_with("--") {
        let (word, after) = split_quoted(rest, escape, Quotes::Escape);
        rest = after.trim_start();
        if word == "--" {
            break;
        }
        if !word.is_ascii() {
            return Err(format!("invalid flag `{word}`: expected ASCII"));
        }
        flags.push(unquoted(word, escape));
    }
    Ok((flags, rest))
}

fn unquoted(word: &str, escape: char) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(own)) if c == own => quote = None,
            (c, _) if c == escape => out.extend(chars.next()),
            ('"' | '\'', None) => quote = Some(c),
            (c, _) => out.push(c),
        }
    }
    out
}

/// Returns the words, at blanks that are neither quoted nor escaped; quotes and escapes stay.
fn quoted_words(text: &str, escape: char) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, after) = split_quoted(rest.trim_start(), escape, Quotes::EscapeInDouble);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// The quotes that may contain escapes.
#[derive(Clone, Copy, PartialEq)]
enum Quotes {
    Escape,
    EscapeInDouble,
}

/// Splits off the first word; an escape at the end of the text isn't part of it.
fn split_quoted(text: &str, escape: char, quotes: Quotes) -> (&str, &str) {
    let mut quote = None;
    let mut escaped = false;
    let end = text.find(|c: char| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match (c, quote) {
            (c, Some(own)) if c == own => quote = None,
            (c, Some('\'')) if c == escape => escaped = quotes == Quotes::Escape,
            (c, _) if c == escape => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (c, None) => return c.is_whitespace(),
            _ => {}
        }
        false
    });
    match end {
        Some(end) => text.split_at(end),
        None => (text.strip_suffix(escape).filter(|_| escaped).unwrap_or(text), ""),
    }
}

fn pairs(text: &str, escape: char) -> Result<Vec<String>, String> {
    let first = quoted_words(text, escape).next().unwrap_or_default();
    if !first.contains('=') {
        let (name, value) = split_blank(text);
        if value.is_empty() {
            return Err("missing value after a name".to_owned());
        }
        return Ok(vec![name.to_owned(), value.to_owned(), String::new()]);
    }
    let mut all = Vec::new();
    for word in quoted_words(text, escape) {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("missing `=` in `{}`", shown(word)));
        };
        all.extend([name.to_owned(), value.to_owned(), "=".to_owned()]);
    }
    Ok(all)
}

/// The characters between words that aren't quoted.
const BLANK: [char; 5] = ['\t', '\u{b}', '\u{c}', '\r', ' '];

/// Splits off the first word, at a blank.
pub(super) fn split_blank(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(BLANK).unwrap_or((text, ""));
    (word, rest.trim_start_matches(BLANK))
}

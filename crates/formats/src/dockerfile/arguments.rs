//! The arguments of an instruction: its flags, and the form in which its values are written.

use rego::Value;

/// How the values of an instruction are written.
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

/// Returns the form of an instruction, by its name in lower case.
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
    pub fn split(self, text: &str) -> Result<(bool, Vec<String>), String> {
        let words = || text.split_whitespace().map(str::to_owned).collect();
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
            Self::Quoted => quoted_words(text).map(str::to_owned).collect(),
            Self::Pairs => pairs(text)?,
            Self::Json => return Err("the arguments have to be an array of JSON".to_owned()),
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
    texts.map(Some).ok_or_else(|| "an array of arguments has texts only".to_owned())
}

/// Takes the flags, such as `--from=build`, from the beginning, their quotes removed.
pub(super) fn take_flags(text: &str) -> (Vec<String>, &str) {
    let mut flags = Vec::new();
    let mut rest = text;
    while rest.starts_with("--") {
        let end = word_end(rest);
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        if word == "--" {
            break;
        }
        flags.push(unquoted(word));
    }
    (flags, rest)
}

fn unquoted(word: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => out.extend(chars.next()),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(own)) if c == own => quote = None,
            (c, _) => out.push(c),
        }
    }
    out
}

/// Returns the words, at blanks that are neither quoted nor escaped; quotes and escapes stay.
pub(super) fn quoted_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let (word, after) = rest.split_at(word_end(rest));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

fn word_end(text: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    let end = text.find(|c: char| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match (c, quote) {
            ('\\', _) => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(own)) if c == own => quote = None,
            (c, None) => return c.is_whitespace(),
            _ => {}
        }
        false
    });
    end.unwrap_or(text.len())
}

fn pairs(text: &str) -> Result<Vec<String>, String> {
    let first = quoted_words(text).next().unwrap_or_default();
    if !first.contains('=') {
        let value = text.get(first.len()..).unwrap_or_default().trim_start();
        if value.is_empty() {
            return Err("a name needs a value".to_owned());
        }
        return Ok(vec![first.to_owned(), value.to_owned(), String::new()]);
    }
    let mut all = Vec::new();
    for word in quoted_words(text) {
        let Some((name, value)) = word.split_once('=') else {
            let shown: String = word.chars().take(40).collect();
            return Err(format!("`{shown}` has no `=`"));
        };
        all.extend([name.to_owned(), value.to_owned(), "=".to_owned()]);
    }
    Ok(all)
}

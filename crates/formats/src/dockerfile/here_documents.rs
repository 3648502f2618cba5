//! Here-documents of a line, as in `BuildKit`: a backslash escapes, whatever the directive `escape` is, and a
//! line with an unclosed quote begins none.

use std::iter::Peekable;
use std::str::Chars;

/// The beginning of a here-document.
pub(super) struct Marker {
    /// The word as it is written, such as `<<-"EOF"`.
    pub word: String,
    /// The line that ends the here-document.
    pub name: String,
    /// `true` if tabs at the start of lines are removed.
    pub is_indented: bool,
}

/// Returns the here-documents of a line, in their order.
///
/// # Errors
/// Returns a message if it depends on an expansion which here-documents there are.
pub(super) fn markers(line: &str) -> Result<Vec<Marker>, String> {
    if !line.contains("<<") {
        return Ok(Vec::new());
    }
    let words = words(line, true)?.unwrap_or_default();
    words.into_iter().filter_map(|word| marker(word).transpose()).collect()
}

fn marker(word: String) -> Result<Option<Marker>, String> {
    let begun = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<");
    let Some(begun) = begun.filter(|rest| !rest.contains('<')) else { return Ok(None) };
    let (is_indented, rest) = match begun.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, begun),
    };
    let names = words(rest.trim_start_matches(BLANK), false)?;
    let names = names.ok_or_else(|| format!("mismatched quotes of the here-document `{word}`"))?;
    let [name] = names.as_slice() else { return Ok(None) };
    Ok(Some(Marker { name: name.clone(), is_indented, word }))
}

/// The characters between `<<` and the name.
const BLANK: [char; 3] = [' ', '\t', '\r'];

/// Splits a line into its words, with their quotes and escapes or without; `None` if a quote isn't closed.
fn words(line: &str, is_raw: bool) -> Result<Option<Vec<String>>, String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                word.extend(is_raw.then_some(c));
                if !quoted(c, &mut chars, is_raw, &mut word)? {
                    return Ok(None);
                }
                word.extend(is_raw.then_some(c));
            }
            '$' => expansion(&mut chars, &mut word)?,
            '<' if chars.next_if_eq(&'<').is_some() => {
                word.push_str("<<");
                while let Some(blank) = chars.next_if(|next| BLANK.contains(next)) {
                    word.push(blank);
                }
            }
            '\\' => {
                word.extend(is_raw.then_some(c));
                word.extend(chars.next());
            }
            c if c.is_whitespace() => all.extend(taken(&mut word)),
            c => word.push(c),
        }
    }
    all.extend(taken(&mut word));
    Ok(Some(all))
}

fn taken(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

/// Takes a quoted text after its first quote; `false` if the quote isn't closed.
fn quoted(
    quote: char,
    chars: &mut Peekable<Chars<'_>>,
    is_raw: bool,
    word: &mut String,
) -> Result<bool, String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(true),
            '$' if quote == '"' => expansion(chars, word)?,
            '\\' if quote == '"' => match chars.next_if(|c| matches!(c, '"' | '$' | '\\')) {
                Some(escaped) => {
                    word.extend(is_raw.then_some(c));
                    word.push(escaped);
                }
                None => word.push(c),
            },
            c => word.push(c),
        }
    }
    Ok(false)
}

/// Takes an expansion after its `$`, which stays as it is; one in braces has to be a plain name.
fn expansion(chars: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<(), String> {
    word.push('$');
    if chars.next_if_eq(&'{').is_some() {
        word.push('{');
        let mut length = 0;
        while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            word.push(c);
            length += 1;
        }
        if length == 0 || chars.next() != Some('}') {
            return Err("ambiguous here-documents: `<<` next to an expansion other than `$NAME` or `${NAME}`"
                .to_owned());
        }
        word.push('}');
    } else {
        word.extend(chars.next_if(|c| matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!')));
    }
    Ok(())
}

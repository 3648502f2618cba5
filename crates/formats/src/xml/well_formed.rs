//! Checks of XML's grammar that the parser lacks.

use crate::problem::shown;

/// Returns `true` for a character that may be in a document.
pub(super) fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Checks the name of an element, an attribute or an instruction, which may have one prefix.
pub(super) fn name(name: &str) -> Result<(), String> {
    let mut parts = name.splitn(2, ':');
    if parts.all(|part| part.starts_with(begins_name) && part.chars().all(is_in_name)) {
        return Ok(());
    }
    Err(format!("invalid name `{}`", shown(name)))
}

fn begins_name(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn is_in_name(c: char) -> bool {
    begins_name(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Checks the attributes of a tag: a blank before each, and no `<` in their values.
pub(super) fn attributes(raw: &str) -> Result<(), String> {
    const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];
    let mut rest = raw;
    loop {
        let next = rest.trim_start_matches(BLANK);
        if next.is_empty() {
            return Ok(());
        }
        let invalid = || "invalid attributes of a tag".to_owned();
        if next.len() == rest.len() {
            return Err(invalid());
        }
        let (own, value) = next.split_once('=').ok_or_else(invalid)?;
        name(own.trim_end_matches(BLANK))?;
        let value = value.trim_start_matches(BLANK);
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(invalid)?;
        let (value, after) =
            value.get(1..).and_then(|value| value.split_once(quote)).ok_or_else(invalid)?;
        if value.contains('<') {
            return Err(format!(
                "unexpected `<` in the attribute `{}`",
                own.trim_end_matches(BLANK)
            ));
        }
        rest = after;
    }
}

//! The interpreter's error texts, taken apart.
//!
//! Owns the form in which the interpreter writes positions into its messages. Which text a
//! position belongs to, and where it is in the author's, is [`super::loaded`]'s.

/// A position that a text mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Byte offset in the text, after the mention.
    pub(super) after: usize,
}

/// Every `--> file:line:column` of a text, and every `file:line:column error:`.
pub(super) fn locate(text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let mut offset = 0;
    // A place counts when an error is said there; others are mentioned along the way.
    let mut mentioned = None;
    for line in text.split('\n') {
        let after = offset + line.len();
        if let Some(rest) = line.trim_start().strip_prefix("--> ") {
            mentioned = place(rest, after);
        } else if line.starts_with("error: ") {
            places.extend(mentioned.take());
        } else if let Some(at) = line.find(" error: ") {
            places.extend(line.get(..at).and_then(|rest| place(rest, offset + at)));
        }
        offset = after + 1;
    }
    places
}

fn place(text: &str, after: usize) -> Option<Place> {
    let mut parts = text.trim_end().rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Place { file: parts.next()?.to_owned(), line, column, after })
}

/// What the text says at a place: the words after `error: `, to the next place.
pub(super) fn message(text: &str, place: Option<&Place>) -> String {
    let rest = place.and_then(|p| text.get(p.after..)).unwrap_or(text);
    let said = match rest.find("error: ") {
        Some(at) => rest.get(at + 7..).unwrap_or(""),
        None => rest,
    };
    let said = said.split("\n--> ").next().unwrap_or(said);
    let line = said.split('\n').map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>();
    let joined = line.join(" ");
    let joined = joined.trim_end_matches('.');
    let mut chars = joined.chars();
    match (chars.next(), chars.clone().next()) {
        // A sentence's capital, not a name's.
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_lowercase() => {
            first.to_ascii_lowercase().to_string() + chars.as_str()
        }
        _ => joined.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn places_and_messages_are_found() {
        let text = "\n--> a:b.rego:3:14\n  |\n3 | x := y\n  |      ^\nerror: var y is unsafe.";
        let places = locate(text);
        assert_eq!(places.len(), 1);
        assert_eq!(
            (places[0].file.as_str(), places[0].line, places[0].column),
            ("a:b.rego", 3, 14)
        );
        assert_eq!(message(text, places.first()), "var y is unsafe");
        let text = "p.rego:2:5 error: encountered `1` while expecting identifier";
        let places = locate(text);
        assert_eq!((places[0].line, places[0].column), (2, 5));
        assert_eq!(message(text, places.first()), "encountered `1` while expecting identifier");
        assert_eq!(message("something else", None), "something else");
    }
}

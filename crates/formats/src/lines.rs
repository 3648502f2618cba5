//! Lines and line endings.

use super::problem::Problem;

/// Refuses a carriage return without a line feed after it, for formats where some tools take it for the end
/// of a line.
pub(crate) fn no_lone_return(text: &str) -> Result<(), Problem> {
    let is_lone = |at: &usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    match text.match_indices('\r').map(|(at, _)| at).find(is_lone) {
        None => Ok(()),
        Some(at) => Err(Problem::at(text, at, "missing line feed after a carriage return")),
    }
}

/// Returns the lines, each ended by `\n`, `\r` or `\r\n`, with the byte where it begins; none follows the last end.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let begin = at;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, end) = rest.split_at(length);
        at += length + if end.starts_with("\r\n") { 2 } else { usize::from(!end.is_empty()) };
        Some((begin, line))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_kind_of_end_ends_a_line() {
        let lines: Vec<_> = super::lines("a\rb\r\nc\n\nd\n\r").collect();
        assert_eq!(lines, [(0, "a"), (2, "b"), (5, "c"), (7, ""), (8, "d"), (10, "")]);
        assert_eq!(super::lines("é").collect::<Vec<_>>(), [(0, "é")]);
    }
}

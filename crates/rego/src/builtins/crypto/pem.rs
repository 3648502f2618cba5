//! PEM: blocks of base64 between BEGIN and END lines.
//!
//! Owns finding the blocks in a text, as Go does: more lenient than the common crates in some
//! respects (text around blocks, headers), and less in others (a block must begin and end a line).

use super::super::encoding_rules::{base64, to_base64};
use crate::value::lossy;

/// A decoded block.
pub(in super::super) struct Block {
    /// The label after BEGIN.
    pub kind: String,
    /// The decoded bytes.
    pub bytes: Vec<u8>,
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// Finds the first well-formed block, and returns it with the text after it.
pub(in super::super) fn decode(text: &[u8]) -> Option<(Block, &[u8])> {
    let mut rest = text;
    loop {
        let end = memchr::memmem::find(rest, END)?;
        let after_end = end + END.len();
        match block(rest, end) {
            Some(found) => return Some(found),
            None => rest = rest.get(after_end..)?,
        }
    }
}

/// Reads the block whose END line follows the line break at `end`.
fn block(text: &[u8], end: usize) -> Option<(Block, &[u8])> {
    let begin = memchr::memmem::rfind(text.get(..end)?, BEGIN)?;
    if begin > 0 && text.get(begin - 1) != Some(&b'\n') {
        return None;
    }
    let (line, mut body) = line(text, begin + BEGIN.len());
    let kind = line.strip_suffix(DASHES)?;
    let mut headers = false;
    loop {
        if body >= text.len() {
            return None;
        }
        let (header, next) = self::line(text, body);
        if !header.contains(&b':') {
            break;
        }
        headers = true;
        body = next;
    }
    if headers && end < body {
        return None;
    }
    let trailer = text.get(end + END.len()..)?;
    let trailer = trailer.strip_prefix(kind)?.strip_prefix(DASHES)?;
    let trailer_start = text.len() - trailer.len();
    let (remaining, after) = self::line(text, trailer_start);
    if !remaining.is_empty() {
        return None;
    }
    let bytes = match text.get(body..end) {
        Some(encoded) => {
            let encoded: Vec<u8> =
                encoded.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
            base64(&encoded).ok()?
        }
        // An empty block: the line break before END is the one that ends the BEGIN line.
        None => Vec::new(),
    };
    Some((Block { kind: lossy(kind), bytes }, text.get(after..)?))
}

/// Returns the line from `start` without trailing blanks, and the start of the next line.
fn line(text: &[u8], start: usize) -> (&[u8], usize) {
    let rest = text.get(start..).unwrap_or_default();
    let (line, next) = match memchr::memchr(b'\n', rest) {
        Some(index) => (rest.get(..index).unwrap_or_default(), start + index + 1),
        None => (rest, start + rest.len()),
    };
    let line =
        if next > start + line.len() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
    let spaces = line.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (line.get(..line.len() - spaces).unwrap_or_default(), next)
}

/// Encodes bytes as a block.
pub(in super::super) fn encode(kind: &str, bytes: &[u8]) -> String {
    let encoded = to_base64(bytes);
    let mut text = format!("-----BEGIN {kind}-----\n");
    for (index, char) in encoded.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(char);
    }
    if !encoded.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("-----END {kind}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn pem_blocks_are_found_in_text() {
        let text = b"junk\n-----BEGIN A-----\nK: v\n\nYW\n Jj\n-----END A-----  \nx\n-----BEGIN B-----\n-----END B-----\n";
        let (a, rest) = decode(text).unwrap();
        assert_eq!((a.kind.as_str(), a.bytes.as_slice()), ("A", b"abc".as_slice()));
        let (b, rest) = decode(rest).unwrap();
        assert_eq!((b.kind.as_str(), b.bytes.len(), rest.len()), ("B", 0, 0));
        assert!(decode(b" -----BEGIN A-----\nYWJj\n-----END A-----\n").is_none());
        assert!(decode(b"-----BEGIN A-----\nYWJj\n-----END B-----\n").is_none());
        assert_eq!(decode(encode("C", &[7; 100]).as_bytes()).unwrap().0.bytes, [7; 100]);
    }
}

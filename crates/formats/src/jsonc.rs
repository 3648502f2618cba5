//! JSON with comments, and with commas after the last item: both are blanked, and what is left is JSON.

use rego::Value;
use rego::value::JsonLimits;

use super::limits::MAX_DEPTH;
use super::lines::no_lone_return;
use super::problem::Problem;

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    no_lone_return(text)?;
    let limits = JsonLimits::default().depth(MAX_DEPTH).unique_keys();
    Value::from_json_bytes(&blanked(text)?, limits).map_err(|error| Problem {
        message: format!("invalid JSON: {}", error.message),
        line: error.line,
        column: error.column,
    })
}

/// Returns the text with blanks instead of comments and of commas after a last item.
fn blanked(text: &str) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::with_capacity(text.len());
    // What is neither blank nor a comment, and where the comma is that follows an item and nothing follows.
    let (mut last, mut comma) = (',', None);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_comment {
            let end = rest.get(2..).and_then(|rest| rest.find("*/"));
            let at = text.len() - rest.len();
            end.ok_or_else(|| Problem::at(text, at, "missing `*/` of a comment"))? + 4
        } else if c == '"' {
            string(rest)
        } else {
            c.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if is_comment {
            out.extend(token.chars().map(|c| if c == '\n' { b'\n' } else { b' ' }));
            continue;
        }
        if matches!(c, ']' | '}')
            && let Some(byte) = comma.and_then(|at| out.get_mut(at))
        {
            *byte = b' ';
        }
        if !c.is_whitespace() {
            let follows_item = !matches!(last, ',' | ':' | '[' | '{');
            comma = (c == ',' && follows_item).then_some(out.len());
            last = c;
        }
        out.extend_from_slice(token.as_bytes());
    }
    Ok(out)
}

/// Returns the length of the string at the start; one that isn't closed is all of the rest.
fn string(text: &str) -> usize {
    let mut escaped = true;
    let end = text.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

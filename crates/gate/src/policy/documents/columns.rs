//! A column of a file: CSV or TSV with a header, or JSON.

use rego_platform::Error;
use rego_platform_client::text::escape;
use serde_json::Value;

/// Returns the values of a column that aren't blank; `path` decides the format, or else the first character.
pub(super) fn column(path: &str, bytes: &[u8], column: &str) -> Result<Vec<String>, Error> {
    let text = decoded(bytes)
        .ok_or_else(|| Error::configuration("unsupported encoding: expected UTF-8 or UTF-16"))?;
    let extension = path.rsplit_once('.').map(|(_, own)| own.to_ascii_lowercase());
    let is_json = match extension.as_deref() {
        Some("json") => true,
        Some("csv" | "tsv" | "txt") => false,
        _ => text.trim_start().starts_with(['[', '{']),
    };
    let found = if is_json { of_json(&text, column)? } else { of_table(&text, column)? };
    let trimmed = found.iter().map(|value| value.trim());
    Ok(trimmed.filter(|value| !value.is_empty()).map(str::to_owned).collect())
}

/// Decodes a text by its byte order mark, or else as UTF-8.
fn decoded(bytes: &[u8]) -> Option<String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
        String::from_utf16(&units.map(unit).collect::<Vec<_>>()).ok()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => String::from_utf8(rest.to_vec()).ok(),
    }
}

fn is_named(own: &str, wanted: &str) -> bool {
    own.trim().to_lowercase() == wanted.trim().to_lowercase()
}

fn absent(column: &str) -> Error {
    Error::configuration(format!("no column `{}`", escape(column)))
        .with_hint("name a column of the file: `NAME=FILE:COLUMN`")
}

/// Reads an array of strings, the member of an array's objects, or the list that is a member of an object.
fn of_json(text: &str, column: &str) -> Result<Vec<String>, Error> {
    let failed = |error: serde_json::Error| Error::configuration(format!("invalid JSON: {error}"));
    let strings = |all: &[Value]| -> Option<Vec<String>> {
        all.iter().map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let unfit = || {
        Error::configuration(
            "unexpected JSON: expected an array of strings, an array of objects of strings, or an \
               object with an array of strings",
        )
    };
    match serde_json::from_str(text).map_err(failed)? {
        Value::Array(all) => {
            if let Some(found) = strings(&all) {
                return Ok(found);
            }
            let mut found = Vec::new();
            for one in &all {
                let members = one.as_object().ok_or_else(unfit)?;
                if !members.values().all(Value::is_string) {
                    return Err(unfit());
                }
                let named = members.iter().find(|(name, _)| is_named(name, column));
                found.extend(named.and_then(|(_, value)| Some(value.as_str()?.to_owned())));
            }
            Ok(found)
        }
        Value::Object(members) => {
            let named = members.iter().find(|(name, _)| is_named(name, column));
            let (_, list) = named.ok_or_else(|| absent(column))?;
            list.as_array().and_then(|all| strings(all)).ok_or_else(unfit)
        }
        _ => Err(unfit()),
    }
}

fn of_table(text: &str, column: &str) -> Result<Vec<String>, Error> {
    let mut rows = rows(text).into_iter();
    let header = rows.next().ok_or_else(|| Error::configuration("the file is empty"))?;
    let named = header.iter().position(|own| is_named(own, column));
    let own = named.and_then(|at| header.get(at)).ok_or_else(|| absent(column))?;
    // The last of equal columns counts.
    let at = header.iter().rposition(|other| other == own).unwrap_or_default();
    Ok(rows.filter_map(|row| row.get(at).cloned()).collect())
}

/// Splits a text into rows of fields. As in the vendor's client, a quote within a field is literal.
fn rows(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\r\n", "\n");
    let separator = separator(text.lines().next().unwrap_or_default());
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut was_quoted) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted => match chars.peek() {
                Some('"') => field.extend(chars.next()),
                Some(next) if *next != separator && *next != '\n' => field.push('"'),
                _ => is_quoted = false,
            },
            '"' if field.is_empty() && !was_quoted => (is_quoted, was_quoted) = (true, true),
            c if is_quoted => field.push(c),
            c if c == separator => {
                row.push(std::mem::take(&mut field));
                was_quoted = false;
            }
            '\n' => {
                // Blank lines aren't rows.
                if !row.is_empty() || !field.is_empty() || was_quoted {
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                was_quoted = false;
            }
            c => field.push(c),
        }
    }
    if !row.is_empty() || !field.is_empty() || was_quoted {
        row.push(field);
        rows.push(row);
    }
    rows
}

/// Returns the separator of fields: a tab if the header has more tabs than commas outside of quotes.
fn separator(header: &str) -> char {
    let outside = || header.split('"').step_by(2);
    let count =
        |wanted: char| -> usize { outside().map(|part| part.matches(wanted).count()).sum() };
    if count('\t') > count(',') { '\t' } else { ',' }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::column;

    #[test]
    fn a_column_is_read() {
        for (path, text, name, expected) in [
            ("f.csv", "x,other\n/a,1\n\n/b,2\n,3\n", "x", Ok(&["/a", "/b"][..])),
            ("f.csv", "x,Other\r\n/a,\" 1\"\r\n", "OTHER", Ok(&["1"])),
            (
                "f.csv",
                "x\n\"a,b\"\n\"a \"\"b\"\"\"\n\"l\nm\"\na\"b\n",
                "x",
                Ok(&["a,b", "a \"b\"", "l\nm", "a\"b"]),
            ),
            ("f.csv", "x,y\n1\n2,3,4\n", "y", Ok(&["3"])),
            ("f.tsv", "x\to\na\tb,c\n", "o", Ok(&["b,c"])),
            ("f.csv", "x,other\n", "none", Err("no column `none`")),
            ("f.csv", "", "x", Err("the file is empty")),
            ("f.json", "[\"a\", \"b\", \"\"]", "x", Ok(&["a", "b"])),
            ("f.json", "[{\"x\":\"a\"},{\"X\":\"b\"},{\"o\":\"c\"}]", "x", Ok(&["a", "b"])),
            ("f", "{\"x\":[\"a\"],\"n\":1}", "x", Ok(&["a"])),
            ("f.json", "[1,2]", "x", Err("unexpected JSON")),
            ("f.json", "[{\"x\":\"a\",\"n\":1}]", "x", Err("unexpected JSON")),
            ("f.json", "{\"o\":[\"a\"]}", "x", Err("no column `x`")),
            ("f.json", "{\"x\":\"a\"}", "x", Err("unexpected JSON")),
            ("f.json", "1", "x", Err("unexpected JSON")),
            ("f.json", "", "x", Err("invalid JSON")),
        ] {
            match (column(path, text.as_bytes(), name), expected) {
                (Ok(found), expected) => assert_eq!(
                    Ok(found),
                    expected
                        .map(<[_]>::to_vec)
                        .map(|all| all.iter().map(|s| (*s).to_owned()).collect()),
                    "{text}"
                ),
                (Err(error), expected) => {
                    assert!(error.to_string().contains(expected.unwrap_err()), "{text}: {error}");
                }
            }
        }
        let wide: Vec<u8> = [0xfffe_u16]
            .iter()
            .map(|u| u.swap_bytes())
            .chain("x\na\n".encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(column("f.csv", &wide, "x").unwrap(), ["a"]);
        assert_eq!(column("f.csv", b"\xef\xbb\xbfx\na", "x").unwrap(), ["a"]);
    }
}

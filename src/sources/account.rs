//! The account of the files that arguments name.
//!
//! Owns the account itself, the patterns that leave files out, and detecting the content of a file
//! whose name doesn't tell.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::text::escape;
use crate::{Error, ErrorKind};

/// An account of the files that one argument names: how many were read, and which weren't.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The argument as it was given.
    pub argument: String,
    /// The number of files that were read.
    pub taken: u64,
    /// Files, and parts of files, that weren't read.
    pub left_out: Vec<LeftOut>,
}

/// A file, folder or part of a file that was found and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl Account {
    pub(crate) fn new(argument: &str) -> Self {
        Self { argument: argument.to_owned(), ..Self::default() }
    }

    pub(crate) fn leave(&mut self, path: &Path, reason: impl Into<String>) {
        let path = path.to_string_lossy().into_owned();
        self.left_out.push(LeftOut { path, reason: reason.into() });
    }
}

/// Patterns of files and folders to leave out.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    patterns: Vec<Pattern>,
    /// The canonical paths of the files that the run writes.
    written: Vec<PathBuf>,
}

/// A pattern of files and folders.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    regex: Regex,
    /// Set if it ends in `/`.
    folders_only: bool,
}

impl Ignore {
    /// Parses patterns. `*` and `?` match within a name, `**` across folders; a pattern matches a
    /// path that ends in it, and one that ends in `/` only matches folders.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for an invalid pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut found = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let wrong = |why: &str| {
                let message = format!("`{}` isn't a valid pattern: {why}", escape(pattern));
                Error::new(ErrorKind::Configuration, message)
            };
            let trimmed = pattern.trim_end_matches('/');
            if trimmed.is_empty() {
                return Err(wrong("it is empty"));
            }
            let regex =
                Regex::new(&expression(trimmed)).map_err(|_| wrong("a `[` isn't closed"))?;
            let folders_only = trimmed.len() < pattern.len();
            found.push(Pattern { text: pattern.to_owned(), regex, folders_only });
        }
        Ok(Self { patterns: found, written: Vec::new() })
    }

    /// Leaves out files that the run writes as well, if they exist.
    #[cfg(feature = "cli")]
    pub(crate) fn with_written<'p>(mut self, paths: impl IntoIterator<Item = &'p Path>) -> Self {
        self.written.extend(paths.into_iter().filter_map(|path| path.canonicalize().ok()));
        self
    }

    /// Returns `true` if a path is a file that the run writes, or a link to one.
    pub(crate) fn is_written(&self, path: &Path) -> bool {
        let is = |own: &PathBuf| path.canonicalize().is_ok_and(|path| path == *own);
        let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().to_lowercase());
        let named = |own: &PathBuf| name(own) == name(path);
        let is_link = || path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        !self.written.is_empty()
            && (self.written.iter().any(named) || is_link())
            && self.written.iter().any(is)
    }

    /// Returns the reason for which a path is left out, if it is.
    pub(crate) fn reason(&self, path: &Path) -> Option<String> {
        if self.is_written(path) {
            return Some("this run writes it".to_owned());
        }
        let text = path.to_string_lossy();
        let pattern = self.patterns.iter().find(|pattern| {
            pattern.regex.is_match(&text) && (!pattern.folders_only || path.is_dir())
        })?;
        Some(format!("the pattern `{}` ignores it", escape(&pattern.text)))
    }
}

fn expression(pattern: &str) -> String {
    let mut out = String::from("(?s)^(?:.*/)?");
    let mut chars = pattern.trim_start_matches("./").chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.next_if_eq(&'*').is_some() => {
                // `**/x` matches `x` too.
                let slash = chars.next_if_eq(&'/').is_some();
                out.push_str(if slash { "(?:.*/)?" } else { ".*" });
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => {
                out.push('[');
                if chars.next_if_eq(&'!').is_some() {
                    out.push('^');
                }
                for c in chars.by_ref() {
                    if matches!(c, '\\' | '[' | '&' | '~') {
                        out.push('\\');
                    }
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('$');
    out
}

/// The kind of content of a file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Yaml,
    Rego,
    /// An archive or compressed file, whose content isn't looked at.
    Packed,
    Other,
}

/// The number of bytes of a file that are looked at.
const SNIFFED_BYTES: u64 = 1 << 20;

/// Extensions of programs that begin with `package`, as Rego does.
const PROGRAMS: &[&str] =
    &["go", "java", "kt", "kts", "scala", "groovy", "proto", "dart", "pl", "pm", "ads", "adb"];

/// Extensions of prose, programs and tables, in which a line may happen to look like YAML.
const PROSE: &[&str] = &[
    "md",
    "markdown",
    "txt",
    "text",
    "rst",
    "adoc",
    "html",
    "htm",
    "xml",
    "svg",
    "css",
    "js",
    "ts",
    "py",
    "sh",
    "rs",
    "rb",
    "c",
    "h",
    "cpp",
    "tf",
    "hcl",
    "jsonnet",
    "libsonnet",
    "nix",
    "cue",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "lock",
    "sum",
    "mod",
    "log",
    "csv",
    "tsv",
    "pem",
    "crt",
    "key",
    "sig",
    "asc",
    "sha256",
    "diff",
    "patch",
    "tmpl",
    "j2",
    "tpl",
];

/// The largest number of bytes that are looked at if nothing but white space and comments comes
/// first.
const MAX_SNIFFED_BYTES: u64 = 256 << 20;

/// Detects the kind of a file's content. Almost valid JSON, YAML and Rego, and each of them in
/// another encoding or with bytes that aren't text, count as what they were meant to be, so that
/// reading the file reports the actual problem.
pub(crate) fn content(path: &Path) -> std::io::Result<Content> {
    let (bytes, whole) = begin(std::fs::File::open(path)?)?;
    Ok(content_of(path, &bytes, whole))
}

/// Detects the kind of content by a file's name and its beginning, as [`begin`] returns it.
pub(super) fn content_of(path: &Path, bytes: &[u8], whole: bool) -> Content {
    if is_packed_content(path, bytes) {
        return Content::Packed;
    }
    let named = named_by(path);
    let Decoded { text, is_utf8, is_text } = decode(bytes, whole);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_invisible(c));
    if text.is_empty() {
        // Beyond so much white space, anything may follow.
        return if whole { Content::Other } else { Content::Yaml };
    }
    if is_json(text, whole, &named) {
        return Content::Json;
    }
    if is_nearly_module(text) && !named.is_program {
        return Content::Rego;
    }
    if named.is_data && is_text {
        // Such as `a.json5` and `a.yaml.bak`: reading the file will report what it is.
        return if text.starts_with('/') { Content::Json } else { Content::Yaml };
    }
    if named.is_prose && !text.starts_with("---") {
        return Content::Other;
    }
    let is_yaml = if whole && is_utf8 { holds_yaml(text) } else { begins_yaml(text) };
    if is_yaml { Content::Yaml } else { Content::Other }
}

/// Returns the beginning of a file, and `true` if that is all of it. If there is nothing but white
/// space and comments in it, what follows counts as well.
pub(super) fn begin(mut file: impl std::io::Read) -> std::io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    file.by_ref().take(SNIFFED_BYTES).read_to_end(&mut bytes)?;
    let mut limit = SNIFFED_BYTES;
    if bytes.len() as u64 == limit && is_blank(&bytes) {
        limit = MAX_SNIFFED_BYTES;
        file.take(limit - SNIFFED_BYTES).read_to_end(&mut bytes)?;
    }
    let whole = (bytes.len() as u64) < limit;
    Ok((bytes, whole))
}

/// Returns `true` if a text, in any encoding, consists of white space and comments.
fn is_blank(bytes: &[u8]) -> bool {
    let is_space = |b: &u8| b.is_ascii_whitespace() || matches!(b, 0 | 0xef | 0xbb | 0xbf..=0xff);
    bytes.split(|b| *b == b'\n').all(|line| {
        let first = line.iter().find(|b| !is_space(b));
        first.is_none_or(|first| *first == b'#')
    })
}

/// The text of a file's beginning.
struct Decoded<'a> {
    text: std::borrow::Cow<'a, str>,
    /// Set if it is UTF-8, perhaps with a few other bytes.
    is_utf8: bool,
    /// Set if every byte belongs to a text.
    is_text: bool,
}

/// Returns the text of a file, whatever its encoding.
pub(super) fn text(bytes: &[u8]) -> String {
    decode(bytes, true).text.into_owned()
}

fn decode(bytes: &[u8], whole: bool) -> Decoded<'_> {
    if let Some(wide) = utf32(bytes).or_else(|| utf16(bytes)) {
        return Decoded { text: wide.into(), is_utf8: false, is_text: true };
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // A character is cut in two.
        Err(error) if error.error_len().is_none() && !whole => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => {
            let text = String::from_utf8_lossy(bytes).replace('\0', "").into();
            return Decoded { text, is_utf8: true, is_text: false };
        }
    };
    if text.contains('\0') {
        return Decoded { text: text.replace('\0', "").into(), is_utf8: true, is_text: false };
    }
    Decoded { text: text.into(), is_utf8: true, is_text: true }
}

/// Returns `true` for characters that are easily overlooked before a text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
}

/// Returns `true` if a text is JSON, almost valid JSON, or values of JSON of which one is an object
/// or an array.
fn is_json(text: &str, whole: bool, named: &Named) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let mut strings = 0;
    loop {
        let rest = text.get(values.byte_offset()..).unwrap_or_default().trim_start();
        let opens = rest.starts_with(['{', '[']);
        match values.next() {
            Some(Ok(_)) if opens => return true,
            Some(Ok(_)) => strings += usize::from(rest.starts_with('"')),
            Some(Err(error)) if opens && error.is_eof() && !whole => return true,
            // Cut off, or with extensions that only some readers accept.
            Some(Err(_)) => return named.nearly_json(rest) && opens,
            // A number has no further meaning.
            None => return strings > 0 && whole && !named.is_prose,
        }
    }
}

/// Returns `true` if a text begins like a module: after comments comes `package`.
pub(super) fn is_module(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    first_line(text).is_some_and(|line| begins_with_word(line, "package"))
}

/// Returns `true` if a text begins like a module, perhaps with an import before its package.
fn is_nearly_module(text: &str) -> bool {
    const IMPORTED: [&str; 4] = ["rego.", "future.", "data.", "input."];
    let imports = |line: &str| {
        let what = line.strip_prefix("import").map(str::trim_start);
        what.is_some_and(|what| IMPORTED.iter().any(|root| what.starts_with(root)))
    };
    is_module(text)
        || (first_line(text).is_some_and(imports)
            && text.lines().any(|line| begins_with_word(line.trim_start(), "package")))
}

/// Returns the first line that is neither blank nor a comment.
fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with('#'))
}

fn begins_with_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '#')
    })
}

/// The hints about a file's content that an unusual extension gives.
struct Named {
    is_prose: bool,
    is_program: bool,
    is_template: bool,
    /// Set if an extension before the last one is one of data, or the last is a dialect of JSON.
    is_data: bool,
}

impl Named {
    /// Returns `true` if a text that isn't valid is meant to be JSON.
    fn nearly_json(&self, text: &str) -> bool {
        match (self.is_prose, self.is_template) {
            (false, _) => begins_json(text),
            // Braces are for what is filled in.
            (true, true) => false,
            (true, false) => begins_json_object(text),
        }
    }
}

fn named_by(path: &Path) -> Named {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let mut endings = name.rsplit('.');
    let last = endings.next().unwrap_or_default();
    let inner: Vec<&str> = endings.collect();
    // The first part is the stem.
    let inner = inner.get(..inner.len().saturating_sub(1)).unwrap_or_default();
    let data = |ending: &str| matches!(ending, "json" | "jsonl" | "ndjson" | "yaml" | "yml");
    let template = matches!(last, "tmpl" | "j2" | "tpl" | "sig" | "asc" | "sha256" | "pem" | "md");
    let is_data = matches!(last, "json5" | "jsonc" | "hujson")
        || (!template && inner.iter().any(|ending| data(ending)));
    let is_template = matches!(last, "tmpl" | "j2" | "tpl");
    let is_program = PROGRAMS.contains(&last);
    let is_prose = (is_program || PROSE.contains(&last)) && !is_data;
    Named { is_prose, is_program, is_template, is_data }
}

/// Returns `true` if a text begins as only JSON does: after the opening bracket comes a string,
/// another opening bracket or the closing one, unlike in templates or INI sections.
fn begins_json(text: &str) -> bool {
    let mut rest = text.chars().skip(1).filter(|c| !c.is_whitespace());
    match text.chars().next() {
        Some('{') => matches!(rest.next(), Some('"' | '}')),
        Some('[') => matches!(rest.next(), Some('"' | '{' | ']')),
        _ => false,
    }
}

/// Returns `true` if a text begins with an object of JSON, or a list of them, and its first key.
fn begins_json_object(text: &str) -> bool {
    let inner = text.strip_prefix('[').map_or(text, str::trim_start);
    let key = inner.strip_prefix('{').and_then(|rest| rest.trim_start().strip_prefix('"'));
    let rest = key.and_then(|key| key.split_once('"')).filter(|(key, _)| !key.contains('\n'));
    rest.is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
}

/// Returns `true` if a text holds an object or an array of YAML, or almost one in braces.
fn holds_yaml(text: &str) -> bool {
    use crate::rego::Value;
    if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return false;
    }
    let value = |text: &str| super::yaml::read(text).ok().and_then(|read| read.value);
    let is_collection =
        |text: &str| matches!(value(text), Some(Value::Object(_) | Value::Array(_)));
    if is_collection(text) || begins_flow_mapping(text) {
        return true;
    }
    // A document that is a scalar, on one line, before others.
    let head = text.strip_prefix("---").unwrap_or(text).trim_start();
    let Some((scalar, rest)) = head.split_once('\n') else { return false };
    let separated =
        rest.strip_prefix("---").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    !scalar.trim().is_empty()
        && separated
        && rest.split("\n---").any(|text| is_collection(text.trim_start_matches("---")))
}

/// Returns `true` if a text begins like a mapping of YAML in braces: after comments comes a key.
fn begins_flow_mapping(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('{') else { return false };
    let Some(line) = first_line(inner) else { return false };
    let is_key = |c: char| c.is_alphanumeric() || "_-.$/".contains(c);
    let (key, rest) = match line.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split_once(['"', '\'']).unwrap_or_default(),
        None => line.split_at(line.find(|c| !is_key(c)).unwrap_or(line.len())),
    };
    let after = rest.trim_start().strip_prefix(':');
    !key.is_empty()
        && after.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with([' ', '\t', '"', '\'', '[', '{'])
        })
}

/// Returns `true` if the first line that is neither blank nor a comment looks like YAML.
fn begins_yaml(text: &str) -> bool {
    if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return false;
    }
    if text.starts_with('{') {
        return begins_flow_mapping(text);
    }
    let first = text.lines().map(str::trim_end).find(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    });
    first.is_some_and(|line| {
        let key = |c: char| c.is_alphanumeric() || "_-.$/\"' ".contains(c);
        let keyed = line.find(": ").or_else(|| line.strip_suffix(':').map(str::len));
        line.starts_with("---")
            || line.starts_with("- ")
            || line.starts_with("%YAML")
            || keyed.is_some_and(|at| line.chars().take(at).all(key))
    })
}

/// Decodes UTF-32, recognised by its byte order mark or by zero bytes next to ASCII.
fn utf32(bytes: &[u8]) -> Option<String> {
    let little = match bytes {
        [0xff, 0xfe, 0, 0, ..] => true,
        [0, 0, 0xfe, 0xff, ..] => false,
        [first, 0, 0, 0, ..] if *first != 0 && first.is_ascii() => true,
        [0, 0, 0, first, ..] if *first != 0 && first.is_ascii() => false,
        _ => return None,
    };
    let chars = bytes.chunks_exact(4).map(|unit| match (unit, little) {
        ([a, b, c, d], true) | ([d, c, b, a], false) => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    });
    Some(chars.map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Decodes UTF-16, recognised by its byte order mark or by zero bytes next to ASCII.
fn utf16(bytes: &[u8]) -> Option<String> {
    let little = match bytes {
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        [first, 0, second, 0, ..] if first.is_ascii() && second.is_ascii() => true,
        [0, first, 0, second, ..] if first.is_ascii() && second.is_ascii() => false,
        _ => return None,
    };
    let units = bytes.chunks_exact(2).map(|pair| match (pair, little) {
        ([low, high], true) | ([high, low], false) => u16::from_be_bytes([*high, *low]),
        _ => 0,
    });
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Returns `true` if a file begins with the signature of an archive or a compressed file. Many
/// other formats are zip files, so zip counts only if the name agrees.
fn is_packed_content(path: &Path, bytes: &[u8]) -> bool {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let named = path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("zip"));
    starts(b"\x1f\x8b")
        || starts(b"\x28\xb5\x2f\xfd")
        || starts(b"\xfd7zXZ\0")
        || starts(b"BZh")
        || starts(b"\x04\x22\x4d\x18")
        || starts(b"\x1f\x9d")
        || starts(b"7z\xbc\xaf\x27\x1c")
        || starts(b"Rar!\x1a\x07")
        || starts(b"\x5d\x00\x00")
        || bytes.get(257..262) == Some(b"ustar")
        || (named && starts(b"PK\x03\x04"))
}

/// Returns `true` if a name is that of an archive or of a compressed policy or data file.
pub(crate) fn is_packed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let known = |name: &str| {
        [".rego", ".json", ".jsonl", ".yaml", ".yml", ".sarif", ".tar"]
            .iter()
            .any(|ending| name.ends_with(ending))
    };
    // `name` is in lower case already.
    let packed = |ending: &str| name.strip_suffix(ending);
    packed(".tgz").is_some()
        || [".gz", ".zst", ".xz", ".bz2", ".zip", ".lz4", ".lzma", ".z", ".7z", ".rar", ".br"]
            .iter()
            .any(|ending| packed(ending).is_some_and(known))
}

/// Returns `true` if a file is hidden: its name begins with a dot.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_kind_of_a_file_is_detected_by_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let wide = |text: &str, mark: bool| -> Vec<u8> {
            let head = if mark { "\u{feff}" } else { "" };
            format!("{head}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
        };
        let long = |line: &str| {
            line.repeat(usize::try_from(SNIFFED_BYTES).unwrap() / line.len() + 2).into_bytes()
        };
        let utf32_of = |text: &str| -> Vec<u8> {
            text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect()
        };
        let mut tar = vec![b'x'; 257];
        tar.extend(b"ustar");
        for (name, bytes, expected) in [
            ("a.spdx", b"{\"a\": 1}".to_vec(), Content::Json),
            ("a.spdx", b" \n{\"a\": 1, }".to_vec(), Content::Json),
            ("a.json.tmp", b"{\"a\": ".to_vec(), Content::Json),
            ("a.json5", b"// words\n{a: 1}".to_vec(), Content::Json),
            ("a.yaml.bak", b"a: [".to_vec(), Content::Yaml),
            ("a.yaml.txt", b"a: 1".to_vec(), Content::Yaml),
            ("a", b"a: 1\nb: 2\n".to_vec(), Content::Yaml),
            ("a.txt", b"---\na: 1\n".to_vec(), Content::Yaml),
            ("a.spdx", long("a1: 1\n"), Content::Yaml),
            ("a.spdx", long("{\"a\": 1},"), Content::Json),
            ("a.x", wide("{\"a\": 1}", true), Content::Json),
            ("a.x", wide("package p\n", true), Content::Rego),
            ("a.x", wide("package p\n", false), Content::Rego),
            ("a.x", wide("a: 1\n", true), Content::Yaml),
            ("a.x", b"\xef\xbb\xbf\npackage p\n".to_vec(), Content::Rego),
            ("a.x", b"\x1f\x8b\x08".to_vec(), Content::Packed),
            ("a.x", tar, Content::Packed),
            ("a.zip", b"PK\x03\x04".to_vec(), Content::Packed),
            ("a.jar", b"PK\x03\x04".to_vec(), Content::Other),
            ("a.tmpl", b"{{ template }}".to_vec(), Content::Other),
            ("a.x", b"[section]\nkey = 1\n".to_vec(), Content::Other),
            ("a.x", b"{{ template }}".to_vec(), Content::Other),
            ("a.txt", b"Note: words".to_vec(), Content::Other),
            ("LICENSE", b"Some words\n\nand more\n".to_vec(), Content::Other),
            ("a.log", long("at: 12\n"), Content::Other),
            ("a.x", long("2026-01-02 words of a log\n"), Content::Other),
            ("a.png", b"\x89PNG\r\n\0".to_vec(), Content::Other),
            ("a.x", Vec::new(), Content::Other),
            ("a.x", b"{a: true}".to_vec(), Content::Yaml),
            ("a.x", b"{'a': true}".to_vec(), Content::Yaml),
            ("a.x", b"{ # c\n\"a\": true}".to_vec(), Content::Yaml),
            ("a.x", b"{a: {b: 1}".to_vec(), Content::Yaml),
            ("a.txt", b"{a: true}".to_vec(), Content::Other),
            ("a.x", b"{\"a\": 1, \"b\": \"\xe9\"}".to_vec(), Content::Json),
            ("a.json.bak", b"{\"a\": \"\xe9\"}".to_vec(), Content::Json),
            ("a.json.enc", b"\x00\x01\xe9{\"a\": 1}".to_vec(), Content::Other),
            ("a.x", b"{\"a\": 1}\0".to_vec(), Content::Json),
            ("a.x", b"a: \xe9\nb: 1\n".to_vec(), Content::Yaml),
            ("a.x", b"words \xe9 and: more\nand more".to_vec(), Content::Other),
            ("a.x", utf32_of("{\"a\": 1}"), Content::Json),
            ("a.x", utf32_of("\u{feff}package p"), Content::Rego),
            ("a.x", [&long(" ")[..], b"{\"a\": 1}"].concat(), Content::Json),
            ("a.x", [&long("\n# words")[..], b"\na: 1\n"].concat(), Content::Yaml),
            ("a.x", [&long("# words\n")[..], b"package p\n"].concat(), Content::Rego),
            ("a.x", long(" "), Content::Other),
            ("a.x", b"\"bad\"\n".to_vec(), Content::Json),
            ("a.txt", b"\"bad\"\n".to_vec(), Content::Other),
            ("a.txt", b"\"bad\"\n1 {\"a\": 1}".to_vec(), Content::Json),
            ("VERSION", b"1.2\n".to_vec(), Content::Other),
            ("a.x", b"scalar\n---\na: 1\n".to_vec(), Content::Yaml),
            ("a.x", b"---\n1\n---\na: 1\n".to_vec(), Content::Yaml),
            ("a.x", b"Words\n---\nmore words\n".to_vec(), Content::Other),
            ("a.txt", b"{\"a\": 1,}".to_vec(), Content::Json),
            ("a.txt", b"[{\"a\": \"\x01\"}]".to_vec(), Content::Json),
            ("a.txt", b"{words} and \"more\": 1".to_vec(), Content::Other),
            ("a.tmpl", b"{\"a\": {{ x }}}".to_vec(), Content::Other),
            ("a.x", b"# \xe9\npackage p\n".to_vec(), Content::Rego),
            ("a.x", b"package p\0\n".to_vec(), Content::Rego),
            ("a.x", b"package#c\np\n".to_vec(), Content::Rego),
            ("a.x", b"import rego.v1\n\npackage p\n".to_vec(), Content::Rego),
            ("a.py", b"import data.x\n\nprint(1)\n".to_vec(), Content::Other),
            ("a.x", "\u{200b}package p\n".as_bytes().to_vec(), Content::Rego),
            ("a.x", b"packages of words\n".to_vec(), Content::Other),
            ("a.nix", b"{ pkgs }: pkgs".to_vec(), Content::Other),
            ("a.gif", b"GIF89a\x01\0\x01\0: \xff\n".to_vec(), Content::Other),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let shown = String::from_utf8_lossy(bytes.get(..20.min(bytes.len())).unwrap());
            assert_eq!(content(&path).unwrap(), expected, "{name}: {shown:?}");
        }
    }

    #[test]
    fn patterns_match_the_end_of_a_path() {
        let ignored = |pattern: &str, path: &str| {
            Ignore::new([pattern]).unwrap().reason(Path::new(path)).is_some()
        };
        for (pattern, path) in [
            ("*.sarif", "a/b/c.sarif"),
            ("b/*.json", "a/b/c.json"),
            ("a/**/d.json", "x/a/b/c/d.json"),
            ("a/**/d.json", "a/d.json"),
            ("[ab]?.json", "a1.json"),
            ("[!a].json", "b.json"),
        ] {
            assert!(ignored(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.sarif", "a.sarif.json"),
            ("b/*.json", "a/bb/c.json"),
            ("*.json", "a.json/b"),
            ("[!a].json", "a.json"),
        ] {
            assert!(!ignored(pattern, path), "{pattern} {path}");
        }
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join(".v"), dir.path().join(".e.rego"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        let folders = Ignore::new([".*/"]).unwrap();
        assert!(folders.reason(&folder).is_some() && folders.reason(&file).is_none());
        assert!(Ignore::new([""]).is_err() && Ignore::new(["[a"]).is_err());
    }
}

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
pub(super) const SNIFFED_BYTES: u64 = 1 << 20;

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
    "go",
    "rs",
    "java",
    "rb",
    "c",
    "h",
    "cpp",
    "tf",
    "hcl",
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

/// Detects the kind of a file's content. Almost valid JSON, and Rego or JSON in another encoding,
/// count as what they were meant to be, so that reading the file reports the actual problem.
pub(crate) fn content(path: &Path) -> std::io::Result<Content> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(SNIFFED_BYTES).read_to_end(&mut bytes)?;
    Ok(content_of(path, &bytes))
}

/// Detects the kind of content by a file's name and its first bytes, at most [`SNIFFED_BYTES`].
pub(super) fn content_of(path: &Path, bytes: &[u8]) -> Content {
    let whole = (bytes.len() as u64) < SNIFFED_BYTES;
    if is_packed_content(path, bytes) {
        return Content::Packed;
    }
    let wide = utf16(bytes);
    let text = match (&wide, std::str::from_utf8(bytes)) {
        (Some(wide), _) => wide,
        (None, Ok(text)) => text,
        (None, Err(error)) if error.error_len().is_none() && !whole => {
            std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default())
                .unwrap_or_default()
        }
        (None, Err(_)) => return Content::Other,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    if text.is_empty() || text.contains('\0') {
        return Content::Other;
    }
    let named = named_by(path);
    if text.starts_with(['{', '[']) {
        let mut values =
            serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        return match values.next() {
            Some(Ok(_)) => Content::Json,
            Some(Err(error)) if error.is_eof() && !whole => Content::Json,
            // Cut off, or with extensions that only some readers accept.
            _ if !named.is_prose && begins_json(text) => Content::Json,
            _ => Content::Other,
        };
    }
    if is_module(text) {
        return Content::Rego;
    }
    if named.is_data {
        // Such as `a.json5` and `a.yaml.bak`: reading the file will report what it is.
        return if text.starts_with('/') { Content::Json } else { Content::Yaml };
    }
    if named.is_prose && !text.starts_with("---") {
        return Content::Other;
    }
    let yaml = if whole && wide.is_none() {
        matches!(
            super::yaml::read(text).map(|read| read.value),
            Ok(Some(crate::rego::Value::Object(_) | crate::rego::Value::Array(_)))
        )
    } else {
        begins_yaml(text)
    };
    if yaml { Content::Yaml } else { Content::Other }
}

/// Returns `true` if a text begins like a module: after comments comes `package`.
pub(super) fn is_module(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().map(str::trim_start).find(|l| !l.is_empty() && !l.starts_with('#'));
    first.is_some_and(|line| line.split_whitespace().next() == Some("package"))
}

/// The hints about a file's content that an unusual extension gives.
struct Named {
    is_prose: bool,
    /// Set if an extension before the last one is one of data, or the last is a dialect of JSON.
    is_data: bool,
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
    Named { is_prose: PROSE.contains(&last) && !is_data, is_data }
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

/// Returns `true` if the first line that is neither blank nor a comment looks like YAML.
fn begins_yaml(text: &str) -> bool {
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
        || [".gz", ".zst", ".xz", ".bz2", ".zip"]
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

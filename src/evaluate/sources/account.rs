//! What became of the files that arguments name.
//!
//! Owns the account of a reading, the patterns that leave files out, and the look at a file whose
//! name doesn't say what it is.

use std::io::Read as _;
use std::path::Path;

use regex::Regex;

use super::files::is_module;
use crate::text::escape;
use crate::{Error, ErrorKind};

/// What became of the files that one argument names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The argument as it was given.
    pub argument: String,
    /// How many files were read.
    pub taken: u64,
    /// Files that weren't, and parts of files.
    pub left_out: Vec<LeftOut>,
}

/// Something that was found and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    /// Why.
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

/// The patterns of files and folders that are left out.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    patterns: Vec<(String, Regex)>,
}

impl Ignore {
    /// Reads patterns: `*` and `?` match within a name, `**` across folders; a pattern matches a
    /// path that ends in it.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for what is no pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut found = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let wrong = |why: &str| {
                let message = format!("`{}` is no pattern: {why}", escape(pattern));
                Error::new(ErrorKind::Configuration, message)
            };
            let trimmed = pattern.trim_end_matches('/');
            if trimmed.is_empty() {
                return Err(wrong("it is empty"));
            }
            let regex =
                Regex::new(&expression(trimmed)).map_err(|_| wrong("a `[` isn't closed"))?;
            found.push((pattern.to_owned(), regex));
        }
        Ok(Self { patterns: found })
    }

    /// Why a path is left out, if it is.
    pub(crate) fn reason(&self, path: &Path) -> Option<String> {
        let text = path.to_string_lossy();
        let (pattern, _) = self.patterns.iter().find(|(_, regex)| regex.is_match(&text))?;
        Some(format!("`--ignore {}`", escape(pattern)))
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

/// What a file holds, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Yaml,
    Rego,
    Other,
}

/// How much of a file is looked at.
const LOOK: u64 = 1 << 20;

/// Names that end like this are prose, programs and tables, in which a line may look like YAML.
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

/// Looks at the file's content. What can't be read is reported by whoever needs it.
pub(crate) fn content(path: &Path) -> std::io::Result<Content> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LOOK).read_to_end(&mut bytes)?;
    let whole = (bytes.len() as u64) < LOOK;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && !whole => {
            std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default())
                .unwrap_or_default()
        }
        Err(_) => return Ok(Content::Other),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    if text.is_empty() || text.contains('\0') {
        return Ok(Content::Other);
    }
    if text.starts_with(['{', '[']) {
        let mut values =
            serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        return Ok(match values.next() {
            Some(Ok(_)) => Content::Json,
            Some(Err(error)) if error.is_eof() && !whole => Content::Json,
            _ => Content::Other,
        });
    }
    if is_module(text) {
        return Ok(Content::Rego);
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if PROSE.contains(&extension.as_str()) || (extension.is_empty() && !text.starts_with("---")) {
        return Ok(Content::Other);
    }
    let yaml = whole
        && matches!(
            super::yaml::read(text).map(|read| read.value),
            Ok(Some(crate::rego::Value::Object(_) | crate::rego::Value::Array(_)))
        );
    Ok(if yaml { Content::Yaml } else { Content::Other })
}

/// Whether a name says that the file is packed.
pub(crate) fn is_packed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let known = |name: &str| {
        [".rego", ".json", ".jsonl", ".yaml", ".yml", ".sarif", ".tar"]
            .iter()
            .any(|ending| name.ends_with(ending))
    };
    // The name is in lower case.
    let packed = |ending: &str| name.strip_suffix(ending);
    packed(".tgz").is_some()
        || [".gz", ".zst", ".xz", ".bz2", ".zip"]
            .iter()
            .any(|ending| packed(ending).is_some_and(known))
}

/// Whether a name says that the file is for its folder's tools.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
            ("vendor/", "p/vendor"),
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
        assert!(Ignore::new([""]).is_err() && Ignore::new(["[a"]).is_err());
    }
}

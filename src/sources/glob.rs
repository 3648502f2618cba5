//! Globs: the one dialect of patterns for inputs, policies, `--ignore` and waivers.
//!
//! A glob is matched name by name, so nothing in it but `**` crosses a `/`.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use regex::Regex;

/// A pattern of paths: `*`, `?`, `[a-z]`, `[!a]` and `{a,b}` match within a name, `**` any number of names.
#[derive(Debug, Clone)]
pub struct Glob {
    text: String,
    names: Vec<NameGlob>,
    /// Set if any folders may be before what it matches, also those above.
    anywhere: bool,
}

/// The part of a glob for one name of a path.
#[derive(Debug, Clone)]
pub enum NameGlob {
    /// `**`, which matches any number of names.
    Any,
    /// A name without special characters.
    Literal(String),
    /// A pattern of a name.
    Pattern(Regex),
}

impl Glob {
    /// Parses a glob.
    ///
    /// # Errors
    /// Returns the reason why it isn't valid.
    pub fn new(text: &str) -> Result<Self, String> {
        let names = split(text).map(NameGlob::new).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), names, anywhere: false })
    }

    /// Parses a glob that relaxes or leaves out. The text of an existing path is that path alone.
    ///
    /// # Errors
    /// Returns the reason why it isn't valid.
    pub fn unless_path(text: &str) -> Result<Self, String> {
        if is_glob(text) && Path::new(text).symlink_metadata().is_ok() {
            let names = split(text).map(|name| NameGlob::Literal(name.to_owned())).collect();
            return Ok(Self { text: text.to_owned(), names, anywhere: false });
        }
        Self::new(text)
    }

    /// Returns the glob that matches the end of a path. Unless folders in it are patterns, the path may lead
    /// out of the current folder.
    #[must_use]
    pub fn at_the_end(mut self) -> Self {
        let folders = self.names.len().saturating_sub(1);
        self.anywhere = !matches!(self.names.first(), Some(NameGlob::Any))
            && self.names.iter().take(folders).all(|name| matches!(name, NameGlob::Literal(_)));
        self.names.insert(0, NameGlob::Any);
        self
    }

    /// Returns the glob that matches absolute paths. `absolute` resolves the folder before the first pattern.
    #[must_use]
    pub fn resolved(mut self, absolute: fn(&Path) -> PathBuf) -> Self {
        let literal = self.names.iter().map_while(|name| match name {
            NameGlob::Literal(name) => Some(name.as_str()),
            _ => None,
        });
        let folders: Vec<&str> = literal.take(self.names.len().saturating_sub(1)).collect();
        // The last name of a path isn't resolved, so one stands for the rest of the glob.
        let first = absolute(Path::new(&[folders.as_slice(), &["x"]].concat().join("/")));
        let first = first.parent().unwrap_or(&first).to_string_lossy();
        let first: Vec<_> = split(&first).map(|name| NameGlob::Literal(name.to_owned())).collect();
        self.names.splice(..folders.len(), first);
        self
    }

    /// Returns its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns `true` if it matches a path as a whole. As when files are searched, neither `*` nor `**` matches `..`.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<&str> = split(path).collect();
        // The numbers of names that the glob's first names can match.
        let mut ends = vec![false; path.len() + 1];
        if let Some(start) = ends.first_mut() {
            *start = true;
        }
        for (at, name) in self.names.iter().enumerate() {
            if matches!(name, NameGlob::Any) {
                let anywhere = self.anywhere && at == 0;
                let mut before = false;
                let crossed = std::iter::once(None).chain(path.iter().map(Some));
                for (end, own) in ends.iter_mut().zip(crossed) {
                    *end |= before && own.is_some_and(|own| anywhere || name.matches(own));
                    before = *end;
                }
                continue;
            }
            let after = ends.iter().zip(&path).map(|(is_end, own)| *is_end && name.matches(own));
            ends = std::iter::once(false).chain(after).collect();
        }
        ends.last().copied().unwrap_or_default()
    }
}

impl NameGlob {
    /// Parses the glob of a name.
    ///
    /// # Errors
    /// Returns the reason why it isn't valid.
    pub fn new(name: &str) -> Result<Self, String> {
        if name == "**" {
            return Ok(Self::Any);
        }
        if !is_glob(name) {
            return Ok(Self::Literal(name.to_owned()));
        }
        let glob = GlobBuilder::new(name).literal_separator(true).build().map_err(|error| {
            let why = error.kind().to_string();
            if name.contains('{') { format!("{why} (`{{a,b}}` stays within a name)") } else { why }
        })?;
        Regex::new(&of_characters(glob.regex())).map(Self::Pattern).map_err(|why| why.to_string())
    }

    /// Returns `true` if it matches a name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Literal(own) => own == name,
            _ if name == ".." => false,
            Self::Any => true,
            // The root has no name.
            Self::Pattern(pattern) => !name.is_empty() && pattern.is_match(name),
        }
    }
}

/// Returns the regular expression for characters of one that `globset` writes for bytes, with `\xNN` for those
/// that aren't ASCII.
fn of_characters(expression: &str) -> String {
    let mut rest = expression.strip_prefix("(?-u)").unwrap_or(expression);
    let mut bytes = Vec::new();
    while let Some(first) = rest.bytes().next() {
        let escaped = rest.strip_prefix("\\x").and_then(|hex| hex.get(..2));
        let byte = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        // Of an escaped character, both go on: it may be a backslash.
        let length = if byte.is_some() { 4 } else { 1 + usize::from(first == b'\\') };
        let (own, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(own.as_bytes()),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `true` if a text has a character that is special in globs.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Splits a path into its names, without those that mean the same folder.
fn split(path: &str) -> impl Iterator<Item = &str> {
    let names = path.split(if cfg!(windows) { &['/', '\\'][..] } else { &['/'] }).enumerate();
    names.filter(|(at, name)| *name != "." && (*at == 0 || !name.is_empty())).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn nothing_but_two_stars_crosses_folders() {
        for (glob, path) in [
            ("sub/*.json", "./sub//y.json"),
            ("./sub/?.json", "sub/y.json"),
            ("**/y.json", "y.json"),
            ("**/y.json", "/a/b/y.json"),
            ("/**/y.json", "/a/b/y.json"),
            ("../*.json", "../y.json"),
            ("../**", "../a/b"),
            ("sub/**", "sub/a/b"),
            ("sub/**/**/y.json", "sub/y.json"),
            ("{x,y}.json", "y.json"),
            ("[!x].json", "y.json"),
            ("[^x].json", "y.json"),
            ("/a/*", "/a/b"),
            ("*", ".hidden"),
            ("?.json", "é.json"),
            ("[é].json", "é.json"),
            ("[!b].json", "é.json"),
            ("[à-ë].json", "é.json"),
            ("{é,b}*日?.json", "éx日本.json"),
            ("\\\\xc3?", "\\xc3é"),
        ] {
            assert!(Glob::new(glob).unwrap().matches(path), "{glob} {path}");
        }
        for (glob, path) in [
            ("sub/*.json", "sub/deep/y.json"),
            ("*", "sub/y.json"),
            ("s*json", "sub/y.json"),
            ("sub?y.json", "sub/y.json"),
            ("sub[!x]y.json", "sub/y.json"),
            ("sub[/]y.json", "sub/y.json"),
            ("a**b", "a/b"),
            ("a/*", "/a/b"),
            ("Y.json", "y.json"),
            ("*/y.json", "../y.json"),
            ("**", "../y.json"),
            ("**/y.json", "a/../../y.json"),
            ("{..,x}/y.json", "../y.json"),
            ("*/y.json", "/y.json"),
            ("??.json", "é.json"),
            ("[!é].json", "é.json"),
            ("[à-è].json", "é.json"),
            ("\\\\xc3\\\\xa9*", "é"),
        ] {
            assert!(!Glob::new(glob).is_ok_and(|glob| glob.matches(path)), "{glob} {path}");
        }
        for glob in ["[a", "{a/b,c}", "a{"] {
            assert!(Glob::new(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn what_is_at_the_end_is_anywhere() {
        for path in ["y.json", "a/y.json", "../y.json", "/a/b/y.json", "a/../y.json"] {
            assert!(Glob::new("y.json").unwrap().at_the_end().matches(path), "{path}");
        }
        for (glob, path) in [
            ("*.json", "../o/y.json"),
            ("o/*.json", "../o/y.json"),
            ("o/**", "../o/a/y.json"),
            ("../*/y.json", "../o/y.json"),
            ("**/y.json", "o/y.json"),
            ("*/y.json", "/a/o/y.json"),
        ] {
            assert!(Glob::new(glob).unwrap().at_the_end().matches(path), "{glob} {path}");
        }
        for glob in ["*/y.json", "**/y.json", "**", "{o,p}/y.json", "**/o/*"] {
            for path in ["../y.json", "../o/y.json", "a/../../o/y.json"] {
                assert!(!Glob::new(glob).unwrap().at_the_end().matches(path), "{glob} {path}");
            }
        }
    }

    #[test]
    fn an_existing_path_is_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scan[1].json");
        std::fs::write(&path, "").unwrap();
        let glob = Glob::unless_path(path.to_str().unwrap()).unwrap();
        assert!(glob.matches(path.to_str().unwrap()));
        assert!(!glob.matches(dir.path().join("scan1.json").to_str().unwrap()));
    }
}

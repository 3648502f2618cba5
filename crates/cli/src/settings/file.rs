//! Reading the file: its tables, and the options that they give.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rego_platform::Error;
use rego_platform::sources::split;
use rego_platform_client::text::{did_you_mean, escape};
use rego_platform_gate::model::Source;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Access, Key, Shape};
use super::{NAME, line_of, links, source};
use crate::option_files;
use crate::paths::is_address;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The permissions of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    None,
    Full,
}

/// The content of a settings file.
pub(super) struct File {
    pub source: Source,
    pub entries: Vec<FileOption>,
}

/// An option with its values.
#[derive(Debug, Clone)]
pub(super) struct FileOption {
    pub name: String,
    pub id: String,
    pub line: usize,
    /// `None` for a flag that isn't set.
    values: Option<Vec<String>>,
    is_flag: bool,
}

impl FileOption {
    fn new(key: &Key, line: usize, values: Option<Vec<String>>) -> Self {
        let (name, id, is_flag) = (key.name.clone(), key.id.clone(), key.shape == Shape::Flag);
        Self { name, id, line, values, is_flag }
    }

    /// Returns the arguments that give it.
    pub fn arguments(&self) -> impl Iterator<Item = String> {
        let values = self.values.iter().flatten();
        values.map(|value| {
            let value = if self.is_flag { String::new() } else { format!("={value}") };
            format!("--{}{value}", self.name)
        })
    }

    /// Returns the values as they are shown.
    pub fn shown(&self) -> String {
        match (&self.values, self.is_flag) {
            (None, _) => "false".to_owned(),
            (Some(_), true) => "true".to_owned(),
            (Some(values), false) => values.join(", "),
        }
    }

    /// Returns the options of the command line that are given instead of this one.
    pub fn replaced_by(&self) -> &'static [&'static str] {
        if self.id == "input" { &["inputs", "no_input", "image", "containerd"] } else { &[] }
    }
}

/// Reads a file. The options of a profile replace those of all. A pipe must end within `timeout`.
pub(super) fn read(
    path: &Path,
    profile: Option<&str>,
    trust: Trust,
    timeout: Duration,
) -> Result<File, Error> {
    let bytes = option_files::read("the settings file", path, MAX_BYTES, timeout)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Error::configuration(format!("the settings file {} isn't UTF-8", line_of(path, 1)))
    })?;
    let entries = Reader::new(path, text, trust).file(profile)?;
    Ok(File { source: source(path, &bytes), entries })
}

/// Returns the reports that a file with an error names: those of the profile, or else of all.
pub(super) fn outputs(
    path: &Path,
    profile: Option<&str>,
    trust: Trust,
    timeout: Duration,
) -> Result<Vec<String>, Error> {
    // A pipe can't be read a second time.
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let bytes = option_files::read("the settings file", path, MAX_BYTES, timeout)?;
    let text = String::from_utf8_lossy(&bytes);
    let reader = Reader::new(path, &text, trust);
    let (table, _) = DeTable::parse_recoverable(reader.text);
    let Some(key) = reader.keys.iter().find(|key| key.name == "output") else {
        return Ok(Vec::new());
    };
    let gate = inner(table.get_ref(), "gate");
    let own = profile.and_then(|name| inner(gate?, name));
    let mut tables = own.into_iter().chain(gate);
    let Some(output) = tables.find_map(|table| table.get("output")) else { return Ok(Vec::new()) };
    // Each by itself: a wrong one hides no other.
    let texts: Vec<String> = match output.get_ref() {
        DeValue::Array(all) => {
            all.iter().filter_map(|own| own.get_ref().as_str()).map(str::to_owned).collect()
        }
        DeValue::Table(all) => all
            .iter()
            .filter_map(|(name, own)| {
                Some(format!("{}={}", name.get_ref(), own.get_ref().as_str()?))
            })
            .collect(),
        one => one.as_str().map(str::to_owned).into_iter().collect(),
    };
    let at = output.span().start;
    let checked = texts.into_iter().filter_map(|text| {
        let own = FileOption::new(key, reader.line(at), Some(vec![text]));
        reader.checked(own, at, key).ok()?.values
    });
    Ok(checked.flatten().collect())
}

/// The location of a path in a value.
enum Placed {
    /// The value isn't the path of a file.
    Nowhere,
    /// The path is below the file's folder, links apart.
    At(PathBuf),
    Elsewhere,
}

/// Returns a table in a table.
fn inner<'a, 't>(table: &'a Table<'t>, name: &str) -> Option<&'a Table<'t>> {
    match table.get(name)?.get_ref() {
        DeValue::Table(own) => Some(own),
        _ => None,
    }
}

struct Reader<'a> {
    path: &'a Path,
    folder: PathBuf,
    text: &'a str,
    keys: Vec<Key>,
    trust: Trust,
}

type Table<'t> = DeTable<'t>;

impl<'a> Reader<'a> {
    fn new(path: &'a Path, text: &'a str, trust: Trust) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self { path, folder, text, keys: keys::all(), trust }
    }

    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn error_at(&self, at: usize, message: &str) -> Error {
        Error::configuration(format!("{}: {message}", line_of(self.path, self.line(at))))
    }

    fn file(&self, profile: Option<&str>) -> Result<Vec<FileOption>, Error> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error_at(at, &format!("invalid TOML: {}", error.message()))
        })?;
        let mut gate = None;
        for (name, value) in table.get_ref() {
            let at = name.span().start;
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("gate", DeValue::Table(own)) => gate = Some(own),
                _ => {
                    let message = format!("`{}` isn't the table `[gate]`", escape(name.get_ref()));
                    return Err(self.error_at(at, &message).with_hint(
                        "the options are keys of `[gate]`, and those of a profile of `[gate.NAME]`",
                    ));
                }
            }
        }
        let empty = Table::default();
        let (mut entries, profiles) = self.table(gate.unwrap_or(&empty), true)?;
        let mut chosen = None;
        for (name, own) in &profiles {
            let (own, _) = self.table(own, false)?;
            if profile == Some(name.as_str()) {
                chosen = Some(own);
            }
        }
        match (profile, chosen) {
            (Some(_), Some(own)) => {
                entries.retain(|entry| own.iter().all(|other| other.0.id != entry.0.id));
                entries.extend(own);
            }
            (Some(name), None) => {
                let message = format!("`{NAME}` has no profile `{}`", escape(name));
                let known = profiles.iter().map(|(name, _)| name.as_str());
                let table = format!("add the table `[gate.{}]`", escape(name));
                let hint = did_you_mean(name, known, table);
                return Err(Error::configuration(message).with_hint(hint));
            }
            (None, _) => {}
        }
        entries.into_iter().map(|(entry, at, key)| self.checked(entry, at, key)).collect()
    }

    /// Returns the options of a table, and the profiles in it.
    fn table<'t>(
        &self,
        table: &'t Table<'t>,
        has_profiles: bool,
    ) -> Result<(Vec<(FileOption, usize, &Key)>, Vec<(String, &'t Table<'t>)>), Error> {
        let (mut entries, mut profiles) = (Vec::new(), Vec::new());
        for (name, value) in table {
            let at = name.span().start;
            let name = name.get_ref().as_ref();
            match (self.keys.iter().find(|key| key.name == name), value.get_ref()) {
                (Some(key), _) if key.access == Access::Never => {
                    let message = format!("option not allowed in this file: `{name}`");
                    return Err(self.error_at(at, &message).with_hint(
                        "set it on the command line, in the environment, or in the configuration file of the service's client",
                    ));
                }
                (Some(key), _) => entries.push((self.entry(key, value)?, at, key)),
                (None, DeValue::Table(own)) if has_profiles => {
                    profiles.push((name.to_owned(), own));
                }
                (None, _) => {
                    let message = format!("unknown option: `{}`", escape(name));
                    let known = self.keys.iter().map(|key| key.name.as_str());
                    let schema = "keys are the long names of the options of `gate`; `config schema` lists them";
                    let hint = did_you_mean(name, known, schema);
                    return Err(self.error_at(at, &message).with_hint(hint));
                }
            }
        }
        Ok((entries, profiles))
    }

    fn entry(&self, key: &Key, value: &Spanned<DeValue<'_>>) -> Result<FileOption, Error> {
        let at = value.span().start;
        let expected = |what: &str| {
            self.error_at(at, &format!("invalid value of `{}`: expected {what}", key.name))
        };
        let one = |value: &Spanned<DeValue<'_>>| -> Option<String> {
            Some(match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                _ => return None,
            })
        };
        let pair = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Boolean(is) => Some(is.to_string()),
            _ => one(value),
        };
        let values = match (key.shape, value.get_ref()) {
            (Shape::Flag, DeValue::Boolean(true)) => Some(vec![String::new()]),
            (Shape::Flag, DeValue::Boolean(false)) => None,
            (Shape::Flag, _) => return Err(expected("`true` or `false`")),
            (Shape::Many, DeValue::Array(list)) => {
                let all = list.iter().map(one).collect::<Option<Vec<_>>>();
                Some(all.ok_or_else(|| expected("an array of strings"))?)
            }
            (Shape::Many, DeValue::Table(own)) if key.is_pair => {
                let pairs = own
                    .iter()
                    .map(|(name, value)| Some(format!("{}={}", name.get_ref(), pair(value)?)));
                let all = pairs.collect::<Option<Vec<_>>>();
                Some(all.ok_or_else(|| expected("a table of strings"))?)
            }
            (Shape::Many, _) => match one(value) {
                Some(text) => Some(vec![text]),
                None => return Err(expected("an array of strings")),
            },
            (Shape::One, _) => {
                Some(vec![one(value).ok_or_else(|| expected("a string or a number"))?])
            }
        };
        Ok(FileOption::new(key, self.line(at), values))
    }

    /// Refuses what the file may not do, puts paths where they are, and checks the values.
    fn checked(&self, mut entry: FileOption, at: usize, key: &Key) -> Result<FileOption, Error> {
        let trusted = self.trust == Trust::Full;
        let hint = "name the file with `--settings FILE`, or add `--trust-settings`";
        if key.access == Access::Trusted && !trusted && entry.values.is_some() {
            let message = format!("`{}` may loosen the gate, and the file isn't trusted", key.name);
            return Err(self.error_at(at, &message).with_hint(hint));
        }
        for value in entry.values.iter_mut().flatten().filter(|_| key.is_path) {
            let (placed, path) = self.place(key, value);
            let stays = match path {
                _ if trusted => true,
                Placed::Nowhere => true,
                Placed::Elsewhere => false,
                Placed::At(path) => !links::leads_out(&self.folder, &path, key.name == "output"),
            };
            if !stays {
                let message = format!(
                    "`{}` leads out of the file's folder, and the file isn't trusted",
                    escape(value)
                );
                return Err(self.error_at(at, &message).with_hint(hint));
            }
            *value = placed;
        }
        let given = std::iter::once("gate".to_owned()).chain(entry.arguments());
        if let Err(error) = crate::gate::command().try_get_matches_from(given) {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            return Err(self.error_at(at, &escape(first.strip_prefix("error: ").unwrap_or(first))));
        }
        Ok(entry)
    }

    /// Returns a value with its path from the current folder, and that path.
    fn place(&self, key: &Key, value: &str) -> (String, Placed) {
        if is_address(value) {
            return (value.to_owned(), Placed::Elsewhere);
        }
        let (before, path) = match value.split_once('=').filter(|_| key.is_pair) {
            Some((name, path)) => (format!("{name}="), PathBuf::from(path)),
            // A report's format alone.
            None if key.is_pair => return (value.to_owned(), Placed::Nowhere),
            None => match split(value) {
                (prefix, path) if prefix.is_empty() => (String::new(), path),
                (prefix, path) => (format!("{}:", prefix.join(".")), path),
            },
        };
        if path.as_os_str() == "-" {
            return (value.to_owned(), Placed::Nowhere);
        }
        let is_below =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let inside = path.components().all(is_below);
        let path = self.folder.join(path);
        let placed = format!("{before}{}", path.display());
        (placed, if inside { Placed::At(path) } else { Placed::Elsewhere })
    }
}

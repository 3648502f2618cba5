//! The table of formats: names, files and parsers.

use std::path::Path;

use rego::Value;

use super::limits::{MAX_BYTES, MAX_WRITTEN_BYTES};
use super::problem::Problem;
use super::{dockerfile, dotenv, hcl, ini, json5, jsonc, properties, toml, xml};

/// Reads a text.
type Read = fn(&str) -> Result<Value, Problem>;

/// A format of configuration files.
#[derive(Clone, Copy)]
pub struct Format {
    name: &'static str,
    /// The names of its files, with their beginnings before a point and their ends after one.
    files: &'static [&'static str],
    extensions: &'static [&'static str],
    max_bytes: usize,
    read: Read,
}

const FORMATS: &[Format] = &[
    Format {
        files: &["dockerfile", "containerfile"],
        extensions: &["dockerfile", "containerfile"],
        max_bytes: MAX_WRITTEN_BYTES,
        ..format("dockerfile", dockerfile::read)
    },
    Format { files: &[".env"], extensions: &["env"], ..format("dotenv", dotenv::read) },
    Format {
        extensions: &["hcl", "nomad", "tf", "tfvars", "tofu"],
        max_bytes: MAX_WRITTEN_BYTES,
        ..format("hcl2", hcl::read)
    },
    Format { extensions: &["ini"], ..format("ini", ini::read) },
    Format { extensions: &["json5"], ..format("json5", json5::read) },
    Format { extensions: &["jsonc"], ..format("jsonc", jsonc::read) },
    Format { extensions: &["properties"], ..format("properties", properties::read) },
    Format { extensions: &["toml"], ..format("toml", toml::read) },
    Format {
        extensions: &["xml", "csproj", "fsproj", "nuspec", "pom", "vbproj", "wsdl", "xsd"],
        ..format("xml", xml::read)
    },
];

/// A format without files of its own names.
const fn format(name: &'static str, read: Read) -> Format {
    Format { name, files: &[], extensions: &[], max_bytes: MAX_BYTES, read }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl Format {
    /// Returns all formats, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().copied()
    }

    /// Returns the format of this name, such as `toml`.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name == name)
    }

    /// Returns the format of a file by its name, in any case: by its whole name, its extension, or else for a
    /// Dockerfile and `.env` by what is before its first point.
    pub fn of(path: &Path) -> Option<Self> {
        let name = lower_name(path)?;
        match name.as_str() {
            "cargo.lock" | "pdm.lock" | "pipfile" | "poetry.lock" | "uv.lock" => {
                return Self::named("toml");
            }
            "bun.lock" => return Self::named("jsonc"),
            _ => {}
        }
        Self::all()
            .find(|format| has_extension(&name, format.extensions))
            .or_else(|| Self::all().find(|format| begins_with(&name, format.files)))
    }

    /// The name, as conftest's `--parser` has it.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Reads a text.
    ///
    /// # Errors
    /// Returns a problem if the text isn't of this format, has a key twice, is nested more than 1,000 deep, or
    /// is larger than [`MAX_BYTES`](crate::MAX_BYTES) (HCL and Dockerfiles: 1 MiB).
    pub fn read(self, text: &str) -> Result<Value, Problem> {
        if text.len() > self.max_bytes {
            let size = self.max_bytes >> 20;
            return Err(Problem::on(1, format!("file too large: the limit is {size} MiB")));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.starts_with('\u{feff}') {
            return Err(Problem::on(1, "unexpected second byte order mark"));
        }
        (self.read)(text)
    }
}

/// Returns the name of a file in lowercase; what isn't UTF-8 in it is part of no name of a format.
pub(crate) fn lower_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase())
}

pub(crate) fn has_extension(name: &str, extensions: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| extensions.contains(&end))
}

/// Returns `true` if a name is one of `files`, or begins with one and a point.
pub(crate) fn begins_with(name: &str, files: &[&str]) -> bool {
    let begins = |file: &&str| {
        name.strip_prefix(*file).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    files.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_format() {
        for (path, expected) in [
            ("a/Dockerfile", Some("dockerfile")),
            ("Dockerfile.dev", Some("dockerfile")),
            ("dev.Dockerfile", Some("dockerfile")),
            ("Dockerfile-dev", None),
            ("Containerfile", Some("dockerfile")),
            ("Containerfile.prod", Some("dockerfile")),
            ("prod.Containerfile", Some("dockerfile")),
            ("main.tofu", Some("hcl2")),
            ("job.nomad", Some("hcl2")),
            ("Pipfile", Some("toml")),
            ("Pipfile.lock", None),
            ("uv.lock", Some("toml")),
            ("app.csproj", Some("xml")),
            ("Dockerfile.toml", Some("toml")),
            (".env.ini", Some("ini")),
            (".env", Some("dotenv")),
            (".env.local", Some("dotenv")),
            ("prod.env", Some("dotenv")),
            (".environment", None),
            ("MAIN.TF", Some("hcl2")),
            ("x.tfvars", Some("hcl2")),
            ("pom.xml", Some("xml")),
            ("a.json", None),
            ("toml", None),
            ("a.toml.bak", None),
        ] {
            assert_eq!(Format::of(Path::new(path)).map(Format::name), expected, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_isnt_utf8_has_an_extension() {
        use std::os::unix::ffi::OsStrExt;

        let of = |name: &[u8]| Format::of(Path::new(std::ffi::OsStr::from_bytes(name)));
        assert_eq!(of(b"\xff.TF").map(Format::name), Some("hcl2"));
        assert_eq!(of(b"Dockerfile.\xff").map(Format::name), Some("dockerfile"));
        assert_eq!(of(b"a.t\xfff"), None);
    }

    #[test]
    fn a_text_that_is_too_large_is_refused() {
        for format in Format::all() {
            let wrong = |size| format.read(&" ".repeat(size)).err().map(|own| own.message);
            let mib = if matches!(format.name, "hcl2" | "dockerfile") { 1 } else { 16 };
            let expected = format!("file too large: the limit is {mib} MiB");
            assert_eq!(wrong((mib << 20) + 1).as_deref(), Some(expected.as_str()), "{format:?}");
        }
    }
}

//! Formats that only conftest reads, and hints for converting them.

use std::path::Path;

use super::format::{begins_with, has_extension, lower_name};

struct Refused {
    name: &'static str,
    files: &'static [&'static str],
    extensions: &'static [&'static str],
    convert: &'static str,
}

const CONFTEST: &str = "convert it first: `conftest parse FILE > FILE.json`";

const REFUSED: &[Refused] = &[
    Refused {
        name: "cue",
        files: &[],
        extensions: &["cue"],
        convert: "convert it first: `cue export FILE > FILE.json`",
    },
    Refused {
        name: "jsonnet",
        files: &[],
        extensions: &["jsonnet"],
        convert: "convert it first: `jsonnet FILE > FILE.json`",
    },
    Refused {
        name: "cyclonedx",
        files: &[],
        extensions: &["cyclonedx"],
        convert: "select the parser `json` or `xml`",
    },
    Refused {
        name: "spdx",
        files: &[],
        extensions: &["spdx"],
        convert: "select the parser `json` for an SPDX SBOM in JSON, or convert it first: `pyspdxtools -i FILE -o FILE.spdx.json`",
    },
    Refused { name: "edn", files: &[], extensions: &["edn"], convert: CONFTEST },
    Refused { name: "groovy", files: &["jenkinsfile"], extensions: &["groovy"], convert: CONFTEST },
    Refused { name: "hcl1", files: &[], extensions: &["hcl1"], convert: "try the parser `hcl2`" },
    Refused { name: "hocon", files: &[], extensions: &["hocon"], convert: CONFTEST },
    Refused {
        name: "ignore",
        files: &[],
        extensions: &["gitignore", "dockerignore"],
        convert: CONFTEST,
    },
    Refused { name: "nginx", files: &["nginx.conf"], extensions: &["nginx"], convert: CONFTEST },
    Refused {
        name: "textproto",
        files: &[],
        extensions: &["textproto", "textpb", "txtpb", "pbtxt"],
        convert: CONFTEST,
    },
    Refused { name: "vcl", files: &[], extensions: &["vcl"], convert: CONFTEST },
];

/// Returns the hint for converting files of a parser that only conftest has.
pub fn refused_name(name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|refused| refused.name == name).map(|refused| refused.convert)
}

/// Returns the hint for converting a file that only conftest can parse.
pub fn refused_file(path: &Path) -> Option<&'static str> {
    let name = lower_name(path)?;
    let found = REFUSED.iter().find(|refused| {
        has_extension(&name, refused.extensions) || begins_with(&name, refused.files)
    });
    found.map(|refused| refused.convert)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_isnt_read() {
        for refused in REFUSED {
            assert!(crate::Format::named(refused.name).is_none(), "{}", refused.name);
        }
        assert!(refused_file(Path::new("a/Jenkinsfile.prod")).is_some());
        assert!(refused_file(Path::new(".gitignore")).is_some());
        assert!(refused_file(Path::new("a.toml")).is_none() && refused_name("toml").is_none());
    }
}

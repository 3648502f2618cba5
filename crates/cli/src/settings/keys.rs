//! The keys of the file: the long names of the command line's options.
//!
//! Owns which of them a file may have. Names, shapes and values are those that the command line declares.

use clap::{Arg, ArgAction};

use crate::gate;
use crate::options::{GENERAL, SERVICE};

/// The options that a file may set without being trusted: they neither loosen a gate,
/// nor change how an input is read, nor say whom to trust.
const FREE: [&str; 23] = [
    "annotation",
    "arg",
    "bundle",
    "collection",
    "concurrency",
    "data",
    "explain",
    "fail-fast",
    "fail-on-notes",
    "fail-on-warn",
    "format",
    "input",
    "material",
    "max-bytes",
    "max-calls",
    "max-passes",
    "no-cache",
    "output",
    "project",
    "project-version",
    "schema",
    "set",
    "strict-builtin-errors",
];

/// The sources that may set an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Free,
    /// A file that the command line trusts.
    Trusted,
    /// The option concerns the service: no file sets it.
    Never,
}

/// The syntax of an option's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Flag,
    One,
    Many,
}

/// An option, as a key.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub name: String,
    /// The option's name in the parser of the command line.
    pub id: String,
    pub shape: Shape,
    pub access: Access,
    /// Set if a value is `NAME=VALUE`, which a table may hold.
    pub is_pair: bool,
    /// Set if a value, or what follows its `=`, is a path.
    pub is_path: bool,
    /// The values, if they are known.
    pub values: Vec<String>,
    pub help: String,
    pub default: Option<String>,
}

/// Returns all keys. The general options, such as `--quiet`, aren't among them.
pub(super) fn all() -> Vec<Key> {
    let command = gate::command();
    let options = command.get_arguments().filter(|arg| arg.get_help_heading() != Some(GENERAL));
    options.filter(|arg| !arg.is_hide_set()).filter_map(key).collect()
}

fn key(arg: &Arg) -> Option<Key> {
    let name = arg.get_long()?.to_owned();
    // No key has pairs of values.
    if arg.get_num_args().is_some_and(|count| count.max_values() > 1) {
        return None;
    }
    let shape = match arg.get_action() {
        ArgAction::SetTrue => Shape::Flag,
        ArgAction::Append => Shape::Many,
        ArgAction::Set => Shape::One,
        _ => return None,
    };
    let access = if arg.get_help_heading() == Some(SERVICE) {
        Access::Never
    } else if FREE.contains(&name.as_str()) {
        Access::Free
    } else {
        Access::Trusted
    };
    let value = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let last = value.rsplit('=').next().unwrap_or_default();
    Some(Key {
        id: arg.get_id().to_string(),
        shape,
        access,
        is_pair: value.contains('='),
        is_path: ["PATH", "FILE", "DIR"].contains(&last),
        values: match shape {
            Shape::Flag => Vec::new(),
            _ => arg.get_possible_values().iter().map(|own| own.get_name().to_owned()).collect(),
        },
        help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        default: match shape {
            Shape::Flag => None,
            _ => arg.get_default_values().first().map(|own| own.to_string_lossy().into_owned()),
        },
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_the_service_or_loosens_a_gate_is_not_free() {
        let all = all();
        let access = |name: &str| all.iter().find(|key| key.name == name).map(|key| key.access);
        for name in FREE {
            assert_eq!(access(name), Some(Access::Free), "{name}");
        }
        for name in ["token", "token-file", "base-url", "replay", "local", "insecure", "config"] {
            assert_eq!(access(name), Some(Access::Never), "{name}");
        }
        for name in [
            "allow-warnings",
            "waivers",
            "vex",
            "verify-key",
            "unverified",
            "skip",
            "fail-on",
            "no-input",
            "combine",
            "parser",
            "split-arrays",
            "wrap-arrays",
            "yaml",
        ] {
            assert_eq!(access(name), Some(Access::Trusted), "{name}");
        }
        for name in ["settings", "profile", "quiet", "help"] {
            assert_eq!(access(name), None, "{name}");
        }
    }
}

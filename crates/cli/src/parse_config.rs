//! conftest's functions that parse configuration: declared for all policies, and implemented in tests.
//!
//! Policies beside such tests load everywhere, and a call that is reached elsewhere is an error: a gate reads
//! no file that isn't given to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rego_platform::Error;
use rego_platform::load::HostFunction;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::sources::Sources;
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use rego_platform_gate::{Parser, parse_all};

use super::option_files;

/// The functions, and the number of their arguments.
const FUNCTIONS: [(&str, u8); 3] =
    [("parse_config", 2), ("parse_config_file", 1), ("parse_combined_config_files", 1)];

/// Declares the functions that aren't declared yet.
pub(super) fn declare(functions: &mut Vec<HostFunction>) {
    for (name, arity) in FUNCTIONS {
        if functions.iter().all(|known| known.name() != name) {
            functions.push(HostFunction::declared(name, arity));
        }
    }
}

/// Puts functions that answer in the place of the declared ones. Files are named from the folder of a
/// policy.
pub(super) fn answer(functions: &mut Vec<HostFunction>, sources: &Sources) {
    let folders: BTreeSet<PathBuf> = sources
        .modules
        .iter()
        .filter_map(|module| Some(Path::new(&module.path).parent()?.to_owned()))
        .collect();
    let of_files = folders.clone();
    functions.retain(|known| FUNCTIONS.iter().all(|(name, _)| known.name() != *name));
    let [config, file, files] = FUNCTIONS;
    functions.extend([
        HostFunction::pure(config.0, config.1, |arguments| parse_text(arguments).map(Some)),
        HostFunction::pure(file.0, file.1, move |arguments| {
            let name = text(arguments.first())?;
            let (_, all) = read(&folders, name)?;
            Ok(Some(only(all)))
        }),
        HostFunction::pure(files.0, files.1, move |arguments| {
            let names = arguments.first().and_then(Value::as_array);
            let names =
                names.ok_or_else(|| Error::host_failed("the operand isn't an array of paths"))?;
            combined(&of_files, names).map(Some)
        }),
    ]);
}

fn text(value: Option<&Value>) -> Result<&str, Error> {
    value.and_then(Value::as_str).ok_or_else(|| Error::host_failed("an operand isn't a string"))
}

fn parse_text(arguments: &[Value]) -> Result<Value, Error> {
    let (name, own) = (text(arguments.first())?, text(arguments.get(1))?);
    let parser = Parser::named(name).ok_or_else(|| {
        let names = Parser::names().join(", ");
        Error::host_failed(format!("unknown parser: `{}`", escape(name)))
            .with_hint(format!("the parsers are {names}"))
    })?;
    Ok(only(parse_all("<text>", own.as_bytes().to_vec(), parser)?))
}

/// Reads the documents of a file next to a policy.
fn read(folders: &BTreeSet<PathBuf>, name: &str) -> Result<(PathBuf, Vec<Value>), Error> {
    let found: Vec<PathBuf> =
        folders.iter().map(|folder| folder.join(name)).filter(|path| path.is_file()).collect();
    let shown = escape(name);
    let path = match found.as_slice() {
        [path] => path,
        [] => {
            return Err(Error::host_failed(format!(
                "`{shown}` isn't a file in the folder of a policy"
            )));
        }
        _ => {
            let message = format!("`{shown}` is a file in the folders of several policies");
            return Err(Error::host_failed(message).with_hint("give the files different names"));
        }
    };
    let parser = Parser::of(path)
        .ok_or_else(|| Error::host_failed(format!("no parser for the extension: `{shown}`")))?;
    let bytes = option_files::bounded(path, option_files::MAX_INPUT)
        .map_err(|error| unreadable("the file", path, error))?;
    let all = parse_all(&path.to_string_lossy(), bytes, parser)?;
    Ok((path.clone(), all))
}

/// Returns the only document, or an array of several.
fn only(mut all: Vec<Value>) -> Value {
    match all.len() {
        1 => all.pop().unwrap_or_default(),
        _ => Value::from(all),
    }
}

fn combined(folders: &BTreeSet<PathBuf>, names: &[Value]) -> Result<Value, Error> {
    let mut all = Vec::new();
    for name in names {
        let (path, documents) = read(folders, text(Some(name))?)?;
        for contents in documents {
            let path = Value::from(path.to_string_lossy().as_ref());
            all.push(Value::from(Object::from([
                ("path".into(), path),
                ("contents".into(), contents),
            ])));
        }
    }
    all.sort_by(|a, b| a.get_str("path").cmp(&b.get_str("path")));
    Ok(Value::from(all))
}

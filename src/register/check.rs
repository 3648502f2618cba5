//! Checks of an engine's policies before they are evaluated.
//!
//! Owns the view of an engine as sources, and which functions regorus has. The checks themselves are
//! those of every load.

use std::collections::{BTreeMap, BTreeSet};

use regorus::{Engine, Value as EngineValue};

use super::values;
use crate::check::{self, OtherCall};
use crate::load::{self, HostFunction, LoadOptions};
use crate::rego::internal::builtins::{self, Run};
use crate::sources::{DataSource, ModuleSource, RegoVersion, Sources};
use crate::{Diagnostic, Error, Level};

/// The policies of an engine, as a load sees them.
pub(super) struct Checked {
    pub(super) sources: Sources,
    /// The options, with the extensions that the host added itself.
    pub(super) options: LoadOptions,
    /// The problems for which a load would refuse them, and functions that the engine lacks.
    pub(super) refused: Vec<Diagnostic>,
    /// The places where regorus is known to differ.
    pub(super) differences: Vec<Diagnostic>,
}

impl Checked {
    pub(super) fn of(engine: &Engine, options: &LoadOptions) -> Result<Self, Error> {
        let sources = sources(engine)?;
        let mut options = options.clone();
        // The calls are known after a first look; a second one knows the host's own extensions.
        let calls = calls(&sources, &options);
        let declared = extensions(engine, &options, &calls);
        let missing = missing(engine, calls);
        options.host_functions.extend(declared);
        let mut refused = load::compile(&sources, &options, &check::errors, None).findings;
        refused.retain(|finding| finding.level == Level::Error);
        refused.extend(missing);
        let mut differences = check::check_for_regorus(&sources, options.clone());
        // Which functions the engine has is known exactly.
        differences.retain(|found| {
            found.code.starts_with(check::REGORUS) && found.code != "regorus/function"
        });
        Ok(Self { sources, options, refused, differences })
    }
}

/// Returns what an engine was given, as sources.
fn sources(engine: &Engine) -> Result<Sources, Error> {
    let unreadable = |error: anyhow::Error| {
        Error::internal("regorus doesn't show its policies").with_source(error.to_string())
    };
    let texts = engine.get_policies().map_err(unreadable)?;
    let mut shown = engine.clone();
    let versions = shown.get_modules().iter().map(|module| module.rego_v1);
    let mut sources = Sources::default();
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for (text, is_v1) in texts.iter().zip(versions) {
        // Names of policies needn't be unique on an engine.
        let nth = times.entry(text.get_path()).or_default();
        *nth += 1;
        let path = match nth {
            1 => text.get_path().clone(),
            nth => format!("{} ({nth})", text.get_path()),
        };
        let version = if is_v1 { RegoVersion::V1 } else { RegoVersion::V0 };
        sources.versions.insert(path.clone(), version);
        sources.modules.push(ModuleSource { path, text: text.get_contents().clone() });
    }
    let value = values::from_engine(&engine.get_data())?;
    sources.data.push(DataSource { path: "the engine's data".to_owned(), value });
    Ok(sources)
}

fn calls(sources: &Sources, options: &LoadOptions) -> Vec<OtherCall> {
    let seen = std::cell::RefCell::default();
    let look = |all: &load::Inspected<'_>| {
        seen.replace(check::other_calls(all));
        load::Findings::default()
    };
    load::compile(sources, options, &look, None);
    seen.into_inner()
}

/// Declares the extensions that the host added to the engine itself and the policies call.
fn extensions(engine: &Engine, options: &LoadOptions, calls: &[OtherCall]) -> Vec<HostFunction> {
    let mut known: BTreeSet<&str> = options.host_functions.iter().map(HostFunction::name).collect();
    let mut declared = Vec::new();
    for OtherCall { name, arity, .. } in calls {
        let is_new = !name.starts_with("data.")
            && builtins::lookup(name).is_none()
            && known.insert(name)
            && has_extension(engine, name);
        if is_new && let Ok(arity) = u8::try_from(*arity) {
            declared.push(HostFunction::declared(name.as_str(), arity));
        }
    }
    declared
}

/// Finds calls of Rego's functions that the engine doesn't have.
fn missing(engine: &Engine, calls: Vec<OtherCall>) -> Vec<Diagnostic> {
    let mut has: BTreeMap<String, bool> = BTreeMap::new();
    let is_missing = |call: &OtherCall| {
        let Some(builtin) = builtins::lookup(&call.name) else { return false };
        // Operators, `print` and the like are part of the interpreter.
        if builtin.infix.is_some() || matches!(builtin.run, Run::Machine | Run::Missing) {
            return false;
        }
        !*has.entry(call.name.clone()).or_insert_with(|| has_function(engine, &call.name))
    };
    let mut is_missing = is_missing;
    let refused = calls.into_iter().filter(|call| is_missing(call)).map(|call| {
        let message = format!("regorus has no function `{}`", call.name);
        Diagnostic::error("unsupported-builtin", message)
            .with_hint("`Registration::replace_builtins` adds it")
            .at(call.position)
    });
    refused.collect()
}

/// Returns `true` if an engine has a function of this name: its own, or an extension.
fn has_function(engine: &Engine, name: &str) -> bool {
    if has_extension(engine, name) {
        return true;
    }
    // It names a function that it doesn't find, before it looks at the arguments.
    let asked = Engine::new().eval_query(format!("{name}()"), false);
    !asked.is_err_and(|error| error.to_string().contains("could not find function"))
}

/// Returns `true` if an engine has an extension of this name.
fn has_extension(engine: &Engine, name: &str) -> bool {
    engine.clone().add_extension(name.to_owned(), 0, Box::new(|_| Ok(EngineValue::Null))).is_err()
}

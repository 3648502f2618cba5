//! Recordings: files with every response that an evaluation used, from which it can be replayed.
//!
//! Owns the file format: that of OPA's decision logs (`nd_builtin_cache`: function → JSON text of
//! the argument array → result), with failed calls beside it. It contains no token: neither answers
//! nor arguments ever hold one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::rego::Value;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::environment::{Fixed, NONDETERMINISTIC, NOW};
use super::recording_checks;
use crate::flight::CallOutcome;
use crate::flight::Key;
use crate::functions::Answer;
use crate::rego::internal::builtins::LOOKUP;
use crate::text::shorten;
use crate::unreadable::unreadable;
use crate::{Error, ErrorKind};
use rego_platform_client::files::bounded;

/// The largest recording, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// The version of the format, so that a later one is refused instead of misread.
const VERSION: u32 = 1;

/// The indentation of an answer's lines, which are three levels deep.
const INDENT: &str = "\n      ";

type ByArguments<T> = BTreeMap<String, T>;

/// The answers of one or more evaluations.
///
/// ```
/// use rego_platform::evaluate::Recording;
///
/// let mut bytes = Vec::new();
/// Recording::new().write(&mut bytes)?;
/// assert!(Recording::from_slice(&bytes)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Recording(Contents);

/// The contents of a file. Only a checked one becomes a [`Recording`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    nd_builtin_cache: BTreeMap<String, ByArguments<Box<RawValue>>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, ByArguments<Failure>>,
    /// The calls whose list the author's `limit` cut.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cut: BTreeMap<String, ByArguments<bool>>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            version: VERSION,
            nd_builtin_cache: BTreeMap::new(),
            failures: BTreeMap::new(),
            cut: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    #[serde(serialize_with = "kind_name", deserialize_with = "recording_checks::kind")]
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Recording {
    /// Creates an empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of recorded calls.
    pub fn len(&self) -> usize {
        let ok: usize = self.0.nd_builtin_cache.values().map(BTreeMap::len).sum();
        ok + self.0.failures.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Returns `true` if no call is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the calls of another recording. The time and the random values are then those of the
    /// other.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when both have an outcome of the same call, and not the same
    /// one: a replay couldn't tell which of them an evaluation got. Nothing is added then. Keep the
    /// recordings of evaluations with different tokens apart.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        if let Some((function, arguments)) = self.0.differs(&other.0) {
            let call = shorten(&format!("{function}({arguments})"), 200);
            let message = format!("two evaluations got different outcomes of the call {call}");
            return Err(Error::configuration(message).with_hint("record them separately"));
        }
        self.0.extend(other.0);
        Ok(())
    }

    /// Adds the calls of another recording; its outcomes replace those of the same calls here.
    #[doc(hidden)]
    pub fn replace(&mut self, other: Self) {
        let Contents { nd_builtin_cache, failures, cut, .. } = &mut self.0;
        let renewed = calls(&other.0.nd_builtin_cache).map(|(call, _)| call);
        for (function, arguments) in renewed.chain(calls(&other.0.failures).map(|(call, _)| call)) {
            nd_builtin_cache.get_mut(function).map(|calls| calls.remove(arguments));
            failures.get_mut(function).map(|calls| calls.remove(arguments));
            cut.get_mut(function).map(|calls| calls.remove(arguments));
        }
        self.0.extend(other.0);
    }

    pub(crate) fn add(&mut self, key: &Key, outcome: &CallOutcome) -> Result<(), Error> {
        let (function, arguments) = (key.function.to_string(), key.arguments.to_string());
        if Value::from_json(&arguments).is_err() {
            let message =
                "an argument contains a set or a key that isn't a string, which JSON can't express";
            return Err(Error::policy_failed(message)
                .with_hint("pass arrays, and objects with strings as keys")
                .in_call(function));
        }
        match &outcome.result {
            Ok(answer) => {
                if answer.cut {
                    let cut = self.0.cut.entry(function.clone()).or_default();
                    cut.insert(arguments.clone(), true);
                }
                self.add_value(function, arguments, &answer.value)?;
            }
            Err(error) => {
                let failure = Failure {
                    kind: error.kind(),
                    message: error.report(),
                    hint: error.hint().map(str::to_owned),
                };
                self.0.failures.entry(function).or_default().insert(arguments, failure);
            }
        }
        Ok(())
    }

    pub(crate) fn add_value(
        &mut self,
        function: String,
        arguments: String,
        value: &Value,
    ) -> Result<(), Error> {
        // Recorded as text, since a number may be of any length.
        let text = super::output::compact(value)?;
        let again = Value::from_json(&text).ok();
        // A replay turns the array back into a set for this function only.
        if function != LOOKUP && again.as_ref() != Some(value) {
            let message =
                "a response contains a set or a key that isn't a string, which JSON can't express";
            return Err(Error::policy_failed(message)
                .with_hint("let the function return arrays, and objects with strings as keys")
                .in_call(function));
        }
        let text = again.map_or(text, |value| value.to_json_pretty());
        let value = RawValue::from_string(text.replace('\n', INDENT))
            .map_err(|e| Error::internal("a response can't be recorded").with_source(e))?;
        self.0.nd_builtin_cache.entry(function).or_default().insert(arguments, value);
        Ok(())
    }

    /// Writes the file atomically, with mode 0600: on failure an earlier file remains.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when the file can't be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let failed = |e: std::io::Error| {
            let message = format!("the recording `{}` can't be written", path.display());
            Error::configuration(message).with_source(e)
        };
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            return Err(failed(std::io::Error::other("it isn't a regular file")));
        }
        let (file, mut unfinished) = create_beside(path).map_err(failed)?;
        let mut writer = BufWriter::new(&file);
        let written = self.write(&mut writer).and_then(|()| writer.flush());
        drop(writer);
        written.and_then(|()| file.sync_all()).map_err(failed)?;
        drop(file);
        std::fs::rename(&unfinished.0, path).map_err(failed)?;
        unfinished.0 = PathBuf::new();
        Ok(())
    }

    /// Writes the recording as a file contains it.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.0)?;
        out.write_all(b"\n")
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when it can't be read or isn't a recording.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text =
            bounded(path, MAX_BYTES).map_err(|error| unreadable("the recording", path, error))?;
        Self::parse(&text, path)
    }

    /// Reads a recording from the bytes that [`write`](Self::write) gave.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when they aren't a recording, or one that two readers could
    /// read differently.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Error> {
        Self::named(bytes, "this", "the recording")
    }

    /// Reads a recording from the text of the file at `path`.
    #[doc(hidden)]
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        let path = format!("`{}`", path.display());
        Self::named(text, &path, &format!("the recording {path}"))
    }

    /// Reads a recording, which errors call `called`, and `recording` where it is known to be one.
    fn named(text: &[u8], called: &str, recording: &str) -> Result<Self, Error> {
        let wrong = |message: String| Error::configuration(message);
        let failed = |what: &str| wrong(format!("{recording} {what}"));
        let contents: Contents = serde_json::from_slice(text).map_err(|e| {
            wrong(format!("{called} isn't a recording")).with_source(shorten(&e.to_string(), 300))
        })?;
        recording_checks::reject_duplicate_keys(text)
            .map_err(|wrong| failed("isn't valid").with_source(wrong))?;
        if contents.version != VERSION {
            let message =
                format!("has version {}; only version {VERSION} is supported", contents.version);
            return Err(failed(&message).with_hint("record it again"));
        }
        let times = contents.nd_builtin_cache.get(NOW).into_iter().flatten();
        if let Some((_, time)) = times.into_iter().find(|(_, at)| at.get().parse::<i64>().is_err())
        {
            let time = shorten(time.get(), 80);
            let message = format!("has the time `{time}`, which isn't in whole nanoseconds");
            return Err(failed(&message).with_hint("record it again"));
        }
        if let Some((function, arguments)) = contents.contradiction() {
            let call = shorten(&format!("{function}({arguments})"), 200);
            return Err(failed(&format!("has two outcomes of the call {call}"))
                .with_hint("record it again"));
        }
        Ok(Self(contents.respelt()))
    }

    /// Returns the full names of the functions whose calls are recorded.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let answered = self.0.nd_builtin_cache.keys();
        answered.chain(self.0.failures.keys()).chain(self.0.cut.keys()).map(String::as_str)
    }
}

/// Iterates over the calls with an outcome of one sort.
fn calls<T>(
    all: &BTreeMap<String, ByArguments<T>>,
) -> impl Iterator<Item = ((&str, &str), &T)> + '_ {
    all.iter().flat_map(|(function, calls)| {
        calls.iter().map(|(arguments, outcome)| ((function.as_str(), arguments.as_str()), outcome))
    })
}

impl Contents {
    fn extend(&mut self, other: Self) {
        fn add<T>(
            to: &mut BTreeMap<String, ByArguments<T>>,
            more: BTreeMap<String, ByArguments<T>>,
        ) {
            for (function, calls) in more {
                to.entry(function).or_default().extend(calls);
            }
        }
        add(&mut self.nd_builtin_cache, other.nd_builtin_cache);
        add(&mut self.failures, other.failures);
        add(&mut self.cut, other.cut);
    }

    /// Writes the arguments of all calls in the one way in which calls are looked up.
    fn respelt(self) -> Self {
        fn respell<T>(all: BTreeMap<String, ByArguments<T>>) -> BTreeMap<String, ByArguments<T>> {
            let respell = |arguments: String| {
                let value = Value::from_json(&arguments).ok();
                value.and_then(|value| super::output::compact(&value).ok()).unwrap_or(arguments)
            };
            let calls = |(function, calls): (String, ByArguments<T>)| {
                (
                    function,
                    calls.into_iter().map(|(args, outcome)| (respell(args), outcome)).collect(),
                )
            };
            all.into_iter().map(calls).collect()
        }
        Self {
            nd_builtin_cache: respell(self.nd_builtin_cache),
            failures: respell(self.failures),
            cut: respell(self.cut),
            ..self
        }
    }

    /// Returns a call with two outcomes: its arguments are written in two ways, or it has both an
    /// answer and a failure.
    fn contradiction(&self) -> Option<(&str, &str)> {
        let mut seen = BTreeSet::new();
        let answered = calls(&self.nd_builtin_cache).map(|(call, _)| call);
        let mut all = answered.chain(calls(&self.failures).map(|(call, _)| call));
        all.find(|(function, arguments)| {
            let value = Value::from_json(arguments).unwrap_or_else(|_| Value::from(*arguments));
            !seen.insert((*function, value))
        })
    }

    /// Returns a call whose outcomes here and there differ: in the answer, or in the kind of the
    /// failure. The arguments of both are written in one way.
    fn differs<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str)> {
        let answers = calls(&other.nd_builtin_cache).find(|((function, arguments), there)| {
            let here = find(&self.nd_builtin_cache, function, arguments);
            let is_cut = |of: &Self| find(&of.cut, function, arguments).copied();
            // The time and random values are an evaluation's own.
            !NONDETERMINISTIC.contains(function)
                && (find(&self.failures, function, arguments).is_some()
                    || here.is_some_and(|here| {
                        let same = || exact(here).ok() == exact(there).ok();
                        here.get() != there.get() && !same() || is_cut(self) != is_cut(other)
                    }))
        });
        let failures = || {
            calls(&other.failures).find(|((function, arguments), there)| {
                let here = find(&self.failures, function, arguments);
                find(&self.nd_builtin_cache, function, arguments).is_some()
                    || here.is_some_and(|here| here.kind != there.kind)
            })
        };
        answers.map(|(call, _)| call).or_else(|| failures().map(|(call, _)| call))
    }
}

/// A temporary file that is removed unless it is renamed to its final name.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// Creates a new file in the folder of `path`, accessible to its owner only.
fn create_beside(path: &Path) -> std::io::Result<(File, Unfinished)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut tries = 0;
    loop {
        // The name can't be predicted, and an existing file is never opened.
        let name = format!(".recording-{:016x}", RandomState::new().hash_one(tries));
        let path = folder.join(name);
        match options.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && tries < 100 => {
                tries += 1;
            }
            Err(error) => return Err(error),
            Ok(file) => return Ok((file, Unfinished(path))),
        }
    }
}

/// A recording as the source of answers.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
}

impl Replay {
    /// Creates a replay that answers from `recording` and nothing else.
    pub const fn new(recording: Recording) -> Self {
        Self { recording }
    }

    /// Returns the recorded outcome of a call. Anything can be the outcome of a call of the host's.
    pub(crate) fn answer(&self, key: &Key, of_host: bool) -> Result<Answer, Error> {
        let (function, arguments) = (key.function.as_ref(), key.arguments.as_ref());
        let recording = &self.recording.0;
        if let Some(value) = find(&recording.nd_builtin_cache, function, arguments) {
            let value = exact(value)?;
            let form = if of_host { Ok(None) } else { recording_checks::check(key, &value) };
            let form = form.map_err(|what| recording_checks::tampered(key, &what))?;
            let cut = find(&recording.cut, function, arguments).copied().unwrap_or(false);
            return Ok(Answer { cut, form, ..Answer::from(value) });
        }
        if let Some(failure) = find(&recording.failures, function, arguments) {
            let possible =
                if of_host { Ok(()) } else { recording_checks::check_failure(key, failure.kind) };
            possible.map_err(|what| recording_checks::tampered(key, &what))?;
            let prefix = format!("{function}: ");
            let message = failure.message.strip_prefix(&prefix).unwrap_or(&failure.message);
            let error = Error::new(failure.kind, message);
            return Err(error.with_optional_hint(failure.hint.clone()));
        }
        let message =
            format!("the recording has no response for the call with {}", shorten(arguments, 200));
        Err(Error::not_answered(message)
            .with_hint("record again with the same policies and inputs"))
    }

    /// Returns the recorded values of nondeterministic built-ins.
    pub(crate) fn fixed(&self) -> Vec<Fixed> {
        let mut out = Vec::new();
        for function in NONDETERMINISTIC {
            let calls = self.recording.0.nd_builtin_cache.get(function);
            for (arguments, value) in calls.into_iter().flatten() {
                let arguments = Value::from_json(arguments).ok();
                let arguments = arguments.and_then(|value| value.as_array().cloned());
                if let (Some(arguments), Ok(value)) = (arguments, exact(value)) {
                    out.push((function, arguments, value));
                }
            }
        }
        out
    }
}

fn exact(value: &RawValue) -> Result<Value, Error> {
    Value::from_json(value.get()).map_err(|wrong| {
        Error::configuration("the recording holds a value that can't be read").with_source(wrong)
    })
}

fn find<'a, T>(
    map: &'a BTreeMap<String, ByArguments<T>>,
    function: &str,
    arguments: &str,
) -> Option<&'a T> {
    map.get(function)?.get(arguments)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that is asked for")]
fn kind_name<S: serde::Serializer>(kind: &ErrorKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

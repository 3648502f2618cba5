//! Recordings: files with every answer that an evaluation used, from which it can be replayed.
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
use super::recorded;
use crate::builtins::Answer;
use crate::flight::CallOutcome;
use crate::flight::Key;
use crate::text::shorten;
use crate::unreadable::unreadable;
use crate::{Error, ErrorKind};

/// The version of the format, so that a later one is refused instead of misread.
const VERSION: u32 = 1;

/// The indentation of an answer's lines, which are three levels deep.
const INDENT: &str = "\n      ";

type ByArguments<T> = BTreeMap<String, T>;

/// The answers of one or more evaluations.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    version: u32,
    nd_builtin_cache: BTreeMap<String, ByArguments<Box<RawValue>>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, ByArguments<Failure>>,
    /// The calls whose list the author's `limit` cut.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cut: BTreeMap<String, ByArguments<bool>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    #[serde(serialize_with = "kind_name", deserialize_with = "recorded::kind")]
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Recording {
    /// Creates an empty recording.
    pub fn new() -> Self {
        Self { version: VERSION, ..Self::default() }
    }

    /// Returns the number of recorded calls.
    pub fn len(&self) -> usize {
        let ok: usize = self.nd_builtin_cache.values().map(BTreeMap::len).sum();
        ok + self.failures.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Returns `true` if no call is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the calls of another recording.
    pub fn merge(&mut self, other: Self) {
        for (function, calls) in other.nd_builtin_cache {
            self.nd_builtin_cache.entry(function).or_default().extend(calls);
        }
        for (function, calls) in other.failures {
            self.failures.entry(function).or_default().extend(calls);
        }
        for (function, calls) in other.cut {
            self.cut.entry(function).or_default().extend(calls);
        }
    }

    pub(crate) fn add(&mut self, key: &Key, outcome: &CallOutcome) -> Result<(), Error> {
        let (function, arguments) = (key.function.to_string(), key.arguments.to_string());
        match &outcome.result {
            Ok(answer) => {
                if answer.cut {
                    let cut = self.cut.entry(function.clone()).or_default();
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
                self.failures.entry(function).or_default().insert(arguments, failure);
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
        let text = Value::from_json(&text).map(|value| value.to_json_pretty()).unwrap_or(text);
        let value = RawValue::from_string(text.replace('\n', INDENT)).map_err(|e| {
            Error::new(ErrorKind::Internal, "an answer can't be recorded").with_source(e)
        })?;
        self.nd_builtin_cache.entry(function).or_default().insert(arguments, value);
        Ok(())
    }

    /// Writes the file atomically, with mode 0600: on failure an earlier file remains.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when the file can't be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let failed = |e: std::io::Error| {
            let message = format!("the recording `{}` can't be written", path.display());
            Error::new(ErrorKind::Configuration, message).with_source(e)
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
    pub(crate) fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when it can't be read or isn't a recording.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|error| unreadable("the recording", path, error))?;
        Self::parse(&text, path)
    }

    /// Reads a recording from the text of the file at `path`.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        let failed = |what: &str| {
            let message = format!("the recording `{}` {what}", path.display());
            Error::new(ErrorKind::Configuration, message)
        };
        let other = |path: &Path| {
            let message = format!("`{}` isn't a recording", path.display());
            Error::new(ErrorKind::Configuration, message)
        };
        let recording: Self = serde_json::from_slice(text)
            .map_err(|e| other(path).with_source(shorten(&e.to_string(), 300)))?;
        recorded::reject_duplicate_keys(text)
            .map_err(|wrong| failed("isn't valid").with_source(wrong))?;
        if recording.version != VERSION {
            let message =
                format!("has version {}; only version {VERSION} is supported", recording.version);
            return Err(failed(&message).with_hint("record it again"));
        }
        let times = recording.nd_builtin_cache.get(NOW).into_iter().flatten();
        if let Some((_, time)) = times.into_iter().find(|(_, at)| at.get().parse::<i64>().is_err())
        {
            let time = shorten(time.get(), 80);
            let message = format!("has the time `{time}`, which isn't in whole nanoseconds");
            return Err(failed(&message).with_hint("record it again"));
        }
        if let Some((function, arguments)) = recording.contradiction() {
            let call = shorten(&format!("{function}({arguments})"), 200);
            return Err(failed(&format!("has two outcomes of the call {call}"))
                .with_hint("record it again"));
        }
        Ok(recording)
    }

    /// Returns the full names of the functions whose calls are recorded.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let answered = self.nd_builtin_cache.keys();
        answered.chain(self.failures.keys()).chain(self.cut.keys()).map(String::as_str)
    }

    /// Returns a call with two outcomes: its arguments are written in two ways, or it has both an
    /// answer and a failure.
    fn contradiction(&self) -> Option<(&str, &str)> {
        fn calls<T>(all: &BTreeMap<String, ByArguments<T>>) -> impl Iterator<Item = (&str, &str)> {
            all.iter().flat_map(|(function, calls)| {
                calls.keys().map(|arguments| (function.as_str(), arguments.as_str()))
            })
        }
        let mut seen = BTreeSet::new();
        calls(&self.nd_builtin_cache).chain(calls(&self.failures)).find(|(function, arguments)| {
            let value = Value::from_json(arguments).unwrap_or_else(|_| Value::from(*arguments));
            !seen.insert((*function, value))
        })
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

    pub(crate) fn answer(&self, key: &Key) -> Result<Answer, Error> {
        let (function, arguments) = (key.function.as_ref(), key.arguments.as_ref());
        let recording = &self.recording;
        if let Some(value) = find(&recording.nd_builtin_cache, function, arguments) {
            let value = exact(value)?;
            let form =
                recorded::check(key, &value).map_err(|what| recorded::tampered(key, &what))?;
            let cut = find(&recording.cut, function, arguments).copied().unwrap_or(false);
            return Ok(Answer { cut, form, ..Answer::from(value) });
        }
        if let Some(failure) = find(&recording.failures, function, arguments) {
            recorded::check_failure(key, failure.kind)
                .map_err(|what| recorded::tampered(key, &what))?;
            let prefix = format!("{function}: ");
            let message = failure.message.strip_prefix(&prefix).unwrap_or(&failure.message);
            let error = Error::new(failure.kind, message);
            return Err(match &failure.hint {
                Some(hint) => error.with_hint(hint.clone()),
                None => error,
            });
        }
        let message =
            format!("the recording has no answer for the call with {}", shorten(arguments, 200));
        Err(Error::new(ErrorKind::NotAnswered, message)
            .with_hint("record again with the same policies and inputs"))
    }

    /// Returns the recorded values of nondeterministic built-ins.
    pub(crate) fn fixed(&self) -> Vec<Fixed> {
        let mut out = Vec::new();
        for function in NONDETERMINISTIC {
            let calls = self.recording.nd_builtin_cache.get(function);
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
        Error::new(ErrorKind::Configuration, "the recording holds a value that can't be read")
            .with_source(wrong)
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

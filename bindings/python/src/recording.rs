//! Recordings, and evaluations with everything that is known of them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rego_platform::Error;
use rego_platform::evaluate::{self, Evaluated};

use crate::convert;
use crate::error::{raised, serialized, undefined};

/// The responses to the calls of one or more evaluations.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Recording(pub evaluate::Recording);

/// A source of recorded responses.
#[derive(FromPyObject)]
pub(crate) enum Replay<'py> {
    Recording(PyRef<'py, Recording>),
    File(PathBuf),
}

impl Replay<'_> {
    /// Returns what reads the recording, without Python's lock.
    pub fn source(self) -> ReplaySource {
        match self {
            Self::Recording(recording) => ReplaySource::Recording(recording.0.clone()),
            Self::File(path) => ReplaySource::File(path),
        }
    }
}

/// A recording that is or isn't read yet.
pub(crate) enum ReplaySource {
    Recording(evaluate::Recording),
    File(PathBuf),
}

impl ReplaySource {
    /// Reads the recording.
    pub fn replay(self) -> Result<evaluate::Replay, Error> {
        let recording = match self {
            Self::Recording(recording) => recording,
            Self::File(path) => evaluate::Recording::load(&path)?,
        };
        Ok(evaluate::Replay::new(recording))
    }
}

#[pymethods]
impl Recording {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = py.detach(|| evaluate::Recording::load(&path));
        loaded.map(Self).map_err(|error| raised(py, &error))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        evaluate::Recording::from_slice(data).map(Self).map_err(|error| raised(py, &error))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(|error| raised(py, &error))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        self.0.write(&mut bytes)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns a recording with the responses of both.
    fn merged(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let mut merged = self.0.clone();
        merged.merge(other.0.clone()).map_err(|error| raised(py, &error))?;
        Ok(Self(merged))
    }

    fn functions(&self) -> Vec<String> {
        let mut names: Vec<_> = self.0.functions().map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// The value of a query, its prints, its calls and its recording.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Evaluation {
    pub query: String,
    pub evaluated: Evaluated,
}

/// Returns the value of a query.
pub(crate) fn value_of(py: Python<'_>, query: &str, evaluated: &Evaluated) -> PyResult<Py<PyAny>> {
    let output = evaluated.result.as_ref().map_err(|error| raised(py, error))?;
    if output.is_undefined() {
        return Err(undefined(py, query));
    }
    convert::object(py, output.required().map_err(|error| raised(py, &error))?)
}

#[pymethods]
impl Evaluation {
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        value_of(py, &self.query, &self.evaluated)
    }

    #[getter]
    fn error(&self, py: Python<'_>) -> Option<PyErr> {
        value_of(py, &self.query, &self.evaluated).err()
    }

    #[getter]
    fn ledger(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        serialized(py, &self.evaluated.ledger)
    }

    /// Returns the ledger as a table for people.
    fn table(&self) -> String {
        self.evaluated.ledger.table()
    }

    #[getter]
    fn prints(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let prints = self.evaluated.prints.iter().map(|print| {
            serde_json::json!({"file": print.file, "line": print.line, "message": print.message})
        });
        serialized(py, &prints.collect::<Vec<_>>())
    }

    /// Returns the responses that a replay of this evaluation needs.
    fn recording(&self, py: Python<'_>) -> PyResult<Recording> {
        self.evaluated.recording().map(Recording).map_err(|error| raised(py, &error))
    }
}

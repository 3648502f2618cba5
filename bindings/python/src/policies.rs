//! Loaded policies: queries, and verdicts about documents.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use rego_platform::evaluate::{self, Answers, Cancellation, EvaluateOptions, Query};
use rego_platform::{Error, Value};
use rego_platform_gate::model::{AnsweredBy, Run, Tool};
use rego_platform_gate::{Gate, GateOptions, InputSource, RunOptions};

use crate::error::{raised, serialized};
use crate::loading::{Arguments, Given};
use crate::recording::{Evaluation, Replay, value_of};
use crate::running::{self, Finish, Operation};
use crate::service::Service;
use crate::{arrow, convert};

/// The most queries that are kept prepared.
const MAX_QUERIES: usize = 1_000;

/// An object, or JSON in a `str` or `bytes`.
type Input<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Policies, loaded once and evaluated often, from any thread.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Policies {
    loaded: evaluate::Policies,
    /// The same files as a gate; an error if they aren't one.
    gate: Result<Arc<Gate>, Error>,
    answers: Answers,
    answered_by: AnsweredBy,
    queries: Mutex<HashMap<String, Arc<Query>>>,
}

#[pymethods]
impl Policies {
    #[staticmethod]
    #[pyo3(signature = (given, *, service=None, replay=None, product=None, allow_warnings=false))]
    fn load(
        py: Python<'_>,
        given: Arguments<'_>,
        service: Option<&Service>,
        replay: Option<Replay<'_>>,
        product: Option<&str>,
        allow_warnings: bool,
    ) -> PyResult<Self> {
        let given = Given::new(given)?;
        let platform = service.map(|service| service.platform.clone());
        let replay = replay.map(Replay::source);
        let load = || {
            let load = given.options(product, platform.as_ref())?;
            let (answers, answered_by) = match (platform, replay) {
                (Some(platform), None) => (Answers::Service(platform), AnsweredBy::Service),
                (None, Some(replay)) => {
                    (Answers::Replay(replay.replay()?.into()), AnsweredBy::Replay)
                }
                (None, None) => {
                    let hint = "load the policies with `service=Service.from_context()`";
                    (Answers::Unavailable(hint.to_owned()), AnsweredBy::None)
                }
                (Some(_), Some(_)) => {
                    return Err(Error::configuration(
                        "conflicting arguments: `service` and `replay`",
                    ));
                }
            };
            // Read once, so that queries and the gate have the same policies whatever is written meanwhile.
            let mut options = GateOptions::default();
            options.fetched = given.content();
            let gathered = given.gather()?;
            let loaded = evaluate::Policies::load(&gathered.clone().sources()?, load.clone())?;
            (options.load, options.allow_warnings) = (load, allow_warnings);
            let gate = Gate::load_gathered(gathered, &options).map(Arc::new);
            Ok(Self { loaded, gate, answers, answered_by, queries: Mutex::default() })
        };
        py.detach(load).map_err(|error| raised(py, &error))
    }

    /// Returns the value of a query, or with `details` an [`Evaluation`].
    #[pyo3(signature = (query, input, *, timeout=None, details=false, wake=None))]
    fn evaluate(
        &self,
        py: Python<'_>,
        query: String,
        input: Input<'_>,
        timeout: Option<f64>,
        details: bool,
        wake: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let input = match input {
            (Some(_), Some(_)) => {
                return Err(PyTypeError::new_err(
                    "conflicting arguments: `input` and `input_json`",
                ));
            }
            (Some(object), None) => Some(convert::value(&object)?),
            (None, Some(json)) => Some(parsed(&json)?),
            (None, None) => None,
        };
        let mut options = self.options(timeout)?;
        let prepared = py.detach(|| self.query(&query)).map_err(|error| raised(py, &error))?;
        let finish = move |py: Python<'_>, evaluated| {
            if details {
                return Ok(Py::new(py, Evaluation { query, evaluated })?.into_any());
            }
            value_of(py, &query, &evaluated)
        };
        // No signal is handled on another thread: it evaluates itself, which takes less time.
        if wake.is_none() && !running::is_main_thread(py)? {
            let evaluated = py.detach(|| self.loaded.evaluate(&prepared, input.as_ref(), &options));
            return finish(py, evaluated);
        }
        options.pool = Some(running::pool());
        let (policies, prepared) = (self.loaded.clone(), Query::clone(&prepared));
        let operation: Operation = Box::pin(async move {
            let evaluated = policies.evaluate_async(prepared, input, options).await;
            Box::new(move |py: Python<'_>| finish(py, evaluated)) as Finish
        });
        running::run(py, operation, wake)
    }

    /// Returns the report about documents, and writes a recording if `record` names a file.
    #[pyo3(signature = (documents, *, timeout=None, record=None, wake=None))]
    fn gate(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyDict>,
        timeout: Option<f64>,
        record: Option<PathBuf>,
        wake: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut places = Vec::with_capacity(documents.len());
        for (name, document) in documents {
            let json = match document.cast::<PyBytes>() {
                Ok(bytes) => bytes.as_bytes().to_vec(),
                Err(_) => convert::value(&document)?.to_json().into_bytes(),
            };
            places.push(InputSource::Document(name.extract()?, json.into()));
        }
        let mut options = self.run_options(timeout)?;
        options.record = record.is_some();
        let run = self.run(places, options, record);
        let operation: Operation = Box::pin(async move {
            let run = run.await;
            Box::new(move |py: Python<'_>| {
                serialized(py, &run.map_err(|error| raised(py, &error))?)
            }) as Finish
        });
        running::run(py, operation, wake)
    }

    #[pyo3(signature = (batch, *, document="document", name=None, timeout=None))]
    fn gate_arrow(
        &self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
        document: &str,
        name: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let mut options = self.run_options(timeout)?;
        // The whole as a part, so that each input says which row it is of.
        options.shard = "1/1".parse().ok();
        let mut documents = arrow::documents(&batch.0, document, name)?;
        let places = std::mem::take(&mut documents.places);
        let run = (!places.is_empty()).then(|| self.run(places, options, None));
        let operation: Operation = Box::pin(async move {
            let run = match run {
                Some(run) => run.await.map(Some),
                None => Ok(None),
            };
            Box::new(move |py: Python<'_>| {
                let run = run.map_err(|error| raised(py, &error))?;
                let verdicts = arrow::verdicts(run.as_ref(), &documents)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?;
                Ok(PyArrowType(verdicts).into_pyobject(py)?.unbind())
            }) as Finish
        });
        running::run(py, operation, None)
    }

    fn packages(&self) -> Vec<String> {
        self.loaded.packages().map(|package| package.path.join(".")).collect()
    }
}

impl Policies {
    fn options(&self, timeout: Option<f64>) -> PyResult<EvaluateOptions> {
        let mut options = EvaluateOptions::new(self.answers.clone());
        if let Some(seconds) = timeout {
            options.budget.timeout = Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(format!("`timeout`: {error}")))?;
        }
        Ok(options)
    }

    fn run_options(&self, timeout: Option<f64>) -> PyResult<RunOptions> {
        let tool = Tool::new("rego-platform", env!("CARGO_PKG_VERSION"));
        Ok(RunOptions::new(self.options(timeout)?, self.answered_by, tool))
    }

    /// Runs the gate on threads of its own.
    fn run(
        &self,
        places: Vec<InputSource>,
        mut options: RunOptions,
        record: Option<PathBuf>,
    ) -> impl Future<Output = Result<Run, Error>> + Send + use<> {
        let gate = self.gate.clone();
        let cancellation = Cancellation::new();
        options.evaluate.cancellation = Some(cancellation.clone());
        running::blocking(cancellation, move || {
            let (run, recording) = gate?.run(places, &options, &mut ())?;
            if let (Some(path), Some(recording)) = (record, recording) {
                recording.save(&path)?;
            }
            Ok(run)
        })
    }

    /// Returns a query, prepared at its first use.
    fn query(&self, text: &str) -> Result<Arc<Query>, Error> {
        let lock = || self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = lock().get(text) {
            return Ok(Arc::clone(query));
        }
        let query = Arc::new(self.loaded.query(text)?);
        let mut queries = lock();
        if queries.len() >= MAX_QUERIES {
            queries.clear();
        }
        queries.insert(text.to_owned(), Arc::clone(&query));
        Ok(query)
    }
}

/// Parses JSON in a `str` or `bytes`, without Python's lock.
fn parsed(json: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refused =
        |error: String| PyValueError::new_err(format!("`input_json` isn't JSON: {error}"));
    let parse = |text: &str| {
        let value = json.py().detach(|| Value::from_json(text));
        value.map_err(|error| refused(error.to_string()))
    };
    if let Ok(bytes) = json.cast::<PyBytes>() {
        let text =
            std::str::from_utf8(bytes.as_bytes()).map_err(|error| refused(error.to_string()))?;
        return parse(text);
    }
    let text = json
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err("invalid type of `input_json`: expected str or bytes"))?;
    parse(&text.to_cow()?)
}

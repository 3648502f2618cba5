//! Loaded policies: queries, and verdicts about documents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{ReadOptions, Sources};
use rego_platform::evaluate::{self, Answers, EvaluateOptions, Query, Recording, Replay};
use rego_platform::{Error, Product, Value};
use rego_platform_gate::model::{AnsweredBy, Run, Tool};
use rego_platform_gate::{Gate, GateOptions, InputSource, RunOptions};

use crate::error::{raised, undefined};
use crate::service::Service;
use crate::{arrow, convert};

/// The most queries that are kept prepared.
const MAX_QUERIES: usize = 1_000;

/// Policies, loaded once and evaluated often, from any thread.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Policies {
    loaded: evaluate::Policies,
    /// The same files as a gate; an error if they aren't one.
    gate: Result<Gate, Error>,
    answers: Answers,
    answered_by: AnsweredBy,
    queries: Mutex<HashMap<String, Arc<Query>>>,
}

fn loaded(
    paths: &[String],
    (answers, answered_by): (Answers, AnsweredBy),
    (product, allow_warnings): (Product, bool),
) -> Result<Policies, Error> {
    let mut load = LoadOptions::default();
    load.product = product;
    // Read once, so that queries and the gate have the same policies whatever is written meanwhile.
    let gathered = Sources::gather(paths, ReadOptions::default())?;
    let policies = evaluate::Policies::load(&gathered.clone().sources()?, load.clone())?;
    let mut options = GateOptions::default();
    (options.load, options.allow_warnings) = (load, allow_warnings);
    let gate = Gate::load_gathered(gathered, &options);
    Ok(Policies { loaded: policies, gate, answers, answered_by, queries: Mutex::default() })
}

#[pymethods]
impl Policies {
    #[staticmethod]
    #[pyo3(signature = (paths, *, service=None, replay=None, product=None, allow_warnings=false))]
    fn load(
        py: Python<'_>,
        paths: Vec<String>,
        service: Option<&Service>,
        replay: Option<String>,
        product: Option<&str>,
        allow_warnings: bool,
    ) -> PyResult<Self> {
        let platform = service.map(|service| service.platform.clone());
        let load = || {
            let product = match (product, &platform) {
                (Some(name), _) => Product::new(name)?,
                (None, Some(platform)) => platform.product().clone(),
                (None, None) => Product::from_env()?,
            };
            let answers = match (platform, replay) {
                (Some(platform), None) => (Answers::Service(platform), AnsweredBy::Service),
                (None, Some(file)) => (
                    Answers::Replay(Replay::new(Recording::load(file.as_ref())?).into()),
                    AnsweredBy::Replay,
                ),
                (None, None) => {
                    let hint = "load the policies with `service=Service.from_context()`";
                    (Answers::Unavailable(hint.to_owned()), AnsweredBy::None)
                }
                (Some(_), Some(_)) => {
                    let message = "`service` and `replay` can't both answer";
                    return Err(Error::new(rego_platform::ErrorKind::Configuration, message));
                }
            };
            loaded(&paths, answers, (product, allow_warnings))
        };
        py.detach(load).map_err(|error| raised(py, &error))
    }

    #[pyo3(signature = (query, input=None, *, input_json=None, timeout=None))]
    fn evaluate(
        &self,
        py: Python<'_>,
        query: &str,
        input: Option<&Bound<'_, PyAny>>,
        input_json: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let input = match (input, input_json) {
            (Some(_), Some(_)) => {
                return Err(PyTypeError::new_err("`input` and `input_json` can't both be given"));
            }
            (Some(object), None) => Some(convert::value(object)?),
            (None, Some(json)) => Some(parsed(json)?),
            (None, None) => None,
        };
        let options = self.options(timeout)?;
        let output = py
            .detach(|| {
                let query = self.query(query)?;
                self.loaded.evaluate(&query, input.as_ref(), &options).result
            })
            .map_err(|error| raised(py, &error))?;
        if output.is_undefined() {
            return Err(undefined(py, query));
        }
        convert::object(py, output.required().map_err(|error| raised(py, &error))?)
    }

    #[pyo3(signature = (documents, *, timeout=None))]
    fn gate(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyDict>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let mut places = Vec::with_capacity(documents.len());
        for (name, document) in documents {
            let json = match document.cast::<PyBytes>() {
                Ok(bytes) => bytes.as_bytes().to_vec(),
                Err(_) => convert::value(&document)?.to_json().into_bytes(),
            };
            places.push(InputSource::Document(name.extract()?, json.into()));
        }
        let options = self.run_options(timeout)?;
        let run = py.detach(|| self.run(places, &options)).map_err(|error| raised(py, &error))?;
        let report = Value::from_serialize(&run)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        convert::object(py, &report)
    }

    #[pyo3(signature = (batch, *, document="document", name=None, timeout=None))]
    fn gate_arrow(
        &self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
        document: &str,
        name: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<PyArrowType<RecordBatch>> {
        let mut options = self.run_options(timeout)?;
        // The whole as a part, so that each input says which row it is of.
        options.shard = "1/1".parse().ok();
        let mut documents = arrow::documents(&batch.0, document, name)?;
        let places = std::mem::take(&mut documents.places);
        let run = py.detach(|| {
            if places.is_empty() {
                return Ok(None);
            }
            self.run(places, &options).map(Some)
        });
        let run = run.map_err(|error| raised(py, &error))?;
        let verdicts = arrow::verdicts(run.as_ref(), &documents)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyArrowType(verdicts))
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

    fn run(&self, places: Vec<InputSource>, options: &RunOptions) -> Result<Run, Error> {
        let gate = self.gate.as_ref().map_err(Clone::clone)?;
        Ok(gate.run(places, options, &mut ())?.0)
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
        .map_err(|_| PyTypeError::new_err("`input_json` is neither a str nor bytes"))?;
    parse(&text.to_cow()?)
}

//! The exceptions, whose classes are Python's.

use std::error::Error as _;
use std::fmt::Write as _;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rego_platform::{Error, ErrorKind, Value};

use crate::convert;

/// The module of the exceptions.
const MODULE: &str = "rego_platform._errors";

/// Converts what has a form in JSON.
pub(crate) fn serialized(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<Py<PyAny>> {
    let value = Value::from_serialize(value).map_err(|error| {
        raised(py, &Error::internal("a result can't be converted to JSON").with_source(error))
    })?;
    convert::object(py, &value)
}

/// Converts an error, with its kind, hint, function and diagnostics as attributes. An exception of a host function is
/// its cause.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut message = error.report();
    for diagnostic in error.diagnostics().iter().skip(1) {
        let at = diagnostic.position.as_ref();
        let at = at.map(|at| format!("{}:{}:{}: ", at.file, at.line, at.column));
        let _ = write!(message, "\n{}{}", at.unwrap_or_default(), diagnostic.message);
    }
    let of_first = error.diagnostics().first().and_then(|first| first.hint.as_deref());
    let hint = error.hint().or(of_first);
    if let Some(hint) = hint {
        let _ = write!(message, "\nhelp: {hint}");
    }
    let class = match error.kind() {
        ErrorKind::Policy => "PolicyError",
        ErrorKind::TimedOut => "TimedOutError",
        _ => "RegoError",
    };
    let made = || {
        let attributes = PyDict::new(py);
        attributes.set_item("kind", error.kind().code())?;
        attributes.set_item("hint", hint)?;
        attributes.set_item("function", error.function())?;
        attributes.set_item("diagnostics", serialized(py, &error.diagnostics())?)?;
        exception(py, class, &message, &attributes)
    };
    let raised = made().unwrap_or_else(|other| other);
    let own = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    if let Some(own) = own {
        raised.set_cause(py, Some(own.clone_ref(py)));
    }
    raised
}

/// Returns the exception for a query without a value.
pub(crate) fn undefined(py: Python<'_>, query: &str) -> PyErr {
    let made = || {
        let attributes = PyDict::new(py);
        attributes.set_item("kind", "undefined")?;
        attributes.set_item("hint", "compare it with the packages and rules that are loaded")?;
        let message = format!("no verdict: `{query}` is undefined");
        exception(py, "UndefinedError", &message, &attributes)
    };
    made().unwrap_or_else(|other| other)
}

fn exception(
    py: Python<'_>,
    class: &str,
    message: &str,
    attributes: &Bound<'_, PyDict>,
) -> PyResult<PyErr> {
    let class = py.import(MODULE)?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(attributes))?))
}

//! The exceptions.

use std::fmt::Write as _;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use rego_platform::Error;

create_exception!(
    rego_platform,
    RegoError,
    PyException,
    "Policies can't be loaded or evaluated. `kind` says why, `hint` what to do."
);
create_exception!(
    rego_platform,
    UndefinedError,
    RegoError,
    "A query has no value, which isn't a verdict."
);

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RegoError", py.get_type::<RegoError>())?;
    module.add("UndefinedError", py.get_type::<UndefinedError>())
}

/// Converts an error, with its kind and hint as attributes.
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
    with_attributes(py, RegoError::new_err(message), error.kind().code(), hint)
}

/// Returns the exception for a query without a value.
pub(crate) fn undefined(py: Python<'_>, query: &str) -> PyErr {
    let raised = UndefinedError::new_err(format!("`{query}` is undefined, which isn't a verdict"));
    let hint = "compare it with the packages and rules that are loaded";
    with_attributes(py, raised, "undefined", Some(hint))
}

fn with_attributes(py: Python<'_>, raised: PyErr, kind: &str, hint: Option<&str>) -> PyErr {
    let value = raised.value(py);
    match value.setattr("kind", kind).and_then(|()| value.setattr("hint", hint)) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

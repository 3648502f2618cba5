//! Values from and to Python.
//!
//! An integer has all its digits either way. A float without a fraction is an integer, as in OPA. What JSON doesn't have comes out as in JSON: a set is a list in
//! OPA's order, and a key that isn't a string is its JSON text.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple};
use rego_platform::Value;
use rego_platform::rego::value::{Number, Object, set_of};

/// The deepest nesting of an object.
const MAX_DEPTH: usize = 512;

/// Converts an object of Python.
pub(crate) fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, MAX_DEPTH)
}

fn nested(object: &Bound<'_, PyAny>, left: usize) -> PyResult<Value> {
    let Some(left) = left.checked_sub(1) else {
        return Err(PyValueError::new_err(format!(
            "value nested too deeply: the limit is {MAX_DEPTH}"
        )));
    };
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::from(&*text.to_cow()?))
    } else if let Ok(truth) = object.cast::<PyBool>() {
        Ok(Value::Bool(truth.is_true()))
    } else if let Ok(integer) = object.cast::<PyInt>() {
        match integer.extract::<i64>() {
            Ok(small) => Ok(Value::from(small)),
            Err(_) => long(&integer.str()?.to_cow()?),
        }
    } else if let Ok(float) = object.cast::<PyFloat>() {
        let refused = || PyValueError::new_err(format!("number without a JSON form: `{float}`"));
        Number::from_f64(float.value()).map(Value::from).ok_or_else(refused)
    } else if let Ok(dict) = object.cast::<PyDict>() {
        let mut members = Vec::with_capacity(dict.len());
        for (key, member) in dict {
            let Ok(key) = key.cast::<PyString>() else {
                let name = key.get_type().name()?;
                return Err(PyTypeError::new_err(format!(
                    "unsupported key of a dict: expected str, found {name}"
                )));
            };
            members.push((Value::from(&*key.to_cow()?), nested(&member, left)?));
        }
        Ok(Value::from(members.into_iter().collect::<Object>()))
    } else if let Ok(list) = object.cast::<PyList>() {
        all(list.iter(), left).map(Value::from)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        all(tuple.iter(), left).map(Value::from)
    } else if object.cast::<PySet>().is_ok() || object.cast::<PyFrozenSet>().is_ok() {
        let items = object.try_iter()?.map(|item| nested(&item?, left)).collect::<PyResult<_>>()?;
        Ok(Value::from(set_of(items)))
    } else {
        let name = object.get_type().name()?;
        let message = format!(
            "unsupported type {name}: expected dict, list, tuple, set, str, int, float, bool or None"
        );
        Err(PyTypeError::new_err(message))
    }
}

fn all<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, left: usize) -> PyResult<Vec<Value>> {
    items.map(|item| nested(&item, left)).collect()
}

fn long(text: &str) -> PyResult<Value> {
    let refused = || PyValueError::new_err(format!("number without a JSON form: `{text}`"));
    Number::parse(text).map(Value::from).ok_or_else(refused)
}

/// Converts a value to an object of Python.
pub(crate) fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Null => py.None(),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any().unbind(),
        Value::Number(own) => number_object(py, own)?,
        Value::String(text) => PyString::new(py, text).into_any().unbind(),
        Value::Array(items) => list(py, items.iter())?,
        Value::Set(items) => list(py, items.iter())?,
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (key, member) in members.iter() {
                let key = key.as_str().map_or_else(|| Cow::Owned(key.to_json()), Cow::Borrowed);
                dict.set_item(key, object(py, member)?)?;
            }
            dict.into_any().unbind()
        }
    })
}

fn number_object(py: Python<'_>, number: &Number) -> PyResult<Py<PyAny>> {
    if let Some(small) = number.as_small() {
        return Ok(small.into_pyobject(py)?.into_any().unbind());
    }
    let name = if number.is_integer_text() { "int" } else { "float" };
    Ok(py.import("builtins")?.getattr(name)?.call1((number.text(),))?.unbind())
}

fn list<'a>(py: Python<'_>, items: impl Iterator<Item = &'a Value>) -> PyResult<Py<PyAny>> {
    let items = items.map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, items)?.into_any().unbind())
}

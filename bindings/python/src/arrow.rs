//! Documents and verdicts as record batches of Arrow.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, GenericByteArray, RecordBatch};
use arrow_pyarrow::PyArrowType;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use bytes::Bytes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rego_platform_gate::InputSource;
use rego_platform_gate::model::{Outcome, Run, Violation};

fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| {
        let schema = batch.schema();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        PyValueError::new_err(format!(
            "missing column of the batch: expected `{name}`, found {}",
            names.join(", ")
        ))
    })
}

/// Returns the bytes of each row of a column of text or binary data, if it has any: those of the column itself, unless
/// its rows lie in several places.
fn rows(column: &ArrayRef, name: &str) -> PyResult<Vec<Option<Bytes>>> {
    fn of<T: ByteArrayType>(column: &GenericByteArray<T>) -> Vec<Option<Bytes>> {
        let all = Bytes::from_owner(column.values().clone());
        column.iter().map(|row| row.map(|row| all.slice_ref(row.as_ref()))).collect()
    }
    fn copies<'a, T: AsRef<[u8]> + ?Sized + 'a>(
        rows: impl Iterator<Item = Option<&'a T>>,
    ) -> Vec<Option<Bytes>> {
        rows.map(|row| row.map(|row| Bytes::copy_from_slice(row.as_ref()))).collect()
    }
    Ok(match column.data_type() {
        DataType::Utf8 => of(column.as_string::<i32>()),
        DataType::LargeUtf8 => of(column.as_string::<i64>()),
        DataType::Utf8View => copies(column.as_string_view().iter()),
        DataType::Binary => of(column.as_binary::<i32>()),
        DataType::LargeBinary => of(column.as_binary::<i64>()),
        DataType::BinaryView => copies(column.as_binary_view().iter()),
        other => {
            let message = format!(
                "unsupported type of the column `{name}`: expected string or binary, found {other}"
            );
            return Err(PyTypeError::new_err(message));
        }
    })
}

/// The documents of a batch.
pub(crate) struct Documents {
    pub places: Vec<InputSource>,
    /// The row of each document.
    rows: Vec<usize>,
    /// The number of rows.
    count: usize,
}

/// Returns the documents of a batch, named by a column or else by their rows.
pub(crate) fn documents(
    batch: &RecordBatch,
    document: &str,
    name: Option<&str>,
) -> PyResult<Documents> {
    let documents = rows(column(batch, document)?, document)?;
    let names = match name {
        None => vec![None; documents.len()],
        Some(name) => rows(column(batch, name)?, name)?,
    };
    let count = documents.len();
    let (mut places, mut rows) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (row, (document, name)) in documents.into_iter().zip(names).enumerate() {
        let Some(document) = document else { continue };
        let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
        places.push(InputSource::Document(name.unwrap_or_else(|| format!("row {row}")), document));
        rows.push(row);
    }
    Ok(Documents { places, rows, count })
}

/// Returns the schema of verdicts.
#[pyfunction]
pub(crate) fn verdict_schema() -> PyResult<PyArrowType<Schema>> {
    let empty = batch(&[]).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyArrowType(empty.schema().as_ref().clone()))
}

const VIOLATION: [&str; 7] = ["policy", "rule", "message", "class", "effect", "severity", "id"];

/// The state of one row.
#[derive(Default)]
struct Row<'a> {
    outcome: Option<Outcome>,
    digest: Option<&'a str>,
    violations: Vec<(&'a str, &'a Violation)>,
    error: Option<&'a str>,
    calls: i64,
    attempts: i64,
}

/// Returns a row for each row of documents. A row of several documents has the worst outcome of them.
pub(crate) fn verdicts(
    run: Option<&Run>,
    documents: &Documents,
) -> Result<RecordBatch, ArrowError> {
    let nothing = || Row { error: Some("the row has no document"), ..Row::default() };
    let mut rows: Vec<_> = std::iter::repeat_with(nothing).take(documents.count).collect();
    for row in &documents.rows {
        if let Some(row) = rows.get_mut(*row) {
            row.error = None;
        }
    }
    for input in run.iter().flat_map(|run| &run.inputs) {
        let place = input.place.and_then(|place| usize::try_from(place).ok());
        let row = place.and_then(|place| documents.rows.get(place));
        let Some(row) = row.and_then(|row| rows.get_mut(*row)) else { continue };
        row.outcome = row.outcome.max(Some(input.outcome));
        row.digest = row.digest.or(input.digest.as_deref());
        let of_verdicts = input.verdicts.iter().filter_map(|verdict| verdict.error.as_ref());
        let error = input.error.iter().chain(of_verdicts).next();
        row.error = row.error.or(error.map(|error| error.message.as_str()));
        for verdict in &input.verdicts {
            let policy = verdict.policy.as_str();
            row.violations.extend(verdict.violations.iter().map(|found| (policy, found)));
        }
        row.calls += input.ledger.total().cast_signed();
        row.attempts += input.ledger.attempts.cast_signed();
    }
    batch(&rows)
}

fn batch(rows: &[Row<'_>]) -> Result<RecordBatch, ArrowError> {
    let (mut outcomes, mut digests, mut errors) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut calls, mut attempts) = (Int64Builder::new(), Int64Builder::new());
    let fields: Fields =
        VIOLATION.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    let mut violations = ListBuilder::new(StructBuilder::from_fields(fields, rows.len()));
    for row in rows {
        // A row that wasn't evaluated has no verdict.
        outcomes.append_value(name(row.outcome.unwrap_or(Outcome::NoVerdict)));
        digests.append_option(row.digest);
        errors.append_option(row.error);
        calls.append_value(row.calls);
        attempts.append_value(row.attempts);
        for (policy, found) in &row.violations {
            let (class, effect) = (word(&found.class), word(&found.effect));
            let texts = [
                Some(*policy),
                Some(&found.rule),
                Some(&found.message),
                class.as_deref(),
                effect.as_deref(),
                found.severity.as_deref(),
                found.id.as_deref(),
            ];
            let one = violations.values();
            for (index, text) in texts.into_iter().enumerate() {
                if let Some(field) = one.field_builder::<StringBuilder>(index) {
                    field.append_option(text);
                }
            }
            one.append(true);
        }
        violations.append(true);
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("outcome", Arc::new(outcomes.finish())),
        ("violations", Arc::new(violations.finish())),
        ("error", Arc::new(errors.finish())),
        ("digest", Arc::new(digests.finish())),
        ("calls", Arc::new(calls.finish())),
        ("attempts", Arc::new(attempts.finish())),
    ];
    let nullable = |name: &str| ["error", "digest"].contains(&name);
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, nullable(name))),
    )
}

/// Returns an outcome as the JSON report has it.
const fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NoVerdict => "no_verdict",
    }
}

/// Returns a word as the JSON report has it.
fn word(of: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(of).ok()?.as_str().map(str::to_owned)
}

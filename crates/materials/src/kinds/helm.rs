//! `HELM_CHART`: the archive of a chart. Policies see its metadata only.

use std::ops::ControlFlow;

use rego::Value;
use rego::internal::yaml;

use crate::file::File;
use crate::material::{Material, NotOfKind};
use crate::{archive, xml};

const CHART: &str = "Chart.yaml";
const VALUES: &str = "values.yaml";

/// Reads a gzipped tar with the chart and its values.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (mut has_chart, mut has_values) = (false, false);
    let is_wanted = |name: &str| name.contains(CHART) || name.contains(VALUES);
    archive::tar_gz(file.bytes, is_wanted, &mut |name, bytes| {
        let wrong = |error: String| format!("{name}: {error}");
        let is_chart = name.contains(CHART);
        match mapping(bytes).map_err(wrong)? {
            Some(Value::Object(_)) => {}
            None if !is_chart => {}
            _ => return Err(wrong("no mapping".to_owned())),
        }
        has_chart |= is_chart;
        has_values |= !is_chart;
        let is_done = has_chart && has_values;
        Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    match (has_chart, has_values) {
        (false, _) => Err(NotOfKind::new(format!("the archive lacks {CHART}"))),
        (_, false) => Err(NotOfKind::new(format!("the archive lacks {VALUES}"))),
        _ => Ok(Material::new(file, Value::new_object())),
    }
}

/// Returns the first document of a YAML file, if there is one.
fn mapping(bytes: &[u8]) -> Result<Option<Value>, String> {
    let read = yaml::read(xml::utf8(bytes)?, &mut Unmetered, yaml::Limits::FILE);
    read.map(|document| document.value).map_err(|error| error.message)
}

/// Reads without limits of its own.
pub(crate) struct Unmetered;

impl yaml::Host for Unmetered {
    fn charge(&mut self, _: u64) -> bool {
        true
    }
}

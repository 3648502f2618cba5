//! `HELM_CHART`: the archive of a chart. Policies see its metadata only.

use std::ops::ControlFlow;

use rego::Value;

use crate::file::File;
use crate::material::{Material, NotOfKind};
use crate::{archive, text};

const CHART: &str = "Chart.yaml";
const VALUES: &str = "values.yaml";

/// Reads a gzipped tar with the chart and its values.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (mut has_chart, mut has_values) = (false, false);
    let is_wanted = |name: &str| name.contains(CHART) || name.contains(VALUES);
    archive::tar_gz(file.bytes, is_wanted, &mut |name, bytes| {
        let invalid = |error: String| format!("{name}: {error}");
        let is_chart = name.contains(CHART);
        match text::yaml(bytes).map_err(invalid)? {
            Some(Value::Object(_)) => {}
            None if !is_chart => {}
            _ => return Err(invalid("no mapping".to_owned())),
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

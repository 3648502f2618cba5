//! `SARIF`: results of static analysis.

use super::{missing, scans, typed};
use crate::file::File;
use crate::json::Json;
use crate::material::{Material, NotOfKind};

pub(super) const TYPES: &str = include_str!("../types/sarif.txt");

/// The mark of the vendor whose runs name their engines.
const CHECKMARX: &str = "checkmarx";

/// Reads a log with a `$schema`, whatever it is.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "Report")?;
    let root = document.root();
    if root.text_at(&["$schema"]).is_empty() {
        return Err(missing("$schema"));
    }
    let runs = root.elements_at(&["runs"]);
    let driver = runs.first().and_then(|run| run.at(&["tool", "driver"]));
    let Some(driver) = driver.filter(|driver| !driver.is_null()) else { return Ok(material) };
    let results =
        runs.iter().filter(|run| is_checkmarx(**run)).flat_map(|run| run.elements_at(&["results"]));
    let types =
        scans::scan_types(results.filter_map(|result| engine(&result.text_at(&["ruleId"]))));
    let material = material.without_size().annotate_text("tool.name", &driver.text_at(&["name"]));
    Ok(material
        .annotate_text("tool.version", &driver.text_at(&["version"]))
        .annotate_text("scan.types", &types))
}

/// Returns `true` for a run whose driver or one of whose rules names Checkmarx.
fn is_checkmarx(run: Json<'_>) -> bool {
    let Some(driver) = run.at(&["tool", "driver"]) else { return false };
    let rules = driver.elements_at(&["rules"]).into_iter();
    let mut tags = rules.flat_map(|rule| rule.elements_at(&["properties", "tags"]));
    driver.text_at(&["name"]).to_lowercase().contains(CHECKMARX)
        || tags.any(|tag| tag.text().is_some_and(|tag| tag.to_lowercase() == CHECKMARX))
}

/// Returns the engine at the end of a rule's id, such as `sast` of `Loop (sast)`.
fn engine(rule: &str) -> Option<String> {
    let (_, engine) = rule.trim().strip_suffix(')')?.rsplit_once('(')?;
    Some(engine.trim().to_owned())
}

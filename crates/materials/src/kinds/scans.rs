//! `BLACKDUCK_SCA_JSON`, `CHECKMARX_JSON`, `GITLAB_SECURITY_REPORT`, `OSSF_SCORECARD_JSON` and
//! `TWISTCLI_SCAN_JSON`: reports of scanners.

use std::collections::BTreeSet;

use super::{missing, typed};
use crate::file::File;
use crate::json::Json;
use crate::material::{Material, NotOfKind};

pub(super) const TYPES: &str = include_str!("../types/scans.txt");

/// The types of scans in GitLab's reports.
const GITLAB_TYPES: [&str; 9] = [
    "sast",
    "dast",
    "api_fuzzing",
    "coverage_fuzzing",
    "secret_detection",
    "dependency_scanning",
    "container_scanning",
    "container_scanning_for_registry",
    "cluster_image_scanning",
];

/// Checkmarx's engines with the types of scans that policies know.
const ENGINES: [(&str, &str); 5] = [
    ("sast", "sast"),
    ("sca", "sca"),
    ("kics", "iac"),
    ("containers", "container"),
    ("sscs", "supply-chain"),
];

/// Returns the known types of scans of Checkmarx's engines, sorted, with commas between them.
pub(super) fn scan_types(engines: impl Iterator<Item = String>) -> String {
    let known = engines.filter_map(|engine| {
        let engine = engine.to_lowercase();
        ENGINES.iter().find(|(own, _)| *own == engine).map(|(_, of)| *of)
    });
    known.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
}

/// Returns `true` for a member that is there and isn't `null`.
fn is_given(document: Json<'_>, name: &str) -> bool {
    document.member(name).is_some_and(|value| !value.is_null())
}

/// Reads an analysis by Black Duck.
pub(crate) fn read_blackduck(file: &File<'_>) -> Result<Material, NotOfKind> {
    const REQUIRED: [&str; 3] =
        ["detailedVulnerabilities", "detailedProjectVersionCustomFields", "detailedCodeLocations"];
    let (document, material) = typed(file, TYPES, "BlackDuck")?;
    match REQUIRED.iter().find(|name| !is_given(document.root(), name)) {
        Some(name) => Err(missing(name)),
        None => Ok(material),
    }
}

/// Reads a scan by twistcli.
pub(crate) fn read_twistcli(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "Twistcli")?;
    let root = document.root();
    if !is_given(root, "results") {
        return Err(missing("results"));
    }
    if root.text_at(&["consoleURL"]).is_empty() {
        return Err(missing("consoleURL"));
    }
    Ok(material)
}

/// Reads results of Checkmarx.
pub(crate) fn read_checkmarx(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "Checkmarx")?;
    let root = document.root();
    if root.text_at(&["scanID"]).is_empty() {
        return Err(missing("scanID"));
    }
    let Some(results) = root.member("results") else { return Err(missing("results")) };
    let results = results.elements().unwrap_or_default();
    for (index, result) in results.iter().enumerate() {
        let lacks = |name: &&str| match *name {
            "type" => result.text_at(&["type"]).is_empty(),
            name => result.member(name).is_none(),
        };
        if let Some(name) = ["type", "data"].iter().find(|name| lacks(name)) {
            return Err(missing(&format!("results[{index}].{name}")));
        }
    }
    let types = scan_types(results.iter().map(|result| result.text_at(&["type"])));
    Ok(material.annotate("tool.name", "checkmarx").annotate_text("scan.types", &types))
}

/// Reads a security report of GitLab.
pub(crate) fn read_gitlab(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "GitLab")?;
    let root = document.root();
    let of = root.text_at(&["scan", "type"]);
    if !GITLAB_TYPES.contains(&of.as_str()) {
        return Err(NotOfKind::new(format!("unknown type of scan `{of}`")));
    }
    let tools = ["scanner", "analyzer"].into_iter();
    let mut tools = tools.filter(|tool| !root.text_at(&["scan", tool, "name"]).is_empty());
    let Some(tool) = tools.next() else { return Ok(material) };
    let text = |name: &str| root.text_at(&["scan", tool, name]);
    Ok(material.annotate("tool.name", text("name")).annotate_text("tool.version", &text("version")))
}

/// Reads a report of `OpenSSF` Scorecard.
pub(crate) fn read_scorecard(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "Scorecard")?;
    let root = document.root();
    let score = root.member("score").and_then(Json::number).unwrap_or_default().to_string();
    let version = root.text_at(&["scorecard", "version"]);
    let material = material.annotate("tool.name", "scorecard").annotate("tool.version", version);
    Ok(material.annotate("scorecard.score", score))
}

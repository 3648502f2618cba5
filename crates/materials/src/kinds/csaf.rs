//! `CSAF_*`: an advisory of a category, valid by the schema of CSAF 2.0 or 2.1.

use serde_json::{Value, json as value};

use crate::file::File;
use crate::json;
use crate::material::{Material, NotOfKind};
use crate::schema::{self, Schema};

const FILE: &str = "csaf-2.0";

static V20: Schema = Schema::new(FILE);
static V21: Schema = Schema::derived(FILE, |schema| {
    let version = "/properties/document/properties/csaf_version/enum";
    let scores = "/properties/vulnerabilities/items/properties/scores/items/properties";
    if let Some(version) = schema.pointer_mut(version) {
        *version = value!(["2.1"]);
    }
    if let Some(Value::Object(scores)) = schema.pointer_mut(scores) {
        let cvss = value!({"$ref": "https://www.first.org/cvss/cvss-v4.0.json"});
        scores.insert("cvss_v4".to_owned(), cvss);
    }
});

/// Reads an informational advisory.
pub(crate) fn read_informational_advisory(file: &File<'_>) -> Result<Material, NotOfKind> {
    read(file, "csaf_informational_advisory")
}

/// Reads a security advisory.
pub(crate) fn read_security_advisory(file: &File<'_>) -> Result<Material, NotOfKind> {
    read(file, "csaf_security_advisory")
}

/// Reads a response to an incident.
pub(crate) fn read_security_incident_response(file: &File<'_>) -> Result<Material, NotOfKind> {
    read(file, "csaf_security_incident_response")
}

/// Reads a VEX document.
pub(crate) fn read_vex(file: &File<'_>) -> Result<Material, NotOfKind> {
    read(file, "csaf_vex")
}

fn read(file: &File<'_>, category: &str) -> Result<Material, NotOfKind> {
    let advisory = schema::document(file.bytes)?;
    let own = advisory.pointer("/document/category").and_then(Value::as_str).unwrap_or_default();
    if own != category {
        return Err(NotOfKind::new(format!("unexpected category `{own}`: expected `{category}`")));
    }
    let schema = match advisory.pointer("/document/csaf_version").and_then(Value::as_str) {
        Some("2.1") => &V21,
        _ => &V20,
    };
    schema.check(&advisory, |_| false)?;
    let text = |path: &str| advisory.pointer(path).and_then(Value::as_str).unwrap_or_default();
    Ok(Material::new(file, json::input(json::only(file.bytes)?.value))
        .annotate_text("tool.name", text("/document/tracking/generator/engine/name"))
        .annotate_text("tool.version", text("/document/tracking/generator/engine/version"))
        .without_size())
}

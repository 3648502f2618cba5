//! `SBOM_CYCLONEDX_JSON`: an SBOM that is valid by the schema of CycloneDX 1.6, whatever its version.

use jsonschema::ValidationError;
use serde_json::Value;

use crate::file::File;
use crate::json;
use crate::material::{Material, NotOfKind};
use crate::reference;
use crate::schema::{self, Schema};

static SCHEMA: Schema = Schema::new("cyclonedx-1.6");

/// The property with which one scanner gives an image's digest.
const REPOSITORY_DIGEST: &str = "aquasecurity:trivy:RepoDigest";

/// Reads an SBOM.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let input = json::only(file.bytes)?.value;
    let is_format = input.get_str("bomFormat").and_then(rego::Value::as_str) == Some("CycloneDX");
    let version = input.get_str("version").and_then(rego::Value::as_number);
    // The number is an integer as written.
    let is_version = version.and_then(|number| number.text().parse::<i64>().ok());
    let has_specification = input
        .get_str("specVersion")
        .and_then(rego::Value::as_str)
        .is_some_and(|text| !text.is_empty());
    if !is_format || !has_specification || is_version.is_none_or(|version| version < 1) {
        return Err(NotOfKind::new(
            "expected `bomFormat` CycloneDX, `specVersion` and a `version` of at least 1",
        ));
    }
    let document = schema::document(file.bytes)?;
    SCHEMA.check(&document, is_let_through)?;
    let mut material = Material::new(file, json::input(input));
    if let Some(metadata) = document.get("metadata") {
        material = material.with_tools(&tools(metadata));
        let component = metadata.get("component").unwrap_or(&Value::Null);
        let (name, kind) = (text(component, "name"), text(component, "type"));
        // The client has no component for an image whose name it can't read.
        if kind != "container" || reference::repository(name).is_some() {
            material = material.with_main_component(name, kind, &version_of(component));
        }
    }
    if document.get("vulnerabilities").is_some() {
        material = material.annotate("sbom.vulnerabilities_report", "true");
    }
    Ok(material)
}

/// Returns `true` for equal components, and for `cwes` that are null, which scanners write.
fn is_let_through(error: &ValidationError<'_>) -> bool {
    let (schema, place) = (error.schema_path().as_str(), error.instance_path().as_str());
    schema == "/properties/components/uniqueItems"
        || (error.instance().is_null()
            && place.starts_with("/vulnerabilities/")
            && place.matches('/').count() == 3
            && place.ends_with("/cwes"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the tools, which are a list up to version 1.4 and components since.
fn tools(metadata: &Value) -> Vec<(String, String)> {
    let tools = metadata.get("tools").unwrap_or(&Value::Null);
    let list = tools.as_array().or_else(|| tools.get("components")?.as_array());
    let tool = |tool| (text(tool, "name").to_owned(), text(tool, "version").to_owned());
    list.into_iter().flatten().map(tool).collect()
}

/// Returns the version of the main component, or else the digest that a scanner gives.
fn version_of(component: &Value) -> String {
    let version = text(component, "version");
    if !version.is_empty() {
        return version.to_owned();
    }
    let properties = component.get("properties").and_then(Value::as_array);
    let digests = properties.into_iter().flatten().filter_map(|property| {
        let (_, digest) = text(property, "value").split_once("sha256:")?;
        let is_one = text(property, "name") == REPOSITORY_DIGEST && !digest.contains("sha256:");
        is_one.then(|| format!("sha256:{digest}"))
    });
    digests.into_iter().next().unwrap_or_default()
}

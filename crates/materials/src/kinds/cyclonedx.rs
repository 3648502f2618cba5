//! `SBOM_CYCLONEDX_JSON`: an SBOM that is valid by the schema of CycloneDX 1.6, whatever its version.

use jsonschema::ValidationError;
use serde_json::Value;

use crate::file::File;
use crate::image_name::Repository;
use crate::json;
use crate::material::{Material, NotOfKind};
use crate::schema::Schema;
use crate::tools::{Tool, annotate_tools};

static SCHEMA: Schema = Schema::new("cyclonedx-1.6");

/// The property with which one scanner gives an image's digest.
const REPOSITORY_DIGEST: &str = "aquasecurity:trivy:RepoDigest";

/// Reads an SBOM.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let input = json::only(file.bytes)?;
    let is_format = input.get_str("bomFormat").and_then(rego::Value::as_str) == Some("CycloneDX");
    let version = input.get_str("version").and_then(rego::Value::as_number);
    // The number is an integer as written.
    let is_version = version.and_then(|number| number.text().parse::<i64>().ok());
    let has_specification =
        input.get_str("specVersion").and_then(rego::Value::as_str).is_some_and(|text| text != "");
    if !is_format || !has_specification || is_version.is_none_or(|version| version < 1) {
        return Err(NotOfKind::new(
            "expected `bomFormat` CycloneDX, `specVersion` and a `version` of at least 1",
        ));
    }
    let document: Value = json::document(file.bytes)?;
    SCHEMA.check(&document, is_let_through)?;
    let mut material = Material::new(file, json::input(input));
    if let Some(metadata) = document.get("metadata") {
        material = annotate_tools(material, &tools(metadata));
        if let Some([name, kind, version]) = main_component(metadata) {
            material = material
                .annotate("sbom.main_component.name", name)
                .annotate("sbom.main_component.type", kind)
                .annotate("sbom.main_component.version", version);
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
fn tools(metadata: &Value) -> Vec<Tool<'_>> {
    let tools = metadata.get("tools");
    let list = tools.and_then(|tools| tools.as_array().or_else(|| tools["components"].as_array()));
    let tool = |tool| Tool { name: text(tool, "name"), version: text(tool, "version") };
    list.into_iter().flatten().map(tool).collect()
}

/// Returns the name, type and version of the main component. A container's name lacks the tag, and is complete.
fn main_component(metadata: &Value) -> Option<[String; 3]> {
    let component = metadata.get("component").unwrap_or(&Value::Null);
    let (name, kind) = (text(component, "name"), text(component, "type"));
    let mut version = text(component, "version").to_owned();
    if version.is_empty() {
        let properties = component.get("properties").and_then(Value::as_array);
        let mut digests = properties.into_iter().flatten().filter_map(|property| {
            let value = text(property, "value");
            let (_, digest) = value.split_once("sha256:")?;
            let is_one = text(property, "name") == REPOSITORY_DIGEST && !digest.contains("sha256:");
            is_one.then(|| format!("sha256:{digest}"))
        });
        version = digests.next().unwrap_or_default();
    }
    let name = match kind {
        "container" => Repository::of(name)?.to_string(),
        _ => name.to_owned(),
    };
    Some([name, kind.to_owned(), version])
}

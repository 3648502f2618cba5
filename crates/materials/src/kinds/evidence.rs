//! `EVIDENCE` and `ARTIFACT`: any file.

use rego::Value;

use crate::file::File;
use crate::json;
use crate::material::{Content, Material, NotOfKind};

/// The members with an evidence's id, the older one last.
const IDS: [&str; 2] = ["chainloop.material.evidence.id", "id"];

/// Reads any file.
pub(crate) fn read_artifact(file: &File<'_>) -> Result<Material, NotOfKind> {
    let content = json::first(file.bytes).map(json::input);
    Ok(Material::with(file, content.map_or_else(Content::NotJson, Content::Input)))
}

/// Reads any file. An object with an id and `data` gives its id and schema.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let material = read_artifact(file)?;
    let Content::Input(input) = &material.content else { return Ok(material) };
    let text =
        |name: &str| input.get_str(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = IDS.into_iter().map(text).find(|id| !id.is_empty());
    let Some(id) = id.filter(|_| input.get_str("data").is_some()) else { return Ok(material) };
    let schema = text("schema");
    Ok(material.annotate("evidence.id", id).annotate_text("evidence.schema", &schema))
}

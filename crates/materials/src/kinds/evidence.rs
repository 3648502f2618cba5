//! `EVIDENCE` and `ARTIFACT`, any file, and `STRING`, any text.

use base64::Engine as _;
use rego::Value;

use super::{scans, typed};
use crate::file::File;
use crate::json;
use crate::material::{Content, Material, Name};

/// The members with an evidence's id, the older one last.
const IDS: [&str; 2] = ["chainloop.material.evidence.id", "id"];

/// Reads any file.
pub(crate) fn read_artifact(file: &File<'_>) -> Material {
    let content = json::first(file.bytes).map(json::input);
    Material::with(file, content.map_or_else(Content::NotJson, Content::Input))
}

/// Reads any file. An object with an id and `data` gives its id and schema.
pub(crate) fn read(file: &File<'_>) -> Material {
    let material = read_artifact(file);
    let Ok((document, _)) = typed(file, scans::TYPES, "Evidence") else { return material };
    let root = document.root();
    let id = IDS.map(|name| root.text_at(&[name])).into_iter().find(|id| !id.is_empty());
    let Some(id) = id.filter(|_| root.member("data").is_some()) else { return material };
    material
        .annotate("evidence.id", id)
        .annotate_text("evidence.schema", &root.text_at(&["schema"]))
}

/// Reads a value: the text isn't a file's.
pub(crate) fn read_string(file: &File<'_>) -> Material {
    let mut material = Material::new(file, Value::new_object());
    material.name = Name::Absent;
    material.text = Some(base64::engine::general_purpose::STANDARD.encode(file.bytes));
    material
}

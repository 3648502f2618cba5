//! `SBOM_SPDX_JSON`: bills of materials of SPDX 2.1 to 2.3.

use rego::Value;

use super::{missing, typed};
use crate::file::File;
use crate::json::{self, Json};
use crate::material::{Material, NotOfKind};

pub(super) const TYPES: &str = include_str!("../types/spdx.txt");

/// The versions with their types.
const VERSIONS: [(&str, &str); 3] =
    [("SPDX-2.1", "Document2_1"), ("SPDX-2.2", "Document2_2"), ("SPDX-2.3", "Document2_3")];

const DOCUMENT: &str = "SPDXRef-DOCUMENT";

/// Reads a document. Its main component is the first package that it describes.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let value = json::only(file.bytes)?.value;
    let version = value.get_str("spdxVersion").and_then(Value::as_str).unwrap_or_default();
    let Some((_, of)) = VERSIONS.iter().find(|(known, _)| *known == version) else {
        return Err(NotOfKind::new(format!("unsupported spdxVersion `{version}`")));
    };
    let (document, material) = typed(file, TYPES, of)?;
    let root = document.root();
    if root.member("creationInfo").is_none_or(Json::is_null) {
        return Err(missing("creationInfo"));
    }
    let creators =
        root.elements_at(&["creationInfo", "creators"]).into_iter().filter_map(Json::text);
    let tool = |creator: String| {
        let (of, name) = creator.split_once(':')?;
        let (name, version) = name.trim().split_once('-').unwrap_or((name.trim(), ""));
        (of.trim() == "Tool").then(|| (name.to_owned(), version.to_owned()))
    };
    let material = material.with_tools(&creators.filter_map(tool).collect::<Vec<_>>());
    let Some(package) = described(root) else { return Ok(material) };
    let purpose = if version == "SPDX-2.3" {
        package.text_at(&["primaryPackagePurpose"])
    } else {
        String::new()
    };
    let (name, version) = (package.text_at(&["name"]), package.text_at(&["versionInfo"]));
    Ok(material.with_main_component(&name, &purpose.to_lowercase(), &version))
}

/// Returns the only package, or the first of those that the document describes, by identifier.
fn described(document: Json<'_>) -> Option<Json<'_>> {
    let packages = document.elements_at(&["packages"]);
    if let [only] = packages[..] {
        return Some(only);
    }
    let relations = document.elements_at(&["relationships"]);
    let related = relations.iter().filter_map(|relation| {
        let [from, to] =
            ["spdxElementId", "relatedSpdxElement"].map(|name| relation.text_at(&[name]));
        match relation.text_at(&["relationshipType"]).as_str() {
            "DESCRIBES" if from == DOCUMENT => Some(to),
            "DESCRIBED_BY" if to == DOCUMENT => Some(from),
            _ => None,
        }
    });
    let is_own = document.text_at(&["SPDXID"]) == DOCUMENT;
    let listed = document.elements_at(&["documentDescribes"]).into_iter().filter_map(Json::text);
    let first = related.chain(listed.filter(|_| is_own)).min()?;
    packages.into_iter().find(|package| package.text_at(&["SPDXID"]) == first)
}

//! `OPENAPI_SPEC` and `ASYNCAPI_SPEC`: descriptions of interfaces, in JSON or YAML. Policies can read JSON only.

use rego::Value;
use serde_json::Value as Json;

use crate::file::File;
use crate::material::{Content, Material, NotOfKind};
use crate::schema::{self, Schema};
use crate::{json, text};

static OPENAPI: [(&str, Schema); 3] = [
    ("3.0.", Schema::new("openapi-3.0")),
    ("3.1.", Schema::new("openapi-3.1")),
    ("3.2.", Schema::new("openapi-3.2")),
];
static SWAGGER: Schema = Schema::new("openapi-2.0");
static ASYNCAPI: [(&str, Schema); 2] =
    [("2.6.", Schema::new("asyncapi-2.6")), ("3.0.", Schema::new("asyncapi-3.0"))];

/// Reads a description of `OpenAPI`, of version 2.0 to 3.2.
pub(crate) fn read_openapi(file: &File<'_>) -> Result<Material, NotOfKind> {
    let mut document = document(file)?;
    // The older version is text or a number.
    if let Some(version) = document.get_mut("swagger")
        && let Some(number) = version.as_f64()
    {
        *version = format!("{number:.1}").into();
    }
    let version = text_at(&document, "/openapi");
    if version.is_empty() {
        let version = text_at(&document, "/swagger");
        return checked(file, &document, version, Some(&SWAGGER).filter(|_| !version.is_empty()));
    }
    checked(file, &document, version, of_version(&OPENAPI, version))
}

/// Reads a description of `AsyncAPI`, of version 2.6 or 3.0.
pub(crate) fn read_asyncapi(file: &File<'_>) -> Result<Material, NotOfKind> {
    let document = document(file)?;
    let version = text_at(&document, "/asyncapi");
    let material = checked(file, &document, version, of_version(&ASYNCAPI, version))?;
    let servers = document.get("servers").and_then(Json::as_object).into_iter().flatten();
    let protocols =
        servers.filter_map(|(name, server)| Some((name, server.get("protocol")?.as_str()?)));
    let first = protocols.filter(|(_, protocol)| !protocol.is_empty()).min();
    Ok(material.annotate_text("api.protocol", first.map_or("", |(_, protocol)| protocol)))
}

fn of_version<'a>(all: &'a [(&str, Schema)], version: &str) -> Option<&'a Schema> {
    all.iter().find(|(prefix, _)| version.starts_with(prefix)).map(|(_, schema)| schema)
}

fn text_at<'a>(document: &'a Json, path: &str) -> &'a str {
    document.pointer(path).and_then(Json::as_str).unwrap_or_default()
}

fn checked(
    file: &File<'_>,
    document: &Json,
    version: &str,
    schema: Option<&Schema>,
) -> Result<Material, NotOfKind> {
    let Some(schema) = schema else {
        return Err(NotOfKind::new(format!("unsupported specification version `{version}`")));
    };
    schema.check(document, |_| false)?;
    let content = json::first(file.bytes).map(json::input);
    Ok(Material::with(file, content.map_or_else(Content::NotJson, Content::Input))
        .annotate_text("api.spec_version", version)
        .annotate_text("api.name", text_at(document, "/info/title"))
        .annotate_text("api.version", text_at(document, "/info/version")))
}

/// Returns the document of a file, which is JSON or else YAML.
fn document(file: &File<'_>) -> Result<Json, NotOfKind> {
    let document = schema::document(file.bytes).or_else(|_| {
        let value =
            text::yaml(file.bytes).map_err(|error| format!("invalid JSON or YAML: {error}"))?;
        Json::try_from(&value.unwrap_or(Value::Null)).map_err(|error| error.to_string())
    })?;
    if !document.is_object() {
        return Err(NotOfKind::new("expected an object"));
    }
    Ok(document)
}

//! `METADATA` annotations of packages and rules, for reports.
//!
//! Owns finding and reading them in a module's text. An annotation that can't be read is treated as
//! absent, and a violation without a known severity fails, so a broken annotation never makes
//! anything pass.

use std::collections::BTreeMap;

use crate::rego::Value;
use crate::rego::yaml::{FieldType, fields};

/// The parts of an annotation that reports show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Annotation {
    pub title: Option<String>,
    pub description: Option<String>,
    pub severity: Option<String>,
    pub links: Vec<String>,
}

/// Returns the annotations of a module, by the line (from 1) of the declaration that they precede.
pub(super) fn annotations(text: &str) -> BTreeMap<u32, Annotation> {
    let mut found = BTreeMap::new();
    let mut block: Option<String> = None;
    let mut done: Option<Annotation> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end();
        if let Some(comment) = line.strip_prefix('#') {
            if comment.trim() == "METADATA" {
                block = Some(String::new());
            } else if let Some(block) = &mut block {
                block.push_str(comment.strip_prefix(' ').unwrap_or(comment));
                block.push('\n');
            }
            continue;
        }
        done = block.take().map(|text| read(&text)).or(done);
        if line.is_empty() {
            continue;
        }
        if let Some(annotation) = done.take() {
            found.insert(number, annotation);
        }
    }
    found
}

fn field_type(name: &str) -> Option<FieldType> {
    match name {
        "title" | "description" => Some(FieldType::Text),
        "related_resources" => Some(FieldType::Undated),
        "custom" => Some(FieldType::Mapping),
        _ => None,
    }
}

fn read(text: &str) -> Annotation {
    let Ok(fields) = fields(text, field_type) else { return Annotation::default() };
    let field = |name: &str| fields.get(&Value::from(name));
    let resources = field("related_resources").and_then(Value::as_array);
    let links = resources.into_iter().flatten().filter_map(|resource| {
        let link = resource.as_str().or_else(|| resource.get_str("ref")?.as_str())?;
        link.starts_with("https://").then(|| link.to_owned())
    });
    let line = |value: Option<&Value>| {
        value.and_then(Value::as_str).map(|t| t.trim().to_owned()).filter(|t| !t.is_empty())
    };
    Annotation {
        links: links.collect(),
        severity: line(field("custom").and_then(|custom| custom.get_str("severity"))),
        title: line(field("title")),
        description: line(field("description")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn an_annotation_belongs_to_the_declaration_that_follows() {
        let text = "# METADATA\n# title: T\n# custom:\n#   severity: high\n\npackage p\n\n# x\n\
                    # METADATA\n# title: [\n# METADATA\n# description: >-\n#   a\n#   b\n\
                    # related_resources:\n# - https://x.example\n# - ref: http://y\ndeny := []\n";
        let found = annotations(text);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [6, 18]);
        assert_eq!(found[&6].title.as_deref(), Some("T"));
        assert_eq!(found[&6].severity.as_deref(), Some("high"));
        assert_eq!(found[&18].description.as_deref(), Some("a b"));
        assert_eq!(found[&18].links, ["https://x.example"]);
        assert_eq!(annotations("# METADATA\n# title: [\npackage p\n")[&3], Annotation::default());
    }
}

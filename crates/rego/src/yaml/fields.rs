//! The fields of a `# METADATA` block, whose types go-yaml knows in advance.

use std::collections::BTreeSet;

use super::decode::Decoder;
use super::nodes::{Content, NodeId, Parser};
use super::{Host, Limits, Mark, Origin, YamlError, checked};
use crate::value::{Object, Value};

/// The required type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// Text as it is written, even if it looks like another type.
    Text,
    /// A list of such texts.
    Texts,
    /// A mapping whose keys are such texts.
    Mapping,
    /// A list of such mappings.
    Mappings,
    /// Any value.
    Any,
    /// Any value within which a date is no text; it becomes null.
    Undated,
}

/// The limits on a block, which is a comment.
const LIMITS: Limits = Limits { depth: 100, values: 100_000 };

/// A block's reading has no other limits.
struct Unlimited;

impl Host for Unlimited {}

/// Reads the first document of a text as fields; `types` gives their types, `None` for those that
/// are ignored. Fields that are null are left out.
///
/// # Errors
/// Returns an error if the text isn't YAML, or a field has another type.
pub fn fields(text: &str, types: fn(&str) -> Option<FieldType>) -> Result<Object, YamlError> {
    let mut host = Unlimited;
    let mut parser = Parser::new(checked(text)?, &mut host, LIMITS);
    let root = parser.document()?;
    let (nodes, host) = parser.finish();
    let mut found = Object::new();
    let Some(root) = root else { return Ok(found) };
    let mut reader = Reader { decoder: Decoder::new(&nodes, host, LIMITS).typed(), types };
    if nodes.is_null(root) {
        return reader.decoder.value(root).map(|_| found);
    }
    if !matches!(nodes.get(root), Some(node) if matches!(node.content, Content::Mapping(_))) {
        return reader.mistyped(root, "a block of fields");
    }
    reader.fields(root, &mut found, None)?;
    Ok(found)
}

struct Reader<'n, 'h> {
    decoder: Decoder<'n, 'h>,
    types: fn(&str) -> Option<FieldType>,
}

impl Reader<'_, '_> {
    fn mistyped<T>(&self, id: NodeId, wanted: &str) -> Result<T, YamlError> {
        let node = self.decoder.nodes.target(id);
        let (at, tag) = match node.map(|node| (node.at, &node.content)) {
            Some((at, Content::Sequence(_))) => (at, "!!seq".to_owned()),
            Some((at, Content::Mapping(_))) => (at, "!!map".to_owned()),
            Some((at, Content::Scalar(_, text))) => {
                (at, format!("`{}`", crate::text::shorten(text, 40)))
            }
            _ => (Mark::default(), "nothing".to_owned()),
        };
        let message = format!("cannot unmarshal {tag} into {wanted}");
        Err(YamlError { origin: Origin::Type, ..YamlError::new(at, message) })
    }

    /// Reads the fields of a mapping, its own before merged ones. If it is itself merged, only those
    /// whose names aren't in `merged` yet.
    fn fields(
        &mut self,
        id: NodeId,
        found: &mut Object,
        merged: Option<&mut BTreeSet<String>>,
    ) -> Result<(), YamlError> {
        let nodes = self.decoder.nodes;
        let Some(Content::Mapping(members)) = nodes.target(id).map(|node| &node.content) else {
            let message = "map merge requires map or sequence of maps as the value";
            return self.decoder.fail(id, message);
        };
        self.decoder.check_unique(members)?;
        let mut own = BTreeSet::new();
        let merging = merged.is_some();
        let merged = merged.unwrap_or(&mut own);
        let mut merge = None;
        for (key, value) in members {
            if self.decoder.is_merge(*key) {
                merge = Some(*value);
                continue;
            }
            let Some(name) = self.text(*key)? else { continue };
            if !merged.insert(name.clone()) {
                if merging {
                    continue;
                }
                let message = format!("field {name} already set");
                return self.decoder.fail(*key, message);
            }
            if let Some(kind) = (self.types)(&name)
                && let Some(value) = self.field(*value, kind)?
            {
                found.insert(Value::from(name), value);
            }
        }
        let Some(merge) = merge else { return Ok(()) };
        let sources = match nodes.get(merge).map(|node| &node.content) {
            Some(Content::Sequence(items)) => items.clone(),
            _ => vec![merge],
        };
        for source in sources {
            self.fields(source, found, Some(&mut *merged))?;
        }
        Ok(())
    }

    fn field(&mut self, id: NodeId, kind: FieldType) -> Result<Option<Value>, YamlError> {
        if matches!(kind, FieldType::Any | FieldType::Undated) {
            let target = self.decoder.nodes.target(id).map(|node| &node.content);
            let scalar = matches!(target, Some(Content::Scalar(..)));
            self.decoder.null_dates = kind == FieldType::Undated && !scalar;
            return self.decoder.value(id).map(Some);
        }
        let nodes = self.decoder.nodes;
        if nodes.is_null(id) {
            // What is tagged as null may be something else.
            return self.decoder.value(id).map(|_| None);
        }
        self.decoder.null_dates = false;
        let content = nodes.target(id).map(|node| &node.content);
        match (kind, content) {
            (FieldType::Text, _) => Ok(self.text(id)?.map(Value::from)),
            (FieldType::Texts, Some(Content::Sequence(items))) => {
                let mut texts = Vec::new();
                for item in items {
                    texts.extend(self.text(*item)?.map(Value::from));
                }
                Ok(Some(Value::from(texts)))
            }
            (FieldType::Mapping, Some(Content::Mapping(_))) => {
                self.decoder.text_mapping(id).map(Some)
            }
            (FieldType::Mappings, Some(Content::Sequence(items))) => {
                let mut mappings = Vec::new();
                for item in items {
                    let mapping = self.field(*item, FieldType::Mapping)?;
                    mappings.push(mapping.unwrap_or(Value::Null));
                }
                Ok(Some(Value::from(mappings)))
            }
            (FieldType::Texts, _) => self.mistyped(id, "[]string"),
            (FieldType::Mapping, _) => self.mistyped(id, "map[string]interface {}"),
            (FieldType::Mappings, _) => self.mistyped(id, "[]map[string]interface {}"),
            (FieldType::Any | FieldType::Undated, _) => Ok(None),
        }
    }

    /// Returns the text of a scalar, or `None` if it is null.
    fn text(&mut self, id: NodeId) -> Result<Option<String>, YamlError> {
        match self.decoder.nodes.target(id).map(|node| &node.content) {
            Some(Content::Scalar(..)) => self.decoder.text(id),
            _ => self.mistyped(id, "string"),
        }
    }
}

//! Documents as types of a host, by serde.
//!
//! Owns the position of every error: that of the node, or of the key, which a type doesn't accept.

use std::fmt::{self, Display};

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::decode::Decoder;
use super::nodes::{Content, NodeId, Nodes, Parser};
use super::{Host, Limits, Mark, Origin, YamlError, checked, legacy, located};
use crate::value::Value;

/// Reads the only document of a text into a type.
///
/// # Errors
/// Returns an error if the text isn't YAML or contains not exactly one document, if a key appears twice,
/// for a merge key (`<<`), and for what the type doesn't accept.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut host = UniqueKeys;
    let mut parser = Parser::new(checked(text)?, &mut host, Limits::FILE);
    let root = parser.document()?;
    let mut more = None;
    while let Some(next) = parser.document()? {
        if more.is_none() && !parser.is_empty(next) {
            more = Some(next);
        }
    }
    let (nodes, host) = parser.finish();
    let at = |id: NodeId| nodes.get(id).map(|node| node.at).unwrap_or_default();
    if let Some(more) = more {
        return Err(invalid(at(more), "another document follows"));
    }
    let root = root.ok_or_else(|| invalid(Mark::default(), "there is no document"))?;
    Decoder::new(&nodes, host, Limits::FILE).document(root)?;
    T::deserialize(Node { nodes: &nodes, id: root })
        .map_err(|wrong| invalid(wrong.at.unwrap_or_default(), wrong.message))
}

/// Returns the first plain scalar that is a boolean in YAML 1.1 only, such as `yes`, with its place.
///
/// # Errors
/// Returns an error if the text isn't YAML.
pub fn boolean_word(text: &str) -> Result<Option<(Mark, String)>, YamlError> {
    let mut host = UniqueKeys;
    let mut parser = Parser::new(checked(text)?, &mut host, Limits::FILE);
    while parser.document()?.is_some() {}
    let (nodes, _) = parser.finish();
    Ok(nodes
        .plain()
        .find(|(_, text)| legacy::is_word(text))
        .map(|(at, text)| (at, text.to_owned())))
}

fn invalid(at: Mark, message: impl Into<String>) -> YamlError {
    YamlError { origin: Origin::Value, ..YamlError::new(at, message) }
}

/// A host for which no key appears twice.
struct UniqueKeys;

impl Host for UniqueKeys {
    fn wants_unique_keys(&self) -> bool {
        true
    }
}

/// An error of a type, with its position as soon as that is known.
#[derive(Debug)]
struct Wrong {
    message: String,
    at: Option<Mark>,
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), at: None }
    }
}

/// A node of a document.
#[derive(Clone, Copy)]
struct Node<'n> {
    nodes: &'n Nodes,
    id: NodeId,
}

impl<'n> Node<'n> {
    /// Gives an error this node's position, unless it has one of a node within.
    fn placed<T>(self, result: Result<T, Wrong>) -> Result<T, Wrong> {
        let at = self.nodes.get(self.id).map(|node| node.at);
        result.map_err(|wrong| Wrong { at: wrong.at.or(at), ..wrong })
    }

    fn text(self) -> Result<&'n str, Wrong> {
        match self.content() {
            Some(Content::Scalar(_, text)) => Ok(text),
            Some(Content::Sequence(_)) => Err(de::Error::custom("a list isn't a name")),
            _ => Err(de::Error::custom("a mapping isn't a name")),
        }
    }

    fn content(self) -> Option<&'n Content> {
        self.nodes.target(self.id).map(|node| &node.content)
    }

    /// Reads a part of this node by a seed, whose own errors are at that part.
    fn part<'de, S: DeserializeSeed<'de>>(self, id: NodeId, seed: S) -> Result<S::Value, Wrong> {
        let part = Self { id, ..self };
        part.placed(seed.deserialize(part))
    }

    /// Returns the members of a mapping.
    fn members(self, members: &'n [(NodeId, NodeId)]) -> Result<Members<'n>, Wrong> {
        let mut host = UniqueKeys;
        let decoder = Decoder::new(self.nodes, &mut host, Limits::FILE);
        if let Some((key, _)) = members.iter().find(|(key, _)| decoder.is_merge(*key)) {
            let message = "merge keys (`<<`) aren't supported";
            return Self { id: *key, ..self }.placed(Err(de::Error::custom(message)));
        }
        Ok(Members { of: self, left: members.iter(), value: None })
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.content() {
            Some(Content::Sequence(items)) => {
                let mut left = items.iter();
                let value = visitor.visit_seq(Items { of: self, left: &mut left })?;
                match left.len() {
                    0 => Ok(value),
                    more => Err(de::Error::custom(format!("there are {more} items too many"))),
                }
            }
            Some(Content::Mapping(members)) => visitor.visit_map(self.members(members)?),
            _ => match Decoder::new(self.nodes, &mut UniqueKeys, Limits::FILE).value(self.id) {
                Ok(Value::Bool(value)) => visitor.visit_bool(value),
                Ok(Value::String(text)) => visitor.visit_str(&text),
                Ok(Value::Number(number)) => match (number.as_u64(), number.as_i64()) {
                    (Some(value), _) => visitor.visit_u64(value),
                    (_, Some(value)) => visitor.visit_i64(value),
                    _ => visitor.visit_f64(number.as_f64()),
                },
                Ok(_) => visitor.visit_unit(),
                Err(error) => Err(de::Error::custom(error.message)),
            },
        }
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.placed(crate::value::deeper(|| self.visit(visitor)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let is_null = self.nodes.is_null(self.id);
        self.placed(if is_null { visitor.visit_none() } else { visitor.visit_some(self) })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if name == located::NAME {
            return self.placed(visitor.visit_seq(Parts { of: self, read: 0 }));
        }
        self.placed(visitor.visit_newtype_struct(self))
    }

    /// Refuses a sequence, from which derived types would take their fields by position.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.content() {
            Some(Content::Sequence(_)) => {
                self.placed(Err(de::Error::invalid_type(de::Unexpected::Seq, &visitor)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Reads a variant: its name, or a mapping from its name to its content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.content() {
            Some(Content::Mapping(members)) => {
                let members = match members.len() {
                    1 => self.members(members),
                    _ => Err(de::Error::custom("this is neither a name nor a mapping from one")),
                };
                self.placed(
                    members.and_then(|members| {
                        visitor.visit_enum(MapAccessDeserializer::new(members))
                    }),
                )
            }
            _ => self.placed(
                self.text().and_then(|text| visitor.visit_enum(StrDeserializer::new(text))),
            ),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

/// The parts of a node with its position: the line, the column, and the node.
struct Parts<'n> {
    of: Node<'n>,
    read: u8,
}

impl<'de> de::SeqAccess<'de> for Parts<'_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let at = self.of.nodes.get(self.of.id).map(|node| node.at).unwrap_or_default();
        self.read += 1;
        match self.read {
            1 => seed.deserialize((at.line + 1).into_deserializer()).map(Some),
            2 => seed.deserialize((at.column + 1).into_deserializer()).map(Some),
            _ => self.of.placed(seed.deserialize(self.of)).map(Some),
        }
    }
}

/// The items of a sequence that are left to read.
struct Items<'n, 'i> {
    of: Node<'n>,
    left: &'i mut std::slice::Iter<'n, NodeId>,
}

impl<'de> de::SeqAccess<'de> for Items<'_, '_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        self.left.next().map(|id| self.of.part(*id, seed)).transpose()
    }
}

/// The members of a mapping that are left to read.
struct Members<'n> {
    of: Node<'n>,
    left: std::slice::Iter<'n, (NodeId, NodeId)>,
    /// The value whose key was read.
    value: Option<NodeId>,
}

impl<'de> de::MapAccess<'de> for Members<'_> {
    type Error = Wrong;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(*value);
        let key = Node { id: *key, ..self.of };
        let read = key.text().and_then(|text| seed.deserialize(StrDeserializer::new(text)));
        key.placed(read).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        let no_key = || de::Error::custom("a value is read before its key");
        self.of.part(self.value.take().ok_or_else(no_key)?, seed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::super::Located;
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        name: String,
        #[serde(default)]
        count: Option<u8>,
        #[serde(default)]
        labels: BTreeMap<String, String>,
        #[serde(default)]
        outcomes: Vec<Outcome>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Outcome {
        Skipped,
        Failed(String),
    }

    #[test]
    fn a_value_knows_its_position() {
        let found: BTreeMap<String, Located<serde_json::Value>> =
            from_str("a: 1\nb:\n  - x\n").unwrap();
        let places: Vec<_> = found.values().map(|one| (one.line, one.column)).collect();
        assert_eq!(places, [(1, 4), (3, 3)]);
        // An error within has its own position.
        let error = from_str::<Vec<Located<u8>>>("- 1\n- x\n").unwrap_err();
        assert_eq!((error.at.line, error.at.column), (1, 2));
    }

    #[test]
    fn a_document_is_read_into_a_type() {
        let text =
            "name: &n x\ncount: 0x10\nlabels: {1: a, on: *n}\noutcomes:\n- skipped\n- failed: b\n";
        let expected = Document {
            name: "x".to_owned(),
            count: Some(16),
            labels: [("1", "a"), ("on", "x")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            outcomes: vec![Outcome::Skipped, Outcome::Failed("b".to_owned())],
        };
        assert_eq!(from_str::<Document>(text).unwrap(), expected);
        assert_eq!(from_str::<Document>("name: a\ncount: ~\n---\n").unwrap().count, None);
        let any: serde_json::Value = from_str("[1, -1, 1.5, ~, yes, true, 2026-12-31]").unwrap();
        assert_eq!(any.to_string(), r#"[1,-1,1.5,null,"yes",true,"2026-12-31"]"#);
    }

    #[test]
    fn every_error_has_its_position() {
        for (text, expected) in [
            ("name: x\nnam: y", "2:1: unknown field `nam`"),
            ("name: 1", "1:7: invalid type: integer `1`, expected a string"),
            ("name: x\ncount: 300", "2:8: invalid value"),
            ("count: 1", "1:1: missing field `name`"),
            ("name: x\nlabels:\n  a: b\n  a: c", "4:3: the key `a` appears twice"),
            ("name: x\nlabels:\n  a: [b]", "3:6: invalid type: sequence"),
            ("name: x\noutcomes: [passed]", "2:12: unknown variant `passed`"),
            ("name: x\noutcomes: [{failed: a, b: c}]", "2:12: this is neither"),
            ("name: x\n<<: {count: 1}", "2:1: merge keys"),
            ("name: x\n---\nname: y", "3:1: another document follows"),
            ("# nothing", "1:1: there is no document"),
            ("name: [", "2:1: did not find"),
        ] {
            let error = from_str::<Document>(text).unwrap_err();
            let shown = format!("{}:{}: {}", error.at.line + 1, error.at.column + 1, error.message);
            assert!(shown.starts_with(expected), "{text}: {shown}");
        }
    }
}

//! The values of nodes.
//!
//! OPA decodes a document into Go's types first, and converts these to JSON. What becomes of a key
//! depends on both: among keys that are all text, a merged one is the text that is written;
//! otherwise its value, such as a number, is formatted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::chars::Mark;
use super::nodes::{Content, NodeId, Nodes, Tag};
use super::scalar::{Scalar, float_key};
use super::timestamp::rfc3339;
use super::{Host, Limits, Origin, YamlError, legacy};
use crate::value::go_float::{format_float, json_float};
use crate::value::{Number, Object, Value, deeper, lossy};

/// The number of decoded nodes up to which aliases may stand for nearly all of them.
const ALIASES_LOW: f64 = 400_000.0;
/// The number of decoded nodes from which on aliases may stand for few of them.
const ALIASES_HIGH: f64 = 4_000_000.0;

/// The form in which values are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As OPA converts documents to JSON: plain dates are text, of equal keys the last one counts,
    /// and all keys become text.
    Json,
    /// As go-yaml decodes them: equal keys are an error, and keys keep their types.
    Typed,
}

pub(super) struct Decoder<'n, 'h> {
    pub nodes: &'n Nodes,
    host: &'h mut dyn Host,
    limits: Limits,
    form: Form,
    /// `true` if dates that aren't text become null.
    pub null_dates: bool,
    depth: usize,
    /// The aliases that are being followed.
    following: HashSet<NodeId>,
    decoded: u64,
    aliased: u64,
}

/// A key, as go-yaml compares them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Null,
    Bool(bool),
    Integer(i128),
    /// The bits of a double.
    Float(u64),
    Timestamp(String),
    Text(String),
}

/// The members of a mapping so far.
struct Members {
    /// `true` if all of its own keys are text.
    texts: bool,
    found: BTreeMap<Key, Value>,
}

impl<'n, 'h> Decoder<'n, 'h> {
    pub fn new(nodes: &'n Nodes, host: &'h mut dyn Host, limits: Limits) -> Self {
        Self {
            nodes,
            host,
            limits,
            form: Form::Json,
            null_dates: false,
            depth: 0,
            following: HashSet::new(),
            decoded: 1,
            aliased: 0,
        }
    }

    pub fn typed(self) -> Self {
        Self { form: Form::Typed, ..self }
    }

    pub fn document(mut self, root: NodeId) -> Result<Value, YamlError> {
        self.value(root)
    }

    fn at(&self, id: NodeId) -> Mark {
        self.nodes.get(id).map(|node| node.at).unwrap_or_default()
    }

    pub fn fail<T>(&self, id: NodeId, message: impl Into<String>) -> Result<T, YamlError> {
        Err(YamlError { origin: Origin::Value, ..YamlError::new(self.at(id), message) })
    }

    /// Counts a node. As in go-yaml, most of a document can't come from aliases.
    #[allow(clippy::cast_precision_loss)]
    fn count(&mut self, id: NodeId) -> Result<(), YamlError> {
        if !self.host.charge(48) {
            return Err(YamlError::stopped(self.at(id)));
        }
        self.decoded += 1;
        self.aliased += u64::from(!self.following.is_empty());
        let decoded = self.decoded as f64;
        let share = 0.99 - 0.89 * ((decoded - ALIASES_LOW) / (ALIASES_HIGH - ALIASES_LOW));
        if self.aliased > 100
            && self.decoded > 1000
            && self.aliased as f64 / decoded > share.clamp(0.10, 0.99)
        {
            return self.fail(id, "document contains excessive aliasing");
        }
        let most = self.limits.values;
        if usize::try_from(self.decoded).is_ok_and(|decoded| decoded <= most) {
            return Ok(());
        }
        self.fail(id, format!("more than {most} values, repeated ones included"))
    }

    /// Decodes the target of an alias with `decode`.
    fn follow<T>(
        &mut self,
        id: NodeId,
        target: NodeId,
        decode: impl FnOnce(&mut Self, NodeId) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        if !self.following.insert(id) {
            return self.fail(id, "anchor value contains itself");
        }
        let done = decode(self, target);
        self.following.remove(&id);
        done
    }

    /// Decodes a collection with `decode`.
    fn within<T>(
        &mut self,
        id: NodeId,
        decode: impl FnOnce(&mut Self) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        let most = self.limits.depth;
        if self.depth >= most {
            return self.fail(id, format!("nested more than {most} levels deep"));
        }
        self.depth += 1;
        let done = deeper(|| decode(self));
        self.depth -= 1;
        done
    }

    pub fn value(&mut self, id: NodeId) -> Result<Value, YamlError> {
        self.count(id)?;
        let nodes = self.nodes;
        match nodes.get(id).map(|node| &node.content) {
            Some(Content::Alias(target, _)) => self.follow(id, *target, Self::value),
            Some(Content::Scalar(tag, text)) => {
                if *tag == Tag::Implicit
                    && self.host.knows_booleans()
                    && let Some(value) = legacy::string(text)
                {
                    return Ok(value);
                }
                let scalar = self.scalar(id, *tag, text)?;
                self.scalar_value(id, scalar, text)
            }
            Some(Content::Sequence(items)) => {
                let items = self.within(id, |decoder| {
                    let mut values = Vec::with_capacity(items.len());
                    for item in items {
                        values.push(decoder.value(*item)?);
                    }
                    Ok(values)
                })?;
                Ok(Value::from(items))
            }
            Some(Content::Mapping(_)) => {
                let texts = self.has_text_keys(id);
                let mut members = Members { texts, found: BTreeMap::new() };
                self.within(id, |decoder| decoder.mapping(id, &mut members, None))?;
                self.object(id, members)
            }
            None => self.fail(id, "unexpected end"),
        }
    }

    /// Decodes a mapping whose keys are text whatever they look like.
    pub fn text_mapping(&mut self, id: NodeId) -> Result<Value, YamlError> {
        let mut members = Members { texts: true, found: BTreeMap::new() };
        self.mapping_into(id, &mut members, None)?;
        self.object(id, members)
    }

    /// Resolves a scalar by its tag.
    fn scalar(&self, id: NodeId, tag: Tag, text: &str) -> Result<Scalar, YamlError> {
        let (wanted, scalar) = match tag {
            Tag::Implicit => {
                return Ok(match Scalar::plain(text) {
                    Scalar::Timestamp(text) if self.form == Form::Json => Scalar::Text(text),
                    scalar => scalar,
                });
            }
            Tag::Str | Tag::Merge | Tag::Other => return Ok(Scalar::Text(text.to_owned())),
            Tag::Binary => return self.binary(id, text).map(Scalar::Text),
            Tag::Null => ("null", Scalar::plain(text)),
            Tag::Bool => ("bool", Scalar::plain(text)),
            Tag::Int => ("int", Scalar::plain(text)),
            Tag::Timestamp => ("timestamp", Scalar::plain(text)),
            Tag::Float => match Scalar::plain(text) {
                #[allow(clippy::cast_precision_loss)]
                Scalar::Integer(value) if i64::try_from(value).is_ok() => {
                    ("float", Scalar::Float(value as f64))
                }
                scalar => ("float", scalar),
            },
        };
        if scalar.tag() == wanted {
            return Ok(scalar);
        }
        let shown = crate::text::shorten(text, 40);
        self.fail(id, format!("cannot decode !!{} `{shown}` as a !!{wanted}", scalar.tag()))
    }

    fn binary(&self, id: NodeId, text: &str) -> Result<String, YamlError> {
        let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
        let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        match GeneralPurpose::new(&STANDARD, config).decode(text) {
            Ok(bytes) => Ok(lossy(&bytes)),
            Err(_) => self.fail(id, "!!binary value contains invalid base64 data"),
        }
    }

    fn scalar_value(&mut self, id: NodeId, scalar: Scalar, text: &str) -> Result<Value, YamlError> {
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Text(text) => Value::from(text),
            Scalar::Timestamp(_) if self.null_dates => Value::Null,
            Scalar::Timestamp(text) => match rfc3339(&text) {
                Some(text) => Value::from(text),
                None => return self.fail(id, "the offset of the time is a day or longer"),
            },
            Scalar::Integer(_) | Scalar::Float(_) => {
                let write = match self.form {
                    Form::Json => json_float,
                    Form::Typed => |value| format_float(value, 'g', None),
                };
                let Some(number) = scalar.number(write) else {
                    let shown = crate::text::shorten(text, 40);
                    return self.fail(id, format!("`{shown}` isn't a valid JSON number"));
                };
                if matches!(scalar, Scalar::Float(_)) {
                    let at = self.at(id);
                    self.host.float(text, at);
                }
                Value::Number(number)
            }
        })
    }

    /// Returns `true` if all keys are text.
    fn has_text_keys(&self, id: NodeId) -> bool {
        let Some(Content::Mapping(members)) = self.nodes.get(id).map(|node| &node.content) else {
            return false;
        };
        members.iter().all(|(key, _)| match self.nodes.target(*key).map(|node| &node.content) {
            Some(Content::Scalar(Tag::Str | Tag::Merge, _)) => true,
            Some(Content::Scalar(Tag::Implicit, text)) => match Scalar::plain(text) {
                Scalar::Text(_) => true,
                Scalar::Timestamp(_) => self.form == Form::Json,
                _ => false,
            },
            _ => false,
        })
    }

    /// Returns the members of a mapping, as OPA corrects them before they are decoded: several
    /// merged values become one list, and only the last value of a key stays.
    fn members(
        &self,
        members: &[(NodeId, NodeId)],
    ) -> Result<Vec<(NodeId, Vec<NodeId>)>, YamlError> {
        let single = |(key, value): &(NodeId, NodeId)| (*key, vec![*value]);
        if self.form == Form::Typed {
            return Ok(members.iter().map(single).collect());
        }
        let tagged = |key: &NodeId| {
            matches!(self.nodes.get(*key), Some(node)
                if matches!(node.content, Content::Scalar(Tag::Merge, _)))
        };
        let mut merged: Vec<NodeId> = Vec::new();
        for (_, value) in members.iter().filter(|(key, _)| tagged(key)) {
            match self.nodes.get(*value).map(|node| &node.content) {
                Some(Content::Sequence(items)) => merged.extend(items),
                _ => merged.push(*value),
            }
        }
        let several = merged.len() > 1;
        let mut merged = Some(merged);
        let mut found: Vec<(NodeId, Vec<NodeId>)> = Vec::with_capacity(members.len());
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(members.len());
        for member in members {
            if tagged(&member.0) {
                if !several {
                    found.push(single(member));
                } else if let Some(list) = merged.take() {
                    found.push((member.0, list));
                }
                continue;
            }
            match self.early_name(member.0) {
                Some(name) => {
                    if let Some((_, values)) = seen.get(&name).and_then(|at| found.get_mut(*at)) {
                        if self.host.wants_unique_keys() {
                            let shown = crate::text::shorten(&name, 80);
                            return self.fail(member.0, format!("the key `{shown}` appears twice"));
                        }
                        *values = vec![member.1];
                    } else {
                        seen.insert(name, found.len());
                        found.push(single(member));
                    }
                }
                None => found.push(single(member)),
            }
        }
        Ok(found)
    }

    /// Returns the name that a scalar key will have in JSON, unless it is a date.
    fn early_name(&self, key: NodeId) -> Option<String> {
        match &self.nodes.get(key)?.content {
            Content::Scalar(Tag::Implicit, text) => match Scalar::plain(text) {
                Scalar::Timestamp(_) => None,
                scalar => Key::from(scalar).name(),
            },
            Content::Scalar(tag, text) => Key::from(self.scalar(key, *tag, text).ok()?).name(),
            _ => None,
        }
    }

    /// Decodes a mapping, or an alias of one, into members.
    fn mapping_into(
        &mut self,
        id: NodeId,
        into: &mut Members,
        merged: Option<&mut BTreeSet<Key>>,
    ) -> Result<(), YamlError> {
        self.count(id)?;
        let nodes = self.nodes;
        match nodes.get(id).map(|node| &node.content) {
            Some(Content::Alias(target, _)) => self
                .follow(id, *target, |decoder, target| decoder.mapping_into(target, into, merged)),
            Some(Content::Mapping(_)) => {
                self.within(id, |decoder| decoder.mapping(id, into, merged))
            }
            _ => self.fail(id, "map merge requires map or sequence of maps as the value"),
        }
    }

    /// Decodes the members of a mapping, its own before merged ones. If it is itself merged, only
    /// those whose keys aren't in `merged` yet.
    fn mapping(
        &mut self,
        id: NodeId,
        into: &mut Members,
        mut merged: Option<&mut BTreeSet<Key>>,
    ) -> Result<(), YamlError> {
        let nodes = self.nodes;
        let Some(Content::Mapping(written)) = nodes.get(id).map(|node| &node.content) else {
            return Ok(());
        };
        let members = self.members(written)?;
        self.check_unique(&members)?;
        let mut merge = None;
        for (key, values) in &members {
            if self.is_merge(*key) {
                merge = Some((*key, values));
                continue;
            }
            let Some(name) = self.key(*key, into.texts)? else { continue };
            if let Some(merged) = &mut merged
                && !merged.insert(name.clone())
            {
                continue;
            }
            let value = match values.as_slice() {
                [value] => self.value(*value)?,
                several => {
                    let mut list = Vec::with_capacity(several.len());
                    for value in several {
                        list.push(self.value(*value)?);
                    }
                    Value::from(list)
                }
            };
            into.found.insert(name, value);
        }
        let Some((key, values)) = merge else { return Ok(()) };
        let mut own = BTreeSet::new();
        let merged = match merged {
            Some(merged) => merged,
            None => {
                for (key, _) in &members {
                    own.extend(self.key(*key, false)?);
                }
                &mut own
            }
        };
        self.merge(key, values, into, merged)
    }

    fn merge(
        &mut self,
        key: NodeId,
        values: &[NodeId],
        into: &mut Members,
        merged: &mut BTreeSet<Key>,
    ) -> Result<(), YamlError> {
        let nodes = self.nodes;
        let sources = match values {
            // A list can't be given by an alias.
            [value] => match nodes.get(*value).map(|node| &node.content) {
                Some(Content::Sequence(items)) => items.as_slice(),
                _ => values,
            },
            _ => values,
        };
        for source in sources {
            let target = nodes.target(*source).map(|node| &node.content);
            if !matches!(target, Some(Content::Mapping(_))) {
                let message = "map merge requires map or sequence of maps as the value";
                return self.fail(key, message);
            }
            self.mapping_into(*source, into, Some(&mut *merged))?;
        }
        Ok(())
    }

    pub fn is_merge(&self, key: NodeId) -> bool {
        matches!(self.nodes.get(key), Some(node)
            if matches!(&node.content, Content::Scalar(Tag::Merge, text) if &**text == "<<"))
    }

    /// Refuses keys that are written the same. Of those that become JSON, few are left.
    pub fn check_unique<T>(&self, members: &[(NodeId, T)]) -> Result<(), YamlError> {
        let mut seen = HashSet::with_capacity(members.len());
        for (key, _) in members {
            let found = match self.nodes.get(*key).map(|node| &node.content) {
                Some(Content::Scalar(_, text)) => (0, &**text),
                Some(Content::Alias(_, name)) => (1, &**name),
                Some(Content::Sequence(_)) => (2, ""),
                _ => (3, ""),
            };
            if !seen.insert(found) {
                let shown = crate::text::shorten(found.1, 40);
                let at = self.at(*key);
                let message = format!("mapping key \"{shown}\" already defined");
                return Err(YamlError { origin: Origin::Type, ..YamlError::new(at, message) });
            }
        }
        Ok(())
    }

    /// Decodes a key; `None` for a null one among texts, which go-yaml leaves out.
    fn key(&mut self, id: NodeId, texts: bool) -> Result<Option<Key>, YamlError> {
        self.count(id)?;
        let nodes = self.nodes;
        match nodes.get(id).map(|node| &node.content) {
            Some(Content::Alias(target, _)) => {
                self.follow(id, *target, |decoder, target| decoder.key(target, texts))
            }
            Some(Content::Scalar(tag, text)) => {
                let scalar = self.scalar(id, *tag, text)?;
                Ok(match scalar {
                    Scalar::Null if texts => None,
                    Scalar::Text(text) => Some(Key::Text(text)),
                    _ if texts => Some(Key::Text(text.to_string())),
                    scalar => Some(Key::from(scalar)),
                })
            }
            _ => self.fail(id, "invalid map key: it is a sequence or mapping"),
        }
    }

    /// Returns the text of a scalar, as it is written; `None` if it is null.
    pub fn text(&mut self, id: NodeId) -> Result<Option<String>, YamlError> {
        Ok(self.key(id, true)?.and_then(|key| key.name()))
    }

    fn object(&self, id: NodeId, members: Members) -> Result<Value, YamlError> {
        let mut object = Object::new();
        for (key, value) in members.found {
            let key = match self.form {
                Form::Json => key.name().map(Value::from),
                Form::Typed => key.value(),
            };
            match key {
                // Keys that are equal only as text, one of them merged: OPA takes either.
                Some(key) => {
                    object.get_or_insert_with(key, || value);
                }
                None => return self.fail(id, "unsupported map key: null or a date"),
            }
        }
        Ok(Value::from(object))
    }
}

impl From<Scalar> for Key {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(value) => Self::Bool(value),
            Scalar::Integer(value) => Self::Integer(value),
            Scalar::Float(value) => Self::Float(value.to_bits()),
            Scalar::Timestamp(text) => Self::Timestamp(text),
            Scalar::Text(text) => Self::Text(text),
        }
    }
}

impl Key {
    /// Returns the name of a member of JSON; `None` for null and dates.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Timestamp(_) => return None,
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(bits) => float_key(f64::from_bits(*bits)),
            Self::Text(text) => text.clone(),
        })
    }

    /// Returns the value of a key that keeps its type; `None` if no value has it.
    fn value(self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(value) => Value::Number(Number::parse(&value.to_string())?),
            Self::Float(bits) => {
                Value::Number(Scalar::Float(f64::from_bits(bits)).number(json_float)?)
            }
            Self::Timestamp(_) => return None,
            Self::Text(text) => Value::from(text),
        })
    }
}

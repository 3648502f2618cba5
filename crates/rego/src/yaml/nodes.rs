//! The nodes of documents: the tokens' structure, with tags and aliases resolved.

use std::collections::HashMap;

use super::chars::Mark;
use super::scalar::Scalar;
use super::tokens::{Kind, Style, Tokens};
use super::{Host, Limits, Origin, YamlError};
use crate::value::deeper;

/// The prefix of YAML's own tags.
const OWN_TAGS: &str = "tag:yaml.org,2002:";

/// A node's index.
pub(crate) type NodeId = usize;

/// A node of a document.
pub(crate) struct Node {
    pub content: Content,
    pub at: Mark,
}

pub(crate) enum Content {
    Scalar(Tag, Box<str>),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
    /// Another node, by its anchor.
    Alias(NodeId, Box<str>),
}

/// The tag of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// None, of a plain scalar: its text determines its type.
    Implicit,
    Null,
    Bool,
    Int,
    Float,
    Str,
    Timestamp,
    Binary,
    /// `<<`, or what is tagged so.
    Merge,
    /// An application's own.
    Other,
}

impl Tag {
    fn new(written: Option<&str>, style: Style, text: &str) -> Self {
        let written = written.filter(|tag| *tag != "!");
        let Some(tag) = written else {
            return match style {
                Style::Plain if text == "<<" => Self::Merge,
                Style::Plain => Self::Implicit,
                Style::Quoted | Style::Block => Self::Str,
            };
        };
        match tag.strip_prefix(OWN_TAGS).or_else(|| tag.strip_prefix("!!")) {
            Some("null") => Self::Null,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("str") => Self::Str,
            Some("timestamp") => Self::Timestamp,
            Some("binary") => Self::Binary,
            Some("merge") => Self::Merge,
            _ => Self::Other,
        }
    }
}

/// The nodes of a text.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
}

impl Nodes {
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns the node that an alias leads to, or the node itself.
    pub fn target(&self, id: NodeId) -> Option<&Node> {
        match self.get(id)? {
            Node { content: Content::Alias(target, _), .. } => self.get(*target),
            node => Some(node),
        }
    }

    /// Returns the scalars without a tag and quotes, in the order of the text.
    pub fn plain(&self) -> impl Iterator<Item = (Mark, &str)> {
        self.nodes.iter().filter_map(|node| match &node.content {
            Content::Scalar(Tag::Implicit, text) => Some((node.at, &**text)),
            _ => None,
        })
    }

    /// Returns the type of a scalar that isn't tagged otherwise.
    pub fn is_null(&self, id: NodeId) -> bool {
        match self.target(id).map(|node| &node.content) {
            Some(Content::Scalar(Tag::Null, _)) => true,
            Some(Content::Scalar(Tag::Implicit, text)) => Scalar::plain(text) == Scalar::Null,
            _ => false,
        }
    }
}

pub(super) struct Parser<'t, 'h> {
    tokens: Tokens<'t, 'h>,
    nodes: Vec<Node>,
    anchors: HashMap<String, NodeId>,
    /// The prefixes of tags, by their handles.
    tags: Vec<(String, String)>,
    limits: Limits,
    depth: usize,
    begun: bool,
}

impl<'t, 'h> Parser<'t, 'h> {
    pub fn new(text: &'t str, host: &'h mut dyn Host, limits: Limits) -> Self {
        Self {
            tokens: Tokens::new(text, host),
            nodes: Vec::new(),
            anchors: HashMap::new(),
            tags: Vec::new(),
            limits,
            depth: 0,
            begun: false,
        }
    }

    pub fn finish(self) -> (Nodes, &'h mut dyn Host) {
        (Nodes { nodes: self.nodes }, self.tokens.host)
    }

    /// Returns `true` for a node that isn't written.
    pub fn is_empty(&self, id: NodeId) -> bool {
        matches!(self.nodes.get(id), Some(node)
            if matches!(&node.content, Content::Scalar(Tag::Implicit, text) if text.is_empty()))
    }

    fn peek(&mut self) -> Result<&Kind, YamlError> {
        Ok(&self.tokens.peek()?.kind)
    }

    fn mark(&mut self) -> Result<Mark, YamlError> {
        Ok(self.tokens.peek()?.start)
    }

    /// Returns an error at the next token; `context` is where its construct begins.
    fn fail<T>(&mut self, context: Option<Mark>, message: &str) -> Result<T, YamlError> {
        let mut error = YamlError::new(self.mark()?, message);
        error.context = context;
        Err(error)
    }

    /// Reads the next document; returns its root, or `None` at the end.
    pub fn document(&mut self) -> Result<Option<NodeId>, YamlError> {
        let first = !std::mem::replace(&mut self.begun, true);
        while !first && *self.peek()? == Kind::DocumentEnd {
            self.tokens.next()?;
        }
        let explicit = matches!(
            self.peek()?,
            Kind::Version(..) | Kind::TagDirective(..) | Kind::DocumentStart
        );
        if *self.peek()? == Kind::StreamEnd {
            return Ok(None);
        }
        self.directives()?;
        let root = if explicit || !first {
            if *self.peek()? != Kind::DocumentStart {
                return self.fail(None, "did not find expected <document start>");
            }
            self.tokens.next()?;
            match self.peek()? {
                Kind::Version(..)
                | Kind::TagDirective(..)
                | Kind::DocumentStart
                | Kind::DocumentEnd
                | Kind::StreamEnd => self.empty()?,
                _ => self.node(true, false)?,
            }
        } else {
            self.node(true, false)?
        };
        if *self.peek()? == Kind::DocumentEnd {
            self.tokens.next()?;
        }
        self.tags.clear();
        Ok(Some(root))
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut version = false;
        loop {
            match self.peek()? {
                Kind::Version(major, minor) => {
                    let known = (*major, *minor) == (1, 1);
                    if version {
                        return self.fail(None, "found duplicate %YAML directive");
                    }
                    if !known {
                        return self.fail(None, "found incompatible YAML document");
                    }
                    version = true;
                }
                Kind::TagDirective(handle, prefix) => {
                    let (handle, prefix) = (handle.clone(), prefix.clone());
                    if self.tags.iter().any(|(known, _)| *known == handle) {
                        return self.fail(None, "found duplicate %TAG directive");
                    }
                    self.tags.push((handle, prefix));
                }
                _ => break,
            }
            self.tokens.next()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", OWN_TAGS)] {
            if !self.tags.iter().any(|(known, _)| known == handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn add(&mut self, at: Mark, content: Content) -> Result<NodeId, YamlError> {
        let most = self.limits.values;
        if self.nodes.len() >= most {
            return Err(YamlError::new(at, format!("more than {most} values")));
        }
        self.nodes.push(Node { content, at });
        Ok(self.nodes.len() - 1)
    }

    /// Adds an empty node.
    fn empty(&mut self) -> Result<NodeId, YamlError> {
        let at = self.mark()?;
        self.add(at, Content::Scalar(Tag::Implicit, "".into()))
    }

    /// Reads a node. `block`: it may be a block collection; `indentless`: even a sequence whose
    /// dashes are in the column of the mapping around it.
    fn node(&mut self, block: bool, indentless: bool) -> Result<NodeId, YamlError> {
        let start = self.mark()?;
        if let Kind::Alias(name) = self.peek()? {
            let name = name.clone();
            let Some(target) = self.anchors.get(&name).copied() else {
                let message = format!("unknown anchor '{name}' referenced");
                return Err(YamlError { origin: Origin::Value, ..YamlError::new(start, message) });
            };
            self.tokens.next()?;
            return self.add(start, Content::Alias(target, name.into()));
        }
        let (mut anchor, mut tag) = (None, None);
        loop {
            match self.peek()? {
                Kind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                Kind::Tag(handle, suffix) if tag.is_none() => {
                    let (handle, suffix) = (handle.clone(), suffix.clone());
                    tag = Some(self.tag(&handle, suffix, start)?);
                }
                _ => break,
            }
            self.tokens.next()?;
        }
        let id = match self.peek()? {
            Kind::BlockEntry if indentless => {
                self.collection(start, anchor, false, Self::indentless_sequence)?
            }
            Kind::Scalar(text, style) => {
                let tag = Tag::new(tag.as_deref(), *style, text);
                let text = text.as_str().into();
                self.tokens.next()?;
                let id = self.add(start, Content::Scalar(tag, text))?;
                self.anchor(anchor, id);
                id
            }
            Kind::FlowSequence => self.collection(start, anchor, true, Self::flow_sequence)?,
            Kind::FlowMapping => self.collection(start, anchor, true, Self::flow_mapping)?,
            Kind::BlockSequence if block => {
                self.collection(start, anchor, true, Self::block_sequence)?
            }
            Kind::BlockMapping if block => {
                self.collection(start, anchor, true, Self::block_mapping)?
            }
            _ if anchor.is_some() || tag.is_some() => {
                let tag = Tag::new(tag.as_deref(), Style::Plain, "");
                let id = self.add(start, Content::Scalar(tag, "".into()))?;
                self.anchor(anchor, id);
                id
            }
            _ => return self.fail(Some(start), "did not find expected node content"),
        };
        Ok(id)
    }

    fn tag(&mut self, handle: &str, suffix: String, start: Mark) -> Result<String, YamlError> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        let prefix = self.tags.iter().find(|(known, _)| known == handle);
        match prefix.map(|(_, prefix)| format!("{prefix}{suffix}")).filter(|tag| !tag.is_empty()) {
            Some(tag) => Ok(tag),
            None => self.fail(Some(start), "found undefined tag handle"),
        }
    }

    fn anchor(&mut self, name: Option<String>, id: NodeId) {
        self.anchors.extend(name.map(|name| (name, id)));
    }

    /// Reads a collection with `read`, after its first token if it `begins` with one of its own.
    fn collection(
        &mut self,
        start: Mark,
        anchor: Option<String>,
        begins: bool,
        read: fn(&mut Self, Mark) -> Result<Content, YamlError>,
    ) -> Result<NodeId, YamlError> {
        let most = self.limits.depth;
        if self.depth >= most {
            return self.fail(None, &format!("nested more than {most} levels deep"));
        }
        let id = self.add(start, Content::Sequence(Vec::new()))?;
        self.anchor(anchor, id);
        let context = self.mark()?;
        if begins {
            self.tokens.next()?;
        }
        self.depth += 1;
        let content = deeper(|| read(self, context))?;
        self.depth -= 1;
        if let Some(node) = self.nodes.get_mut(id) {
            node.content = content;
        }
        Ok(id)
    }

    fn block_sequence(&mut self, context: Mark) -> Result<Content, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                Kind::BlockEntry => {
                    self.tokens.next()?;
                    items.push(match self.peek()? {
                        Kind::BlockEntry | Kind::BlockEnd => self.empty()?,
                        _ => self.node(true, false)?,
                    });
                }
                Kind::BlockEnd => {
                    self.tokens.next()?;
                    return Ok(Content::Sequence(items));
                }
                _ => return self.fail(Some(context), "did not find expected '-' indicator"),
            }
        }
    }

    fn indentless_sequence(&mut self, _: Mark) -> Result<Content, YamlError> {
        let mut items = Vec::new();
        while *self.peek()? == Kind::BlockEntry {
            self.tokens.next()?;
            items.push(match self.peek()? {
                Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => self.empty()?,
                _ => self.node(true, false)?,
            });
        }
        Ok(Content::Sequence(items))
    }

    fn block_mapping(&mut self, context: Mark) -> Result<Content, YamlError> {
        let mut members = Vec::new();
        loop {
            match self.peek()? {
                Kind::Key => {
                    self.tokens.next()?;
                    let key = self.block_member()?;
                    let value = if *self.peek()? == Kind::Value {
                        self.tokens.next()?;
                        self.block_member()?
                    } else {
                        self.empty()?
                    };
                    members.push((key, value));
                }
                Kind::BlockEnd => {
                    self.tokens.next()?;
                    return Ok(Content::Mapping(members));
                }
                _ => return self.fail(Some(context), "did not find expected key"),
            }
        }
    }

    /// Reads a key or value of a block mapping.
    fn block_member(&mut self) -> Result<NodeId, YamlError> {
        match self.peek()? {
            Kind::Key | Kind::Value | Kind::BlockEnd => self.empty(),
            _ => self.node(true, true),
        }
    }

    /// Returns `true` at the `end` of a flow collection, and passes it; otherwise passes the comma
    /// before the next item.
    fn ends(&mut self, end: &Kind, first: bool, context: Mark) -> Result<bool, YamlError> {
        if !first && *self.peek()? == Kind::FlowEntry {
            self.tokens.next()?;
        } else if !first && self.peek()? != end {
            let message = match end {
                Kind::FlowSequenceEnd => "did not find expected ',' or ']'",
                _ => "did not find expected ',' or '}'",
            };
            return self.fail(Some(context), message);
        }
        let ended = self.peek()? == end;
        if ended {
            self.tokens.next()?;
        }
        Ok(ended)
    }

    fn flow_sequence(&mut self, context: Mark) -> Result<Content, YamlError> {
        let mut items = Vec::new();
        while !self.ends(&Kind::FlowSequenceEnd, items.is_empty(), context)? {
            items.push(if *self.peek()? == Kind::Key {
                self.pair()?
            } else {
                self.node(false, false)?
            });
        }
        Ok(Content::Sequence(items))
    }

    /// Reads a mapping of one member within a flow sequence.
    fn pair(&mut self) -> Result<NodeId, YamlError> {
        let start = self.mark()?;
        self.tokens.next()?;
        let id = self.add(start, Content::Sequence(Vec::new()))?;
        let key = match self.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                // Like go-yaml, this passes what ends the empty key.
                self.tokens.next()?;
                self.empty()?
            }
            _ => self.node(false, false)?,
        };
        let value = self.flow_value(&Kind::FlowSequenceEnd)?;
        if let Some(node) = self.nodes.get_mut(id) {
            node.content = Content::Mapping(vec![(key, value)]);
        }
        Ok(id)
    }

    fn flow_mapping(&mut self, context: Mark) -> Result<Content, YamlError> {
        let mut members = Vec::new();
        while !self.ends(&Kind::FlowMappingEnd, members.is_empty(), context)? {
            let member = if *self.peek()? == Kind::Key {
                self.tokens.next()?;
                let key = match self.peek()? {
                    Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => self.empty()?,
                    _ => self.node(false, false)?,
                };
                (key, self.flow_value(&Kind::FlowMappingEnd)?)
            } else {
                let key = self.node(false, false)?;
                (key, self.empty()?)
            };
            members.push(member);
        }
        Ok(Content::Mapping(members))
    }

    /// Reads the value of a member within brackets, which may be missing.
    fn flow_value(&mut self, end: &Kind) -> Result<NodeId, YamlError> {
        if *self.peek()? == Kind::Value {
            self.tokens.next()?;
            let next = self.peek()?;
            if next != end && *next != Kind::FlowEntry {
                return self.node(false, false);
            }
        }
        self.empty()
    }
}

//! Parses YAML text into values.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::scalar::Scalar;
use super::tabs::Tabs;
use crate::rego::builtins::time::{TIMESTAMPS, rfc3339_in_utc};
use crate::rego::builtins::{Code, Context, Error};
use crate::rego::value::{Value, deeper};

/// The limit on nesting.
const MAX_DEPTH: usize = 10_000;
/// The limit on the number of corrections to a text.
const MAX_CORRECTIONS: usize = 10_000;
/// The limit on corrections to the same line.
const MAX_CORRECTIONS_PER_LINE: usize = 8;

/// A node of a document.
enum Node {
    Scalar(Content),
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
}

/// The content of a scalar: its text, its tag (without `!!` for YAML's own tags), and whether it is
/// plain.
struct Content {
    text: String,
    tag: Option<String>,
    plain: bool,
}

fn failed<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::failed(format!("yaml: {}", message.into())))
}

/// Reads the first document of a text.
pub(super) fn document(context: &dyn Context, text: &str) -> Result<Value, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with("...") && !text.trim_start().starts_with("....") {
        return failed("did not find expected node content");
    }
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    if !text.chars().all(allowed) {
        return failed("control characters are not allowed");
    }
    let mut text = std::borrow::Cow::Borrowed(text);
    let (mut moved, mut times) = (0, 0);
    for _ in 0..MAX_CORRECTIONS {
        let corrected = match parse_first(context, &text)? {
            Ok(None) => return Ok(Value::Null),
            Ok(Some(node)) => return value(context, &node),
            Err(Failure::OutdentedBlock(lines)) => match with_empty_block(&text, lines) {
                Some(corrected) => corrected,
                None => return failed("did not find expected <document start>"),
            },
            Err(Failure::Syntax(error)) => {
                let line = error.marker().line();
                times = if line == moved { times + 1 } else { 0 };
                moved = line;
                match with_line_indented(&text, &error) {
                    Some(corrected) if times < MAX_CORRECTIONS_PER_LINE => corrected,
                    _ => return failed(error.to_string()),
                }
            }
        };
        text = corrected.into();
        context.charge(text.len() as u64)?;
    }
    Err(Error::halt(
        Code::Limit,
        "too many lines of YAML are indented less than the construct they belong to",
    ))
}

/// Returns the text with the line indented that an error refers to, or `None` for other errors.
/// go-yaml predates the rule, and lets lines within brackets and quotes be indented less than the
/// construct they belong to.
fn with_line_indented(text: &str, error: &ScanError) -> Option<String> {
    const FAR: &str = "                                                                ";
    let line = error.marker().line().checked_sub(1)?;
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    match error.info() {
        "invalid indentation" | "invalid indentation in flow construct" => {
            lines.get_mut(line)?.insert_str(0, FAR)
        }
        "invalid indentation in quoted scalar" => {
            let first = lines.get(line)?;
            let start: String = first.chars().skip(error.marker().col()).collect();
            let double = start.starts_with('"');
            let mut rest: Vec<char> = start.chars().skip(1).collect();
            let mut at = line;
            while !closes(&rest, double) {
                at += 1;
                let next = lines.get_mut(at)?;
                rest = next.chars().collect();
                next.insert_str(0, FAR);
            }
        }
        _ => return None,
    }
    Some(lines.join("\n"))
}

/// Returns `true` if a quoted scalar ends on this line.
fn closes(line: &[char], double: bool) -> bool {
    let mut chars = line.iter();
    while let Some(c) = chars.next() {
        match c {
            '\\' if double => {
                chars.next();
            }
            '"' if double => return true,
            // A doubled quote stands for one in the text.
            '\'' if !double => {
                if chars.as_slice().first() != Some(&'\'') {
                    return true;
                }
                chars.next();
            }
            _ => {}
        }
    }
    false
}

/// A collection that is still open, and its anchor.
enum Open {
    Sequence(usize, Vec<Rc<Node>>),
    Mapping(usize, Vec<(Rc<Node>, Rc<Node>)>, Option<Rc<Node>>),
}

/// The first document, if there is one.
type Parsed = Result<Option<Rc<Node>>, Failure>;

/// The reasons why a text can't be parsed.
enum Failure {
    Syntax(ScanError),
    /// The lines of a block scalar start in the first column, at this character offset. go-yaml
    /// doesn't count them as part of the scalar.
    OutdentedBlock(usize),
}

/// Replaces the header of the block scalar whose lines start at this character with an empty
/// scalar.
fn with_empty_block(text: &str, lines: usize) -> Option<String> {
    let lines = text.char_indices().nth(lines).map_or(text.len(), |(at, _)| at);
    let before = text.get(..lines)?.trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let code = before.get(line..)?.split(" #").next()?;
    let header = line + code.rfind(['|', '>'])?;
    let after = text.get(header..)?;
    let after = after.trim_start_matches(|c: char| "|>+-".contains(c) || c.is_ascii_digit());
    Some(format!("{}\"\"{after}", text.get(..header)?))
}

/// Parses all documents and returns the first.
fn parse_first(context: &dyn Context, source: &str) -> Result<Parsed, Error> {
    let mut anchors: HashMap<usize, Rc<Node>> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut document = None;
    let mut tabs = Tabs::new(source);
    let mut cursor = Cursor { text: source, chars: 0, bytes: 0 };
    let (length, unfinished) =
        (source.chars().count(), !source.rsplit('\n').next().unwrap_or_default().trim().is_empty());
    for (index, event) in Parser::new_from_str(source).enumerate() {
        if index % 256 == 0 {
            context.check()?;
        }
        context.charge(96)?;
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => return Ok(Err(Failure::Syntax(error))),
        };
        if let Some(tabs) = &mut tabs {
            match &event {
                Event::Scalar(_, style, ..) => tabs.scalar(span, *style == ScalarStyle::Plain),
                Event::SequenceStart(..) | Event::MappingStart(..) => tabs.start(span),
                Event::SequenceEnd | Event::MappingEnd => tabs.end(span),
                _ => {}
            }
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().and_then(tag_name);
                let plain = style == ScalarStyle::Plain;
                let mut text = text.into_owned();
                // If the file ends without a line break, so does a block scalar at its end.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if block && open.is_empty() && !text.is_empty() && span.start.col() == 0 {
                    return Ok(Err(Failure::OutdentedBlock(span.start.index())));
                }
                if block && unfinished && span.end.index() >= length && text.ends_with('\n') {
                    text.pop();
                }
                (Rc::new(Node::Scalar(Content { text, tag, plain })), anchor)
            }
            Event::Alias(id) => match anchors.get(&id) {
                Some(node) => (Rc::clone(node), 0),
                None => return failed("anchor value contains itself"),
            },
            Event::SequenceStart(anchor, _) => {
                open.push(Open::Sequence(anchor, Vec::new()));
                check_depth(open.len())?;
                continue;
            }
            Event::MappingStart(anchor, _) => {
                open.push(Open::Mapping(anchor, Vec::new(), None));
                check_depth(open.len())?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::Sequence(anchor, items)) => (Rc::new(Node::Sequence(items)), anchor),
                Some(Open::Mapping(anchor, members, _)) => {
                    (Rc::new(Node::Mapping(members)), anchor)
                }
                None => continue,
            },
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, Rc::clone(&node));
        }
        match open.last_mut() {
            None => document = document.or(Some(node)),
            Some(Open::Sequence(_, items)) => items.push(node),
            Some(Open::Mapping(_, members, key)) => match key.take() {
                None if cursor.is_bare(span) => {
                    return failed("did not find expected key");
                }
                None => *key = Some(node),
                Some(key) => members.push((key, node)),
            },
        }
    }
    if let Some(line) = tabs.and_then(|tabs| tabs.misplaced()) {
        return failed(format!("line {line}: found character that cannot start any token"));
    }
    Ok(Ok(document))
}

/// A forward conversion of character offsets to byte offsets.
struct Cursor<'t> {
    text: &'t str,
    chars: usize,
    bytes: usize,
}

impl Cursor<'_> {
    fn byte(&mut self, at: usize) -> usize {
        let rest = self.text.get(self.bytes..).unwrap_or_default();
        let passed =
            rest.chars().take(at.saturating_sub(self.chars)).map(char::len_utf8).sum::<usize>();
        self.bytes += passed;
        self.chars = self.chars.max(at);
        self.bytes
    }

    /// Returns `true` for an empty key without a question mark before it, which libyaml accepts
    /// only inside brackets.
    fn is_bare(&mut self, key: saphyr_parser::Span) -> bool {
        if !key.is_empty() {
            return false;
        }
        let start = self.byte(key.start.index());
        let (before, after) = self.text.split_at(start);
        after.starts_with(':') && !before.trim_end().ends_with(['?', '{', ',', '['])
    }
}

fn check_depth(depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH { failed(format!("exceeded max depth of {MAX_DEPTH}")) } else { Ok(()) }
}

/// Returns the name of a tag; `None` for `!`, which has no meaning.
fn tag_name(tag: &Tag) -> Option<String> {
    let whole = format!("{}{}", tag.handle, tag.suffix);
    match whole.strip_prefix("tag:yaml.org,2002:").or_else(|| whole.strip_prefix("!!")) {
        Some(name) => Some(name.to_owned()),
        None if whole == "!" => None,
        None => Some(format!("!{whole}")),
    }
}

impl Content {
    /// Resolves the scalar.
    fn scalar(&self) -> Result<Scalar, Error> {
        let text = || Scalar::Text(self.text.clone());
        let Some(tag) = self.tag.as_deref() else {
            return Ok(if self.plain { Scalar::plain(&self.text) } else { text() });
        };
        match tag {
            "str" => Ok(text()),
            "binary" => match crate::rego::builtins::encoding::decode_binary(&self.text) {
                Some(text) => Ok(Scalar::Text(text)),
                None => failed("!!binary value contains invalid base64 data"),
            },
            "null" | "bool" | "int" | "float" | "timestamp" => {
                let scalar = Scalar::plain(&self.text);
                match scalar {
                    #[allow(clippy::cast_precision_loss)]
                    Scalar::Integer(value) if tag == "float" => Ok(Scalar::Float(value as f64)),
                    Scalar::Timestamp(text) if tag == "timestamp" => match date(&text) {
                        Some(text) => Ok(Scalar::Text(text)),
                        None => Err(Error::halt(
                            Code::Limit,
                            "dates with an offset and a `!!timestamp` tag aren't supported",
                        )),
                    },
                    scalar if scalar.tag() == tag => Ok(scalar),
                    scalar => failed(format!(
                        "cannot decode !!{} `{}` as a !!{tag}",
                        scalar.tag(),
                        self.text
                    )),
                }
            }
            // Application-specific tags.
            _ => Ok(text()),
        }
    }

    fn is_merge(&self) -> bool {
        self.text == "<<"
            && (self.tag.is_none() && self.plain || self.tag.as_deref() == Some("merge"))
    }
}

/// Converts a tagged date as JSON does; returns `None` if it has its own offset.
fn date(text: &str) -> Option<String> {
    let offset = text.get(10..).is_some_and(|time| time.contains(['+', '-']));
    if offset { None } else { TIMESTAMPS.iter().find_map(|layout| rfc3339_in_utc(layout, text)) }
}

fn value(context: &dyn Context, node: &Node) -> Result<Value, Error> {
    context.charge(48)?;
    match node {
        Node::Scalar(content) => {
            let scalar = content.scalar()?;
            scalar.into_value().ok_or_else(|| Error::failed("json: unsupported value"))
        }
        Node::Sequence(items) => deeper(|| items.iter().map(|item| value(context, item)).collect()),
        Node::Mapping(members) => {
            let mut object = BTreeMap::new();
            let texts = members.iter().all(|(key, _)| has_text_key(key));
            deeper(|| mapping(context, members, &mut object, texts))?;
            Ok(object.into_iter().collect())
        }
    }
}

/// Returns `true` if a key is text or the merge key.
fn has_text_key(key: &Node) -> bool {
    let Node::Scalar(content) = key else { return false };
    let text = matches!(content.tag.as_deref(), None | Some("str"));
    content.is_merge() || text && matches!(content.scalar(), Ok(Scalar::Text(_)))
}

/// Adds the members of a mapping that aren't in `object` yet, its own before merged ones. If all
/// keys are text, a merged `null` key is ignored.
fn mapping(
    context: &dyn Context,
    members: &[(Rc<Node>, Rc<Node>)],
    object: &mut BTreeMap<String, Value>,
    texts: bool,
) -> Result<(), Error> {
    let mut own: BTreeMap<String, &Node> = BTreeMap::new();
    let mut merged: Vec<&Node> = Vec::new();
    for (key, member) in members {
        let content = match &**key {
            Node::Scalar(content) => content,
            _ => return failed("invalid map key"),
        };
        if content.is_merge() {
            match &**member {
                Node::Sequence(items) => merged.extend(items.iter().map(|item| &**item)),
                other => merged.push(other),
            }
            continue;
        }
        let scalar = content.scalar()?;
        let date = matches!(scalar, Scalar::Timestamp(_));
        let Some(name) = scalar.into_key() else {
            if texts {
                continue;
            }
            return failed("unsupported map key of type: %!s(<nil>)");
        };
        // Of equal keys, the last one wins; but equal dates are an error.
        if own.insert(name, member).is_some() && date {
            return failed("mapping key already defined");
        }
    }
    for (name, member) in own {
        if !object.contains_key(&name) {
            object.insert(name, value(context, member)?);
        }
    }
    for node in merged {
        match node {
            Node::Mapping(members) => deeper(|| mapping(context, members, object, texts))?,
            _ => return failed("map merge requires map or sequence of maps as the value"),
        }
    }
    Ok(())
}

//! XML: an element is an object of its attributes (`-name`), its text (`#content`) and its children by their
//! names; one with nothing but text is that text, and several of one name are an array. Prefixes of
//! namespaces are left out.
//!
//! Declarations of a document type aren't read: entities are the five of XML, and numbers of characters.

mod well_formed;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use quick_xml::reader::Reader;
use rego::Value;
use rego::value::Object;

use super::limits::MAX_DEPTH;
use super::problem::{Problem, shown};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    if let Some(at) = text.find(|c| !well_formed::is_char(c)) {
        return Err(Problem::at(text, at, "invalid character in XML"));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    reader.config_mut().check_comments = true;
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut has_type = false;
    loop {
        let before = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            Problem::at(text, at, format!("invalid XML: {error}"))
        })?;
        let invalid = |message: String| Problem::at(text, before, message);
        if matches!(event, Event::Eof) {
            return match (root, open.is_empty()) {
                (Some(root), true) => Ok(root),
                (None, true) => Err(invalid("no element".to_owned())),
                (_, false) => Err(invalid("unterminated element".to_owned())),
            };
        }
        match &event {
            Event::Decl(_) if before > 0 => {
                return Err(invalid(
                    "unexpected declaration: expected only at the start".to_owned(),
                ));
            }
            Event::Decl(declaration) => encoding(declaration, text.is_ascii()).map_err(invalid)?,
            Event::DocType(_) if has_type || root.is_some() || !open.is_empty() => {
                return Err(invalid(
                    "unexpected document type: expected only one, before the element".to_owned(),
                ));
            }
            _ => {}
        }
        has_type |= matches!(event, Event::DocType(_));
        step(event, &mut open, &mut root).map_err(invalid)?;
    }
}

/// Checks that the declared encoding is that of the text. Bytes of ASCII are the same in most others.
fn encoding(declaration: &BytesDecl<'_>, is_ascii: bool) -> Result<(), String> {
    const WITH_ASCII: [&str; 10] = [
        "ascii",
        "big5",
        "euc-",
        "gb",
        "iso-8859-",
        "koi8-",
        "latin",
        "macintosh",
        "us-ascii",
        "windows-",
    ];
    let Some(encoding) = declaration.encoding() else { return Ok(()) };
    let encoding = encoding.map_err(|error| error.to_string())?.to_ascii_lowercase();
    let has_ascii = || WITH_ASCII.iter().any(|own| encoding.starts_with(own));
    if matches!(encoding.as_str(), "utf-8" | "utf8") || is_ascii && has_ascii() {
        return Ok(());
    }
    Err(format!("unsupported encoding `{encoding}`: save the file as UTF-8"))
}

/// An element that is still being read.
struct Element {
    name: String,
    /// Attributes and children, by their names in the value.
    members: Object,
    /// The texts between children that aren't blank.
    texts: Vec<String>,
    /// The text since the last child.
    text: String,
}

impl Element {
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        if !text.is_empty() {
            self.texts.push(text.to_owned());
        }
    }

    /// Adds an attribute or a child: several of one name are an array.
    fn add(&mut self, key: &str, value: Value) {
        let key = Value::from(key);
        match self.members.get_mut(&key) {
            None => {
                self.members.insert(key, value);
            }
            // No single value is an array.
            Some(other) => match other.as_array_mut() {
                Some(list) => list.push(value),
                None => *other = Value::from(vec![std::mem::take(other), value]),
            },
        }
    }

    fn value(mut self) -> Value {
        self.end_text();
        let text = self.texts.join(" ");
        if self.members.is_empty() {
            return Value::from(text);
        }
        if !text.is_empty() {
            self.members.insert(Value::from("#content"), Value::from(text));
        }
        Value::from(self.members)
    }
}

fn step(event: Event<'_>, open: &mut Vec<Element>, root: &mut Option<Value>) -> Result<(), String> {
    match event {
        Event::Start(tag) => {
            if open.is_empty() && root.is_some() {
                return Err("unexpected second root element".to_owned());
            }
            if open.len() >= MAX_DEPTH {
                return Err(format!("nested too deeply: the limit is {MAX_DEPTH} levels"));
            }
            if let Some(parent) = open.last_mut() {
                parent.end_text();
            }
            open.push(begin(&tag)?);
        }
        Event::End(_) => {
            let Some(done) = open.pop() else { return Ok(()) };
            let name = done.name.clone();
            let value = done.value();
            match open.last_mut() {
                Some(parent) => parent.add(&name, value),
                None => *root = Some(Value::from(Object::from([(Value::from(name), value)]))),
            }
        }
        Event::Text(text) => {
            if text.contains("]]>") {
                return Err("unexpected `]]>` in text".to_owned());
            }
            let text = text.xml_content(XmlVersion::Implicit1_0).into_owned();
            if !(open.is_empty() && text.trim().is_empty()) {
                put(open, &text)?;
            }
        }
        Event::CData(text) => {
            let text = text.xml_content(XmlVersion::Implicit1_0).into_owned();
            put(open, &text)?;
        }
        Event::GeneralRef(reference) => {
            let number = reference.resolve_char_ref().map_err(|error| error.to_string())?;
            match number {
                Some(c) if !well_formed::is_char(c) => {
                    return Err(NO_CHAR.to_owned());
                }
                Some(c) => put(open, c.encode_utf8(&mut [0; 4]))?,
                None => {
                    let text = resolve_xml_entity(&reference).ok_or_else(|| entity(&reference))?;
                    put(open, text)?;
                }
            }
        }
        Event::DocType(own) if own.contains('[') => {
            return Err("unsupported document type with declarations".to_owned());
        }
        Event::PI(instruction) => {
            let target = instruction.target();
            well_formed::name(target)?;
            if target.eq_ignore_ascii_case("xml") {
                return Err("unexpected declaration: expected only at the start".to_owned());
            }
        }
        Event::Decl(_) | Event::DocType(_) | Event::Comment(_) | Event::Empty(_) | Event::Eof => {}
    }
    Ok(())
}

fn begin(tag: &BytesStart<'_>) -> Result<Element, String> {
    well_formed::name(tag.name().into_inner())?;
    well_formed::attributes(tag.attributes_raw())?;
    let name = tag.local_name().into_inner().to_owned();
    let mut element =
        Element { name, members: Object::new(), texts: Vec::new(), text: String::new() };
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| format!("invalid attribute: {error}"))?;
        if !value.chars().all(well_formed::is_char) {
            return Err(NO_CHAR.to_owned());
        }
        let name = attribute.key.local_name().into_inner().to_owned();
        element.add(&format!("-{name}"), Value::from(value.into_owned()));
    }
    Ok(element)
}

/// Adds text to the element that is open; outside the only element there is none.
fn put(open: &mut [Element], text: &str) -> Result<(), String> {
    let element = open.last_mut().ok_or("unexpected text outside of the element")?;
    element.text.push_str(text);
    Ok(())
}

const NO_CHAR: &str = "invalid character reference";

fn entity(name: &str) -> String {
    format!("unknown entity `&{};`: expected one of the five of XML", shown(name))
}

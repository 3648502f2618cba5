//! XML as the vendor's client reads it, which is Go's decoder: elements with attributes, text and raw content.
//!
//! There may be several elements next to each other, and text around them. Entities are the five of XML and
//! numbers of characters; those that a document type declares are unknown, so nothing expands.

use std::ops::Range;

use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::text::utf8;

/// The deepest nesting of elements.
const MAX_DEPTH: usize = 1_000;

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// An element. Names lack their prefixes.
#[derive(Debug)]
pub(crate) struct Element {
    pub name: String,
    /// The attributes in their order; a name may appear several times.
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// The text between the children.
    pub text: String,
    /// The place of the content in the document.
    pub content: Range<usize>,
}

impl Element {
    /// Returns an attribute, of equal ones the last; empty if there is none.
    pub fn attribute(&self, name: &str) -> &str {
        let mut attributes = self.attributes.iter().rev();
        attributes.find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// Returns the children with a name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the elements that are within children with a name.
    pub fn within<'a>(&'a self, list: &'a str, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.named(list).flat_map(move |list| list.named(name))
    }
}

/// Reads all elements of a document.
pub(crate) fn all(bytes: &[u8]) -> Result<Vec<Element>, String> {
    read(utf8(bytes)?, false)
}

/// Reads the first element; what follows it isn't read.
pub(crate) fn first(bytes: &[u8]) -> Result<Element, String> {
    read(utf8(bytes)?, true)?.pop().ok_or_else(|| "no XML element found".to_owned())
}

fn read(document: &str, only_first: bool) -> Result<Vec<Element>, String> {
    let mut reader = Reader::from_str(document);
    reader.config_mut().check_comments = true;
    let (mut open, mut done): (Vec<Element>, _) = (Vec::new(), Vec::new());
    while !only_first || done.is_empty() {
        let before = position(&reader);
        let event = reader.read_event().map_err(|error| format!("invalid XML: {error}"))?;
        let after = position(&reader);
        let mut text = None;
        let finished = match event {
            Event::Start(_) if open.len() >= MAX_DEPTH => {
                return Err(format!("XML nested more than {MAX_DEPTH} deep"));
            }
            Event::Start(tag) => {
                open.push(element(&tag, after)?);
                None
            }
            Event::Empty(tag) => Some(element(&tag, after)?),
            Event::End(_) => open.pop().map(|mut element| {
                element.content.end = before;
                element
            }),
            Event::Text(raw) if raw.contains("]]>") => {
                return Err("invalid XML: `]]>` outside of CDATA".to_owned());
            }
            Event::Text(raw) => {
                text = Some(resolved(&raw)?);
                None
            }
            Event::GeneralRef(name) => {
                text = Some(resolved(&format!("&{};", &*name))?);
                None
            }
            Event::CData(raw) => {
                text = Some(checked(lines(&raw))?);
                None
            }
            Event::Decl(declaration) => {
                declared(&declaration)?;
                None
            }
            Event::PI(instruction) => {
                let end = instruction.find(|c| !is_in_name(c)).unwrap_or(instruction.len());
                let (name, rest) = instruction.split_at_checked(end).unwrap_or_default();
                local(name)?;
                if name == "xml" {
                    declared(rest)?;
                }
                None
            }
            Event::DocType(text) if !is_balanced(&text) => {
                return Err("invalid XML: unbalanced document type".to_owned());
            }
            Event::Eof if open.is_empty() => break,
            Event::Eof => return Err("invalid XML: unclosed element".to_owned()),
            Event::DocType(_) | Event::Comment(_) => None,
        };
        if let Some((element, text)) = open.last_mut().zip(text) {
            element.text.push_str(&text);
        }
        if let Some(element) = finished {
            open.last_mut().map_or(&mut done, |parent| &mut parent.children).push(element);
        }
    }
    Ok(done)
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn element(tag: &BytesStart<'_>, start: usize) -> Result<Element, String> {
    Ok(Element {
        name: local(tag.name().into_inner())?.to_owned(),
        attributes: attributes(tag.attributes_raw())?,
        children: Vec::new(),
        text: String::new(),
        content: start..start,
    })
}

/// Checks the version and the encoding of a declaration.
fn declared(declaration: &str) -> Result<(), String> {
    let value = |name: &str| {
        let (_, rest) = declaration.split_once(&format!("{name}="))?;
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        Some(rest.get(1..)?.split_once(quote)?.0).filter(|value| !value.is_empty())
    };
    if let Some(version) = value("version").filter(|version| *version != "1.0") {
        return Err(format!("unsupported XML version: {version}"));
    }
    let encoding = value("encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("utf-8"));
    encoding.map_or(Ok(()), |encoding| Err(format!("unsupported encoding: {encoding}")))
}

fn attributes(mut rest: &str) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start_matches(BLANK);
        if rest.is_empty() {
            return Ok(all);
        }
        let invalid = || format!("invalid attributes of an XML element: {rest}");
        let (name, value) = rest.split_once('=').ok_or_else(invalid)?;
        let name = local(name.trim_end_matches(BLANK))?.to_owned();
        let value = value.trim_start_matches(BLANK);
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(invalid)?;
        let (value, after) =
            value.get(1..).and_then(|value| value.split_once(quote)).ok_or_else(invalid)?;
        if value.contains('<') {
            return Err(format!("invalid XML: `<` in the attribute {name}"));
        }
        all.push((name, resolved(value)?));
        rest = after;
    }
}

/// Checks a name and returns it without its prefix.
fn local(name: &str) -> Result<&str, String> {
    let begins = |c: char| c.is_alphabetic() || matches!(c, '_' | ':');
    let is_valid = name.starts_with(begins) && name.chars().all(is_in_name);
    if !is_valid || name.matches(':').count() > 1 {
        return Err(format!("invalid XML name: {name}"));
    }
    match name.split_once(':') {
        Some((prefix, local)) if !prefix.is_empty() && !local.is_empty() => Ok(local),
        _ => Ok(name),
    }
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.' | '\u{b7}')
}

/// Returns `true` if a document type's brackets and quotes are closed.
fn is_balanced(text: &str) -> bool {
    let (mut open, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(own)) => quote = Some(own).filter(|own| *own != c),
            ('"' | '\'', None) => quote = Some(c),
            ('<', None) => open += 1,
            ('>', None) if open == 0 => return false,
            ('>', None) => open -= 1,
            _ => {}
        }
    }
    open == 0 && quote.is_none()
}

/// Resolves the references of a text or of an attribute's value.
fn resolved(text: &str) -> Result<String, String> {
    let text = lines(text);
    let text = unescape(&text).map_err(|error| format!("invalid XML: {error}"))?;
    checked(text.into_owned())
}

/// Ends lines as XML does.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn checked(text: String) -> Result<String, String> {
    let is_char = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    match text.chars().find(|c| !is_char(*c)) {
        Some(c) => Err(format!("invalid XML: the character U+{:04X}", u32::from(c))),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    // What Go 1.26 makes of each, by `xml.Unmarshal`.
    #[test]
    fn documents_are_read_as_by_go() {
        for text in [
            "hello <a x=\"1\"/>",
            "\u{feff}<a x='1'/>",
            "<a x=\"0\"x=\"1\"/>",
            "<!DOCTYPE a [<!ENTITY e \"x\">]><a x=\"1\"/>",
            "<?xml version='1.0' encoding='UTF-8'?><a x=\"1\"/>",
            "<a x=\"1\"><!-- \u{1} --></a>",
            "<a y:x=\"1\"/>",
            "<a xmlns:x=\"1\"/>",
            "<a\nx = '1'\n>\n</a\n>",
            "<a x=\"&#49;\"/>",
            "<a x=\"1\" :y=\"2\"/>",
            "<a x=\"1\"><?foo?></a>",
        ] {
            let element = first(text.as_bytes()).unwrap();
            assert_eq!((element.name.as_str(), element.attribute("x")), ("a", "1"), "{text}");
        }
        for text in [
            "",
            "text",
            "<a",
            "<a>",
            "</a>",
            "<a><b></a>",
            "<a x=1/>",
            "<a x=\"1\" y/>",
            "<a q:r:s=\"1\"/>",
            "<a:b:c/>",
            "<1a/>",
            "<a -x=\"1\"/>",
            "< a/>",
            "<a x=\"<\"/>",
            "<a x=\"&e;\"/>",
            "<a x=\"&lt\"/>",
            "<a x=\"\u{1}\"/>",
            "<a>\u{1}</a>",
            "<a>]]></a>",
            "<a>&#0;</a>",
            "<a>&#x110000;</a>",
            "<a><!-- a -- b --></a>",
            "<?xml version=\"1.1\"?><a/>",
            "<?xml encoding=\"latin1\"?><a/>",
            "<a><?xml version=\"2\"?></a>",
            "<a><??></a>",
            "<!DOCTYPE a <b><a/>",
            "<!DOCTYPE a \"><a/>",
            "<?xml&version=\"2\"?><a/>",
            "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
        ] {
            assert!(first(text.as_bytes()).is_err(), "{text}");
        }
        first(&[b'<', b'a', b'>', 0xff]).unwrap_err();
        let deep = "<a>".repeat(MAX_DEPTH + 1);
        assert_eq!(first(deep.as_bytes()).unwrap_err(), "XML nested more than 1000 deep");
    }

    #[test]
    fn an_element_has_its_text_and_its_raw_content() {
        let text = "<a>1<z>9</z>2<![CDATA[<3]]>\r&amp;</a> <b/>";
        let all = all(text.as_bytes()).unwrap();
        assert_eq!(all[0].text, "12<3\n&");
        let raw = &text[all[0].content.clone()];
        assert_eq!(raw, "1<z>9</z>2<![CDATA[<3]]>\r&amp;");
        assert_eq!((all[1].name.as_str(), all[1].content.is_empty()), ("b", true));
    }
}

//! `JUNIT_XML`: a report, or an archive of reports. Policies get an array of suites.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rego::Value;
use rego::internal::builtins::go_duration;
use rego::value::Object;

use crate::file::File;
use crate::material::{Material, NotOfKind};
use crate::xml::{self, Element};
use crate::{archive, json, number, text};

/// The bytes in which a report has to begin.
const SNIFFED: usize = 512;

/// The statuses of tests, which are counted under their names.
const STATUSES: [&str; 4] = ["passed", "skipped", "failed", "error"];

/// The characters that HTML has at 0x80 to 0x9f.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// Reads a report, or the reports of a zip or tar.gz.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let mut suites = Vec::new();
    let mut add = |bytes: &[u8]| -> Result<(), String> {
        let text = text::utf8(bytes)?;
        extract(text)?;
        find_suites(text, &xml::all(bytes)?, &mut suites)
    };
    let is_report = |name: &str| name.as_bytes().ends_with(b".xml");
    let mut each = |name: &str, bytes: &[u8]| {
        add(bytes).map_err(|error| format!("{name}: {error}"))?;
        Ok(ControlFlow::Continue(()))
    };
    match file.bytes {
        [b'P', b'K', 3, 4, ..] => archive::zip(file.bytes, is_report, &mut each)?,
        [0x1f, 0x8b, 8, ..] => archive::tar_gz(file.bytes, is_report, &mut each)?,
        bytes => {
            let start = bytes.get(..SNIFFED).unwrap_or(bytes).trim_ascii_start();
            if !start.starts_with(b"<?xml") {
                return Err(NotOfKind::new("no `<?xml` declaration at the start, zip or tar.gz"));
            }
            add(bytes)?;
        }
    }
    if suites.is_empty() {
        return Err(NotOfKind::new("no element `testsuite` found"));
    }
    Ok(Material::new(file, json::input(Value::from(suites))))
}

/// Collects the outermost suites, at any depth.
fn find_suites(text: &str, all: &[Element], suites: &mut Vec<Value>) -> Result<(), String> {
    for element in all {
        if element.name == "testsuite" {
            suites.push(suite(text, element)?.0);
        } else {
            find_suites(text, &element.children, suites)?;
        }
    }
    Ok(())
}

/// The sums over the tests of a suite and of the suites in it.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    tests: i64,
    duration: i64,
    counts: [i64; STATUSES.len()],
}

impl Totals {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.duration = self.duration.wrapping_add(other.duration);
        for (own, others) in self.counts.iter_mut().zip(other.counts) {
            *own += others;
        }
    }

    fn value(self) -> Value {
        let counts = STATUSES.into_iter().zip(self.counts.map(Value::from));
        let all = [("tests", self.tests.into()), ("duration", self.duration.into())];
        object(counts.chain(all))
    }
}

fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let members = members.into_iter().map(|(name, value)| (Value::from(name), value));
    Value::from(members.collect::<Object>())
}

fn suite(text: &str, element: &Element) -> Result<(Value, Totals), String> {
    let (mut tests, mut suites, mut totals) = (Vec::new(), Vec::new(), Totals::default());
    let mut properties = attributes(element);
    for child in &element.children {
        match child.name.as_str() {
            "testsuite" => {
                let (value, inner) = suite(text, child)?;
                suites.push(value);
                totals.add(inner);
            }
            "testcase" => {
                let (value, own) = test(text, child)?;
                tests.push(value);
                totals.add(own);
            }
            "properties" => {
                let all = child.named("property");
                let member =
                    |one: &Element| (one.attribute("name").into(), one.attribute("value").into());
                properties = all.map(member).collect();
            }
            _ => {}
        }
    }
    let mut members = vec![
        ("name", element.attribute("name").into()),
        ("package", element.attribute("package").into()),
        ("totals", totals.value()),
    ];
    let lists = [("tests", tests), ("suites", suites)].into_iter();
    members.extend(lists.filter(|(_, all)| !all.is_empty()).map(|(key, all)| (key, all.into())));
    if !properties.is_empty() {
        members.push(("properties", properties.into()));
    }
    members.extend(outputs(text, element)?);
    Ok((object(members), totals))
}

fn test(text: &str, element: &Element) -> Result<(Value, Totals), String> {
    let (mut status, mut message, mut error) = ("passed", "", Value::Null);
    for child in &element.children {
        status = match child.name.as_str() {
            "skipped" => "skipped",
            "failure" => "failed",
            "error" => "error",
            _ => continue,
        };
        message = child.attribute("message");
        if status != "skipped" {
            let body = content(text, child)?;
            let parts = [("message", message), ("type", child.attribute("type")), ("body", &body)];
            let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
            error = object(parts.map(|(name, part)| (name, part.into())));
        }
    }
    let duration = nanoseconds(element.attribute("time"));
    let counts = STATUSES.map(|counted| i64::from(counted == status));
    let properties = attributes(element);
    let mut members = vec![
        ("name", element.attribute("name").into()),
        ("classname", element.attribute("classname").into()),
        ("duration", duration.into()),
        ("status", status.into()),
        ("message", message.into()),
        ("error", error),
        ("properties", if properties.is_empty() { Value::Null } else { properties.into() }),
    ];
    members.extend(outputs(text, element)?);
    Ok((object(members), Totals { tests: 1, duration, counts }))
}

fn attributes(element: &Element) -> Object {
    let all = element.attributes.iter();
    all.map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect()
}

/// Returns the last outputs of an element, unless they are empty.
fn outputs(text: &str, element: &Element) -> Result<Vec<(&'static str, Value)>, String> {
    let mut all = Vec::new();
    for (name, key) in [("system-out", "stdout"), ("system-err", "stderr")] {
        let last = element.named(name).last().map(|output| content(text, output)).transpose()?;
        all.extend(last.filter(|output| !output.is_empty()).map(|output| (key, output.into())));
    }
    Ok(all)
}

/// Converts a test's time, in seconds or as Go writes durations. Seconds are cut to microseconds.
fn nanoseconds(text: &str) -> i64 {
    let text = text.replace(',', "");
    let Some(seconds) = number::float(&text) else {
        return go_duration(&text).unwrap_or_default();
    };
    // What is out of range becomes the least integer, whose thousandfold is 0.
    let microseconds = (seconds * 1_000_000.0).trunc().to_string();
    microseconds.parse::<i64>().unwrap_or_default().wrapping_mul(1_000)
}

/// Returns the raw content of an element, with CDATA and references resolved.
fn content(text: &str, element: &Element) -> Result<String, String> {
    extract(text.get(element.content.clone()).unwrap_or_default())
}

/// Resolves CDATA and references in raw content, and keeps the markup.
fn extract(mut raw: &str) -> Result<String, String> {
    const UNMATCHED: &str = "unmatched start or end of CDATA";
    let mut out = String::new();
    while let Some((before, after)) = raw.split_once("<![CDATA[") {
        out.push_str(&unescaped(before));
        let (data, rest) = after.split_once("]]>").ok_or(UNMATCHED)?;
        out.push_str(data);
        raw = rest;
    }
    if raw.contains("]]>") {
        return Err(UNMATCHED.to_owned());
    }
    out.push_str(&unescaped(raw));
    Ok(out)
}

/// Resolves references as HTML does; others than XML has can't be in the content.
fn unescaped(raw: &str) -> Cow<'_, str> {
    if !raw.contains('&') {
        return raw.into();
    }
    let mut out = String::new();
    let mut parts = raw.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let resolved = part.split_once(';').and_then(|(name, rest)| Some((reference(name)?, rest)));
        let (c, rest) = resolved.unwrap_or(('&', part));
        out.push(c);
        out.push_str(rest);
    }
    out.into()
}

fn reference(name: &str) -> Option<char> {
    let Some(digits) = name.strip_prefix('#') else {
        let named = [("lt", '<'), ("gt", '>'), ("amp", '&'), ("quot", '"'), ("apos", '\'')];
        return named.into_iter().find(|(own, _)| *own == name).map(|(_, c)| c);
    };
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    match code {
        0x80..=0x9f => WINDOWS_1252.chars().nth(usize::try_from(code - 0x80).ok()?),
        0 => Some(char::REPLACEMENT_CHARACTER),
        _ => Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // What the library of the vendor's client makes of each.
    #[test]
    fn times_are_nanoseconds() {
        for (text, expected) in [
            ("1,234.5", 1_234_500_000_000),
            ("0.0000019", 1_000),
            ("1.005", 1_004_999_000),
            ("4.35", 4_350_000_000),
            ("1e3", 1_000_000_000_000),
            ("-1", -1_000_000_000),
            ("1h2m", 3_720_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("1µs", 1_000),
            ("0.1234567891234s", 123_456_789),
            ("9223372036854775807ns", i64::MAX),
        ] {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
        for text in ["", "fast", " 2", "NaN", "Inf", "1e20", "1d", "1h2", "9223372036854775808ns"] {
            assert_eq!(nanoseconds(text), 0, "{text}");
        }
    }

    #[test]
    fn raw_content_is_resolved_once() {
        for (raw, expected) in [
            ("a &amp;lt; &#65;&#x41; <b c='&lt;'/>", "a &lt; AA <b c='<'/>"),
            ("<![CDATA[&lt;]]>&gt;", "&lt;>"),
            ("&#150;&#x80;", "–€"),
            ("<!-- &eacute; & -->", "<!-- &eacute; & -->"),
        ] {
            assert_eq!(extract(raw).unwrap(), expected, "{raw}");
        }
        extract("a ]]> b").unwrap_err();
        extract("<![CDATA[a").unwrap_err();
    }
}

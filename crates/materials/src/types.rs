//! Types of JSON members, as readers of typed structures expect them.
//!
//! A table is a text with one type a row: `Run: tool Tool, results [Result]`. A member's type is a scalar,
//! another type of the table, `[…]` for an array or `{…}` for an object with any names. A mark behind a
//! type's name is the reader:
//!
//! - Without a mark it is Go's `encoding/json`: names are compared without regard to case, unknown members are
//!   ignored, and `null` is of every type but of SPDX's identifiers. Every one of equal members is checked.
//! - `=` is a message in protobuf's JSON form: names are exact, in camel or snake case, `null` is of every
//!   type, and unknown members and those that appear twice are refused.
//! - `!` is a JSON schema without additional members, `~` is one with them: names are exact, `+` marks
//!   required members, and `null` is only of types that end in `?`.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::json::{Json, is_same};

/// A table of types.
#[derive(Debug)]
pub(crate) struct Types(BTreeMap<&'static str, Type>);

/// The members of an object.
#[derive(Debug)]
struct Type {
    reader: MemberRules,
    members: Vec<(&'static str, &'static str)>,
}

/// The reader of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberRules {
    Go,
    Protobuf,
    ClosedSchema,
    OpenSchema,
}

impl MemberRules {
    /// The readers with the marks behind the names of their types.
    const MARKED: [(char, Self); 3] =
        [('=', Self::Protobuf), ('!', Self::ClosedSchema), ('~', Self::OpenSchema)];

    /// Returns `true` if `null` is only of types that end in `?`.
    fn is_schema(self) -> bool {
        matches!(self, Self::ClosedSchema | Self::OpenSchema)
    }

    /// Returns `true` if unknown members are refused.
    fn is_closed(self) -> bool {
        matches!(self, Self::Protobuf | Self::ClosedSchema)
    }

    /// Returns `true` if `name` is the name of a member.
    fn is_name(self, member: &str, name: &str) -> bool {
        match self {
            Self::Go => is_same(member, name),
            Self::Protobuf => member == name || member == camel(name),
            _ => member.strip_prefix('+').unwrap_or(member) == name,
        }
    }
}

impl Types {
    /// Reads a table. Rows continue on lines that begin with a blank; lines that begin with `#` are comments.
    pub fn new(text: &'static str) -> Self {
        let mut all: BTreeMap<&'static str, Type> = BTreeMap::new();
        let mut current = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
            if !line.starts_with(' ') {
                let Some(head) = words.next().and_then(|word| word.strip_suffix(':')) else {
                    continue;
                };
                let marked = |(mark, reader)| Some((head.strip_suffix(mark)?, reader));
                let (name, reader) = MemberRules::MARKED
                    .into_iter()
                    .find_map(marked)
                    .unwrap_or((head, MemberRules::Go));
                all.insert(name, Type { reader, members: Vec::new() });
                current = Some((name, None));
            }
            // A name may be the last word of a line, and its type the first word of the next.
            let Some((name, pending)) = &mut current else { continue };
            let Some(Type { members, .. }) = all.get_mut(name) else { continue };
            for word in words {
                match pending.take() {
                    None => *pending = Some(word),
                    Some(member) => members.push((member, word)),
                }
            }
        }
        Self(all)
    }

    /// Checks that a value and what it holds are of a type.
    pub fn check(&self, value: Json<'_>, of: &str) -> Result<(), String> {
        let is_schema = self.0.get(of).is_some_and(|of| of.reader.is_schema());
        self.check_at(value, of, "", is_schema)
    }

    fn check_at(
        &self,
        value: Json<'_>,
        of: &str,
        path: &str,
        is_schema: bool,
    ) -> Result<(), String> {
        let inner = |of: &'_ str, open, close| -> Option<String> {
            Some(of.strip_prefix(open)?.strip_suffix(close)?.to_owned())
        };
        let unexpected_type = |expected: &str| {
            let place = if path.is_empty() { "the document" } else { path };
            Err(format!(
                "unexpected type of `{place}`: expected {expected}, found {}",
                value.type_name()
            ))
        };
        let (of, may_be_null) = of.strip_suffix('?').map_or((of, !is_schema), |of| (of, true));
        if let Some(scalar) = Scalar::named(of) {
            let is_null = value.is_null()
                && (scalar.may_be_null() && may_be_null || matches!(scalar, Scalar::Any));
            return if is_null || scalar.accepts(value) {
                Ok(())
            } else {
                unexpected_type(scalar.expected())
            };
        }
        if value.is_null() && may_be_null {
            return Ok(());
        }
        if let Some(of) = inner(of, '[', ']') {
            let Some(all) = value.elements() else { return unexpected_type("an array") };
            let mut all = all.into_iter().enumerate();
            return all.try_for_each(|(index, one)| {
                self.check_at(one, &of, &format!("{path}[{index}]"), is_schema)
            });
        }
        let Some(members) = value.members() else { return unexpected_type("an object") };
        if let Some(of) = inner(of, '{', '}') {
            let mut all = members.into_iter();
            return all.try_for_each(|(name, one)| {
                self.check_at(one, &of, &below(path, &name), is_schema)
            });
        }
        let Some(Type { reader, members: known }) = self.0.get(of) else {
            return Err(format!("unknown type {of}"));
        };
        let mut found = BTreeSet::new();
        for (name, value) in members {
            match known.iter().find(|(member, _)| reader.is_name(member, &name)) {
                Some((member, _)) if !found.insert(*member) && *reader == MemberRules::Protobuf => {
                    return Err(format!("duplicate member `{}`", below(path, &name)));
                }
                Some((_, of)) => {
                    self.check_at(value, of, &below(path, &name), reader.is_schema())?;
                }
                None if reader.is_closed() => {
                    return Err(format!("unknown member `{}`", below(path, &name)));
                }
                None => {}
            }
        }
        let mut required = known.iter().filter(|(member, _)| !found.contains(member));
        match required.find_map(|(member, _)| member.strip_prefix('+')) {
            Some(missing) => Err(format!("missing member `{}`", below(path, missing))),
            None => Ok(()),
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns a name in snake case in camel case.
fn camel(name: &str) -> String {
    let mut upper = false;
    let mut all = String::new();
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => all.push(c.to_ascii_uppercase()),
            c => all.push(c),
        }
    }
    all
}

/// A type of values that have no members.
#[derive(Debug, Clone, Copy)]
enum Scalar {
    Any,
    Text,
    Bool,
    /// A whole number of 64 bits, without fraction and exponent.
    Int,
    Uint,
    /// A number in the range of 64-bit floats.
    Number,
    /// A time as in RFC 3339.
    Time,
    /// A time, or seconds since 1970.
    Timestamp,
    /// A text in padded base64.
    Base64,
    /// A text in either alphabet of base64, with or without padding.
    Bytes,
    /// A whole number of 64 bits, or a text with one.
    Int64,
    Object,
    /// A text that isn't empty.
    Word,
    /// A whole number, also with a fraction of zeros.
    Whole,
    /// A whole number from 0.
    Natural,
    SpdxId,
    SpdxDocument,
    SpdxReference,
    SpdxAgent,
    SpdxSupplier,
}

impl Scalar {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "any" => Self::Any,
            "text" => Self::Text,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "number" => Self::Number,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "base64" => Self::Base64,
            "bytes" => Self::Bytes,
            "int64" => Self::Int64,
            "object" => Self::Object,
            "word" => Self::Word,
            "natural" => Self::Natural,
            "whole" => Self::Whole,
            "spdx-id" => Self::SpdxId,
            "spdx-document" => Self::SpdxDocument,
            "spdx-reference" => Self::SpdxReference,
            "spdx-agent" => Self::SpdxAgent,
            "spdx-supplier" => Self::SpdxSupplier,
            _ => return None,
        })
    }

    fn accepts(self, value: Json<'_>) -> bool {
        let has = |test: &dyn Fn(&str) -> bool| value.text().is_some_and(|text| test(&text));
        match self {
            Self::Any => true,
            Self::Text => value.is_text(),
            Self::Bool => value.is_bool(),
            Self::Int => value.int().is_some(),
            Self::Uint => value.uint().is_some(),
            Self::Number => value.number().is_some(),
            Self::Time => has(&is_time),
            Self::Timestamp => value.int().is_some() || has(&is_time),
            Self::Base64 => has(&|text| PADDED.decode(text).is_ok()),
            Self::Bytes => has(&|text| bytes(text).is_some()),
            Self::Int64 => value.int().is_some() || has(&|text| text.parse::<i64>().is_ok()),
            Self::Object => value.is_object(),
            Self::Word => has(&|text| !text.is_empty()),
            Self::Natural => value.int().is_some_and(|number| number >= 0),
            Self::Whole => value.number().is_some_and(|number| number.fract() == 0.0),
            Self::SpdxId => has(&|text| has_rest(text, "SPDXRef-")),
            Self::SpdxDocument => has(&|text| has_rest(text, "DocumentRef-")),
            Self::SpdxReference => has(&is_spdx_reference),
            Self::SpdxAgent => has(&|text| text.contains(':')),
            Self::SpdxSupplier => has(&|text| text.contains(':') || text == "NOASSERTION"),
        }
    }

    /// Returns `true` if a reader of Go structures takes `null` for it.
    const fn may_be_null(self) -> bool {
        !matches!(self, Self::SpdxId | Self::SpdxDocument | Self::SpdxReference | Self::SpdxAgent)
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Text => "a string",
            Self::Bool => "a boolean",
            Self::Int => "a whole number",
            Self::Uint => "a nonnegative whole number",
            Self::Number => "a number",
            Self::Time => "an RFC 3339 time",
            Self::Timestamp => "an RFC 3339 time or a whole number",
            Self::Base64 | Self::Bytes => "a base64 string",
            Self::Int64 => "a whole number, or one in a string",
            Self::Object => "an object",
            Self::Word => "a nonempty string",
            Self::Natural => "a nonnegative whole number",
            Self::Whole => "a whole number",
            Self::SpdxId => "an identifier that begins with `SPDXRef-`",
            Self::SpdxDocument => "an identifier that begins with `DocumentRef-`",
            Self::SpdxReference => "an SPDX identifier",
            Self::SpdxAgent => "a string such as `Tool: name`",
            Self::SpdxSupplier => "a string such as `Organization: name`, or `NOASSERTION`",
        }
    }
}

const fn engine(
    alphabet: &base64::alphabet::Alphabet,
    padding: DecodePaddingMode,
) -> GeneralPurpose {
    let how = GeneralPurposeConfig::new()
        .with_decode_padding_mode(padding)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, how)
}

const PADDED: GeneralPurpose =
    engine(&base64::alphabet::STANDARD, DecodePaddingMode::RequireCanonical);
const PADDED_URL_SAFE: GeneralPurpose =
    engine(&base64::alphabet::URL_SAFE, DecodePaddingMode::RequireCanonical);
const STANDARD: GeneralPurpose =
    engine(&base64::alphabet::STANDARD, DecodePaddingMode::Indifferent);
const URL_SAFE: GeneralPurpose =
    engine(&base64::alphabet::URL_SAFE, DecodePaddingMode::Indifferent);

/// Returns the bytes of a text in base64, in either alphabet, with or without padding.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = one_line(text);
    STANDARD.decode(&text).or_else(|_| URL_SAFE.decode(&text)).ok()
}

/// Returns the bytes of a text in padded base64, in either alphabet.
pub(crate) fn padded_bytes(text: &str) -> Option<Vec<u8>> {
    let text = one_line(text);
    PADDED.decode(&text).or_else(|_| PADDED_URL_SAFE.decode(&text)).ok()
}

/// Returns a text without line breaks, which Go's readers of base64 ignore.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], "")
}

/// Returns `true` for a time as in RFC 3339, such as `2024-01-02T03:04:05.6+07:00`.
fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok() && text.as_bytes().get(10) == Some(&b'T')
}

fn has_rest(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty())
}

/// Returns `true` for `SPDXRef-…`, optionally behind `DocumentRef-…:`, for `DocumentRef-…`, and for none.
fn is_spdx_reference(text: &str) -> bool {
    if matches!(text, "NONE" | "NOASSERTION") {
        return true;
    }
    match text.split_once(':') {
        Some((document, element)) if document.starts_with("DocumentRef-") => {
            has_rest(document, "DocumentRef-") && has_rest(element, "SPDXRef-")
        }
        _ => has_rest(text, "SPDXRef-") || has_rest(text, "DocumentRef-"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::json;

    #[test]
    fn each_of_equal_members_has_to_be_of_its_type() {
        let types = Types::new(
            "Thing: name text, sizes [int],\n  at time\nOpen~: +thing Thing, all {bool}, none [int]?\n\
             P=: aB int64\nC!: +x word\n",
        );
        let check = |text: &str, of| types.check(json::only(text.as_bytes()).unwrap().root(), of);
        for (text, of) in [
            ("null", "Thing"),
            ("{\"NAME\": null}", "Thing"),
            (r#"{"\u017fize\u017f": [1, null], "at": "2024-01-02T03:04:05Z"}"#, "Thing"),
            (r#"{"x": 1, "thing": {}, "all": {"y": true}, "none": null}"#, "Open"),
            (r#"{"a_b": "1"}"#, "P"),
            (r#"{"x": "y"}"#, "C"),
        ] {
            check(text, of).unwrap();
        }
        for (text, of, expected) in [
            (
                "[]",
                "Thing",
                "unexpected type of `the document`: expected an object, found an array",
            ),
            (
                r#"{"Name": 1, "name": "x"}"#,
                "Thing",
                "unexpected type of `Name`: expected a string, found a number",
            ),
            (
                r#"{"sizes": [1.0]}"#,
                "Thing",
                "unexpected type of `sizes[0]`: expected a whole number, found a number",
            ),
            (
                r#"{"at": "2024"}"#,
                "Thing",
                "unexpected type of `at`: expected an RFC 3339 time, found a string",
            ),
            (
                r#"{"thing": null}"#,
                "Open",
                "unexpected type of `thing`: expected an object, found null",
            ),
            (r#"{"Thing": {}}"#, "Open", "missing member `thing`"),
            (r#"{"AB": 1}"#, "P", "unknown member `AB`"),
            (r#"{"aB": 1, "a_b": 1}"#, "P", "duplicate member `a_b`"),
            (
                r#"{"x": ""}"#,
                "C",
                "unexpected type of `x`: expected a nonempty string, found a string",
            ),
            (r#"{"x": "y", "z": 1}"#, "C", "unknown member `z`"),
            ("null", "C", "unexpected type of `the document`: expected an object, found null"),
        ] {
            assert_eq!(check(text, of).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn tables_have_the_types_that_they_name() {
        for text in crate::kinds::TABLES {
            let types = Types::new(text);
            assert!(!types.0.is_empty());
            for (name, of) in types.0.values().flat_map(|of| &of.members) {
                let of = of.trim_matches(['[', ']', '{', '}', '?']);
                assert!(Scalar::named(of).is_some() || types.0.contains_key(of), "{name}: {of}");
            }
        }
    }
}

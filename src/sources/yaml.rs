//! YAML files, and the requirements beyond OPA's.
//!
//! The meaning of a text belongs to [`crate::rego::internal::yaml`]. Owns the limits on files, and what is
//! refused because it is misread easily: line separators that only one version of YAML treats as
//! line breaks, and numbers that a double doesn't hold as they are written.

use crate::rego::Value;
use crate::rego::internal::yaml::{self, Host, Limits, Mark};

use super::json;

/// A problem with its position: line and column from 1, the column in characters.
#[derive(Debug)]
pub(super) struct YamlError {
    pub line: usize,
    pub column: usize,
    pub message: String,
    pub hint: Option<&'static str>,
}

impl YamlError {
    fn new(at: Mark, message: impl Into<String>) -> Self {
        Self { line: at.line + 1, column: at.column + 1, message: message.into(), hint: None }
    }
}

/// The first document of a text.
#[derive(Debug)]
pub(super) struct FirstDocument {
    /// The document's value; `None` if the text contains no document.
    pub value: Option<Value>,
    /// The number of further documents.
    pub further: usize,
}

/// Reads the first document of a text; the further ones are only checked.
pub(super) fn read(text: &str) -> Result<FirstDocument, YamlError> {
    refuse_separators(text)?;
    let mut file = File::default();
    let read = yaml::read(text, &mut file, Limits::FILE).map_err(YamlError::from)?;
    match file.inexact {
        Some(inexact) => Err(inexact),
        None => Ok(FirstDocument { value: read.value, further: read.further }),
    }
}

/// Reads the documents of a text that follow the first one.
pub(super) fn further(text: &str) -> Result<Vec<Value>, YamlError> {
    let read = yaml::read_all(text, &mut File::default(), Limits::FILE);
    Ok(read.map_err(YamlError::from)?.into_iter().skip(1).collect())
}

/// Reads the only document of a text into a type.
pub(super) fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    refuse_separators(text)?;
    yaml::from_str(text).map_err(YamlError::from)
}

/// Returns the problem with the first plain scalar that YAML 1.1 reads as a boolean and YAML 1.2 as a string.
pub(super) fn boolean_word(text: &str) -> Result<Option<YamlError>, YamlError> {
    let found = yaml::boolean_word(text).map_err(YamlError::from)?;
    Ok(found.map(|(at, word)| {
        let hint = Some("write `true` or `false`, or put the text in quotes");
        let message = format!("`{word}` is a boolean in YAML 1.1 and text in YAML 1.2");
        YamlError { hint, ..YamlError::new(at, message) }
    }))
}

fn refuse_separators(text: &str) -> Result<(), YamlError> {
    let Some(at) = text.find(['\u{85}', '\u{2028}', '\u{2029}']) else { return Ok(()) };
    let message = "a line separator (U+0085, U+2028 or U+2029) ends a line in YAML 1.1 and not in YAML \
                   1.2";
    Err(YamlError::new(Mark::of_byte(text, at), message))
}

impl From<yaml::YamlError> for YamlError {
    fn from(error: yaml::YamlError) -> Self {
        let message = crate::text::shorten(&error.message, 200);
        let message =
            if error.is_syntactic() { format!("invalid YAML: {message}") } else { message };
        Self::new(error.at, message)
    }
}

/// The reading of a file.
#[derive(Default)]
struct File {
    /// The first number that isn't held exactly as it is written.
    inexact: Option<YamlError>,
}

impl Host for File {
    fn float(&mut self, text: &str, at: Mark) {
        if let Some(message) =
            json::inexact(&text.replace('_', "")).filter(|_| self.inexact.is_none())
        {
            let hint = Some("write it as a string, or with fewer digits");
            self.inexact = Some(YamlError { hint, ..YamlError::new(at, message) });
        }
    }

    fn knows_booleans(&self) -> bool {
        true
    }

    fn wants_unique_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

    use std::io::BufRead as _;

    use super::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Ok(read) => read.value.map_or("nothing".to_owned(), |value| value.to_json()),
            Err(wrong) => format!("{}:{}: {}", wrong.line, wrong.column, wrong.message),
        }
    }

    /// The expected values are those of OPA 1.22.4.
    #[test]
    fn scalars_have_the_meaning_that_opa_gives_them() {
        for (text, expected) in [
            ("a: {p: \" # \", mode: 0777}", r#"{"a":{"mode":511,"p":" # "}}"#),
            (
                "a: [0x1FF, 0X1FF, 0o17, 0O17, 0b11, 017, -017, 08, 0, 00]",
                r#"{"a":[511,511,15,15,3,15,-15,8,0,0]}"#,
            ),
            (
                "a: [1_000, +1, 1., .5, 1.50, 1e3, 12:30, 1_0.5]",
                r#"{"a":[1000,1,1,0.5,1.5,1000,"12:30",10.5]}"#,
            ),
            (
                "a: [yes, no, on, off, y, n, True, FALSE, ~, Null, '']",
                r#"{"a":["yes","no","on","off","y","n",true,false,null,null,""]}"#,
            ),
            ("on: push", r#"{"on":"push"}"#),
            ("true: 1\n2: 3\n1.5: 4", r#"{"1.5":4,"2":3,"true":1}"#),
            (
                "a: [2024-01-02, 2024-01-02T03:04:05Z]",
                r#"{"a":["2024-01-02","2024-01-02T03:04:05Z"]}"#,
            ),
            (
                "a: !Ref x\nb: !Sub {c: 1}\nc: !!str 1\nd: !!int 7\ne: !!binary aGk=",
                r#"{"a":"x","b":{"c":1},"c":"1","d":7,"e":"hi"}"#,
            ),
            (
                "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3",
                r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}"#,
            ),
            ("a: 1\na: 2", "2:1: the key `a` appears twice"),
            ("a: {1: x, 0x1: y}", "1:11: the key `1` appears twice"),
            ("a: # c\r  0777\r", r#"{"a":511}"#),
            ("a: |\n  0777\nb: '0777'\nc: \"0777\"", r#"{"a":"0777\n","b":"0777","c":"0777"}"#),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    /// The texts of `crates/rego/testdata/yaml.jsonl.gz`, with the answers that OPA gave to `yaml.unmarshal`,
    /// which reads as OPA reads files.
    #[test]
    fn files_have_the_values_that_opa_gives_them() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/rego/testdata/yaml.jsonl.gz");
        let file = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
        let (mut same, mut both_refused, mut stricter) = (0, 0, 0);
        for line in std::io::BufReader::new(file).lines() {
            let case: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            let queries = case["queries"].as_array().unwrap();
            if queries.first().is_none_or(|query| *query != "data.p.read") {
                continue;
            }
            let answers = case["opa"]["results"].as_array().unwrap();
            for (text, answer) in case["inputs"].as_array().unwrap().iter().zip(answers) {
                let text: String = serde_json::from_str(text.as_str().unwrap()).unwrap();
                let expected = answer["rows"][0]["value"].as_str();
                match (read(&text), expected) {
                    (Ok(read), Some(expected)) => {
                        let expected: Value = serde_json::from_str(expected).unwrap();
                        assert_eq!(read.value.unwrap_or(Value::Null), expected, "{text:?}");
                        same += 1;
                    }
                    (Ok(read), None) => panic!("{text:?} is accepted: {read:?}"),
                    (Err(_), None) => both_refused += 1,
                    (Err(wrong), Some(_)) => {
                        let is_known = [
                            "a line separator",
                            "appears twice",
                            "would be rounded",
                            "more than 64 bits",
                        ]
                        .iter()
                        .any(|reason| wrong.message.contains(reason));
                        assert!(is_known, "{text:?}: {wrong:?}");
                        stricter += 1;
                    }
                }
            }
        }
        let counts = (same, both_refused, stricter);
        assert!(same > 1_500 && both_refused > 4_000 && stricter > 20, "{counts:?}");
    }

    #[test]
    fn yaml_without_a_json_equivalent_is_refused_with_its_position() {
        for (text, expected) in [
            ("a: 1\nb: .inf", "2:4: `.inf` isn't a valid JSON number"),
            ("a: 1\n? [x]\n: 1", "invalid map key"),
            ("~: 1", "unsupported map key: null or a date"),
            ("a: !!int x", "cannot decode !!str `x` as a !!int"),
            ("a: # c\u{2028}mode: 0777", "1:7: a line separator"),
            ("a: # c\u{85}mode: 0777", "a line separator"),
            ("a: [1", "invalid YAML"),
            ("a: &x [*x]", "anchor value contains itself"),
        ] {
            assert!(shown(text).contains(expected), "{text}: {}", shown(text));
        }
        let mut bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for n in 1..12 {
            let one = format!("*a{},", n - 1).repeat(10);
            bomb = format!("{bomb}a{n}: &a{n} [{one}]\n");
        }
        assert!(shown(&bomb).contains("excessive aliasing"), "bombs");
    }

    #[test]
    fn further_documents_are_counted() {
        let found = read("a: 1\n---\nb: 2\n---\nc: 3\n").unwrap();
        assert_eq!(
            (found.further, serde_json::to_string(&found.value).unwrap()),
            (2, "{\"a\":1}".into())
        );
        assert!(read("a: 1\n---\nb: [").is_err());
        assert!(read("# nothing\n").unwrap().value.is_none());
    }
}

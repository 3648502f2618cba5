//! The input document of `eval`: a file, or standard input.

use std::path::Path;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use rego_platform_gate::{Parser, conversion_of};

use crate::option_files;
use crate::stdin::{self, Stdin};

/// Reads the document at `path`, `-` for standard input.
pub(crate) fn read(path: &Path, parser: Option<Parser>, stdin: &mut Stdin) -> Result<Value, Error> {
    let (bytes, name) = if path.as_os_str() == "-" {
        (stdin.read("`--input -`")?, "<stdin>".to_owned())
    } else {
        let name = path.display().to_string();
        let bytes = option_files::bounded(path, option_files::MAX_INPUT)
            .map_err(|error| unreadable("the input", path, error))?;
        (bytes, name)
    };
    document(bytes, &name, parser)
}

/// Parses a document: with the parser that is given, that of its name, or else JSON or YAML by its first
/// character.
fn document(bytes: Vec<u8>, name: &str, parser: Option<Parser>) -> Result<Value, Error> {
    let text = stdin::text(bytes, name)?;
    let path = Path::new(name);
    let parser = match parser.or_else(|| Parser::of(path)) {
        Some(parser) => parser,
        None if let Some(convert) = conversion_of(path) => {
            let message = format!("no parser for the extension of the input: `{}`", escape(name));
            return Err(Error::configuration(message).with_hint(convert));
        }
        // A document that starts like this is JSON; everything else can only be YAML.
        None if text.trim_start().starts_with(['{', '[', '"']) => Parser::Json,
        None => Parser::Yaml,
    };
    // Of other formats, an empty text may be a document.
    if matches!(parser, Parser::Json | Parser::Yaml) && text.trim().is_empty() {
        let message = format!("{}: the document is empty", escape(name));
        return Err(Error::configuration(message));
    }
    parser.read(name, &text).map_err(|found| Error::found_in(name, &found))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(text: &str, name: &str) -> Result<String, String> {
        document(text.as_bytes().to_vec(), name, None)
            .map(|value| serde_json::to_string(&value).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_document_is_json_or_yaml() {
        assert_eq!(parse("\u{feff}{\"a\": 1}", "x.json").unwrap(), r#"{"a":1}"#);
        assert_eq!(parse("a: [1, x]", "x.yml").unwrap(), r#"{"a":[1,"x"]}"#);
        assert_eq!(parse("a: 1", "<stdin>").unwrap(), r#"{"a":1}"#);
        assert_eq!(parse("[1]", "<stdin>").unwrap(), "[1]");
        assert_eq!(parse("18446744073709551615", "x.json").unwrap(), "18446744073709551615");
    }

    #[test]
    fn errors_have_a_position() {
        assert!(parse("{\n \"a\": }", "x.json").unwrap_err().starts_with("x.json:2:7: "));
        assert!(parse("a: [\n", "x.yaml").unwrap_err().starts_with("x.yaml:"));
        assert!(parse(" \n", "x.json").unwrap_err().contains("empty"));
        let error = document(vec![b'\n', 0xff], "x", None).unwrap_err().to_string();
        assert_eq!(error, "x:2: invalid UTF-8");
    }
}

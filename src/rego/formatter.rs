//! Formats a text in the layout of `opa fmt`, or explains why that isn't possible.
//!
//! Owns the choice of versions for reading and writing, the checks beyond parsing, and the check of
//! the result. The layout itself is implemented in `syntax::format`.

use super::builtins;
use super::compile::{Function, Functions, check_v1};
use super::problem::{self, Problem, ProblemCode, Problems, Sources};
use super::program::LoadError;
use super::syntax::tree::{FileId, Span};
use super::syntax::{BaseVersion, ParseOptions, format_module_with, parse_module};

/// The versions of Rego for reading and writing.
#[derive(Debug, Clone, Copy, Default)]
pub struct FormatOptions {
    /// The version in which the text is read.
    pub read: BaseVersion,
    /// The version for which it's written.
    pub write: BaseVersion,
    /// `true` to leave out imports that `write` doesn't need, such as `rego.v1`.
    pub drop_imports: bool,
    /// `true` to accept keywords that v0 has to import as if they were imported.
    pub all_keywords: bool,
}

/// Formats a text in OPA's layout.
///
/// # Errors
/// The text can't be parsed, or it can't be expressed in the version for writing.
pub fn format_text(path: &str, text: &str, options: FormatOptions) -> Result<String, LoadError> {
    let mut sources = Sources::new();
    let file = sources.add(path, text);
    format_file(file, text, options).map_err(|mut problems| {
        problem::sort_by_position(&mut problems, &sources);
        LoadError { problems, sources }
    })
}

fn format_file(file: FileId, text: &str, options: FormatOptions) -> Result<String, Problems> {
    let all_future_keywords = options.all_keywords;
    let plain = ParseOptions { all_future_keywords, ..ParseOptions::version(options.read) };
    if options.write != BaseVersion::V0 {
        let module = parse_module(file, text, &plain)?;
        let functions: Functions = builtins::all().iter().map(Function::from).collect();
        let found = check_v1(module, &functions);
        if !found.is_empty() {
            return Err(found);
        }
    }
    let module = parse_module(file, text, &ParseOptions { keep_layout: true, ..plain })?;
    let written = format_module_with(&module, text, options.write, options.drop_imports)?;
    match parse_module(file, &written, &ParseOptions::version(options.write)) {
        Ok(_) => Ok(written),
        Err(problems) => {
            let first = problems.first().map(|problem| problem.message.clone());
            let message = format!("formatted, it can't be read: {}", first.unwrap_or_default());
            let span = Span { file, ..Span::default() };
            Err(vec![Problem::new(ProblemCode::Unsupported, span, message)])
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const V0_V1: FormatOptions = FormatOptions {
        read: BaseVersion::V0,
        write: BaseVersion::V0CompatV1,
        drop_imports: false,
        all_keywords: false,
    };

    fn formatted_or_error(text: &str, options: FormatOptions) -> String {
        match format_text("p.rego", text, options) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn text_that_is_invalid_in_v1_is_refused() {
        for (text, expected) in [
            (
                "package p\nimport data.a\nimport data.b.a\n",
                "p.rego:3: rego_compile_error: import must not shadow import data.a",
            ),
            (
                "package p\np { input := 1 }\n",
                "p.rego:2: rego_compile_error: variables must not shadow input (use a different \
                 variable name)",
            ),
            (
                "package p\np { any([true]) }\n",
                "p.rego:2: rego_type_error: deprecated built-in function calls in expression: any",
            ),
            (
                "package p\nif { true }\n",
                "p.rego:2: rego_parse_error: if keyword cannot be used for rule name",
            ),
        ] {
            let found = formatted_or_error(text, V0_V1);
            assert!(found.starts_with(expected), "{found}");
            let v0 = FormatOptions { write: BaseVersion::V0, ..V0_V1 };
            assert!(formatted_or_error(text, v0).starts_with("package p\n"));
        }
    }

    #[test]
    fn v0_text_is_rewritten_for_v1() {
        let text = "package p\n\nimport future.keywords.in\n\na[x] { x := 1 in [2] }\n";
        let expected = "package p\n\nimport rego.v1\n\na contains x if x := 1 in [2]\n";
        assert_eq!(formatted_or_error(text, V0_V1), expected);
        let dropped = FormatOptions { drop_imports: true, ..FormatOptions::default() };
        let expected = "package p\n\na contains x if x := 1 in [2]\n";
        assert_eq!(
            formatted_or_error("package p\nimport rego.v1\na contains x if x := 1 in [2]", dropped),
            expected
        );
    }
}

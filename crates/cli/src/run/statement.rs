//! The classification of a line: a command, a query, or something that becomes part of a package.

use rego_platform::rego::Problems;
use rego_platform::rego::syntax::tree::{FileId, Rule};
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module, parse_query};

/// The kind of statement that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Nothing,
    /// A command's word, and the rest of the line.
    Command(String, String),
    /// The package to enter.
    Package(String),
    Import,
    /// Rules, and whether they replace earlier ones with the same names.
    Rules {
        names: Vec<String>,
        replaces: bool,
    },
    /// A new value for `input`: a term.
    Input(String),
    Query,
    /// The statement continues on the next line.
    Unfinished,
}

/// Words that are commands without a colon, as in `opa run`.
const BARE_COMMANDS: &[&str] = &["help", "exit", "quit", "trace"];

/// Classifies a text; `last` means that no more lines follow.
pub(super) fn classify(text: &str, version: BaseVersion, last: bool) -> Statement {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') && !trimmed.contains('\n') {
        return Statement::Nothing;
    }
    if let Some(command) = trimmed.strip_prefix(':') {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        return Statement::Command(word.to_owned(), rest.trim().to_owned());
    }
    if BARE_COMMANDS.contains(&trimmed) {
        return Statement::Command(trimmed.to_owned(), String::new());
    }
    if let Some(name) = trimmed.strip_prefix("package ") {
        return Statement::Package(name.trim().to_owned());
    }
    if let Some(value) = trimmed.strip_prefix("input").map(str::trim_start)
        && let Some(value) = value.strip_prefix(":=")
    {
        let query = parse_query(FileId(0), value, &ParseOptions::version(version));
        return match query {
            Err(problems) if !last && at_end(&problems) => Statement::Unfinished,
            _ => Statement::Input(value.trim().to_owned()),
        };
    }
    let options = ParseOptions::version(version);
    let query = parse_query(FileId(0), text, &options);
    match parse_module(FileId(0), &format!("package p\n{text}"), &options) {
        Ok(module) if !module.imports.is_empty() && module.rules.is_empty() => Statement::Import,
        Ok(module) if !module.rules.is_empty() && module.rules.iter().any(defines) => {
            let names = module.rules.iter().filter_map(name).collect();
            let [rule] = module.rules.as_slice() else {
                return Statement::Rules { names, replaces: false };
            };
            let replaces = rule.head.assign && rule.generated_body && !rule.head.is_function();
            Statement::Rules { names, replaces }
        }
        Ok(_) => Statement::Query,
        Err(problems) => {
            let of_query = query.as_ref().err();
            let open = of_query.is_some_and(|found| at_end(found) || at_end(&problems));
            if open && !last { Statement::Unfinished } else { Statement::Query }
        }
    }
}

/// Returns `true` if a rule can't be a query: `x = 1` and `p(x)` are queries as well.
fn defines(rule: &Rule) -> bool {
    let head = &rule.head;
    rule.default || head.assign || head.has_if || head.has_contains || !rule.generated_body
}

fn name(rule: &Rule) -> Option<String> {
    rule.head.reference.first().map(ToString::to_string)
}

/// Returns `true` if a text is just incomplete.
fn at_end(problems: &Problems) -> bool {
    problems.iter().any(|problem| problem.message.contains("unexpected eof"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Statement {
        classify(text, BaseVersion::V1, false)
    }

    #[test]
    fn rules_and_queries_are_distinguished() {
        for query in [
            "x = 1",
            "data.p.allow",
            "1 == 1",
            "some x in [1]; x > 0",
            "f(1)",
            "not x",
            "x",
            "every x in [1] { x > 0 }",
            "nonsense )",
        ] {
            assert_eq!(of(query), Statement::Query, "{query}");
        }
        for (rule, own, replaces) in [
            ("x := 1", "x", true),
            ("p contains 1", "p", false),
            ("p if { true }", "p", false),
            ("f(x) := x", "f", false),
            ("default a := 1", "a", false),
            ("x := 2 if { true }", "x", false),
        ] {
            let names = vec![own.to_owned()];
            assert_eq!(of(rule), Statement::Rules { names, replaces }, "{rule}");
        }
        assert_eq!(of("import data.a as b"), Statement::Import);
        assert_eq!(of("package a.b"), Statement::Package("a.b".to_owned()));
        assert_eq!(of("input := {\"a\": 1}"), Statement::Input("{\"a\": 1}".to_owned()));
        assert_eq!(of(":explain x"), Statement::Command("explain".into(), "x".into()));
        assert_eq!(of("  "), Statement::Nothing);
    }

    #[test]
    fn an_unfinished_statement_continues() {
        for text in ["p if {", "x := [1,", "count([1,", "input := {", "p if {\n\tx := 1"] {
            assert_eq!(of(text), Statement::Unfinished, "{text}");
        }
        assert_eq!(classify("count([1,", BaseVersion::V1, true), Statement::Query);
    }
}

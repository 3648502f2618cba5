//! Automatic fixes for findings with a single right answer.
//!
//! Owns the fixed texts; the command writes them to files. A name is replaced only where the text
//! still is the one that the finding is about.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Diagnostic;
use crate::diagnostic::Fix;
use crate::rego::syntax::tree::FileId;
use crate::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use crate::rego::{self, FormatOptions};
use crate::sources::ModuleSource;

/// A file's text after fixing.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The file.
    pub path: String,
    /// The new text of the range.
    pub text: String,
    /// The number of findings that were fixed.
    pub count: usize,
}

/// Fixes findings, and returns the texts of the changed modules. Modules of Rego v0 are rewritten
/// as v1.
pub fn fix(modules: &[ModuleSource], found: &[Diagnostic]) -> Vec<Fixed> {
    let mut by_file: BTreeMap<&str, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in found {
        if let Some(position) = &finding.position {
            by_file.entry(&position.file).or_default().push(finding);
        }
    }
    let fixed = modules.iter().filter_map(|module| {
        let found = by_file.get(module.path.as_str())?;
        let (text, count) = match rewrite_v0(module) {
            Some(text) => (text, found.iter().filter(|f| f.code == "parse-error").count()),
            None => names(module, found),
        };
        (text != module.text).then(|| Fixed { path: module.path.clone(), text, count })
    });
    fixed.collect()
}

/// Returns a module of Rego v0 rewritten as v1.
fn rewrite_v0(module: &ModuleSource) -> Option<String> {
    if parses(&module.text) {
        return None;
    }
    let mut options = FormatOptions::between(BaseVersion::V0, BaseVersion::V1);
    options.drop_imports = true;
    options.v1_keywords = true;
    rego::format(&module.path, &module.text, options).ok()
}

/// Returns `true` if a text is a module of Rego v1.
fn parses(text: &str) -> bool {
    parse_module(FileId(0), text, &ParseOptions::version(BaseVersion::V1)).is_ok()
}

/// Returns `true` if a text without a part is a module of Rego v1.
fn parses_without(text: &str, part: Range<usize>) -> bool {
    let mut rest = text.to_owned();
    rest.replace_range(part, "");
    parses(&rest)
}

/// Replaces names, the last one first, so that the other positions stay valid.
fn names(module: &ModuleSource, found: &[&Diagnostic]) -> (String, usize) {
    let mut changes: Vec<(usize, usize, &str)> = Vec::new();
    for finding in found {
        changes.extend(change(&module.text, finding));
    }
    changes.sort_unstable();
    changes.dedup();
    let mut text = module.text.clone();
    let is_valid = parses(&text);
    let (mut count, mut before) = (0, usize::MAX);
    for (start, end, right) in changes.into_iter().rev() {
        if end <= before {
            // An import may go on in the next line.
            if right.is_empty() && is_valid && !parses_without(&text, start..end) {
                continue;
            }
            text.replace_range(start..end, right);
            (count, before) = (count + 1, start);
        }
    }
    (text, count)
}

/// Returns the range of bytes to replace, and the replacement.
fn change<'a>(text: &str, finding: &'a Diagnostic) -> Option<(usize, usize, &'a str)> {
    let (position, fix) = (finding.position.as_ref()?, finding.fix.as_ref()?);
    let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let own = text.get(start..)?.split_inclusive('\n').next()?;
    let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
    let byte = |column: usize| match own.char_indices().nth(column) {
        Some((at, _)) => at,
        None => own.trim_end_matches(['\r', '\n']).len(),
    };
    let from = byte(column);
    let to = byte(column + usize::try_from(position.length).ok()?);
    let covered = own.get(from..to)?;
    match fix {
        Fix::Remove => (own.trim() == covered).then_some((start, start + own.len(), "")),
        Fix::Name { wrong, right } => {
            let at = if finding.code == "unsafe-variable" {
                only(covered, wrong)?
            } else {
                // `wrong`, `a.wrong`, `"wrong"`, or `wrong(…)`.
                let head = covered.split('(').next().unwrap_or(covered);
                let bare = head.strip_suffix('"').unwrap_or(head);
                let before = bare.strip_suffix(wrong.as_str())?;
                let is_whole = before.is_empty() || before.ends_with(['.', '"']);
                is_whole.then_some(before.len())?
            };
            let at = start + from + at;
            Some((at, at + wrong.len(), right))
        }
    }
}

/// Returns where a variable is in a statement that mentions it once, and no text before it.
fn only(statement: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let mut found = statement.match_indices(name).filter(|(at, _)| {
        let (before, behind) = (statement.get(..*at), statement.get(at + name.len()..));
        !before.is_some_and(|before| before.ends_with(is_part))
            && !behind.is_some_and(|behind| behind.starts_with(|c| is_part(c) && c != '.'))
    });
    let (at, _) = found.next()?;
    let before = statement.get(..at)?;
    (found.next().is_none() && !before.contains(['"', '`'])).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;

    fn fixed(text: &str, findings: &[(u32, u32, u32, Fix)]) -> Option<(String, usize)> {
        fixed_as("unknown-field", text, findings)
    }

    fn fixed_as(
        code: &'static str,
        text: &str,
        findings: &[(u32, u32, u32, Fix)],
    ) -> Option<(String, usize)> {
        let found: Vec<Diagnostic> = findings
            .iter()
            .map(|(line, column, length, fix)| {
                let mut finding = Diagnostic::warning(code, "");
                finding.fix = Some(fix.clone());
                finding.at(Position {
                    file: "p.rego".to_owned(),
                    line: *line,
                    column: *column,
                    length: *length,
                    text: String::new(),
                })
            })
            .collect();
        let module = ModuleSource { path: "p.rego".into(), text: text.into() };
        fix(&[module], &found).pop().map(|fixed| (fixed.text, fixed.count))
    }

    fn name(wrong: &str, right: &str) -> Fix {
        Fix::Name { wrong: wrong.to_owned(), right: right.to_owned() }
    }

    #[test]
    fn names_are_replaced_and_unused_imports_removed() {
        let text = "package p\n\nimport data.x\n\na := é.knid + y[\"knid\"]\nb := f.g(1)\n";
        let all = [
            (3, 1, 13, Fix::Remove),
            (5, 8, 4, name("knid", "kind")),
            (5, 17, 6, name("knid", "kind")),
            (6, 6, 6, name("f.g", "f.gg")),
        ];
        let expected = "package p\n\n\na := é.kind + y[\"kind\"]\nb := f.gg(1)\n";
        assert_eq!(fixed(text, &all), Some((expected.to_owned(), 4)));
        // A variable within a statement that mentions it once, and no text that looks like it.
        let statements =
            "package p\n\na if not helpr.x\nb if f(\"helpr\", helpr)\nc if helpr == x.helpr\n";
        let all = [(3, 6, 11), (4, 6, 18), (5, 6, 16)];
        let all = all.map(|(line, column, length)| (line, column, length, name("helpr", "helper")));
        let expected =
            statements.replace("not helpr", "not helper").replace("c if helpr", "c if helper");
        assert_eq!(fixed_as("unsafe-variable", statements, &all), Some((expected, 2)));
        // A text other than the finding's, or a statement that shares its line, is left alone.
        let others =
            [(5, 8, 4, name("kidn", "kind")), (5, 1, 1, Fix::Remove), (9, 1, 1, Fix::Remove)];
        assert_eq!(fixed(text, &others), None);
        // Statements that go on in the next line.
        for text in [
            "package p\n\nimport data.x as\n  y\n\na := 1\n",
            "package p\n\nimport data.x[\n\"y\"]\n\na := 1\n",
            "package p\n\nimport\n  data.x\n\na := 1\n",
        ] {
            let line = text.lines().nth(2).unwrap_or_default();
            let length = u32::try_from(line.chars().count()).unwrap_or_default();
            assert_eq!(fixed(text, &[(3, 1, length, Fix::Remove)]), None, "{text}");
        }
    }

    #[test]
    fn v0_becomes_v1() {
        let text = "package p\n\nallow if { input.x }\n\ndeny[msg] {\n\tmsg := \"no\"\n}\n";
        let (new, _) = fixed(text, &[(5, 1, 9, Fix::Remove)]).unwrap_or_default();
        assert_eq!(
            new,
            "package p\n\nallow if input.x\n\ndeny contains msg if {\n\tmsg := \"no\"\n}\n"
        );
        assert_eq!(fixed("package p\n\nx := (\n", &[(3, 1, 1, Fix::Remove)]), None);
    }

    #[test]
    fn rego_v0_keeps_its_meaning() {
        // With `import future.keywords.not` the rule would hold where `input.name` is missing.
        let v0 = "package p\n\ndeny[msg] {\n\tnot contains(input.name, \"/\")\n\tmsg := \"x\"\n}\n";
        let v1 = "package p\n\ndeny contains msg if {\n\tnot contains(input.name, \"/\")\n\tmsg := \
                  \"x\"\n}\n";
        let (text, _) = fixed(v0, &[(3, 1, 1, Fix::Remove)]).unwrap_or_default();
        assert_eq!(text, v1);
    }
}

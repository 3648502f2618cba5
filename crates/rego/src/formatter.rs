//! Formats a text in the layout of `opa fmt`, or explains why that isn't possible.
//!
//! Owns the choice of versions for reading and writing, the checks beyond parsing, and the check of
//! the result. The layout itself is implemented in `syntax::format`.

use std::collections::HashMap;

use super::builtins;
use super::compile::{Function, Functions, check_v1};
use super::problem::{self, Problem, ProblemCode, Problems, Sources};
use super::program::LoadError;
use super::syntax::tree::{
    Expr, ExprKind, FileId, Head, Module, Name, Rule, Span, TemplatePart, Term, TermKind,
};
use super::syntax::visit::{VisitMut, walk_expr_mut, walk_module_mut, walk_term_mut};
use super::syntax::words::infix;
use super::syntax::{
    BaseVersion, ParseOptions, WriteOptions, compare, format_module, parse_module,
};

/// The versions of Rego for reading and writing.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The version in which the text is read.
    pub read: BaseVersion,
    /// The version for which it's written.
    pub write: BaseVersion,
    /// `true` to leave out imports that `write` doesn't need, such as `rego.v1`.
    pub drop_imports: bool,
    /// `true` to accept v1's keywords in v0 as if they were imported.
    pub v1_keywords: bool,
}

impl FormatOptions {
    /// Reads one version and writes another, or the same.
    pub fn between(read: BaseVersion, write: BaseVersion) -> Self {
        Self { read, write, drop_imports: false, v1_keywords: false }
    }
}

/// Formats a text in OPA's layout.
///
/// ```
/// use rego_platform_rego::{FormatOptions, format};
///
/// let text = "package p\nallow   if input.user==\"ann\"";
/// let formatted = format("p.rego", text, FormatOptions::default())?;
/// assert_eq!(formatted, "package p\n\nallow if input.user == \"ann\"\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The text can't be parsed, or it can't be expressed in the version for writing.
pub fn format(path: &str, text: &str, options: FormatOptions) -> Result<String, LoadError> {
    let mut sources = Sources::new();
    let file = sources.add(path, text);
    format_file(file, text, options).map_err(|mut problems| {
        problem::sort_by_position(&mut problems, &sources);
        LoadError { problems, sources }
    })
}

fn format_file(file: FileId, text: &str, options: FormatOptions) -> Result<String, Problems> {
    let mut plain = ParseOptions::version(options.read);
    if options.v1_keywords {
        plain.future_keywords = ["contains", "every", "if", "in"].map(str::to_owned).to_vec();
    }
    if options.write != BaseVersion::V0 {
        let module = parse_module(file, text, &plain)?;
        let functions: Functions = builtins::all().iter().map(Function::from).collect();
        let found = check_v1(module, &functions);
        if !found.is_empty() {
            return Err(found);
        }
    }
    let FormatOptions { write: version, drop_imports, .. } = options;
    let mut read = parse_module(file, text, &plain)?;
    WrittenForms.module(&mut read);
    let module = parse_module(file, text, &ParseOptions { keep_layout: true, ..plain })?;
    let attempt = |keep_meaning, own_parens| -> Result<String, Problems> {
        let options = WriteOptions { version, drop_imports, keep_meaning, own_parens };
        let written = format_module(&module, text, options)?;
        check(&read, &written, version)?;
        Ok(written)
    };
    attempt(false, false)
        .or_else(|_| attempt(true, false))
        .or_else(|refused| attempt(true, true).map_err(|_| refused))
}

/// Checks that the text that was written can be read and has the meaning of the module.
fn check(read: &Module, written: &str, version: BaseVersion) -> Result<(), Problems> {
    let file = read.span.file;
    let refuse = |span, message| Err(vec![Problem::new(ProblemCode::Unsupported, span, message)]);
    match parse_module(file, written, &ParseOptions::version(version)) {
        Ok(mut written) => {
            WrittenForms.module(&mut written);
            match first_change(read, &written) {
                Some(span) => refuse(span, "formatted, it would have another meaning".to_owned()),
                None => Ok(()),
            }
        }
        Err(problems) => {
            let first = problems.first().map(|problem| problem.message.clone());
            let message = format!("formatted, it can't be read: {}", first.unwrap_or_default());
            refuse(Span { file, ..Span::default() }, message)
        }
    }
}

/// Gives a module the forms that the formatter writes: the constant parts of a template string are
/// one, and the result of an operator is compared with it, `plus(1, 2, x)` as `x = 1 + 2`.
struct WrittenForms;

impl VisitMut for WrittenForms {
    fn module(&mut self, module: &mut Module) {
        walk_module_mut(self, module);
        for rule in &mut module.rules {
            NumberedWildcards::default().rule(rule);
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        walk_expr_mut(self, expr);
        if let ExprKind::Call(terms) = &mut expr.kind
            && let [Term { kind: TermKind::Var(name), span }, _, _, _] = terms.as_slice()
            && infix(name).is_some()
            && let Some(result) = terms.last().cloned()
        {
            let equals = Term { kind: TermKind::Var("eq".into()), span: *span };
            terms.pop();
            let call = Term { kind: TermKind::Call(std::mem::take(terms)), span: expr.span };
            *terms = vec![equals, result, call];
        }
    }

    fn term(&mut self, term: &mut Term) {
        walk_term_mut(self, term);
        let TermKind::Template(template) = &mut term.kind else { return };
        template.raw = false;
        let mut parts: Vec<TemplatePart> = Vec::new();
        for part in std::mem::take(&mut template.parts) {
            let TemplatePart::Text(mut term) = part else {
                parts.push(part);
                continue;
            };
            let text = match &term.ungrouped().kind {
                TermKind::String(text) => Name::clone(text),
                _ => Name::from(term.to_string()),
            };
            if let Some(TemplatePart::Text(Term { kind: TermKind::String(last), .. })) =
                parts.last_mut()
            {
                *last = Name::from(format!("{last}{text}"));
            } else {
                term.kind = TermKind::String(text);
                parts.push(TemplatePart::Text(term));
            }
        }
        template.parts = parts;
    }
}

/// Numbers the wildcards of a rule by their order in it: those of the second body of a chain are
/// others than those of the first, once it is written as a rule of its own.
#[derive(Default)]
struct NumberedWildcards(HashMap<Name, Name>);

impl VisitMut for NumberedWildcards {
    fn term(&mut self, term: &mut Term) {
        if let TermKind::Var(name) = &mut term.kind
            && name.starts_with('$')
        {
            let number = self.0.len();
            let own = self.0.entry(Name::clone(name));
            *name = Name::clone(own.or_insert_with(|| format!("${number}").into()));
        }
        walk_term_mut(self, term);
    }
}

/// Returns the position of the first rule that isn't the same in the formatted text. Heads may be
/// written in another form, `p[x]` as `p contains x`.
fn first_change(read: &Module, written: &Module) -> Option<Span> {
    let changed = read.rules.iter().zip(&written.rules).find(|(a, b)| !same_rule(a, b));
    match changed {
        Some((rule, _)) => Some(rule.span),
        None if read.rules.len() == written.rules.len() => None,
        None => Some(read.span),
    }
}

fn same_rule(a: &Rule, b: &Rule) -> bool {
    let mut pairs = a.branches().zip(b.branches());
    a.branches().count() == b.branches().count() && pairs.all(|(a, b)| same_branch(a, b))
}

fn same_branch(a: &Rule, b: &Rule) -> bool {
    let same = |a: &[Term], b: &[Term]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare::terms(a, b).is_eq())
    };
    a.default == b.default
        && same(&path(&a.head), &path(&b.head))
        && same(&a.head.args, &b.head.args)
        && same(a.head.value.as_slice(), b.head.value.as_slice())
        && compare::bodies(&a.body, &b.body).is_eq()
}

/// Returns the reference of a head with the element of a partial set. The key of a head that has a
/// value is the last part of its reference.
fn path(head: &Head) -> Vec<Term> {
    let element = head.key.iter().filter(|_| head.value.is_none());
    head.reference.iter().chain(element).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const V0_V1: FormatOptions = FormatOptions {
        read: BaseVersion::V0,
        write: BaseVersion::V0CompatV1,
        drop_imports: false,
        v1_keywords: false,
    };

    fn formatted_or_error(text: &str, options: FormatOptions) -> String {
        match format("p.rego", text, options) {
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

    #[test]
    fn wildcards_stay_wildcards() {
        let v0 = FormatOptions { read: BaseVersion::V0, write: BaseVersion::V0, ..V0_V1 };
        for (options, text, expected) in [
            (
                FormatOptions::default(),
                "f(n, {\"a\": _}) = n if { input.x } else = 3",
                "f(n, {\"a\": _}) := n if input.x\n\nelse := 3\n",
            ),
            (
                v0,
                "p[[_, 1]] { input.x } { input.y }",
                "p[[_, 1]] {\n\tinput.x\n}\n\np[[_, 1]] {\n\tinput.y\n}\n",
            ),
        ] {
            let found = formatted_or_error(&format!("package p\n\n{text}\n"), options);
            assert_eq!(found, format!("package p\n\n{expected}"));
        }
    }

    #[test]
    fn parentheses_stay_where_the_meaning_depends_on_them() {
        // OPA writes the first two without parentheses, and so reads them in another way.
        for (condition, expected) in [
            ("1 in ([2] in [3])", "1 in ([2] in [3])"),
            ("1, (2 in [3]) in [4]", "1, (2 in [3]) in [4]"),
            ("(1 in [2]) in [3]", "1 in [2] in [3]"),
            ("(1, 2 in [3]) in [4]", "(1, 2 in [3]) in [4]"),
        ] {
            let text = |condition: &str| format!("package p\n\np if {condition}\n");
            let found = formatted_or_error(&text(condition), FormatOptions::default());
            assert_eq!(found, text(expected));
        }
    }

    #[test]
    fn sets_are_sorted_where_opa_sorts_them() {
        let v0 = FormatOptions { read: BaseVersion::V0, write: BaseVersion::V0, ..V0_V1 };
        for (options, text, expected) in [
            (
                FormatOptions::default(),
                "x := {2, 1} if input.a == {2, 1}\nelse := {2, 1} if input.b == {\"b\": 1, \"a\": {2, 1}}",
                "x := {2, 1} if input.a == {2, 1}\n\n\
                 else := {2, 1} if input.b == {\"a\": {1, 2}, \"b\": 1}\n",
            ),
            (
                v0,
                "f({2, 1}) = {4, 3} { input.a } { input.b == {2, 1} }",
                "f({2, 1}) = {4, 3} {\n\tinput.a\n}\n\nf({1, 2}) = {3, 4} {\n\tinput.b == {2, 1}\n}\n",
            ),
        ] {
            let found = formatted_or_error(&format!("package p\n\n{text}\n"), options);
            assert_eq!(found, format!("package p\n\n{expected}"));
        }
    }

    #[test]
    fn modifiers_behind_a_copied_term_stay() {
        let text = "package p\n\np if {\n\tf({{\n\t\t\"a\": 1,\n\t\t# why\n\t\t\"b\": 2,\n\t}}) with \
                    input as 1\n\tinput.x\n}\n\nf(_) := 1\n";
        assert_eq!(formatted_or_error(text, FormatOptions::default()), text);
    }

    #[test]
    fn heads_and_operators_in_another_form_keep_their_meaning() {
        for (text, expected) in [
            ("r.x if true", "r[\"x\"] := true"),
            ("r[\"x\"] if true", "r[\"x\"] := true"),
            ("a.b if {true}", "a[\"b\"] := true"),
            ("r if plus(1, 2, 3)", "r if 3 = 1 + 2"),
            ("r if not plus(1, 2, 4)", "r if not 4 = 1 + 2"),
            ("r := x if plus(1, 2, x)", "r := x if x = 1 + 2"),
            ("r := [x | or({1}, {2}, x)]", "r := [x | x = {1} | {2}]"),
            ("r if equal(1, 1, true)", "r if true = 1 == 1"),
        ] {
            let found =
                formatted_or_error(&format!("package p\n\n{text}\n"), FormatOptions::default());
            assert_eq!(found, format!("package p\n\n{expected}\n"));
        }
    }

    #[test]
    fn constants_in_template_strings_are_text() {
        for (text, expected) in [
            ("$\"{42}, {true}, {\"a\"}, {null}{x}\"", "$\"42, true, a, null{x}\""),
            ("$`\\{{42}`", "$`\\{42`"),
        ] {
            let module = |value: &str| format!("package p\n\nx := 1\n\ny := {value}\n");
            let found = formatted_or_error(&module(text), FormatOptions::default());
            assert_eq!(found, module(expected));
        }
    }

    #[test]
    fn parentheses_that_opas_text_loses_stay() {
        for text in [
            "r if (a + b) * c",
            "r if not (a + b) * c",
            "r if a - (b - c)",
            "r := x if x == (a + b) * (c - (d - e))",
            "r if (a | b) & c == d",
        ] {
            let module = format!("package p\n\n{text}\n");
            assert_eq!(formatted_or_error(&module, FormatOptions::default()), module);
        }
        // Where the meaning is kept, the text is OPA's.
        let text = "package p\n\nr := (a) + b + c\n";
        let expected = "package p\n\nr := (a + b) + c\n";
        assert_eq!(formatted_or_error(text, FormatOptions::default()), expected);
    }

    #[test]
    fn long_chains_of_operators_stay_without_parentheses() {
        for operator in ["+", "-", "|"] {
            let names: Vec<String> = (0..5000).map(|number| format!("input.a{number}")).collect();
            let chain = names.join(&format!(" {operator} "));
            let text = format!("package p\n\nr if input.x == {chain}\n\ns := {chain}\n");
            assert!(formatted_or_error(&text, FormatOptions::default()) == text, "{operator}");
        }
    }

    /// Looking at all comments for each array, at all moved terms for each term, and at the whole
    /// chain for each of its parts would not end.
    #[test]
    fn long_texts_are_formatted_part_by_part() {
        let comments = "\t[1], # c\n".repeat(30_000);
        let moved: Vec<String> =
            (0..20_000).map(|_| "{k: v | some k, v in input}".to_owned()).collect();
        let text = format!("package p\n\na := [\n{comments}]\n\nb := [{}]\n", moved.join(", "));
        assert!(formatted_or_error(&text, FormatOptions::default()) == text);
    }
}

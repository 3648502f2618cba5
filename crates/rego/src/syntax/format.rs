//! Formats a module in the layout of `opa fmt`.
//!
//! The layout follows the author's line breaks: text on a line of its own stays there, text on one
//! line stays together; only spaces, separators and alternative forms are made uniform. Comments
//! stay where they were. If the layout has no place for a comment, the author's text is copied as
//! it is.

mod writer;

use std::collections::HashMap;

use super::parser::BaseVersion;
use super::print::is_name;
use super::tree::{ExprKind, Import, Module, Name, Rule, Span, Term, TermKind, Version};
use super::walk;
use crate::problem::{Problem, Problems, Source};
pub use writer::place;
use writer::{Style, Writer};

/// The form in which a module is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteOptions {
    /// The version for which it's written.
    pub version: BaseVersion,
    /// `true` to leave out imports that the version doesn't need.
    pub drop_imports: bool,
    /// `true` to depart from OPA's text, which loses three things: the parentheses of an `x in xs`
    /// that is an operand, what follows a term in the same statement, such as `with`, where the
    /// term is copied as it is, and that a repeated `_` is a wildcard.
    pub keep_meaning: bool,
    /// `true` to write the author's parentheses around operands, and no others: OPA's are lost around
    /// operands of a statement, and are as deep as a chain of operators is long.
    pub own_parens: bool,
}

/// Formats a module in OPA's layout. It must have been parsed from `text` with
/// [`ParseOptions::keep_layout`](super::ParseOptions).
///
/// # Errors
/// An operator is called with a wrong number of arguments and can't be written in infix form.
pub fn format_module(
    module: &Module,
    text: &str,
    options: WriteOptions,
) -> Result<String, Problems> {
    let WriteOptions { version: base, drop_imports, keep_meaning, own_parens } = options;
    let mut module = module.clone();
    if !keep_meaning {
        name_repeated_wildcards(&mut module, text);
    }
    let imported =
        |wanted: &str| module.imports.iter().any(|import| is_path(import, &["rego", wanted]));
    let (v1_imported, v2_imported) = (imported("v1"), imported("v2"));
    let future: Vec<Name> = module.imports.iter().filter_map(future_keyword).collect();
    let all_future = module.imports.iter().any(|import| is_path(import, &["future", "keywords"]));
    let v1 = base != BaseVersion::V0;
    let modern = |word: &str| {
        v1 || v1_imported
            || v2_imported
            || all_future
            || future.iter().any(|found| &**found == word)
    };
    let mut ref_heads = false;
    super::visit::walk_rules(&module, &mut |rule| {
        let head = &rule.head;
        let length = head.reference.len();
        ref_heads |= length > 2 || length == 2 && head.key.is_some() && head.value.is_none();
    });
    let keywords = match (base, v2_imported) {
        (BaseVersion::V2, _) | (_, true) => Version::V2,
        (BaseVersion::V0, _) => Version::V0,
        _ => Version::V1,
    };
    let options = Style {
        contains: modern("contains"),
        ifs: modern("if"),
        ref_heads,
        v1,
        v2: base == BaseVersion::V2,
        keywords,
        future,
        keep_meaning,
        own_parens,
    };
    let source = Source::new("", text);
    let imports = imports(&module, &source, base, (v1_imported, v2_imported), drop_imports);
    let mut writer = Writer::new(text, source, module.span.file, options);
    writer.module(&module, &imports);
    writer.finish()
}

/// An import and its row.
struct ImportLine {
    import: Import,
    row: i64,
    /// `true` if the formatter added it.
    added: bool,
}

/// The imports that are kept, with the missing directive imports added.
fn imports(
    module: &Module,
    source: &Source,
    base: BaseVersion,
    (v1_imported, v2_imported): (bool, bool),
    drop_imports: bool,
) -> Vec<ImportLine> {
    let row = |import: &Import| i64::from(source.line_column(import.span.start).0);
    let line =
        |import: &Import| ImportLine { import: import.clone(), row: row(import), added: false };
    let mut imports: Vec<ImportLine> = module.imports.iter().map(line).collect();
    let is_future = |line: &ImportLine| super::parser::head_word(&line.import.path) == "future";
    if base == BaseVersion::V2 {
        if drop_imports {
            imports.retain(|line| {
                !is_path(&line.import, &["rego", "v1"])
                    && !is_path(&line.import, &["rego", "v2"])
                    && !is_future(line)
            });
        }
        return imports;
    }
    let mut v1_imported = v1_imported || v2_imported;
    let drop_v1 = drop_imports && base == BaseVersion::V1;
    if v2_imported || drop_v1 {
        imports.retain(|line| !is_path(&line.import, &["rego", "v1"]));
        v1_imported = v2_imported;
    } else if base == BaseVersion::V0CompatV1 && !v1_imported {
        add_import(&mut imports, &["rego", "v1"]);
        v1_imported = true;
    }
    if v1_imported || drop_imports && base != BaseVersion::V0 {
        imports.retain(|line| !is_future(line));
    }
    let modern = base != BaseVersion::V0 || v1_imported;
    let used = used_keywords(module);
    for (keyword, is_used) in used {
        let needed = is_used
            && if modern { !v2_imported && !matches!(keyword, "in" | "every") } else { true };
        let there = imports.iter().any(|line| {
            let import = &line.import;
            is_path(import, &["future", "keywords"])
                || is_path(import, &["future", "keywords", keyword])
                || keyword == "in" && is_path(import, &["future", "keywords", "every"])
        });
        if needed && !there {
            add_import(&mut imports, &["future", "keywords", keyword]);
        }
    }
    imports
}

/// Adds an import after the last one of its kind.
fn add_import(imports: &mut Vec<ImportLine>, path: &[&str]) {
    let last = imports
        .iter()
        .filter(|line| {
            super::parser::head_word(&line.import.path) == "future"
                || is_path(&line.import, &["rego", "v1"])
        })
        .map(|line| line.row)
        .max();
    let span = Span::default();
    let part = |(index, word): (usize, &&str)| {
        let word = Name::from(*word);
        let kind = if index == 0 { TermKind::Var(word) } else { TermKind::String(word) };
        Term { kind, span }
    };
    let path = Term { kind: TermKind::Ref(path.iter().enumerate().map(part).collect()), span };
    let row = last.map_or(1, |row| row + 1);
    imports.push(ImportLine { import: Import { path, alias: None, span }, row, added: true });
}

/// The keywords that had to be imported in v0, each with `true` if the module uses it.
fn used_keywords(module: &Module) -> [(&'static str, bool); 5] {
    let (mut and, mut every, mut member, mut not, mut or) = (false, false, false, false, false);
    super::visit::walk_exprs(module, &mut |expr| {
        match &expr.kind {
            ExprKind::And(_) => and = true,
            ExprKind::Or(_) => or = true,
            ExprKind::Not(_) => not = true,
            ExprKind::Every(_) => every = true,
            ExprKind::Call(terms) => {
                member |= terms.first().is_some_and(|function| {
                    matches!(
                        function.to_string().as_str(),
                        "internal.member_2" | "internal.member_3"
                    )
                });
            }
            ExprKind::Term(_) | ExprKind::Some(_) => {}
        }
        true
    });
    [("and", and), ("every", every), ("in", member), ("not", not), ("or", or)]
}

fn is_path(import: &Import, path: &[&str]) -> bool {
    let TermKind::Ref(parts) = &import.path.kind else { return false };
    parts.len() == path.len()
        && parts.iter().zip(path).all(|(part, word)| match &part.kind {
            TermKind::Var(name) | TermKind::String(name) => &**name == *word,
            _ => false,
        })
}

/// The keyword of `import future.keywords.WORD`.
fn future_keyword(import: &Import) -> Option<Name> {
    let TermKind::Ref(parts) = &import.path.kind else { return None };
    match parts.as_slice() {
        [_, _, Term { kind: TermKind::String(word), .. }]
            if import.alias.is_none() && is_path(import, &["future", "keywords", word]) =>
        {
            Some(Name::clone(word))
        }
        _ => None,
    }
}

/// Names wildcards that occur repeatedly. The wildcards of a head are the same in each of its
/// definitions, and OPA names those.
fn name_repeated_wildcards(module: &mut Module, text: &str) {
    let mut counts: HashMap<Name, u32> = HashMap::new();
    walk::read(module, |node| {
        if let walk::Node::Term(Term { kind: TermKind::Var(name), .. }) = node
            && name.starts_with('$')
        {
            *counts.entry(Name::clone(name)).or_default() += 1;
        }
        false
    });
    if counts.values().all(|count| *count < 2) {
        return;
    }
    walk::change(module, None, |node| {
        if let walk::NodeMut::Term(Term { kind: TermKind::Var(name), .. }) = node
            && counts.get(name).is_some_and(|count| *count > 1)
        {
            *name = format!("_{}", name.trim_start_matches('$')).into();
        }
        false
    });
    // A key that is also an operand of the head is the same term in OPA, except in chained bodies.
    for rule in &mut module.rules {
        let chained = is_chained(rule, text);
        if let (Some(key), 2, false) = (&rule.head.key, rule.head.reference.len(), chained)
            && !rule.head.has_contains
        {
            let key = key.clone();
            if let Some(last) = rule.head.reference.last_mut() {
                *last = key;
            }
        }
    }
}

/// Returns `true` if a rule is a further body of the previous one.
fn is_chained(rule: &Rule, text: &str) -> bool {
    let at = usize::try_from(rule.head.span.start).unwrap_or(usize::MAX);
    text.as_bytes().get(at) == Some(&b'{')
}

/// Returns `true` if a string can be written after a dot.
fn may_follow_dot(text: &str) -> bool {
    is_name(text)
}

/// The problem of an operator with a wrong number of arguments.
fn arity_problem(operator: &Term) -> Problem {
    Problem::types(operator.span, format!("{operator}: arity mismatch"))
}

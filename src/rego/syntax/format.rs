//! A module's text in the one layout that `opa fmt` gives it.
//!
//! The layout follows the author's line breaks: what stood on a line of its own stays there, what
//! stood together stays together; only space, separators and forms are made uniform. Comments go
//! where they were. Where a comment is at a place that the layout has no room for, the author's
//! text is taken over as it is.

mod writer;

use std::collections::HashMap;

use super::parser::BaseVersion;
use super::print::is_name;
use super::tree::{ExprKind, Head, Import, Module, Name, Rule, Span, Term, TermKind, Version};
use super::visit::{Visit, VisitMut, walk_term, walk_term_mut};
use crate::rego::problem::{Problem, Problems, Source};
use writer::{Options, Writer};

/// The text of a module in OPA's layout, for this version. It must have been read with
/// [`ParseOptions::keep_layout`](super::ParseOptions), from `text`.
///
/// # Errors
/// Where an operator is called with a wrong number of arguments, which has no form.
pub fn format_module(module: &Module, text: &str, base: BaseVersion) -> Result<String, Problems> {
    format_module_with(module, text, base, false)
}

/// [`format_module`], and drops imports that v1 doesn't need where `drop_imports` says so.
///
/// # Errors
/// As [`format_module`].
pub fn format_module_with(
    module: &Module,
    text: &str,
    base: BaseVersion,
    drop_imports: bool,
) -> Result<String, Problems> {
    let mut module = module.clone();
    name_repeated_wildcards(&mut module, text);
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
    let options = Options {
        contains: modern("contains"),
        ifs: modern("if"),
        ref_heads,
        v1,
        v2: base == BaseVersion::V2,
        keywords,
        future,
    };
    let source = Source::new("", text);
    let imports = imports(&module, &source, base, (v1_imported, v2_imported), drop_imports);
    let mut writer = Writer::new(text, source, module.span.file, options);
    writer.module(&module, &imports);
    writer.finish()
}

/// An import and its row.
struct Placed {
    import: Import,
    row: i64,
    /// Made by the formatter.
    added: bool,
}

/// The imports that stay, and directive imports that are missing.
fn imports(
    module: &Module,
    source: &Source,
    base: BaseVersion,
    (v1_imported, v2_imported): (bool, bool),
    drop_imports: bool,
) -> Vec<Placed> {
    let row = |import: &Import| i64::from(source.line_column(import.span.start).0);
    let placed =
        |import: &Import| Placed { import: import.clone(), row: row(import), added: false };
    let mut imports: Vec<Placed> = module.imports.iter().map(placed).collect();
    let is_future = |placed: &Placed| super::parser::head_word(&placed.import.path) == "future";
    if base == BaseVersion::V2 {
        if drop_imports {
            imports.retain(|placed| {
                !is_path(&placed.import, &["rego", "v1"])
                    && !is_path(&placed.import, &["rego", "v2"])
                    && !is_future(placed)
            });
        }
        return imports;
    }
    let mut v1_imported = v1_imported || v2_imported;
    let drop_v1 = drop_imports && base == BaseVersion::V1;
    if v2_imported || drop_v1 {
        imports.retain(|placed| !is_path(&placed.import, &["rego", "v1"]));
        v1_imported = v2_imported;
    } else if base == BaseVersion::V0CompatV1 && !v1_imported {
        add_import(&mut imports, &["rego", "v1"]);
        v1_imported = true;
    }
    if v1_imported || drop_imports && base != BaseVersion::V0 {
        imports.retain(|placed| !is_future(placed));
    }
    let modern = base != BaseVersion::V0 || v1_imported;
    let used = used_keywords(module);
    for (keyword, is_used) in used {
        let needed = is_used
            && if modern { !v2_imported && !matches!(keyword, "in" | "every") } else { true };
        let there = imports.iter().any(|placed| {
            let import = &placed.import;
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

/// Adds an import behind the last one of its kind.
fn add_import(imports: &mut Vec<Placed>, path: &[&str]) {
    let last = imports
        .iter()
        .filter(|placed| {
            super::parser::head_word(&placed.import.path) == "future"
                || is_path(&placed.import, &["rego", "v1"])
        })
        .map(|placed| placed.row)
        .max();
    let span = Span::default();
    let part = |(index, word): (usize, &&str)| {
        let word = Name::from(*word);
        let kind = if index == 0 { TermKind::Var(word) } else { TermKind::String(word) };
        Term { kind, span }
    };
    let path = Term { kind: TermKind::Ref(path.iter().enumerate().map(part).collect()), span };
    let row = last.map_or(1, |row| row + 1);
    imports.push(Placed { import: Import { path, alias: None, span }, row, added: true });
}

/// Keywords that had to be imported once, and whether there are statements with them.
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

/// Wildcards of a head are the same in each of its definitions; OPA then gives them names.
fn name_repeated_wildcards(module: &mut Module, text: &str) {
    struct Count(HashMap<Name, u32>);
    impl Visit for Count {
        fn term(&mut self, term: &Term) {
            if let TermKind::Var(name) = &term.kind
                && name.starts_with('$')
            {
                *self.0.entry(Name::clone(name)).or_default() += 1;
            }
            walk_term(self, term);
        }
        fn head(&mut self, head: &Head) {
            for term in head.args.iter().chain(&head.key).chain(&head.value) {
                self.term(term);
            }
        }
    }
    struct Rename(HashMap<Name, u32>);
    impl VisitMut for Rename {
        fn term(&mut self, term: &mut Term) {
            if let TermKind::Var(name) = &mut term.kind
                && self.0.get(name).is_some_and(|count| *count > 1)
            {
                *name = format!("_{}", name.trim_start_matches('$')).into();
            }
            walk_term_mut(self, term);
        }
        fn head(&mut self, head: &mut Head) {
            let Head { args, key, value, .. } = head;
            for term in args.iter_mut().chain(key).chain(value) {
                self.term(term);
            }
        }
    }
    let mut count = Count(HashMap::new());
    count.module(module);
    if count.0.values().all(|count| *count < 2) {
        return;
    }
    let mut rename = Rename(count.0);
    rename.module(module);
    // A key that is an operand of the head is one term with it, but not in chained bodies.
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

/// True if a rule is a further body of the one before it.
fn is_chained(rule: &Rule, text: &str) -> bool {
    let at = usize::try_from(rule.head.span.start).unwrap_or(usize::MAX);
    text.as_bytes().get(at) == Some(&b'{')
}

/// True if a string stands after a dot.
fn may_follow_dot(text: &str) -> bool {
    is_name(text)
}

/// An error that is no problem of layout.
fn arity_problem(operator: &Term) -> Problem {
    Problem::types(operator.span, format!("{operator}: arity mismatch"))
}

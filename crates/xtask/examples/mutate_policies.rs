//! `cargo xtask mutate-policies`: changes each policy of a folder in one place at a time, and runs its tests.
//!
//! Owns the changes. A test file `x_test.rego` belongs to the policy `x.rego` beside it. A change is found if a
//! test fails. Changes that don't compile aren't counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use rego_platform::Error;
use rego_platform::evaluate::{Answers, EvaluateOptions};
use rego_platform::load::LoadOptions;
use rego_platform::rego::syntax::tree::{
    Body, Expr, ExprKind, FileId, Module, Span, Term, TermKind, With,
};
use rego_platform::rego::syntax::visit::{VisitMut, walk_body_mut, walk_expr_mut, walk_term_mut};
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use rego_platform::rego::value::Number;
use rego_platform::sources::{ModuleSource, SourceLimits, Sources};
use rego_platform::testing::{Suite, TestOptions};

/// The share of the changes that tests have to find, in percent.
const BOUND: usize = 95;

/// Comparisons, each with its replacements.
const COMPARISONS: [(&str, &[&str]); 6] = [
    ("equal", &["neq"]),
    ("neq", &["equal"]),
    ("lt", &["lte", "gt"]),
    ("lte", &["lt", "gt"]),
    ("gt", &["gte", "lt"]),
    ("gte", &["gt", "lt"]),
];

/// Makes the change of a number, in the order of the module.
struct Mutator {
    /// The number of changes before it.
    left: usize,
    /// The description of the change and its place, once it is made.
    done: Option<(String, Span)>,
}

impl Mutator {
    /// Returns `true` if it is this change's turn.
    fn is_next(&mut self, what: &str, span: Span) -> bool {
        let is_it = self.done.is_none() && self.left == 0;
        if is_it {
            self.done = Some((what.to_owned(), span));
        }
        self.left = self.left.saturating_sub(1);
        is_it
    }

    /// Replaces a comparison.
    fn comparison(&mut self, terms: &mut [Term]) {
        let Some(operator) = terms.first_mut() else { return };
        let name = match &mut operator.kind {
            TermKind::Var(name) => name,
            TermKind::Ref(parts) => match parts.as_mut_slice() {
                [Term { kind: TermKind::Var(name), .. }] => name,
                _ => return,
            },
            _ => return,
        };
        let Some((_, others)) = COMPARISONS.iter().find(|(own, _)| *own == &**name) else { return };
        for other in *others {
            if self.is_next(&format!("`{name}` is `{other}`"), operator.span) {
                *name = (*other).into();
                return;
            }
        }
    }

    /// Visits the arguments of a call. The first of `sprintf` is a text for people.
    fn call(&mut self, terms: &mut [Term]) {
        self.comparison(terms);
        let is_message = terms.first().is_some_and(|function| function.to_string() == "sprintf");
        for term in terms.iter_mut().skip(if is_message { 2 } else { 1 }) {
            self.term(term);
        }
    }
}

impl VisitMut for Mutator {
    fn body(&mut self, body: &mut Body) {
        for expr in body.iter_mut() {
            let is_condition = !expr.from_assignment
                && match &expr.kind {
                    ExprKind::Term(term) => !matches!(term.kind, TermKind::Bool(true)),
                    ExprKind::Some(_) => false,
                    _ => true,
                };
            if is_condition && self.is_next("the condition is deleted", expr.span) {
                let always = Term { kind: TermKind::Bool(true), span: expr.span };
                (expr.kind, expr.negated) = (ExprKind::Term(Box::new(always)), false);
                expr.with.clear();
                return;
            }
        }
        walk_body_mut(self, body);
    }

    fn expr(&mut self, expr: &mut Expr) {
        if expr.negated && self.is_next("`not` is deleted", expr.span) {
            expr.negated = false;
        }
        match &mut expr.kind {
            ExprKind::Call(terms) => self.call(terms),
            _ => walk_expr_mut(self, expr),
        }
    }

    fn with(&mut self, _: &mut With) {}

    fn term(&mut self, term: &mut Term) {
        let span = term.span;
        match &mut term.kind {
            TermKind::Bool(value) => {
                if self.is_next(&format!("`{value}` is `{}`", !*value), span) {
                    *value = !*value;
                }
            }
            TermKind::Number(_) => {
                let text = term.to_string();
                if self.is_next(&format!("`{text}` is greater by one"), span)
                    && let Ok(number) = text.parse::<i64>()
                {
                    term.kind = TermKind::Number(Number::from(number + 1));
                }
            }
            TermKind::String(text) => {
                if self.is_next(&format!("`\"{text}\"` is a different string"), span) {
                    *text = format!("{text}~").into();
                }
            }
            // The names of members aren't constants.
            TermKind::Ref(parts) => {
                let parts = parts.iter_mut().skip(1);
                parts
                    .filter(|part| !matches!(part.kind, TermKind::String(_)))
                    .for_each(|part| self.term(part));
            }
            TermKind::Object(pairs) => {
                for (key, value) in pairs {
                    let is_text = |term: &Term| matches!(term.kind, TermKind::String(_));
                    if !(is_text(key) && key.to_string() == "\"message\"" && is_text(value)) {
                        self.term(value);
                    }
                }
            }
            TermKind::Call(terms) => self.call(terms),
            _ => walk_term_mut(self, term),
        }
    }
}

/// Returns the text of a module.
fn printed(module: &Module) -> String {
    let mut text = format!("{}\n\n", module.package);
    text.extend(module.imports.iter().map(|import| format!("{import}\n")));
    text.extend(module.rules.iter().map(|rule| format!("\n{}\n", rule.display(module.version))));
    text
}

/// Returns `true` if all tests pass, `None` if the modules don't compile.
fn passes(sources: Sources) -> Option<bool> {
    let suite = Suite::load(sources, LoadOptions::default()).ok()?;
    let mut evaluate = EvaluateOptions::new(Answers::Unavailable(String::new()));
    evaluate.strict_builtin_errors = false;
    let mut options = TestOptions::new(evaluate);
    options.explain = false;
    let counts = suite.run(&options).ok()?.counts();
    Some(counts.passed > 0 && counts.failed + counts.errors == 0)
}

/// The changes of a policy: the number of those that were found, and the others.
#[derive(Default)]
struct Tally {
    found: usize,
    survivors: Vec<String>,
}

/// Changes a policy in each place.
fn mutate(policy: &ModuleSource, others: &Sources) -> Result<Tally, String> {
    let parsed = parse_module(FileId(0), &policy.text, &ParseOptions::version(BaseVersion::V1))
        .map_err(|_| format!("{}: can't be parsed", policy.path))?;
    let with = |text: String| {
        let mut sources = others.clone();
        sources.modules.push(ModuleSource::new(&policy.path, text));
        passes(sources)
    };
    if with(printed(&parsed)) != Some(true) {
        return Err(format!("{}: its tests don't pass", policy.path));
    }
    let mut tally = Tally::default();
    for number in 0.. {
        let (mut module, mut mutator) = (parsed.clone(), Mutator { left: number, done: None });
        for rule in &mut module.rules {
            rule_mut(&mut mutator, rule);
        }
        let Some((what, span)) = mutator.done else { break };
        match with(printed(&module)) {
            None => {}
            Some(false) => tally.found += 1,
            Some(true) => {
                let before = policy.text.get(..span.start as usize).unwrap_or_default();
                let line = before.lines().count().max(1);
                tally.survivors.push(format!("{}:{line}: {what}", policy.path));
            }
        }
    }
    Ok(tally)
}

/// Visits the value and the bodies of a rule. Its name and arguments aren't changed.
fn rule_mut(mutator: &mut Mutator, rule: &mut rego_platform::rego::syntax::tree::Rule) {
    if let Some(value) = &mut rule.head.value {
        mutator.term(value);
    }
    if let Some(key) = &mut rule.head.key {
        mutator.term(key);
    }
    mutator.body(&mut rule.body);
    if let Some(rule) = &mut rule.else_rule {
        rule_mut(mutator, rule);
    }
}

fn run(folder: &str, only: &[String]) -> Result<bool, String> {
    let read = |error: Error| error.to_string();
    let sources = Sources::read([folder], SourceLimits::default()).map_err(read)?;
    let modules: BTreeMap<&str, &ModuleSource> =
        sources.modules.iter().map(|module| (module.path.as_str(), module)).collect();
    let tests_of = |path: &str| format!("{}_test.rego", path.trim_end_matches(".rego"));
    let is_test = |path: &str| path.ends_with("_test.rego");
    // Rules may use libraries, and tests the fixtures of libraries.
    let has_tests = |path: &str| modules.contains_key(tests_of(path).as_str());
    let is_library = |path: &str| Path::new(path).parent().is_some_and(|own| own.ends_with("lib"));
    let mut all = Tally::default();
    for (path, policy) in modules.iter().filter(|(path, _)| !is_test(path) && has_tests(path)) {
        if !only.is_empty() && !only.iter().any(|own| path.contains(own.as_str())) {
            continue;
        }
        let own = tests_of(path);
        let needed = |module: &&ModuleSource| {
            let other = module.path.as_str();
            other == own
                || other != *path
                    && is_library(other)
                    && (!is_test(other) || !has_policy(other, &modules))
        };
        let others = sources.modules.iter().filter(needed).cloned();
        let others = Sources::new(others, sources.data.clone());
        let tally = mutate(policy, &others)?;
        println!("{path}: {} of {} found", tally.found, tally.found + tally.survivors.len());
        for survivor in &tally.survivors {
            println!("  {survivor}");
        }
        all.found += tally.found;
        all.survivors.extend(tally.survivors);
    }
    let count = all.found + all.survivors.len();
    let share = (all.found * 100).checked_div(count).unwrap_or_default();
    println!("{} of {count} changes found: {share} %, at least {BOUND} % expected", all.found);
    Ok(share >= BOUND)
}

/// Returns `true` for tests beside their policy.
fn has_policy(tests: &str, modules: &BTreeMap<&str, &ModuleSource>) -> bool {
    modules.contains_key(format!("{}.rego", tests.trim_end_matches("_test.rego")).as_str())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "policies".to_owned());
    match run(&folder, &arguments.collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

//! The messages of the checker's errors, in OPA's words.

use std::fmt::Write as _;
use std::sync::Arc;

use super::overlap::unifies;
use super::ty::{Array, DisplayKey, Dynamic, Function, Object, Type};
use crate::problem::Problem;
use crate::syntax::print;
use crate::syntax::tree::{Span, Term, TermKind};
use crate::value::Value;

pub(super) struct TypeError {
    pub(super) problem: Problem,
    /// `true` if the error may follow from another problem that is more helpful.
    pub(super) by_unknown: bool,
}

/// The width beyond which a line leaves out equal parts.
const MAX_LINE: usize = 80;
/// The width beyond which a type that isn't the cause of the error is abbreviated to its outermost
/// part.
const MAX_TYPE: usize = 32;
/// The depth to which two types are compared.
const MAX_DEPTH: usize = 8;
const ELLIPSIS: &str = "...";

/// The number of bytes after which a type is cut.
const MAX_TEXT: usize = 16 << 10;

/// A type in full, up to [`MAX_TEXT`].
fn text(tpe: &Type) -> String {
    struct Bounded(String);
    impl std::fmt::Write for Bounded {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            if self.0.len() > MAX_TEXT {
                return Err(std::fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut out = Bounded(String::new());
    if write!(out, "{tpe}").is_err() {
        out.0.push_str(ELLIPSIS);
    }
    out.0
}

/// A reference as OPA prints it.
pub(super) fn reference_text(parts: &[Term]) -> String {
    print::RefText(parts).to_string()
}

/// A term as OPA prints it.
pub(super) fn term_text(term: &Term) -> String {
    term.to_string()
}

/// The error for an equality whose sides can't be equal.
pub(super) fn match_error(span: Span, left: &Type, right: &Type) -> TypeError {
    let line = |name: &str, tpe: &str| format!("{name}: {tpe}");
    let mut lines = [line("left  ", &text(left)), line("right ", &text(right))];
    if lines.iter().any(|line| line.chars().count() > MAX_LINE) {
        let (left, right) = diff(left, right, 0);
        lines = [line("left  ", &left), line("right ", &right)];
    }
    let mut problem = Problem::types(span, "match error");
    problem.details.extend(lines);
    let kind = match (left, right) {
        (Type::Object(_), Type::Object(_)) => "objects",
        (Type::Array(_), Type::Array(_)) => "arrays",
        (Type::Set(_), Type::Set(_)) => "sets",
        _ => "",
    };
    if !kind.is_empty() {
        problem.details.push(format!(
            "hint  : both sides are {kind} but their types differ, so they can never be equal \
             (see https://www.openpolicyagent.org/docs/errors/rego-type-error/match-error)"
        ));
    }
    let names = match (left, right) {
        (Type::String, Type::Boolean) | (Type::Boolean, Type::String) => {
            Some("a boolean is compared without quotes: `true`, `false`")
        }
        (Type::String, Type::Number) | (Type::Number, Type::String) => {
            Some("a number is compared without quotes, or converted with `to_number`")
        }
        _ => None,
    };
    problem.hints.extend(names.map(str::to_owned));
    TypeError { problem, by_unknown: left.is_incomplete() || right.is_incomplete() }
}

/// The error for a call whose arguments don't match the function.
pub(super) fn argument_error(
    span: Span,
    name: &[Term],
    what: &str,
    have: &[Type],
    want: &Function,
) -> TypeError {
    let mut args = want.args.clone();
    if !want.result.is_unknown() {
        args.push(want.result.clone());
    }
    let arrow = |items: &[String]| format!("({})", items.join(", "));
    let with_variadic = |mut items: Vec<String>, show: fn(&Type) -> String| {
        if !want.variadic.is_unknown() {
            items.push(format!("{}{ELLIPSIS}", show(&want.variadic)));
        }
        items
    };
    let full = |types: &[Type]| types.iter().map(text).collect::<Vec<_>>();
    let mut lines = [
        format!("have: {}", arrow(&full(have))),
        format!("want: {}", arrow(&with_variadic(full(&args), text))),
    ];
    if lines.iter().any(|line| line.chars().count() > MAX_LINE) {
        let mut left: Vec<String> = have.iter().map(elide).collect();
        let mut right: Vec<String> = args.iter().map(elide).collect();
        for ((left, right), (have, want)) in
            left.iter_mut().zip(&mut right).zip(have.iter().zip(&args))
        {
            let fine = !have.is_unknown() && !want.is_unknown() && unifies(have, want);
            if !fine {
                (*left, *right) = diff(have, want, 0);
            }
        }
        lines = [
            format!("have: {}", arrow(&left)),
            format!("want: {}", arrow(&with_variadic(right, elide))),
        ];
    }
    let mut problem = Problem::types(span, format!("{}: {what}", reference_text(name)));
    problem.details.extend(lines);
    if matches!(name, [Term { kind: TermKind::Var(name), .. }] if &**name == "plus")
        && have.iter().any(|tpe| matches!(tpe, Type::String))
    {
        problem.hints.push(
            "strings are joined with `concat(\"\", [a, b])`, `sprintf` or `$\"{a}{b}\"`".to_owned(),
        );
    }
    TypeError { problem, by_unknown: have.iter().any(Type::is_incomplete) }
}

/// The error for a reference into a value that has no parts, or into a function.
pub(super) fn unsupported_reference(
    span: Span,
    parts: &[Term],
    position: usize,
    have: &Type,
) -> Problem {
    let text = reference_text(parts);
    let message = if matches!(have, Type::Function(_)) {
        let generated = matches!(parts.last().map(|last| &last.kind), Some(TermKind::Var(name)) if is_generated(name));
        let function = parts.get(..parts.len().saturating_sub(1)).filter(|_| generated);
        format!(
            "function {} used as reference, not called",
            function.map_or(text.clone(), reference_text)
        )
    } else {
        format!("undefined ref: {text}")
    };
    let marked = reference_text(parts.get(..=position).unwrap_or(parts)).len();
    Problem::types(span, message)
        .detail(text)
        .detail("^".repeat(marked))
        .detail(format!("have: {}", self::text(have)))
}

/// Returns `true` if the compiler made a name, as in `__local0__`.
fn is_generated(name: &str) -> bool {
    name.split("__local").skip(1).any(|piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < piece.len() && rest.starts_with("__")
    })
}

/// The error for an operand that can't select anything. `have` is unknown for a constant operand.
pub(super) fn invalid_reference(
    span: Span,
    parts: &[Term],
    position: usize,
    have: &Type,
    want: &Type,
    one_of: &[String],
) -> Problem {
    let text = reference_text(parts);
    let pad = " ".repeat(reference_text(parts.get(..position).unwrap_or(parts)).len() + 1);
    let have = match parts.get(position) {
        Some(part) if have.is_unknown() => format!("{pad}have: {}", term_text(part)),
        _ => format!("{pad}have (type): {}", self::text(have)),
    };
    let want = if !one_of.is_empty() {
        format!("{pad}want (one of): [{}]", one_of.join(" "))
    } else if want.is_unknown() {
        format!("{pad}want (one of): []")
    } else {
        format!("{pad}want (type): {}", self::text(want))
    };
    Problem::types(span, format!("undefined ref: {text}"))
        .detail(text)
        .detail(format!("{pad}^"))
        .detail(have)
        .detail(want)
}

/// The keys of objects of this type, as messages list them.
pub(super) fn keys_of(tpe: &Type) -> Vec<String> {
    fn collect(tpe: &Type, keys: &mut Vec<Value>) {
        match tpe {
            Type::Object(object) => {
                keys.extend(object.fixed().iter().map(|property| property.key.clone()))
            }
            Type::Any(of) => of.iter().for_each(|option| collect(option, keys)),
            _ => {}
        }
    }
    let mut keys = Vec::new();
    collect(tpe, &mut keys);
    keys.sort();
    keys.dedup();
    keys.iter().map(ToString::to_string).collect()
}

/// A type, abbreviated to its outermost part if it's long.
fn elide(tpe: &Type) -> String {
    let full = text(tpe);
    if full.chars().count() <= MAX_TYPE { full } else { shown(tpe, 0) }
}

/// A type down to a depth.
fn shown(tpe: &Type, depth: usize) -> String {
    let inner = |tpe: &Type| if depth == 0 { ELLIPSIS.to_owned() } else { shown(tpe, depth - 1) };
    let all = |types: &[Type]| match types {
        [_, ..] if depth == 0 => vec![ELLIPSIS.to_owned()],
        types => types.iter().map(inner).collect(),
    };
    match tpe {
        Type::Set(of) if !of.is_unknown() => format!("set[{}]", inner(of)),
        Type::Array(array) => {
            composite("array", &all(array.fixed()), known(array.rest()).map(inner))
        }
        Type::Object(object) => {
            let fixed = match object.fixed() {
                [_, ..] if depth == 0 => vec![ELLIPSIS.to_owned()],
                fixed => {
                    fixed.iter().map(|fixed| property(&fixed.key, &inner(&fixed.value))).collect()
                }
            };
            let rest = object.rest().map(|rest| {
                if depth == 0 {
                    ELLIPSIS.to_owned()
                } else {
                    format!("{}: {}", inner(&rest.key), inner(&rest.value))
                }
            });
            composite("object", &fixed, rest)
        }
        Type::Any(of) if !of.is_empty() => composite("any", &all(of), None),
        Type::Function(function) => {
            let mut args = all(&function.args);
            if let Some(variadic) = known(&function.variadic)
                && (depth > 0 || args.is_empty())
            {
                args.push(if depth == 0 {
                    ELLIPSIS.to_owned()
                } else {
                    format!("{}{ELLIPSIS}", inner(variadic))
                });
            }
            let result = known(&function.result).map_or_else(|| Type::Unknown.to_string(), inner);
            format!("({}) => {result}", args.join(", "))
        }
        _ => text(tpe),
    }
}

fn known(tpe: &Type) -> Option<&Type> {
    (!tpe.is_unknown()).then_some(tpe)
}

fn property(key: &Value, value: &str) -> String {
    format!("{}: {value}", DisplayKey(key))
}

fn composite(name: &str, fixed: &[String], rest: Option<String>) -> String {
    let fixed = if fixed.is_empty() { String::new() } else { format!("<{}>", fixed.join(", ")) };
    let rest = rest.map(|item| format!("[{item}]")).unwrap_or_default();
    format!("{name}{fixed}{rest}")
}

fn same(a: &Type, b: &Type) -> bool {
    text(a) == text(b)
}

/// Two types, with the parts left out that are equal in both.
fn diff(a: &Type, b: &Type, depth: usize) -> (String, String) {
    if depth >= MAX_DEPTH || a.is_unknown() || b.is_unknown() || same(a, b) {
        return (elide(a), elide(b));
    }
    match (a, b) {
        (Type::Set(x), Type::Set(y)) if !x.is_unknown() && !y.is_unknown() => {
            let (left, right) = diff(x, y, depth + 1);
            (format!("set[{left}]"), format!("set[{right}]"))
        }
        (Type::Array(x), Type::Array(y)) => diff_arrays(a, x, b, y, depth),
        (Type::Object(x), Type::Object(y)) => diff_objects(x, y, depth),
        (Type::Any(x), Type::Any(y)) => diff_unions(x, y),
        (Type::Function(x), Type::Function(y)) if x.args.len() == y.args.len() => {
            diff_functions(x, y, depth)
        }
        _ => (elide(a), elide(b)),
    }
}

fn diff_arrays(
    a: &Type,
    x: &Arc<Array>,
    b: &Type,
    y: &Arc<Array>,
    depth: usize,
) -> (String, String) {
    if x.fixed().len() != y.fixed().len() || x.rest().is_unknown() != y.rest().is_unknown() {
        return (shown(a, 1), shown(b, 1));
    }
    let (left, right): (Vec<_>, Vec<_>) =
        x.fixed().iter().zip(y.fixed()).map(|(a, b)| diff(a, b, depth + 1)).unzip();
    let (rest_left, rest_right) = match (known(x.rest()), known(y.rest())) {
        (Some(a), Some(b)) => {
            let (left, right) = diff(a, b, depth + 1);
            (Some(left), Some(right))
        }
        _ => (None, None),
    };
    (composite("array", &left, rest_left), composite("array", &right, rest_right))
}

fn diff_objects(a: &Object, b: &Object, depth: usize) -> (String, String) {
    let (mut left, mut right, mut equal) = (Vec::new(), Vec::new(), false);
    for a in a.fixed() {
        match b.fixed().iter().find(|other| other.key == a.key) {
            Some(other) if same(&a.value, &other.value) => equal = true,
            Some(other) => {
                let (l, r) = diff(&a.value, &other.value, depth + 1);
                left.push((a.key.clone(), l));
                right.push((a.key.clone(), r));
            }
            None => left.push((a.key.clone(), elide(&a.value))),
        }
    }
    let only_right =
        b.fixed().iter().filter(|fixed| !a.fixed().iter().any(|other| other.key == fixed.key));
    right.extend(only_right.map(|entry| (entry.key.clone(), elide(&entry.value))));
    right.sort_by(|a, b| a.0.cmp(&b.0));
    let elided = |rest: &Dynamic| format!("{}: {}", elide(&rest.key), elide(&rest.value));
    let (rest_left, rest_right) = match (a.rest(), b.rest()) {
        (Some(a), Some(b)) => {
            let (key_left, key_right) = diff(&a.key, &b.key, depth + 1);
            let (value_left, value_right) = diff(&a.value, &b.value, depth + 1);
            (Some(format!("{key_left}: {value_left}")), Some(format!("{key_right}: {value_right}")))
        }
        (a, b) => (a.map(elided), b.map(elided)),
    };
    let texts = |pairs: Vec<(Value, String)>| {
        with_ellipsis(pairs.iter().map(|(key, value)| property(key, value)).collect(), equal)
    };
    (composite("object", &texts(left), rest_left), composite("object", &texts(right), rest_right))
}

fn with_ellipsis(mut items: Vec<String>, left_out: bool) -> Vec<String> {
    if left_out {
        items.push(ELLIPSIS.to_owned());
    }
    items
}

fn diff_unions(a: &[Type], b: &[Type]) -> (String, String) {
    let only = |of: &[Type], other: &[Type]| {
        of.iter()
            .filter(|of| !other.iter().any(|other| same(of, other)))
            .map(elide)
            .collect::<Vec<_>>()
    };
    let (left, right) = (only(a, b), only(b, a));
    let equal = left.len() < a.len();
    (
        composite("any", &with_ellipsis(left, equal), None),
        composite("any", &with_ellipsis(right, equal), None),
    )
}

fn diff_functions(a: &Function, b: &Function, depth: usize) -> (String, String) {
    let (mut left, mut right): (Vec<_>, Vec<_>) =
        a.args.iter().zip(&b.args).map(|(a, b)| diff(a, b, depth + 1)).unzip();
    match (known(&a.variadic), known(&b.variadic)) {
        (Some(a), Some(b)) => {
            let (l, r) = diff(a, b, depth + 1);
            left.push(l + ELLIPSIS);
            right.push(r + ELLIPSIS);
        }
        (a, b) => {
            left.extend(a.map(|a| elide(a) + ELLIPSIS));
            right.extend(b.map(|b| elide(b) + ELLIPSIS));
        }
    }
    let (result_left, result_right) = diff(&a.result, &b.result, depth + 1);
    (
        format!("({}) => {result_left}", left.join(", ")),
        format!("({}) => {result_right}", right.join(", ")),
    )
}

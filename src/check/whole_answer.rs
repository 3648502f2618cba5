//! Answers that are counted or iterated over where one of their lists is meant.
//!
//! `count(platform.evidence({}))` is the number of the answer's fields, and `some row in
//! platform.evidence({})` gives their values: a rule over them never sees a row.

use super::infer::Types;
use super::model::{Binding, Kind, Usage, WholeList};
use super::{File, Inspected};
use crate::Diagnostic;
use crate::builtins::{FUNCTIONS, Field, Type};
use crate::rego::syntax::tree::{Span, Term, TermKind};

/// Finds answers that are used as lists.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let mut report = |fields: Option<&'static [Field]>, span: Span, what: &str| {
        let Some((function, list)) = fields.and_then(list_of) else { return };
        let name = all.product.function(function);
        out.push(
            Diagnostic::warning("whole-answer", format!("an answer of `{name}` {what}"))
                .with_hint(format!("the list is in `.{list}`"))
                .at(all.position(span)),
        );
    };
    let fields = |term: &'a Term| types.infer(at, term)?.fields();
    for whole in &file.model.wholes {
        let what = match whole.usage {
            Usage::Counted(_) => "is counted",
            Usage::Every => ITERATED,
            Usage::Negated => continue,
        };
        if let WholeList::Term(term) = whole.list {
            report(fields(term), whole.span, what);
        }
    }
    for (name, arguments, span) in &file.model.others {
        if let ("internal.member_2" | "internal.member_3", [.., list]) = (name.as_str(), *arguments)
        {
            report(fields(list), *span, ITERATED);
        }
    }
    for reference in &file.model.references {
        types.missing(at, reference, &mut |fields, part| {
            if is_iterated(file, part) {
                report(Some(fields), reference.span, ITERATED);
            }
        });
    }
}

const ITERATED: &str = "is iterated over";

/// Returns the function whose answer has these fields, and the answer's list.
fn list_of(fields: &'static [Field]) -> Option<(&'static str, &'static str)> {
    let function = FUNCTIONS.iter().find(
        |function| matches!(function.result, Type::Object(own) if std::ptr::eq(own, fields)),
    )?;
    let list = fields.iter().find(|field| matches!(field.ty, Type::Array(_)))?;
    Some((function.name, list.name))
}

/// Returns `true` for an operand that takes the value of every key.
fn is_iterated(file: &File<'_>, part: &Term) -> bool {
    let TermKind::Var(name) = &part.kind else { return false };
    let variable = file.model.variable(name, part.span);
    variable.is_none_or(|it| it.kind == Kind::Local && matches!(it.binding, Binding::Unknown))
}

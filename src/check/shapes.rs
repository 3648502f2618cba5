//! Verdict rules whose values a gate can't read.
//!
//! Owns what is known of a value before evaluation: literals, values of variables, results of
//! functions and rules. A gate refuses such a value at run time, which for a rule that seldom holds
//! is the worst moment.

use super::infer::{InferredType, Types};
use super::model::{Binding, function_name};
use super::{File, Inspected};
use crate::Diagnostic;
use crate::load::roles::{PackageOrigin, RESULT_FIELDS, Role, role};
use crate::rego::syntax::tree::{Collection, Rule, Span, Term, TermKind};

/// The most variables that are followed.
const MAX_DEPTH: usize = 20;

/// Finds verdict rules of the wrong shape.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    for rule in &file.module.rules {
        let Some(name) = verdict_name(rule) else { continue };
        let checker = Checker { file, at, types, name };
        let mut next = Some(rule);
        while let Some(rule) = next {
            if let Some((span, wrong)) = checker.rule(rule) {
                out.push(wrong.at(all.position(span)));
            }
            next = rule.else_rule.as_deref();
        }
    }
}

/// Returns the name of a verdict rule; `None` for any other rule.
fn verdict_name(rule: &Rule) -> Option<&str> {
    let head = &rule.head;
    let TermKind::Var(name) = &head.reference.first()?.kind else { return None };
    let named = role(name, PackageOrigin::Plain).is_some_and(Role::gives_verdict);
    // `deny[x]` is a set or an object; a rule with more parts is refused because of its name.
    let whole = head.reference.len() == 1 || head.reference.len() == 2 && head.key.is_some();
    (named && whole && !head.is_function()).then_some(name)
}

struct Checker<'l, 'a> {
    file: &'a File<'a>,
    /// The file's index.
    at: usize,
    types: &'l Types<'a>,
    name: &'a str,
}

type Wrong = (Span, Diagnostic);

impl<'a> Checker<'_, 'a> {
    fn rule(&self, rule: &'a Rule) -> Option<Wrong> {
        let head = &rule.head;
        match (&head.key, &head.value) {
            (Some(key), None) => self.item(key, MAX_DEPTH),
            (Some(_), Some(_)) => Some(self.not_a_list(head.span, "is an object")),
            (None, Some(_)) if head.generated_value => Some(self.condition(head.span)),
            (None, Some(value)) if self.name == "result" => self.result(value, MAX_DEPTH),
            (None, Some(value)) => self.list(value, MAX_DEPTH),
            (None, None) => None,
        }
    }

    /// Reports a rule without a value of its own, which is just `true` or undefined.
    fn condition(&self, span: Span) -> Wrong {
        let name = self.name;
        if name == "result" {
            let message = "`result` is `true` or undefined, not an object".to_owned();
            let hint = "write `result := {\"violations\": [...]}`";
            return (span, warning(message).with_hint(hint));
        }
        let message = format!("`{name}` is `true` or undefined, not a set of messages");
        let hint =
            format!("write `{name} contains msg if {{ ... }}`, with `msg := \"...\"` in its body");
        (span, warning(message).with_hint(hint))
    }

    /// Checks the value of `result`.
    fn result(&self, value: &'a Term, depth: usize) -> Option<Wrong> {
        let depth = depth.checked_sub(1)?;
        if let TermKind::Var(name) = &value.kind
            && let Binding::Value(bound) = self.file.model.variable(name, value.span)?.binding
        {
            return self.result(bound, depth).map(|(_, wrong)| (value.span, wrong));
        }
        if let TermKind::Object(members) = &value.kind {
            return members.iter().find_map(|(key, _)| match &key.kind {
                TermKind::String(name) if !RESULT_FIELDS.contains(&&**name) => {
                    let message = format!("`result` has `{name}`, which no verdict uses");
                    Some((key.span, warning(message).with_hint(field_hint(name))))
                }
                _ => None,
            });
        }
        let type_name = self.type_name(value, depth)?;
        (type_name != "an object").then(|| {
            let message = format!("`result` is {type_name}, not an object");
            let hint = "it is an object with `violations` or `findings`";
            (value.span, warning(message).with_hint(hint))
        })
    }

    fn list(&self, value: &'a Term, depth: usize) -> Option<Wrong> {
        let depth = depth.checked_sub(1)?;
        match &value.kind {
            TermKind::Array(items) | TermKind::Set(items) => {
                items.iter().find_map(|item| self.item(item, depth))
            }
            TermKind::Comprehension(Collection::Array | Collection::Set, inner) => {
                self.item(&inner.value, depth)
            }
            TermKind::Var(name) => match self.file.model.variable(name, value.span)?.binding {
                Binding::Value(bound) => {
                    self.list(bound, depth).map(|(_, wrong)| (value.span, wrong))
                }
                _ => None,
            },
            _ => {
                let type_name = self.type_name(value, depth)?;
                let is_list = matches!(type_name, "a set" | "an array");
                (!is_list).then(|| self.not_a_list(value.span, &format!("is {type_name}")))
            }
        }
    }

    fn not_a_list(&self, span: Span, what: &str) -> Wrong {
        let name = self.name;
        let message = format!("`{name}` {what}, not a set or an array");
        (span, warning(message).with_hint(list_hint(name)))
    }

    /// Checks one element of a list of messages.
    fn item(&self, item: &'a Term, depth: usize) -> Option<Wrong> {
        let depth = depth.checked_sub(1)?;
        let name = self.name;
        let of = match name {
            "findings" => "a finding",
            _ if name.starts_with("warn") => "a warning",
            _ => "a violation",
        };
        if let TermKind::Var(variable) = &item.kind
            && let Binding::Value(bound) = self.file.model.variable(variable, item.span)?.binding
        {
            return self.item(bound, depth).map(|(_, wrong)| (item.span, wrong));
        }
        if let TermKind::Object(members) = &item.kind {
            let mut keys = Vec::new();
            for (key, value) in members {
                let TermKind::String(key) = &key.kind else { return None };
                if let "message" | "msg" = &**key {
                    let type_name = self.type_name(value, depth)?;
                    return (type_name != "a string").then(|| {
                        let message = format!("`{name}` holds {of} whose `{key}` is {type_name}");
                        let hint = "make it a string, for example with `sprintf`";
                        (value.span, warning(message).with_hint(hint))
                    });
                }
                keys.push(&**key);
            }
            let message = format!("`{name}` holds {of} without a `message`");
            return Some((item.span, warning(message).with_hint(message_hint(keys.into_iter()))));
        }
        if self.types.infer(self.at, item).is_some_and(InferredType::lacks_message) {
            let message = format!("`{name}` holds {of} without a `message`");
            let hint = "say what is wrong in an object's string `message`, or in a string";
            return Some((item.span, warning(message).with_hint(hint)));
        }
        let type_name = self.type_name(item, depth)?;
        let fits = matches!(type_name, "an object" | "a string");
        (!fits).then(|| {
            let message = format!("`{name}` holds {of} that is {type_name}");
            let hint = "it is a string, or an object with a string `message` or `msg`";
            (item.span, warning(message).with_hint(hint))
        })
    }

    /// Returns `true` for an arithmetic operator with an operand that can't be a number.
    fn is_misused_operator(&self, terms: &'a [Term], depth: usize) -> bool {
        let Some((operator, operands)) = terms.split_first() else { return false };
        let name = function_name(operator).unwrap_or_default();
        matches!(&*name, "plus" | "minus" | "mul" | "div" | "rem")
            && operands.iter().any(|operand| {
                self.type_name(operand, depth).is_some_and(|name| name != "a number")
            })
    }

    /// Returns the name of a value's type, if it is known.
    fn type_name(&self, value: &'a Term, depth: usize) -> Option<&'static str> {
        let depth = depth.checked_sub(1)?;
        Some(match &value.kind {
            TermKind::Null => "null",
            TermKind::Bool(_) => "a boolean",
            TermKind::Number(_) => "a number",
            TermKind::String(_) | TermKind::Template(_) => "a string",
            TermKind::Array(_) | TermKind::Comprehension(Collection::Array, _) => "an array",
            TermKind::Set(_) | TermKind::Comprehension(Collection::Set, _) => "a set",
            TermKind::Object(_) | TermKind::Comprehension(Collection::Object, _) => "an object",
            TermKind::Group(inner) => return self.type_name(inner, depth),
            TermKind::Var(name) => match self.file.model.variable(name, value.span)?.binding {
                Binding::Value(bound) => return self.type_name(bound, depth),
                _ => return self.types.infer(self.at, value).and_then(InferredType::type_name),
            },
            // Its type error is enough.
            TermKind::Call(terms) if self.is_misused_operator(terms, depth) => return None,
            TermKind::Call(_) | TermKind::Ref(_) => {
                return self.types.infer(self.at, value).and_then(InferredType::type_name);
            }
        })
    }
}

/// The hint about a violation, an object with these fields, that lacks its message.
#[doc(hidden)]
pub fn message_hint<'k>(mut fields: impl Iterator<Item = &'k str>) -> String {
    match fields.find(|name| matches!(*name, "text" | "reason" | "Message")) {
        Some(name) => format!("write `message` instead of `{name}`"),
        None => "put what is wrong into its string `message`".to_owned(),
    }
}

/// The hint about a field of `result` that isn't one of its own.
#[doc(hidden)]
pub fn field_hint(name: &str) -> String {
    let known: Vec<_> = RESULT_FIELDS.iter().map(|name| format!("`{name}`")).collect();
    let known = format!("its fields are {}", known.join(", "));
    crate::text::did_you_mean(name, RESULT_FIELDS.iter().copied(), known)
}

/// The hint about a rule that isn't a set or an array of violations.
#[doc(hidden)]
pub fn list_hint(rule: &str) -> String {
    format!("write `{rule} contains msg if {{ ... }}`")
}

fn warning(message: String) -> Diagnostic {
    Diagnostic::warning("verdict-shape", message)
}

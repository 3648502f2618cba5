//! A model of a module's rules for the checks, collected in one walk over its tree.
//!
//! Owns the lists that the checks work on: variables with their bindings, calls of the product's
//! functions, references, comparisons. The tree is the one after OPA's stage
//! `RewriteLocalVars`: references have full paths, and each local variable has a unique name, so no
//! scopes are needed. It judges nothing.

use std::collections::BTreeMap;

use crate::functions::{self, Function};
use crate::rego::internal::deeper;
use crate::rego::syntax::tree::{
    Body, Expr, ExprKind, Module, Name, Rule, Span, TemplatePart, Term, TermKind, With,
};

/// The origin of a variable's value, if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binding<'a> {
    /// A variable with this value.
    Value(&'a Term),
    /// An element of this collection.
    Element(&'a Term),
    /// Unknown: it can have any value.
    Unknown,
}

/// The source of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An argument of a function.
    Argument,
    /// Declared by `:=`, `some … in` or `every`, or by its first use.
    Local,
}

/// A local variable or an argument.
#[derive(Debug)]
pub(super) struct Variable<'a> {
    /// The place of its first mention.
    pub span: Span,
    pub kind: Kind,
    pub binding: Binding<'a>,
    /// The number of its mentions.
    pub mentions: usize,
}

/// A call of one of the product's functions.
pub(super) struct CallSite<'a> {
    pub function: &'static Function,
    pub arguments: &'a [Term],
    /// The span of the function's name.
    pub span: Span,
    /// `true` if a `with` of the statement replaces the function.
    pub replaced: bool,
}

impl CallSite<'_> {
    /// Returns `true` if it has all arguments, and at most one more, which the result is unified
    /// with.
    pub fn is_complete(&self) -> bool {
        let arguments = self.function.arguments.len();
        (arguments..=arguments + 1).contains(&self.arguments.len())
    }
}

/// A comparison of two values.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a> {
    /// The operator's name: `equal`, `neq`, `lt`.
    pub operator: &'static str,
    pub left: &'a Term,
    pub right: &'a Term,
    pub span: Span,
}

/// The comparison operators.
const COMPARISONS: [&str; 7] = ["equal", "eq", "neq", "lt", "lte", "gt", "gte"];

/// The contents of a module's rules.
#[derive(Default)]
pub(super) struct Model<'a> {
    /// The variables by name and rule. A declared variable has a unique name, and no rule here; any
    /// other name is a separate variable in each rule.
    variables: BTreeMap<Name, BTreeMap<Option<usize>, Variable<'a>>>,
    /// The offsets at which the rules begin, sorted.
    rules: Vec<u32>,
    pub calls: Vec<CallSite<'a>>,
    /// References that are read, and policies' own functions that are called, without targets of
    /// `with`; each with the index of its rule.
    pub references: Vec<(usize, &'a Term)>,
    /// Calls of functions other than the product's, with their name, arguments and span.
    pub others: Vec<(String, &'a [Term], Span)>,
    /// The product's functions that a `with` replaces, and the modifiers.
    pub mocks: Vec<(&'static Function, &'a With)>,
    pub comparisons: Vec<Comparison<'a>>,
    /// Statements that are just a value, and whether they are negated.
    pub statements: Vec<(&'a Term, bool)>,
    /// Statements that are just a call, which aren't negated: the function and its arguments.
    pub called: Vec<(&'a [Term], Span)>,
}

impl<'a> Model<'a> {
    /// Returns the variable that is mentioned at a place.
    pub fn variable(&self, name: &str, at: Span) -> Option<&Variable<'a>> {
        let rule = self.rule_of(name, at);
        self.variables.get(name)?.get(&rule)
    }

    fn variable_mut(&mut self, name: &str, at: Span) -> Option<&mut Variable<'a>> {
        let rule = self.rule_of(name, at);
        self.variables.get_mut(name)?.get_mut(&rule)
    }

    /// Returns all variables.
    pub fn variables(&self) -> impl Iterator<Item = (&Name, &Variable<'a>)> {
        self.variables.iter().flat_map(|(name, all)| all.values().map(move |one| (name, one)))
    }

    /// Returns the rule that a variable belongs to; `None` for one with a unique name.
    fn rule_of(&self, name: &str, at: Span) -> Option<usize> {
        let is_unique = name.starts_with("__local");
        (!is_unique).then(|| self.rules.partition_point(|start| *start <= at.start))
    }
}

/// Collects what a module's rules contain.
pub(super) fn model<'a>(module: &'a Module, product: &'a str) -> Model<'a> {
    let mut rules: Vec<u32> = module.rules.iter().map(|rule| rule.span.start).collect();
    rules.sort_unstable();
    let model = Model { rules, ..Model::default() };
    let mut walk = Walk { product, replaced: Vec::new(), rule: 0, model };
    for (index, rule) in module.rules.iter().enumerate() {
        walk.rule = index;
        walk.rule(rule);
    }
    walk.model
}

/// Returns the full name of a called function, such as `platform.discover` or `count`.
pub(super) fn function_name(operator: &Term) -> Option<String> {
    match &operator.kind {
        TermKind::Var(name) => Some(name.to_string()),
        TermKind::Ref(parts) => {
            let (head, rest) = parts.split_first()?;
            let TermKind::Var(head) = &head.kind else { return None };
            let mut name = head.to_string();
            for part in rest {
                let TermKind::String(part) = &part.kind else { return None };
                name.push('.');
                name.push_str(part);
            }
            Some(name)
        }
        _ => None,
    }
}

/// Returns the constant beginning of a reference's path below `data`, with the span of each part.
pub(super) fn data_path(term: &Term) -> Option<Vec<(&str, Span)>> {
    let TermKind::Ref(parts) = &term.kind else { return None };
    let (head, rest) = parts.split_first()?;
    if !matches!(&head.kind, TermKind::Var(name) if &**name == "data") {
        return None;
    }
    let keys = rest.iter().map_while(|part| match &part.kind {
        TermKind::String(key) => Some((&**key, part.span)),
        _ => None,
    });
    Some(keys.collect())
}

struct Walk<'a> {
    product: &'a str,
    /// The short names of the functions that an enclosing `with` replaces.
    replaced: Vec<String>,
    rule: usize,
    model: Model<'a>,
}

impl<'a> Walk<'a> {
    fn rule(&mut self, rule: &'a Rule) {
        let mut next = Some(rule);
        while let Some(rule) = next {
            self.branch(rule);
            next = rule.else_rule.as_deref();
        }
    }

    fn branch(&mut self, rule: &'a Rule) {
        for argument in &rule.head.args {
            self.argument(argument);
        }
        // The head's own name isn't a reference.
        for part in rule.head.reference.iter().skip(1) {
            self.term(part);
        }
        for term in rule.head.key.iter().chain(&rule.head.value) {
            self.term(term);
        }
        self.body(&rule.body);
    }

    fn argument(&mut self, term: &'a Term) {
        match &term.kind {
            TermKind::Var(name) => {
                self.mention(name, term.span);
                if let Some(variable) = self.model.variable_mut(name, term.span) {
                    variable.kind = Kind::Argument;
                }
            }
            TermKind::Array(items) | TermKind::Set(items) => {
                for item in items {
                    self.argument(item);
                }
            }
            TermKind::Object(members) => {
                for (key, value) in members {
                    self.argument(key);
                    self.argument(value);
                }
            }
            _ => self.term(term),
        }
    }

    fn body(&mut self, body: &'a Body) {
        deeper(|| body.iter().for_each(|expr| self.expr(expr)));
    }

    fn expr(&mut self, expr: &'a Expr) {
        let before = self.replaced.len();
        for with in &expr.with {
            let name = function_name(&with.target);
            let Some(short) = name.as_deref().and_then(|name| self.short(name)) else { continue };
            self.model.mocks.extend(functions::function(short).map(|function| (function, with)));
            self.replaced.push(short.to_owned());
        }
        match &expr.kind {
            ExprKind::Term(term) => {
                self.model.statements.push((term, expr.negated));
                self.term(term);
            }
            ExprKind::Call(terms) => {
                if !expr.negated {
                    self.model.called.push((terms, expr.span));
                }
                self.statement(terms, expr.span);
            }
            ExprKind::Some(declared) => {
                for symbol in &declared.symbols {
                    if let TermKind::Call(terms) = &symbol.kind {
                        self.statement(terms, symbol.span);
                    }
                }
            }
            ExprKind::Every(every) => {
                self.term(&every.domain);
                if let Some(key) = &every.key {
                    self.term(key);
                }
                self.term(&every.value);
                self.bind(&every.value, Binding::Element(&every.domain));
                self.body(&every.body);
            }
            ExprKind::Not(not) => self.body(&not.body),
            ExprKind::And(both) | ExprKind::Or(both) => {
                self.body(&both.left);
                self.body(&both.right);
            }
        }
        self.replaced.truncate(before);
        for with in &expr.with {
            self.indexes(&with.target);
            self.term(&with.value);
        }
    }

    /// Walks a call that is a statement, and may bind a variable.
    fn statement(&mut self, terms: &'a [Term], span: Span) {
        self.call(terms, span);
        let Some((operator, arguments)) = terms.split_first() else { return };
        match (function_name(operator).as_deref(), arguments) {
            (Some("eq" | "assign"), [left, right]) => {
                self.bind(left, Binding::Value(right));
                self.bind(right, Binding::Value(left));
            }
            (Some("internal.member_2"), [element, list])
            | (Some("internal.member_3"), [_, element, list]) => {
                self.bind(element, Binding::Element(list));
            }
            _ => {}
        }
    }

    /// Binds a variable, unless it is bound already.
    fn bind(&mut self, term: &'a Term, binding: Binding<'a>) {
        let TermKind::Var(name) = &term.kind else { return };
        if let Some(variable) = self.model.variable_mut(name, term.span)
            && variable.kind == Kind::Local
            && matches!(variable.binding, Binding::Unknown)
        {
            variable.binding = binding;
        }
    }

    fn mention(&mut self, name: &Name, span: Span) {
        if name.starts_with('$') || matches!(&**name, "data" | "input") {
            return;
        }
        let new = Variable { span, kind: Kind::Local, binding: Binding::Unknown, mentions: 0 };
        let rule = self.model.rule_of(name, span);
        let of_name = self.model.variables.entry(Name::clone(name)).or_default();
        of_name.entry(rule).or_insert(new).mentions += 1;
    }

    fn term(&mut self, term: &'a Term) {
        deeper(|| self.term_within(term));
    }

    fn term_within(&mut self, term: &'a Term) {
        match &term.kind {
            TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {}
            TermKind::Var(name) => self.mention(name, term.span),
            TermKind::Ref(parts) => {
                if let Some(head) = parts.first() {
                    self.term(head);
                }
                self.indexes(term);
                self.model.references.push((self.rule, term));
            }
            TermKind::Array(items) | TermKind::Set(items) => self.terms(items),
            TermKind::Object(members) => {
                for (key, value) in members {
                    self.term(key);
                    self.term(value);
                }
            }
            TermKind::Comprehension(_, inner) => {
                self.body(&inner.body);
                inner.key.iter().chain([&inner.value]).for_each(|term| self.term(term));
            }
            TermKind::Call(terms) => self.call(terms, term.span),
            TermKind::Group(inner) => self.term(inner),
            TermKind::Template(template) => {
                for part in &template.parts {
                    if let TemplatePart::Expr(expr) = part {
                        self.expr(expr);
                    }
                }
            }
        }
    }

    fn terms(&mut self, terms: &'a [Term]) {
        for term in terms {
            self.term(term);
        }
    }

    /// Walks the operands of a reference, without its head.
    fn indexes(&mut self, term: &'a Term) {
        if let TermKind::Ref(parts) = &term.kind {
            self.terms(parts.get(1..).unwrap_or_default());
        }
    }

    fn short<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(self.product)?.strip_prefix('.')
    }

    fn call(&mut self, terms: &'a [Term], span: Span) {
        let Some((operator, arguments)) = terms.split_first() else { return };
        let Some(name) = function_name(operator) else {
            self.terms(terms);
            return;
        };
        // An infix operator has no span of its own.
        let at = if operator.span.start < operator.span.end { operator.span } else { span };
        if let Some(short) = self.short(&name) {
            if let Some(function) = functions::function(short) {
                let replaced = self.replaced.iter().any(|name| name == short);
                self.model.calls.push(CallSite { function, arguments, span: at, replaced });
            }
        } else if let [left, right] = arguments
            && let Some(operator) = COMPARISONS.into_iter().find(|known| *known == name)
        {
            self.model.comparisons.push(Comparison { operator, left, right, span });
        } else {
            if matches!(&operator.kind, TermKind::Ref(_)) && name.starts_with("data.") {
                self.model.references.push((self.rule, operator));
            }
            self.model.others.push((name, arguments, at));
        }
        self.terms(arguments);
    }
}

//! What a module's rules say, collected in one walk.
//!
//! Owns the scopes of local variables and the lists that the single checks look at: variables,
//! calls of the product's functions, references, negations, counts. What a name that isn't local
//! means is the loader's to say. It judges nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use regorus::unstable as ast;

use ast::{AssignOp, Expr, ExprRef, Literal, LiteralStmt, Query, Rule, RuleHead, Span};

use crate::builtins::{self, Function};
use crate::evaluate::load::{Meaning, ModuleSyntax, Step, chain};

/// What a variable is made from, where that is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binding<'a> {
    /// It has this value.
    Value(&'a ExprRef),
    /// It is one of the elements of this.
    Element(&'a ExprRef),
    /// Anything.
    Unknown,
}

/// How a variable came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Argument,
    /// By `:=`, `some … in` or `every`.
    Declared,
    /// By `some` alone, or by nothing but its use.
    Implicit,
}

#[derive(Debug)]
pub(super) struct Variable<'a> {
    pub name: &'a str,
    /// Where it is declared.
    pub bytes: (usize, usize),
    pub kind: Kind,
    pub binding: Binding<'a>,
    pub used: bool,
}

/// A call of one of the product's functions.
pub(super) struct Call<'a> {
    pub function: &'static Function,
    pub params: &'a [ExprRef],
    /// The bytes of the function's name.
    pub bytes: (usize, usize),
    /// Whether a `with` of the statement puts something else in the function's place.
    pub replaced: bool,
}

impl Call<'_> {
    /// Whether it has its arguments, and perhaps one more for the result to go into.
    pub fn is_complete(&self) -> bool {
        let arguments = self.function.arguments.len();
        (arguments..=arguments + 1).contains(&self.params.len())
    }
}

/// A use of a list as a whole: what is cut off from it may change the answer.
pub(super) struct Whole<'a> {
    pub expr: &'a ExprRef,
    /// The bytes of the word that takes it as a whole.
    pub bytes: (usize, usize),
    pub how: How,
}

/// How a list is used as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum How {
    /// Its elements are counted; the number that the count is compared with and the comparison's
    /// operator, with the count on the left.
    Counted(Option<(f64, Compared)>),
    Negated,
    /// Every element must satisfy something.
    Every,
}

/// How a count is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    /// Whether there are more (`>`) or no more (`<=`), equal (`==`) or not.
    Above,
    /// Whether there are at least so many (`>=`), or fewer (`<`).
    AtLeast,
}

/// Everything that the checks look at.
#[derive(Default)]
pub(super) struct Model<'a> {
    pub variables: Vec<Variable<'a>>,
    /// Which variable each mention of one is, by where it starts.
    pub mentions: BTreeMap<usize, usize>,
    pub calls: Vec<Call<'a>>,
    /// References with steps.
    pub chains: Vec<&'a ExprRef>,
    /// Calls of Rego's own functions, with the bytes of the name.
    pub builtins: Vec<(&'a str, &'a [ExprRef], (usize, usize))>,
    /// Lists used as a whole, with the module's rule in which they are.
    pub wholes: Vec<(usize, Whole<'a>)>,
    /// Negated statements.
    pub negations: Vec<(&'a ExprRef, (usize, usize))>,
    /// For each call of a function of the product, the module's rule in which it is.
    pub call_rules: Vec<usize>,
}

impl<'a> Model<'a> {
    /// The variable that is mentioned at `offset`.
    pub fn variable(&self, offset: usize) -> Option<&Variable<'a>> {
        self.variables.get(*self.mentions.get(&offset)?)
    }

    /// The variables that are mentioned within these bytes.
    pub fn mentions_in(&self, start: usize, end: usize) -> impl Iterator<Item = usize> {
        self.mentions.range(start..end).map(|(_, index)| *index)
    }

    /// The calls within the bytes of an expression.
    pub fn calls_in(&self, (start, end): (usize, usize)) -> impl Iterator<Item = &Call<'a>> {
        self.calls.iter().filter(move |call| start <= call.bytes.0 && call.bytes.1 <= end)
    }
}

/// Walks over a module.
pub(super) fn walk<'a>(module: &'a ModuleSyntax<'a>) -> Model<'a> {
    let mut walk = Walk {
        module,
        scopes: Vec::new(),
        replaced: Vec::new(),
        seen: HashSet::new(),
        rule: 0,
        model: Model::default(),
    };
    for (index, rule) in module.ast().policy.iter().enumerate() {
        walk.rule = index;
        walk.rule(rule);
    }
    walk.model
}

struct Walk<'a> {
    module: &'a ModuleSyntax<'a>,
    scopes: Vec<HashMap<&'a str, usize>>,
    /// Short names of the functions that `with` replaces around here.
    replaced: Vec<&'a str>,
    /// Where calls and references start that have been met: a head is walked once for each body.
    seen: HashSet<usize>,
    rule: usize,
    model: Model<'a>,
}

/// The bytes of a span.
fn span_bytes(span: &Span) -> (usize, usize) {
    (span.start as usize, span.end as usize)
}

impl<'a> Walk<'a> {
    fn scoped(&mut self, work: impl FnOnce(&mut Self)) {
        self.scopes.push(HashMap::new());
        work(self);
        self.scopes.pop();
    }

    fn rule(&mut self, rule: &'a Rule) {
        match rule {
            Rule::Default { args, value, .. } => self.scoped(|walk| {
                walk.arguments(args);
                walk.expr(value);
            }),
            Rule::Spec { head, bodies, .. } => self.scoped(|walk| {
                if let RuleHead::Func { args, .. } = head {
                    walk.arguments(args);
                }
                if bodies.is_empty() {
                    walk.head(head);
                }
                for (index, body) in bodies.iter().enumerate() {
                    walk.scoped(|walk| {
                        walk.declare(&body.query);
                        if !body.is_else || index == 0 {
                            walk.head(head);
                        }
                        if let Some(assign) = &body.assign {
                            walk.expr(&assign.value);
                        }
                        walk.query(&body.query);
                    });
                }
            }),
        }
    }

    fn arguments(&mut self, args: &'a [ExprRef]) {
        for arg in args {
            self.pattern(arg, Kind::Argument, Binding::Unknown);
        }
    }

    fn head(&mut self, head: &'a RuleHead) {
        let (refr, value) = match head {
            RuleHead::Compr { refr, assign, .. } | RuleHead::Func { refr, assign, .. } => {
                (refr, assign.as_ref().map(|a| &a.value))
            }
            RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
        };
        self.indexes(refr);
        if let Some(value) = value {
            self.expr(value);
        }
    }

    fn indexes(&mut self, refr: &'a ExprRef) {
        for step in chain(refr).1 {
            if let Step::Index(index) = step {
                self.expr(index);
            }
        }
    }

    fn define(&mut self, name: &'a str, at: usize, kind: Kind, binding: Binding<'a>) {
        if name == "_" {
            return;
        }
        let Some(scope) = self.scopes.last_mut() else { return };
        if let Some(known) = scope.get(name) {
            // A second mention in a pattern compares; `some x` before `x = …` only declares.
            self.model.mentions.insert(at, *known);
            if let Some(known) = self.model.variables.get_mut(*known) {
                known.used |= kind == Kind::Argument || !matches!(binding, Binding::Value(_));
                known.binding = match known.binding {
                    Binding::Unknown if kind == Kind::Implicit => binding,
                    _ => Binding::Unknown,
                };
            }
            return;
        }
        let bytes = (at, at + name.len());
        let index = self.model.variables.len();
        scope.insert(name, index);
        self.model.mentions.insert(at, index);
        self.model.variables.push(Variable { name, bytes, kind, binding, used: false });
    }

    /// Declares what a pattern binds, and walks over the rest of it.
    fn pattern(&mut self, expr: &'a ExprRef, kind: Kind, binding: Binding<'a>) {
        match expr.as_ref() {
            Expr::Var { span, .. } => self.define(span.text(), span_bytes(span).0, kind, binding),
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.pattern(item, kind, Binding::Unknown);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.pattern(key, kind, Binding::Unknown);
                    self.pattern(value, kind, Binding::Unknown);
                }
            }
            _ => self.expr(expr),
        }
    }

    /// Declares what the statements of a body bind, wherever in it they are.
    fn declare(&mut self, query: &'a Query) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { vars, .. } => {
                    for span in vars {
                        // The loader refuses those that nothing uses.
                        let at = span_bytes(span).0;
                        self.define(span.text(), at, Kind::Implicit, Binding::Unknown);
                    }
                }
                Literal::SomeIn { key, value, collection, .. } => {
                    if let Some(key) = key {
                        self.pattern(key, Kind::Declared, Binding::Unknown);
                    }
                    self.pattern(value, Kind::Declared, Binding::Element(collection));
                }
                Literal::Expr { expr, .. } => {
                    if let Expr::AssignExpr { op: AssignOp::ColEq, lhs, rhs, .. } = expr.as_ref() {
                        self.pattern(lhs, Kind::Declared, Binding::Value(rhs));
                    }
                }
                Literal::NotExpr { .. } | Literal::Every { .. } => {}
            }
        }
        for statement in &query.stmts {
            if let Literal::Expr { expr, .. } = &statement.literal
                && let Expr::AssignExpr { op: AssignOp::Eq, lhs, rhs, .. } = expr.as_ref()
                && let Expr::Var { span, .. } = lhs.as_ref()
            {
                self.unified(span, rhs);
            }
        }
    }

    /// `x = …` gives a value to a variable that nothing else declares.
    fn unified(&mut self, span: &'a Span, value: &'a ExprRef) {
        let at = span_bytes(span).0;
        let outer = self.scopes.iter().rev().skip(1).any(|s| s.contains_key(span.text()));
        let global = !matches!(self.module.meaning(at), None | Some(Meaning::Undeclared));
        if !outer && !global {
            self.define(span.text(), at, Kind::Implicit, Binding::Value(value));
        }
    }

    fn query(&mut self, query: &'a Query) {
        for statement in &query.stmts {
            let before = self.replaced.len();
            for modifier in &statement.with_mods {
                self.replaced.extend(self.module.replaced(&modifier.refr));
            }
            self.literal(statement);
            self.replaced.truncate(before);
            for modifier in &statement.with_mods {
                self.indexes(&modifier.refr);
                self.expr(&modifier.r#as);
            }
        }
    }

    fn literal(&mut self, statement: &'a LiteralStmt) {
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { collection, .. } => self.expr(collection),
            Literal::Expr { expr, .. } => match expr.as_ref() {
                Expr::AssignExpr { op: AssignOp::ColEq, rhs, .. } => self.expr(rhs),
                _ => self.expr(expr),
            },
            Literal::NotExpr { expr, span } => {
                let bytes = (span.start as usize, span.start as usize + "not".len());
                self.model.negations.push((expr, bytes));
                self.whole(expr, bytes, How::Negated);
                self.expr(expr);
            }
            Literal::Every { key, value, domain, query, span } => {
                let bytes = (span.start as usize, span.start as usize + "every".len());
                self.whole(domain, bytes, How::Every);
                self.expr(domain);
                self.scoped(|walk| {
                    for (span, binding) in key
                        .iter()
                        .map(|span| (span, Binding::Unknown))
                        .chain([(value, Binding::Element(domain))])
                    {
                        walk.define(span.text(), span_bytes(span).0, Kind::Declared, binding);
                    }
                    walk.scoped(|walk| {
                        walk.declare(query);
                        walk.query(query);
                    });
                });
            }
        }
    }

    fn whole(&mut self, expr: &'a ExprRef, bytes: (usize, usize), how: How) {
        self.model.wholes.push((self.rule, Whole { expr, bytes, how }));
    }

    fn expr(&mut self, expr: &'a ExprRef) {
        match expr.as_ref() {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Var { span, .. } => self.mention(span),
            Expr::RefDot { .. } | Expr::RefBrack { .. } => self.reference(expr),
            Expr::Array { items, .. } | Expr::Set { items, .. } => self.all(items),
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.all([key, value]);
                }
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.comprehension([term], query);
            }
            Expr::ObjectCompr { key, value, query, .. } => self.comprehension([key, value], query),
            Expr::Call { fcn, params, .. } => self.call(fcn, params, None),
            Expr::UnaryExpr { expr, .. } => self.expr(expr),
            Expr::BoolExpr { op, lhs, rhs, .. } => {
                for (side, compared) in super::limit::comparison(op, lhs, rhs) {
                    match side.as_ref() {
                        Expr::Call { fcn, params, .. } => self.call(fcn, params, compared),
                        _ => self.expr(side),
                    }
                }
            }
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => self.all([lhs, rhs]),
            Expr::Membership { key, value, collection, .. } => {
                self.all(key.iter().chain([value, collection]));
            }
        }
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = &'a ExprRef>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn comprehension<const N: usize>(&mut self, terms: [&'a ExprRef; N], query: &'a Query) {
        self.scoped(|walk| {
            walk.declare(query);
            walk.all(terms);
            walk.query(query);
        });
    }

    fn mention(&mut self, span: &'a Span) {
        let at = span_bytes(span).0;
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(span.text()).copied());
        if let Some(index) = found {
            // Where an implicit variable gets its value it isn't used.
            let declares = self.model.variables.get(index).is_some_and(|v| v.bytes.0 == at);
            self.model.mentions.insert(at, index);
            if let Some(variable) = self.model.variables.get_mut(index) {
                variable.used |= !declares;
            }
        }
    }

    fn reference(&mut self, expr: &'a ExprRef) {
        self.expr(chain(expr).0);
        self.indexes(expr);
        // By its end too: `a` and `a.b` start at one place.
        if self.seen.insert(span_bytes(expr.span()).1) {
            self.model.chains.push(expr);
        }
    }

    fn call(&mut self, fcn: &'a ExprRef, params: &'a [ExprRef], compared: Option<(f64, Compared)>) {
        let start = chain(fcn).0.span().start as usize;
        let bytes = (start, fcn.span().end as usize);
        if self.seen.insert(start) {
            match self.module.meaning(start) {
                Some(Meaning::Call(short)) => {
                    if let Some(function) = builtins::function(short) {
                        let replaced = self.replaced.contains(&short);
                        self.model.calls.push(Call { function, params, bytes, replaced });
                        self.model.call_rules.push(self.rule);
                    }
                }
                Some(Meaning::Builtin("count")) => {
                    if let [list] = params {
                        self.whole(list, bytes, How::Counted(compared));
                    }
                }
                Some(Meaning::Builtin(_)) => {
                    self.model.builtins.push((fcn.span().text(), params, bytes));
                }
                _ => {}
            }
        }
        self.all(params);
    }
}

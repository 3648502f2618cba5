//! Calls that Rego makes before it reads the references beside them.
//!
//! In `[data.p.x, f(1)]` Rego makes the call first: where it ends with an error, the evaluation
//! does, whether there is a `data.p.x` or not. The interpreter leaves a list at its first undefined
//! member. Nor does Rego read the references of a set or an object in the order of the text. Owns
//! which lists that matters for, and the edits that evaluate all of their members:
//!
//! ```text
//! [data.p.x, f(1)]  →  internal.then(internal.then([], (data.p.x)), (f(1)))
//! ```
//!
//! A list in a rule's own body is left as it is where only base documents come before the call:
//! OPA doesn't come to the call either, since its index knows by them which rules to look at. What
//! is edited is the rewritten text, in which names mean what they mean to the interpreter.

use std::collections::HashSet;
use std::sync::Arc;

use regorus::Value;
use regorus::unstable as ast;

use ast::{AssignOp, Expr, ExprRef, Literal, Query, Rule, RuleHead};

use super::helpers::{Helper, misused};
use super::parts::{children, within};
use super::pieces::{closing, extent, opening};
use super::scope::{Step, chain, path};
use super::text::Edit;
use super::tree::{Tree, package_path};
use super::vars::{expressions, is_closure};

const THEN: &str = "internal.then";
const MEMBERS: &str = "internal.members";
const FIELDS: &str = "internal.fields";

pub(super) const HELPERS: [Helper; 3] = [
    Helper { name: THEN, arity: 2, run: then },
    Helper { name: MEMBERS, arity: 1, run: members },
    Helper { name: FIELDS, arity: 1, run: fields },
];

/// A list with one member more.
fn then(args: Vec<Value>) -> anyhow::Result<Value> {
    match <[Value; 2]>::try_from(args) {
        Ok([mut list, member]) => {
            list.as_array_mut()?.push(member);
            Ok(list)
        }
        _ => misused(THEN),
    }
}

/// The set of a list's members.
fn members(args: Vec<Value>) -> anyhow::Result<Value> {
    match args.as_slice() {
        [Value::Array(list)] => {
            Ok(Value::from(list.iter().cloned().collect::<std::collections::BTreeSet<_>>()))
        }
        _ => misused(MEMBERS),
    }
}

/// The object whose keys and values follow one another in a list.
fn fields(args: Vec<Value>) -> anyhow::Result<Value> {
    let [Value::Array(list)] = args.as_slice() else { return misused(FIELDS) };
    let list: Vec<Value> = list.iter().cloned().collect();
    let mut object = std::collections::BTreeMap::new();
    for pair in list.chunks(2) {
        let [key, value] = pair else { return misused(FIELDS) };
        let before = object.insert(key.clone(), value.clone());
        anyhow::ensure!(before.is_none_or(|before| before == *value), "object keys must be unique");
    }
    Ok(Value::from(object))
}

/// What stands between two members.
pub(super) const BETWEEN: &str = ")), (";

/// `internal.then(internal.then([], (`, for so many members; what closes the last is `))`.
pub(super) fn opened(members: usize) -> String {
    format!("{}[], (", format!("{THEN}(").repeat(members))
}

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A rule's own body or head, in which OPA's index counts.
    Rule,
    Inner,
}

/// Which members have to be evaluated although one before them is undefined.
pub(super) struct Order<'t> {
    /// All rules, and the module's package; nothing in a query.
    rules: Option<(&'t Tree, Vec<Arc<str>>)>,
    /// Names of imports: none where references are full paths already. Before that a name stands
    /// for whatever it may, so that the look at the author's text misses nothing.
    imported: HashSet<Arc<str>>,
    /// `print` turns OPA's index off.
    prints: bool,
}

impl<'t> Order<'t> {
    pub(super) fn of_module(module: &ast::Module, tree: &'t Tree) -> Self {
        let prints = module.package.span.source.get_contents().contains("print(");
        let imported = module.imports.iter().filter_map(|import| match &import.r#as {
            Some(name) => Some(name.text().into()),
            None => path(&import.refr).map(|(first, mut keys)| keys.pop().unwrap_or(first)),
        });
        Self { rules: Some((tree, package_path(module))), imported: imported.collect(), prints }
    }

    pub(super) fn of_query() -> Self {
        Self { rules: None, imported: HashSet::new(), prints: false }
    }

    pub(super) fn is_of_module(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether a name and the keys after it are a rule's that has a value whatever is asked.
    pub(super) fn is_sure(&self, first: Arc<str>, keys: Vec<Arc<str>>) -> bool {
        let Some((tree, package)) = &self.rules else { return false };
        if first.as_ref() == "data" {
            return tree.always_has_value(&keys);
        }
        let own: Vec<_> = package.iter().cloned().chain([first]).chain(keys).collect();
        tree.always_has_value(&own)
    }

    /// Whether one of `members` can fail that stands after what may be undefined.
    pub(super) fn matters(&self, members: &[&ExprRef], place: Place) -> bool {
        let mut after = false;
        members.iter().any(|member| {
            let found = after && self.can_fail(member, false);
            after |= self.may_lack(member, place);
            found
        })
    }

    /// The same for a set or an object: Rego reads their references in the order of values.
    fn matters_unordered(&self, members: &[&ExprRef], place: Place) -> bool {
        let lack = |at: &usize| members.get(*at).is_some_and(|m| self.may_lack(m, place));
        let lacking: Vec<usize> = (0..members.len()).filter(lack).collect();
        members.iter().enumerate().any(|(at, member)| {
            lacking.iter().any(|other| *other != at) && self.can_fail(member, true)
        })
    }

    /// Whether `expr` is a reference, or a list with one, that may be undefined.
    fn may_lack(&self, expr: &ExprRef, place: Place) -> bool {
        match expr.as_ref() {
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                match self.document(expr) {
                    Document::Local => false,
                    Document::Base => place == Place::Inner || self.prints,
                    Document::Part | Document::Rule => true,
                }
            }
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                children(expr).into_iter().any(|member| self.may_lack(member, place))
            }
            _ => false,
        }
    }

    /// Whether `expr` makes a call that can end with an error; `called`: it is part of one.
    fn can_fail(&self, expr: &ExprRef, called: bool) -> bool {
        match expr.as_ref() {
            Expr::Call { fcn, .. } if self.document(fcn) == Document::Rule => true,
            Expr::Var { .. } => called && self.document(expr) == Document::Rule,
            Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                (called && self.document(expr) == Document::Rule)
                    || within(expr).into_iter().any(|part| self.can_fail(part, called))
            }
            // As a member it is read like a reference; what it needs isn't looked at here.
            _ if is_closure(expr) => called,
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                children(expr).into_iter().any(|member| self.can_fail(member, called))
            }
            _ => children(expr).into_iter().any(|operand| self.can_fail(operand, true)),
        }
    }

    /// What a reference is to. A local variable of a rule's name is taken for the rule.
    fn document(&self, expr: &ExprRef) -> Document {
        let chain = chain(expr);
        let Expr::Var { span, .. } = chain.base.as_ref() else { return Document::Local };
        let keys: Vec<_> = chain
            .steps
            .iter()
            .map_while(|link| match link.step() {
                Step::Key(key) => Some(key),
                Step::Any => None,
            })
            .collect();
        let constant = keys.len() == chain.steps.len();
        let read = if constant { Document::Base } else { Document::Part };
        match (span.text(), &self.rules) {
            (name, _) if self.imported.contains(name) => Document::Rule,
            ("input", _) => read,
            ("data", None) => Document::Rule,
            ("data", Some((tree, _))) => {
                let mut node = &tree.root;
                for key in &keys {
                    match node.children.get(key) {
                        Some(child) if child.group.is_none() => node = child,
                        Some(_) => return Document::Rule,
                        None => return read,
                    }
                }
                Document::Rule
            }
            (name, rules) => {
                let own = rules.as_ref().and_then(|(tree, package)| {
                    tree.node(package.iter().map(AsRef::as_ref).chain([name]))
                });
                match own {
                    Some(_) => Document::Rule,
                    None if chain.steps.is_empty() => Document::Local,
                    None => Document::Part,
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Document {
    /// A variable, or a value.
    Local,
    /// The input or data, by keys alone.
    Base,
    /// Something in a document or variable, by keys that the evaluation gives.
    Part,
    Rule,
}

/// The edits of a module whose references are rewritten already.
pub(super) fn edits(module: &ast::Module, tree: &Tree) -> Vec<Edit> {
    let text = module.package.span.source.get_contents();
    let mut finder = Finder { text, order: Order::of_module(module, tree), edits: Vec::new() };
    for rule in &module.policy {
        finder.rule(rule);
    }
    finder.edits
}

/// The edits of a query whose references are rewritten already.
pub(super) fn query_edits(query: &Query) -> Vec<Edit> {
    let text = query.span.source.get_contents();
    let mut finder = Finder { text, order: Order::of_query(), edits: Vec::new() };
    finder.query(query, Place::Inner);
    finder.edits
}

struct Finder<'a> {
    text: &'a str,
    order: Order<'a>,
    edits: Vec<Edit>,
}

impl Finder<'_> {
    fn rule(&mut self, rule: &Rule) {
        let Rule::Spec { head, bodies, .. } = rule else { return };
        let value = match head {
            RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                assign.as_ref().map(|assign| &assign.value)
            }
            RuleHead::Set { key, .. } => key.as_ref(),
        };
        let others = bodies.iter().filter_map(|body| Some(&body.assign.as_ref()?.value));
        for value in value.into_iter().chain(others) {
            self.expr(value, Place::Rule);
        }
        for body in bodies {
            self.query(&body.query, Place::Rule);
        }
    }

    fn query(&mut self, query: &Query, place: Place) {
        for statement in &query.stmts {
            let inner = if statement.with_mods.is_empty() { place } else { Place::Inner };
            match &statement.literal {
                Literal::SomeVars { .. } => {}
                Literal::SomeIn { collection, .. } => self.expr(collection, inner),
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                    match expr.as_ref() {
                        Expr::AssignExpr { op: AssignOp::ColEq, rhs, .. } => self.expr(rhs, inner),
                        // A side may be a pattern.
                        Expr::AssignExpr { lhs, rhs, .. } => {
                            for side in [lhs, rhs] {
                                self.side(side, inner);
                            }
                        }
                        _ => self.expr(expr, inner),
                    }
                }
                Literal::Every { domain, query, .. } => {
                    self.expr(domain, inner);
                    self.query(query, Place::Inner);
                }
            }
            let given = expressions(statement).len() - statement.with_mods.len();
            for value in expressions(statement).into_iter().skip(given) {
                self.expr(value, Place::Inner);
            }
        }
    }

    /// A side of `=`: a list in it may bind variables.
    fn side(&mut self, expr: &ExprRef, place: Place) {
        match expr.as_ref() {
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                for member in children(expr) {
                    self.side(member, place);
                }
            }
            _ => self.expr(expr, place),
        }
    }

    fn expr(&mut self, expr: &ExprRef, place: Place) {
        if matches!(expr.as_ref(), Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. }) {
            let list = children(expr);
            let matters = match expr.as_ref() {
                Expr::Array { .. } => self.order.matters(&list, place),
                _ => self.order.matters_unordered(&list, place),
            };
            if matters {
                self.all(expr, &list);
            }
        }
        self.parts(expr, place);
    }

    fn parts(&mut self, expr: &ExprRef, place: Place) {
        match expr.as_ref() {
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.expr(term, Place::Inner);
                self.query(query, Place::Inner);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.expr(key, Place::Inner);
                self.expr(value, Place::Inner);
                self.query(query, Place::Inner);
            }
            _ => {
                for part in within(expr) {
                    self.expr(part, place);
                }
            }
        }
    }

    /// Evaluates all members of a list, set or object.
    fn all(&mut self, expr: &ExprRef, list: &[&ExprRef]) {
        let (start, end) = extent(expr);
        let (around, close) = match expr.as_ref() {
            Expr::Set { .. } => (format!("{MEMBERS}("), ")))"),
            Expr::Object { .. } => (format!("{FIELDS}("), ")))"),
            _ => (String::new(), "))"),
        };
        let mut at = start;
        for (index, member) in list.iter().enumerate() {
            let (from, to) = extent(member);
            if index == 0 {
                let put = format!("{around}{}", opened(list.len()));
                opening(self.text, (at, from), &put, &mut self.edits);
            } else {
                opening(self.text, (at, from), BETWEEN, &mut self.edits);
            }
            at = to;
        }
        closing(self.text, (at, end), close, &mut self.edits);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

    use regorus::Value;

    use crate::evaluate::load::{LoadOptions, load};
    use crate::evaluate::sources::{ModuleSource, Sources};

    /// The first rewritten line, and what `data.p.r` is, or its error.
    fn evaluated(rule: &str) -> (String, Result<Value, String>) {
        let rest =
            "f(x) := [1] if x\nf(x) := [2] if x\ng(x) := x\nu if false\nc := 1\nk := 1\nk := 2";
        let module =
            ModuleSource { path: "p.rego".to_owned(), text: format!("package p\n{rule}\n{rest}") };
        let loaded =
            load(&Sources { modules: vec![module], data: Vec::new() }, &LoadOptions::default())
                .expect("loads");
        let text = loaded.rewritten("p.rego").unwrap().lines().nth(1).unwrap().to_owned();
        let mut engine = loaded.engine();
        engine.set_input(Value::new_object());
        (text, engine.eval_rule("data.p.r".to_owned()).map_err(|e| e.to_string()))
    }

    #[test]
    fn calls_are_made_before_references_are_read() {
        for rule in [
            "r := [u, f(true)]",
            "r := {u, k}",
            "r := {\"b\": u, \"a\": k}",
            "r if { x := {u, f(true)} }",
            "r := {\"a\": u, \"b\": f(true)}",
            "r := {x | x := [input.u, f(true)]}",
            "r if { every x in [1] { y := [input.u, [f(true)]] } }",
            "r if { every x in [1] { not input.u in f(true) } }",
            "r if { not startswith(u, f(true)[0]) }",
            "r if { x := [input.u, f(true)] with input.y as 1 }",
            "r if { x := [input.u, f(true)]; print(x) }",
        ] {
            let (text, value) = evaluated(rule);
            let error = value.expect_err(&text);
            let conflict = ["not produce multiple outputs", "conflicts with"];
            assert!(conflict.iter().any(|text| error.contains(text)), "{error}");
        }
    }

    #[test]
    fn an_import_hides_no_call() {
        let lib = "package lib\nf(x) := [1] if x\nf(x) := [2] if x\nu if false";
        for rule in ["[l.u, l.f(true)]", "[l.u, g(true)]", "[v, l.f(true)]", "{v, l.f(true)}"] {
            let text = format!(
                "package p\nimport data.lib as l\nimport data.lib.f as g\nimport data.lib.u as v\n\
                 r := {{x | x := {rule}}}"
            );
            let module = |path: &str, text: String| ModuleSource { path: path.to_owned(), text };
            let modules = vec![module("p.rego", text), module("lib.rego", lib.to_owned())];
            let sources = Sources { modules, data: Vec::new() };
            let mut engine = load(&sources, &LoadOptions::default()).expect("loads").engine();
            let error = engine.eval_rule("data.p.r".to_owned()).expect_err(rule).to_string();
            assert!(error.contains("must not produce multiple outputs"), "{error}");
        }
    }

    #[test]
    fn members_stay_what_they_are() {
        for (rule, value) in [
            ("r := [c, g(1), [2]]", "[1, 1, [2]]"),
            ("r := {c, g(1), 3}", "{1, 3}"),
            ("r := {\"a\": c, g(1): [c, g(2)]}", "{\"a\": 1, 1: [1, 2]}"),
            ("r if { not [c, 2] == [c, g(1)] }", "true"),
            ("r if { not [c, 2][0] in [c, g(2)] }", "false"),
        ] {
            let (text, ours) = evaluated(rule);
            let mut engine = regorus::Engine::new();
            let theirs = engine.eval_query(value.to_owned(), false).unwrap();
            let wanted = match value {
                "false" => Value::Undefined,
                _ => theirs.result[0].expressions[0].value.clone(),
            };
            assert_eq!(ours, Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_needs_nothing_stays_as_it_is() {
        for rule in [
            "r := [f(true), u]",
            "r := [input.u, f(true)]",
            "r := [1, \"a\", f(true)]",
            "r := [u, c]",
            "r := {input.u, f(true)}",
            "r := {x.a: x.b | x := {input.u}}",
            "r := [u, upper(input.u)]",
            "r := [x | x := [g(1), input.u]]",
            "r := x if { [x, 1] = [u, f(true)] }",
        ] {
            assert!(!evaluated(rule).0.contains("internal."), "{rule}");
        }
    }
}

//! Lowers the compiled tree to the core.
//!
//! Owns the walk over modules and rules; each construct has a file of its added, whose header shows
//! the construct before and after. The lowering relies on what the compile stages guarantee,
//! without checking it again: calls and dynamic references are hoisted, bodies are ordered, and the
//! names of locals are unique within a module. A tree that violates this is rejected.

mod body;
mod call;
mod comprehension;
mod frame;
mod marks;
mod operands;
mod reference;
mod rule;
mod slots;
mod term;
mod tree;
mod with;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Core, HostFn, NodeId, OpKind, QueryCore, Scope, SetId, Side, Target};
use crate::builtins::Builtin;
use crate::problem::{Problem, ProblemCode};
use crate::syntax::tree::{Body, Module, Span};
use crate::value::{Shared, Value};

pub(crate) use call::function_name;
pub(crate) use marks::{destructured, result};
pub(crate) use reference::member;
pub(crate) use tree::push_part;

use frame::Frame;

/// Looks up a built-in function by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<&'static Builtin>;

/// A program to lower.
pub struct Input<'a> {
    /// The modules after all compile stages, ordered by path.
    pub modules: &'a [Module],
    /// The base documents.
    pub data: Value,
    /// The host's functions.
    pub host: Vec<HostFn>,
    /// The built-in functions.
    pub builtins: Lookup<'a>,
    /// Returns `true` for the name of a rule that is a verdict.
    pub reports: &'a dyn Fn(&str) -> bool,
}

/// Lowers a program.
///
/// # Errors
/// Returns an error for a construct that the compile stages should have removed.
pub fn lower(input: Input<'_>) -> Result<Core, Problem> {
    let mut host = input.host;
    host.sort_by(|a, b| a.name.cmp(&b.name));
    let mut visible = input.data.clone();
    if let Value::Object(members) = &mut visible
        && members.get(&Value::from("system")).is_some()
    {
        Shared::make_mut(members).remove(&Value::from("system"));
    }
    let mut core = Core { data: input.data, visible, host, ..Core::default() };
    let placed = tree::build(&mut core, input.modules)?;
    let mut lowering = Lowering::new(&mut core, input.builtins);
    for place in &placed {
        lowering.rule(place)?;
    }
    rule::index(&mut core, &placed);
    operands::finish(&mut core);
    marks::finish(&mut core, input.reports);
    rule::finish(&mut core);
    Ok(core)
}

/// Lowers a query. Its added call sites and cached comprehensions are numbered after the program's.
///
/// # Errors
/// Returns an error for a construct that the compile stages should have removed.
pub fn lower_query(
    core: &Core,
    builtins: Lookup<'_>,
    body: &Body,
    span: Span,
) -> Result<(QueryCore, Vec<super::Site>), Problem> {
    // A query adds nothing to the program itself, only call sites of its added.
    let mut added = QueryAdditions { sites: Vec::new(), comprehensions: core.comprehensions };
    let mut lowering = Lowering {
        builtins,
        arities: BTreeMap::new(),
        core: Destination::Query(core, &mut added),
        set: None,
    };
    let mut frame = Frame::default();
    let body = lowering.body(&mut frame, body)?;
    let scope = frame.scope();
    Ok((QueryCore { scope, body, span }, added.sites))
}

/// Returns the query for one document: `data.a.b` as the only expression, with its value in slot 0.
pub fn lower_document(core: &Core, path: &[&str]) -> QueryCore {
    let span = Span::default();
    let terms: Vec<_> = path.iter().map(|part| super::Term::Const(Value::from(*part))).collect();
    let head = super::Head::Data(reference::resolve(core, &terms));
    let part = super::InputPart::None;
    let reference = super::Ref { head, path: terms.into(), part, span };
    let kind =
        OpKind::Unify(Box::new((Side::Ref(Box::new(reference)), Side::Term(super::Term::Var(0)))));
    QueryCore {
        scope: Scope { slots: 1, names: vec![Arc::from("value")] },
        body: Box::new([super::Op::new(kind, span, false)]),
        span,
    }
}

/// The call sites and comprehensions that a query adds to the program's.
struct QueryAdditions {
    sites: Vec<super::Site>,
    comprehensions: u32,
}

/// The destination of what is lowered.
enum Destination<'c> {
    Program(&'c mut Core),
    Query(&'c Core, &'c mut QueryAdditions),
}

struct Lowering<'c> {
    builtins: Lookup<'c>,
    /// The number of arguments of each built-in function, and whether it returns no value.
    arities: BTreeMap<&'static str, (usize, bool)>,
    core: Destination<'c>,
    /// The rule set that is being lowered.
    set: Option<SetId>,
}

impl<'c> Lowering<'c> {
    fn new(core: &'c mut Core, builtins: Lookup<'c>) -> Self {
        Self { builtins, arities: BTreeMap::new(), core: Destination::Program(core), set: None }
    }

    fn core(&self) -> &Core {
        match &self.core {
            Destination::Program(core) => core,
            Destination::Query(core, _) => core,
        }
    }

    /// Adds a call site if the function is one of the host or asks the network.
    fn add_site(&mut self, target: Target, name: &Arc<str>, span: Span) -> Option<u32> {
        match target {
            Target::Host(_) => {}
            Target::Builtin(builtin) if builtin.asks_network() => {}
            _ => return None,
        }
        let site = super::Site { name: Arc::clone(name), span, set: self.set };
        let (count, sites) = match &mut self.core {
            Destination::Program(core) => (0, &mut core.sites),
            Destination::Query(core, added) => (core.sites.len(), &mut added.sites),
        };
        sites.push(site);
        u32::try_from(count + sites.len() - 1).ok()
    }

    fn add_comprehension(&mut self) -> u32 {
        let count = match &mut self.core {
            Destination::Program(core) => &mut core.comprehensions,
            Destination::Query(_, added) => &mut added.comprehensions,
        };
        *count += 1;
        *count - 1
    }
}

/// Returns the error for a construct that OPA's compile stages leave in place, and its evaluator
/// can't make sense of.
fn unexpected(span: Span, what: &str) -> Problem {
    Problem::new(ProblemCode::Unsupported, span, format!("{what} can't be evaluated here"))
}

impl Core {
    /// The root of the tree of paths.
    pub const ROOT: NodeId = NodeId(0);
}

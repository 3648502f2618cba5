//! The compiled tree to the core.
//!
//! Owns the walk over modules and rules; each construct has a file of its own, which begins with
//! what it looked like before and what it looks like after. What the compile stages guarantee is
//! relied upon and not checked twice: calls and dynamic references are hoisted, bodies are in
//! order, locals have names of their own within a module. A tree that isn't so is refused.

mod body;
mod call;
mod comprehension;
mod frame;
mod reference;
mod rule;
mod term;
mod tree;
mod with;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Core, HostFn, NodeId, OpKind, QueryCore, Scope, SetId, Side};
use crate::rego::builtins::Builtin;
use crate::rego::problem::Problem;
use crate::rego::syntax::tree::{Body, Module, Span};
use crate::rego::value::Value;

pub(in crate::rego) use call::function_name;
pub(in crate::rego) use reference::member;
pub(in crate::rego) use tree::push_part;

use frame::Frame;

/// Finds a built-in function.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<&'static Builtin>;

/// What is lowered.
pub struct Input<'a> {
    /// The modules after all compile stages, in the order of their paths.
    pub modules: &'a [Module],
    /// The base documents.
    pub data: Value,
    /// The host's functions.
    pub host: Vec<HostFn>,
    /// The built-in functions.
    pub builtins: Lookup<'a>,
}

/// Lowers a program.
///
/// # Errors
/// A form that the compile stages should have removed.
pub fn lower(input: Input<'_>) -> Result<Core, Problem> {
    let mut host = input.host;
    host.sort_by(|a, b| a.name.cmp(&b.name));
    let mut core = Core { data: input.data, host, ..Core::default() };
    let placed = tree::plant(&mut core, input.modules)?;
    let mut lowering = Lowering::new(&mut core, input.builtins);
    for place in &placed {
        lowering.rule(place)?;
    }
    rule::index(&mut core, &placed);
    rule::finish(&mut core);
    Ok(core)
}

/// Lowers a query; call sites and remembered comprehensions of its own are numbered after the
/// program's.
///
/// # Errors
/// A form that the compile stages should have removed.
pub fn lower_query(
    core: &Core,
    builtins: Lookup<'_>,
    body: &Body,
    span: Span,
) -> Result<(QueryCore, Vec<super::Site>), Problem> {
    // A query adds nothing to the program but sites.
    let mut own = Own { sites: Vec::new(), comprehensions: core.comprehensions };
    let mut lowering = Lowering {
        builtins,
        arities: BTreeMap::new(),
        core: Target::Query(core, &mut own),
        set: None,
    };
    let mut frame = Frame::default();
    let body = lowering.body(&mut frame, body)?;
    let scope = frame.scope();
    Ok((QueryCore { scope, body, span }, own.sites))
}

/// The query for one document: `data.a.b` as its only expression, whose value is in slot 0.
pub fn lower_document(core: &Core, path: &[&str]) -> QueryCore {
    let span = Span::default();
    let terms: Vec<_> = path.iter().map(|part| super::Term::Const(Value::from(*part))).collect();
    let head = super::Head::Data(reference::resolve(core, &terms));
    let reference = super::Ref { head, path: terms.into(), span };
    let kind =
        OpKind::Unify(Box::new((Side::Ref(Box::new(reference)), Side::Term(super::Term::Var(0)))));
    QueryCore {
        scope: Scope { slots: 1, names: vec![Arc::from("value")] },
        body: Box::new([super::Op { kind, span, single: false }]),
        span,
    }
}

/// What a query has of its own.
struct Own {
    sites: Vec<super::Site>,
    comprehensions: u32,
}

/// Where lowered things go.
enum Target<'c> {
    Program(&'c mut Core),
    Query(&'c Core, &'c mut Own),
}

struct Lowering<'c> {
    builtins: Lookup<'c>,
    /// The number of arguments built-in functions take, and whether they give something.
    arities: BTreeMap<&'static str, (usize, bool)>,
    core: Target<'c>,
    /// The rules that are being lowered.
    set: Option<SetId>,
}

impl<'c> Lowering<'c> {
    fn new(core: &'c mut Core, builtins: Lookup<'c>) -> Self {
        Self { builtins, arities: BTreeMap::new(), core: Target::Program(core), set: None }
    }

    fn core(&self) -> &Core {
        match &self.core {
            Target::Program(core) => core,
            Target::Query(core, _) => core,
        }
    }

    fn add_site(&mut self, name: &Arc<str>, span: Span) -> Option<u32> {
        let site = super::Site { name: Arc::clone(name), span, set: self.set };
        let (count, sites) = match &mut self.core {
            Target::Program(core) => (0, &mut core.sites),
            Target::Query(core, own) => (core.sites.len(), &mut own.sites),
        };
        sites.push(site);
        u32::try_from(count + sites.len() - 1).ok()
    }

    fn add_comprehension(&mut self) -> u32 {
        let count = match &mut self.core {
            Target::Program(core) => &mut core.comprehensions,
            Target::Query(_, own) => &mut own.comprehensions,
        };
        *count += 1;
        *count - 1
    }
}

/// A form that the compile stages should have removed.
fn unexpected(span: Span, what: &str) -> Problem {
    Problem::compile(span, format!("{what} can't be compiled here"))
}

impl Core {
    /// The root of the tree of paths.
    pub const ROOT: NodeId = NodeId(0);
}

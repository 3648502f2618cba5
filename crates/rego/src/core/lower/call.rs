//! Lowers calls.
//!
//! ```text
//! plus(x, 1, y)               built-in plus [slot 0, const 1] → slot 1
//! data.a.f(x)                 function #4 [slot 0], its value not false
//! platform.evidence(x, y)     host function #0 [slot 0] → slot 1, call site #7
//! equal(x, 1)                 comparison
//! ```

use std::sync::Arc;

use crate::core::{Call, Comparison, Native, Op, OpKind, RuleSet, SetId, Target, Watch};
use crate::problem::Problem;
use crate::syntax::tree::{self, TermKind};
use crate::types::Function;

use super::frame::Frame;
use super::{Lowering, unexpected};

/// A callee: its target, name and arity, and whether it returns no value.
pub(super) struct Callee {
    pub(super) target: Target,
    pub(super) name: Arc<str>,
    pub(super) arity: usize,
    pub(super) void: bool,
}

impl Lowering<'_> {
    /// Lowers a call expression: the function, its arguments and possibly an output.
    pub(super) fn call(
        &mut self,
        frame: &mut Frame,
        terms: &[tree::Term],
        span: tree::Span,
    ) -> Result<Op, Problem> {
        let Some((function, args)) = terms.split_first() else {
            return Err(unexpected(span, "an empty call"));
        };
        let mut callee = self.callee(function)?;
        // Where OPA's checker doesn't look, in the operands of `or` and `not`, a complete rule may be
        // called like a function without arguments.
        if matches!(callee.target, Target::Missing)
            && let Some(set) = self.complete_rule(&callee.name)
        {
            callee = Callee { target: Target::Function(set), arity: 0, ..callee };
        }
        let mut args = self.terms(frame, args)?;
        let output = if !callee.void && args.len() > callee.arity { args.pop() } else { None };
        let site = self.add_site(callee.target, &callee.name, span);
        let single = match callee.target {
            Target::Builtin(builtin) => !builtin.relation,
            // For the policy's own functions this is decided once all rules are lowered (`finish`).
            _ => true,
        };
        for term in args.iter().chain(&output) {
            frame.bind(term);
        }
        let Callee { target, name, .. } = callee;
        let watch = Watch::of(&name);
        let call = Call { target, name, args: args.into(), output, site, watch };
        Ok(Op::new(OpKind::Call(Box::new(call)), span, single))
    }

    /// Looks up a complete rule by its path.
    fn complete_rule(&self, path: &str) -> Option<SetId> {
        let is_rule =
            |set: &RuleSet| &*set.path == path && !set.function && !set.multi && set.ground;
        let at = self.core().sets.iter().position(is_rule)?;
        u32::try_from(at).ok().map(SetId)
    }

    /// Resolves the first term of a call, the function.
    pub(super) fn callee(&mut self, function: &tree::Term) -> Result<Callee, Problem> {
        let name = function_name(function)
            .ok_or_else(|| unexpected(function.span, "what is called here"))?;
        let name: Arc<str> = name.into();
        if let Some(set) = self.core().functions.get(&name).copied() {
            let arity = self.core().set(set).map_or(0, |set| set.arity);
            return Ok(Callee { target: Target::Function(set), name, arity, void: false });
        }
        // A built-in function takes precedence over a host function of the same name.
        if let Some(builtin) = (self.builtins)(&name) {
            let (arity, void) = if let Some(known) = self.arities.get(builtin.name) {
                *known
            } else {
                let known = Function::parse(builtin.signature)
                    .map(|function| (function.args.len(), function.result.is_unknown()))
                    .map_err(|error| unexpected(function.span, &error.to_string()))?;
                self.arities.insert(builtin.name, known);
                known
            };
            let target = match &*name {
                "eq" | "equal" => Target::Compare(Comparison::Equal),
                "neq" => Target::Compare(Comparison::NotEqual),
                "lt" => Target::Compare(Comparison::Less),
                "lte" => Target::Compare(Comparison::LessOrEqual),
                "gt" => Target::Compare(Comparison::Greater),
                "gte" => Target::Compare(Comparison::GreaterOrEqual),
                "internal.print" => Target::Native(Native::Print),
                "internal.template_string" => Target::Native(Native::Template),
                "internal.member_2" => Target::Native(Native::Member),
                "trace" => Target::Native(Native::Trace),
                _ => Target::Builtin(builtin),
            };
            return Ok(Callee { target, name, arity, void });
        }
        let host = &self.core().host;
        if let Ok(index) = host.binary_search_by(|host| host.name.cmp(&name))
            && let Some(found) = host.get(index)
        {
            let target = Target::Host(u32::try_from(index).unwrap_or(u32::MAX));
            return Ok(Callee { target, arity: found.arity, void: found.void, name });
        }
        Ok(Callee { target: Target::Missing, name, arity: usize::MAX, void: false })
    }
}

/// Returns the name of the function that a term refers to: `plus`, `array.concat`, `data.a.f`.
pub(crate) fn function_name(term: &tree::Term) -> Option<String> {
    match &term.kind {
        TermKind::Var(name) => Some(name.to_string()),
        TermKind::Ref(parts) => {
            let mut name = String::new();
            for (index, part) in parts.iter().enumerate() {
                match &part.kind {
                    TermKind::Var(text) if index == 0 => name.push_str(text),
                    TermKind::String(text) => {
                        super::tree::push_part(&mut name, &text.as_ref().into());
                    }
                    TermKind::Number(number) => {
                        super::tree::push_part(&mut name, &number.clone().into());
                    }
                    TermKind::Bool(value) => super::tree::push_part(&mut name, &(*value).into()),
                    _ => return None,
                }
            }
            Some(name)
        }
        TermKind::Group(inner) => function_name(inner),
        _ => None,
    }
}

//! The core as text: one expression per line, with its position in the source.

use std::fmt::{self, Write};

use super::{
    Body, Call, Comparison, Comprehension, ComprehensionKind, Core, Head, Native, Op, OpKind, Ref,
    Resolved, RuleId, Scope, Side, Target, Term, With, WithTarget, WithValue,
};
use crate::problem::Sources;
use crate::syntax::tree::Span;

/// Displays a core; positions refer to `sources`.
pub struct Printed<'a> {
    core: &'a Core,
    sources: &'a Sources,
    source_lines: bool,
}

impl Printed<'_> {
    /// Appends the source line to each position.
    #[must_use]
    pub fn with_source_lines(self) -> Self {
        Self { source_lines: true, ..self }
    }
}

impl Core {
    /// Returns a printable form of the core.
    pub fn display<'a>(&'a self, sources: &'a Sources) -> Printed<'a> {
        Printed { core: self, sources, source_lines: false }
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        let Self { core, sources, source_lines } = *self;
        let mut printer = Printer { core, sources, out: &mut out, scope: None, source_lines };
        printer.program()?;
        f.write_str(&out)
    }
}

struct Printer<'a> {
    core: &'a Core,
    sources: &'a Sources,
    out: &'a mut String,
    scope: Option<&'a Scope>,
    source_lines: bool,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, span: Span, text: &str) -> fmt::Result {
        let start = self.out.len();
        for _ in 0..depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        while self.out.len() - start < 60 {
            self.out.push(' ');
        }
        let position = self.sources.position(span);
        write!(self.out, " # {}:{}:{}", position.path, position.line, position.column)?;
        let source = self.sources.get(span.file).filter(|_| self.source_lines);
        if let Some(line) = source.and_then(|source| source.line(position.line)) {
            write!(self.out, " | {}", line.trim())?;
        }
        writeln!(self.out)
    }

    fn program(&mut self) -> fmt::Result {
        for set in &self.core.sets {
            let mut text = format!("set {}", set.path);
            let kind = match (set.function, set.multi, set.ground) {
                (true, _, _) => "function",
                (_, true, true) => "set",
                (_, false, true) => "complete",
                _ => "partial",
            };
            write!(text, " {kind}")?;
            if set.early {
                text.push_str(" early-exit");
            }
            if set.single {
                text.push_str(" single");
            }
            writeln!(self.out, "{text}")?;
            for definition in &set.definitions {
                self.rule("rule", definition.rule)?;
                for rule in &definition.otherwise {
                    self.rule("else", *rule)?;
                }
            }
            if let Some(rule) = set.default {
                self.rule("default", rule)?;
            }
        }
        Ok(())
    }

    fn rule(&mut self, word: &str, id: RuleId) -> fmt::Result {
        let core = self.core;
        let Some(rule) = core.rule(id) else { return Ok(()) };
        let mut printer = Printer { scope: Some(&rule.scope), out: self.out, ..*self };
        let mut text = word.to_owned();
        for (index, part) in rule.reference.iter().enumerate() {
            text.push_str(if index == 0 { " data[" } else { "[" });
            text.push_str(&printer.term(part));
            text.push(']');
        }
        if !rule.args.is_empty() {
            let args: Vec<_> = rule.args.iter().map(|arg| printer.term(arg)).collect();
            write!(text, "({})", args.join(", "))?;
        }
        if let Some(key) = &rule.key {
            write!(text, " contains {}", printer.term(key))?;
        }
        if let Some(value) = &rule.value {
            write!(text, " := {}", printer.term(value))?;
        }
        printer.line(1, rule.span, &text)?;
        printer.body(2, &rule.body)
    }

    fn body(&mut self, depth: usize, body: &Body) -> fmt::Result {
        body.iter().try_for_each(|op| self.op(depth, op, ""))
    }

    fn op(&mut self, depth: usize, op: &Op, prefix: &str) -> fmt::Result {
        let many = if op.single { "" } else { "* " };
        match &op.kind {
            OpKind::Unify(sides) => {
                let text =
                    format!("{prefix}{many}{} = {}", self.side(&sides.0), self.side(&sides.1));
                self.line(depth, op.span, &text)?;
                self.closure(depth, &sides.0)?;
                self.closure(depth, &sides.1)
            }
            OpKind::Test(side) => {
                let text = format!("{prefix}{many}test {}", self.side(side));
                self.line(depth, op.span, &text)?;
                self.closure(depth, side)
            }
            OpKind::Call(call) => {
                let text = format!("{prefix}{many}{}", self.call(call));
                self.line(depth, op.span, &text)
            }
            OpKind::Every(every) => {
                let key = every.key.as_ref().map(|key| self.term(key)).unwrap_or_default();
                let text = format!(
                    "{prefix}every [{key}] {} in {}",
                    self.term(&every.value),
                    self.term(&every.domain)
                );
                self.line(depth, op.span, &text)?;
                self.body(depth + 1, &every.body)
            }
            OpKind::Not(body) => {
                self.line(depth, op.span, &format!("{prefix}not"))?;
                self.body(depth + 1, body)
            }
            OpKind::Negated(op) => self.op(depth, op, &format!("{prefix}not ")),
            OpKind::And(left, right) | OpKind::Or(left, right) => {
                let word = if matches!(op.kind, OpKind::And(..)) { "and" } else { "or" };
                self.line(depth, op.span, &format!("{prefix}{word}"))?;
                self.body(depth + 1, left)?;
                self.line(depth, op.span, word)?;
                self.body(depth + 1, right)
            }
            OpKind::With(with, op) => {
                let with: Vec<_> = with.iter().map(|with| self.with(with)).collect();
                self.op(depth, op, &format!("{prefix}with {} ", with.join(", ")))
            }
        }
    }

    fn with(&self, with: &With) -> String {
        let path = |head: &str, path: &[crate::value::Value]| {
            path.iter().fold(head.to_owned(), |text, part| format!("{text}[{part}]"))
        };
        let target = match &with.target {
            WithTarget::Input(at) => path("input", at),
            WithTarget::Data(at) => path("data", at),
            WithTarget::Function(name) => name.to_string(),
        };
        match &with.value {
            WithValue::Term(term) => format!("{target} as {}", self.term(term)),
            WithValue::Ref(reference) => format!("{target} as {}", self.reference(reference)),
            WithValue::Comprehension(value) => {
                format!("{target} as {}", self.comprehension(value))
            }
            WithValue::Function(_, name, _) => format!("{target} as function {name}"),
        }
    }

    fn call(&self, call: &Call) -> String {
        let args: Vec<_> = call.args.iter().map(|arg| self.term(arg)).collect();
        let kind = match call.target {
            Target::Compare(comparison) => match comparison {
                Comparison::Equal => "compare equal",
                Comparison::NotEqual => "compare not-equal",
                Comparison::Less => "compare less",
                Comparison::LessOrEqual => "compare less-or-equal",
                Comparison::Greater => "compare greater",
                Comparison::GreaterOrEqual => "compare greater-or-equal",
            }
            .to_owned(),
            Target::Builtin(_) => format!("builtin {}", call.name),
            Target::Host(_) => format!("host {}", call.name),
            Target::Function(_) => format!("function {}", call.name),
            Target::Native(native) => match native {
                Native::Print => "print",
                Native::Template => "template",
                Native::Trace => "trace",
                Native::Member => "member",
            }
            .to_owned(),
            Target::Missing => format!("missing {}", call.name),
        };
        let output = call.output.as_ref().map(|output| format!(" -> {}", self.term(output)));
        format!("{kind}({}){}", args.join(", "), output.unwrap_or_default())
    }

    fn comprehension(&self, comprehension: &Comprehension) -> String {
        match &comprehension.kind {
            ComprehensionKind::Array(term) => format!("[{} | ...]", self.term(term)),
            ComprehensionKind::Set(term) => format!("{{{} | ...}}", self.term(term)),
            ComprehensionKind::Object(key, value, _) => {
                format!("{{{}: {} | ...}}", self.term(key), self.term(value))
            }
        }
    }

    fn side(&self, side: &Side) -> String {
        match side {
            Side::Term(term) => self.term(term),
            Side::Ref(reference) => self.reference(reference),
            Side::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn closure(&mut self, depth: usize, side: &Side) -> fmt::Result {
        if let Side::Comprehension(comprehension) = side {
            if let Some(index) = &comprehension.index {
                let keys: Vec<_> = index.keys.iter().map(|slot| self.slot(*slot)).collect();
                self.line(
                    depth + 1,
                    comprehension.span,
                    &format!("remembered by {}", keys.join(", ")),
                )?;
            }
            self.body(depth + 1, &comprehension.body)?;
        }
        Ok(())
    }

    fn reference(&self, reference: &Ref) -> String {
        let (mut text, resolved) = match &reference.head {
            Head::Input => ("input".to_owned(), None),
            Head::Nothing => ("nothing".to_owned(), None),
            Head::Var(slot) => (self.slot(*slot), None),
            Head::Data(Resolved::Rules(_, count)) => ("rule data".to_owned(), Some(*count)),
            Head::Data(Resolved::Base(_, count)) => ("base data".to_owned(), Some(*count)),
            Head::Data(Resolved::Tree) => ("tree data".to_owned(), None),
        };
        for (index, term) in reference.path.iter().enumerate() {
            if Some(index) == resolved {
                text.push(' ');
            }
            text.push('[');
            text.push_str(&self.term(term));
            text.push(']');
        }
        text
    }

    fn slot(&self, slot: u32) -> String {
        let name = self.scope.and_then(|scope| scope.names.get(slot as usize));
        format!("%{slot}:{}", name.map_or("", |name| &**name))
    }

    fn term(&self, term: &Term) -> String {
        let list = |items: &[Term]| {
            items.iter().map(|item| self.term(item)).collect::<Vec<_>>().join(", ")
        };
        match term {
            Term::Const(value) => value.to_string(),
            Term::Var(slot) => self.slot(*slot),
            Term::Array(items) => format!("[{}]", list(items)),
            Term::Set(items) => format!("{{{}}}", list(items)),
            Term::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{}: {}", self.term(key), self.term(value)))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
        }
    }
}

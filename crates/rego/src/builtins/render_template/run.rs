//! Executes templates with variables.

use std::sync::Arc;

use super::super::encoding::query_escape;
use super::super::go_format::{Argument, print, printf, println};
use super::super::{Code, Context, Error};
use super::parse::{Function, Node, Operand, Pipeline, Templates, bad};
use crate::value::{Array, Object, Value, deeper, is_printable};

/// A value in a template.
#[derive(Debug, Clone)]
enum Item {
    /// No value, from a name that doesn't exist.
    Missing,
    Nil,
    Bool(bool),
    Text(Arc<str>),
    /// A number in the variables, which Go keeps as text.
    Number(Arc<str>),
    Int(i64),
    Float(f64),
    List(Array),
    Map(Arc<Object>),
}

impl Item {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.text().into()),
            Value::String(text) => Self::Text(text.to_name()),
            Value::Array(array) => Self::List((**array).clone()),
            Value::Object(object) => Self::Map(Arc::new((**object).clone())),
            Value::Set(set) => Self::List(set.iter().cloned().collect()),
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Text(text) | Self::Number(text) => !text.is_empty(),
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
        }
    }

    /// Returns the name of the value's type in Go.
    fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "interface {}",
            Self::Bool(_) => "bool",
            Self::Text(_) => "string",
            Self::Number(_) => "json.Number",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// Returns the value as an argument of Go's `fmt`.
    fn argument(&self) -> Argument<'_> {
        match self {
            Self::Missing | Self::Nil => Argument::Nil,
            Self::Bool(value) => Argument::Bool(*value),
            Self::Text(text) => Argument::Text((&**text).into()),
            Self::Number(text) => Argument::JsonNumber((&**text).into()),
            Self::Int(value) => Argument::Int(*value),
            Self::Float(value) => Argument::Float(*value),
            Self::List(list) => Argument::List(list),
            Self::Map(map) => Argument::Map(map),
        }
    }
}

fn arguments(items: &[Item]) -> Vec<Argument<'_>> {
    items.iter().map(Item::argument).collect()
}

/// Executes the unnamed template.
///
/// # Errors
/// Returns an error if an operation on the variables fails, or execution takes too long.
pub(super) fn run(
    ctx: &dyn Context,
    templates: &Templates,
    variables: &Value,
) -> Result<String, Error> {
    let dot = Item::from_value(variables);
    let mut runner = Runner {
        ctx,
        templates,
        variables: vec![("$".to_owned(), dot.clone())],
        out: String::new(),
        depth: 0,
    };
    if let Some(nodes) = templates.get("") {
        runner.nodes(nodes, &dot)?;
    }
    Ok(runner.out)
}

/// The control flow after a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Continue,
    Break,
}

/// The limit on nested templates and lists.
const MAX_NESTING: u32 = 5000;

struct Runner<'t, 'c> {
    ctx: &'c dyn Context,
    templates: &'t Templates,
    variables: Vec<(String, Item)>,
    out: String,
    depth: u32,
}

impl<'t> Runner<'t, '_> {
    fn show(&mut self, text: &str) -> Result<(), Error> {
        self.ctx.charge(text.len() as u64)?;
        self.out.push_str(text);
        Ok(())
    }

    fn nodes(&mut self, nodes: &'t [Node], dot: &Item) -> Result<Flow, Error> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Error::halt(Code::Limit, "the templates include each other too deeply"));
        }
        let flow = deeper(|| {
            for node in nodes {
                let flow = self.node(node, dot)?;
                if flow != Flow::On {
                    return Ok(flow);
                }
            }
            Ok(Flow::On)
        });
        self.depth -= 1;
        flow
    }

    fn node(&mut self, node: &'t Node, dot: &Item) -> Result<Flow, Error> {
        self.ctx.check()?;
        match node {
            Node::Text(text) => self.show(text)?,
            Node::Output(pipeline) => {
                let item = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    match item {
                        Item::Missing | Item::Nil => self.show("<no value>")?,
                        item => self.show(&print(self.ctx, &[item.argument()])?)?,
                    }
                }
            }
            Node::Branch { with, pipeline, then, otherwise } => {
                let mark = self.variables.len();
                let item = self.pipeline(pipeline, dot)?;
                let flow = if item.is_true() {
                    self.nodes(then, if *with { &item } else { dot })?
                } else {
                    self.nodes(otherwise, dot)?
                };
                self.variables.truncate(mark);
                return Ok(flow);
            }
            Node::Range { pipeline, body, otherwise } => {
                let mark = self.variables.len();
                let flow = self.range(pipeline, body, otherwise, dot)?;
                self.variables.truncate(mark);
                return Ok(flow);
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::Include { name, pipeline } => {
                let nodes = self
                    .templates
                    .get(name)
                    .ok_or_else(|| bad(format!("template {name:?} not defined")))?;
                let mark = self.variables.len();
                let dot = match pipeline {
                    Some(pipeline) => self.pipeline(pipeline, dot)?,
                    None => Item::Missing,
                };
                let variables =
                    std::mem::replace(&mut self.variables, vec![("$".to_owned(), dot.clone())]);
                self.nodes(nodes, &dot)?;
                self.variables = variables;
                self.variables.truncate(mark);
            }
        }
        Ok(Flow::On)
    }

    fn range(
        &mut self,
        pipeline: &'t Pipeline,
        body: &'t [Node],
        otherwise: &'t [Node],
        dot: &Item,
    ) -> Result<Flow, Error> {
        let item = self.pipeline(pipeline, dot)?;
        let items: Box<dyn Iterator<Item = (Item, Item)> + '_> = match &item {
            Item::Int(count) if pipeline.variables.len() > 1 => {
                let message = format!("can't use {count} to iterate over more than one variable");
                return Err(bad(message));
            }
            Item::Int(count) => {
                Box::new((0..*count).map(|index| (Item::Missing, Item::Int(index))))
            }
            Item::List(list) => Box::new(
                (0..).zip(list).map(|(index, value)| (Item::Int(index), Item::from_value(value))),
            ),
            Item::Map(map) => Box::new(
                map.iter().map(|(key, value)| (Item::from_value(key), Item::from_value(value))),
            ),
            Item::Missing | Item::Nil => Box::new(std::iter::empty()),
            other => {
                let shown = print(self.ctx, &[other.argument()])?;
                return Err(bad(format!("range can't iterate over {shown}")));
            }
        };
        let mut any = false;
        for (index, item) in items {
            any = true;
            let mark = self.variables.len();
            match pipeline.variables.as_slice() {
                [one] => self.set(one, item.clone(), pipeline.assigns)?,
                [first, second] => {
                    self.set(first, index, pipeline.assigns)?;
                    self.set(second, item.clone(), pipeline.assigns)?;
                }
                _ => {}
            }
            let flow = self.nodes(body, &item)?;
            self.variables.truncate(mark);
            if flow == Flow::Break {
                break;
            }
        }
        if any { Ok(Flow::On) } else { self.nodes(otherwise, dot) }
    }

    /// Sets a variable: the latest one with this name if it `assigns`, otherwise a new one.
    fn set(&mut self, name: &str, item: Item, assigns: bool) -> Result<(), Error> {
        if assigns {
            let known = self.variables.iter_mut().rev().find(|(variable, _)| variable == name);
            let (_, slot) = known.ok_or_else(|| bad(format!("undefined variable: {name}")))?;
            *slot = item;
        } else {
            self.variables.push((name.to_owned(), item));
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &'t Pipeline, dot: &Item) -> Result<Item, Error> {
        let mut last = None;
        for command in &pipeline.commands {
            last = Some(deeper(|| self.command(command, dot, last.take()))?);
        }
        let item = last.unwrap_or(Item::Missing);
        for name in &pipeline.variables {
            self.set(name, item.clone(), pipeline.assigns)?;
        }
        Ok(item)
    }

    fn command(
        &mut self,
        command: &'t [Operand],
        dot: &Item,
        last: Option<Item>,
    ) -> Result<Item, Error> {
        let Some((first, args)) = command.split_first() else { return Ok(Item::Missing) };
        if let Operand::Function(function) = first {
            return self.call(*function, args, dot, last);
        }
        if matches!(first, Operand::Nil) {
            return Err(bad("nil is not a command"));
        }
        if !args.is_empty() || last.is_some() {
            let message = match first {
                Operand::Fields(fields)
                | Operand::Variable(_, fields)
                | Operand::Chain(_, fields)
                    if !fields.is_empty() =>
                {
                    let name = fields.last().map(String::as_str).unwrap_or_default();
                    format!("{name} is not a method but has arguments")
                }
                _ => "can't give argument to non-function".to_owned(),
            };
            // The operand is evaluated first, since it may fail itself.
            self.operand(first, dot)?;
            return Err(bad(message));
        }
        self.operand(first, dot)
    }

    fn operand(&mut self, operand: &'t Operand, dot: &Item) -> Result<Item, Error> {
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Ok(Item::Nil),
            Operand::Bool(value) => Ok(Item::Bool(*value)),
            Operand::Int(value) => Ok(Item::Int(*value)),
            Operand::Float(value) => Ok(Item::Float(*value)),
            Operand::Text(text) => Ok(Item::Text(text.as_str().into())),
            Operand::Fields(names) => fields(dot.clone(), names),
            Operand::Variable(name, names) => {
                let item = self.variables.iter().rev().find(|(variable, _)| variable == name);
                let item = item.map(|(_, item)| item.clone());
                fields(item.ok_or_else(|| bad(format!("undefined variable: {name}")))?, names)
            }
            Operand::Chain(inner, names) => {
                let item = self.operand(inner, dot)?;
                fields(item, names)
            }
            Operand::Pipeline(pipeline) => {
                let mark = self.variables.len();
                let item = self.pipeline(pipeline, dot);
                self.variables.truncate(mark);
                item
            }
            Operand::Function(function) => self.call(*function, &[], dot, None),
        }
    }

    fn call(
        &mut self,
        function: Function,
        args: &'t [Operand],
        dot: &Item,
        last: Option<Item>,
    ) -> Result<Item, Error> {
        let name = function.name();
        let count = args.len() + usize::from(last.is_some());
        let (least, most) = match function {
            Function::And | Function::Or | Function::Index | Function::Slice | Function::Eq => {
                (1, usize::MAX)
            }
            Function::Printf | Function::Call => (1, usize::MAX),
            Function::Not | Function::Len => (1, 1),
            Function::Ne | Function::Lt | Function::Le | Function::Gt | Function::Ge => (2, 2),
            _ => (0, usize::MAX),
        };
        if count < least || count > most {
            return Err(bad(format!("wrong number of args for {name}: want {least} got {count}")));
        }
        if matches!(function, Function::And | Function::Or) {
            let mut item = Item::Missing;
            for arg in args {
                item = self.operand(arg, dot)?;
                if item.is_true() == (function == Function::Or) {
                    return Ok(item);
                }
            }
            return Ok(last.unwrap_or(item));
        }
        let mut items = Vec::with_capacity(count);
        for arg in args {
            items.push(self.operand(arg, dot)?);
        }
        items.extend(last);
        let failed = |error: Error| {
            if error.halt { error } else { bad(format!("error calling {name}: {}", error.message)) }
        };
        self.apply(function, &items).map_err(failed)
    }

    fn apply(&mut self, function: Function, items: &[Item]) -> Result<Item, Error> {
        let text = |text: String| Ok(Item::Text(text.into()));
        let compare = |a: usize, b: usize| match (items.get(a), items.get(b)) {
            (Some(a), Some(b)) => less(a, b),
            _ => Ok(false),
        };
        let equals = || equal(items);
        match function {
            Function::And | Function::Or => Ok(Item::Missing),
            Function::Not => Ok(Item::Bool(!items.first().is_some_and(Item::is_true))),
            Function::Len => length(items),
            Function::Index => index(items),
            Function::Slice => slice(items),
            Function::Print => text(print(self.ctx, &arguments(items))?),
            Function::Println => text(println(self.ctx, &arguments(items))?),
            Function::Printf => {
                let Some((Item::Text(format), args)) = items.split_first() else {
                    return Err(Error::failed("wrong type for value; expected string"));
                };
                text(printf(self.ctx, format, &arguments(args))?)
            }
            Function::Html => text(html(&self.text_to_escape(items)?)),
            Function::Js => text(js(&self.text_to_escape(items)?)),
            Function::UrlQuery => text(url_query(&self.text_to_escape(items)?)),
            Function::Call => Err(Error::failed("non-function value")),
            Function::Eq => Ok(Item::Bool(equals()?)),
            Function::Ne => Ok(Item::Bool(!equals()?)),
            Function::Lt => Ok(Item::Bool(compare(0, 1)?)),
            Function::Le => Ok(Item::Bool(compare(0, 1)? || equals()?)),
            Function::Gt => Ok(Item::Bool(!(compare(0, 1)? || equals()?))),
            Function::Ge => Ok(Item::Bool(!compare(0, 1)?)),
        }
    }

    /// Returns the text to escape.
    fn text_to_escape(&self, items: &[Item]) -> Result<String, Error> {
        // Missing values are printed as such.
        let shown = items.iter().map(|item| match item {
            Item::Missing | Item::Nil => Argument::Text("<no value>".into()),
            item => item.argument(),
        });
        print(self.ctx, &shown.collect::<Vec<_>>())
    }
}

/// Looks up fields of fields.
fn fields(mut item: Item, names: &[String]) -> Result<Item, Error> {
    for name in names {
        item = match &item {
            Item::Missing => Item::Missing,
            Item::Nil => return Err(bad(format!("nil pointer evaluating interface {{}}.{name}"))),
            Item::Map(map) => {
                map.get(&Value::from(name.as_str())).map_or(Item::Missing, Item::from_value)
            }
            other => {
                let kind = other.type_name();
                return Err(bad(format!("can't evaluate field {name} in type {kind}")));
            }
        };
    }
    Ok(item)
}

fn length(items: &[Item]) -> Result<Item, Error> {
    let length = match items.first() {
        Some(Item::Text(text) | Item::Number(text)) => text.len(),
        Some(Item::List(list)) => list.len(),
        Some(Item::Map(map)) => map.len(),
        Some(Item::Missing | Item::Nil) | None => return Err(Error::failed("len of nil pointer")),
        Some(other) => return Err(Error::failed(format!("len of type {}", other.type_name()))),
    };
    Ok(Item::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn position(item: &Item, most: usize) -> Result<usize, Error> {
    match item {
        Item::Int(value) => usize::try_from(*value)
            .ok()
            .filter(|index| *index <= most)
            .ok_or_else(|| Error::failed(format!("index out of range: {value}"))),
        Item::Missing | Item::Nil => Err(Error::failed("cannot index slice/array with nil")),
        other => {
            let kind = other.type_name();
            Err(Error::failed(format!("cannot index slice/array with type {kind}")))
        }
    }
}

fn index(items: &[Item]) -> Result<Item, Error> {
    let Some((first, indexes)) = items.split_first() else { return Ok(Item::Missing) };
    let mut item = first.clone();
    if matches!(item, Item::Missing | Item::Nil) {
        return Err(Error::failed("index of untyped nil"));
    }
    for index in indexes {
        let beyond = || Error::failed("reflect: index out of range");
        item = match &item {
            Item::Missing | Item::Nil => return Err(Error::failed("index of nil pointer")),
            Item::List(list) => {
                let at = position(index, list.len())?;
                Item::from_value(list.get(at).ok_or_else(beyond)?)
            }
            Item::Text(text) | Item::Number(text) => {
                let at = position(index, text.len())?;
                Item::Int(i64::from(*text.as_bytes().get(at).ok_or_else(beyond)?))
            }
            Item::Map(map) => match index {
                Item::Text(key) => {
                    map.get(&Value::from(&**key)).map_or(Item::Nil, Item::from_value)
                }
                Item::Missing | Item::Nil => {
                    return Err(Error::failed("value is nil; should be of type string"));
                }
                // A number in the variables is text of a different type.
                other => {
                    let kind = other.type_name();
                    return Err(Error::failed(format!("value has type {kind}; should be string")));
                }
            },
            other => {
                return Err(Error::failed(format!(
                    "can't index item of type {}",
                    other.type_name()
                )));
            }
        };
    }
    Ok(item)
}

fn slice(items: &[Item]) -> Result<Item, Error> {
    let Some((item, indexes)) = items.split_first() else { return Ok(Item::Missing) };
    let length = match item {
        Item::Missing | Item::Nil => return Err(Error::failed("slice of untyped nil")),
        Item::Text(text) | Item::Number(text) => text.len(),
        Item::List(list) => list.len(),
        other => {
            return Err(Error::failed(format!("can't slice item of type {}", other.type_name())));
        }
    };
    if indexes.len() > 3 {
        let count = indexes.len();
        return Err(Error::failed(format!("too many slice indexes: {count}")));
    }
    // The capacity of a list beyond its end isn't observable in a policy.
    if indexes.len() == 3 && matches!(item, Item::List(_)) {
        let message = "the template function `slice` with three indexes is not supported";
        return Err(Error::halt(Code::Builtin, message));
    }
    if indexes.len() == 3 {
        return Err(Error::failed("cannot 3-index slice a string"));
    }
    let at = |index: usize, otherwise: usize| {
        indexes.get(index).map_or(Ok(otherwise), |item| position(item, length))
    };
    let (from, to) = (at(0, 0)?, at(1, length)?);
    if from > to {
        return Err(Error::failed(format!("invalid slice index: {from} > {to}")));
    }
    Ok(match item {
        Item::Text(text) | Item::Number(text) => {
            // In Go it would be text that isn't valid UTF-8.
            let part = text.get(from..to).ok_or_else(|| {
                let message = "the template function `slice` would cut a character of more than \
                               one byte, which is not supported";
                Error::halt(Code::Builtin, message)
            })?;
            let part = part.into();
            if matches!(item, Item::Number(_)) { Item::Number(part) } else { Item::Text(part) }
        }
        Item::List(list) => Item::List(list.get(from..to).unwrap_or_default().to_vec()),
        _ => Item::Missing,
    })
}

/// Returns the kind of a value; only values of the same kind are comparable.
fn kind(item: &Item) -> u8 {
    match item {
        Item::Bool(_) => 1,
        Item::Int(_) => 2,
        Item::Float(_) => 3,
        Item::Text(_) | Item::Number(_) => 4,
        Item::Missing | Item::Nil | Item::List(_) | Item::Map(_) => 0,
    }
}

fn incompatible(a: &Item, b: &Item) -> Error {
    let (a, b) = (a.type_name(), b.type_name());
    Error::failed(format!("incompatible types for comparison: {a} and {b}"))
}

/// Returns `true` if the first value equals any of the others.
fn equal(items: &[Item]) -> Result<bool, Error> {
    let Some((first, others)) = items.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err(Error::failed("missing argument for comparison"));
    };
    let nil = |item: &Item| matches!(item, Item::Missing | Item::Nil);
    for other in others {
        let same = match (first, other) {
            (Item::Bool(a), Item::Bool(b)) => a == b,
            (Item::Int(a), Item::Int(b)) => a == b,
            #[allow(clippy::float_cmp)]
            (Item::Float(a), Item::Float(b)) => a == b,
            (Item::Text(a) | Item::Number(a), Item::Text(b) | Item::Number(b)) => a == b,
            (a, b) if nil(a) || nil(b) => nil(a) && nil(b),
            (a, b) if kind(a) != kind(b) => return Err(incompatible(a, b)),
            (a, _) => return Err(Error::failed(format!("non-comparable type {}", a.type_name()))),
        };
        if same {
            return Ok(true);
        }
    }
    Ok(false)
}

fn less(a: &Item, b: &Item) -> Result<bool, Error> {
    match (a, b) {
        (Item::Int(a), Item::Int(b)) => Ok(a < b),
        (Item::Float(a), Item::Float(b)) => Ok(a < b),
        (Item::Text(a) | Item::Number(a), Item::Text(b) | Item::Number(b)) => Ok(a < b),
        (a, b) if kind(a) == 0 || kind(b) == 0 || kind(a) == kind(b) => {
            Err(Error::failed("invalid type for comparison"))
        }
        (a, b) => Err(incompatible(a, b)),
    }
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c if c < ' ' || !(c.is_ascii() || is_printable(c)) => {
                out.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

fn url_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    query_escape(&mut out, text);
    out
}

//! HCL 2: arguments are members, and blocks are arrays of their bodies below their type and labels, as
//! hcl2json has them. Nothing is evaluated: what isn't a literal is its source, `${var.x}`.

mod expression;
mod here_document;
mod source;
mod template;

use hcl_edit::Span as _;
use hcl_edit::parser::parse_body;
use hcl_edit::structure::{Block, Body};
use rego::Value;
use rego::value::Object;

use super::lines::no_lone_return;
use super::problem::{Problem, add};
use source::Source;

/// The most `=` and `:` of a text: the parser compares each key of an object with all before it.
const MAX_KEYS: usize = 20_000;

/// The most labels of a block.
const MAX_LABELS: usize = 64;

/// The stack of the parser, which allows 64 levels; a debug build needs most of it.
const STACK: usize = 16 << 20;

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    if text.bytes().filter(|byte| matches!(byte, b'=' | b':')).count() > MAX_KEYS {
        return Err(Problem::on(1, format!("the text has more than {MAX_KEYS} keys")));
    }
    no_lone_return(text)?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("hcl".to_owned()).stack_size(STACK);
        let read = thread.spawn_scoped(scope, || body(text)).ok().and_then(|own| own.join().ok());
        read.unwrap_or_else(|| Err(Problem::on(1, "the text can't be parsed")))
    })
}

fn body(text: &str) -> Result<Value, Problem> {
    let body = parse_body(text).map_err(|error| {
        let at = error.location();
        Problem {
            message: format!("invalid HCL: {}", error.message()),
            line: at.line(),
            column: at.column(),
        }
    })?;
    here_document::check(text, &body)?;
    object(&Source(text), &body).map(Value::from)
}

fn object(source: &Source<'_>, body: &Body) -> Result<Object, Problem> {
    let mut out = Object::new();
    for block in body.blocks() {
        put(source, block, &mut out)?;
    }
    for argument in body.attributes() {
        let wrong = |message| source.wrong(argument.key.span(), message);
        let value = expression::value(source, &argument.value).map_err(wrong)?;
        add(&mut out, argument.key.as_str(), value).map_err(wrong)?;
    }
    Ok(out)
}

/// Adds a block to those of its type and labels.
fn put(source: &Source<'_>, block: &Block, out: &mut Object) -> Result<(), Problem> {
    let wrong = || {
        let message =
            format!("blocks of the type `{}` differ in their labels", block.ident.as_str());
        source.wrong(block.ident.span(), message)
    };
    if block.labels.len() > MAX_LABELS {
        let message = format!("a block has more than {MAX_LABELS} labels");
        return Err(source.wrong(block.ident.span(), message));
    }
    let labels = block.labels.iter().map(hcl_edit::structure::BlockLabel::as_str);
    let mut at = out;
    let mut last = block.ident.as_str();
    for label in labels {
        let inner = at.get_or_insert_with(Value::from(last), Value::new_object);
        at = inner.as_object_mut().ok_or_else(wrong)?;
        last = label;
    }
    let body = Value::from(object(source, &block.body)?);
    let all = at.get_or_insert_with(Value::from(last), Value::new_array);
    all.as_array_mut().ok_or_else(wrong)?.push(body);
    Ok(())
}

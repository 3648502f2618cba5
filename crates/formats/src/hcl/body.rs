//! Files and blocks: arguments and blocks, each on lines of its own.

use rego::Value;
use rego::value::Object;

use super::expression::{expression, template};
use super::scanner::Scanner;
use super::value;
use crate::problem::{Problem, add};

/// The maximum number of labels of a block.
const MAX_LABELS: usize = 64;

/// Reads a whole text.
pub(super) fn file(scanner: &mut Scanner<'_>) -> Result<Object, Problem> {
    let mut out = Object::new();
    while !is_over(scanner)? {
        if !scanner.newline()? {
            item(scanner, &mut out)?;
        }
    }
    Ok(out)
}

fn is_over(scanner: &mut Scanner<'_>) -> Result<bool, Problem> {
    scanner.skip()?;
    Ok(scanner.rest().is_empty())
}

/// Reads the rest of a block of several lines.
fn block(scanner: &mut Scanner<'_>) -> Result<Object, Problem> {
    let mut out = Object::new();
    while !scanner.eat("}", &[])? {
        if !scanner.newline()? {
            item(scanner, &mut out)?;
        }
    }
    Ok(out)
}

/// Reads an argument or a block, and the end of its line.
fn item(scanner: &mut Scanner<'_>, out: &mut Object) -> Result<(), Problem> {
    let start = scanner.skip()?;
    let name = scanner.name()?.ok_or_else(|| scanner.expected("an argument or a block"))?;
    if scanner.eat("=", &["==", "=>"])? {
        argument(scanner, (start, name), out)?;
    } else {
        labeled(scanner, (start, name), out)?;
    }
    if scanner.newline()? || is_over(scanner)? {
        return Ok(());
    }
    Err(scanner.expected("the end of the line"))
}

fn argument(
    scanner: &mut Scanner<'_>,
    (start, name): (usize, &str),
    out: &mut Object,
) -> Result<(), Problem> {
    let own = expression(scanner)?;
    let invalid = |message| Problem::at(scanner.text, start, message);
    let own = value::of(scanner, &own).map_err(invalid)?;
    add(out, name, own).map_err(invalid)
}

/// Reads the labels and the body of a block, and adds it to those of its type and labels.
fn labeled(
    scanner: &mut Scanner<'_>,
    (start, name): (usize, &str),
    out: &mut Object,
) -> Result<(), Problem> {
    let mut labels = Vec::new();
    while !scanner.eat("{", &[])? {
        let label = match scanner.name()? {
            Some(name) => name.to_owned(),
            None if scanner.eat("\"", &[])? => template::label(scanner)?,
            None => return Err(scanner.expected("`=`, a label or `{`")),
        };
        labels.push(label);
        if labels.len() > MAX_LABELS {
            let message = format!("too many labels of a block: the limit is {MAX_LABELS}");
            return Err(Problem::at(scanner.text, start, message));
        }
    }
    let body = scanner.nested(|scanner| {
        if scanner.newline()? {
            return block(scanner);
        }
        let mut body = Object::new();
        let start = scanner.skip()?;
        if let Some(name) = scanner.name()? {
            scanner.expect("=", &["==", "=>"])?;
            argument(scanner, (start, name), &mut body)?;
        }
        scanner.expect("}", &[])?;
        Ok(body)
    })?;
    let invalid = || {
        let message = format!("inconsistent labels of blocks of the type `{name}`");
        Problem::at(scanner.text, start, message)
    };
    let (mut at, mut last) = (out, name);
    for label in &labels {
        let inner = at.get_or_insert_with(Value::from(last), Value::new_object);
        at = inner.as_object_mut().ok_or_else(invalid)?;
        last = label;
    }
    let all = at.get_or_insert_with(Value::from(last), Value::new_array);
    all.as_array_mut().ok_or_else(invalid)?.push(Value::from(body));
    Ok(())
}

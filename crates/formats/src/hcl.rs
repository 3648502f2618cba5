//! HCL 2: arguments are members, and blocks are arrays of their bodies below their type and labels, as in
//! `hcl2json`. Nothing is evaluated: what isn't a literal is its source, `${var.x}`.
//!
//! The grammar is that of the reference parser, with which Terraform reads.

mod body;
mod expression;
mod scanner;
mod value;

use rego::Value;

use super::lines::no_lone_return;
use super::problem::Problem;
use scanner::Scanner;

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    no_lone_return(text)?;
    body::file(&mut Scanner::new(text)).map(Value::from)
}

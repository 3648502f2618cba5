//! Rego policies that ask a supply-chain compliance service, on the regorus interpreter.

#![forbid(unsafe_code)]

mod diagnostic;
mod error;
pub mod evaluate;
mod product;
pub mod text;

pub use diagnostic::{Diagnostic, Level, Position};
pub use error::{Error, ErrorKind};
pub use product::Product;

pub use regorus;

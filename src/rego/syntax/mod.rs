//! Text to tree and back: lexer, parser, tree, visitor, printer.

pub mod compare;
pub mod format;
mod lexer;
pub mod normalize;
pub mod parser;
pub mod print;
#[cfg(test)]
mod tests;
mod token;
pub mod tree;
pub mod visit;
pub mod words;

pub use format::{WriteOptions, format_module};
pub use parser::{BaseVersion, ParseOptions, parse_module, parse_query, parse_ref, parse_term};

/// The maximum depth of a tree, on which all code that walks one relies.
pub const MAX_DEPTH: usize = 500;

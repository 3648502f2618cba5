//! Text to tree and back: lexer, parser, tree, visitor, printer. The tree's types may change with any
//! version.

pub(crate) mod compare;
pub(crate) mod format;
mod lexer;
pub(crate) mod normalize;
pub(crate) mod parser;
pub(crate) mod print;
#[cfg(test)]
mod tests;
mod token;
pub mod tree;
pub mod visit;
pub(crate) mod walk;
pub(crate) mod words;

#[doc(hidden)]
pub use format::place;
pub(crate) use format::{WriteOptions, format_module};
pub use parser::{
    BaseVersion, ParseOptions, Unparsed, parse_commented_module, parse_module, parse_query,
    parse_term,
};

/// The maximum nesting of a text.
pub const MAX_DEPTH: usize = 500;

/// The maximum number of operators, or of `else` branches, in a row. It bounds the depth of a tree.
pub const MAX_CHAIN: usize = 10_000;

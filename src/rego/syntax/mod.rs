//! Text to tree and back: lexer, parser, tree, visitor, printer.

pub mod tree;
pub mod visit;

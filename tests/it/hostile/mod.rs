//! A hostile service: what a call ends with when everything lies, breaks or leaks.
//!
//! `matrix` is the table of what goes wrong, where, and how the call ends.

mod logs;
mod matrix;
pub mod script;
pub mod server;
mod shapes;
mod stage;
mod tls;

pub use stage::documented;

//! A hostile service: what a call ends with when everything lies, breaks or leaks.

mod matrix;
mod script;
mod server;
mod stage;

pub use stage::documented;

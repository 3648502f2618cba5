//! A hostile service: the end of a call when everything lies, breaks or leaks.
//!
//! `matrix` is the table of faults, the requests that they affect, and the end of the call.

mod authority;
mod benign;
mod changing;
mod errors;
mod frames;
mod grpc;
mod http2;
mod logs;
mod matrix;
mod panics;
pub mod script;
pub mod server;
mod shapes;
mod stage;
mod tls;

pub use stage::{builder, documented};

//! Parsers of configuration formats such as TOML, HCL and Dockerfiles into values for policies.
//!
//! A file's name determines its [`Format`], which reads the text. The values have the shapes that conftest
//! gives to policies. No file is read: a value depends on nothing but the text.

#![forbid(unsafe_code)]

mod dockerfile;
mod dotenv;
mod format;
mod hcl;
mod ini;
mod json5;
mod jsonc;
mod limits;
mod lines;
mod problem;
mod properties;
mod refused;
mod toml;
mod xml;

pub use format::Format;
pub use limits::MAX_BYTES;
pub use problem::Problem;
pub use refused::{refused_file, refused_name};

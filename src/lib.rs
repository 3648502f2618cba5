//! Rego policies that ask a supply-chain compliance service, on the regorus interpreter.

#![forbid(unsafe_code)]

pub mod builtins;
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod client;
mod diagnostic;
#[cfg(feature = "emulator")]
pub mod emulator;
mod error;
pub mod evaluate;
#[cfg(feature = "cli")]
pub mod gate;
mod platform;
mod product;
mod register;
#[cfg(feature = "cli")]
mod report;
pub mod text;

pub use client::{Api, Token, TokenFuture, TokenKind, TokenProvider};
pub use diagnostic::{Diagnostic, Level, Position};
pub use error::{Error, ErrorKind};
pub use platform::{Infoz, NotFound, Platform, PlatformBuilder};
pub use product::Product;
pub use register::Registration;

pub use regorus;

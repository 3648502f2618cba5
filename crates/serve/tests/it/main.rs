//! Tests of a server over sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod access;
mod bounds;
mod conformance;
mod decision_log;
mod failures;
mod gate;
mod interface;
mod reload;
mod support;
mod upload;
mod webhooks;

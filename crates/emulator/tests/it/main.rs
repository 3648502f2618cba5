//! The emulator over real HTTP: routes, refusals, faults, and data sets that are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod agents;
mod approve;
mod auth;
mod complete;
mod dataset;
mod discover;
mod download;
mod faults;
mod grpc;
mod lists;
mod product_compliance;
mod resources;
mod specification;
mod support;

use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use serde_json::Value;
use support::*;

//! The documented operations: resources, the typed client, and read functions.

mod approve;
mod client;
mod functions;
mod hostile;
mod pages;
mod resources;
mod samples;

/// Ids of the shipped data: products, their versions, a framework.
pub const BACK_OFFICE: &str = "277e9d62-3274-5f43-8d8d-44c31d8658a1";
pub const TRIAL: &str = "f1991c66-c33a-59b5-a22e-36db637ebfba";
pub const FIRST_RELEASE: &str = "284cf269-ba73-515d-888a-f1e94e3fd0a4";
pub const PRODUCT_SECURITY: &str = "05bb449f-aba1-5eee-918b-786ed8b8839a";

//! The settings of this library that failures and findings refer to.

pub use rego_platform_client::setting::{
    ALLOWED_HOSTS, BACKEND, CERTIFICATE_AUTHORITIES, CONTENT_STORE, CONTROL_PLANE, ORGANIZATION,
    PLAIN_HTTP, Setting, TOKEN,
};

rego_platform_client::settings! {
    /// A function that is off by default, [`FunctionSet::with`](crate::functions::FunctionSet::with); it is
    /// [`item`](Setting::item)
    FUNCTION = "function",
    /// The version of Rego, [`LoadOptions::rego_v0`](crate::load::LoadOptions::rego_v0)
    REGO_V0 = "rego-v0",
    /// The files of a bundle that are left out
    IGNORED_IN_BUNDLES = "ignored-in-bundles",
    /// Reading a bundle as data, which other data merges with
    MERGED_BUNDLES = "merged-bundles",
    /// Loading signed bundles unchecked
    SIGNED_BUNDLES = "signed-bundles",
}

//! Settings named by failures and findings.
//!
//! Owns their form, and the settings of calls. Each layer above names its own: an error refers to a
//! setting, and the host words how to change it.

/// A host's setting that would have prevented a failure or a finding. The host words the advice; the
/// command names its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting {
    name: &'static str,
    of: &'static str,
}

impl Setting {
    /// Creates a setting. Each layer has its settings as constants.
    pub const fn new(name: &'static str) -> Self {
        Self { name, of: "" }
    }

    /// Returns this setting for one of several items, such as the function `products`.
    #[must_use]
    pub const fn of(self, of: &'static str) -> Self {
        Self { of, ..self }
    }

    /// The stable name, such as `base-url`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The item that the setting belongs to, if there are several.
    pub const fn item(self) -> Option<&'static str> {
        if self.of.is_empty() { None } else { Some(self.of) }
    }
}

/// Defines a layer's settings, and the list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub const $name: $crate::setting::Setting =
            $crate::setting::Setting::new($text);)*

        /// Every setting of this layer.
        pub const ALL: &[$crate::setting::Setting] = &[$($name),*];
    };
}

settings! {
    /// The token, `PlatformBuilder::token`
    TOKEN = "token",
    /// The organization of a user token, `PlatformBuilder::organization`
    ORGANIZATION = "organization",
    /// The control plane's address, `PlatformBuilder::controlplane_url`
    CONTROL_PLANE = "controlplane-url",
    /// The platform backend's address, `PlatformBuilder::base_url`
    BACKEND = "base-url",
    /// The content store's gRPC address, `PlatformBuilder::store_address`
    CONTENT_STORE = "store-address",
    /// Plain HTTP, `PlatformBuilder::insecure`
    PLAIN_HTTP = "insecure",
    /// Certificate authorities besides the machine's, `PlatformBuilder::ca_certificate`
    CERTIFICATE_AUTHORITIES = "ca-certificate",
    /// The hosts that `http.send` may contact, `http::AllowedHosts`
    ALLOWED_HOSTS = "allowed-hosts",
}

//! The server's settings that failures refer to.

rego_platform_client::settings! {
    /// Listening on addresses that other machines reach, [`Access::expose`](crate::Access::expose)
    EXPOSED = "exposed",
    /// The clients that may ask, [`Access::tokens`](crate::Access::tokens) or [`Access::tls`](crate::Access::tls)
    CLIENTS = "clients",
}

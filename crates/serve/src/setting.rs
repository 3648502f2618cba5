//! The server's settings that failures refer to.

rego_platform_client::settings! {
    /// Listening on addresses that other machines reach, [`Access::expose`](crate::Access::expose)
    EXPOSED = "exposed",
    /// The accepted clients, [`Access::tokens`](crate::Access::tokens), [`Access::tls`](crate::Access::tls) or
    /// [`Access::webhook_secret`](crate::Access::webhook_secret)
    CLIENTS = "clients",
}

//! The settings of remote sources that failures refer to.

rego_platform_client::settings! {
    /// The digest that the lock has for a source
    LOCK = "lock",
    /// Who has to sign a source
    SIGNER = "signer",
    /// The hosts that may be asked besides a registry, [`RemoteBuilder::allow_host`](crate::RemoteBuilder::allow_host)
    OTHER_HOSTS = "other-hosts",
}

//! Settings of remote sources that failures refer to.

rego_platform_client::settings! {
    /// The digest of a source in the lock file
    LOCK = "lock",
    /// The required signer of a source
    SIGNER = "signer",
    /// The allowed hosts besides a registry, [`RemoteBuilder::allow_host`](crate::RemoteBuilder::allow_host)
    OTHER_HOSTS = "other-hosts",
}

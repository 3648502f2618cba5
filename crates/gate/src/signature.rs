//! Signatures of attestations: whether they are checked, and with what.

#[cfg(feature = "signatures")]
mod keys;

#[cfg(feature = "signatures")]
pub use keys::VerifyKeys;

/// How the signatures of attestations are checked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Signatures {
    /// They aren't: an attestation may come from anyone, and reports say so.
    Unverified,
    /// Each attestation is signed by as many of these keys as have to.
    #[cfg(feature = "signatures")]
    Keys(VerifyKeys),
}

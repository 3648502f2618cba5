//! Provenance: signatures of inputs, shards, and the options that had an effect.

pub(crate) mod inventory;
mod shard;
mod signature;

pub use shard::Shard;
#[cfg(feature = "keyless")]
pub(crate) use signature::MAX_SIGNATURES;
#[cfg(feature = "keyless")]
pub use signature::{Identities, TrustRoot};
pub use signature::{LayerSignature, Signatures};
pub(crate) use signature::{PAYLOAD_TYPE, decode, first_success};
#[cfg(feature = "signatures")]
pub use signature::{SignKey, VerifyKeys};
#[cfg(feature = "signatures")]
pub(crate) use signature::{SignatureForm, Signed};

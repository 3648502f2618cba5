//! Remote policies: files in a registry (`oci://`), bundles at a web server (`https://`), folders of git
//! repositories (`git+https://`). And what a registry has about an [`Image`], and comments on pull requests.
//!
//! A [`Remote`] fetches what an [`Address`] names, within a time and [`Limits`], and holds it against the
//! digest that pins it; a [`Lock`] has these digests in a file that people review. It knows nothing of
//! Rego, and checks no signature: what it returns are files, archives and blobs. It has the credentials of registries, from Docker's
//! configuration, and no others but the token that a comment is given.

#![forbid(unsafe_code)]

mod address;
mod artifact;
mod challenge;
mod comment;
mod credentials;
mod digest;
mod git;
mod image;
mod layout;
mod link;
mod lock;
mod registry;
mod remote;
pub mod setting;
mod store;
mod transport;

pub use address::{Address, Archive, Reference, Repository};
pub use artifact::{Content, File, Limits};
pub use comment::{Published, Thread};
pub use digest::Digest;
pub use image::{Attached, Image, ImageQuery, LayerSignature, PlatformImage, platform};
pub use layout::LayoutReference;
pub use lock::{Lock, Pin, Signer};
pub use remote::{Fetched, Remote, RemoteBuilder};
pub use store::ImageReference;

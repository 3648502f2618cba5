//! Addresses of artifact stores, and the store of each scheme.
//!
//! Owns that an address has no secret, which would be shown with it.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

#[cfg(any(
    feature = "artifact-store-azure",
    feature = "artifact-store-gcs",
    feature = "artifact-store-s3"
))]
use super::cloud;
use crate::Error;
use crate::text::escape;

const FORMS: &str =
    "write `file:///folder`, `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`";

fn invalid_address(message: String) -> Error {
    Error::configuration(message).with_hint(FORMS)
}

/// Parses an address.
pub(super) fn parse(text: &str) -> Result<Url, Error> {
    // It isn't repeated: it may contain a password.
    let url = Url::parse(text).map_err(|_| {
        invalid_address("invalid address of the artifact store: expected a URL".to_owned())
    })?;
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.port().is_none();
    if !is_bare {
        let message = "invalid address of the artifact store: expected only a bucket and a path";
        return Err(Error::configuration(message)
            .with_hint("set credentials and options in the environment"));
    }
    // What is relative to nothing would be taken from the root.
    let is_absolute = text.split_once(':').is_some_and(|(_, path)| path.starts_with('/'));
    let has_place = match url.scheme() {
        "file" => is_absolute && !url.has_host() && url.path() != "/",
        "s3" | "gs" | "az" => url.has_host(),
        _ => false,
    };
    if has_place {
        return Ok(url);
    }
    Err(invalid_address(format!("invalid address of an artifact store: `{}`", escape(text))))
}

/// Returns the store of an address, and the path within it.
#[cfg_attr(
    not(any(
        feature = "artifact-store-azure",
        feature = "artifact-store-gcs",
        feature = "artifact-store-s3"
    )),
    allow(unused_variables)
)]
pub(super) fn open(
    address: &Url,
    certificates: &[Vec<u8>],
    insecure: bool,
) -> Result<(Arc<dyn ObjectStore>, Path), Error> {
    let path = Path::from_url_path(address.path()).map_err(|error| {
        invalid_address(format!("invalid path in the address: `{}`", escape(address.as_str())))
            .with_source(error.to_string())
    })?;
    let objects: Arc<dyn ObjectStore> = match address.scheme() {
        "file" => Arc::new(LocalFileSystem::new()),
        #[cfg(feature = "artifact-store-s3")]
        "s3" => cloud::s3(address, cloud::Connector::new(certificates, insecure)?)?,
        #[cfg(feature = "artifact-store-gcs")]
        "gs" => cloud::gcs(address, cloud::Connector::new(certificates, insecure)?)?,
        #[cfg(feature = "artifact-store-azure")]
        "az" => cloud::azure(address, cloud::Connector::new(certificates, insecure)?)?,
        scheme => {
            let message = format!("unsupported artifact store in this build: `{scheme}:`");
            return Err(Error::configuration(message)
                .with_hint("enable the crate's feature for this kind of store"));
        }
    };
    Ok((objects, path))
}

/// Returns `true` for an error of a connection of this machine's.
#[cfg(any(
    feature = "artifact-store-azure",
    feature = "artifact-store-gcs",
    feature = "artifact-store-s3"
))]
pub(super) fn is_of_connection(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<object_store::client::HttpError>()
}

/// Returns `true` for an error of a connection of this machine's.
#[cfg(not(any(
    feature = "artifact-store-azure",
    feature = "artifact-store-gcs",
    feature = "artifact-store-s3"
)))]
pub(super) fn is_of_connection(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}

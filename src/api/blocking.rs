//! The typed client, blocking.
//!
//! Owns how a blocking caller waits; the requests themselves are in `operations`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::sender;
use super::operations::{self, Pages};
use super::{
    AssessmentRevision, Environment, EnvironmentFilters, FrameworkCompliance, Infoz,
    ProductComplianceFilters, ProductResource, ProductVersion, Project, ProjectFilters,
};
use crate::client::Api;
use crate::functions::{environments, product_compliance, products, projects};
use crate::{Error, Platform};

/// The documented operations of the service, blocking; see [`ApiClient`](super::ApiClient), which
/// has the same methods.
///
/// Works on any thread. Called inside an async runtime, it blocks the thread that called it.
///
/// ```no_run
/// # fn products() -> Result<(), Box<dyn std::error::Error>> {
/// let platform = rego_platform::Platform::from_context()?;
/// for product in platform.api().blocking().products() {
///     println!("{}", product?.name.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BlockingApiClient {
    platform: Platform,
}

impl BlockingApiClient {
    pub(super) const fn new(platform: Platform) -> Self {
        Self { platform }
    }

    /// One version of a product, with its projects and frameworks (interface 4.1).
    ///
    /// # Errors
    /// As [`ApiClient::product_version`](super::ApiClient::product_version).
    pub fn product_version(
        &self,
        product_id: &str,
        version_id: &str,
    ) -> Result<ProductVersion, Error> {
        let (product_id, version_id) = (product_id.to_owned(), version_id.to_owned());
        let sender = sender(&self.platform);
        self.platform.run(operations::product_version(sender, product_id, version_id))
    }

    /// The organization's products (interface 4.2).
    ///
    /// Pages are requested as they are needed. The iterator ends after its first error.
    pub fn products(&self) -> impl Iterator<Item = Result<ProductResource, Error>> + Send + use<> {
        let everything = crate::rego::Value::new_object();
        self.rows(Pages::new(&products::LISTING, &everything))
    }

    /// The projects that match `filters` (interface 4.3); as [`products`](Self::products).
    ///
    /// An empty filter value is [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn projects(
        &self,
        filters: &ProjectFilters,
    ) -> impl Iterator<Item = Result<Project, Error>> + Send + use<> {
        self.rows(Pages::new(&projects::LISTING, &filters.argument()))
    }

    /// The environments that match `filters` (interface 4.4); as [`products`](Self::products).
    ///
    /// An empty filter value is [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn environments(
        &self,
        filters: &EnvironmentFilters,
    ) -> impl Iterator<Item = Result<Environment, Error>> + Send + use<> {
        self.rows(Pages::new(&environments::LISTING, &filters.argument()))
    }

    /// Approves a pending revision of an assessment, with a note (interface 4.5). Never retried
    /// once the request may have arrived.
    ///
    /// # Errors
    /// As [`ApiClient::approve`](super::ApiClient::approve).
    pub fn approve(
        &self,
        revision_id: &str,
        review_note: Option<&str>,
    ) -> Result<AssessmentRevision, Error> {
        let (id, note) = (revision_id.to_owned(), review_note.map(str::to_owned));
        self.platform.run(operations::approve(sender(&self.platform), id, note))
    }

    /// The compliance of a product's version with its frameworks, over all its projects (interface
    /// 4.6).
    ///
    /// # Errors
    /// As [`ApiClient::product_compliance`](super::ApiClient::product_compliance).
    pub fn product_compliance(
        &self,
        filters: &ProductComplianceFilters,
    ) -> Result<Vec<FrameworkCompliance>, Error> {
        let pages = Pages::new(&product_compliance::LISTING, &filters.argument())?;
        self.platform.run(pages.all(sender(&self.platform)))
    }

    /// The control plane's description of itself (interface 1.6); needs no token.
    ///
    /// # Errors
    /// As [`ApiClient::infoz`](super::ApiClient::infoz).
    pub fn infoz(&self) -> Result<Infoz, Error> {
        self.platform.run(operations::infoz(sender(&self.platform)))
    }

    /// The specification that one of the two APIs publishes, unchanged (interface 1.5); needs no
    /// token.
    ///
    /// # Errors
    /// As [`ApiClient::openapi`](super::ApiClient::openapi).
    pub fn openapi(&self, api: Api) -> Result<String, Error> {
        self.platform.run(operations::openapi(sender(&self.platform), api))
    }

    fn rows<T>(
        &self,
        pages: Result<Pages<T>, Error>,
    ) -> impl Iterator<Item = Result<T, Error>> + Send + use<T>
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let platform = self.platform.clone();
        let mut left = Some(pages);
        let mut ready = Vec::new().into_iter();
        std::iter::from_fn(move || {
            loop {
                if let Some(row) = ready.next() {
                    return Some(Ok(row));
                }
                let page = left.take()?;
                match page.and_then(|pages| platform.run(pages.next(sender(&platform)))) {
                    Err(error) => return Some(Err(error)),
                    Ok(None) => return None,
                    Ok(Some((rows, pages))) => {
                        ready = rows.into_iter();
                        left = Some(Ok(pages));
                    }
                }
            }
        })
    }
}

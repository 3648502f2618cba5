//! The typed client, async.
//!
//! Owns the methods that a host calls and where they run; the requests themselves are in
//! `operations`.

use futures_util::stream::{self, Stream, TryStreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::operations::{self, Pages, Sender};
use super::{
    AssessmentRevision, BlockingApiClient, Environment, EnvironmentFilters, FrameworkCompliance,
    Infoz, ProductComplianceFilters, ProductResource, ProductVersion, Project, ProjectFilters,
};
use crate::client::Api;
use crate::functions::{environments, product_compliance, products, projects};
use crate::{Error, Platform};

/// The documented operations of the service, async; cheap to clone.
///
/// Works in any async runtime: requests are sent from the platform's own thread. Each request, and
/// each page of a list, may take [`call_timeout`](crate::PlatformBuilder::call_timeout). Calls that
/// only read are retried on broken connections, 408, 429 and 5xx. Errors have the
/// [`kind`](Error::kind) of their status (interface 7), as the errors of functions do; an answer
/// without its envelope is [`ErrorKind::Protocol`](crate::ErrorKind::Protocol), never an empty
/// list.
///
/// ```no_run
/// use futures_util::TryStreamExt;
/// use rego_platform::api::ProjectFilters;
///
/// # async fn projects() -> Result<(), Box<dyn std::error::Error>> {
/// let platform = rego_platform::Platform::from_context()?;
/// let filters = ProjectFilters::new().product_id("0d1f1a52-…");
/// let mut projects = std::pin::pin!(platform.api().projects(&filters));
/// while let Some(project) = projects.try_next().await? {
///     println!("{}", project.name.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ApiClient {
    platform: Platform,
}

impl ApiClient {
    pub(crate) fn new(platform: Platform) -> Self {
        Self { platform }
    }

    /// Returns the same operations for blocking code.
    pub fn blocking(&self) -> BlockingApiClient {
        BlockingApiClient::new(self.platform.clone())
    }

    /// One version of a product, with its projects and frameworks (interface 4.1).
    ///
    /// # Errors
    /// [`Protocol`](crate::ErrorKind::Protocol) when the product has no such version (a wrong
    /// address looks the same), or when the answer is about another version.
    pub async fn product_version(
        &self,
        product_id: &str,
        version_id: &str,
    ) -> Result<ProductVersion, Error> {
        let (product_id, version_id) = (product_id.to_owned(), version_id.to_owned());
        let sender = sender(&self.platform);
        self.platform.run_async(operations::product_version(sender, product_id, version_id)).await
    }

    /// The organization's products (interface 4.2).
    ///
    /// Pages are requested as they are needed. The stream ends after its first error.
    pub fn products(&self) -> impl Stream<Item = Result<ProductResource, Error>> + Send + use<> {
        let everything = crate::rego::Value::new_object();
        self.stream(Pages::new(&products::LISTING, &everything))
    }

    /// The projects that match `filters` (interface 4.3); as [`products`](Self::products).
    ///
    /// An empty filter value is [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn projects(
        &self,
        filters: &ProjectFilters,
    ) -> impl Stream<Item = Result<Project, Error>> + Send + use<> {
        self.stream(Pages::new(&projects::LISTING, &filters.argument()))
    }

    /// The environments that match `filters` (interface 4.4); as [`products`](Self::products).
    ///
    /// An empty filter value is [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn environments(
        &self,
        filters: &EnvironmentFilters,
    ) -> impl Stream<Item = Result<Environment, Error>> + Send + use<> {
        self.stream(Pages::new(&environments::LISTING, &filters.argument()))
    }

    /// Approves a pending revision of an assessment, with a note (interface 4.5).
    ///
    /// Never retried once the request may have arrived, and not cancelled when the future is
    /// dropped.
    ///
    /// # Errors
    /// After [`Unavailable`](crate::ErrorKind::Unavailable),
    /// [`TimedOut`](crate::ErrorKind::TimedOut) or [`Protocol`](crate::ErrorKind::Protocol) the
    /// revision may still have been approved.
    pub async fn approve(
        &self,
        revision_id: &str,
        review_note: Option<&str>,
    ) -> Result<AssessmentRevision, Error> {
        let (id, note) = (revision_id.to_owned(), review_note.map(str::to_owned));
        self.platform.run_async(operations::approve(sender(&self.platform), id, note)).await
    }

    /// The compliance of a product's version with its frameworks, over all its projects (interface
    /// 4.6). The service leaves out requirements that are not applicable.
    /// # Errors
    /// [`Protocol`](crate::ErrorKind::Protocol) when there is no such version (a wrong address
    /// looks the same); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an empty filter
    /// value.
    pub async fn product_compliance(
        &self,
        filters: &ProductComplianceFilters,
    ) -> Result<Vec<FrameworkCompliance>, Error> {
        let pages = Pages::new(&product_compliance::LISTING, &filters.argument())?;
        self.platform.run_async(pages.all(sender(&self.platform))).await
    }

    /// The control plane's description of itself (interface 1.6); needs no token.
    ///
    /// # Errors
    /// When the control plane can't be reached or answers with something else.
    pub async fn infoz(&self) -> Result<Infoz, Error> {
        self.platform.run_async(operations::infoz(sender(&self.platform))).await
    }

    /// The specification that one of the two APIs publishes, unchanged (interface 1.5); needs no
    /// token.
    ///
    /// # Errors
    /// [`Protocol`](crate::ErrorKind::Protocol) when the answer isn't a specification.
    pub async fn openapi(&self, api: Api) -> Result<String, Error> {
        self.platform.run_async(operations::openapi(sender(&self.platform), api)).await
    }

    fn stream<T>(
        &self,
        pages: Result<Pages<T>, Error>,
    ) -> impl Stream<Item = Result<T, Error>> + Send + use<T>
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let platform = self.platform.clone();
        stream::try_unfold(pages, move |pages| {
            let platform = platform.clone();
            async move {
                let page = platform.run_async(pages?.next(sender(&platform))).await?;
                Ok(page.map(|(rows, left)| (rows, Ok(left))))
            }
        })
        .map_ok(|rows| stream::iter(rows.into_iter().map(Ok)))
        .try_flatten()
    }
}

impl Platform {
    /// Returns the documented operations as a typed client: products, projects, environments,
    /// assessments, product compliance, the control plane's information, the specifications
    /// (interface 1.5, 1.6, 4.1 to 4.6).
    pub fn api(&self) -> ApiClient {
        ApiClient::new(self.clone())
    }

    /// The control plane's public information; needs no token. Blocks, as
    /// [`BlockingApiClient::infoz`](crate::api::BlockingApiClient::infoz) does.
    ///
    /// # Errors
    /// When the control plane can't be reached or answers with something else.
    pub fn infoz(&self) -> Result<Infoz, Error> {
        self.api().blocking().infoz()
    }
}

/// Returns the client and the deadline of a request that starts now.
pub(super) fn sender(platform: &Platform) -> Sender {
    Sender { client: platform.client().clone(), deadline: platform.call_deadline() }
}

//! Artifact stores in clouds. Credentials come from the environment, and connections follow this crate's
//! rules.

use std::pin::Pin;
use std::sync::Arc;

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::PATIENCE;
use crate::Error;
use crate::http::connection::outside_client;
use crate::http::origin::is_exposed;

/// A factory of connections to a store.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    client: reqwest::Client,
    insecure: bool,
}

impl Connector {
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Result<Self, Error> {
        Ok(Self { client: outside_client(certificates)?, insecure })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // What the store's builder allows itself are the addresses of a machine's own credentials.
        let allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let plain_http = allowed.is_some_and(|allowed| allowed == "true");
        Ok(HttpClient::new(Connection { client: self.client.clone(), plain_http }))
    }
}

#[derive(Debug)]
struct Connection {
    client: reqwest::Client,
    plain_http: bool,
}

/// The error of a request over plain HTTP.
#[derive(Debug, thiserror::Error)]
#[error("it would be asked over plain HTTP, which isn't allowed")]
struct PlainHttp;

impl HttpService for Connection {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let address = Url::parse(&request.uri().to_string());
            if !self.plain_http && !address.is_ok_and(|address| !is_exposed(&address)) {
                return Err(HttpError::new(HttpErrorKind::Unknown, PlainHttp));
            }
            self.client.call(request).await
        })
    }
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: 2, retry_timeout: PATIENCE, ..RetryConfig::default() }
}

fn built<T: ObjectStore>(built: object_store::Result<T>) -> Result<Arc<dyn ObjectStore>, Error> {
    let store = built.map_err(|error| {
        Error::configuration("can't use the artifact store")
            .with_source(error.to_string())
            .with_hint("check the store's credentials and options in the environment")
    })?;
    Ok(Arc::new(store))
}

/// Returns the store in a bucket of S3.
#[cfg(feature = "artifact-store-s3")]
pub(super) fn s3(address: &Url, connector: Connector) -> Result<Arc<dyn ObjectStore>, Error> {
    let builder = object_store::aws::AmazonS3Builder::from_env()
        .with_url(address.as_str())
        .with_allow_http(connector.insecure)
        .with_retry(retry());
    built(builder.with_http_connector(connector).build())
}

/// Returns the store in a bucket of Google's.
#[cfg(feature = "artifact-store-gcs")]
pub(super) fn gcs(address: &Url, connector: Connector) -> Result<Arc<dyn ObjectStore>, Error> {
    let options = ClientOptions::new().with_allow_http(connector.insecure);
    let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env()
        .with_url(address.as_str())
        .with_client_options(options)
        .with_retry(retry());
    built(builder.with_http_connector(connector).build())
}

/// Returns the store in a container of Azure's.
#[cfg(feature = "artifact-store-azure")]
pub(super) fn azure(address: &Url, connector: Connector) -> Result<Arc<dyn ObjectStore>, Error> {
    let builder = object_store::azure::MicrosoftAzureBuilder::from_env()
        .with_url(address.as_str())
        .with_allow_http(connector.insecure)
        .with_retry(retry());
    built(builder.with_http_connector(connector).build())
}

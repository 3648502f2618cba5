//! The compliance service that policies ask.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rego_platform::{Error, Platform, PlatformBuilder, Token};

use crate::convert;
use crate::error::raised;
use crate::running::{self, Finish, Operation};

/// The service, with the account that asks it.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Service {
    pub platform: Platform,
}

impl Service {
    fn operation(&self, name: String, arguments: &Bound<'_, PyTuple>) -> PyResult<Operation> {
        let arguments =
            arguments.iter().map(|own| convert::value(&own)).collect::<PyResult<Vec<_>>>()?;
        let platform = self.platform.clone();
        Ok(Box::pin(async move {
            let response = platform.call_async(&name, &arguments).await;
            Box::new(move |py: Python<'_>| {
                convert::object(py, &response.map_err(|error| raised(py, &error))?)
            }) as Finish
        }))
    }

    fn built(
        py: Python<'_>,
        product: Option<&str>,
        set: impl FnOnce(PlatformBuilder) -> Result<PlatformBuilder, Error>,
    ) -> PyResult<Self> {
        let mut builder = Platform::builder();
        if let Some(product) = product {
            builder = builder.product(product);
        }
        let built = set(builder).and_then(PlatformBuilder::build);
        built.map(|platform| Self { platform }).map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl Service {
    #[new]
    #[pyo3(signature = (*, token, controlplane_url=None, base_url=None, organization=None,
                        product="platform", ca_certificate=None))]
    fn new(
        py: Python<'_>,
        token: &str,
        controlplane_url: Option<String>,
        base_url: Option<String>,
        organization: Option<String>,
        product: &str,
        ca_certificate: Option<Vec<u8>>,
    ) -> PyResult<Self> {
        Self::built(py, Some(product), |mut builder| {
            builder = builder.token(Token::new(token)?);
            if let Some(url) = controlplane_url {
                builder = builder.controlplane_url(url);
            }
            if let Some(url) = base_url {
                builder = builder.base_url(url);
            }
            if let Some(name) = organization {
                builder = builder.organization(name);
            }
            if let Some(pem) = ca_certificate {
                builder = builder.ca_certificate(pem);
            }
            Ok(builder)
        })
    }

    /// Reads the token and the addresses from the environment.
    #[staticmethod]
    #[pyo3(signature = (*, product=None))]
    fn from_env(py: Python<'_>, product: Option<&str>) -> PyResult<Self> {
        Self::built(py, product, PlatformBuilder::from_env)
    }

    /// Reads the environment, and then the configuration file of the service's command-line client.
    #[staticmethod]
    #[pyo3(signature = (*, product=None))]
    fn from_context(py: Python<'_>, product: Option<&str>) -> PyResult<Self> {
        Self::built(py, product, PlatformBuilder::context)
    }

    /// Calls a function by its name without the product's.
    #[pyo3(signature = (name, *arguments))]
    fn call(
        &self,
        py: Python<'_>,
        name: String,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<Py<PyAny>> {
        running::run(py, self.operation(name, arguments)?, None)
    }

    /// Starts a call for an event loop.
    #[pyo3(signature = (wake, name, *arguments))]
    fn start_call(
        &self,
        py: Python<'_>,
        wake: Py<PyAny>,
        name: String,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<Py<PyAny>> {
        running::run(py, self.operation(name, arguments)?, Some(wake))
    }

    /// The values that are used, each with its name and where it comes from.
    fn origins(&self) -> Vec<(String, String, String)> {
        let origins = self.platform.origins().iter();
        origins.map(|own| (own.name.clone(), own.value.clone(), own.origin.to_string())).collect()
    }
}

//! The compliance service that policies ask.

use pyo3::prelude::*;
use rego_platform::{Platform, Product, Token};

use crate::error::raised;

/// The service, with the account that asks it.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Service {
    pub platform: Platform,
}

fn product(name: &str) -> Result<Product, rego_platform::Error> {
    Product::new(name)
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
        let build = || {
            let mut builder =
                Platform::builder().product(self::product(product)?).token(Token::new(token)?);
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
            builder.build()
        };
        build().map(|platform| Self { platform }).map_err(|error| raised(py, &error))
    }

    /// Reads the token and the addresses from the environment.
    #[staticmethod]
    #[pyo3(signature = (*, product="platform"))]
    fn from_env(py: Python<'_>, product: &str) -> PyResult<Self> {
        let build = || Platform::builder().product(self::product(product)?).from_env()?.build();
        build().map(|platform| Self { platform }).map_err(|error| raised(py, &error))
    }
}

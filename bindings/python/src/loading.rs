//! Sources of policies: files, texts, data and functions of the host.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rego_platform::evaluate::load::{self, LoadOptions};
use rego_platform::evaluate::sources::{
    DataSource, Fetched, Gathered, ModuleSource, ReadOptions, Sources,
};
use rego_platform::{Error, Platform, Product, Value, check};

use crate::convert;
use crate::error::{raised, serialized};
use crate::running::attached;

/// The name of data that is given as an object.
const DATA: &str = "the data";

/// A function of the host: its name, its number of arguments and what it calls.
#[derive(FromPyObject)]
pub(crate) struct HostFunction(String, u8, Py<PyAny>);

impl HostFunction {
    /// Returns the function for policies, which may call it on any thread.
    fn into_pure(self) -> load::HostFunction {
        let Self(name, arity, function) = self;
        load::HostFunction::pure(name, arity, move |arguments| {
            let called = attached(|py| {
                let arguments = arguments.iter().map(|value| convert::object(py, value));
                let arguments = PyTuple::new(py, arguments.collect::<PyResult<Vec<_>>>()?)?;
                convert::value(&function.bind(py).call1(arguments)?)
            });
            match called {
                Some(result) => result.map(Some).map_err(Error::host),
                None => Err(Error::cancelled("Python is shutting down")),
            }
        })
    }
}

/// Paths, texts by name, data and functions.
pub(crate) type Arguments<'py> =
    (Vec<String>, Vec<(String, String)>, Option<Bound<'py, PyAny>>, Vec<HostFunction>);

/// The sources of policies.
pub(crate) struct Given {
    paths: Vec<String>,
    texts: Vec<(String, String)>,
    data: Option<Value>,
    functions: Vec<load::HostFunction>,
}

impl Given {
    pub fn new((paths, texts, data, functions): Arguments<'_>) -> PyResult<Self> {
        let data = data.as_ref().map(convert::value).transpose()?;
        let functions = functions.into_iter().map(HostFunction::into_pure).collect();
        Ok(Self { paths, texts, data, functions })
    }

    /// Returns the options for loading, for a named product or else that of the service.
    pub fn options(
        &self,
        product: Option<&str>,
        platform: Option<&Platform>,
    ) -> Result<LoadOptions, Error> {
        let mut options = LoadOptions::default();
        options.product = match (product, platform) {
            (Some(name), _) => Product::new(name)?,
            (None, Some(platform)) => platform.product().clone(),
            (None, None) => Product::from_env()?,
        };
        options.host_functions.clone_from(&self.functions);
        Ok(options)
    }

    /// Returns the data as what a gate takes the digest of, since it is no file.
    pub fn content(&self) -> Vec<Fetched> {
        let json = self.data.iter().map(|data| (String::new(), data.to_json().into_bytes().into()));
        vec![Fetched::files(DATA, "", json)]
    }

    /// Reads the files, and adds the texts and the data.
    pub fn gather(self) -> Result<Gathered, Error> {
        let mut gathered = Sources::gather(&self.paths, ReadOptions::default())?;
        let texts = self.texts.into_iter().map(|(name, text)| ModuleSource::new(name, text));
        gathered.files.modules.extend(texts);
        gathered.files.data.extend(self.data.map(|data| DataSource::new(DATA, data)));
        Ok(gathered)
    }
}

/// Returns the findings about policies and tests.
#[pyfunction]
#[pyo3(signature = (given, *, product=None))]
pub(crate) fn check_policies(
    py: Python<'_>,
    given: Arguments<'_>,
    product: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let given = Given::new(given)?;
    let found = py.detach(|| {
        let options = given.options(product, None)?;
        Ok(check::check(&given.gather()?.sources()?, options))
    });
    serialized(py, &found.map_err(|error: Error| raised(py, &error))?)
}

//! Loading policies with a builder.
//!
//! Owns the builder of policies; the settings are explained at [`LoadOptions`].

use std::future::Future;
use std::sync::Arc;

use super::policies::Policies;
use crate::functions::FunctionSet;
use crate::load::HostFunction;
use crate::load::LoadOptions;
use crate::rego::Value;
use crate::sources::{SchemaSet, Sources};
use crate::{Error, Platform, Product};

/// A builder of [`Policies`], as an alternative to [`Policies::load`].
///
/// ```
/// use rego_platform::Value;
/// use rego_platform::evaluate::Policies;
/// use rego_platform::evaluate::sources::Sources;
///
/// let text = "package p\n\nteam := acme.team(input.path)\n";
/// let policies = Policies::builder()
///     .function("acme.team", 1, |arguments| {
///         let path = arguments.first().and_then(Value::as_str).unwrap_or_default();
///         Ok(path.split_once('/').map(|(team, _)| Value::from(team)))
///     })
///     .load(&Sources::text("p.rego", text))?;
/// # Ok::<(), rego_platform::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct PoliciesBuilder {
    options: LoadOptions,
}

impl PoliciesBuilder {
    /// Sets the product and the enabled functions to those of the platform that will answer.
    pub fn platform(mut self, platform: &Platform) -> Self {
        let LoadOptions { product, enabled, .. } = LoadOptions::of_platform(platform);
        (self.options.product, self.options.enabled) = (product, enabled);
        self
    }

    /// Sets the name that the functions of the service start with; `platform` by default.
    pub fn product(mut self, product: Product) -> Self {
        self.options.product = product;
        self
    }

    /// Sets the functions of the service that policies can call; the five by default.
    pub fn enabled(mut self, functions: FunctionSet) -> Self {
        self.options.enabled = functions;
        self
    }

    /// Adds a function of the host ([`HostFunction::pure`]). Its failure ends the evaluation, and stays the
    /// source of the evaluation's error.
    ///
    /// ```
    /// use std::error::Error as _;
    ///
    /// use rego_platform::evaluate::sources::Sources;
    /// use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
    /// use rego_platform::{Error, ErrorKind, Value};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policies = Policies::builder()
    ///     .function("acme.port", 1, |arguments| {
    ///         let text = arguments[0].as_str().unwrap_or_default();
    ///         let port: u16 = text.parse().map_err(Error::host)?;
    ///         Ok(Some(Value::from(u32::from(port))))
    ///     })
    ///     .load(&Sources::text("p.rego", "package p\n\nport := acme.port(\"web\")\n"))?;
    /// let query = policies.query("data.p.port")?;
    /// let options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    ///
    /// let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    /// assert_eq!((error.kind(), error.function()), (ErrorKind::Host, Some("acme.port")));
    /// let source = error.source().ok_or("no source")?;
    /// assert!(source.downcast_ref::<std::num::ParseIntError>().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn function(
        self,
        name: impl Into<Arc<str>>,
        arity: u8,
        function: impl Fn(&[Value]) -> Result<Option<Value>, Error> + Send + Sync + 'static,
    ) -> Self {
        self.host_function(HostFunction::pure(name, arity, function))
    }

    /// Adds a function of the host whose answer takes time ([`HostFunction::asynchronous`]).
    pub fn async_function<F>(
        self,
        name: impl Into<Arc<str>>,
        arity: u8,
        function: impl Fn(Vec<Value>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, Error>> + Send + 'static,
    {
        self.host_function(HostFunction::asynchronous(name, arity, function))
    }

    /// Adds an existing function of the host.
    pub fn host_function(mut self, function: HostFunction) -> Self {
        self.options.host_functions.push(function);
        self
    }

    /// Sets whether modules are Rego v0 unless they import `rego.v1`; `false` by default.
    pub fn rego_v0(mut self, v0: bool) -> Self {
        self.options.rego_v0 = v0;
        self
    }

    /// Sets the schemas of documents from outside: policies that refer to a field they don't
    /// declare are refused.
    ///
    /// ```
    /// use rego_platform::evaluate::Policies;
    /// use rego_platform::evaluate::sources::{SchemaSet, Sources};
    ///
    /// let schema = r#"{"properties": {"digest": {"type": "string"}}}"#;
    /// let builder = Policies::builder().schemas(SchemaSet::of_input("schema.json", schema)?);
    /// let text = "package p\n\ndeny contains \"no digest\" if not input.dgest\n";
    /// let refused = builder.load(&Sources::text("p.rego", text)).unwrap_err();
    /// assert!(refused.to_string().contains("undefined ref: input.dgest"));
    /// # Ok::<(), rego_platform::Error>(())
    /// ```
    pub fn schemas(mut self, schemas: SchemaSet) -> Self {
        self.options.schemas = schemas;
        self
    }

    /// Checks and compiles sources with these settings.
    ///
    /// # Errors
    /// As [`Policies::load`].
    pub fn load(self, sources: &Sources) -> Result<Policies, Error> {
        Policies::load(sources, self.options)
    }
}

impl Policies {
    /// Returns a builder with the defaults.
    pub fn builder() -> PoliciesBuilder {
        PoliciesBuilder::default()
    }
}

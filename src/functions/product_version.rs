//! `product_version(product_id, version_id)`: one version of a product.

use std::sync::Arc;

use crate::rego::Value;

use super::arguments::{argument, identifier};
use super::{AnswerFuture, Argument, Cost, Function, Origin, Parsed, Request, Type};
use crate::Error;
use crate::client::{
    ApiRequest, Client, Context, EnvelopeSeed, PRODUCT_VERSION, Row, parse as read,
};
use crate::resources::ProductVersion;

pub(super) static FUNCTION: Function = Function {
    name: "product_version",
    arguments: &[
        Argument { name: "product_id", ty: Type::String, doc: "the product's identifier" },
        Argument { name: "version_id", ty: Type::String, doc: "the version's identifier" },
    ],
    result: Type::Object(&ProductVersion),
    summary: "one version of a product, with its projects and frameworks",
    doc: "A version that the product doesn't have is an error (`not found`). A nested resource is \
          absent when the service leaves it out. Interface sections 2.4 and 4.1; needs a paid plan.",
    cost: Cost::Request,
    api: PRODUCT_VERSION.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Key("version"),
    parse,
};

/// A checked request for a version.
#[derive(Debug)]
pub(crate) struct VersionRequest {
    product_id: String,
    version_id: String,
}

fn parse(arguments: &[Value]) -> Parsed {
    Ok(Arc::new(VersionRequest::new(arguments)?))
}

impl VersionRequest {
    /// Checks the arguments of a call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), as for a policy.
    pub fn new(arguments: &[Value]) -> Result<Self, super::Invalid> {
        Ok(Self {
            product_id: identifier("product_id", argument(arguments, 0))?,
            version_id: identifier("version_id", argument(arguments, 1))?,
        })
    }

    pub fn call(&self) -> ApiRequest {
        ApiRequest::get(PRODUCT_VERSION, [self.product_id.clone(), self.version_id.clone()])
    }

    /// Refuses an answer about anything but the version asked for: a gate would judge the wrong
    /// one.
    pub fn check(&self, id: Option<&str>, product_id: Option<&str>) -> Result<(), Error> {
        let same = |found: &str, asked: &str| found.eq_ignore_ascii_case(asked);
        if !id.is_some_and(|id| same(id, &self.version_id)) {
            return Err(Error::protocol(
                "version mismatch: the response is about a different version",
            ));
        }
        if product_id.is_some_and(|id| !id.is_empty() && !same(id, &self.product_id)) {
            return Err(Error::protocol(
                "product mismatch: the response is about a different product",
            ));
        }
        Ok(())
    }
}

impl Request for VersionRequest {
    fn normalised(&self) -> Vec<Value> {
        vec![Value::from(self.product_id.as_str()), Value::from(self.version_id.as_str())]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            const ENVELOPE: EnvelopeSeed<'_, Row<'_>> =
                EnvelopeSeed { name: "version", contents: Row::new(&ProductVersion, "version") };
            let answer = client.json(context, &self.call(), |body| read(ENVELOPE, body)).await?;
            let Some(version) = answer.contents else {
                return Err(Error::protocol("the service's response has no `version`"));
            };
            let text = |key: &str| version.get_str(key).and_then(Value::as_str);
            self.check(text("id"), text("product_id"))?;
            Ok(version.into())
        })
    }
}

//! The documented operations: the request of each, and what counts as its answer.
//!
//! Owns envelopes and the steps through typed lists. `client` and `blocking` own how a host waits
//! for them; the service client's `pages` owns how pages are followed.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use crate::rego::Value;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{AssessmentRevision, Infoz, ProductVersion};
use crate::client::{
    APPROVE_ASSESSMENT, Api, ApiRequest, Client, Context, INFOZ, OPENAPI, OPENAPI_CONTROLPLANE,
    Reader, parse_object, parse_one, parse_page,
};
use crate::functions::{Filter, Invalid, Listing, VersionRequest, identifier};
use crate::{Error, ErrorKind};

/// The client and the deadline that every operation needs.
#[derive(Clone)]
pub(super) struct Sender {
    pub client: Arc<Client>,
    pub deadline: Instant,
}

impl Sender {
    fn context(&self) -> Context {
        Context::new(self.deadline, None)
    }
}

/// Converts a violation outside a policy: there is no signature to show as a hint.
fn invalid_argument(invalid: Invalid) -> Error {
    let message = format!("`{}` {}", invalid.argument, invalid.message);
    Error::invalid_argument(message).with_optional_hint(invalid.hint)
}

/// Sends the request of interface 4.1.
pub(super) async fn product_version(
    sender: Sender,
    product_id: String,
    version_id: String,
) -> Result<ProductVersion, Error> {
    let arguments = [Value::from(product_id), Value::from(version_id)];
    let request = VersionRequest::new(&arguments).map_err(invalid_argument)?;
    let (call, context) = (request.call(), sender.context());
    let read = |body: &str| parse_one::<ProductVersion>("version", body);
    let version = sender.client.json(&context, &call, read).await?;
    let version =
        version.ok_or_else(|| Error::protocol("the service's response has no `version`"))?;
    request.check(version.id.as_deref(), version.product_id.as_deref())?;
    Ok(version)
}

/// Sends the request of interface 4.5, once: if the answer is lost, the request may have been acted
/// on.
pub(super) async fn approve(
    sender: Sender,
    revision_id: String,
    review_note: Option<String>,
) -> Result<AssessmentRevision, Error> {
    let id = identifier("revision_id", &Value::from(revision_id)).map_err(invalid_argument)?;
    let body = match review_note {
        None => serde_json::json!({}),
        Some(note) if note.trim().is_empty() => {
            return Err(invalid_argument(
                Invalid::new("review_note", "is empty").hint("leave it out"),
            ));
        }
        Some(note) => serde_json::json!({ "review_note": note }),
    };
    let asked = id.clone();
    let call = ApiRequest {
        body: Some(Bytes::from(body.to_string())),
        idempotent: false,
        ..ApiRequest::get(APPROVE_ASSESSMENT, [id])
    };
    let context = sender.context();
    let read = |body: &str| parse_one::<AssessmentRevision>("result", body);
    let answer = sender.client.json(&context, &call, read).await.map_err(may_be_approved)?;
    let Some(revision) = answer.filter(|r| r.id.as_deref().is_some_and(|id| !id.is_empty())) else {
        return Err(may_be_approved(Error::protocol("the service's response has no `result`")));
    };
    if !revision.id.as_deref().is_some_and(|id| id.eq_ignore_ascii_case(&asked)) {
        return Err(may_be_approved(Error::protocol(
            "revision mismatch: the response is about a different revision",
        )));
    }
    Ok(revision)
}

/// Adds a hint to the error of an approval whose answer was lost or makes no sense: it may have
/// been made.
fn may_be_approved(error: Error) -> Error {
    let maybe =
        matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::TimedOut | ErrorKind::Protocol);
    if maybe && (error.hint().is_none() || error.kind() == ErrorKind::TimedOut) {
        return error.with_hint("check the revision before you approve again");
    }
    error
}

/// Sends the request of interface 1.6.
pub(super) async fn infoz(sender: Sender) -> Result<Infoz, Error> {
    let call = ApiRequest { authenticated: false, ..ApiRequest::get(INFOZ, None) };
    let infoz = sender.client.json(&sender.context(), &call, parse_object::<Infoz>).await?;
    // An envelope has no defaults: an object without any of these fields is another service's.
    if infoz.is_empty() {
        return Err(Error::protocol(
            "unexpected response of the control plane: no description of the control plane",
        ));
    }
    Ok(infoz)
}

/// Sends the request of interface 1.5.
pub(super) async fn openapi(sender: Sender, api: Api) -> Result<String, Error> {
    let endpoint = match api {
        Api::ControlPlane => OPENAPI_CONTROLPLANE,
        _ => OPENAPI,
    };
    let accept = "application/yaml, application/json;q=0.9, */*;q=0.5";
    let call = ApiRequest { accept, authenticated: false, ..ApiRequest::get(endpoint, None) };
    let read = |body: &str| Ok(body.to_owned());
    let text = sender.client.json(&sender.context(), &call, read).await?;
    if is_specification(&text) {
        return Ok(text);
    }
    Err(Error::protocol("unexpected response: expected a specification")
        .with_hint("check the configured addresses"))
}

/// Returns `true` if a document declares a version of `OpenAPI` or Swagger.
fn is_specification(text: &str) -> bool {
    let versions = ["openapi", "swagger"];
    if text.trim_start().starts_with('{') {
        let document = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        return versions
            .iter()
            .any(|key| document.get(key).is_some_and(serde_json::Value::is_string));
    }
    let key = |line: &str| {
        let (key, value) = line.split_once(':')?;
        Some(versions.contains(&key.trim_matches(['"', '\''])) && !value.trim().is_empty())
    };
    text.lines().any(|line| key(line) == Some(true))
}

/// A typed list that is being read.
pub(super) struct Pages<T> {
    reader: Reader,
    listing: &'static Listing,
    /// The filters, with which rows are compared.
    filters: Vec<(&'static str, Filter)>,
    rows: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned + Send + Sync> Pages<T> {
    /// Starts reading the list that `filters` select.
    ///
    /// # Errors
    pub fn new(listing: &'static Listing, filters: &Value) -> Result<Self, Error> {
        let (list, filters) = listing.list(filters).map_err(invalid_argument)?;
        Ok(Self { reader: Reader::new(list), listing, filters, rows: PhantomData })
    }

    /// Returns the next page and the rest of the list, or `None` when the list has ended.
    pub async fn next(mut self, sender: Sender) -> Result<Option<(Vec<T>, Self)>, Error> {
        let (name, context) = (self.listing.rows().0, sender.context());
        let read = |body: &str| parse_page(name, PhantomData::<T>, usize::MAX, body);
        let page = self.reader.next(&sender.client, &context, read).await?;
        let Some(rows) = page else { return Ok(None) };
        let broken = |_| Error::internal("a result has no JSON");
        let mut values = Vec::with_capacity(rows.len());
        for row in &rows {
            let text = serde_json::to_string(row)
                .map_err(|error| Error::internal("a result has no JSON").with_source(error))?;
            values.push(Value::from_json(&text).map_err(broken)?);
        }
        self.reader.check_rows(&values)?;
        self.listing.check_rows(&self.filters, &values)?;
        Ok(Some((rows, self)))
    }

    /// Reads the whole list.
    pub async fn all(self, sender: Sender) -> Result<Vec<T>, Error> {
        let mut rows = Vec::new();
        let mut left = Some(self);
        while let Some(pages) = left {
            left = match pages.next(sender.clone()).await? {
                Some((page, pages)) => {
                    rows.extend(page);
                    Some(pages)
                }
                None => None,
            };
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_declares_its_version() {
        for good in ["openapi: 3.0.3\ninfo:", "---\n\"openapi\": '3.1.0'", "{\"swagger\": \"2.0\"}"]
        {
            assert!(is_specification(good), "{good}");
        }
        for bad in
            ["", "<html>openapi: 3</html>", "{}", "{\"openapi\": 3", " openapi: 3", "openapi:"]
        {
            assert!(!is_specification(bad), "{bad}");
        }
    }
}

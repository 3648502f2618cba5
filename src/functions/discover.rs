//! `discover(digest, kind)`: a digest's metadata in the service, and everything that refers to it.

use std::sync::Arc;

use crate::rego::Value;
use crate::rego::value::{Object, Shared};

use super::arguments::{Invalid, argument, digest, text};
use super::{Answer, AnswerFuture, Argument, Cost, Field, Function, Origin, Request, Type};
use crate::client::{
    ApiRequest, Client, Context, DISCOVER, EnvelopeSeed, Pager, Row, parse as read, within_list,
};
use crate::resources::validate::Asked;
use crate::{Error, ErrorKind};

/// Algorithms of the digests in references (commits have SHA-1).
const ALGORITHMS: &[&str] = &["sha256", "sha1", "sha512"];

/// The number of references requested per page.
const PAGE_SIZE: u64 = 100;

/// The member that only some versions of the service send.
pub(super) const PUBLIC: &str = "public";

const PUBLIC_DOC: &str = "whether other organizations can see it; only if the service sends it";

pub(crate) static REFERENCE: &[Field] = &[
    Field::required("digest", Type::Digest, "the digest that refers to, or is referred to"),
    Field::required("kind", Type::String, "its kind, such as `ATTESTATION` or `SBOM_SPDX_JSON`"),
    Field::optional("downloadable", Type::Boolean, "whether its content can be downloaded"),
    Field::optional(PUBLIC, Type::Boolean, PUBLIC_DOC),
    Field::optional("createdAt", Type::Timestamp, "when it was added to the service"),
];

pub(crate) static RESULT: &[Field] = &[
    Field::required("digest", Type::Digest, "the requested digest"),
    Field::required("kind", Type::String, "its kind, such as `CONTAINER_IMAGE`"),
    Field::required("downloadable", Type::Boolean, "whether `download_artifact` can download it"),
    Field::optional(PUBLIC, Type::Boolean, PUBLIC_DOC),
    Field::required("createdAt", Type::Timestamp, "when it was added to the service"),
    Field::required(
        "references",
        Type::Array(&Type::Object(REFERENCE)),
        "everything that it refers to or that refers to it, each with `digest`, `kind` and metadata",
    ),
];

pub(super) static FUNCTION: Function = Function {
    name: "discover",
    arguments: &[
        Argument {
            name: "digest",
            ty: Type::Digest,
            doc: "`sha256:<64 hex>`, `sha1:<40 hex>` or `sha512:<128 hex>`, lowercase",
        },
        Argument {
            name: "kind",
            ty: Type::Either(&Type::String, &Type::Null),
            doc: "selects one kind if the digest is known under several; `\"\"` or `null` selects none",
        },
    ],
    result: Type::Object(RESULT),
    summary: "what the service knows about a digest, and everything that refers to it",
    doc: "Every page of references is read. An unknown digest is an error (`not found`); \
          one known under several kinds is an error that names them: pass one as `kind`. \
          Interface section 4.7.",
    cost: Cost::Request,
    api: DISCOVER.api,
    paid_plan: false,
    optional: false,
    origin: Origin::Key("result"),
    parse,
};

#[derive(Debug)]
struct Discover {
    digest: String,
    kind: Option<String>,
}

fn parse(arguments: &[Value]) -> Result<Arc<dyn Request>, Invalid> {
    let digest = digest("digest", argument(arguments, 0), ALGORITHMS)?;
    let kind = match argument(arguments, 1) {
        Value::Null => None,
        Value::String(empty) if empty.is_empty() => None,
        value => Some(text("kind", value)?),
    };
    Ok(Arc::new(Discover { digest, kind }))
}

impl Request for Discover {
    fn normalised(&self) -> Vec<Value> {
        vec![
            Value::from(self.digest.as_str()),
            Value::from(self.kind.as_deref().unwrap_or_default()),
        ]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(self.read(client, context))
    }
}

/// Fills in the members that a service leaves out when they have the default of proto3, so that an item has
/// one shape over HTTP and gRPC. `public` isn't one of them: it is there only if the service sent it.
fn complete(item: &mut Object) {
    for (name, default) in [
        ("downloadable", Value::Bool(false)),
        ("createdAt", Value::from("")),
        ("metadata", Value::new_object()),
        ("annotations", Value::new_object()),
    ] {
        let name = Value::from(name);
        if matches!(item.get(&name), None | Some(Value::Null)) {
            item.insert(name, default);
        }
    }
}

/// Returns a reference with its defaults, and without the empty list of references that HTTP adds to it.
fn completed(reference: Value) -> Value {
    let Value::Object(object) = reference else { return reference };
    let mut object = Shared::unwrap_or_clone(object);
    complete(&mut object);
    let name = Value::from("references");
    if matches!(object.get(&name), Some(Value::Array(items)) if items.is_empty()) {
        object.remove(&name);
    }
    Value::from(object)
}

impl Discover {
    async fn read(&self, client: &Client, context: &Context) -> Result<Answer, Error> {
        let mut pager = Pager::default();
        loop {
            match self.read_pages(client, context, &mut pager).await {
                Ok(value) => {
                    return Ok(Answer { rereads: pager.rereads(), ..value.into() });
                }
                Err(error) => pager.start_again(error, context.deadline)?,
            }
        }
    }

    async fn read_pages(
        &self,
        client: &Client,
        context: &Context,
        pager: &mut Pager,
    ) -> Result<Value, Error> {
        const PAGE: EnvelopeSeed<'_, Row<'_>> =
            EnvelopeSeed { name: "result", contents: Row::new(RESULT, "result") };
        let mut first = None;
        let mut references: Vec<Value> = Vec::new();
        loop {
            let mut call = ApiRequest::get(DISCOVER, Some(self.digest.clone()));
            call.query.extend(self.kind.clone().map(|kind| ("kind", kind)));
            call.query.extend(pager.query(PAGE_SIZE));
            let page = client
                .json(context, &call, |body| read(PAGE, body))
                .await
                .map_err(|error| within_list(self.explain(error), pager))?;
            let (root, more) = self.check(page.contents)?;
            let pages = client.settings.max_pages;
            let goes_on = pager.advance(page.pagination.as_ref(), more.len(), pages)?;
            pager.check_rows(&more)?;
            references.extend(more);
            first.get_or_insert(root);
            let max = client.settings.max_results;
            if references.len() > max {
                return Err(crate::client::too_many(max));
            }
            if !goes_on {
                break;
            }
        }
        let mut root = first.unwrap_or_default();
        root.insert(Value::from("references"), Value::from(references));
        Ok(Value::from(root))
    }

    /// Splits the response into the root without its references, and the references. The root must be
    /// about the digest and the kind that were asked for.
    fn check(&self, result: Option<Value>) -> Result<(Object, Vec<Value>), Error> {
        let Some(result) = result else {
            return Err(Error::protocol("the service's response has no `result`"));
        };
        if result.get_str("digest").and_then(Value::as_str) != Some(self.digest.as_str()) {
            return Err(Error::protocol(
                "digest mismatch: the response is about a different artifact",
            ));
        }
        if let Some(kind) = &self.kind {
            let asked = Asked { field: "kind", values: vec![kind] };
            asked.check(&result).map_err(super::lists::other_answer)?;
        }
        let mut root: Object = match result {
            Value::Object(object) => Shared::unwrap_or_clone(object),
            _ => Object::new(),
        };
        complete(&mut root);
        let references = match root.remove(&Value::from("references")) {
            Some(Value::Array(items)) => items.iter().cloned().map(completed).collect(),
            _ => Vec::new(),
        };
        Ok((root, references))
    }

    /// Adds a hint to a refusal: the service doesn't choose among several kinds of a digest, and its
    /// message lists them.
    fn explain(&self, error: Error) -> Error {
        if self.kind.is_none() && error.kind() == ErrorKind::InvalidArgument {
            return error.with_hint(
                "if it is known under several kinds, pass one of them as the second argument",
            );
        }
        error
    }
}

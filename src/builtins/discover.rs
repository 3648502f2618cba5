//! `discover(digest, kind)`: a digest's metadata in the service, and everything that refers to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::rego::Value;
use crate::rego::value::Shared;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

use super::arguments::{Invalid, argument, digest, text};
use super::{Answer, AnswerFuture, Argument, Cost, Field, Function, Origin, Request, Type};
use crate::client::{
    ANY, ApiRequest, Beside, Client, Context, DISCOVER, Pager, Pagination, Row, beside, protocol,
    refuse_all, refuse_beside_list, refuse_failed, refuse_further_list, refuse_misspelt,
    undocumented, within_list, words,
};
use crate::text::{letters, shorten};
use crate::{Error, ErrorKind};

/// Algorithms of the digests in references (commits have SHA-1).
const ALGORITHMS: &[&str] = &["sha256", "sha1", "sha512"];

/// The number of references requested per page.
const PAGE_SIZE: u64 = 100;

pub(super) static REFERENCE: &[Field] = &[
    Field::required("digest", Type::Digest, "the digest that refers to, or is referred to"),
    Field::required("kind", Type::String, "its kind, such as `ATTESTATION` or `SBOM_SPDX_JSON`"),
    Field::optional("downloadable", Type::Boolean, "whether its content can be downloaded"),
    Field::optional("public", Type::Boolean, "whether other organizations can see it"),
    Field::optional("createdAt", Type::Timestamp, "when it was added to the service"),
];

pub(super) static RESULT: &[Field] = &[
    Field::required("digest", Type::Digest, "the requested digest"),
    Field::required("kind", Type::String, "its kind, such as `CONTAINER_IMAGE`"),
    Field::required("downloadable", Type::Boolean, "whether `download_artifact` can download it"),
    Field::required("public", Type::Boolean, "whether other organizations can see it"),
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
            doc: "`sha256:<64 hex>`, `sha1:<40 hex>` or `sha512:<128 hex>`, lower case",
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

impl Discover {
    async fn read(&self, client: &Client, context: &Context) -> Result<Answer, Error> {
        let mut pager = Pager::default();
        let mut first: Option<BTreeMap<Value, Value>> = None;
        let mut references: Vec<Value> = Vec::new();
        let mut beside = Vec::new();
        loop {
            let mut call = ApiRequest::get(DISCOVER, Some(self.digest.clone()));
            call.query.extend(self.kind.clone().map(|kind| ("kind", kind)));
            call.query.extend(pager.query(PAGE_SIZE));
            let (page, announced) = client
                .page(context, &call, crate::client::parse_page::<Page>)
                .await
                .map_err(|error| within_list(self.explain(error), &pager))?;
            let (root, more) = self.check(page.result, first.as_ref())?;
            let received = more.len();
            beside.extend(page.beside.into_iter().filter(|it| it.doubt(received).is_some()));
            pager.check_new(&more)?;
            references.extend(more);
            first.get_or_insert(root);
            let max = client.settings.max_results;
            if references.len() > max {
                return Err(crate::client::too_many(max));
            }
            let pages = client.settings.max_pages;
            let goes_on =
                pager.advance(page.pagination.as_ref(), references.len(), received, pages)?;
            announced.refuse_more(goes_on)?;
            if !goes_on {
                announced.check_end(references.len(), context)?;
                break;
            }
        }
        pager.finish(&references)?;
        let mut root = first.unwrap_or_default();
        refuse_larger_count(&root, references.len())?;
        beside.iter().filter_map(|it| it.doubt(references.len())).for_each(|it| context.doubt(it));
        let without_digest =
            references.iter().filter(|row| is_empty(row.get_str("digest"))).count();
        if without_digest > 0 {
            context.doubt("references without a `digest`, which policies pass over".to_owned());
        }
        let unchecked = self.check_kind(&root)?;
        root.insert(Value::from("references"), Value::from(references));
        Ok(Answer { unchecked, ..Value::from(root).into() })
    }

    /// Splits the answer into the root without its references, and the references. The root must be
    /// about the digest that was asked for, and the same on every page.
    fn check(
        &self,
        result: Option<Value>,
        first: Option<&BTreeMap<Value, Value>>,
    ) -> Result<(BTreeMap<Value, Value>, Vec<Value>), Error> {
        let mut root: BTreeMap<Value, Value> = match result {
            Some(Value::Object(object)) => Shared::unwrap_or_clone(object),
            _ => return Err(protocol("the service's answer has no `result`")),
        };
        refuse_beside_list(&root, RESULT)
            .and_then(|()| refuse_failed(&root, RESULT))
            .and_then(|()| refuse_further_list(&root, RESULT))
            .map_err(|why| protocol(format!("the service's answer can't be read: {why}")))?;
        let found = root.get(&Value::from("digest")).and_then(|v| v.as_str().map(str::to_owned));
        if found.as_deref() != Some(self.digest.as_str()) {
            return Err(protocol(
                "the service answered about another digest than the one asked for",
            ));
        }
        let references = match root.remove(&Value::from("references")) {
            Some(Value::Array(items)) => items.to_vec(),
            _ => Vec::new(),
        };
        if let Some(first) = first
            && *first != root
        {
            let names: BTreeSet<_> = first.keys().chain(root.keys()).collect();
            let changed = names.into_iter().find(|name| first.get(name) != root.get(name));
            let changed = changed.and_then(Value::as_str).unwrap_or_default();
            let message =
                format!("the digest's `{}` changed from page to page", shorten(changed, 80));
            return Err(protocol(message));
        }
        let mut digests = references.iter().filter_map(|row| row.get_str("digest")?.as_str());
        if let Some(wrong) = digests.find(|digest| !digest.is_empty() && !is_digest(digest)) {
            let wrong = shorten(wrong, 80);
            return Err(protocol(format!("a reference's `digest` isn't one: `{wrong}`")));
        }
        Ok((root, references))
    }

    /// Compares the kind with the one that was asked for. Returns the number of fields that should
    /// have been compared and weren't in the answer.
    fn check_kind(&self, root: &BTreeMap<Value, Value>) -> Result<u64, Error> {
        let Some(wanted) = &self.kind else { return Ok(0) };
        match root.get(&Value::from("kind")) {
            Some(Value::String(found)) if !found.is_empty() => {
                if **found == **wanted {
                    return Ok(0);
                }
                let (found, wanted) = (shorten(found, 80), shorten(wanted, 80));
                Err(protocol(format!(
                    "the service answered with the kind `{found}`, and `{wanted}` was asked for"
                ))
                .with_hint("does something between here and the service drop queries?"))
            }
            _ => Ok(1),
        }
    }

    /// Explains a digest known under several kinds: the service refuses it as invalid, and its
    /// message lists the kinds.
    fn explain(&self, error: Error) -> Error {
        let ambiguous = self.kind.is_none()
            && error.kind() == ErrorKind::InvalidArgument
            && error.to_string().to_lowercase().contains("kind");
        if ambiguous {
            Error::new(ErrorKind::Ambiguous, error.to_string())
                .with_hint("pass one of the kinds as the second argument")
        } else {
            error
        }
    }
}

/// Returns `true` for a digest in the documented form. Of algorithms that aren't documented, only the
/// name is required.
pub(super) fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    if ALGORITHMS.contains(&algorithm) {
        return digest("digest", &Value::from(text), ALGORITHMS).is_ok();
    }
    let is_respelt = ALGORITHMS.iter().any(|known| letters(known).eq(letters(algorithm)));
    !is_respelt && !algorithm.is_empty() && !hex.is_empty()
}

/// Returns `true` for a text that a row lacks.
fn is_empty(text: Option<&Value>) -> bool {
    text.and_then(Value::as_str).unwrap_or_default().is_empty()
}

/// Refuses an undocumented field that counts more references than came.
fn refuse_larger_count(root: &BTreeMap<Value, Value>, references: usize) -> Result<(), Error> {
    let counts = |key: &str, value: &Value| {
        let about = words(key).iter().any(|word| word.starts_with("reference"));
        about && value.as_u64().is_some_and(|count| count > references as u64)
    };
    match undocumented(root, RESULT).find(|(key, value)| counts(key, value)) {
        Some((key, value)) => Err(protocol(format!(
            "the service's `{}` is {}, and it sent {references} references",
            shorten(key, 80),
            value.to_json()
        ))),
        None => Ok(()),
    }
}

/// A page of the answer.
struct Page {
    result: Option<Value>,
    pagination: Option<Pagination>,
    /// What is beside `result` and may mean that it isn't whole.
    beside: Vec<Beside>,
}

impl<'de> serde::Deserialize<'de> for Page {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PageVisitor;
        impl<'de> Visitor<'de> for PageVisitor {
            type Value = Page;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with `result`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page, A::Error> {
                let mut page = Page { result: None, pagination: None, beside: Vec::new() };
                let mut seen = BTreeSet::new();
                let mut unknown = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "result" => page.result = Some(map.next_value_seed(Root)?),
                        "pagination" => page.pagination = map.next_value()?,
                        _ => {
                            refuse_misspelt(["result", "pagination"].into_iter(), &key)
                                .map_err(A::Error::custom)?;
                            if WITHIN.iter().any(|name| key.eq_ignore_ascii_case(name)) {
                                let why = format!("it has `{key}` beside `result`, not within it");
                                return Err(A::Error::custom(why));
                            }
                            unknown.push((key.clone(), map.next_value_seed(ANY)?));
                        }
                    }
                    if !seen.insert(key) {
                        return Err(A::Error::custom("a key of the answer appears twice"));
                    }
                }
                refuse_all(&unknown)?;
                page.beside = beside(unknown.iter().map(|(key, value)| (key.as_str(), value)));
                Ok(page)
            }
        }
        deserializer.deserialize_map(PageVisitor)
    }
}

/// What `result` has: beside it, policies wouldn't see it.
const WITHIN: [&str; 4] = ["digest", "kind", "metadata", "references"];

struct Root;

impl<'de> DeserializeSeed<'de> for Root {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Row::new(RESULT, "result").deserialize(deserializer)
    }
}

//! The body of a request: awaited within bounds, decompressed, and parsed.

use std::io::Read as _;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt as _;
use rego_platform::Value;
use rego_platform::sources::document;

use super::admission::{Reserved, too_many};
use super::answer::Refusal;
use super::app::App;

/// The time in which a body must have arrived.
const ARRIVES: Duration = Duration::from_secs(30);

/// The document in a body.
pub(crate) struct Document {
    /// The document; `None` if the body is empty.
    pub value: Option<Value>,
    /// The time it took to read and to parse.
    pub parsing: Duration,
}

impl FromRequest<App> for Document {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &App) -> Result<Self, Refusal> {
        let began = Instant::now();
        let (headers, bytes) = read(request).await?;
        let value = parse(&headers, &bytes)?;
        Ok(Self { value, parsing: began.elapsed() })
    }
}

/// The document in a body that is an object; `null` and an empty body have no members.
pub(crate) struct Members {
    object: Value,
    /// The time it took to read and to parse.
    pub parsing: Duration,
}

impl FromRequest<App> for Members {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let Document { value, parsing } = Document::from_request(request, app).await?;
        let object = match value {
            None | Some(Value::Null) => Value::new_object(),
            Some(object @ Value::Object(_)) => object,
            Some(other) => {
                let name = other.type_name();
                let message =
                    format!("body contains malformed input document: it is {name}, not an object");
                return Err(Refusal::invalid(message));
            }
        };
        Ok(Self { object, parsing })
    }
}

impl Members {
    /// Returns the member that is the input.
    pub fn input(&self) -> Document {
        Document { value: self.get("input"), parsing: self.parsing }
    }

    /// Returns a member that has a value; `null` is none, as in OPA.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.object.get_str(name).filter(|value| **value != Value::Null).cloned()
    }
}

fn too_large(most: usize) -> Refusal {
    Refusal::invalid(format!("request body too large: it has more than {most} bytes"))
}

/// Reads a body that has arrived. Returns the headers too.
async fn read(request: Request) -> Result<(HeaderMap, Bytes), Refusal> {
    let (head, body) = request.into_parts();
    let collected = body.collect().await.map_err(|_| Refusal::invalid(NOT_WHOLE))?;
    Ok((head.headers, collected.to_bytes()))
}

const NOT_WHOLE: &str = "incomplete request body";

/// Waits until the body of a request has arrived, and decompresses it. Each byte counts from its arrival on.
pub(crate) async fn arrived(
    request: Request,
    app: &App,
    reserved: &mut Reserved,
) -> Result<Request, Refusal> {
    let (mut head, body) = request.into_parts();
    let most = app.bounds.body;
    let arrived = tokio::time::timeout(ARRIVES, all(body, most, reserved)).await;
    let bytes = arrived.unwrap_or_else(|_| {
        Err(Refusal::invalid(format!("request body not received within {}s", ARRIVES.as_secs())))
    })?;
    let bytes = decompressed(&head.headers, bytes, most)?;
    head.headers.remove(header::CONTENT_ENCODING);
    reserved.reserve(bytes.len()).ok_or_else(too_many)?;
    Ok(Request::from_parts(head, Body::from(bytes)))
}

async fn all(mut body: Body, most: usize, reserved: &mut Reserved) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > most as u64 {
        return Err(too_large(most));
    }
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::invalid(NOT_WHOLE))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() > most {
            return Err(too_large(most));
        }
        reserved.reserve(all.len() + data.len()).ok_or_else(too_many)?;
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

fn decompressed(headers: &HeaderMap, bytes: Bytes, most: usize) -> Result<Bytes, Refusal> {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(encoding) = encodings.next() else { return Ok(bytes) };
    if encoding != "gzip" || encodings.next().is_some() {
        return Err(Refusal::invalid("unsupported content encoding: expected gzip"));
    }
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut plain = Vec::new();
    MultiGzDecoder::new(&*bytes)
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|error| Refusal::invalid(format!("the body isn't valid gzip: {error}")))?;
    if plain.len() > most { Err(too_large(most)) } else { Ok(plain.into()) }
}

fn parse(headers: &HeaderMap, bytes: &[u8]) -> Result<Option<Value>, Refusal> {
    let malformed = |problem: &str| {
        Refusal::invalid(format!("body contains malformed input document: {problem}"))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| malformed("invalid UTF-8"))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let is_yaml = types.any(|value| value.to_str().is_ok_and(|value| value.contains("yaml")));
    document("body", text, is_yaml).map(Some).map_err(|problem| match &problem.position {
        Some(at) => malformed(&format!("{}:{}: {}", at.line, at.column, problem.message)),
        None => malformed(&problem.message),
    })
}

/// Parses the document in a parameter.
pub(crate) fn of_parameter(text: &str) -> Result<Value, Refusal> {
    document("parameter", text, false).map_err(|problem| {
        let message = format!("parameter contains malformed input document: {}", problem.message);
        Refusal::invalid(message)
    })
}

//! The body of a request: read within bounds, decompressed, and parsed.

use std::io::Read as _;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rego_platform::Value;
use rego_platform::sources::document;

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

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let began = Instant::now();
        let (headers, bytes) = read(request, app).await?;
        let value = parse(&headers, &bytes)?;
        Ok(Self { value, parsing: began.elapsed() })
    }
}

/// The text in a body.
pub(crate) struct Text(pub String);

impl FromRequest<App> for Text {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let (_, bytes) = read(request, app).await?;
        let text = std::str::from_utf8(&bytes);
        text.map(|text| Self(text.to_owned())).map_err(|_| Refusal::invalid("the text isn't UTF-8"))
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

/// Reads a body, and decompresses it. Returns the headers too.
async fn read(request: Request, app: &App) -> Result<(HeaderMap, Bytes), Refusal> {
    let (head, body) = request.into_parts();
    let bytes = all(body, app.bounds.body).await?;
    let bytes = decompressed(&head.headers, bytes, app.bounds.body)?;
    Ok((head.headers, bytes))
}

async fn all(body: Body, most: usize) -> Result<Bytes, Refusal> {
    let collected = tokio::time::timeout(ARRIVES, Limited::new(body, most).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Ok(Err(_)) => Err(Refusal::invalid("the body didn't arrive whole")),
        Err(_) => {
            Err(Refusal::invalid(format!("the body didn't arrive within {}s", ARRIVES.as_secs())))
        }
    }
}

fn decompressed(headers: &HeaderMap, bytes: Bytes, most: usize) -> Result<Bytes, Refusal> {
    let Some(encoding) = headers.get(header::CONTENT_ENCODING) else { return Ok(bytes) };
    if encoding != "gzip" {
        return Err(Refusal::invalid("the body has another encoding than gzip"));
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
    let text = std::str::from_utf8(bytes).map_err(|_| malformed("the text isn't UTF-8"))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_yaml = content_type.is_some_and(|value| value.contains("yaml"));
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

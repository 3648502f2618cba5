//! Responses that refuse a request: a status, and a body in the form of the address.
//!
//! The control plane answers `{"code","reason","message","metadata"}`, the backend `rpcStatus`
//! (interface 7). Owns both forms, not the reasons.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// One of the emulator's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// `{controlplane_url}`.
    ControlPlane,
    /// `{base_url}`.
    Backend,
    /// The content store that downloads are redirected to.
    Store,
    /// The control plane's gRPC address.
    Grpc,
}

/// The reason why a request isn't served.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    message: String,
    metadata: Map<String, Value>,
    /// The code of `rpcStatus`, if the status alone doesn't determine it.
    code: Option<u8>,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), metadata: Map::new(), code: None }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Refuses a valid request that the resource's state doesn't allow: 400, "cannot be served".
    pub fn wrong_state(message: impl Into<String>) -> Self {
        Self { code: Some(9), ..Self::bad_request(message) }
    }

    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// Adds a field for programs; `rpcStatus` has no place for it.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.metadata.insert(key.to_owned(), Value::String(value.into()));
        self
    }

    /// Returns the code of gRPC.
    fn code(&self) -> u8 {
        self.code.unwrap_or_else(|| grpc_code(self.status))
    }

    /// Returns the refusal as a status of gRPC.
    pub fn status(self) -> tonic::Status {
        tonic::Status::new(tonic::Code::from_i32(i32::from(self.code())), self.message)
    }

    /// Returns the response in the form of `api`.
    pub fn respond(self, api: Address) -> Response {
        let status = self.status;
        let body = match api {
            Address::ControlPlane => json!({
                "code": status.as_u16(),
                "reason": reason(status),
                "message": self.message,
                "metadata": self.metadata,
            }),
            Address::Backend => {
                json!({ "code": self.code(), "message": self.message, "details": [] })
            }
            // A content store is another product: it answers in plain text.
            Address::Store => return (status, self.message).into_response(),
            Address::Grpc => return self.status().into_http(),
        };
        let mut response = json_response(&body);
        *response.status_mut() = status;
        if status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

/// Returns a JSON response.
pub(super) fn json_response(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn reason(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("unknown").to_lowercase()
}

const fn grpc_code(status: StatusCode) -> u8 {
    match status.as_u16() {
        400 => 3,
        401 => 16,
        403 => 7,
        404 => 5,
        405 | 501 => 12,
        408 | 504 => 4,
        413 | 429 => 8,
        500 => 13,
        502 | 503 => 14,
        _ => 2,
    }
}

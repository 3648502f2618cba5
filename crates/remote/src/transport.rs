//! One HTTP request to a registry or a web server: TLS, plain HTTP, redirects, the bound on a body.
//!
//! Owns where a request may go, and that what a redirect leads to gets no credentials.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use rego_platform_client::client::{
    Cause, is_loopback, origin, other_protocol, outside_client, retry_after,
};
use rego_platform_client::text::size;
use rego_platform_client::{Error, ErrorKind, setting};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH, LOCATION,
};
use reqwest::{Method, Response, StatusCode};
use url::Url;

const MAX_REDIRECTS: usize = 5;

/// How often a request that is safe to repeat is sent again after a failure.
const REPEATS: u32 = 2;

/// The first pause, which doubles each time, and the longest that a server doesn't ask for.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

tokio::task_local! {
    /// The time at which everything about a source must be there.
    pub(crate) static DEADLINE: Instant;
}

/// Returns the pause before a request is sent again for the `count`-th time; `None` if it would outlast the
/// deadline.
fn pause(count: u32, asked: Option<Duration>) -> Option<Duration> {
    let own = PAUSE.saturating_mul(1_u32.checked_shl(count).unwrap_or(u32::MAX)).min(LONGEST);
    let pause = asked.unwrap_or_default().max(own);
    let left = DEADLINE.try_with(|deadline| deadline.saturating_duration_since(Instant::now()));
    (pause < left.unwrap_or(LONGEST)).then_some(pause)
}

#[derive(Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    /// Set to allow plain HTTP beyond loopback.
    insecure: bool,
}

/// A request, which is sent again after a failure of the server only if it reads.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub method: Method,
    pub url: Url,
    pub accept: Option<&'static str>,
    pub authorization: Option<HeaderValue>,
    /// The version that is there already, as the server named it.
    pub unless: Option<HeaderValue>,
    /// The body, and its media type.
    pub body: Option<(Bytes, &'static str)>,
}

impl Request {
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            accept: None,
            authorization: None,
            unless: None,
            body: None,
        }
    }

    fn reads(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

impl Transport {
    /// `certificates` are PEM, trusted in addition to the system's.
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Result<Self, Error> {
        let client = outside_client(certificates)?;
        Ok(Self { client, insecure })
    }

    /// Sends a request. Its answer may have any status.
    pub async fn send(&self, request: &Request) -> Result<Response, Error> {
        if request.url.scheme() != "https" && !is_loopback(&request.url) && !self.insecure {
            let message = format!("{} is asked over plain HTTP", origin(&request.url));
            return Err(
                Error::new(ErrorKind::Configuration, message).by_setting(setting::PLAIN_HTTP)
            );
        }
        let mut count = 0;
        loop {
            let answer = self.attempt(request).await;
            let (again, asked) = match &answer {
                // It was refused before anything was done.
                Ok(answer) if answer.status() == StatusCode::TOO_MANY_REQUESTS => {
                    (true, retry_after(answer.headers()))
                }
                Ok(answer) => {
                    let status = answer.status();
                    let fails = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
                    (fails && request.reads() && count < REPEATS, retry_after(answer.headers()))
                }
                Err(error) => {
                    let fails = error.kind() == ErrorKind::Unavailable;
                    (fails && request.reads() && count < REPEATS, None)
                }
            };
            match pause(count, asked).filter(|_| again) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return answer,
            }
            count += 1;
        }
    }

    async fn attempt(&self, request: &Request) -> Result<Response, Error> {
        let mut builder = self.client.request(request.method.clone(), request.url.clone());
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(authorization) = &request.authorization {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(version) = &request.unless {
            builder = builder.header(IF_NONE_MATCH, version.clone());
        }
        builder = match &request.body {
            Some((body, kind)) => builder.header(CONTENT_TYPE, *kind).body(body.clone()),
            None if request.reads() => builder,
            None => builder.header(CONTENT_LENGTH, 0),
        };
        builder.send().await.map_err(|error| failure(&request.url, error))
    }

    /// Follows the redirects of an answer to a request that reads. Where they lead gets no credentials. The
    /// status is 304 if what the request names is there already.
    pub async fn follow(&self, request: &Request, mut answer: Response) -> Result<Response, Error> {
        let from = &request.url;
        let mut url = from.clone();
        for _ in 0..MAX_REDIRECTS {
            let status = answer.status();
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            url = location(&url, &answer)?;
            let is_safe =
                url.scheme() == "https" || from.scheme() == "http" && url.scheme() == "http";
            if !is_safe {
                let message = format!("{} redirects to plain HTTP", origin(from));
                return Err(Error::new(ErrorKind::Protocol, message)
                    .with_hint("nothing is fetched without TLS there"));
            }
            let next = Request { unless: request.unless.clone(), ..Request::get(url.clone()) };
            answer = self.send(&next).await?;
        }
        let message = format!("{} redirects more than {MAX_REDIRECTS} times", origin(from));
        Err(Error::new(ErrorKind::Protocol, message).with_hint("is it the right address?"))
    }
}

/// Returns where an answer leads.
pub(crate) fn location(url: &Url, answer: &Response) -> Result<Url, Error> {
    let header = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    header.and_then(|text| url.join(text).ok()).filter(Url::has_host).ok_or_else(|| {
        let message = format!("{} leads elsewhere without saying where", origin(url));
        Error::new(ErrorKind::Protocol, message).with_hint("is it the right address?")
    })
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn body(url: &Url, mut answer: Response, limit: u64) -> Result<Bytes, Error> {
    let too_large = || {
        let message = format!("{} sends more than {}", origin(url), size(limit));
        Error::new(ErrorKind::TooLarge, message).with_hint("is it the right address?")
    };
    if answer.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failure(url, error))? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Returns an answer whose status is a success, or the error for its status.
pub(crate) fn success(what: &str, url: &Url, answer: Response) -> Result<Response, Error> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let host = origin(url);
    let (kind, message, hint) = match status {
        StatusCode::UNAUTHORIZED => (
            ErrorKind::Unauthenticated,
            format!("{host} doesn't give {what} without other credentials"),
            "`docker login` stores them",
        ),
        StatusCode::FORBIDDEN => (
            ErrorKind::PermissionDenied,
            format!("{host} refuses {what}"),
            "may these credentials do that? `docker login` stores others",
        ),
        StatusCode::NOT_FOUND => return Err(absent(what, url)),
        StatusCode::TOO_MANY_REQUESTS => {
            let asked = retry_after(answer.headers());
            let asked = asked.map(|time| format!(", and asks to wait {}s", time.as_secs()));
            let message = format!("{host} has had too many requests{}", asked.unwrap_or_default());
            (ErrorKind::RateLimited, message, "try again later")
        }
        status if status.is_server_error() => (
            ErrorKind::Unavailable,
            format!("{host} fails with the status {}", status.as_u16()),
            "try again later",
        ),
        status => (
            ErrorKind::Protocol,
            format!("{host} answers with the status {} for {what}", status.as_u16()),
            "is it the right address?",
        ),
    };
    Err(Error::new(kind, message).with_hint(hint))
}

/// The error for something that isn't there.
pub(crate) fn absent(what: &str, url: &Url) -> Error {
    let message = format!("{} doesn't have {what}", origin(url));
    Error::new(ErrorKind::NotFound, message)
        .with_hint("is it the right address? some registries also answer so without credentials")
}

fn failure(url: &Url, error: reqwest::Error) -> Error {
    let host = origin(url);
    let message = if error.is_timeout() {
        format!("{host} doesn't answer in time")
    } else if error.is_connect() {
        format!("can't connect to {host}")
    } else {
        format!("the connection to {host} broke")
    };
    let hint = other_protocol(&error).unwrap_or("check the address and the network");
    Error::new(ErrorKind::Unavailable, message).with_source(Cause::of(&error)).with_hint(hint)
}

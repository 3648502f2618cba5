//! One HTTP request to a registry or a web server.
//!
//! Owns where a request may go, and that what a redirect leads to gets no credentials.

use std::time::{Duration, Instant};

use bytes::Bytes;
use rego_platform_client::http::body::{self, Unread};
use rego_platform_client::http::connection::{Cause, other_protocol, outside_client};
use rego_platform_client::http::origin::{is_exposed, origin};
use rego_platform_client::http::redirect::{self, Hop, is_redirect};
use rego_platform_client::http::retry::{Failed, Policy, retry_after};
use rego_platform_client::text::size;
use rego_platform_client::{Error, ErrorKind, setting};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use reqwest::{Method, Response, StatusCode};
use url::Url;

const MAX_REDIRECTS: usize = 5;

/// The number of retries of a safe request.
const REPEATS: usize = 2;

/// The first pause, which doubles each time, and the longest pause that a server didn't request.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

tokio::task_local! {
    /// The deadline for a source.
    pub(crate) static DEADLINE: Instant;
}

#[derive(Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    /// Set to allow plain HTTP beyond loopback.
    insecure: bool,
}

/// A request. Only reads are retried after a failure of the server.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub method: Method,
    pub url: Url,
    pub accept: Option<&'static str>,
    pub authorization: Option<HeaderValue>,
    /// The known version, as named by the server.
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
    /// Creates a transport. `certificates` are PEM, trusted in addition to the system's.
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Result<Self, Error> {
        let client = outside_client(certificates)?;
        Ok(Self { client, insecure })
    }

    /// Sends a request. Its answer may have any status.
    pub async fn send(&self, request: &Request) -> Result<Response, Error> {
        if is_exposed(&request.url) && !self.insecure {
            let message = format!("request to {} over plain HTTP", origin(&request.url));
            return Err(Error::configuration(message).by_setting(setting::PLAIN_HTTP));
        }
        let policy = Policy {
            retries: REPEATS,
            first_pause: PAUSE,
            longest_pause: LONGEST,
            deadline: DEADLINE.try_with(|at| *at).unwrap_or_else(|_| Instant::now() + LONGEST),
            idempotent: request.reads(),
            waits_for_rate_limit: true,
        };
        let attempt = || async move {
            match self.attempt(request).await {
                Ok(response) => {
                    let failed = Failed::of_status((), response.status(), response.headers());
                    if failed.retryable { Err(failed.map(|()| Ok(response))) } else { Ok(response) }
                }
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    Err(Failed::transient(Err(error)))
                }
                Err(error) => Err(Failed::permanent(Err(error))),
            }
        };
        // The last response may be a refusal, which the caller words.
        policy.run(attempt).await.or_else(|last| last)
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

    /// Follows the redirects of a response to a request that reads. Where they lead gets no credentials. The
    /// status is 304 if what the request names exists.
    pub async fn follow(
        &self,
        request: &Request,
        mut response: Response,
    ) -> Result<Response, Error> {
        let from = &request.url;
        let mut hop = Hop::get(from.clone(), HeaderMap::new(), MAX_REDIRECTS);
        while is_redirect(response.status()) {
            let to = location(&hop.url, &response)?;
            let is_safe =
                to.scheme() == "https" || from.scheme() == "http" && to.scheme() == "http";
            if !is_safe {
                let message = format!("redirect of {} to plain HTTP", origin(from));
                return Err(Error::protocol(message).with_hint("serve the content over TLS"));
            }
            hop.follow(response.status(), to).map_err(|_| {
                let message =
                    format!("too many redirects of {}: the limit is {MAX_REDIRECTS}", origin(from));
                Error::protocol(message).with_hint("check the address")
            })?;
            let unless = request.unless.clone();
            response = self.send(&Request { unless, ..Request::get(hop.url.clone()) }).await?;
        }
        Ok(response)
    }
}

/// Returns the target of a redirect.
pub(crate) fn location(url: &Url, response: &Response) -> Result<Url, Error> {
    let target = redirect::location(response.headers()).and_then(|text| url.join(text).ok());
    target.filter(Url::has_host).ok_or_else(|| {
        let message = format!("redirect of {} without an address", origin(url));
        Error::protocol(message).with_hint("check the address")
    })
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn body(url: &Url, response: Response, limit: u64) -> Result<Bytes, Error> {
    body::read(response, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => {
            let message =
                format!("response of {} exceeds the limit of {}", origin(url), size(limit));
            Error::too_large(message).with_hint("check the address")
        }
        Unread::Broken(error) => failure(url, error),
    })
}

/// Returns a successful response, or the error for its status.
pub(crate) fn success(what: &str, url: &Url, answer: Response) -> Result<Response, Error> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let host = origin(url);
    let (kind, message, hint) = match status {
        StatusCode::UNAUTHORIZED => (
            ErrorKind::Unauthenticated,
            format!("unauthenticated at {host}: {what}"),
            "log in with `docker login`",
        ),
        StatusCode::FORBIDDEN => (
            ErrorKind::PermissionDenied,
            format!("permission denied at {host}: {what}"),
            "check the permissions, or log in with `docker login` as a different user",
        ),
        StatusCode::NOT_FOUND => return Err(absent(what, url)),
        StatusCode::TOO_MANY_REQUESTS => {
            let asked = retry_after(answer.headers());
            let asked = asked.map(|time| format!(": retry after {}s", time.as_secs()));
            let message = format!("rate limited by {host}{}", asked.unwrap_or_default());
            (ErrorKind::RateLimited, message, "try again later")
        }
        status if status.is_server_error() => (
            ErrorKind::Unavailable,
            format!("{host} failed with status {}", status.as_u16()),
            "try again later",
        ),
        status => (
            ErrorKind::Protocol,
            format!("unexpected status of {host}: {} for {what}", status.as_u16()),
            "check the address",
        ),
    };
    Err(Error::new(kind, message).with_hint(hint))
}

/// Returns the error for missing content.
pub(crate) fn absent(what: &str, url: &Url) -> Error {
    let message = format!("not found at {}: {what}", origin(url));
    Error::not_found(message).with_hint("check the address and the credentials")
}

fn failure(url: &Url, error: reqwest::Error) -> Error {
    let host = origin(url);
    let message = if error.is_timeout() {
        format!("timed out waiting for {host}")
    } else if error.is_connect() {
        format!("can't connect to {host}")
    } else {
        format!("connection to {host} lost")
    };
    let hint = other_protocol(&error).unwrap_or("check the address and the network");
    Error::unavailable(message).with_source(Cause::of(&error)).with_hint(hint)
}

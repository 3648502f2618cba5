//! Redirects: their statuses, and their changes of a request.
//!
//! Owns the limit on redirects in a row, and that credentials stay with their origin. Where a redirect may
//! lead is the user's rule.

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Method, StatusCode};
use url::Url;

use super::origin::strip_credentials;

/// A request that may be redirected.
#[derive(Debug, Clone)]
pub struct Hop<'b> {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<&'b [u8]>,
    /// The number of redirects that may still be followed.
    pub redirects: usize,
}

/// The error of a request that is redirected too often.
#[derive(Debug, Clone, Copy)]
pub struct TooMany;

impl Hop<'_> {
    /// Creates a `GET` without a body.
    pub const fn get(url: Url, headers: HeaderMap, redirects: usize) -> Self {
        Self { method: Method::GET, url, headers, body: None, redirects }
    }

    /// Turns the request into the one for a redirect of this status.
    pub fn follow(&mut self, status: StatusCode, to: Url) -> Result<(), TooMany> {
        self.redirects = self.redirects.checked_sub(1).ok_or(TooMany)?;
        if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            self.body = None;
            if self.method != Method::HEAD {
                self.method = Method::GET;
            }
        }
        strip_credentials(&mut self.headers, &self.url, &to);
        self.url = to;
        Ok(())
    }
}

/// Returns `true` for a status with a redirect.
pub const fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns the target of a redirect, if the header is readable.
pub fn location(headers: &HeaderMap) -> Option<&str> {
    headers.get(LOCATION)?.to_str().ok()
}

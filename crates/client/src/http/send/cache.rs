//! Responses cached across evaluations, for requests with `cache`.
//!
//! Owns how long a response stays fresh (by `Cache-Control`, `Date` and `Expires`, or by the
//! request's own setting), and the limit on stored bytes.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rego::internal::builtins::{HttpRequest, HttpResponse};

/// The expected number of entries. It is small, so that the cache has one shard and a large response fits.
const FEW: usize = 16;

/// Responses by their requests, shared by evaluations.
#[derive(Debug)]
pub(super) struct HttpCache(Cache<String, Stored, Bytes>);

#[derive(Debug, Clone)]
struct Stored {
    response: HttpResponse,
    expires: SystemTime,
}

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<String, Stored> for Bytes {
    fn weight(&self, key: &String, Stored { response, .. }: &Stored) -> u64 {
        let headers = response.headers.iter().map(|(name, value)| name.len() + value.len());
        (key.len() + response.body.len() + headers.sum::<usize>() + 256) as u64
    }
}

/// The result of a look-up.
pub(super) enum CacheLookup {
    Nothing,
    Fresh(HttpResponse),
    /// The response must be revalidated.
    Stale(HttpResponse),
}

/// Statuses of responses that may be stored.
const CACHEABLE: [u16; 11] = [200, 203, 204, 206, 300, 301, 404, 405, 410, 414, 501];

impl HttpCache {
    /// Creates a cache of at most `most_bytes` bytes.
    pub(super) fn new(most_bytes: u64) -> Self {
        Self(Cache::with_weighter(FEW, most_bytes, Bytes))
    }

    pub(super) fn find(&self, key: &str, now: SystemTime) -> CacheLookup {
        match self.0.get(key) {
            None => CacheLookup::Nothing,
            Some(stored) if now < stored.expires => CacheLookup::Fresh(stored.response),
            Some(stored) => CacheLookup::Stale(stored.response),
        }
    }

    pub(super) fn forget(&self, key: &str) {
        self.0.remove(key);
    }

    /// Stores a response, if allowed, and evicts others.
    pub(super) fn keep(
        &self,
        key: &str,
        request: &HttpRequest,
        response: &HttpResponse,
        now: SystemTime,
    ) {
        if let Some(expires) = expires(request, response, now) {
            self.0.insert(key.to_owned(), Stored { response: response.clone(), expires });
        }
    }
}

/// Returns the time until which a response is fresh, or `None` if it may not be stored.
fn expires(request: &HttpRequest, response: &HttpResponse, now: SystemTime) -> Option<SystemTime> {
    if !CACHEABLE.contains(&response.status) {
        return None;
    }
    let header = response.header("cache-control").unwrap_or_default();
    let control = directives(&header);
    if let Some(seconds) = request.force_cache_seconds {
        return now.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?));
    }
    if control.contains_key("no-store") {
        return None;
    }
    let date = |name: &str| httpdate::parse_http_date(&response.header(name)?).ok();
    match control.get("max-age") {
        Some(age) => {
            let digits = !age.is_empty() && age.bytes().all(|byte| byte.is_ascii_digit());
            let most = u64::from(i32::MAX.unsigned_abs());
            let age = digits.then(|| age.parse::<u64>().unwrap_or(most).min(most))?;
            date("date")?.checked_add(Duration::from_secs(age))
        }
        // Without either it is stale at once, and the server is asked each time.
        None => Some(date("expires").unwrap_or(SystemTime::UNIX_EPOCH)),
    }
}

/// Parses the directives of `Cache-Control`, as OPA does.
fn directives(header: &str) -> HashMap<&str, &str> {
    header
        .split(',')
        .map(|part| part.trim_matches(' '))
        .filter(|part| !part.is_empty() && part.matches('=').count() <= 1)
        .map(|part| {
            part.split_once('=').map_or((part, ""), |(name, value)| (name.trim_matches(' '), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    fn response(headers: &[(&str, &str)]) -> HttpResponse {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        HttpResponse { status: 200, headers: headers.collect(), ..HttpResponse::default() }
    }

    #[test]
    fn a_response_is_fresh_as_long_as_its_headers_allow() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let date = httpdate::fmt_http_date(now);
        let until = |headers: &[(&str, &str)]| {
            let expires = expires(&HttpRequest::default(), &response(headers), now)?;
            Some(
                expires
                    .duration_since(now)
                    .map_or(-1, |left| i64::try_from(left.as_secs()).unwrap()),
            )
        };
        assert_eq!(until(&[("cache-control", "private, max-age=60"), ("date", &date)]), Some(60));
        assert_eq!(until(&[("cache-control", "max-age=60")]), None);
        assert_eq!(until(&[("cache-control", "max-age=x"), ("date", &date)]), None);
        assert_eq!(until(&[("cache-control", "no-store, max-age=60"), ("date", &date)]), None);
        assert_eq!(
            until(&[("expires", &httpdate::fmt_http_date(now + Duration::from_secs(5)))]),
            Some(5)
        );
        assert_eq!(until(&[]), Some(-1));
        let forced = HttpRequest { force_cache_seconds: Some(9), ..HttpRequest::default() };
        let expires = expires(&forced, &response(&[("cache-control", "no-store")]), now);
        assert_eq!(expires, Some(now + Duration::from_secs(9)));
    }

    #[test]
    fn the_oldest_responses_are_removed() {
        let cache = HttpCache::new(1000);
        let forced = HttpRequest { force_cache_seconds: Some(9), ..HttpRequest::default() };
        let now = SystemTime::UNIX_EPOCH;
        for key in ["a", "b", "c", "d"] {
            cache.keep(key, &forced, &response(&[]), now);
        }
        assert!(matches!(cache.find("a", now), CacheLookup::Nothing));
        assert!(matches!(cache.find("d", now), CacheLookup::Fresh(_)));
        let later = now + Duration::from_secs(10);
        assert!(matches!(cache.find("d", later), CacheLookup::Stale(_)));
        cache.forget("d");
        assert!(matches!(cache.find("d", now), CacheLookup::Nothing));
    }
}

//! The one retry policy.
//!
//! Owns which responses are retried, what `Retry-After` says, and the pauses between attempts. What differs
//! between its users is data: a [`Policy`], and a [`Failed`] for each attempt.

use std::time::{Duration, Instant, SystemTime};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder, Retryable as _};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::Error;

/// A failed attempt, with the facts for the retry loop.
#[derive(Debug)]
pub struct Failed<E = Error> {
    pub error: E,
    /// `true` if a safe call may be retried.
    pub retryable: bool,
    /// `true` if the request never reached the service.
    pub unsent: bool,
    /// `true` if the server limits the rate of requests.
    pub rate_limited: bool,
    pub retry_after: Option<Duration>,
    /// `true` if the service refused the credentials of this attempt.
    pub refused: bool,
}

impl<E> Failed<E> {
    pub const fn permanent(error: E) -> Self {
        Self {
            error,
            retryable: false,
            unsent: false,
            rate_limited: false,
            retry_after: None,
            refused: false,
        }
    }

    /// Creates a failure that a safe call may retry.
    pub fn transient(error: E) -> Self {
        Self { retryable: true, ..Self::permanent(error) }
    }

    /// Classifies a response that isn't a success: 408, 429 and 5xx may be retried, but not 501.
    pub fn of_status(error: E, status: StatusCode, headers: &HeaderMap) -> Self {
        let rate_limited = status == StatusCode::TOO_MANY_REQUESTS;
        let fails = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
        Self {
            retryable: fails || rate_limited || status == StatusCode::REQUEST_TIMEOUT,
            rate_limited,
            retry_after: retry_after(headers),
            ..Self::permanent(error)
        }
    }

    /// Converts the error.
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failed<F> {
        let Self { error, retryable, unsent, rate_limited, retry_after, refused } = self;
        Failed { error: convert(error), retryable, unsent, rate_limited, retry_after, refused }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::permanent(error)
    }
}

/// Reads `Retry-After`, in seconds or as a date; a date in the past means now.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The number of attempts, the pauses between them, and their deadline.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Attempts after the first.
    pub retries: usize,
    /// The first pause; each further one is twice as long, with jitter.
    pub first_pause: Duration,
    /// The longest pause, unless the server asks for a longer one.
    pub longest_pause: Duration,
    pub deadline: Instant,
    /// `true` if a request that may have arrived can be sent again.
    pub idempotent: bool,
    /// `true` if rate-limited requests are sent again until the deadline. The server didn't process them, so
    /// they don't count as attempts and are safe to repeat.
    pub waits_for_rate_limit: bool,
}

impl Policy {
    fn allows<E>(self, failed: &Failed<E>) -> bool {
        // A request that never arrived is safe to repeat, even if it isn't idempotent.
        let is_safe = self.idempotent || failed.unsent || self.is_waited_for(failed);
        failed.retryable && is_safe
    }

    const fn is_waited_for<E>(self, failed: &Failed<E>) -> bool {
        self.waits_for_rate_limit && failed.rate_limited
    }

    /// Returns the pause before the next attempt; `None` if it would exceed the deadline.
    fn pause<E>(self, failed: &Failed<E>, planned: Option<Duration>) -> Option<Duration> {
        let pause = planned?.max(failed.retry_after.unwrap_or_default());
        let left = self.deadline.saturating_duration_since(Instant::now());
        // A retry beyond the deadline would only replace this failure by a timeout.
        (pause < left).then_some(pause)
    }

    /// Runs `attempt` until it succeeds, fails permanently, or time or attempts are used up.
    pub async fn run<T, E, F, Fut>(self, attempt: F) -> Result<T, E>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, Failed<E>>>,
    {
        let mut left = self.retries;
        attempt
            .retry(pauses(self.first_pause, self.longest_pause))
            .sleep(tokio::time::sleep)
            .when(|failed| self.allows(failed))
            .adjust(|failed, planned| {
                if !self.is_waited_for(failed) {
                    left = left.checked_sub(1)?;
                }
                self.pause(failed, planned)
            })
            .notify(|failed, pause| {
                tracing::debug!(?pause, failed.unsent, failed.rate_limited, "retrying");
            })
            .await
            .map_err(|failed| failed.error)
    }
}

/// Returns the pauses between attempts, without end: each is twice as long as the one before, with jitter.
pub fn pauses(first: Duration, longest: Duration) -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(first)
        .with_max_delay(longest)
        .without_max_times()
        .with_jitter()
        .build()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use super::*;
    use crate::ErrorKind;

    fn policy(idempotent: bool, seconds: u64) -> Policy {
        Policy {
            retries: 3,
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_secs(5),
            deadline: Instant::now() + Duration::from_secs(seconds),
            idempotent,
            waits_for_rate_limit: false,
        }
    }

    fn failed(retryable: bool, unsent: bool, retry_after: Option<Duration>) -> Failed {
        let error = Error::rate_limited("no");
        Failed { retryable, unsent, retry_after, ..Failed::permanent(error) }
    }

    async fn attempts(policy: Policy, make: impl Fn() -> Failed) -> u32 {
        let count = Cell::new(0);
        let result: Result<(), _> = policy
            .run(|| {
                count.set(count.get() + 1);
                std::future::ready(Err(make()))
            })
            .await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::RateLimited);
        count.get()
    }

    #[tokio::test]
    async fn only_safe_requests_are_retried() {
        assert_eq!(attempts(policy(true, 60), || failed(true, false, None)).await, 4);
        assert_eq!(attempts(policy(true, 60), || failed(false, false, None)).await, 1);
        assert_eq!(attempts(policy(false, 60), || failed(true, false, None)).await, 1);
        assert_eq!(attempts(policy(false, 60), || failed(true, true, None)).await, 4);
    }

    #[tokio::test]
    async fn a_pause_beyond_the_deadline_ends_the_call_with_its_failure() {
        let year = Some(Duration::from_hours(365 * 24));
        assert_eq!(attempts(policy(true, 60), || failed(true, false, year)).await, 1);
    }

    #[tokio::test]
    async fn a_rate_limit_is_waited_for_if_the_user_wants_it() {
        let policy = Policy { retries: 0, waits_for_rate_limit: true, ..policy(false, 1) };
        let limited = || Failed { rate_limited: true, ..failed(true, false, None) };
        assert!(attempts(policy, limited).await > 2);
        assert_eq!(attempts(policy, || failed(true, false, None)).await, 1);
    }

    fn headers(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())])
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after(&headers("7")), Some(Duration::from_secs(7)));
        let past = headers("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(retry_after(&past), Some(Duration::ZERO));
        for bad in ["-1", "soon", "1.5", "99999999999999999999999"] {
            assert_eq!(retry_after(&headers(bad)), None, "{bad}");
        }
    }
}

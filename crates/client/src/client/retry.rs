//! The one retry loop.
//!
//! Owns which failures are retried, and the pauses between attempts. `transport` classifies
//! failures; the caller decides which requests are safe to repeat.

use std::future::Future;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder, Retryable as _};

use super::transport::Failed;
use crate::Error;

/// The longest pause between two attempts, unless the service asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The number of attempts, and their deadline.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Attempts after the first.
    pub retries: usize,
    /// The first pause; each further one is twice as long, with jitter.
    pub first_pause: Duration,
    pub deadline: Instant,
    /// `true` if a request that may have arrived can be sent again.
    pub idempotent: bool,
}

impl Policy {
    fn allows(self, failed: &Failed) -> bool {
        failed.retryable && (self.idempotent || failed.unsent)
    }

    /// Returns the pause before the next attempt, or `None` if it would outlast the deadline: then
    /// the failure itself is the better answer.
    fn pause(self, failed: &Failed, planned: Option<Duration>) -> Option<Duration> {
        let pause = planned?.max(failed.retry_after.unwrap_or_default());
        let left = self.deadline.saturating_duration_since(Instant::now());
        (pause < left).then_some(pause)
    }

    /// Runs `attempt` until it succeeds, fails for good, or time or attempts are used up.
    pub async fn run<T, F, Fut>(self, attempt: F) -> Result<T, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, Failed>>,
    {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.first_pause)
            .with_max_delay(LONGEST_PAUSE)
            .with_max_times(self.retries)
            .with_jitter();
        attempt
            .retry(pauses.build())
            .sleep(tokio::time::sleep)
            .when(|failed| self.allows(failed))
            .adjust(|failed, planned| self.pause(failed, planned))
            .notify(|failed, pause| {
                tracing::debug!(error = %failed.error.report(), ?pause, "trying again");
            })
            .await
            .map_err(|failed| failed.error)
    }
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
            deadline: Instant::now() + Duration::from_secs(seconds),
            idempotent,
        }
    }

    fn failed(retryable: bool, unsent: bool, retry_after: Option<Duration>) -> Failed {
        let error = Error::new(ErrorKind::RateLimited, "no");
        Failed { error, retryable, unsent, retry_after, refused: false }
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
}

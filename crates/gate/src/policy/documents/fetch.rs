//! Fetches of policy documents' modules over `https://`.
//!
//! It is sent as a policy's own request: only to a host that is allowed, within the same limits, without a
//! token and without following redirects. Whether its digest is the right one is checked by whoever asks.

use std::time::Duration;

use rego_platform::Error;
use rego_platform::http::Http;
use rego_platform::setting::ALLOWED_HOSTS;

/// The time limit for the complete response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the body of a response with the status 200.
pub(super) fn fetch(address: &str, http: Option<&Http>) -> Result<Vec<u8>, Error> {
    let allowed = http.filter(|http| !http.allowed().is_empty()).ok_or_else(|| {
        let message = "not enabled: no host is allowed";
        Error::not_answered(message).by_setting(ALLOWED_HOSTS).in_call("http.send")
    })?;
    allowed.fetch(address, TIMEOUT)
}

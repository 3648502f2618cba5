//! Fetching a module of a policy document by `https://`.
//!
//! It is sent as a policy's own request: only to a host that is allowed, within the same limits, without a
//! token and without following redirects. Whether its digest is the right one is checked by whoever asks.

use std::time::Duration;

use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::sources::Sources;
use rego_platform::{Error, ErrorKind};

/// The time in which the whole response has to come.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the body of a response with the status 200.
pub(super) fn fetch(address: &str, http: Option<&Http>) -> Result<Vec<u8>, Error> {
    let request = [("method", "GET"), ("url", address)];
    let request: Object =
        request.into_iter().map(|(name, text)| (Value::from(name), Value::from(text))).collect();
    let policies = Policies::load(&Sources::default(), LoadOptions::default())?;
    let query = policies.query(&format!("http.send({})", Value::from(request).to_json()))?;
    let nobody = "no module of the service is fetched".to_owned();
    let mut options = EvaluateOptions::new(Answers::Unavailable(nobody));
    options.http = http.cloned();
    options.strict_builtin_errors = true;
    options.budget.timeout = TIMEOUT;
    let output = policies.evaluate(&query, None, &options).result?;
    let response = output.value().unwrap_or(&Value::Null);
    let status = response.get_str("status_code").map(ToString::to_string);
    match (status.as_deref(), response.get_str("raw_body").and_then(Value::as_str)) {
        (Some("200"), Some(body)) => Ok(body.as_bytes().to_vec()),
        (status, _) => {
            let status = status.unwrap_or("none");
            Err(Error::new(ErrorKind::Unavailable, format!("the response has the status {status}")))
        }
    }
}

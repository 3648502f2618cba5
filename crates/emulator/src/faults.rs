//! Faults on request: delays, refusals, cut and wrong bodies, resets.
//!
//! Owns the definition of a fault, its text form for the command line, and the requests that it
//! affects. `inject` applies it to an answer.

use std::str::FromStr;
use std::time::Duration;

use parking_lot::Mutex;

use super::refusal::Address;
use crate::Error;

/// A route of the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RouteKind {
    /// `GET {controlplane_url}/discover/…`, and its method of gRPC
    Discover,
    /// `GET {controlplane_url}/download/…`, and its methods of gRPC
    Download,
    /// `GET {controlplane_url}/infoz`, and its method of gRPC
    Infoz,
    /// `GET {base_url}/v1/evidence`
    Evidence,
    /// `GET {base_url}/v1/compliance/project`
    Compliance,
    /// `POST {base_url}/v1/agents/evaluate-evidence`
    Prompt,
    /// `GET {base_url}/v1/operations/…`
    Operations,
    /// `GET {base_url}/v1/products…`, the list and one version
    Products,
    /// `GET {base_url}/v1/projects`
    Projects,
    /// `GET {base_url}/v1/environments`
    Environments,
    /// `POST {base_url}/v1/assessments/revisions/…/approve`
    Approve,
    /// `GET {base_url}/v1/compliance/product`
    ProductCompliance,
    /// `GET {base_url}/v1/findings`
    Findings,
    /// `POST {base_url}/v1/assessments/list-effective`
    EffectiveAssessments,
    /// `GET …/openapi.yaml` on either address
    Openapi,
    /// The content store, over HTTP and gRPC
    Store,
}

const ROUTES: &[(&str, RouteKind, Address, &str)] = &[
    ("discover", RouteKind::Discover, Address::ControlPlane, "/discover/"),
    ("discover", RouteKind::Discover, Address::Grpc, "/controlplane.v1.ReferrerService/"),
    ("download", RouteKind::Download, Address::ControlPlane, "/download/"),
    (
        "download",
        RouteKind::Download,
        Address::ControlPlane,
        "/controlplane.v1.CASRedirectService/",
    ),
    ("download", RouteKind::Download, Address::Grpc, "/controlplane.v1.CASRedirectService/"),
    ("download", RouteKind::Download, Address::Grpc, "/controlplane.v1.CASCredentialsService/"),
    ("infoz", RouteKind::Infoz, Address::ControlPlane, "/infoz"),
    ("infoz", RouteKind::Infoz, Address::Grpc, "/controlplane.v1.StatusService/"),
    ("evidence", RouteKind::Evidence, Address::Backend, "/v1/evidence"),
    ("compliance", RouteKind::Compliance, Address::Backend, "/v1/compliance/project"),
    ("prompt", RouteKind::Prompt, Address::Backend, "/v1/agents/evaluate-evidence"),
    ("operations", RouteKind::Operations, Address::Backend, "/v1/operations/"),
    ("products", RouteKind::Products, Address::Backend, "/v1/products"),
    ("projects", RouteKind::Projects, Address::Backend, "/v1/projects"),
    ("environments", RouteKind::Environments, Address::Backend, "/v1/environments"),
    ("approve", RouteKind::Approve, Address::Backend, "/v1/assessments/revisions/"),
    (
        "product-compliance",
        RouteKind::ProductCompliance,
        Address::Backend,
        "/v1/compliance/product",
    ),
    ("findings", RouteKind::Findings, Address::Backend, "/v1/findings"),
    (
        "effective-assessments",
        RouteKind::EffectiveAssessments,
        Address::Backend,
        "/v1/assessments/list-effective",
    ),
    ("openapi", RouteKind::Openapi, Address::Backend, "/openapi.yaml"),
    ("openapi", RouteKind::Openapi, Address::ControlPlane, "/openapi.yaml"),
    ("store", RouteKind::Store, Address::Store, "/"),
];

/// The requests that a fault can affect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultTarget {
    /// Every request, `*` as text.
    Any,
    /// The requests of one route.
    Route(RouteKind),
    /// The requests whose path starts with this, at any address.
    Path(String),
}

/// The effect of a fault on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A delay before the response.
    Latency(Duration),
    /// This status instead of the response.
    Status {
        /// The HTTP status code.
        status: u16,
        /// Headers, such as `retry-after`.
        headers: Vec<(String, String)>,
        /// The body; without one it is an error body in the form of the address.
        body: Option<String>,
    },
    /// The connection ends after this many bytes of the body, short of its `Content-Length`.
    CutBody(usize),
    /// Nothing is sent after this many bytes of the body, and the connection stays open.
    StallBody(usize),
    /// A body of the right length with a wrong byte.
    WrongBytes,
    /// The connection is reset instead of a response.
    Reset,
}

/// A fault, and the requests that it affects.
///
/// As text: the target, the effect, and options, joined by colons, such as
/// `discover:status=503:count=2`, `store:wrong-bytes`, `evidence:latency=200ms`,
/// `download:cut=100`, `/discover/sha256:ab:reset`, `*:status=429:retry-after=1:after=3`,
/// `evidence:status=200:body={}` (`body=` takes the whole rest).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The requests that it can affect.
    pub target: FaultTarget,
    /// Restricts it to requests with this method.
    pub method: Option<String>,
    /// The number of matching requests that are served before the first is affected.
    pub after: u32,
    /// The number of requests that are affected; all unless set.
    pub count: Option<u32>,
    /// The effect.
    pub kind: FaultKind,
}

impl Fault {
    /// Creates a fault that affects every request of `target`.
    pub fn new(target: FaultTarget, kind: FaultKind) -> Self {
        Self { target, method: None, after: 0, count: None, kind }
    }

    fn matches(&self, api: Address, method: &str, path: &str) -> bool {
        let target = match &self.target {
            FaultTarget::Any => true,
            FaultTarget::Path(prefix) => path.starts_with(prefix.as_str()),
            FaultTarget::Route(kind) => ROUTES.iter().any(|(_, route, at, prefix)| {
                route == kind && *at == api && path.starts_with(prefix)
            }),
        };
        target && self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
    }
}

/// The faults of an emulator, each with the number of requests that it has matched.
#[derive(Default)]
pub(super) struct FaultSet(Mutex<Vec<(Fault, u32)>>);

impl FaultSet {
    pub fn set(&self, faults: Vec<Fault>) {
        let faults = faults.into_iter().map(|fault| (fault, 0)).collect();
        *self.0.lock() = faults;
    }

    /// Returns the effect of the faults on this request: the sum of all delays, and the first fault
    /// of another kind.
    pub fn pick(&self, api: Address, method: &str, path: &str) -> (Duration, Option<FaultKind>) {
        let mut faults = self.0.lock();
        let mut delay = Duration::ZERO;
        let mut picked = None;
        for (fault, matched) in
            faults.iter_mut().filter(|(fault, _)| fault.matches(api, method, path))
        {
            let number = *matched;
            // A fault behind another one doesn't count the request.
            match &fault.kind {
                FaultKind::Latency(_) => {}
                _ if picked.is_some() => continue,
                _ => {}
            }
            *matched = matched.saturating_add(1);
            let end = fault.count.map_or(u32::MAX, |count| fault.after.saturating_add(count));
            if number < fault.after || number >= end {
                continue;
            }
            match &fault.kind {
                FaultKind::Latency(time) => delay += *time,
                other => picked = Some(other.clone()),
            }
        }
        (delay, picked)
    }
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|problem| Error::Fault { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Fault, String> {
    let (target, mut rest) = split_target(text)?;
    let mut fault = Fault::new(target, FaultKind::Reset);
    let mut kind: Option<FaultKind> = None;
    let mut headers = Vec::new();
    let mut body = None;
    while let Some(all) = rest {
        let (part, next) = match all.split_once(':') {
            Some((part, next)) if !all.starts_with("body=") => (part, Some(next)),
            _ => (all, None),
        };
        rest = next;
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let known = match key {
            "latency" => Some(FaultKind::Latency(duration(value)?)),
            "status" => {
                let status = number(key, value)?;
                let status = u16::try_from(status).ok().filter(|s| (200..600).contains(s));
                let status = status.ok_or_else(|| format!("`{value}` isn't a final status"))?;
                Some(FaultKind::Status { status, headers: Vec::new(), body: None })
            }
            "cut" => Some(FaultKind::CutBody(number(key, value)? as usize)),
            "stall" => Some(FaultKind::StallBody(number(key, value)? as usize)),
            "wrong-bytes" if part == key => Some(FaultKind::WrongBytes),
            "reset" if part == key => Some(FaultKind::Reset),
            _ => None,
        };
        if known.is_some() {
            if kind.is_some() {
                return Err("more than one effect".to_owned());
            }
            kind = known;
            continue;
        }
        match key {
            "count" => fault.count = Some(number(key, value)?),
            "after" => fault.after = number(key, value)?,
            "method" => fault.method = Some(value.to_ascii_uppercase()),
            "retry-after" => headers.push(("retry-after".to_owned(), value.to_owned())),
            "header" => {
                let (name, value) = value.split_once('=').ok_or_else(|| {
                    format!("invalid header `{part}`: expected header=NAME=VALUE")
                })?;
                headers.push((name.to_owned(), value.to_owned()));
            }
            "body" => body = Some(value.to_owned()),
            _ => return Err(format!("unknown effect `{}`", rego::internal::text::escape(part))),
        }
    }
    fault.kind = complete(kind, headers, body)?;
    Ok(fault)
}

/// Adds headers and body to a fault with a status.
fn complete(
    kind: Option<FaultKind>,
    extra_headers: Vec<(String, String)>,
    extra_body: Option<String>,
) -> Result<FaultKind, String> {
    for (name, value) in &extra_headers {
        let name = axum::http::HeaderName::from_str(name).is_ok();
        if !name || axum::http::HeaderValue::from_str(value).is_err() {
            return Err("invalid character in a header".to_owned());
        }
    }
    match kind {
        Some(FaultKind::Status { status, .. }) => {
            Ok(FaultKind::Status { status, headers: extra_headers, body: extra_body })
        }
        Some(_) if !extra_headers.is_empty() || extra_body.is_some() => {
            Err("headers or a body without `status=`".to_owned())
        }
        Some(kind) => Ok(kind),
        None => Err("no effect".to_owned()),
    }
}

/// Splits off the target from the rest behind its colon. A path may contain colons.
fn split_target(text: &str) -> Result<(FaultTarget, Option<&str>), String> {
    const EFFECTS: [&str; 6] = ["latency=", "status=", "cut=", "stall=", "wrong-bytes", "reset"];
    if text.starts_with('/') {
        let starts = text.match_indices(':').map(|(index, _)| index);
        let split = starts.filter_map(|index| Some((text.get(..index)?, text.get(index + 1..)?)));
        let mut split =
            split.filter(|(_, rest)| EFFECTS.iter().any(|effect| rest.starts_with(effect)));
        let (path, rest) = split.next().ok_or("no effect")?;
        return Ok((FaultTarget::Path(path.to_owned()), Some(rest)));
    }
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    if name == "*" {
        return Ok((FaultTarget::Any, rest));
    }
    if let Some((_, kind, ..)) = ROUTES.iter().find(|(known, ..)| *known == name) {
        return Ok((FaultTarget::Route(*kind), rest));
    }
    let mut names: Vec<&str> = ROUTES.iter().map(|(known, ..)| *known).collect();
    names.dedup();
    let (name, names) = (rego::internal::text::escape(name), names.join(", "));
    Err(format!("unknown route `{name}`: expected {names}, `*` or a path"))
}

fn number(key: &str, value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("invalid `{key}`: expected a whole number"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let (digits, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => ("", 1),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("invalid time `{text}`: expected one such as `200ms` or `2s`"))?;
    Ok(Duration::from_millis(number.saturating_mul(scale)))
}

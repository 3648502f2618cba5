//! The signed URL of an artifact by gRPC-Web: the way for API tokens, which `GET /download` refuses.
//!
//! Owns the few bytes of one message in each direction. Whatever isn't a success with a URL is nothing:
//! the refusal stands.

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode};
use url::Url;

use super::transport::Request;
use super::{Api, Client, Context, Endpoint, Token};

/// The endpoint of the method. It has no name in the configuration, since the path is the same for every
/// service.
const GET_DOWNLOAD_URL: Endpoint = Endpoint {
    name: "",
    api: Api::ControlPlane,
    path: "/controlplane.v1.CASRedirectService/GetDownloadURL",
};

const MEDIA_TYPE: &str = "application/grpc-web+proto";

/// The largest response: a URL, and a status.
const MAX_ANSWER: u64 = 128 << 10;

/// The flag of the frame with the trailers.
const TRAILERS: u8 = 0x80;

/// Asks for the URL of the content of a digest.
pub async fn download_url(
    client: &Client,
    context: &Context,
    digest: &str,
    token: &Token,
) -> Option<String> {
    let settings = &client.settings;
    let none: &[&str] = &[];
    let url = settings.endpoints.url(GET_DOWNLOAD_URL, none, &settings.product).ok()?;
    // The digest is the first field, a text.
    let message = [&[0x0a, u8::try_from(digest.len()).ok()?], digest.as_bytes()].concat();
    let length = u32::try_from(message.len()).ok()?.to_be_bytes();
    let request = Request {
        method: Method::POST,
        url,
        body: Some([&[0], &length[..], &message].concat().into()),
        accept: MEDIA_TYPE,
        content_type: MEDIA_TYPE,
        authorization: Some(token.header().ok()?),
        organization: client.organization(token),
        template: Some(GET_DOWNLOAD_URL.path),
        trace: context.trace.clone(),
        deadline: context.deadline,
    };
    let reply = client.exchange(context, request).await.ok()?;
    let media_type = reply.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if reply.status != StatusCode::OK || !media_type.starts_with(b"application/grpc-web") {
        return None;
    }
    let mut body = Vec::new();
    context.read(reply.body(MAX_ANSWER), &mut body).await.ok()?;
    signed_url(&body)
}

/// Returns the URL of a response that is a success.
fn signed_url(body: &[u8]) -> Option<String> {
    let (flag, message, rest) = frame(body)?;
    let (last, trailers, _) = frame(rest)?;
    let trailers = std::str::from_utf8(trailers).ok()?;
    let is_success = trailers.lines().any(|line| {
        let line = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        line.is_some_and(|(name, value)| name.eq_ignore_ascii_case("grpc-status") && value == "0")
    });
    if flag != 0 || last != TRAILERS || !is_success {
        return None;
    }
    let url = field(field(message, 1)?, 2)?;
    let url = std::str::from_utf8(url).ok().filter(|url| Url::parse(url).is_ok())?;
    Some(url.to_owned())
}

/// Splits off a frame into flag and content.
fn frame(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let ([flag, length @ ..], rest) = bytes.split_first_chunk::<5>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*flag, content, rest))
}

/// Returns the content of a string or message field.
fn field(mut message: &[u8], wanted: u64) -> Option<&[u8]> {
    loop {
        let key = varint(&mut message)?;
        let skipped = match key & 7 {
            0 => {
                varint(&mut message)?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (content, rest) = message.split_at_checked(skipped)?;
        if key == (wanted << 3 | 2) {
            return Some(content);
        }
        message = rest;
    }
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn framed(flag: u8, content: &[u8]) -> Vec<u8> {
        [&[flag], &u32::try_from(content.len()).unwrap().to_be_bytes()[..], content].concat()
    }

    #[test]
    fn only_a_success_with_a_url_is_one() {
        let url = b"https://a.example/?x=1";
        let result = [&[0x12, 22], &url[..]].concat();
        // A field that a newer service adds comes first.
        let message = [&[0x18, 0x96, 0x01, 0x0a, 24], &result[..]].concat();
        let good = framed(0, &message);
        let ok = framed(TRAILERS, b"grpc-status: 0\r\n");
        let answer = [good.clone(), ok.clone()].concat();
        assert_eq!(signed_url(&answer).unwrap().as_bytes(), url);
        for end in 0..answer.len() {
            assert_eq!(answer.get(..end).and_then(signed_url), None, "{end}");
        }
        let refused = framed(TRAILERS, b"grpc-status:7\r\ngrpc-message:no\r\n");
        for bad in [
            [good.clone(), refused.clone()].concat(),
            refused,
            [good.clone(), good].concat(),
            [framed(0, b""), ok.clone()].concat(),
            [framed(0, &[0x0a, 2, 0x12, 0]), ok.clone()].concat(),
            [framed(0, &[0xff; 40]), ok].concat(),
        ] {
            assert_eq!(signed_url(&bad), None, "{bad:?}");
        }
    }
}

//! `providers.aws.sign_req`: signing requests to AWS (Signature Version 4).

use std::collections::BTreeMap;

use chrono::DateTime;

use super::crypto::signature::{Hash, mac};
use super::encoding_rules::hex;
use super::http::check_members;
use super::operands::{answer, object, operand, operand_error};
use super::uri::Url;
use super::{Answer, Context, Error};
use crate::value::{Object, Set, Value, lossy};

const REQUIRED: [&str; 4] =
    ["aws_access_key", "aws_region", "aws_secret_access_key", "aws_service"];

/// Headers that proxies may change, which aren't signed.
const UNSIGNED: [&str; 3] = ["authorization", "user-agent", "x-amzn-trace-id"];

pub(super) fn sign_req(ctx: &dyn Context, args: &[Value]) -> Answer {
    let request = object(args, 0)?;
    let config = operand(args, 1)?;
    // OPA reports the configuration and the time as the first operand, too.
    let Value::Object(config) = config else {
        return Err(Error::operand(1, config, &["object"]));
    };
    check_config(config)?;
    let time = operand(args, 2)?;
    let time = time.as_number().ok_or_else(|| Error::operand(1, time, &["number"]))?;
    let time = time
        .as_i64()
        .ok_or_else(|| operand_error(3, "could not convert time_ns value into a unix timestamp"))?;
    check_members(request, 1)?;
    let get = |name: &str| request.get(&Value::from(name));
    let headers = match get("headers") {
        None => Object::new(),
        Some(Value::Object(headers)) => (**headers).clone(),
        Some(other) => return Err(Error::operand(0, other, &["object"])),
    };
    let invalid: Set = ["method", "url"]
        .into_iter()
        .filter(|name| get(name).is_none_or(|value| value.as_str().is_none()))
        .map(Value::from)
        .collect();
    if !invalid.is_empty() {
        let invalid = Value::from(invalid);
        let what = format!("invalid values for required request parameters(s): {invalid}");
        return Err(operand_error(1, &what));
    }
    let text = |object: &Object, name: &str| {
        let value = object.get(&Value::from(name)).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let url = Url::parse(&text(request, "url")).map_err(Error::failed)?;
    let body = match (get("raw_body"), get("body")) {
        (Some(_), _) => text(request, "raw_body"),
        (None, Some(body)) => {
            ctx.charge(body.size())?;
            body.to_go_json()
        }
        (None, None) => String::new(),
    };
    let unsigned_body = match config.get(&Value::from("disable_payload_signing")) {
        None => false,
        Some(Value::Bool(unsigned)) => *unsigned,
        Some(_) => {
            return Err(operand_error(
                2,
                "invalid value for 'disable_payload_signing' in AWS config",
            ));
        }
    };

    // A name or value that isn't a string is signed, and sent, as an empty one.
    let mut out: BTreeMap<String, String> = headers
        .iter()
        .map(|(name, value)| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(name), text(value))
        })
        .collect();
    let body_hash = if unsigned_body {
        "UNSIGNED-PAYLOAD".to_owned()
    } else {
        hex(&Hash::Sha256.digest(body.as_bytes()))
    };
    let moment = DateTime::from_timestamp_nanos(time);
    let (day, moment) = (moment.format("%Y%m%d"), moment.format("%Y%m%dT%H%M%SZ"));
    let service = text(config, "aws_service");
    let mut own = BTreeMap::from([
        ("host".to_owned(), lossy(&url.host)),
        ("x-amz-date".to_owned(), moment.to_string()),
    ]);
    if service == "s3" || service == "glacier" {
        own.insert("x-amz-content-sha256".to_owned(), body_hash.clone());
    }
    let token = text(config, "aws_session_token");
    if !token.is_empty() {
        own.insert("x-amz-security-token".to_owned(), token);
    }
    let mut signed = own.clone();
    for (name, value) in &out {
        let name = name.to_lowercase();
        if !UNSIGNED.contains(&name.as_str()) {
            signed.insert(name, value.clone());
        }
    }

    let names = signed.keys().map(String::as_str).collect::<Vec<_>>().join(";");
    let lines: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let (method, path, query) = (text(request, "method"), url.escaped_path(), &url.raw_query);
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{body_hash}");
    let region = text(config, "aws_region");
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let canonical_hash = hex(&Hash::Sha256.digest(canonical.as_bytes()));
    let to_sign = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{canonical_hash}");
    let secret = format!("AWS4{}", text(config, "aws_secret_access_key"));
    let steps = [day.to_string(), region, service, "aws4_request".to_owned(), to_sign];
    let signature = steps
        .iter()
        .fold(secret.into_bytes(), |key, step| mac(Hash::Sha256, &key, step.as_bytes()));
    let access = text(config, "aws_access_key");
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={access}/{scope},SignedHeaders={names},Signature={}",
        hex(&signature)
    );

    out.insert("Authorization".to_owned(), authorization);
    out.extend(own);
    let out: Object =
        out.into_iter().map(|(name, value)| (Value::from(name), Value::from(value))).collect();
    let mut request = request.clone();
    request.insert(Value::from("headers"), Value::from(out));
    answer(request)
}

fn check_config(config: &Object) -> Result<(), Error> {
    let check = |what: &str, bad: fn(Option<&Value>) -> bool| {
        let names = REQUIRED.into_iter().map(Value::from);
        let names: Set = names.filter(|name| bad(config.get(name))).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = Value::from(names);
        Err(operand_error(2, &format!("{what} required AWS config parameters(s): {names}")))
    };
    check("missing", |value| value.is_none())?;
    check("invalid values for", |value| value.is_some_and(|value| value.as_str().is_none()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn an_incomplete_config_names_the_missing_parameters() {
        let config = Value::from_json(r#"{"aws_service":"s3","aws_region":1}"#).unwrap();
        let error = check_config(config.as_object().unwrap()).unwrap_err();
        assert_eq!(
            error.message,
            "operand 2 missing required AWS config parameters(s): {\"aws_access_key\", \"aws_secret_access_key\"}"
        );
    }
}

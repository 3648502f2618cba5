//! `opa.runtime`: the runtime information from the host, without secrets.

use super::operands::answer;
use super::{Answer, Context, Error};
use crate::value::{Object, Shared, Value};

pub(super) fn runtime(ctx: &dyn Context, _: &[Value]) -> Answer {
    let mut info = ctx.runtime();
    let config = info.get_str("config").cloned();
    if let (Some(Value::Object(config)), Value::Object(object)) = (config, &mut info) {
        let config = without_secrets((*config).clone())?;
        Shared::make_mut(object).insert(Value::from("config"), Value::from(config));
    }
    answer(info)
}

/// Removes the credentials of services and the private keys from a configuration.
fn without_secrets(mut config: Object) -> Result<Object, Error> {
    for (name, secrets, lists) in
        [("services", &["credentials"][..], true), ("keys", &["key", "private_key"], false)]
    {
        let parts = match config.get_mut(&Value::from(name)) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(parts)) => {
                Shared::make_mut(parts).iter_mut().map(|(_, part)| part).collect::<Vec<_>>()
            }
            Some(Value::Array(parts)) if lists => Shared::make_mut(parts).iter_mut().collect(),
            Some(_) => return Err(Error::failed(format!("illegal {name} config type"))),
        };
        for part in parts {
            let Value::Object(part) = part else {
                return Err(Error::failed("type assertion error"));
            };
            for secret in secrets {
                Shared::make_mut(part).remove(&Value::from(*secret));
            }
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn secrets_are_removed_from_the_config() {
        let config = Value::from_json(
            r#"{"services":[{"url":"u","credentials":1}],"keys":{"k":{"private_key":1,"a":2}}}"#,
        );
        let config = without_secrets(config.unwrap().as_object().unwrap().clone()).unwrap();
        assert_eq!(
            Value::from(config).to_json(),
            r#"{"keys":{"k":{"a":2}},"services":[{"url":"u"}]}"#
        );
    }
}

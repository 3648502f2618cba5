//! `effective_assessments(request)`: the effective assessments of vulnerabilities in a project.

use std::sync::Arc;

use bytes::Bytes;

use super::arguments::{Invalid, argument, filters, list, text};
use super::enumeration::FINDING_TYPE;
use super::{AnswerFuture, Argument, Cost, Field, Function, Origin, Request, Type};
use crate::Error;
use crate::client::{
    ApiRequest, Client, Context, EFFECTIVE_ASSESSMENTS, EnvelopeSeed, Row, Rows, parse as read,
};
use crate::rego::Value;
use crate::rego::value::Object;

pub(crate) static LOOKUP: &[Field] = &[
    Field::required("external_id", Type::String, "the name of the vulnerability or rule"),
    Field::optional("identity", Type::String, "what it is in, such as a package"),
];

/// A lookup as the service repeats it, with the default of what it leaves out.
pub(crate) static LOOKED_UP: &[Field] = &[
    Field::required("external_id", Type::String, "the name of the vulnerability or rule"),
    Field::required("identity", Type::String, "what it is in, such as a package"),
];

static REQUEST: &[Field] = &[
    Field::required("project_name", Type::String, "the name of the project"),
    Field::optional("project_version_name", Type::String, "the name of the project's version"),
    Field::optional("finding_type", Type::String, "the type of the findings"),
    Field::required(
        "lookups",
        Type::Array(&Type::Object(LOOKUP)),
        "what is looked up, at least one",
    ),
];

pub(crate) static EFFECTIVE: &[Field] = &[
    Field::required("lookup", Type::Object(LOOKED_UP), "what was looked up"),
    Field::required("effective_status", Type::String, "the status that the assessments result in"),
    Field::required("assessments", Type::Array(&Type::Map(&Type::Any)), "the assessments"),
];

pub(super) static FUNCTION: Function = Function {
    name: "effective_assessments",
    arguments: &[Argument {
        name: "request",
        ty: Type::Object(REQUEST),
        doc: "the project, and what is looked up in it",
    }],
    result: Type::Array(&Type::Object(EFFECTIVE)),
    summary: "what the assessments of a project say of findings",
    doc: "Sent as a POST that only reads, so that it may be sent again. `finding_type` may be given \
          without its prefix. A result about something else than was looked up is an error. From the vendor's \
          public API reference, not the interface; that the result is this array is assumed. Needs a paid plan.",
    cost: Cost::Request,
    api: EFFECTIVE_ASSESSMENTS.api,
    paid_plan: true,
    optional: true,
    origin: Origin::Key("results"),
    parse,
};

/// A finding to look up: its name, and what it is in.
type Lookup = (String, Option<String>);

#[derive(Debug)]
struct EffectiveAssessments {
    /// The request's members but the lookups.
    scope: Vec<(&'static str, String)>,
    lookups: Vec<Lookup>,
}

fn parse(arguments: &[Value]) -> Result<Arc<dyn Request>, Invalid> {
    let given = filters("request", argument(arguments, 0), REQUEST)?;
    let mut scope = Vec::new();
    for name in ["project_name", "project_version_name", "finding_type"] {
        let Some(value) = given.get(name) else { continue };
        let path = format!("request.{name}");
        let value = match name {
            "finding_type" => FINDING_TYPE.value(&path, value)?,
            _ => text(&path, value)?,
        };
        scope.push((name, value));
    }
    let lookups = given.get("lookups").copied().unwrap_or(&Value::Null);
    Ok(Arc::new(EffectiveAssessments { scope, lookups: list("request.lookups", lookups, lookup)? }))
}

fn lookup(path: &str, value: &Value) -> Result<Lookup, Invalid> {
    let given = filters(path, value, LOOKUP)?;
    let member = |name: &str| {
        given.get(name).map(|value| text(&format!("{path}.{name}"), value)).transpose()
    };
    Ok((member("external_id")?.unwrap_or_default(), member("identity")?))
}

impl Request for EffectiveAssessments {
    fn normalised(&self) -> Vec<Value> {
        let lookups = self.lookups.iter().map(|(external_id, identity)| {
            let identity = identity.as_deref().map(|text| ("identity", text));
            let members = [("external_id", external_id.as_str())].into_iter().chain(identity);
            Value::from(members.map(|(k, v)| (Value::from(k), Value::from(v))).collect::<Object>())
        });
        let lookups = Value::from(lookups.collect::<Vec<_>>());
        let scope = self.scope.iter().map(|(k, v)| (Value::from(*k), Value::from(v.as_str())));
        let all = scope.chain([(Value::from("lookups"), lookups)]);
        vec![Value::from(all.collect::<Object>())]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            let body = self.normalised().first().map(Value::to_json).unwrap_or_default();
            // It reads, so that it may be sent again.
            let call = ApiRequest {
                body: Some(Bytes::from(body)),
                ..ApiRequest::get(EFFECTIVE_ASSESSMENTS, None)
            };
            let most = client.settings.max_results.saturating_add(1);
            let parse = |body: &str| {
                let contents = Rows { row: Row::new(EFFECTIVE, "results"), most };
                read(EnvelopeSeed { name: "results", contents }, body)
            };
            let answer = client.json(context, &call, parse).await?;
            let Some(rows) = answer.contents else {
                return Err(Error::protocol("the service's response has no `results`"));
            };
            if rows.len() >= most {
                return Err(crate::client::too_many(client.settings.max_results));
            }
            for row in &rows {
                self.check(row)?;
            }
            Ok(Value::from(rows).into())
        })
    }
}

impl EffectiveAssessments {
    /// Refuses a result about something that wasn't looked up: it would be taken for the finding's.
    fn check(&self, row: &Value) -> Result<(), crate::Error> {
        let member = |name: &str| {
            let found = row.get_str("lookup").and_then(|lookup| lookup.get_str(name));
            found.and_then(Value::as_str).unwrap_or_default()
        };
        let (external_id, identity) = (member("external_id"), member("identity"));
        let is_asked = self.lookups.iter().any(|(asked, of)| {
            asked == external_id && of.as_deref().unwrap_or_default() == identity
        });
        if is_asked {
            return Ok(());
        }
        let shown = crate::text::shorten(external_id, 80);
        Err(Error::protocol(format!(
            "unexpected result of the service: `{shown}` wasn't looked up"
        )))
    }
}

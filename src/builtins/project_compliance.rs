//! `project_compliance(filters)`: how a project's version fares against its frameworks.

use std::sync::Arc;

use regorus::Value;

use super::arguments::{Filter, Invalid, argument, checked_filters, normalised, query};
use super::{Answer, AnswerFuture, Argument, Cost, Field, Function, Request, Type};
use crate::client::{Client, Context, List, PROJECT_COMPLIANCE, list};

static FILTERS: &[Field] = &[
    Field::required("project_version_id", Type::Uuid, "the project's version, a UUID"),
    Field::optional(
        "framework_ids",
        Type::Array(&Type::String),
        "only these frameworks; all frameworks of the version when absent",
    ),
    Field::optional("limit", Type::Integer, "at most this many evaluations, at least 1"),
];

static EVALUATION: &[Field] = &[
    Field::required("requirement_id", Type::String, "the requirement's identifier"),
    Field::required("requirement_version_id", Type::String, "the requirement's version"),
    Field::required("requirement_revision", Type::Integer, "the requirement's revision"),
    Field::required("name", Type::String, "the requirement's name"),
    Field::required("display_name", Type::String, "the requirement's name for people"),
    Field::required("description", Type::String, "what the requirement asks for"),
    Field::required("project_version_id", Type::String, "the project's version"),
    Field::required("framework_id", Type::String, "the framework that the requirement is in"),
    Field::required("status", Type::String, "the outcome; `fail` is one of its values"),
    Field::required("created_at", Type::Timestamp, "when it was evaluated"),
];

static RESULT: &[Field] = &[Field::required(
    "evaluations",
    Type::Array(&Type::Object(EVALUATION)),
    "one evaluation for each requirement",
)];

pub(super) static FUNCTION: Function = Function {
    name: "project_compliance",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "which version and frameworks; `project_version_id` is required",
    }],
    result: Type::Object(RESULT),
    summary: "how a version of a project fares against its frameworks",
    doc: "Every page is read, unless `limit` bounds the evaluations; reports then say that the \
          list was cut. Interface section 4.7; needs a paid plan.",
    cost: Cost::Request,
    paid_plan: true,
    parse,
};

#[derive(Debug)]
struct ProjectCompliance {
    filters: Vec<(&'static str, Filter)>,
    limit: Option<u64>,
}

fn parse(arguments: &[Value]) -> Result<Arc<dyn Request>, Invalid> {
    let (filters, limit) = checked_filters("filters", argument(arguments, 0), FILTERS)?;
    Ok(Arc::new(ProjectCompliance { filters, limit }))
}

impl Request for ProjectCompliance {
    fn normalised(&self) -> Vec<Value> {
        vec![normalised(&self.filters, self.limit)]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            let listed = list(
                client,
                context,
                List {
                    endpoint: PROJECT_COMPLIANCE,
                    query: query(&self.filters),
                    name: "evaluations",
                    fields: EVALUATION,
                    limit: self.limit,
                },
            )
            .await?;
            Ok(Answer { value: super::wrap("evaluations", listed.rows), cut: listed.cut })
        })
    }
}

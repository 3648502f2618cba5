//! The specification of an address, generated from the tables of routes and resources.
//!
//! Owns the form (`OpenAPI` 3.1), not the routes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::auth::Access;
use super::dataset::{Paging, with};
use super::refusal::Address;
use super::routes::{self, Answer, Body, Form, Route};
use super::schema::{CURSOR, PAGINATION, Resource, Type};
use super::state::Shared;
use super::style::JsonStyle;

/// Returns the specification of `api`.
pub(super) fn document(shared: &Shared, api: Address) -> Value {
    let mut writer = Writer { shared, api, style: shared.style(api), schemas: BTreeMap::new() };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut tags: Vec<&str> = Vec::new();
    for route in routes::of(api) {
        let method = if route.body.is_some() { "post" } else { "get" };
        paths.entry(route.path).or_default().insert(method.to_owned(), writer.operation(route));
        if !tags.contains(&route.tag()) {
            tags.push(route.tag());
        }
    }
    writer.error_schemas();
    let title = match api {
        Address::ControlPlane => "Control plane",
        Address::Backend => "Platform backend",
        Address::Store => "Content store",
        Address::Grpc => "Control plane, gRPC",
    };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": "1.0",
            "description": "What this emulator serves. Routes, parameters and values that the interface doesn't define are specific to the emulator.",
        },
        "servers": [{ "url": "/" }],
        "tags": tags.iter().map(|tag| json!({ "name": tag })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": writer.schemas,
            "securitySchemes": { "bearer": {
                "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                "description": "A user token or an API token (section 5).",
            } },
        },
    })
}

struct Writer<'a> {
    shared: &'a Shared,
    api: Address,
    style: JsonStyle,
    /// The schemas that were referred to, by name.
    schemas: BTreeMap<String, Value>,
}

impl Writer<'_> {
    fn operation(&mut self, route: &Route) -> Value {
        let paging = route.pages.style(self.shared);
        let mut description = format!("Section {} of the interface.", route.section);
        description.push_str(match route.access {
            Access::Anyone => " Needs no token.",
            Access::Token => "",
            Access::Paid => " Needs a paid plan.",
            Access::PaidUser => " Needs a paid plan and a user token.",
        });
        let security = match route.access {
            Access::Anyone => json!([]),
            _ => json!([{ "bearer": [] }]),
        };
        let parameters = self.parameters(route);
        let operation = json!({
            "operationId": route.operation,
            "tags": [route.tag()],
            "summary": route.summary,
            "description": description,
            "responses": self.responses(route, paging),
            "security": security,
            "parameters": parameters,
        });
        match &route.body {
            Some(body) => with(operation, [("requestBody", self.body(body))]),
            None => operation,
        }
    }

    /// Requests are spelt in snake case, whatever the casing of responses.
    fn body(&mut self, body: &Body) -> Value {
        let resource = body.resource;
        let fields = resource.fields.iter();
        let fields = fields.map(|(key, of)| ((*key).to_owned(), self.field(of, None))).collect();
        let mut schema = object(resource.section, fields, body.required);
        if !body.either.is_empty() {
            let one = body.either.iter().map(|key| json!({ "required": [key] }));
            schema = with(schema, [("oneOf", one.collect())]);
        }
        self.schemas.insert(resource.name.to_owned(), schema);
        json!({
            "required": body.needed,
            "content": { "application/json": { "schema": reference(resource.name) } },
        })
    }

    fn parameters(&self, route: &Route) -> Vec<Value> {
        let mut all = Vec::new();
        for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')) {
            let name = name.trim_end_matches('}');
            let schema = if name.ends_with("_id") { Form::Id } else { Form::Text };
            let schema = form(schema);
            all.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
        for parameter in route.query {
            all.push(json!({
                "name": parameter.name,
                "in": "query",
                "required": parameter.required,
                "description": parameter.about,
                "schema": form(parameter.form),
            }));
        }
        for (name, about) in route.pages.keys(self.shared) {
            let schema = if name.ends_with("cursor") {
                json!({ "type": "string" })
            } else {
                let least = u8::from(name != "pagination.page");
                json!({ "type": "integer", "format": "int32", "minimum": least })
            };
            let parameter = json!({
                "name": name, "in": "query", "description": about, "schema": schema
            });
            all.push(parameter);
        }
        if route.access != Access::Anyone {
            all.push(json!({
                "name": self.shared.tokens.organization_header(),
                "in": "header",
                "description": "The organization that a user token asks for, instead of the \
                    user's default one; an API token is bound to its own.",
                "schema": { "type": "string" },
            }));
        }
        all
    }

    fn responses(&mut self, route: &Route, paging: Option<Paging>) -> Value {
        let mut responses = Map::new();
        let (status, answer) = match &route.answer {
            Answer::Json(resource) => {
                let schema = self.resource(resource, paging);
                (
                    "200",
                    json!({
                        "description": "The response.",
                        "content": { "application/json": { "schema": schema } },
                    }),
                )
            }
            Answer::Yaml => (
                "200",
                json!({
                    "description": "This document.",
                    "content": { "application/yaml": { "schema": { "type": "object" } } },
                }),
            ),
            Answer::Bytes => (
                "200",
                json!({
                    "description": "The content.",
                    "content": { "application/octet-stream": {} },
                }),
            ),
            Answer::Found => (
                "302",
                json!({
                    "description": "Redirect to the content at a different origin, valid for a short time.",
                    "headers": { "Location": {
                        "required": true,
                        "schema": { "type": "string", "format": "uri" },
                    } },
                }),
            ),
        };
        responses.insert(status.to_owned(), answer);
        let authenticated = route.access != Access::Anyone;
        for (status, about, scope, body) in ERRORS {
            if authenticated || !matches!(*scope, ErrorScope::Authenticated) {
                let content =
                    json!({ "application/json": { "schema": reference(self.error(body)) } });
                responses.insert(
                    (*status).to_owned(),
                    json!({ "description": about, "content": content }),
                );
            }
        }
        Value::Object(responses)
    }

    /// Returns the name of a refusal's schema; the control plane has one for all of them.
    fn error(&self, body: &'static str) -> &'static str {
        if self.api == Address::ControlPlane { "Error" } else { body }
    }

    fn error_schemas(&mut self) {
        let code = json!({ "type": "integer", "format": "int32" });
        let text = json!({ "type": "string" });
        let (mut fields, required): (Map<String, Value>, &[&str]) =
            (Map::new(), &["code", "message"]);
        fields.insert("code".to_owned(), code);
        fields.insert("message".to_owned(), text.clone());
        if self.api == Address::ControlPlane {
            fields.insert("reason".to_owned(), text.clone());
            fields.insert(
                "metadata".to_owned(),
                json!({ "type": "object", "additionalProperties": text }),
            );
        } else {
            fields.insert(
                "details".to_owned(),
                json!({ "type": "array", "items": { "type": "object" } }),
            );
        }
        for (.., body) in ERRORS {
            let schema = object("7", fields.clone(), required);
            self.schemas.insert(self.error(body).to_owned(), schema);
        }
    }

    /// Returns a reference to a resource's schema, which is added if it isn't there yet.
    fn resource(&mut self, resource: &'static Resource, paging: Option<Paging>) -> Value {
        if !self.schemas.contains_key(resource.name) {
            // Some resources contain themselves.
            self.schemas.insert(resource.name.to_owned(), Value::Null);
            let fields = resource.fields.iter();
            let fields = fields
                .map(|(key, of)| (self.style.key(key), self.field(of, paging)))
                .collect::<Map<_, _>>();
            let kept = resource.kept().map(|key| self.style.key(key)).collect::<Vec<_>>();
            let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
            let schema = object(resource.section, fields, &kept);
            self.schemas.insert(resource.name.to_owned(), schema);
        }
        reference(resource.name)
    }

    fn field(&mut self, of: &'static Type, paging: Option<Paging>) -> Value {
        match of {
            Type::Text => json!({ "type": "string" }),
            Type::Time => json!({ "type": "string", "format": "date-time" }),
            Type::Flag => json!({ "type": "boolean" }),
            Type::Int => json!({ "type": "integer", "format": "int32" }),
            Type::Number => json!({ "type": "number", "format": "double" }),
            Type::Choice("") => json!({ "type": "string", "description": "one of an open set" }),
            Type::Choice(default) => json!({
                "type": "string", "default": default, "description": "one of an open set",
            }),
            Type::Texts => {
                json!({ "type": "object", "additionalProperties": { "type": "string" } })
            }
            Type::Any => json!({ "type": "object" }),
            Type::Keyed(resource) => {
                json!({ "type": "object", "additionalProperties": self.resource(resource, paging) })
            }
            Type::List(of) => json!({ "type": "array", "items": self.field(of, paging) }),
            Type::Of(resource) => self.resource(resource, paging),
            Type::Pages if paging == Some(Paging::Page) => self.resource(&PAGINATION, paging),
            Type::Pages => self.resource(&CURSOR, paging),
        }
    }
}

/// The routes that can give an error.
enum ErrorScope {
    AllRoutes,
    /// The routes that need a token.
    Authenticated,
}

/// The refusals of interface section 7, and 404, for which it has no entry of its own.
const ERRORS: &[(&str, &str, ErrorScope, &str)] = &[
    (
        "400",
        "The request was invalid or cannot be served.",
        ErrorScope::AllRoutes,
        "BadRequestResponse",
    ),
    ("401", "Authentication is required.", ErrorScope::Authenticated, "UnauthorizedResponse"),
    (
        "403",
        "No permission to access the resource.",
        ErrorScope::Authenticated,
        "PermissionDeniedResponse",
    ),
    ("404", "Not found.", ErrorScope::Authenticated, "rpcStatus"),
    (
        "500",
        "Unexpected error on the server.",
        ErrorScope::AllRoutes,
        "InternalServerErrorResponse",
    ),
    ("default", "Unexpected error.", ErrorScope::AllRoutes, "rpcStatus"),
];

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn object(section: &str, fields: Map<String, Value>, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "description": format!("Section {section} of the interface."),
        "properties": fields,
        "required": required,
        "additionalProperties": false,
    })
}

fn form(form: Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::MaybeEmpty => json!({ "type": "string" }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Texts => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Form::Id => json!({ "type": "string", "format": "uuid" }),
    }
}

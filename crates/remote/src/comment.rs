//! A comment on a pull request of GitHub or a merge request of GitLab, which later calls update in place.
//!
//! Owns the requests: those of GitHub's GraphQL schema (`PullRequest.comments`, `addComment`,
//! `updateIssueComment`) and of GitLab's notes API. A comment is recognized by its first line and its author,
//! so that nobody else's comment is taken for it.

use bytes::Bytes;
use rego_platform_client::http::origin::origin;
use rego_platform_client::text::{escape, shorten};
use rego_platform_client::{Error, ErrorKind};
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use crate::transport::{Request, Transport, body, success};

/// The largest response, in bytes: a hundred comments of the largest size.
const MAX_RESPONSE: u64 = 128 << 20;

/// The number of comments that are asked for at once, the most that both services allow.
const PAGE: usize = 100;

/// The largest number of pages.
const MAX_PAGES: usize = 100;

/// The place of a comment.
#[derive(Debug, Clone)]
pub enum Thread {
    /// A pull request of GitHub.
    PullRequest {
        /// The address of the GraphQL API.
        graphql: Url,
        /// The owner and the name of the repository, `OWNER/NAME`.
        repository: String,
        /// The number of the pull request.
        number: u64,
    },
    /// A merge request of GitLab.
    MergeRequest {
        /// The address of the REST API, which ends in `/api/v4`.
        api: Url,
        /// The ID of the project.
        project: String,
        /// The number of the merge request in its project (IID).
        number: u64,
    },
}

/// The outcome of publishing a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// There was none.
    Created,
    /// Its text was different.
    Updated,
    /// It has this text already.
    Unchanged,
}

/// A comment that is there.
struct Found {
    id: Value,
    body: String,
}

/// The client of one service.
pub(crate) struct Comments<'a> {
    transport: &'a Transport,
    authorization: HeaderValue,
}

impl<'a> Comments<'a> {
    pub fn new(transport: &'a Transport, token: &str) -> Result<Self, Error> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| Error::configuration("the token can't be sent in a header"))?;
        authorization.set_sensitive(true);
        Ok(Self { transport, authorization })
    }

    /// Publishes a text whose first line identifies it.
    pub async fn publish(&self, thread: &Thread, text: &str) -> Result<Published, Error> {
        let marker = text.lines().next().unwrap_or_default();
        match thread {
            Thread::PullRequest { graphql, repository, number } => {
                self.on_github((graphql, repository, *number), marker, text).await
            }
            Thread::MergeRequest { api, project, number } => {
                self.on_gitlab((api, project, *number), marker, text).await
            }
        }
    }

    async fn on_github(
        &self,
        (graphql, repository, number): (&Url, &str, u64),
        marker: &str,
        text: &str,
    ) -> Result<Published, Error> {
        const FIND: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){\
            repository(owner:$owner,name:$name){pullRequest(number:$number){id \
            comments(first:100,after:$after){nodes{id body viewerDidAuthor}\
            pageInfo{hasNextPage endCursor}}}}}";
        const CREATE: &str = "mutation($subject:ID!,$body:String!){\
            addComment(input:{subjectId:$subject,body:$body}){clientMutationId}}";
        const UPDATE: &str = "mutation($id:ID!,$body:String!){\
            updateIssueComment(input:{id:$id,body:$body}){clientMutationId}}";

        let (owner, name) = repository.split_once('/').ok_or_else(|| {
            let message =
                format!("invalid repository `{}`: expected OWNER/NAME", escape(repository));
            Error::configuration(message)
        })?;
        let mut after = Value::Null;
        for _ in 0..MAX_PAGES {
            let variables =
                json!({ "owner": owner, "name": name, "number": number, "after": after });
            let data = self.graphql(graphql, FIND, variables).await?;
            let request = data.pointer("/repository/pullRequest").filter(|value| value.is_object());
            let request = request.ok_or_else(|| {
                Error::not_found(format!(
                    "pull request {number} not found in `{}`",
                    escape(repository)
                ))
            })?;
            let comments = request.pointer("/comments/nodes").and_then(Value::as_array);
            let comments = comments.ok_or_else(|| unexpected(graphql))?;
            let own = comments.iter().find(|own| {
                own.get("viewerDidAuthor") == Some(&true.into()) && begins(own, marker)
            });
            if let Some(found) = own.and_then(found) {
                if found.has(text) {
                    return Ok(Published::Unchanged);
                }
                self.graphql(graphql, UPDATE, json!({ "id": found.id, "body": text })).await?;
                return Ok(Published::Updated);
            }
            let page = request.pointer("/comments/pageInfo").ok_or_else(|| unexpected(graphql))?;
            if page.get("hasNextPage") != Some(&true.into()) {
                let subject = request.get("id").ok_or_else(|| unexpected(graphql))?;
                self.graphql(graphql, CREATE, json!({ "subject": subject, "body": text })).await?;
                return Ok(Published::Created);
            }
            let next = page.get("endCursor").cloned().unwrap_or_default();
            if !next.is_string() || next == after {
                return Err(unexpected(graphql));
            }
            after = next;
        }
        Err(too_many(graphql))
    }

    /// Sends a GraphQL request. Returns its data.
    async fn graphql(&self, url: &Url, query: &str, variables: Value) -> Result<Value, Error> {
        let request = json!({ "query": query, "variables": variables });
        let mut response = self.send(Method::POST, url, Some(&request)).await?;
        let errors =
            response.get("errors").and_then(Value::as_array).filter(|list| !list.is_empty());
        let Some(error) = errors.and_then(|list| list.first()) else {
            return Ok(response.get_mut("data").map(Value::take).unwrap_or_default());
        };
        let kind = match error.get("type").and_then(Value::as_str) {
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => ErrorKind::PermissionDenied,
            Some("NOT_FOUND") => ErrorKind::NotFound,
            Some("RATE_LIMITED") => ErrorKind::RateLimited,
            _ => ErrorKind::Protocol,
        };
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
        let message = escape(&shorten(message, 300));
        Err(Error::new(kind, format!("request refused by {}: {message}", origin(url))))
    }

    async fn on_gitlab(
        &self,
        (api, project, number): (&Url, &str, u64),
        marker: &str,
        text: &str,
    ) -> Result<Published, Error> {
        let user = self.send(Method::GET, &below(api, &["user"])?, None).await?;
        let user = user.get("id").filter(|id| id.is_number()).ok_or_else(|| unexpected(api))?;
        let request = number.to_string();
        let notes = below(api, &["projects", project, "merge_requests", &request, "notes"])?;
        for page in 1..=MAX_PAGES {
            let mut url = notes.clone();
            let query = format!("sort=asc&order_by=created_at&per_page={PAGE}&page={page}");
            url.set_query(Some(&query));
            let list = self.send(Method::GET, &url, None).await?;
            let list = list.as_array().ok_or_else(|| unexpected(api))?;
            let own = list
                .iter()
                .find(|own| own.pointer("/author/id") == Some(user) && begins(own, marker));
            let body = json!({ "body": text });
            if let Some(found) = own.and_then(found) {
                if found.has(text) {
                    return Ok(Published::Unchanged);
                }
                let id = found.id.to_string();
                let note = ["projects", project, "merge_requests", &request, "notes", &id];
                self.send(Method::PUT, &below(api, &note)?, Some(&body)).await?;
                return Ok(Published::Updated);
            }
            if list.len() < PAGE {
                self.send(Method::POST, &notes, Some(&body)).await?;
                return Ok(Published::Created);
            }
        }
        Err(too_many(api))
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        content: Option<&Value>,
    ) -> Result<Value, Error> {
        let content = content.map(|content| (Bytes::from(content.to_string()), "application/json"));
        let request = Request {
            method,
            authorization: Some(self.authorization.clone()),
            accept: Some("application/json"),
            body: content,
            ..Request::get(url.clone())
        };
        let response = self.transport.send(&request).await?;
        let response = success("the request's comments", url, response)?;
        let bytes = body(url, response, MAX_RESPONSE).await?;
        serde_json::from_slice(&bytes).map_err(|error| unexpected(url).with_source(error))
    }
}

impl Found {
    /// Returns `true` if the comment has this text. Services change the ends of lines and of the text.
    fn has(&self, text: &str) -> bool {
        self.body.replace("\r\n", "\n").trim_end() == text.trim_end()
    }
}

fn found(comment: &Value) -> Option<Found> {
    let body = comment.get("body")?.as_str()?.to_owned();
    Some(Found { id: comment.get("id")?.clone(), body })
}

/// Returns `true` if the first line of a comment is `marker`.
fn begins(comment: &Value, marker: &str) -> bool {
    let body = comment.get("body").and_then(Value::as_str);
    body.and_then(|body| body.lines().next()) == Some(marker)
}

/// Returns the address of a resource.
fn below(api: &Url, path: &[&str]) -> Result<Url, Error> {
    let mut url = api.clone();
    url.path_segments_mut()
        .map_err(|()| Error::configuration("invalid address of the API"))?
        .pop_if_empty()
        .extend(path);
    Ok(url)
}

fn unexpected(url: &Url) -> Error {
    Error::protocol(format!("unexpected response of {}", origin(url)))
        .with_hint("check the address of the API")
}

fn too_many(url: &Url) -> Error {
    Error::too_large(format!("more than {} comments at {}", MAX_PAGES * PAGE, origin(url)))
}

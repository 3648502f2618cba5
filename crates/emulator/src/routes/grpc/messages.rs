//! The messages of the methods, by their field numbers.

use std::collections::BTreeMap;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Request {
    #[prost(string, tag = "1")]
    pub digest: String,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(message, optional, tag = "3")]
    pub pagination: Option<Cursor>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Cursor {
    #[prost(string, tag = "1")]
    pub cursor: String,
    #[prost(int32, tag = "3")]
    pub limit: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Discovered {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Referrer>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<Next>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Referrer {
    #[prost(string, tag = "1")]
    pub digest: String,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(bool, tag = "3")]
    pub downloadable: bool,
    #[prost(message, repeated, tag = "4")]
    pub references: Vec<Referrer>,
    #[prost(message, optional, tag = "5")]
    pub created_at: Option<Time>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub metadata: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "8")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Time {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Next {
    #[prost(string, tag = "1")]
    pub next_cursor: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Download {
    #[prost(string, tag = "1")]
    pub digest: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Downloadable {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Url>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Url {
    #[prost(string, tag = "2")]
    pub url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct InfozRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Infoz {
    #[prost(string, tag = "1")]
    pub login_url: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TicketRequest {
    #[prost(int32, tag = "1")]
    pub role: i32,
    #[prost(string, tag = "2")]
    pub digest: String,
}

pub(super) const DOWNLOADER: i32 = 1;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TicketResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Ticket>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Ticket {
    #[prost(string, tag = "2")]
    pub token: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Read {
    #[prost(string, tag = "1")]
    pub resource_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ContentPart {
    #[prost(bytes = "bytes", tag = "10")]
    pub data: bytes::Bytes,
}

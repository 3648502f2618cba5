//! Messages of the control plane and the content store, by field number.

use std::collections::BTreeMap;

#[derive(Clone, PartialEq, prost::Message)]
pub struct DiscoverRequest {
    #[prost(string, tag = "1")]
    pub digest: String,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(message, optional, tag = "3")]
    pub pagination: Option<PageRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PageRequest {
    #[prost(string, tag = "1")]
    pub cursor: String,
    #[prost(int32, tag = "3")]
    pub limit: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DiscoverResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Item>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<NextPage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Item {
    #[prost(string, tag = "1")]
    pub digest: String,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(bool, tag = "3")]
    pub downloadable: bool,
    #[prost(message, repeated, tag = "4")]
    pub references: Vec<Item>,
    #[prost(message, optional, tag = "5")]
    pub created_at: Option<Timestamp>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub metadata: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "8")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NextPage {
    #[prost(string, tag = "1")]
    pub next_cursor: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DownloadUrlRequest {
    #[prost(string, tag = "1")]
    pub digest: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DownloadUrlResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<DownloadUrl>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DownloadUrl {
    #[prost(string, tag = "2")]
    pub url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CredentialsRequest {
    #[prost(int32, tag = "1")]
    pub role: i32,
    #[prost(string, tag = "2")]
    pub digest: String,
}

/// The role that may only download.
pub const DOWNLOADER: i32 = 1;

#[derive(Clone, PartialEq, prost::Message)]
pub struct CredentialsResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<StoreCredentials>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StoreCredentials {
    #[prost(string, tag = "2")]
    pub token: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Chunk {
    #[prost(bytes = "bytes", tag = "10")]
    pub data: bytes::Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InfozRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InfozResponse {
    #[prost(string, tag = "1")]
    pub login_url: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

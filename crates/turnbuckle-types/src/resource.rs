//! Resources: what a server lets a client read.

use serde::de::{Deserializer, Error as _, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::base64_data::{NotBase64, decode_base64, encode_base64};
use crate::object::object;
use crate::tagged::variants;
use crate::{Annotations, CacheScope, Icon, InputResponses, Json, Meta, Number};

object! {
    /// A resource in a server's list.
    ///
    /// Specification: server/resources (2026-07-28).
    pub struct Resource {
        /// The URI.
        req uri: String = "uri" is uri,
        /// The name for programs.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
        /// The description, for the model.
        opt description: String = "description",
        /// The media type.
        opt mime_type: String = "mimeType",
        /// The size in bytes, before any encoding.
        opt size: Number = "size" is integer,
        /// The icons.
        opt icons: Vec<Icon> = "icons",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A family of resources under one RFC 6570 URI template.
    pub struct ResourceTemplate {
        /// The template.
        req uri_template: String = "uriTemplate" is uri_template,
        /// The family's name for programs.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
        /// The description, for the model.
        opt description: String = "description",
        /// Their media type, if all have the same.
        opt mime_type: String = "mimeType",
        /// The icons of the family.
        opt icons: Vec<Icon> = "icons",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A resource's contents as text; binary ones are [`BlobResourceContents`].
    pub struct TextResourceContents {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// The text.
        req text: String = "text",
        /// The media type.
        opt mime_type: String = "mimeType",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A resource's contents as bytes.
    pub struct BlobResourceContents {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// The bytes in Base64.
        req blob: String = "blob" is base64,
        /// Their media type.
        opt mime_type: String = "mimeType",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl BlobResourceContents {
    /// Creates contents from bytes, which are sent in Base64.
    #[must_use]
    pub fn from_bytes(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::new(uri, encode_base64(bytes.as_ref()))
    }

    /// Decodes the bytes.
    ///
    /// # Errors
    /// If `blob` is no Base64, of either alphabet.
    pub fn bytes(&self) -> Result<Vec<u8>, NotBase64> {
        decode_base64(&self.blob)
    }
}

/// A resource's contents: text or bytes, told apart by which of the two is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Contents as text.
    Text(TextResourceContents),
    /// Contents as bytes.
    Blob(BlobResourceContents),
    /// An object with neither, as it arrived.
    Unknown(Json),
}

variants! {
    ResourceContents { Text(TextResourceContents), Blob(BlobResourceContents), } Unknown
}

impl ResourceContents {
    /// Creates contents as text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// Creates contents as bytes, which are sent in Base64.
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::Blob(BlobResourceContents::from_bytes(uri, bytes))
    }

    /// Creates contents as bytes that are in Base64 already.
    #[must_use]
    pub fn from_base64(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents::new(uri, base64))
    }

    /// Returns the contents' URI, unless their shape is unknown.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Unknown(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        let Form { text, blob } = raw.decode().map_err(D::Error::custom)?;
        match (text, blob) {
            (Some(_), None) => raw.decode().map(Self::Text),
            (None, Some(_)) => raw.decode().map(Self::Blob),
            (None, None) => return Ok(Self::Unknown(raw)),
            (Some(_), Some(_)) => {
                return Err(D::Error::custom("contents are either text or blob"));
            }
        }
        .map_err(D::Error::custom)
    }
}

/// The members that tell the forms of resource contents apart. A `null` is absent.
#[derive(Deserialize)]
struct Form {
    text: Option<IgnoredAny>,
    blob: Option<IgnoredAny>,
}

object! {
    /// Parameters of `resources/read`.
    pub struct ReadResourceRequestParams {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// Answers to the questions of an earlier round.
        map input_responses: InputResponses = "inputResponses" is input_responses,
        /// The state that the server gave with those questions.
        opt request_state: String = "requestState",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `resources/read`: the resource, or the parts that it consists of.
    pub struct ReadResourceResult {
        /// The contents.
        req contents: Vec<ResourceContents> = "contents",
        /// The time for which they may be cached, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// The receivers that may be given a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `resources/list`: one page.
    pub struct ListResourcesResult {
        /// The resources.
        req resources: Vec<Resource> = "resources",
        /// The start of the next page; absent on the last one.
        opt next_cursor: String = "nextCursor",
        /// The time for which the page may be cached, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// The receivers that may be given a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `resources/templates/list`: one page.
    pub struct ListResourceTemplatesResult {
        /// The templates.
        req resource_templates: Vec<ResourceTemplate> = "resourceTemplates",
        /// The start of the next page; absent on the last one.
        opt next_cursor: String = "nextCursor",
        /// The time for which the page may be cached, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// The receivers that may be given a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `resources/subscribe`.
    ///
    /// Specification: server/resources, Subscriptions (2025-11-25).
    pub struct SubscribeRequestParams {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `resources/unsubscribe`.
    ///
    /// Specification: server/resources, Subscriptions (2025-11-25).
    pub struct UnsubscribeRequestParams {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `notifications/resources/updated`.
    pub struct ResourceUpdatedNotificationParams {
        /// The URI of the resource, which may be a part of the one that was subscribed to.
        req uri: String = "uri" is uri,
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

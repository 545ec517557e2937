//! Change notifications: a server publishes a change, and every subscriber is told of it in the way
//! that its era has.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::{ExtensionNotification, Json, Map, RequestId, meta};
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc;

/// A change that subscribers are told of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of resource templates.
    Resources,
    /// The resource of this URI.
    Resource(Arc<str>),
}

impl Change {
    /// Returns the change notification. `subscription` is the subscription stream that it belongs to, in
    /// the era that has such streams.
    pub(crate) fn to_notification(&self, subscription: Option<&RequestId>) -> ChangeNotification {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            uri: Option<&'a str>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<Meta<'a>>,
        }
        struct Meta<'a>(&'a RequestId);
        impl Serialize for Meta<'_> {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_map([(meta::SUBSCRIPTION_ID, self.0)])
            }
        }
        let (method, uri) = match self {
            Self::Tools => (Method::ToolListChanged, None),
            Self::Prompts => (Method::PromptListChanged, None),
            Self::Resources => (Method::ResourceListChanged, None),
            Self::Resource(uri) => (Method::ResourceUpdated, Some(&**uri)),
        };
        let params = Params {
            uri,
            meta: subscription.map(Meta),
        };
        let params = (uri.is_some() || subscription.is_some()).then_some(&params);
        ChangeNotification {
            method: Cow::Borrowed(method.as_str()),
            uri: match self {
                Self::Resource(uri) => Some(uri.clone()),
                _ => None,
            },
            frame: rpc::encode_notification(method.as_str(), params).unwrap_or_default(),
        }
    }
}

/// A change notification that is ready to be sent.
#[derive(Debug)]
pub struct ChangeNotification {
    pub(crate) method: Cow<'static, str>,
    /// The resource that has changed.
    pub(crate) uri: Option<Arc<str>>,
    pub(crate) frame: Vec<u8>,
}

/// A notification of an extension, for the subscribers of a topic.
#[derive(Debug, Clone)]
pub struct TopicNotification {
    /// The name on the wire.
    pub method: Arc<str>,
    /// The members of `params`, without the subscription's id.
    pub params: Arc<Map<Json>>,
}

impl TopicNotification {
    /// Creates the notification `N` with these parameters.
    ///
    /// # Errors
    /// When they do not encode as a JSON object.
    pub fn new<N: ExtensionNotification>(params: &N::Params) -> Result<Self, serde_json::Error> {
        let params = Json::encode(params)?.decode()?;
        Ok(Self {
            method: N::METHOD.into(),
            params: Arc::new(params),
        })
    }

    /// Returns the notification for a subscription stream.
    pub(crate) fn to_notification(&self, subscription: &RequestId) -> ChangeNotification {
        let mut params = (*self.params).clone();
        let meta = params.get("_meta").and_then(|meta| meta.decode().ok());
        let mut meta: turnbuckle_types::Meta = meta.unwrap_or_default();
        meta.set_subscription_id(subscription.clone());
        if let Ok(meta) = Json::encode(&meta) {
            params.insert("_meta", meta);
        }
        ChangeNotification {
            method: Cow::Owned(self.method.as_ref().to_owned()),
            uri: None,
            frame: rpc::encode_notification(&self.method, Some(&params)).unwrap_or_default(),
        }
    }
}

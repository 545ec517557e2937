//! Members of subscription filters that extensions define.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::{Json, ProtocolError, describe_decode_error};

use crate::error::failure::{Failure, Result};
use crate::request::context::HandlerContext;

/// The part of an extension's member of a subscription filter that a server accepts; see
/// [`Extension::filter`](crate::Extension::filter). The default is that nothing is accepted.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct AcceptedFilter {
    pub(super) value: Option<Json>,
    pub(super) topics: BTreeSet<String>,
}

impl AcceptedFilter {
    /// Creates an accepted part with the value of the member in the acknowledgement.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let value = Json::encode(value).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self {
            value: Some(value),
            topics: BTreeSet::new(),
        })
    }

    /// Adds a topic whose notifications the subscriber is sent.
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topics.insert(topic.into());
        self
    }
}

/// The future in which an extension accepts a value.
type AcceptFuture = Pin<Box<dyn Future<Output = Result<AcceptedFilter>> + Send>>;

/// Accepts a value that a client sent, or returns an error if it does not decode.
pub(super) type FilterHandler =
    Arc<dyn Fn(&Json, HandlerContext) -> Result<AcceptFuture, ProtocolError> + Send + Sync>;

/// Returns the handler of a member.
pub(super) fn filter_handler<T, F, Fut>(member: &'static str, accept: F) -> FilterHandler
where
    T: DeserializeOwned + Send + 'static,
    F: Fn(T, HandlerContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AcceptedFilter>> + Send + 'static,
{
    Arc::new(move |value, context| {
        let value: T = value.decode().map_err(|error| {
            let reason = describe_decode_error(&error);
            ProtocolError::invalid_params(format!("notifications.{member}: {reason}"))
        })?;
        Ok(Box::pin(accept(value, context)))
    })
}

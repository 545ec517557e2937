//! The subscriptions of legacy sessions to single resources.
//!
//! Specification: server/resources, "Subscriptions" (2025-11-25).

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::{EmptyResult, ProtocolError};
use turnbuckle_wire::era::Reply;

use super::provided::pending;
use super::router::required_string;
use super::subscriber::Subscriber;
use super::subscription::SubscriptionKey;
use crate::Server;
use crate::request::context::HandlerContext;

impl Server {
    /// Answers `resources/subscribe`.
    pub(super) fn subscribe(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let uri = required_string(call.params.uri, "uri")?;
        if self.find_readable(&uri, &context)? {
            return self.add_subscription(&uri, &context);
        }
        if !self.may_provide_resource(&uri) {
            return Err(ProtocolError::resource_not_found(uri.into_owned()));
        }
        let context = HandlerContext::new(context, self.0.settings.clone(), None);
        let subscribed = self
            .clone()
            .subscribe_to_provided(uri.into_owned(), context);
        Ok(pending(subscribed))
    }

    /// Subscribes a legacy session to a resource that its principal can read.
    pub(super) fn add_subscription(
        &self,
        uri: &str,
        context: &RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let subscribed = || Reply::complete(EmptyResult::new());
        // Without a session there is no stream to notify the client on.
        let Some(feed) = context.session_change_feed() else {
            return Ok(subscribed().into());
        };
        let (hub, limits) = (&self.0.subscriptions, self.0.subscription_limits);
        let key = SubscriptionKey::Resource(uri);
        hub.subscribe_for(context, feed, std::iter::once(key), limits)?;
        if let Some(state) = context.legacy_state() {
            state.resource_subscribed(uri);
        }
        let Some(function) = self.0.on_subscription.get() else {
            return Ok(subscribed().into());
        };
        let subscription = UnansweredSubscription {
            server: self.clone(),
            context: context.clone(),
            uri: uri.to_owned(),
            is_accepted: false,
        };
        let handler_context = HandlerContext::new(context.clone(), self.0.settings.clone(), None);
        let refused = function(handler_context, Subscriber::new(feed), vec![uri.to_owned()]);
        Ok(pending(async move {
            let mut subscription = subscription;
            let mut refused = tokio::select! {
                biased;
                () = subscription.context.cancelled() => {
                    return Err(ProtocolError::internal("the subscription was cancelled"));
                }
                refused = refused => refused,
            };
            if let Some((_, error)) = refused.pop() {
                return Err(error);
            }
            subscription.is_accepted = true;
            Ok(subscribed().into())
        }))
    }

    /// Answers `resources/unsubscribe`.
    pub(super) fn unsubscribe(
        &self,
        call: IncomingRequest<'_>,
        context: &RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let uri = required_string(call.params.uri, "uri")?;
        self.remove_subscription(&uri, context);
        Ok(Reply::complete(EmptyResult::new()).into())
    }

    fn remove_subscription(&self, uri: &str, context: &RequestContext) {
        if let Some(feed) = context.session_change_feed() {
            self.0.subscriptions.unsubscribe(feed, uri);
            if let Some(state) = context.legacy_state() {
                state.resource_unsubscribed(uri);
            }
        }
    }
}

/// A subscription of a legacy session that is not answered yet. It ends with this value unless it was accepted.
struct UnansweredSubscription {
    server: Server,
    context: RequestContext,
    uri: String,
    is_accepted: bool,
}

impl Drop for UnansweredSubscription {
    fn drop(&mut self) {
        if !self.is_accepted {
            self.server.remove_subscription(&self.uri, &self.context);
        }
    }
}

//! A subscription in force on one connection.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::internal::{OutboundRequest, RawResult, RequestError};
use turnbuckle_session::transport::{TimeoutKind, Timeouts};
use turnbuckle_types::method::{Subscribe, SubscriptionsListen};
use turnbuckle_types::{Request, RequestId, SubscriptionsListenRequestParams};
use turnbuckle_wire::revision::EraKind;

use crate::connection::Connection;
use crate::error::Error;
use crate::incoming::registry::{StreamSignals, SubscriptionEntry};
use crate::request::inner::ClientInner;
use crate::subscription::resources::{ResourceSubscriptions, subscribe_all};

/// The longest wait for the response to `subscriptions/listen` after the server ended the stream.
const STREAM_END_TIMEOUT: Duration = Duration::from_secs(1);

/// A subscription that the server has accepted. Dropping it unsubscribes.
pub(super) enum ActiveSubscription {
    /// A legacy session, which reports changes of lists by itself and of subscribed resources.
    Session(ResourceSubscriptions),
    /// A stream of the modern era.
    Stream(ListenStream),
}

impl ActiveSubscription {
    /// Subscribes, on a connection that is opened if necessary.
    pub(super) async fn establish(
        inner: &Arc<ClientInner>,
        entry: &Arc<SubscriptionEntry>,
    ) -> Result<Self, Error> {
        let connection = inner.reconnector.connection().await?;
        match connection.server.era() {
            EraKind::Legacy => subscribe_legacy(inner, entry, &connection)
                .await
                .map(Self::Session),
            EraKind::Modern => {
                let listening = ListenStream::open(inner, entry, &connection);
                listening
                    .wait_for_acknowledgement(inner)
                    .await
                    .map(Self::Stream)
            }
        }
    }

    /// Waits until the server reports no more changes and returns the reason.
    pub(super) async fn wait_for_end(&mut self) -> String {
        match self {
            Self::Session(subscriptions) => subscriptions.wait_for_end().await,
            Self::Stream(listening) => listening.wait_for_end().await,
        }
    }
}

/// Returns the error for a server that reports none of the requested changes.
fn unsupported_error(method: &str, connection: &Connection) -> Error {
    Error::Unsupported {
        method: method.to_owned(),
        reason: "the server tells of none of these changes",
        revision: connection.server.revision,
    }
}

/// Subscribes in a legacy session.
async fn subscribe_legacy(
    inner: &Arc<ClientInner>,
    entry: &Arc<SubscriptionEntry>,
    connection: &Arc<Connection>,
) -> Result<ResourceSubscriptions, Error> {
    let acknowledged = entry.filter().supported_by(&connection.server.capabilities);
    if acknowledged.is_empty() {
        return Err(unsupported_error(Subscribe::METHOD, connection));
    }
    let subscriptions = subscribe_all(inner, connection, acknowledged.resource_uris()).await?;
    entry.set_acknowledged(acknowledged);
    Ok(subscriptions)
}

/// An open `subscriptions/listen`.
pub(super) struct ListenStream {
    entry: Arc<SubscriptionEntry>,
    connection: Arc<Connection>,
    signals: StreamSignals,
    answer: ListenFuture,
}

/// The response to `subscriptions/listen`, which comes when the stream has ended.
type ListenFuture = Pin<Box<dyn Future<Output = Result<RawResult, RequestError>> + Send>>;

impl ListenStream {
    fn open(
        inner: &Arc<ClientInner>,
        entry: &Arc<SubscriptionEntry>,
        connection: &Arc<Connection>,
    ) -> Self {
        let signals = StreamSignals::default();
        let (params, stream_signals) = (
            SubscriptionsListenRequestParams::new(entry.filter().to_subscription_filter()),
            signals.clone(),
        );
        let (log_level, negotiated_revision) =
            (inner.log_level, connection.negotiated_revision.clone());
        let (session, opened) = (connection.session.clone(), entry.clone());
        let answer = async move {
            let on_id = |id: &RequestId| opened.set_stream(id, stream_signals.clone());
            let mut request = OutboundRequest::new(
                SubscriptionsListen::METHOD,
                Some(&params),
                &negotiated_revision,
            );
            request.timeouts = Timeouts::NONE;
            request.log_level = log_level;
            request.on_id_assigned = Some(&on_id);
            session.send_request(request).await
        };
        Self {
            entry: entry.clone(),
            connection: connection.clone(),
            signals,
            answer: Box::pin(answer),
        }
    }

    /// Waits until the server has acknowledged the subscription.
    async fn wait_for_acknowledgement(mut self, inner: &ClientInner) -> Result<Self, Error> {
        let Timeouts {
            idle_timeout: silence,
            total_timeout: total,
            ..
        } = inner.timeouts;
        let (timeout, late) = match (silence, total) {
            (Some(silence), total) if total.is_none_or(|total| silence < total) => {
                (silence, TimeoutKind::Idle(silence))
            }
            (_, Some(total)) => (total, TimeoutKind::Total(total)),
            (_, None) => (Duration::MAX, TimeoutKind::Total(Duration::MAX)),
        };
        let acknowledgement = async {
            tokio::select! {
                biased;
                () = self.signals.acknowledged.cancelled() => Ok(()),
                answer = &mut self.answer => Err(match answer {
                    Ok(_) => Error::InvalidResult {
                        method: SubscriptionsListen::METHOD.to_owned(),
                        reason: "the stream ended before it was acknowledged".into(),
                    },
                    Err(error) => inner.to_error(error),
                }),
            }
        };
        inner
            .user_waits
            .timeout(timeout, acknowledgement)
            .await
            .ok_or(Error::TimedOut(late))??;
        match self.entry.acknowledged_filter().is_empty() {
            true => Err(unsupported_error(
                SubscriptionsListen::METHOD,
                &self.connection,
            )),
            false => Ok(self),
        }
    }

    async fn wait_for_end(&mut self) -> String {
        let answer = tokio::select! {
            answer = &mut self.answer => Some(answer),
            () = self.signals.ended.cancelled() => {
                tokio::time::timeout(STREAM_END_TIMEOUT, &mut self.answer).await.ok()
            }
        };
        match answer {
            Some(Err(error)) => Error::from_request_error(error, "the server").to_string(),
            Some(Ok(_)) | None => "the server ended the stream".into(),
        }
    }
}

impl Drop for ListenStream {
    fn drop(&mut self) {
        self.entry.clear_stream();
    }
}

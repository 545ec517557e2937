//! A subscription to changes at a server, which is made again when it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use turnbuckle_client::{ChangeFilter, Client, Subscription};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::TimeoutKind;
use turnbuckle_types::base::text::Escaped;

use crate::connections::lease::Lease;
use crate::error::Error;
use crate::member::state::Member;

/// The time after which a subscription that has ended is made again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The server and the receiver of the changes of a [`KeptSubscription`].
pub(crate) trait Subscribing: Send + Sync + 'static {
    /// Returns the server.
    fn member(&self) -> &Member;

    /// Returns the changes that are subscribed to.
    fn changes(&self) -> &[Change];

    /// Returns a connection to subscribe on; `None` if the subscription is not made again.
    ///
    /// # Errors
    /// If there is no connection now.
    fn connect(
        &self,
        attempt: Attempt,
    ) -> impl Future<Output = Option<Result<Connected, Error>>> + Send;

    /// Records that the server has accepted or refused the subscription.
    fn record_answer(&self) {}

    /// Passes a change on.
    fn publish(&self, change: &Change);
}

/// The reason for an attempt to subscribe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// A request that waits for the outcome.
    Awaited,
    /// The end of the subscription.
    Ended,
    /// The failure of the attempt before.
    Failed,
}

/// A connection to subscribe on.
pub(crate) struct Connected {
    pub(crate) client: Client,
    /// Keeps the connection open until the server has answered.
    pub(crate) lease: Option<Lease>,
}

/// A subscription in a task, which dropping the value ends.
pub(crate) struct KeptSubscription {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    state: watch::Sender<State>,
    /// Notified when a request waits for another attempt.
    awaited: Notify,
}

#[derive(Debug)]
enum State {
    /// The server has not answered yet.
    Pending,
    /// The server tells of the changes.
    Active,
    /// The last attempt has failed with the error, or the subscription has ended.
    Inactive {
        error: Option<Error>,
        /// True if there is no other attempt.
        is_final: bool,
    },
}

impl State {
    fn is_pending(&self) -> bool {
        matches!(self, Self::Pending)
    }
}

impl Drop for KeptSubscription {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.end();
    }
}

impl KeptSubscription {
    /// Subscribes, in a task of its own.
    pub(crate) fn start(subscribing: impl Subscribing) -> Self {
        let shared = Arc::new(Shared {
            state: watch::Sender::new(State::Pending),
            awaited: Notify::new(),
        });
        let task = tokio::spawn(keep(subscribing, shared.clone()));
        Self { shared, task }
    }

    /// Returns whether the subscription is not made again.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(
            *self.shared.state.borrow(),
            State::Inactive { is_final: true, .. }
        )
    }

    /// Waits until the server has accepted the subscription. One that is not active is tried again at once.
    ///
    /// # Errors
    /// Returns the error of the attempt; `None` if the subscription ends meanwhile.
    pub(crate) fn wait_until_active(
        &self,
    ) -> impl Future<Output = Result<(), Option<Error>>> + Send + use<> {
        let shared = self.shared.clone();
        let is_tried_again = shared.state.send_if_modified(|state| {
            let is_inactive = matches!(
                state,
                State::Inactive {
                    is_final: false,
                    ..
                }
            );
            if is_inactive {
                *state = State::Pending;
            }
            is_inactive
        });
        if is_tried_again {
            shared.awaited.notify_one();
        }
        async move {
            let mut states = shared.state.subscribe();
            let settled = states.wait_for(|state| !state.is_pending());
            match settled.await.as_deref() {
                Ok(State::Active) => Ok(()),
                Ok(State::Inactive { error, .. }) => Err(error.clone()),
                Ok(State::Pending) | Err(_) => Err(None),
            }
        }
    }
}

impl Shared {
    /// Records that there is no other attempt.
    fn end(&self) {
        self.state.send_modify(|state| {
            let error = match state {
                State::Inactive { error, .. } => error.take(),
                State::Pending | State::Active => None,
            };
            let is_final = true;
            *state = State::Inactive { error, is_final };
        });
    }
}

/// Passes the changes of a subscription on, which is made again when it ends.
async fn keep(subscribing: impl Subscribing, shared: Arc<Shared>) {
    let mut attempt = Attempt::Awaited;
    let mut is_resumed = false;
    while let Some(connected) = subscribing.connect(attempt).await {
        let subscribed = match connected {
            Ok(connected) => subscribe(&subscribing, connected).await,
            Err(error) => Err(error),
        };
        subscribing.record_answer();
        let (error, next) = match subscribed {
            Ok(mut subscription) => {
                shared.state.send_replace(State::Active);
                if is_resumed {
                    // Some may have been missed.
                    let changes = subscribing.changes().iter();
                    changes.for_each(|change| subscribing.publish(change));
                }
                while let Some(change) = subscription.next().await {
                    subscribing.publish(&change);
                }
                (None, Attempt::Ended)
            }
            Err(error) => {
                tracing::debug!(error = %Escaped(&error), "a server tells of no changes");
                (Some(error), Attempt::Failed)
            }
        };
        is_resumed = true;
        let is_final = false;
        shared
            .state
            .send_replace(State::Inactive { error, is_final });
        tokio::select! {
            () = sleep(RETRY_INTERVAL) => {}
            () = shared.awaited.notified() => {}
        }
        attempt = match shared.state.borrow().is_pending() {
            true => Attempt::Awaited,
            false => next,
        };
    }
    shared.end();
}

/// Subscribes within the time limit of requests to the server.
async fn subscribe(
    subscribing: &impl Subscribing,
    connected: Connected,
) -> Result<Subscription, Error> {
    let filter = ChangeFilter::new();
    let filter = subscribing
        .changes()
        .iter()
        .fold(filter, |filter, change| match change {
            Change::Tools => filter.tools(),
            Change::Prompts => filter.prompts(),
            Change::Resources => filter.resources(),
            Change::Resource(uri) => filter.resource(&**uri),
        });
    let Connected { client, lease } = connected;
    let subscribed = client.subscribe(filter);
    let member = subscribing.member();
    let subscribed = match member.options.total_timeout {
        Some(total) => match timeout(total, subscribed).await {
            Ok(subscribed) => subscribed,
            Err(_) => Err(turnbuckle_client::Error::TimedOut(TimeoutKind::Total(
                total,
            ))),
        },
        None => subscribed.await,
    };
    drop(lease);
    subscribed.map_err(|error| Error::Request {
        server: member.name.clone(),
        error,
    })
}

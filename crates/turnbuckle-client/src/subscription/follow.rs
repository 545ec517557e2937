//! Legacy subscriptions to single resources, which belong to the session and not to a subscriber:
//! the first subscriber of a resource subscribes to it, the last one takes that back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use turnbuckle_session::{Ask, LinkError, Patience};
use turnbuckle_types::method::{Subscribe, Unsubscribe};
use turnbuckle_types::{Request, SubscribeParams, UnsubscribeParams};

use super::Subscribers;
use crate::Error;
use crate::client::Shared;
use crate::live::Live;

/// How long a server may take in all to take back what one subscription followed. Nobody waits for
/// that.
const LAST_WORD: Duration = Duration::from_secs(10);

/// The resources that one session tells of.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// The connection that the session belongs to.
    generation: u64,
    /// How many subscriptions each is followed by.
    counts: HashMap<Arc<str>, usize>,
}

impl Following {
    /// Those of a connection: what an older one told of is over.
    fn of(&mut self, live: &Live) -> &mut HashMap<Arc<str>, usize> {
        if self.generation < live.generation {
            self.generation = live.generation;
            self.counts.clear();
        }
        &mut self.counts
    }

    /// One subscription less. Whether that was the last one that the server tells of a resource for.
    fn leave(&mut self, live: &Live, uri: &Arc<str>) -> bool {
        if live.conversation.is_lost() || self.generation != live.generation {
            return false;
        }
        let Some(count) = self.counts.get_mut(uri) else {
            return false;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.counts.remove(uri);
        }
        last
    }
}

/// What one subscription follows. Dropping it takes back what nobody else follows.
pub(super) struct Follows {
    subscribers: Arc<Subscribers>,
    live: Arc<Live>,
    uris: Vec<Arc<str>>,
}

/// Has the server tell of resources. One at a time, so that subscribing to a resource and taking
/// that back do not overtake each other.
pub(super) async fn follow(
    shared: &Arc<Shared>,
    live: &Arc<Live>,
    uris: impl Iterator<Item = &Arc<str>>,
) -> Result<Follows, Error> {
    let mut follows = Follows {
        subscribers: shared.subscribers.clone(),
        live: live.clone(),
        uris: Vec::new(),
    };
    for uri in uris {
        let mut following = shared.subscribers.following.lock().await;
        match following.of(live).get_mut(uri) {
            Some(count) => *count += 1,
            None => {
                let params = SubscribeParams::new(&**uri);
                let mut ask = Ask::new(Subscribe::METHOD, Some(&params), &live.speaks);
                ask.patience = shared.patience;
                shared.asked(live, ask).await?;
                following.of(live).insert(uri.clone(), 1);
            }
        }
        follows.uris.push(uri.clone());
    }
    Ok(follows)
}

/// Takes back what a subscription followed. Holds nothing of the client: a server that does not
/// answer keeps no connection open that nobody wants any more.
async fn unfollow(subscribers: Arc<Subscribers>, live: Arc<Live>, uris: Vec<Arc<str>>) {
    let mut uris = uris.into_iter();
    let asked = async {
        loop {
            let mut following = subscribers.following.lock().await;
            let Some(uri) = uris.next() else { return };
            if !following.leave(&live, &uri) {
                continue;
            }
            let params = UnsubscribeParams::new(&*uri);
            let mut ask = Ask::new(Unsubscribe::METHOD, Some(&params), &live.speaks);
            ask.patience = Patience::FOREVER;
            if let Err(error) = live.conversation.ask(ask).await {
                tracing::debug!(?error, "a resource could not be unsubscribed from");
            }
        }
    };
    if timeout(LAST_WORD, asked).await.is_err() {
        tracing::debug!(
            left = uris.len() + 1,
            "resources were not unsubscribed from in time"
        );
        let mut following = subscribers.following.lock().await;
        for uri in uris {
            following.leave(&live, &uri);
        }
    }
}

impl Drop for Follows {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.uris);
        if uris.is_empty() || self.live.conversation.is_lost() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let subscribers = self.subscribers.clone();
            runtime.spawn(unfollow(subscribers, self.live.clone(), uris));
        }
    }
}

impl Follows {
    /// Resolves when the server tells of nothing any more; says why.
    pub(super) async fn ended(&self) -> String {
        self.live.conversation.ended().cancelled().await;
        let cause = self.live.conversation.cause();
        cause.unwrap_or(LinkError::Closed).to_string()
    }
}

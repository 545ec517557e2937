//! Legacy subscriptions to single resources, which belong to the session and not to a subscriber:
//! the first subscriber of a resource subscribes to it, the last one takes that back.

use std::collections::HashMap;
use std::sync::Arc;

use turnbuckle_session::{Ask, LinkError};
use turnbuckle_types::method::{Subscribe, Unsubscribe};
use turnbuckle_types::{Request, SubscribeParams, UnsubscribeParams};

use crate::Error;
use crate::client::Shared;
use crate::live::Live;

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
}

/// What one subscription follows. Dropping it takes back what nobody else follows.
pub(super) struct Follows {
    shared: Arc<Shared>,
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
        shared: shared.clone(),
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

async fn unfollow(shared: Arc<Shared>, live: Arc<Live>, uris: Vec<Arc<str>>) {
    for uri in uris {
        let mut following = shared.subscribers.following.lock().await;
        if live.conversation.is_lost() || following.generation != live.generation {
            return;
        }
        let Some(count) = following.counts.get_mut(&uri) else {
            continue;
        };
        *count -= 1;
        if *count > 0 {
            continue;
        }
        following.counts.remove(&uri);
        let params = UnsubscribeParams::new(&*uri);
        let mut ask = Ask::new(Unsubscribe::METHOD, Some(&params), &live.speaks);
        ask.patience = shared.patience;
        if let Err(error) = shared.asked(&live, ask).await {
            tracing::debug!(%error, "a resource could not be unsubscribed from");
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
            runtime.spawn(unfollow(self.shared.clone(), self.live.clone(), uris));
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

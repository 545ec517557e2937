//! Where questions wait for their turn, and are told who asks.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use turnbuckle_session::Signal;
use turnbuckle_wire::revision::Features;

use super::Question;
use super::visit::Visits;
use crate::live::Live;
use crate::server::ServerInfo;

/// Questions that stand before handlers at once, unless told otherwise.
const AT_ONCE: usize = 8;

/// What the questions of one client share.
pub(super) struct Desk {
    seats: Arc<Semaphore>,
    asker: watch::Sender<Option<Asker>>,
    visits: Visits,
}

/// The server of one connection.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    pub(super) server: Arc<ServerInfo>,
    pub(super) address: Arc<str>,
    /// Tells when the connection is gone.
    pub(super) ended: Signal,
}

impl Asker {
    pub(super) fn features(&self) -> &'static Features {
        self.server.revision.features()
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Desk {
    pub(super) fn new(at_once: usize) -> Self {
        let seats = at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            seats: Arc::new(Semaphore::new(seats)),
            asker: watch::Sender::new(None),
            visits: Visits::default(),
        }
    }

    pub(super) fn visits(&self) -> &Visits {
        &self.visits
    }

    /// There is a connection, in place of the one before.
    pub(super) fn seat(&self, live: &Live, address: &str) {
        self.asker.send_replace(Some(Asker {
            server: live.server.clone(),
            address: address.into(),
            ended: live.conversation.ended().clone(),
        }));
    }

    /// The server of the last connection there was.
    pub(super) fn current(&self) -> Option<Asker> {
        self.asker.borrow().clone()
    }

    /// The server of the connection that there is. A server may ask while its handshake is being
    /// concluded: until then this waits, and it is dropped if nothing comes of it.
    pub(super) async fn asker(&self) -> Asker {
        let mut asker = self.asker.subscribe();
        loop {
            let here = asker.borrow_and_update().clone();
            if let Some(here) = here.filter(|asker| !asker.ended.is_cancelled()) {
                return here;
            }
            if asker.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What is known of who asks inside a result.
    pub(super) fn asker_of(&self, server: &Arc<ServerInfo>) -> Asker {
        let known = self.current();
        match known {
            Some(asker) if Arc::ptr_eq(&asker.server, server) => asker,
            known => Asker {
                server: server.clone(),
                address: known.map_or_else(|| "".into(), |asker| asker.address),
                // Its connection was replaced already.
                ended: Signal::new(),
            },
        }
    }

    /// Waits until the question may be put before a handler. The seat is taken for as long as the
    /// permit is kept.
    pub(super) async fn question(&self, asker: Asker) -> (Question, Option<OwnedSemaphorePermit>) {
        let seat = self.seats.clone().acquire_owned().await;
        // Nobody closes the semaphore.
        (Question::new(asker), seat.ok())
    }
}

//! One instance of a server, as it and the others see it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use turnbuckle_store::Store;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

use crate::changes::Changes;
use crate::message::{MessageKind, NAME_BYTES, Receiver};
use lease::{Leases, keep_lease};
use mailbox::{Mailbox, read_mailbox};

mod lease;
mod mailbox;

pub use lease::LEASE_TTL;

/// One instance of a server: its name, its lease and its mailbox in the store that all instances share.
///
/// It begins to show itself and to receive messages with [`start`](Self::start), and ends when it is
/// dropped or [stopped](Self::stop).
pub struct Cluster {
    store: Arc<dyn Store>,
    instance: Arc<str>,
    leases: Leases,
    mailbox: Mailbox,
    changes: Arc<Changes>,
    is_started: AtomicBool,
    /// The servers of this process that serve as this instance.
    servers: AtomicUsize,
    /// True once the instance has ended. The tasks see as well when the sender is dropped.
    end: watch::Sender<bool>,
}

/// The fate of a message to another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// A receiver has taken it.
    Delivered,
    /// The instance is there, but what the message is about is not.
    NotThere,
    /// There is no such instance, or it has ended.
    NoInstance,
    /// The instance did not answer within 1 second.
    Unanswered,
}

impl Cluster {
    /// Creates an instance with a random name. The store is expected to be bounded and encrypted.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn new(store: Arc<dyn Store>) -> Result<Arc<Self>, RandomnessUnavailable> {
        let instance = random_name()?;
        let mark = u32::from_le_bytes(random::bytes()?);
        Ok(Arc::new(Self {
            changes: Changes::new(store.clone(), instance.clone(), mark),
            store,
            instance,
            leases: Leases::default(),
            mailbox: Mailbox::default(),
            is_started: AtomicBool::new(false),
            servers: AtomicUsize::new(0),
            end: watch::Sender::new(false),
        }))
    }

    /// Begins to renew the lease and to receive messages, if this is the first time in a runtime.
    pub fn start(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.is_started.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = || Arc::downgrade(self);
        runtime.spawn(keep_lease(this(), self.end.subscribe()));
        runtime.spawn(read_mailbox(this(), self.end.subscribe()));
        let receiver: Weak<dyn Receiver> = Arc::downgrade(&self.changes) as Weak<dyn Receiver>;
        self.add_receiver(MessageKind::ChangesGrew, receiver);
        let interruptions = self.mailbox.interruptions.subscribe();
        self.changes
            .start(&runtime, self.end.subscribe(), interruptions);
    }

    /// Returns whether the instance has started.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.is_started.load(Ordering::Acquire)
    }

    /// Ends the instance: it tells others of its last changes, receives nothing more, and others see at
    /// once that it has ended.
    pub async fn stop(&self) {
        if self.is_started() && !self.end.send_replace(true) {
            self.changes.append_all().await;
            self.release_lease().await;
        }
    }

    /// Counts a server of this process that serves as this instance.
    pub fn add_server(&self) {
        self.servers.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts the end of such a server. The instance is [stopped](Self::stop) with the last one.
    pub async fn remove_server(&self) {
        if self.servers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop().await;
        }
    }

    /// Returns the store that all instances share.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the changes that the instance shares with the others.
    #[must_use]
    pub fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Returns the name of the instance: 8 lower-case letters and digits, which no other one has.
    #[must_use]
    pub fn instance(&self) -> &Arc<str> {
        &self.instance
    }
}

/// The times at which something has happened to an instance.
#[derive(Debug, Clone)]
pub struct Occurrences(watch::Receiver<u64>);

impl Occurrences {
    /// Returns how often it has happened.
    #[must_use]
    pub fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Waits until it happens again. Returns `false` if the instance was dropped.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// Returns a random name of an instance.
fn random_name() -> Result<Arc<str>, RandomnessUnavailable> {
    // Without `c`, with which the ids of changes begin.
    const LETTERS: &[u8; 32] = b"abdefghijkmnopqrstuvwxyz23456789";
    let bytes = random::bytes::<NAME_BYTES>()?;
    let letter = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    Ok(bytes.into_iter().map(letter).collect::<String>().into())
}

#[cfg(test)]
mod tests;

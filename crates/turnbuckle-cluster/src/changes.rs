//! Changes that the subscribers of all instances are told of: one log, which each instance reads to its
//! end again and again.
//!
//! A change waits in the outbox, is appended, and comes back to every instance, its own included, with
//! its position. If the store fails, the subscribers of this instance are told at once, and the others once
//! the store is back.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use turnbuckle_store::{AppendAt, Keep, Position, Store, StoreError, StoreKey};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::base::text::Escaped;

use crate::message::{Envelope, MessageKind, Received, Receiver, topic_of_all};

mod entry;
mod outbox;
mod reader;
mod recent;

pub use entry::SharedChange;

use entry::Entry;
use outbox::{Outbox, Waiting};
use reader::follow_log;
use recent::{MAX_ENTRIES, RecentChanges};

/// The time that the log lives without a new entry.
const LOG_TTL: Duration = Duration::from_secs(600);

/// The time between two appends, and between two reads, while there is always more.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);

/// The shortest and the longest time after which a failed append is tried again.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(3)];

/// The most bytes of one change that other instances are told of.
const MAX_CHANGE_BYTES: usize = 256 << 10;

/// A server that tells its subscribers of changes. Its methods must not block.
pub trait ChangeReceiver: Send + Sync {
    /// Tells the subscribers of this instance of a change: of one in the log at a position, or of one that
    /// the log does not have.
    fn receive_change(&self, change: &SharedChange, at: Option<ChangePosition>);

    /// Receives the position up to which everything was received.
    fn receive_position(&self, position: ChangePosition);

    /// Tells all subscribers of this instance that everything may have changed, up to a position: changes
    /// were missed.
    fn receive_loss(&self, position: ChangePosition);
}

/// The changes that an instance shares with the others.
pub struct Changes {
    store: Arc<dyn Store>,
    instance: Arc<str>,
    receiver: OnceLock<Weak<dyn ChangeReceiver>>,
    state: Mutex<State>,
    /// The runtime in which the instance was started, once it was.
    runtime: OnceLock<Handle>,
    /// Notified when the log has grown.
    grew: Arc<Notify>,
    /// True once the log was read to its end.
    is_ready: watch::Sender<bool>,
    appended: watch::Sender<Appended>,
}

/// The changes of this instance that are in the log.
#[derive(Debug, Clone, Copy, Default)]
struct Appended {
    /// The number up to which all changes are in the log.
    number: u64,
    /// True while the store takes no changes.
    fails: bool,
}

struct State {
    outbox: Outbox,
    recent: RecentChanges,
    has_writer: bool,
    last_mark: u32,
    /// The time at which the log last had a new entry, as far as this instance knows.
    grew_at: Option<Instant>,
}

impl Changes {
    /// Creates the changes of an instance. Marks begin with a random number.
    pub(crate) fn new(store: Arc<dyn Store>, instance: Arc<str>, mark: u32) -> Arc<Self> {
        Arc::new(Self {
            store,
            instance,
            receiver: OnceLock::new(),
            state: Mutex::new(State {
                outbox: Outbox::default(),
                recent: RecentChanges::default(),
                has_writer: false,
                last_mark: mark,
                grew_at: None,
            }),
            runtime: OnceLock::new(),
            grew: Arc::default(),
            is_ready: watch::Sender::new(false),
            appended: watch::Sender::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receiver(&self) -> Option<Arc<dyn ChangeReceiver>> {
        self.receiver.get()?.upgrade()
    }

    /// Returns whether nothing waits, so that the writer ends.
    fn end_writer(&self) -> bool {
        let mut state = self.state();
        state.has_writer = !state.outbox.is_empty();
        !state.has_writer
    }

    fn receive_change(&self, change: &SharedChange, at: Option<ChangePosition>) {
        if let Some(receiver) = self.receiver() {
            receiver.receive_change(change, at);
        }
    }
}

/// Receives the message that the log has grown.
impl Receiver for Changes {
    fn receive(&self, _: &Received) -> bool {
        self.grew.notify_one();
        true
    }
}

impl State {
    fn next_mark(&mut self) -> u32 {
        // Odd steps of this size visit every number.
        self.last_mark = self.last_mark.wrapping_add(0x9e37_79b9);
        self.last_mark
    }
}

fn log_key() -> Result<StoreKey, StoreError> {
    StoreKey::new("changes")
}

const KEEP: Keep = Keep {
    entries: MAX_ENTRIES as u64,
    ttl: LOG_TTL,
};

impl Changes {
    /// Sets the server whose subscribers are told of changes, once.
    pub fn set_receiver(&self, receiver: Weak<dyn ChangeReceiver>) {
        // The first one stays.
        let _ = self.receiver.set(receiver);
    }

    /// Tells the subscribers of all instances of a change. Those of this instance are told at once if it
    /// has not started or the store fails.
    pub fn publish(self: &Arc<Self>, change: SharedChange) {
        if change.bytes() > MAX_CHANGE_BYTES {
            tracing::warn!(
                "a change of more than {MAX_CHANGE_BYTES} bytes is told to the subscribers of this \
                 instance alone"
            );
            return self.receive_change(&change, None);
        }
        let mut state = self.state();
        let is_told = self.runtime.get().is_none() || self.appended.borrow().fails;
        state.outbox.push(Waiting {
            change: change.clone(),
            is_told,
        });
        let had_writer = std::mem::replace(&mut state.has_writer, true);
        drop(state);
        if is_told {
            self.receive_change(&change, None);
        }
        if !had_writer {
            self.start_writer();
        }
    }

    /// Waits until all changes that were made before are in the log: the other instances tell their subscribers
    /// of them even if this one is killed. Returns `false` if the store takes no changes; then they wait for it.
    pub async fn flush(self: &Arc<Self>) -> bool {
        let mut appended = self.appended.subscribe();
        let (last, needs_writer) = {
            let mut state = self.state();
            let needs_writer =
                !state.outbox.is_empty() && !std::mem::replace(&mut state.has_writer, true);
            (state.outbox.last_number(), needs_writer)
        };
        if needs_writer {
            self.start_writer();
        }
        // The sender lives as long as `self`.
        let done = appended.wait_for(|it| it.fails || it.number >= last).await;
        done.is_ok_and(|appended| !appended.fails)
    }

    /// Starts a task that appends what waits, in the runtime of the instance or else the present one.
    fn start_writer(self: &Arc<Self>) {
        let runtime = self.runtime.get().cloned();
        match runtime.map_or_else(Handle::try_current, Ok) {
            Ok(runtime) => drop(runtime.spawn(Writer(Arc::downgrade(self)).run())),
            // What waits is appended with the next change that is made in a runtime.
            Err(_) => self.state().has_writer = false,
        }
    }

    /// Begins to read the log in a runtime, until `end`. `interruptions` changes when messages of other
    /// instances may have been lost.
    pub(crate) fn start(
        self: &Arc<Self>,
        runtime: &Handle,
        end: watch::Receiver<bool>,
        interruptions: watch::Receiver<u64>,
    ) {
        // An instance starts once.
        let _ = self.runtime.set(runtime.clone());
        runtime.spawn(follow_log(Arc::downgrade(self), end, interruptions));
    }

    /// Waits until the log was read to its end.
    pub async fn ready(&self) {
        let mut is_ready = self.is_ready.subscribe();
        // The sender lives as long as `self`.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }

    /// Returns the position of the newest entry that this instance has read; the one before all entries if
    /// it has read none.
    #[must_use]
    pub fn position(&self) -> ChangePosition {
        self.state().recent.last()
    }

    /// Returns the changes since a position, each once at its latest one. `None` if they are not known:
    /// everything may have changed.
    #[must_use]
    pub fn since(&self, position: ChangePosition) -> Option<Vec<(SharedChange, ChangePosition)>> {
        self.state().recent.since(position)
    }

    /// Appends a batch of what waits. Returns `false` if nothing waits.
    ///
    /// # Errors
    /// If the store fails. The subscribers of this instance were told then.
    async fn append_batch(&self) -> Result<bool, StoreError> {
        let mut batch = self.state().outbox.take_batch();
        if batch.is_empty() {
            return Ok(false);
        }
        let entries = {
            let mut state = self.state();
            let entry = |(_, waiting): &(u64, Waiting)| Entry {
                origin: self.instance.clone(),
                mark: state.next_mark(),
                is_told: waiting.is_told,
                change: Some(waiting.change.clone()),
            };
            batch.iter().map(entry).map(|it| it.to_bytes()).collect()
        };
        match self.append(AppendAt::End, entries).await {
            Ok(_) => {
                let number = batch.last().map_or(0, |(number, _)| *number);
                let fails = false;
                if self.appended.send_replace(Appended { number, fails }).fails {
                    tracing::info!("the store is back: other instances are told of changes");
                }
            }
            Err(error) => {
                let untold: Vec<_> = {
                    let mut state = self.state();
                    let set_failing =
                        |appended: &mut Appended| !std::mem::replace(&mut appended.fails, true);
                    if self.appended.send_if_modified(set_failing) {
                        tracing::warn!(
                            error = %Escaped(&error),
                            "the store takes no changes; other instances are told once it is back"
                        );
                    }
                    let mut untold = Vec::new();
                    for (_, waiting) in &mut batch {
                        if !std::mem::replace(&mut waiting.is_told, true) {
                            untold.push(waiting.change.clone());
                        }
                    }
                    untold.extend(state.outbox.mark_told());
                    state.outbox.put_back(batch);
                    untold
                };
                for change in &untold {
                    self.receive_change(change, None);
                }
                return Err(error);
            }
        }
        self.grew.notify_one();
        if let Err(error) = self.announce().await {
            // The others look by themselves.
            tracing::debug!(error = %Escaped(&error), "changes were not announced");
        }
        Ok(true)
    }

    /// Tells the other instances that the log has grown.
    async fn announce(&self) -> Result<(), StoreError> {
        let message = Envelope {
            kind: MessageKind::ChangesGrew,
            is_parcel: false,
            number: 0,
            from: self.instance.clone(),
            body: Bytes::new(),
        };
        self.store
            .publish(&topic_of_all()?, message.to_bytes())
            .await
    }

    /// Appends all that waits, unless the store fails.
    pub(crate) async fn append_all(&self) {
        while matches!(self.append_batch().await, Ok(true)) {}
    }

    async fn append(
        &self,
        at: AppendAt,
        entries: Vec<Bytes>,
    ) -> Result<Option<Position>, StoreError> {
        self.store.append(&log_key()?, at, entries, KEEP).await
    }
}

/// A task that appends what waits until nothing does.
struct Writer(Weak<Changes>);

impl Writer {
    async fn run(mut self) {
        let mut delay = RETRY_DELAYS[0];
        while let Some(changes) = self.0.upgrade() {
            let pause = match changes.append_batch().await {
                Ok(_) => {
                    delay = RETRY_DELAYS[0];
                    BATCH_INTERVAL
                }
                Err(_) => {
                    let pause = delay;
                    delay = (delay * 2).min(RETRY_DELAYS[1]);
                    pause
                }
            };
            if changes.end_writer() {
                self.0 = Weak::new();
                return;
            }
            drop(changes);
            tokio::time::sleep(pause).await;
        }
    }
}

/// Lets the next change start another writer, if the runtime has ended this one.
impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(changes) = self.0.upgrade() {
            changes.state().has_writer = false;
        }
    }
}

#[cfg(test)]
mod tests;

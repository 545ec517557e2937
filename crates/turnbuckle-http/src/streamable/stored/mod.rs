//! Sessions in the store that all instances of a server share.
//!
//! The table of sessions is a cache of their records: `record` restores a session that another instance
//! opened, and saves what its client changes; `forward` passes on messages that belong to another
//! instance, and `receive` gets those of others; `refresh` looks
//! at the records of sessions in use; `standalone` passes on what a client reads at another instance.

mod forward;
mod messages;
mod receive;
mod record;
mod refresh;
pub(super) mod session;
mod standalone;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use turnbuckle_cluster::{Cluster, MessageKind, Occurrences, Receiver};
use turnbuckle_session::internal::ServerEndpoint;
use turnbuckle_store::Store;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;

use super::sessions::{HttpSession, Maintain, SessionTable};
use crate::options::HttpServerOptions;
use crate::streams::{MAX_WAITING, StandaloneMessage};
use refresh::look_again;
use standalone::send_standalone;

/// The most keys whose life begins anew in one operation.
const MAX_TOUCHED: usize = turnbuckle_store::bounds::MAX_TOUCH_KEYS;

/// The sessions of one endpoint that are in the store.
pub(crate) struct StoredSessions {
    cluster: Arc<Cluster>,
    server: ServerEndpoint,
    table: Arc<SessionTable>,
    options: Arc<HttpServerOptions>,
    interruptions: Occurrences,
    is_started: AtomicBool,
    /// The number of messages that the record of a session has changed which this instance did not know.
    unknown_changes: AtomicU64,
    /// The messages for standalone streams that clients read at other instances.
    standalone_outbox: mpsc::Sender<StandaloneMessage>,
    standalone_messages: Mutex<Option<mpsc::Receiver<StandaloneMessage>>>,
    this: Weak<Self>,
}

debug_fields!(StoredSessions { cluster });

/// The session that a request names, as far as this instance knows it.
pub(super) enum FoundStored<'a> {
    /// The session, or `None` if the request names none in the store.
    Known(Option<Arc<HttpSession>>),
    /// A session whose record has to be read.
    Unsure {
        stored: &'a StoredSessions,
        id: &'a str,
        known: Option<Arc<HttpSession>>,
    },
}

impl StoredSessions {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        server: ServerEndpoint,
        table: Arc<SessionTable>,
        options: Arc<HttpServerOptions>,
    ) -> Arc<Self> {
        let (standalone_outbox, standalone_messages) = mpsc::channel(MAX_WAITING);
        let this = Arc::new_cyclic(|this| Self {
            standalone_outbox,
            standalone_messages: Mutex::new(Some(standalone_messages)),
            this: this.clone(),
            interruptions: cluster.interruptions(),
            cluster,
            server,
            table,
            options,
            is_started: AtomicBool::new(false),
            unknown_changes: AtomicU64::new(0),
        });
        // The table belongs to one endpoint, so that nobody has set it before.
        let maintain: Weak<dyn Maintain> = this.this.clone();
        let _ = this.table.stored.set(maintain);
        this.start();
        this
    }

    /// Begins to receive messages of other instances, if this is the first time in a runtime.
    pub(super) fn start(&self) {
        if self.is_started.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.is_started.swap(true, Ordering::AcqRel) {
            return;
        }
        for kind in [
            MessageKind::SessionMessage,
            MessageKind::SessionChanged,
            MessageKind::SessionEnded,
            MessageKind::StandaloneMessage,
        ] {
            let receiver: Weak<dyn Receiver> = self.this.clone();
            self.cluster.add_receiver(kind, receiver);
        }
        self.cluster.start();
        let messages = self.standalone_messages.lock();
        let messages = messages.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(messages) = messages {
            runtime.spawn(send_standalone(Arc::downgrade(&self.cluster), messages));
        }
        runtime.spawn(put_back(self.this.clone(), self.cluster.losses()));
        runtime.spawn(look_again(self.this.clone(), self.interruptions.clone()));
    }

    fn store(&self) -> &dyn Store {
        self.cluster.store()
    }

    /// Returns the name of this instance.
    pub(super) fn instance(&self) -> &Arc<str> {
        self.cluster.instance()
    }

    /// Returns whether a known session may be used without a look at its record.
    pub(super) fn is_fresh(&self, open: &HttpSession) -> bool {
        let interruptions = self.interruptions.count();
        open.record_state()
            .is_none_or(|stored| stored.is_fresh(Instant::now(), interruptions))
    }

    /// Returns whether the client has changed what the record does not have yet.
    pub(super) fn is_changed(open: &HttpSession) -> bool {
        let changes = open.session.legacy().map(|legacy| legacy.changes());
        open.record_state()
            .is_some_and(|stored| changes.is_some_and(|changes| changes != stored.changes()))
    }

    /// Returns how long the record of a session lives.
    fn ttl(&self, open: &HttpSession) -> Duration {
        let timeouts = &self.options.timeouts;
        let idle = timeouts.session_idle_timeout;
        let ttl = match open.is_initialized() {
            true => idle,
            false => idle.min(timeouts.handshake_timeout),
        };
        ttl.clamp(Duration::from_millis(1), turnbuckle_store::bounds::MAX_TTL)
    }

    /// Lets the records of sessions that were used live on, and saves changes that could not be saved
    /// before.
    async fn renew(&self) {
        let sessions = self.table.all();
        let used = sessions.iter().filter_map(|open| {
            let last_used = *open.last_used();
            let stored = open.record_state()?;
            let key = stored.key().ok()?;
            stored
                .is_used_since(last_used)
                .then(|| (self.ttl(open), last_used, stored, key))
        });
        let mut used: Vec<_> = used.collect();
        used.sort_unstable_by_key(|(ttl, ..)| *ttl);
        for group in used.chunk_by(|(one, ..), (other, ..)| one == other) {
            for group in group.chunks(MAX_TOUCHED) {
                let keys = group.iter().map(|(.., key)| key.clone()).collect();
                if let Err(error) = self.store().touch(keys, group[0].0).await {
                    tracing::debug!(
                        error = %Escaped(&error),
                        "the records of sessions that were used do not live longer yet"
                    );
                    return;
                }
                for (_, last_used, stored, _) in group {
                    stored.set_touched(*last_used);
                }
            }
        }
        for open in sessions.iter().filter(|open| Self::is_changed(open)) {
            if self.save(open).await.is_err() {
                return;
            }
        }
    }
}

impl Maintain for StoredSessions {
    fn maintain(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.renew())
    }
}

/// Puts the records of known sessions back each time that the store was found emptied.
async fn put_back(sessions: Weak<StoredSessions>, mut losses: Occurrences) {
    while losses.next().await {
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        for open in sessions.table.all() {
            if let Err(error) = sessions.put_record(&open).await {
                tracing::warn!(
                    error = %Escaped(&error),
                    "the records of sessions could not be put back into an emptied store"
                );
                break;
            }
        }
    }
}

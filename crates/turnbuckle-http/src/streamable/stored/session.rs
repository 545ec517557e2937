//! The state of one session whose record is in the store.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_session::internal::{RecordBase, SessionRecord};
use turnbuckle_store::{StoreError, StoreKey, Version};
use turnbuckle_types::base::change_position::ChangePosition;

/// The time after which a known session is looked at in the store again.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The part of a session that concerns its record in the store.
#[derive(Debug)]
pub(crate) struct StoredSession {
    pub(crate) id: Arc<str>,
    saved: Mutex<Saved>,
    /// Held while the record is saved.
    pub(super) saving: tokio::sync::Mutex<()>,
    /// True while a task reads the record, because another instance changed it.
    pub(super) is_refreshing: AtomicBool,
    /// True while a task saves the record again and again, because that failed.
    pub(super) is_saving_later: AtomicBool,
}

/// The record as this instance last saved or read it.
#[derive(Debug)]
struct Saved {
    /// `None` before the record was saved first.
    version: Option<Version>,
    base: RecordBase,
    /// The number of the client's changes that the record has.
    changes: u32,
    /// The position in the log of changes before the record was last read or saved: what it did not have then
    /// was subscribed to later.
    position: ChangePosition,
    /// The position before the first change that could not be saved yet.
    unsaved_since: Option<ChangePosition>,
    /// The number of times that the client's roots had changed.
    roots: u64,
    /// The time of the last look at the record, and the number of interruptions then. `None` if
    /// the record must be looked at before the next use.
    checked: Option<(Instant, u64)>,
    /// The number of messages of other instances that they have changed the record.
    announcements: u64,
    /// The time at which the record was last known to be there.
    known_at: Instant,
    /// The time at which the life of the record last began anew.
    touched_at: Instant,
}

/// The state of this instance before it read or saved a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The number of interruptions.
    interruptions: u64,
    /// The position in the log of changes.
    position: ChangePosition,
    /// The number of messages that the record has changed.
    announcements: u64,
    /// The known version of the record.
    pub(super) version: Option<Version>,
}

impl Saved {
    fn set_checked(&mut self, look: Look) {
        let now = Instant::now();
        self.known_at = now;
        // Of a change that was announced meanwhile it is not known whether it was seen.
        if look.announcements == self.announcements {
            self.checked = Some((now, look.interruptions));
        }
    }
}

impl StoredSession {
    /// Returns the state of a session that has this record.
    pub(crate) fn new(id: Arc<str>, record: Option<&SessionRecord>) -> Self {
        let now = Instant::now();
        let base = record.map(RecordBase::from);
        Self {
            id,
            saved: Mutex::new(Saved {
                version: None,
                base: base.unwrap_or(RecordBase {
                    log_level: turnbuckle_types::LoggingLevel::Info,
                    resources: Vec::new(),
                    change_position: None,
                }),
                changes: 0,
                position: ChangePosition::default(),
                unsaved_since: None,
                roots: 0,
                checked: None,
                announcements: 0,
                known_at: now,
                touched_at: now,
            }),
            saving: tokio::sync::Mutex::default(),
            is_refreshing: AtomicBool::new(false),
            is_saving_later: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key of the record.
    pub(super) fn key(&self) -> Result<StoreKey, StoreError> {
        record_key(&self.id)
    }

    /// Returns whether the record was looked at recently and no message about it may have been lost.
    pub(super) fn is_fresh(&self, now: Instant, interruptions: u64) -> bool {
        let checked = self.state().checked;
        checked.is_some_and(|(at, then)| {
            then == interruptions && now.saturating_duration_since(at) < CHECK_INTERVAL
        })
    }

    /// Returns how long ago the record was last known to be there.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.state().known_at)
    }

    /// Returns the state before the record is read or saved, of an instance with this number of interruptions
    /// and this position in the log of changes.
    pub(super) fn look(&self, interruptions: u64, position: ChangePosition) -> Look {
        let saved = self.state();
        Look {
            interruptions,
            position,
            announcements: saved.announcements,
            version: saved.version,
        }
    }

    /// Lets the next use look at the record, unless this version of it is known.
    pub(super) fn set_changed(&self, version: Version) -> bool {
        let mut saved = self.state();
        let is_new = saved.version != Some(version);
        if is_new {
            saved.checked = None;
            saved.announcements += 1;
        }
        is_new
    }

    /// Returns the known version of the record, and the parts that its client can change.
    pub(super) fn base(&self) -> (Option<Version>, RecordBase) {
        let saved = self.state();
        (saved.version, saved.base.clone())
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.state().version
    }

    pub(super) fn changes(&self) -> u32 {
        self.state().changes
    }

    /// Returns the position in the log of changes at which the session had what the known version of the
    /// record has, and nothing more.
    pub(super) fn position(&self) -> ChangePosition {
        self.state().position
    }

    /// Returns the position before the first change that could not be saved yet.
    pub(super) fn unsaved_since(&self) -> Option<ChangePosition> {
        self.state().unsaved_since
    }

    /// Records that the changes which were made before `look` could not be saved.
    pub(super) fn set_unsaved(&self, look: Look) {
        self.state().unsaved_since.get_or_insert(look.position);
    }

    /// Records that the store had this version of the record after `look`. `record` is the record with the
    /// number of changes that it has, if it was written or read.
    pub(super) fn set_known(
        &self,
        look: Look,
        version: Version,
        record: Option<(&SessionRecord, u32)>,
    ) {
        let mut saved = self.state();
        saved.version = Some(version);
        saved.position = look.position;
        saved.set_checked(look);
        if let Some((record, changes)) = record {
            saved.base = RecordBase::from(record);
            saved.changes = changes;
            saved.unsaved_since = None;
        }
    }

    /// Records the number of times that the client's roots have changed. Returns whether it is another
    /// one than before.
    pub(super) fn set_roots(&self, roots: u64) -> bool {
        std::mem::replace(&mut self.state().roots, roots) != roots
    }

    /// Lets the next use look at the record.
    pub(super) fn set_unchecked(&self) {
        self.state().checked = None;
    }

    /// Records that the record was there after `look`, and that nothing of it was taken over.
    pub(super) fn set_checked(&self, look: Look) {
        self.state().set_checked(look);
    }

    /// Records the version that the client's changes are merged into.
    pub(super) fn set_base(&self, look: Look, version: Version, record: &SessionRecord) {
        let mut saved = self.state();
        saved.version = Some(version);
        saved.position = look.position;
        saved.base = RecordBase::from(record);
    }

    /// Returns whether the session was used after the life of its record last began anew.
    pub(super) fn is_used_since(&self, last_used: Instant) -> bool {
        last_used > self.state().touched_at
    }

    /// Records that the life of the record began anew after the use at this time.
    pub(super) fn set_touched(&self, last_used: Instant) {
        self.state().touched_at = last_used;
    }
}

/// Returns the key of the record of a session.
pub(super) fn record_key(id: &str) -> Result<StoreKey, StoreError> {
    StoreKey::new(format!("session/{id}"))
}

//! The records of sessions: restored, saved and removed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;
use turnbuckle_cluster::MessageKind;
use turnbuckle_session::internal::{RecordError, SessionRecord};
use turnbuckle_store::{Bytes, Condition, StoreError, StoreErrorKind, Version, Versioned};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::base::text::Escaped;

use super::StoredSessions;
use super::messages::{SessionChanged, SessionEnded, encode};
use super::session::{Look, StoredSession, record_key};
use crate::reply::{HttpReply, exceeded_reply, memory_reply, store_reply};
use crate::request::principal::Owner;
use crate::streamable::sessions::{HttpSession, OpenSessionError, SessionKind, SessionSource};

/// The most attempts to save a record that other instances change at the same time.
const MAX_ATTEMPTS: usize = 8;

impl StoredSessions {
    /// Returns the session of an id, if a request of this source may use it: `known` after a look at its
    /// record, or one that is restored from its record.
    ///
    /// # Errors
    /// The reply to the request when the store fails, or there is no room for the session.
    pub(in crate::streamable) async fn restore(
        &self,
        id: &str,
        known: Option<Arc<HttpSession>>,
        source: SessionSource<'_>,
    ) -> Result<Option<Arc<HttpSession>>, Box<HttpReply>> {
        match known {
            Some(known) => self.check(&known).await.map(|stays| stays.then_some(known)),
            None => self.restore_unknown(id, source).await,
        }
    }

    /// Returns the state of this instance before it reads or saves the record of a session.
    fn look(&self, stored: &StoredSession) -> Look {
        let position = self.cluster.changes().position();
        stored.look(self.interruptions.count(), position)
    }

    /// Looks at the record of a known session, and takes over what other instances changed. Returns
    /// whether the session goes on; otherwise it is forgotten.
    pub(super) async fn check(&self, open: &Arc<HttpSession>) -> Result<bool, Box<HttpReply>> {
        let Some(stored) = open.record_state() else {
            return Ok(true);
        };
        for _ in 0..MAX_ATTEMPTS {
            let look = self.look(stored);
            let found = match stored.key() {
                Ok(key) => self.store().get(&key).await,
                Err(error) => Err(error),
            };
            let found = match found {
                Ok(Some(found)) => found,
                Ok(None) => return self.check_missing(open, stored).await,
                Err(error) if is_unreadable(&error) => return Ok(self.forget(open)),
                Err(error) => return self.go_on_without(stored, &error),
            };
            match self.read(&found) {
                Ok(record) => self.take_over(open, stored, &record, found.version, look),
                Err(RecordError::Newer) => return Err(newer_reply()),
                Err(RecordError::Malformed) => return Ok(self.forget(open)),
            }
            if self.is_fresh(open) {
                break;
            }
        }
        Ok(true)
    }

    /// Decides about a known session without a record.
    async fn check_missing(
        &self,
        open: &Arc<HttpSession>,
        stored: &StoredSession,
    ) -> Result<bool, Box<HttpReply>> {
        let put = match self.cluster.was_emptied().await {
            Ok(true) => self.put_record(open).await,
            Ok(false) => return Ok(self.forget(open)),
            Err(error) => Err(error),
        };
        match put {
            Ok(()) => Ok(true),
            Err(error) => self.go_on_without(stored, &error),
        }
    }

    /// Decides about a known session while the store fails: it goes on for a while.
    fn go_on_without(
        &self,
        stored: &StoredSession,
        error: &StoreError,
    ) -> Result<bool, Box<HttpReply>> {
        match stored.age(Instant::now()) < self.options.timeouts.stale_session_ttl {
            true => Ok(true),
            false => Err(Box::new(store_reply(error))),
        }
    }

    /// Applies the record of a known session, unless the client has changed something here that is not
    /// saved yet: then both are merged when it is. A record that was read while another one was taken over may
    /// be the earlier of both, and is not applied.
    fn take_over(
        &self,
        open: &HttpSession,
        stored: &StoredSession,
        record: &SessionRecord,
        version: Version,
        look: Look,
    ) {
        let changes = open.session.legacy().map_or(0, |legacy| legacy.changes());
        if stored.version() == Some(version) {
            return stored.set_known(look, version, None);
        }
        if stored.version() != look.version {
            return;
        }
        if changes != stored.changes() {
            return stored.set_checked(look);
        }
        open.session
            .apply_record(record, Some(known_position(stored, record)));
        // The message that would have told of changed roots may have been lost.
        open.session.clear_roots();
        stored.set_known(look, version, Some((record, changes)));
    }

    async fn restore_unknown(
        &self,
        id: &str,
        source: SessionSource<'_>,
    ) -> Result<Option<Arc<HttpSession>>, Box<HttpReply>> {
        let refuse = |error: &StoreError| Err(Box::new(store_reply(error)));
        let (interruptions, position) = (
            self.interruptions.count(),
            self.cluster.changes().position(),
        );
        let unknown_changes = self.unknown_changes.load(Ordering::Acquire);
        let found = match record_key(id) {
            Ok(key) => self.store().get(&key).await,
            Err(error) => Err(error),
        };
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => {
                return match self.cluster.was_emptied().await {
                    Ok(false) => Ok(None),
                    Ok(true) => refuse(&StoreError::new(
                        StoreErrorKind::Unavailable,
                        "it was emptied a moment ago, and other instances put their sessions back",
                    )),
                    Err(error) => refuse(&error),
                };
            }
            Err(error) if is_unreadable(&error) => {
                tracing::warn!(error = %Escaped(&error), "the record of a session is unreadable");
                return Ok(None);
            }
            Err(error) => return refuse(&error),
        };
        let record = match self.read(&found) {
            Ok(record) => record,
            Err(RecordError::Newer) => return Err(newer_reply()),
            Err(RecordError::Malformed) => return Ok(None),
        };
        if !Owner::of_record(record.owner.clone()).admits(source.principal) {
            return Ok(None);
        }
        let stored = StoredSession::new(id.into(), Some(&record));
        stored.set_known(stored.look(interruptions, position), found.version, None);
        let kind = SessionKind::Stored(Box::new(stored));
        let open = self
            .table
            .create(&self.server, source, kind, Some(&record))
            .map_err(|exceeded| Box::new(memory_reply(exceeded)))?;
        open.session.share(self.instance());
        self.pass_on(&open, true);
        match self.table.insert_as(id, open) {
            Ok(open) if self.unknown_changes.load(Ordering::Acquire) == unknown_changes => {
                Ok(Some(open))
            }
            // This record may have changed before the session was known here.
            Ok(open) => {
                if let Some(stored) = open.record_state() {
                    stored.set_unchecked();
                }
                self.check(&open).await.map(|stays| stays.then_some(open))
            }
            Err(OpenSessionError::TooMany(exceeded)) => Err(Box::new(exceeded_reply(
                exceeded,
                "sessions",
                "HttpLimits::max_sessions",
            ))),
            // The id is there already.
            Err(OpenSessionError::RandomnessUnavailable) => Ok(None),
        }
    }

    fn read(&self, found: &Versioned) -> Result<SessionRecord, RecordError> {
        SessionRecord::decode(&found.value).inspect_err(|error| {
            tracing::warn!(error = %Escaped(error), "a session in the store cannot be read");
        })
    }

    /// Removes a known session that is no longer in the store. Returns `false`.
    fn forget(&self, open: &Arc<HttpSession>) -> bool {
        if let Some(id) = open.stored_id() {
            self.table.forget(id, open);
        }
        false
    }

    /// Puts the record of a session into the store, which does not have it: of a new session, or
    /// after the store was emptied.
    ///
    /// # Errors
    /// If the store fails.
    pub(in crate::streamable) async fn put_record(
        &self,
        open: &HttpSession,
    ) -> Result<(), StoreError> {
        let (Some(stored), Some(legacy)) = (open.record_state(), open.session.legacy()) else {
            return Ok(());
        };
        let _saving = stored.saving.lock().await;
        let (changes, look) = (legacy.changes(), self.look(stored));
        let record = legacy.to_record(open.owner().clone().into_record());
        let (key, value) = (stored.key()?, encode_record(&record)?);
        let put = self
            .store()
            .put(&key, value, Condition::Absent, self.ttl(open));
        match put.await? {
            Some(version) => {
                let known = Some((&record, changes));
                stored.set_known(look, version, known);
            }
            // Another instance was faster; the next use reads its record.
            None => stored.set_unchecked(),
        }
        Ok(())
    }

    /// Saves what the client has changed, and tells the other instances.
    ///
    /// # Errors
    /// If the store fails. The changes are saved later then.
    pub(in crate::streamable) async fn save(
        &self,
        open: &Arc<HttpSession>,
    ) -> Result<(), StoreError> {
        let stored = open.record_state();
        let look = stored.map(|stored| (stored, self.look(stored)));
        let outcome = self.try_save(open).await;
        if let Err(error) = &outcome {
            if let Some((stored, look)) = look {
                stored.set_unsaved(look);
                self.save_later(open, stored);
            }
            tracing::warn!(
                error = %Escaped(error),
                "the record of a session could not be saved; it is tried again later"
            );
        }
        outcome
    }

    pub(super) async fn try_save(&self, open: &Arc<HttpSession>) -> Result<(), StoreError> {
        let (Some(stored), Some(legacy)) = (open.record_state(), open.session.legacy()) else {
            return Ok(());
        };
        let key = stored.key()?;
        for _ in 0..MAX_ATTEMPTS {
            let saving = stored.saving.lock().await;
            let look = self.look(stored);
            let changes = legacy.changes();
            if changes == stored.changes() {
                return Ok(());
            }
            let (version, base) = stored.base();
            let mut record = legacy.to_record(open.owner().clone().into_record());
            record.unsaved_since = stored.unsaved_since();
            let value = encode_record(&record)?;
            let when = version.map_or(Condition::Absent, Condition::Version);
            let put = self.store().put(&key, value, when, self.ttl(open)).await?;
            if let Some(version) = put {
                let known = Some((&record, changes));
                stored.set_known(look, version, known);
                drop(saving);
                self.tell_changed(open, stored, version).await;
                return Ok(());
            }
            let Some(found) = self.store().get(&key).await? else {
                drop(saving);
                // Put back if the store was emptied, and forgotten if the session has ended.
                if self.cluster.was_emptied().await? {
                    self.put_record(open).await?;
                    continue;
                }
                self.forget(open);
                return Ok(());
            };
            let Ok(theirs) = self.read(&found) else {
                drop(saving);
                self.forget(open);
                return Ok(());
            };
            let mut merged = record;
            merged.merge(&base, &theirs);
            open.session
                .apply_record(&merged, Some(known_position(stored, &theirs)));
            stored.set_base(look, found.version, &theirs);
        }
        Err(StoreError::new(
            StoreErrorKind::Busy,
            "other instances change the record of the session all the time",
        ))
    }

    async fn tell_changed(&self, open: &HttpSession, stored: &StoredSession, version: Version) {
        let legacy = open.session.legacy();
        let roots = legacy.and_then(|legacy| legacy.roots_cache());
        let changed = SessionChanged {
            session: stored.id.to_string(),
            version: version.0,
            roots: roots.is_some_and(|roots| stored.set_roots(roots.version())),
        };
        self.broadcast(MessageKind::SessionChanged, encode(&changed))
            .await;
    }

    /// Sends a message to all other instances. If it is lost, they see the change in the store when they
    /// look at the record.
    async fn broadcast(&self, kind: MessageKind, body: Bytes) {
        if let Err(error) = self.cluster.broadcast(kind, body).await {
            tracing::debug!(error = %Escaped(&error), "other instances were not told of a change");
        }
    }

    /// Ends a session on all instances.
    ///
    /// # Errors
    /// If the store fails. The session goes on then.
    pub(in crate::streamable) async fn end(
        &self,
        open: &Arc<HttpSession>,
    ) -> Result<(), StoreError> {
        let Some(stored) = open.record_state() else {
            return Ok(());
        };
        self.store()
            .remove(&stored.key()?, Condition::Always)
            .await?;
        self.forget(open);
        let ended = SessionEnded {
            session: stored.id.to_string(),
        };
        self.broadcast(MessageKind::SessionEnded, encode(&ended))
            .await;
        Ok(())
    }
}

/// Returns the position in the log of changes at which a session had nothing yet of what is new in a record.
fn known_position(stored: &StoredSession, record: &SessionRecord) -> ChangePosition {
    let position = stored.position();
    record.unsaved_since.map_or(position, |it| it.min(position))
}

/// Returns whether a record is there that nobody with these keys can read. Its client has to open another
/// session.
fn is_unreadable(error: &StoreError) -> bool {
    matches!(
        error.kind(),
        StoreErrorKind::Corrupt | StoreErrorKind::UnknownKey
    )
}

fn encode_record(record: &SessionRecord) -> Result<Bytes, StoreError> {
    let encoded = record.encode().map(Bytes::from);
    encoded.map_err(|_| {
        StoreError::new(
            StoreErrorKind::TooLarge,
            "the record of a session is too long for the store",
        )
    })
}

/// Returns the reply to a request of a session that an instance of a newer release saved: other instances
/// can serve it.
fn newer_reply() -> Box<HttpReply> {
    Box::new(store_reply(&StoreError::new(
        StoreErrorKind::NewerVersion,
        "the session was saved by a newer release",
    )))
}

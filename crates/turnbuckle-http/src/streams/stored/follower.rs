//! A client that has come back for the stream of another instance.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use turnbuckle_cluster::{Delivery, MessageKind};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::MemoryAccount;
use turnbuckle_store::{AppendAt, Keep, ReadLimit, StoreError, StoreErrorKind, StoreKey};
use turnbuckle_types::base::text::Escaped;

use super::courier::{Courier, StreamCopies};
use super::followers::FollowerSignal;
use super::reader::{LogReader, ReadStep};
use crate::event::{self, EventId, StreamName};

/// The time between two looks at the owner, and the number of looks between two at the log and between two
/// questions whether the owner still has the stream.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
const LOOKS_PER_READ: u32 = 3;
const LOOKS_PER_QUESTION: u32 = 10;

/// The most of a log that is read at once.
const READ_LIMIT: ReadLimit = ReadLimit {
    entries: 64,
    bytes: 256 << 10,
};

/// The events of a stream of another instance, for a client that has come back here.
#[derive(Debug)]
pub(crate) struct FollowedStream(mpsc::Receiver<Bytes>);

impl FollowedStream {
    /// Returns the next event; `None` when there are no more.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(cx)
    }
}

/// The knowledge about the owner of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    /// The owner writes the stream, as far as is known.
    Running,
    /// The owner has ended, or does not have the stream any more.
    Gone,
}

/// The task that sends a stream to a client.
struct Follower {
    copies: StreamCopies,
    key: StoreKey,
    name: StreamName,
    owner: Arc<str>,
    signal: Arc<FollowerSignal>,
    reader: LogReader,
    account: MemoryAccount,
    state: OwnerState,
    has_asked: bool,
}

impl Drop for Follower {
    fn drop(&mut self) {
        let courier = &self.copies.courier;
        courier.followers.remove(&self.key, &self.signal);
    }
}

impl StreamCopies {
    /// Returns the events of a stream of this session behind an event, as the store keeps them and as its
    /// owner adds more. Returns `None` if the event is not known, or not any more.
    ///
    /// # Errors
    /// If the store fails, or the owner does not answer.
    pub(crate) async fn follow(
        &self,
        after: &EventId<'_>,
        account: MemoryAccount,
        shutdown: Signal,
    ) -> Result<Option<FollowedStream>, StoreError> {
        let Some(instance) = after.instance else {
            return Ok(None);
        };
        let owner: Arc<str> = instance.into();
        let name = StreamName {
            changes: None,
            instance: Some(owner.clone()),
            number: after.stream,
        };
        let Some(key) = Courier::key(&self.session, &name) else {
            return Ok(None);
        };
        let mut follower = Follower {
            signal: self.register_follower(&key),
            copies: self.clone(),
            key,
            name,
            owner,
            reader: LogReader::new(after.position.sequence),
            account,
            state: OwnerState::Running,
            has_asked: false,
        };
        let mut steps = follower.read_steps().await?;
        if steps.is_empty() {
            let asked = follower.ask_owner().await;
            if !follower.reader.knows_requests() {
                asked?;
            }
            steps = follower.read_steps().await?;
        }
        let is_unknown = match steps.first() {
            Some(step) => *step == ReadStep::Lost,
            None => follower.state == OwnerState::Gone && !follower.reader.knows_requests(),
        };
        if is_unknown {
            return Ok(None);
        }
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = shutdown.closing() => {}
                () = sender.closed() => {}
                () = follower.run(steps, &sender) => {}
            }
        });
        Ok(Some(FollowedStream(receiver)))
    }
}

impl Follower {
    /// Reads the log from where the reader is. Returns the next steps, or none at its end.
    async fn read_steps(&mut self) -> Result<Vec<ReadStep>, StoreError> {
        let store = self.copies.courier.cluster.store();
        loop {
            let before = self.reader.position();
            let slice = store.read(&self.key, before, READ_LIMIT).await?;
            let steps = self.reader.read(&slice);
            if !steps.is_empty() || self.reader.position() == before {
                return Ok(steps);
            }
        }
    }

    /// Asks the owner to tell what it writes. It closes its own connections of the stream.
    async fn ask_owner(&mut self) -> Result<(), StoreError> {
        self.has_asked = true;
        let cluster = self.copies.courier.cluster.clone();
        if !cluster.is_alive(&self.owner).await? {
            self.state = OwnerState::Gone;
            return Ok(());
        }
        let body = Bytes::copy_from_slice(self.key.as_str().as_bytes());
        let kind = MessageKind::StreamWanted;
        match cluster.send(&self.owner, kind, body).await? {
            Delivery::Delivered => Ok(()),
            Delivery::NotThere | Delivery::NoInstance => {
                self.state = OwnerState::Gone;
                Ok(())
            }
            Delivery::Unanswered => Err(StoreError::new(
                StoreErrorKind::TimedOut,
                "the instance that serves this stream has not answered: try again",
            )),
        }
    }

    async fn run(mut self, mut steps: Vec<ReadStep>, sender: &mpsc::Sender<Bytes>) {
        let mut looks = 0_u32;
        let mut has_aborted = false;
        loop {
            for step in steps {
                let ReadStep::Event { sequence, message } = step else {
                    return;
                };
                if self.signal.is_taken() {
                    return;
                }
                let event = event::message_with_id(&self.name, sequence, &message);
                let memory = self.account.reserve_beyond_limits(event.len());
                if sender.send(memory.attach(event)).await.is_err() {
                    return;
                }
            }
            steps = Vec::new();
            if self.signal.is_taken() {
                return;
            }
            match self.read_steps().await {
                Ok(read) if !read.is_empty() => {
                    steps = read;
                    has_aborted = false;
                    continue;
                }
                Ok(_) if self.state == OwnerState::Gone => match self.abort().await {
                    // Never again at once, whatever the store says.
                    Ok(true) if !std::mem::replace(&mut has_aborted, true) => continue,
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => note_failure(&error),
                },
                Ok(_) => {}
                Err(error) => note_failure(&error),
            }
            if !self.has_asked {
                let _ = self.ask_owner().await.inspect_err(note_failure);
                continue;
            }
            loop {
                let grew = tokio::time::timeout(LOOK_INTERVAL, self.signal.changed());
                if grew.await.is_ok() {
                    break;
                }
                looks = looks.wrapping_add(1);
                if self.state == OwnerState::Gone {
                    break;
                }
                self.look_at_owner(looks).await;
                if self.state == OwnerState::Gone || looks.is_multiple_of(LOOKS_PER_READ) {
                    break;
                }
            }
        }
    }

    async fn look_at_owner(&mut self, looks: u32) {
        if looks.is_multiple_of(LOOKS_PER_QUESTION) {
            let _ = self.ask_owner().await.inspect_err(note_failure);
            return;
        }
        match self.copies.courier.cluster.is_alive(&self.owner).await {
            Ok(true) => {}
            Ok(false) => self.state = OwnerState::Gone,
            Err(error) => note_failure(&error),
        }
    }

    /// Ends the stream in the place of its owner, unless its log has grown since. Returns false if nobody
    /// knows which requests it had.
    async fn abort(&self) -> Result<bool, StoreError> {
        let Some((at, entries)) = self.reader.abort() else {
            return Ok(false);
        };
        let courier = &self.copies.courier;
        let keep = Keep {
            entries: (courier.bounds.entries + entries.len()) as u64,
            ttl: courier.stream_ttl,
        };
        let at = AppendAt::Exactly(at);
        let appended = courier.cluster.store().append(&self.key, at, entries, keep);
        appended.await.map(|_| true)
    }
}

fn note_failure(error: &StoreError) {
    tracing::debug!(error = %Escaped(error), "the store failed; a stream of another instance waits");
}

//! A stream that this instance owns, as its courier knows it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_store::{Keep, LogSlice, Position, StoreKey};

use super::OpenRequests;
use super::writer::{LogBounds, LogWriter, Refusal};
use crate::streams::SessionStream;

/// The time that the log of an open stream lives, and the time after which it is renewed.
const OPEN_TTL: Duration = Duration::from_secs(10 * 60);
const RENEW_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The times after which an append that failed is repeated.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(3);

/// The time after its end in which a stream must be written.
const END_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A stream that this instance owns.
pub(super) struct OwnedStream {
    pub(super) key: StoreKey,
    pub(super) stream: Weak<SessionStream>,
    pub(super) writer: LogWriter,
    /// The instance to which the client went for the stream.
    pub(super) follower: Option<Arc<str>>,
    /// The time at which the stream is to be looked at, unless it is busy.
    pub(super) due: Option<Instant>,
    /// True while entries are being appended.
    pub(super) is_busy: bool,
    pub(super) ended_at: Option<Instant>,
    renew_at: Instant,
    failures: u32,
}

/// Entries to append.
pub(super) struct AppendJob {
    pub(super) number: u64,
    pub(super) key: StoreKey,
    pub(super) at: Position,
    pub(super) entries: Vec<Bytes>,
    pub(super) keep: Keep,
}

/// The answer of a store to an append.
pub(super) enum AppendOutcome {
    Appended,
    /// The position is taken, or not the next one. These entries are there.
    Refused(LogSlice),
    /// The store has failed.
    Failed,
    /// The store will never take the entries.
    Impossible,
}

/// The next step of a courier with a stream.
pub(super) enum NextStep {
    /// Look at the stream at that time.
    Look(Instant),
    /// Forget the stream: it is written, or cannot be.
    Forget,
    /// End the stream: another instance has ended it.
    End,
}

impl OwnedStream {
    pub(super) fn new(
        key: StoreKey,
        stream: &Arc<SessionStream>,
        open: OpenRequests,
        bounds: LogBounds,
    ) -> Self {
        Self {
            key,
            stream: Arc::downgrade(stream),
            writer: LogWriter::new(open, bounds),
            follower: None,
            due: None,
            is_busy: false,
            ended_at: None,
            renew_at: Instant::now() + RENEW_INTERVAL,
            failures: 0,
        }
    }

    /// Returns the entries to append now, or the time of the next look.
    pub(super) fn next_job(
        &mut self,
        number: u64,
        now: Instant,
        stream_ttl: Duration,
    ) -> Result<AppendJob, Instant> {
        let renews = now >= self.renew_at;
        let Some(batch) = self.writer.next_batch(renews) else {
            return Err(self.renew_at);
        };
        let ttl = if batch.is_end { stream_ttl } else { OPEN_TTL };
        Ok(AppendJob {
            number,
            key: self.key.clone(),
            at: batch.at,
            entries: batch.entries.clone(),
            keep: Keep {
                entries: batch.keep as u64,
                ttl,
            },
        })
    }

    /// Notes the outcome of an append.
    pub(super) fn finish_job(&mut self, outcome: &AppendOutcome, now: Instant) -> NextStep {
        match outcome {
            AppendOutcome::Appended => self.writer.confirm_batch(),
            AppendOutcome::Refused(found) => match self.writer.judge_refusal(found) {
                Refusal::Written => {}
                // Not at once, whatever the store says.
                Refusal::Again => return NextStep::Look(now + FIRST_RETRY_DELAY),
                Refusal::Fenced => return NextStep::End,
            },
            AppendOutcome::Failed => {
                let is_late = |ended: Instant| now.saturating_duration_since(ended) >= END_TIMEOUT;
                if self.ended_at.is_some_and(is_late) {
                    return NextStep::Forget;
                }
                let delay = FIRST_RETRY_DELAY.saturating_mul(1 << self.failures.min(8));
                self.failures = self.failures.saturating_add(1);
                return NextStep::Look(now + delay.min(MAX_RETRY_DELAY));
            }
            AppendOutcome::Impossible => return NextStep::Forget,
        }
        self.failures = 0;
        self.renew_at = now + RENEW_INTERVAL;
        if self.writer.is_over() {
            return NextStep::Forget;
        }
        NextStep::Look(if self.writer.has_more() {
            now
        } else {
            self.renew_at
        })
    }
}

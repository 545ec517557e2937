//! The progress of the responses of an HTTP/2 connection.
//!
//! A client can leave a response unread while the connection itself goes on, because each response
//! has a window of its own. So the bytes that wait are watched for each response.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;
use turnbuckle_session::internal::MemoryPermit;

/// The parts of the timeout in which progress is measured.
const STEPS: usize = 8;

/// The steps in which the responses of one connection that wait for their client progressed last.
#[derive(Debug)]
pub(super) struct WriteProgress {
    step: Duration,
    /// The number of the current step, modulo [`STEPS`].
    current: AtomicUsize,
    /// The number of waiting responses whose last progress was in that step.
    waiting: [AtomicUsize; STEPS],
}

impl WriteProgress {
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            step: (timeout / 8).max(Duration::from_millis(1)),
            current: AtomicUsize::new(0),
            waiting: Default::default(),
        })
    }

    /// Waits until a response has made no progress for the timeout, or up to an eighth less.
    pub(super) async fn wait_for_stall(&self) {
        loop {
            sleep(self.step).await;
            let oldest = (self.current.load(Ordering::Relaxed) + 1) % STEPS;
            if self.responses(oldest).load(Ordering::Relaxed) > 0 {
                return;
            }
            self.current.store(oldest, Ordering::Relaxed);
        }
    }

    fn responses(&self, step: usize) -> &AtomicUsize {
        let [first, ..] = &self.waiting;
        self.waiting.get(step).unwrap_or(first)
    }
}

/// The chunks of one response that were handed to the connection and are not sent yet.
#[derive(Debug)]
pub(super) struct UnsentChunks {
    progress: Arc<WriteProgress>,
    state: Mutex<Unsent>,
    /// The memory of the stream: it is in use until the last chunk was sent.
    _memory: MemoryPermit,
}

#[derive(Debug, Default)]
struct Unsent {
    chunks: usize,
    /// The step of the last progress, if there are chunks.
    step: usize,
}

impl UnsentChunks {
    pub(super) fn new(progress: &Arc<WriteProgress>, memory: MemoryPermit) -> Arc<Self> {
        Arc::new(Self {
            progress: progress.clone(),
            state: Mutex::default(),
            _memory: memory,
        })
    }

    /// Returns the same bytes. They wait for the client until they are dropped.
    pub(super) fn watch(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        let mut state = self.state();
        state.chunks += 1;
        if state.chunks == 1 {
            self.begin_step(&mut state);
        }
        drop(state);
        Bytes::from_owner(WatchedChunk {
            bytes,
            unsent: self.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, Unsent> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_step(&self, state: &mut Unsent) {
        state.step = self.progress.current.load(Ordering::Relaxed);
        let responses = self.progress.responses(state.step);
        responses.fetch_add(1, Ordering::Relaxed);
    }
}

/// A chunk that waits for the client.
struct WatchedChunk {
    bytes: Bytes,
    unsent: Arc<UnsentChunks>,
}

impl AsRef<[u8]> for WatchedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for WatchedChunk {
    fn drop(&mut self) {
        let mut state = self.unsent.state();
        state.chunks -= 1;
        let responses = self.unsent.progress.responses(state.step);
        responses.fetch_sub(1, Ordering::Relaxed);
        if state.chunks > 0 {
            self.unsent.begin_step(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(8);

    fn chunk() -> Bytes {
        Bytes::from_static(b"chunk")
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_of_which_nothing_is_sent_has_stalled_after_the_timeout() {
        let progress = WriteProgress::new(TIMEOUT);
        let begin = Instant::now();
        let unsent = UnsentChunks::new(&progress, MemoryPermit::default());
        let _chunk = unsent.watch(chunk());
        progress.wait_for_stall().await;
        assert_eq!(begin.elapsed(), TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn each_chunk_that_is_sent_starts_the_time_anew() {
        let progress = WriteProgress::new(TIMEOUT);
        let unsent = UnsentChunks::new(&progress, MemoryPermit::default());
        let mut chunks: Vec<Bytes> = (0..5).map(|_| unsent.watch(chunk())).collect();
        let begin = Instant::now();
        let reader = async {
            while let Some(sent) = chunks.pop() {
                sleep(TIMEOUT / 2).await;
                drop(sent);
            }
            // Nothing waits: the time does not count.
            sleep(3 * TIMEOUT).await;
        };
        tokio::select! {
            () = reader => {}
            () = progress.wait_for_stall() => panic!("stalled after {:?}", begin.elapsed()),
        }
    }
}

//! What all streams of one endpoint keep for replay, each within its own bounds and all together
//! within one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stream::Stream;
use crate::config::Config;

/// Makes streams, and counts what they keep.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Events of one stream.
    pub(super) events: usize,
    /// Bytes of one stream.
    pub(super) bytes: usize,
    /// Connections of one stream.
    pub(super) readers: usize,
    /// Bytes of all streams.
    total: usize,
    kept: AtomicUsize,
}

impl Replay {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            events: config.replay_events,
            bytes: config.replay_bytes,
            readers: config.max_readers.max(1),
            total: config.replay_total_bytes,
            kept: AtomicUsize::new(0),
        })
    }

    /// A stream that keeps what it says.
    pub(crate) fn stream(self: &Arc<Self>, id: u64) -> Arc<Stream> {
        Stream::new(id, self.clone())
    }

    /// Whether all together keep too much.
    pub(super) fn is_over(&self) -> bool {
        self.kept.load(Ordering::Relaxed) > self.total
    }

    pub(super) fn keep(&self, bytes: usize) {
        self.kept.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn forget(&self, bytes: usize) {
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_session::Route;

    use super::*;
    use crate::event::Place;

    /// What a stream says in a test, and how long that is as an event.
    const SAID: &[u8] = b"{}";
    const EVENT: usize = "id: 1-1\nevent: message\ndata: {}\n\n".len();

    const START: Option<Place> = Some(Place {
        sequence: 0,
        connection: None,
    });

    fn kept(replay: &Replay) -> usize {
        replay.kept.load(Ordering::Relaxed)
    }

    fn say(stream: &Stream) {
        assert!(stream.send(SAID.to_vec()).is_ok());
    }

    #[test]
    fn all_streams_together_keep_no_more_than_the_total() {
        let replay = Replay::new(&Config::new().replay_total_bytes(4 * EVENT));
        let (one, two) = (replay.stream(1), replay.stream(2));
        (0..3).for_each(|_| say(&one));
        say(&two);
        assert_eq!(kept(&replay), 4 * EVENT, "the total is not too much");
        assert!(one.attach(START).is_some());
        // One more is: whoever says it forgets what it said first.
        say(&one);
        assert_eq!(kept(&replay), 4 * EVENT);
        assert!(one.attach(START).is_none());
        assert!(two.attach(START).is_some());
        drop(one);
        assert_eq!(kept(&replay), EVENT, "what is gone keeps nothing");
    }

    #[test]
    fn what_a_connection_has_not_read_is_not_forgotten() {
        let replay = Replay::new(&Config::new().replay_total_bytes(0));
        let stream = replay.stream(1);
        let reader = stream.attach(None);
        (0..3).for_each(|_| say(&stream));
        assert_eq!(kept(&replay), 3 * EVENT);
        drop(reader);
        say(&stream);
        assert_eq!(kept(&replay), EVENT, "the last is always kept");
    }
}

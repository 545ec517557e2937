//! The trait for the copy of a stream that its replay log feeds.

use std::fmt;

use bytes::Bytes;

/// The copy of one stream that this instance owns. Dropping it ends the copy.
pub(crate) trait StreamCopy: fmt::Debug + Send + Sync {
    /// Adds a message.
    fn push(&self, sequence: u64, message: &Bytes);

    /// Ends the stream.
    fn end(&self);

    /// Tells the instance that sends the stream to the client that the client is here again.
    fn end_follower(&self);
}

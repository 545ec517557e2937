//! The copies of resumable streams in the store that all instances of a server share.
//!
//! The instance that serves a POST owns its stream. A copy of what it sends is written behind, so that no
//! call waits for the store. A client that comes back to another instance is sent what it has not received
//! from there, and then what the owner adds. If the owner has ended, each of its open requests ends with an
//! error.
//!
//! [`LogWriter`](writer::LogWriter) and [`LogReader`](reader::LogReader) decide what is written and sent,
//! without time and input or output.

mod courier;
mod entry;
mod follower;
mod followers;
mod open_requests;
mod owned;
mod reader;
mod stream_copy;
mod writer;

#[cfg(test)]
mod explore;
#[cfg(test)]
mod tests;

pub(crate) use courier::{Courier, StreamCopies};
pub(crate) use follower::FollowedStream;
pub(crate) use open_requests::OpenRequests;
pub(crate) use stream_copy::StreamCopy;

//! The Model Context Protocol on lines: one message per line over any byte stream, and over the
//! process's own standard streams.
//!
//! [`serve_stream`] answers the client at the other end of a reader and a writer; [`run`] is a
//! whole server process, and keeps its output clean of whatever else the process prints.
//! [`StreamTransport`] is what they are made of, and what a client joins over a stream of its own.
//!
//! With the feature `client` there is the other end, too: a `Command` is how a client starts such a
//! server, talks to it and ends it.
//!
//! This crate knows bytes, lines and file descriptors. What a line means is not its business.
//!
//! Specification: basic/transports/stdio (2026-07-28).

#[cfg(feature = "client")]
mod child;
mod framing;
mod options;
mod process;
mod search;
mod stream;

#[cfg(feature = "client")]
pub use child::{Command, ShutdownTimes, StderrTo};
#[doc(hidden)]
pub use framing::Lines;
pub use options::StdioOptions;
pub use process::run;
pub use stream::{StreamTransport, serve_stream};

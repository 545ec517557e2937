//! The stdio transport of the Model Context Protocol: one message per line, over the standard
//! streams of a process or any other byte stream.
//!
//! [`run`] serves the client that started this process, on standard input and output, and keeps
//! whatever else the process prints out of the output. [`serve_stream`] serves a client on any reader
//! and writer. [`StreamTransport`] is the transport itself, for either end. With the feature `runtime`,
//! `run_on_runtime` serves as `run` does, for less where handlers mostly wait.
//!
//! With the feature `client`, a `Command` starts a server as a child process, connects a client to
//! it and ends the process.
//!
//! This crate handles bytes, lines and file descriptors. It does not know what a message means.
//!
//! Specification: basic/transports/stdio (2026-07-28).
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod child;
mod framing;
mod options;
mod process;
mod search;
mod stream;

#[cfg(feature = "client")]
pub use child::{Command, ShutdownTimeouts, StderrMode};
// Hidden, since only the fuzz target of this project uses it.
#[doc(hidden)]
pub use framing::LineDecoder;
pub use options::StdioOptions;
pub use process::run;
#[cfg(feature = "runtime")]
pub use process::run_on_runtime;
pub use stream::{StreamTransport, serve_stream};

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! The verbs of the tool, as a process, against the demo server.

mod config;
mod formats;
mod mistakes;
mod network;
mod support;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod untrusted;
mod verbs;

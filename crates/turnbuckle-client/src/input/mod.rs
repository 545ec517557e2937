//! Input requests: a server asks the client for sampling, elicitation or roots. One set of handlers
//! serves both eras.
//!
//! Specification: basic/patterns/mrtr, client/sampling, client/elicitation and client/roots
//! (2026-07-28).

mod answer_all;
pub(crate) mod form;
pub(crate) mod handler;
pub(crate) mod handlers;
pub(crate) mod limiter;
pub(crate) mod question;
pub(crate) mod rates;
pub(crate) mod roots;
pub(crate) mod sampling;
mod task_requests;
pub(crate) mod tasks;
pub(crate) mod url;
mod visits;

//! The wire of the Model Context Protocol, without I/O: JSON-RPC, the five revisions as tables of
//! facts, and the two eras.
//!
//! This crate knows no socket, no clock and no handler. It turns the bytes of one frame into a
//! message ([`rpc`]), says which era that belongs to and what it captured of it ([`era`]), and
//! writes replies as the reader's revision ([`revision`]) knows them.

pub mod era;
pub mod json;
pub mod revision;
pub mod rpc;

//! The wire of the Model Context Protocol, without I/O: JSON-RPC, the five revisions as tables of
//! facts, and the two eras.
//!
//! This crate knows no socket, no clock and no handler. It turns the bytes of one frame into a
//! message (`rpc`), says which era that belongs to and what it captured of it ([`era`]), and
//! writes replies as the reader's revision ([`revision`]) knows them.
//!
//! It is a room of turnbuckle's own house: the crates around it share what stands here, and may
//! change it together in any release. Documented is what `turnbuckle-session` passes on to users;
//! the rest is public because crates cannot share it otherwise, and is hidden.

pub mod era;
#[doc(hidden)]
pub mod json;
pub mod revision;
#[doc(hidden)]
pub mod rpc;

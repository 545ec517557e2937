//! Messages as JSON-RPC has them, whatever they carry.

mod batch;
mod ids;
mod kinds;

//! Files that a run is compared with: known findings, and the interface of the server.

pub mod baseline;
mod file_error;
pub mod lock;

pub use file_error::FileError;

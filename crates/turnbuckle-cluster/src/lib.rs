#![doc = include_str!("../README.md")]

mod cluster;
mod message;
mod parcel;

pub use cluster::{Cluster, Delivery, LEASE_TTL, Occurrences};
pub use message::{MessageKind, Received, Receiver};

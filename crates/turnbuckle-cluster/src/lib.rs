#![doc = include_str!("../README.md")]

mod changes;
mod cluster;
mod message;
mod parcel;

pub use changes::{ChangeReceiver, Changes, SharedChange};
pub use cluster::{Cluster, Delivery, LEASE_TTL, Occurrences};
pub use message::{MessageKind, Received, Receiver};

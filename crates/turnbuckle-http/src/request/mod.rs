//! A request as an endpoint reads it: its head, its body, its origin, its principal, and its client.

pub(crate) mod body;
pub(crate) mod captured;
pub(crate) mod head;
pub(crate) mod origin;
pub(crate) mod principal;
pub(crate) mod trusted_proxies;

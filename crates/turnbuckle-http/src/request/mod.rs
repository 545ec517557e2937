//! A request as an endpoint reads it: its head, its body, its origin, and its principal.

pub(crate) mod body;
pub(crate) mod captured;
pub(crate) mod head;
pub(crate) mod origin;
pub(crate) mod principal;

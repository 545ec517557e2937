//! Servers of ours, as their users write them.

pub(crate) mod http;
pub(crate) mod offers;
pub(crate) mod stdio;

//! The client's end: connections to a server, requests on them, and questions from the server.

pub(crate) mod conversation;
pub(crate) mod joined;
pub(crate) mod link;
pub(crate) mod patience;
pub(crate) mod pump;
pub(crate) mod speaks;

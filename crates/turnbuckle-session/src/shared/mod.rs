//! Parts that both ends of a connection use: the pure protocol rules, transports, queues, signals
//! and the tasks that run handlers.

pub(crate) mod blocking;
pub(crate) mod dispatch;
pub(crate) mod driver;
pub(crate) mod hash;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod outgoing;
pub(crate) mod rate;
pub(crate) mod reply_sink;
pub(crate) mod signal;
pub(crate) mod transport;

//! Parts that both ends of a connection use: the pure protocol rules, transports, queues, signals,
//! rate limits, the budget of memory and the timeout of writes.

pub(crate) mod account;
pub(crate) mod blocking;
pub(crate) mod bounded_table;
pub(crate) mod frame_queue;
pub(crate) mod frame_range;
pub(crate) mod incoming;
pub(crate) mod instance_id;
pub(crate) mod kernel;
pub(crate) mod keyed_rates;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod memory_budget;
pub(crate) mod panic_guard;
pub(crate) mod rate;
pub(crate) mod reply_sink;
pub(crate) mod signal;
#[cfg(any(not(unix), feature = "signals"))]
pub(crate) mod signals;
pub(crate) mod trace;
pub(crate) mod transport;
pub(crate) mod write_timeout;

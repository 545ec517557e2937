//! One of many servers: its state, and the task that connects and watches it.

pub(crate) mod hidden_names;
pub(crate) mod lists;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod supervisor;

//! A correct server of every revision, over every transport, that can be given faults.
//!
//! It is written in plain JSON and knows nothing of the server of turnbuckle. It has the fixtures of the
//! official conformance suite. Without a fault it is right in everything that a check can see; with one
//! it is right in all but that.

mod admission;
mod answer;
mod asks;
mod call;
mod change;
mod faults;
mod http;
mod in_memory;
mod interlude;
mod items;
mod lines;
mod listen;
mod mirrored;
mod outlet;
mod prompts;
mod questions;
mod refusal;
mod reply;
mod resources;
mod server;
mod session;
mod sse;
mod streams;
mod tool_schemas;
mod tools;

pub use faults::Cause;
pub use interlude::Interlude;
pub use server::Sound;
pub use streams::SoundBody;

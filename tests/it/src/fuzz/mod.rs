//! Properties that hold for every input: one function per fuzz target.
//!
//! A target takes any bytes and fails by panicking. libFuzzer drives it from the `fuzz` crate
//! (`cargo xtask fuzz`); the kept inputs in `fuzz/corpus` are replayed by the ordinary tests.
//! Inputs are text wherever they can be, so that a find can be read and written by hand.

mod arguments;
mod client;
mod config;
mod converse;
mod cursor;
mod envelope;
mod events;
mod headers;
mod hostile;
mod http;
mod lines;
mod members;
mod pipe;
mod rpc;
mod schema;
mod server;
mod state;
mod uri_template;
mod user;
mod web;
mod written;

pub use arguments::arguments;
pub use client::client;
pub use config::config;
pub use cursor::cursor;
pub use envelope::envelope;
pub use events::events;
pub use headers::headers;
pub use http::http;
pub use lines::lines;
pub use pipe::pipe;
pub use rpc::rpc;
pub use schema::schema;
pub use state::state;
pub use uri_template::uri_template;
pub use web::web;

/// A target: the name of its corpus, and the function that takes one input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("arguments", arguments),
    ("client", client),
    ("config", config),
    ("cursor", cursor),
    ("envelope", envelope),
    ("events", events),
    ("headers", headers),
    ("http", http),
    ("lines", lines),
    ("pipe", pipe),
    ("rpc", rpc),
    ("schema", schema),
    ("state", state),
    ("uri_template", uri_template),
    ("web", web),
];

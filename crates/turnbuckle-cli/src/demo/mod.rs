//! The demo: a server with every feature of the protocol in its smallest form.
//!
//! Tools, resources and prompts have the names that the official conformance suite expects.

mod banner;
mod items;
mod protected;
mod serve;

use std::error::Error;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use turnbuckle::KeyRing;
use turnbuckle::prelude::*;
use turnbuckle::store::Store;
use turnbuckle::types::Icon;

pub(crate) use serve::{Options, run};

/// The version of the demo's items, which changes when one of them does.
const VERSION: &str = "1.0.0";

const INSTRUCTIONS: &str = "\
    A server to test clients with. Call echo to see that it is there; each tool whose name begins \
    with test_ shows one feature of the protocol.";

/// Builds the demo server, with tools about the caller's login if it demands one.
fn build_server(
    has_auth: bool,
    keys: Option<KeyRing>,
    store: Option<Arc<dyn Store>>,
) -> Result<Server, Box<dyn Error>> {
    let server = Server::new("turnbuckle-demo", VERSION)
        .title("Turnbuckle demo")
        .description("Every feature of the Model Context Protocol, in every revision")
        .website(env!("CARGO_PKG_REPOSITORY"))
        .icon(icon())
        .instructions(INSTRUCTIONS);
    let mut server = items::add_to(server)?;
    if let Some(keys) = keys {
        server = server.keys(keys);
    }
    if let Some(store) = store {
        server = server.store(store);
    }
    if has_auth {
        server = server.group(protected::Protected::default());
    }
    Ok(server.build()?)
}

/// Returns the icon: a turnbuckle between two eyes.
fn icon() -> Icon {
    let png = STANDARD.encode(include_bytes!("icon.png"));
    Icon::new(format!("data:image/png;base64,{png}"))
        .mime_type("image/png")
        .sizes(["48x48".to_owned()])
}

//! The demo: a server with every feature of the protocol in its smallest form.
//!
//! Tools, resources and prompts have the names that the official conformance suite expects.

mod asking;
mod banner;
mod changes;
mod content;
mod forms;
mod jobs;
mod prompts;
mod protected;
mod resources;
mod rounds;
mod running;
mod schemas;
mod serve;
mod skills;
mod store;

use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use turnbuckle::prelude::*;
use turnbuckle::sqlite::SqliteStore;
use turnbuckle::types::{CacheScope, Icon};
use turnbuckle::{KeyRing, Tasks};

pub(crate) use serve::{Options, run};

/// The version of the demo's items, which changes when one of them does.
const VERSION: &str = "1.0.0";

/// A small page size, so that clients have to follow cursors.
const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(20).unwrap();

/// The time for which clients may cache lists. Short, because lists change.
const LIST_TTL: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "\
    A server to test clients with. Call echo to see that it is there; each tool whose name begins \
    with test_ shows one feature of the protocol.";

/// Builds the demo server, with tools about the caller's login if it demands one.
fn build_server(
    has_auth: bool,
    keys: Option<KeyRing>,
    store: Option<SqliteStore>,
) -> Result<Server, Box<dyn Error>> {
    let mut server = Server::new("turnbuckle-demo", VERSION)
        .title("Turnbuckle demo")
        .description("Every feature of the Model Context Protocol, in every revision")
        .website(env!("CARGO_PKG_REPOSITORY"))
        .icon(icon())
        .instructions(INSTRUCTIONS)
        .logging()
        .page_size(PAGE_SIZE)
        .list_cache(LIST_TTL, CacheScope::Public)
        .discovery_cache(LIST_TTL, CacheScope::Public)
        .group(content::Content)
        .group(schemas::group()?)
        .group(running::Running::default())
        .group(asking::Asking)
        .group(forms::Forms)
        .group(rounds::Rounds)
        .group(jobs::Jobs)
        .group(changes::Changes)
        .group(prompts::Prompts)
        .group(resources::Resources)
        .extension(skills::skills()?)
        .extension(Tasks::new().poll_interval(Duration::from_millis(250)));
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
    let png = STANDARD.encode(include_bytes!("media/icon.png"));
    Icon::new(format!("data:image/png;base64,{png}"))
        .mime_type("image/png")
        .sizes(["48x48".to_owned()])
}

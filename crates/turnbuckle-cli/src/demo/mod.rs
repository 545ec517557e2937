//! The everything-server: each feature of the protocol in its smallest form.
//!
//! Tools, resources and prompts have the names that the official conformance suite looks for.

mod banner;
mod changes;
mod completion;
mod content;
mod forms;
mod input;
mod media;
mod prompts;
mod resources;
mod rounds;
mod running;
mod schemas;
mod serve;

use std::error::Error;
use std::num::NonZeroUsize;

use turnbuckle::types::{CacheScope, Icon};
use turnbuckle::{Server, ServerBuilder};

pub(crate) use serve::{Options, run};

/// Small, so that clients have to follow cursors.
const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(20).unwrap();

/// For how long clients may keep lists, in milliseconds. A second, since they change.
const BRIEF: u64 = 1_000;

/// The server, and how much it offers.
struct Everything {
    server: Server,
    tools: usize,
    prompts: usize,
    resources: usize,
    templates: usize,
}

impl Everything {
    fn new() -> Result<Self, Box<dyn Error>> {
        let tools = [
            content::tools(),
            schemas::tools()?,
            running::tools(),
            input::tools(),
            forms::tools(),
            rounds::tools(),
            changes::tools(),
        ];
        let tools: Vec<_> = tools.into_iter().flatten().collect();
        let prompts = prompts::prompts();
        let resources = resources::resources();
        let templates = resources::templates();
        let counts = (tools.len(), prompts.len(), resources.len(), templates.len());

        let server = described(Server::builder(
            "turnbuckle-demo",
            env!("CARGO_PKG_VERSION"),
        ))
        .logging()
        .page_size(PAGE_SIZE)
        .list_cache(BRIEF, CacheScope::Public)
        .discovery_cache(BRIEF, CacheScope::Public);
        let server = tools.into_iter().fold(server, ServerBuilder::tool);
        let server = prompts.into_iter().fold(server, ServerBuilder::prompt);
        let server = resources.into_iter().fold(server, ServerBuilder::resource);
        let server = templates
            .into_iter()
            .fold(server, ServerBuilder::resource_template);
        Ok(Self {
            server: server.build()?,
            tools: counts.0,
            prompts: counts.1,
            resources: counts.2,
            templates: counts.3,
        })
    }
}

/// What it says of itself.
fn described(server: ServerBuilder) -> ServerBuilder {
    server
        .title("Turnbuckle demo")
        .description("Every feature of the Model Context Protocol, in every revision")
        .website(env!("CARGO_PKG_REPOSITORY"))
        .icon(
            Icon::new(media::ICON)
                .mime_type("image/png")
                .sizes(["48x48".to_owned()]),
        )
        .instructions(
            "A server to test clients with. Call echo to see that it is there; each tool whose \
             name begins with test_ shows one feature of the protocol.",
        )
}

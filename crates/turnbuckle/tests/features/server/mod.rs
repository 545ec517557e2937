//! The server: all features, written once.

mod asking;
mod composed;
mod content;
mod errors;
pub(crate) mod extractors;
pub(crate) mod pages;
mod plain;
mod prompts;
pub(crate) mod providers;
mod resources;

use std::num::NonZeroUsize;

use turnbuckle::prelude::*;
use turnbuckle::types::{ExtensionRequest, Request};
use turnbuckle::{Extension, ServerBuilder};

/// The name of the test's extension.
pub(crate) const EXTENSION: &str = "com.example/echo";

/// The number of items on a page of a list.
pub(crate) const PAGE: usize = 4;

pub(crate) fn server() -> Server {
    builder().build().unwrap()
}

fn builder() -> ServerBuilder {
    let echo = Extension::new(EXTENSION)
        .method::<Echo, _, _>(async |shout: Shout, _: HandlerContext| Ok(shout));
    Server::new("features", "1.0.0")
        .logging()
        .layer(turnbuckle::middleware::from_fn(composed::hide_unlisted))
        .page_size(NonZeroUsize::new(PAGE).unwrap())
        .extension(echo)
        .group(plain::group())
        .group(content::group())
        .group(extractors::group())
        .group(prompts::group())
        .group(resources::group())
        .group(asking::group())
        .group(composed::group())
        .mount("inner", composed::inner())
        .group(pages::group())
        .group(providers::group())
        .group(errors::group())
        .extension(turnbuckle::apps::extension())
}

/// Handles the method of the extension: returns the params.
struct Echo;

#[data]
struct Shout {
    shout: String,
}

impl Request for Echo {
    const METHOD: &'static str = EXTENSION;
    type Params = Shout;
    type Result = Shout;
}

impl ExtensionRequest for Echo {
    const EXTENSION: &'static str = EXTENSION;
}

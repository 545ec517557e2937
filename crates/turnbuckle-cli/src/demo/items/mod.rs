//! The items of the demo: tools, resources, prompts, skills and tasks.

mod asking;
mod changes;
mod content;
mod forms;
mod jobs;
mod prompts;
mod resources;
mod rounds;
mod running;
mod schemas;
mod skills;

use std::num::NonZeroUsize;
use std::time::Duration;

use turnbuckle::prelude::*;
use turnbuckle::types::CacheScope;
use turnbuckle::{Error, ServerBuilder, Tasks};

/// A small page size, so that clients have to follow cursors.
const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(20).unwrap();

/// The time for which clients may cache lists. Short, because lists change.
const LIST_TTL: Duration = Duration::from_secs(1);

/// Adds every feature of the protocol to a server, in its smallest form.
pub(crate) fn add_to(server: ServerBuilder) -> Result<ServerBuilder, Error> {
    Ok(server
        .logging()
        .page_size(PAGE_SIZE)
        .list_cache(LIST_TTL, CacheScope::Public)
        .discovery_cache(LIST_TTL, CacheScope::Public)
        .group(content::Content)
        .group(schemas::group().map_err(Error::other)?)
        .group(running::Running::default())
        .group(asking::Asking)
        .group(forms::Forms)
        .group(rounds::Rounds)
        .group(jobs::Jobs)
        .group(changes::Changes)
        .group(prompts::Prompts)
        .group(resources::Resources)
        .extension(skills::skills().map_err(Error::other)?)
        .extension(Tasks::new().poll_interval(Duration::from_millis(250))))
}

//! Resources, one by one and by template.

use turnbuckle::CompletionRequest;
use turnbuckle::prelude::*;

pub(super) fn group() -> Group {
    Group::new()
        .resources(resources![readme, note])
        .tools(tools![touch])
}

/// The first steps.
#[resource(
    "notes://readme",
    mime = "text/plain",
    title = "Read me",
    cache(ttl = 5)
)]
fn readme() -> &'static str {
    "read me"
}

#[resource("notes://by-number/{number}", mime = "text/plain")]
async fn note(#[schema(complete = numbers)] number: u32) -> Result<String> {
    if number > 9 {
        return Err(Failure::new("there are nine notes"));
    }
    Ok(format!("note {}", number + 1))
}

fn numbers(typing: CompletionRequest) -> Vec<String> {
    vec![format!("{}1", typing.value)]
}

/// Says that a resource has changed.
#[tool]
fn touch(uri: String, server: Server) {
    server.notify_resource_updated(&uri);
}

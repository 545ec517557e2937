// Answer: `header` has no effect here

use turnbuckle::prelude::*;

#[prompt]
fn review(
    #[schema(header = "Region", title = "Where", example = "eu")] region: String,
) -> String {
    region
}

#[resource("app://{id}")]
fn show(#[schema(title = "The id", description = "The id", header = "Id")] id: String) -> String {
    id
}

fn main() {
    let server = Server::new("s", "1.0.0").prompts(prompts![review]);
    let _ = server.resources(resources![show]);
    let _ = review(String::new());
}

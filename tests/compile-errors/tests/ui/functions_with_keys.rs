// Answer: take the `async` away

use turnbuckle::tool;

#[tool(blocking)]
async fn waiting() {}

#[tool]
fn completed(#[schema(complete = suggest)] city: String) {}

#[tool]
struct Tool;

fn main() {}

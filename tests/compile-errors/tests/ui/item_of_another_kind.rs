// Answer: cannot be offered as a `turnbuckle::Tool`

use turnbuckle::{Server, item, prompt};

#[prompt]
fn review() -> &'static str {
    "Review this."
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tool(item!(review));
}

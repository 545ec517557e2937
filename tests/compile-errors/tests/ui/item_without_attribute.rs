// Answer: put `#[tool]`, `#[prompt]` or `#[resource("…")]` on it

use turnbuckle::{Server, item};

mod notes {
    pub fn other() {}
}

fn plain(a: i64) -> i64 {
    a
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tool(item!(plain).visible_to(|_| true));
    let _ = Server::new("calc", "1.0.0").tool(item!(notes::other));
}

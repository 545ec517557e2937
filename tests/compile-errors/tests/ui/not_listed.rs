// Answer: put the attribute on the function

use turnbuckle::{Server, prompt, tool, tools};

fn plain(a: i64) -> i64 {
    a
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[prompt]
fn review() -> &'static str {
    "Review this."
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tools(tools![add, plain]);
    let _ = Server::new("calc", "1.0.0").tools(tools![review, add]);
}

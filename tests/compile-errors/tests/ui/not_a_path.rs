// Answer: expected `,`

use turnbuckle::{Server, tool, tools};

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tools(tools![add + 1]);
}

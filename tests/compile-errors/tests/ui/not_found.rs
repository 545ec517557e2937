// Answer: unresolved import `ad`

use turnbuckle::{Server, tool, tools};

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

mod weather {
    #[turnbuckle::tool]
    fn today() {}
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tools(tools![ad]);
    let _ = Server::new("calc", "1.0.0").tools(tools![weather::today]);
    let _ = Server::new("calc", "1.0.0").tools(tools![weather::tomorrow]);
}

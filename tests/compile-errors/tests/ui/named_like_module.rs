// Answer: a_function_and_a_module_need_different_names

use turnbuckle::prelude::*;

mod weather {}

#[tool]
fn weather() -> String {
    String::new()
}

fn main() {
    let _ = Server::new("s", "1.0.0").tools(tools![weather]);
}

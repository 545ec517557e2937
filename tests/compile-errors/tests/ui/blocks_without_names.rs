// Answer: `blocks` has names: `blocks(…)`

#![allow(unused)]

use turnbuckle::{Server, server};

struct App;

#[server(blocks = search)]
impl App {}

fn main() {
    let _ = Server::new("s", "1.0.0").group(App);
}

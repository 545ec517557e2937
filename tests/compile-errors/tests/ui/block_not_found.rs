// Answer: no associated item named `__server_block_search`

use turnbuckle::{Server, server};

struct App;

#[server(blocks(search))]
impl App {}

fn main() {
    let _ = Server::new("s", "1.0.0").group(App);
}

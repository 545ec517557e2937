// Answer: `block` is a name: `block = search`

#![allow(unused)]

use turnbuckle::{CompletionRequest, Server, server};

struct App;

#[server(blocks(other, admin))]
impl App {}

#[server(block = "other")]
impl App {}

#[server(blck = admin)]
impl App {}

struct Notes;

#[server]
impl Notes {
    #[prompt]
    fn explain(#[schema(complete = self.words)] word: String) -> String {
        word
    }
}

fn main() {
    let _ = Server::new("s", "1.0.0").group(App).group(Notes);
}

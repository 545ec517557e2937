#![allow(unused)]

use turnbuckle::{CompletionRequest, server};

struct App;

#[server(blocks(search))]
impl App {}

#[server(block = "other")]
impl App {}

#[server(blocks = search)]
impl App {}

struct Notes;

#[server]
impl Notes {
    #[prompt]
    fn explain(#[schema(complete = self.words)] word: String) -> String {
        word
    }
}

fn main() {}

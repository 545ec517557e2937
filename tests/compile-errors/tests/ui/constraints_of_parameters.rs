// Answer: the least length of text is `min_len`

#![allow(unused)]

use std::collections::HashMap;
use turnbuckle::prelude::*;

type Name = Option<String>;

#[data]
struct Place {
    city: String,
}

#[tool]
fn greet(#[schema(min = 1, max = 9)] name: Name, #[schema(pattern = "^a")] words: Vec<String>) {}

#[prompt]
fn count(#[schema(max_len = 3)] most: u8) -> String {
    String::new()
}

struct App;

#[server]
impl App {
    #[tool]
    fn set(&self, #[schema(min = 1)] values: HashMap<String, u8>, #[schema(min_len = 1)] place: Place) {}
}

fn main() {}

#![allow(unused)]

use std::collections::HashMap;
use turnbuckle::prelude::*;

type Name = Option<String>;

#[data]
struct Age(u8);

#[data]
struct Place {
    #[schema(min = 1)]
    city: String,
    #[schema(pattern = "^[0-9]+$")]
    code: u32,
    #[schema(exclusive_max = 9)]
    tags: Vec<String>,
    #[schema(max_len = 9)]
    is_capital: Option<bool>,
    #[schema(max_len = 3)]
    age: Box<Age>,
}

#[data]
enum Size {
    Small,
    Scaled {
        #[schema(max = 9)]
        unit: String,
    },
}

#[tool]
fn greet(#[schema(min = 1, max = 9)] name: Name, #[schema(pattern = "^a")] words: Vec<String>) {}

#[prompt]
fn count(#[schema(max_len = 3)] most: u8) -> String {
    String::new()
}

#[resource("app://{size}")]
fn show(#[schema(multiple_of = 3)] size: Size) -> String {
    String::new()
}

struct App;

#[server]
impl App {
    #[tool]
    fn set(&self, #[schema(min = 1)] values: HashMap<String, u8>, #[schema(min_len = 1)] place: Place) {}
}

fn main() {}

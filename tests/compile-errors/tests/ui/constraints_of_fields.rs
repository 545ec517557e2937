// Answer: the least length of text is `min_len`

#![allow(unused)]

use turnbuckle::prelude::*;

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

fn main() {}

// Answer: put `#[data]` on it

#![allow(unused)]

use turnbuckle::tool;

struct Kind;

#[tool]
fn sort(kind: Kind, most: u8) -> String {
    String::new()
}

fn main() {}

// Answer: turn on the feature `serde` of that crate

#![allow(unused)]

use std::time::Instant;

use turnbuckle::prelude::*;

#[tool]
fn remind(at: Vec<Instant>) -> String {
    String::new()
}

fn main() {}

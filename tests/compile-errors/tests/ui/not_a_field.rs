// Answer: name how it is sent

#![allow(unused)]

use std::time::Instant;

use turnbuckle::data;

#[data]
struct Event {
    name: String,
    at: Instant,
}

fn main() {}

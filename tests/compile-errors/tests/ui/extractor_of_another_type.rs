// Answer: is no extractor, so a handler cannot have it as a parameter

#![allow(unused)]

use std::cell::Cell;

use turnbuckle::prelude::*;

/// State that threads cannot share.
struct Tenant(Cell<u64>);

#[tool]
fn show(tenant: State<Tenant>) -> String {
    String::new()
}

fn main() {}

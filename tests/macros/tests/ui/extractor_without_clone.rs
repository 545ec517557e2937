// Answer: is no extractor, so a handler cannot have it as a parameter

#![allow(unused)]

use turnbuckle::prelude::*;

struct Tenant;

/// A value in the extensions of an HTTP request is cloned.
#[tool]
fn show(tenant: HttpExtension<Tenant>) -> String {
    String::new()
}

fn main() {}

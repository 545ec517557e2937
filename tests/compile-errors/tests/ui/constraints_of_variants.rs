// Answer: the greatest length of text is `max_len`

#![allow(unused)]

use turnbuckle::prelude::*;

#[data]
enum Size {
    Small,
    Scaled {
        #[schema(max = 9)]
        unit: String,
    },
}

/// Shows an enum whose variants have different types of values.
#[resource("app://{size}")]
fn show(#[schema(multiple_of = 3)] size: Size) -> String {
    String::new()
}

fn main() {}

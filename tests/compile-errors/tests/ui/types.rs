// Answer: make it a struct or an enum

use turnbuckle::data;

#[data]
union Bits {
    a: u8,
}

#[data]
enum Kind {
    #[schema(min = 1)]
    Small,
}

#[data]
struct Place {
    #[schema(complete = cities)]
    city: String,
}

#[data(rename = "x")]
struct Named;

fn main() {}

// Answer: implement `std::error::Error` for it

use turnbuckle::{data, tool};

#[data]
struct Weather;
struct Storm;

#[tool]
fn weather() -> Result<Weather, Storm> {
    Err(Storm)
}

fn main() {}

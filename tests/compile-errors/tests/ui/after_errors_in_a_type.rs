// Answer: make it a struct or an enum

use turnbuckle::IntoFailure;
use turnbuckle::prelude::*;

#[data]
union Bits {
    low: u8,
    high: u8,
}

#[derive(IntoFailure)]
enum ShopError {
    #[failure(shown)]
    NoArticle,
}

#[tool]
fn order(bits: Bits) -> Result<Bits, ShopError> {
    Ok(bits)
}

fn main() {
    let _ = Server::new("s", "1.0.0").tools(tools![order]);
    let _ = Bits { low: 1, high: 2 };
    let _ = ShopError::NoArticle;
}

// Answer: keep one of these

use turnbuckle::IntoFailure;

#[derive(IntoFailure)]
#[failure(model)]
enum Wrong {
    #[failure(model, hidden)]
    Both,
    #[failure(forward)]
    Pair(std::io::Error, u8),
}

#[derive(IntoFailure)]
struct Silent;

#[derive(IntoFailure)]
union Bits {
    low: u8,
}

fn main() {}

// Answer: `#[failure(model)]` for its text

use turnbuckle::IntoFailure;

#[derive(IntoFailure)]
enum Unsaid {
    #[failure(model)]
    Said,
    Forgotten(u8),
}

#[derive(IntoFailure)]
#[failure(model)]
enum Wrong {
    #[failure(shown)]
    Key,
    #[failure(protocol)]
    NoKind,
    #[failure(protocol = not_found)]
    Kind,
}

fn main() {}

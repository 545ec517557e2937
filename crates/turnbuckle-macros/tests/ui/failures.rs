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
    #[failure(model, hidden)]
    Both,
    #[failure(forward)]
    Pair(std::io::Error, u8),
}

#[derive(IntoFailure)]
struct Silent;

fn main() {}

// Answer: implement `std::error::Error` for it

use turnbuckle::IntoFailure;

#[derive(Debug, IntoFailure)]
enum ShopError {
    #[failure(model)]
    NoArticle,
    #[failure(protocol = invalid_params)]
    NoPage,
    #[failure(hidden)]
    Database(std::io::Error),
}

/// An error of this kind is converted as the one inside.
#[derive(IntoFailure)]
enum Wrapped {
    #[failure(forward)]
    Inner(std::io::Error),
}

fn main() {
    let _ = Wrapped::Inner(std::io::Error::other("x")).into_failure();
}

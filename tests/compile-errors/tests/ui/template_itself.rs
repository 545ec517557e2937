// Answer: the template has none

use turnbuckle::resource;

#[resource("notes://all")]
fn all(user: String) -> String {
    user
}

#[resource("notes://{user")]
fn open(user: String) -> String {
    user
}

#[resource(mime = "text/plain")]
fn nowhere() -> String {
    String::new()
}

fn main() {}

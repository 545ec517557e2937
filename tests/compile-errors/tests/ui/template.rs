// Answer: add `id: String`, or take a `ReadRequest`

use turnbuckle::resource;

#[resource("notes://{user}/{id}")]
fn note(user: String) -> String {
    user
}

#[resource("notes://{user}{?page}")]
fn page(usr: String, page: u32, size: u32) -> String {
    String::new()
}

fn main() {}

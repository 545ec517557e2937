use turnbuckle::resource;

#[resource("notes://{user}/{id}")]
fn note(user: String) -> String {
    user
}

#[resource("notes://{user}{?page}")]
fn page(usr: String, page: u32, size: u32) -> String {
    String::new()
}

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

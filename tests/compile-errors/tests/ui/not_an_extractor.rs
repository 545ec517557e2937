// Answer: implement `turnbuckle::Extract` for it

#![allow(unused)]

use turnbuckle::tool;

struct User;

#[tool]
fn whoami(#[extract] user: User) -> String {
    String::new()
}

fn main() {}

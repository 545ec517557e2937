// Answer: an extractor: mark the parameter `#[extract]`

#![allow(unused)]

use turnbuckle::prelude::*;
use turnbuckle::{Extract, Invocation};

struct User;

impl Extract for User {
    async fn extract(_: &Invocation<'_>) -> Result<Self> {
        Ok(Self)
    }
}

#[tool]
fn whoami(user: User) -> String {
    String::new()
}

fn main() {}

// Answer: is not a future

#![allow(unused)]

use turnbuckle::prelude::*;
use turnbuckle::{Extract, Invocation};

struct User;

impl Extract for User {
    fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(Self)
    }
}

fn main() {}

// Answer: `#[schema]` is for arguments

#![allow(unused)]

use turnbuckle::{Progress, tool};

#[tool]
fn extractor(#[schema(min = 1)] progress: Progress) {}

#[tool]
fn pattern((a, b): (i64, i64)) {}

#[tool]
fn borrowed(name: &str, bytes: &[u8]) {}

#[tool]
fn pages(#[flatten] #[schema(min = 1)] page: u8) {}

fn main() {}

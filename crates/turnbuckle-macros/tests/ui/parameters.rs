#![allow(unused)]

use turnbuckle::{Args, Progress, tool};

#[tool]
fn extractor(#[schema(min = 1)] progress: Progress) {}

#[tool]
fn pattern((a, b): (i64, i64)) {}

#[tool]
fn borrowed(name: &str, bytes: &[u8]) {}

#[tool]
fn same(first: String, #[schema(rename = "first")] second: String) {}

#[tool(rename_all = "camelCase")]
fn same_again(next_day: u8, nextDay: u8) {}

#[tool]
fn both(Args(all): Args<Vec<u8>>, more: u8) {}

#[tool]
fn many(_: (), _: (), _: (), _: (), _: (), _: (), _: (), _: ()) {}

#[tool]
fn pages(#[flatten] #[schema(min = 1)] page: u8) {}

fn main() {}

// Answer: two arguments are named "first"

#![allow(unused)]

use turnbuckle::{Args, tool};

#[tool]
fn same(first: String, #[schema(rename = "first")] second: String) {}

#[tool(rename_all = "camelCase")]
fn same_again(next_day: u8, nextDay: u8) {}

#[tool]
fn both(Args(all): Args<Vec<u8>>, more: u8) {}

#[tool]
fn many(_: (), _: (), _: (), _: (), _: (), _: (), _: (), _: ()) {}

fn main() {}

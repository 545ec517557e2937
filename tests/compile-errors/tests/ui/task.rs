// Answer: `task` stands alone, is `task = "required"`, or has parts: `task(…)`

use turnbuckle::tool;

#[tool(task = true)]
fn flagged() {}

#[tool(task = "optional")]
fn optional() {}

#[tool(task(require, after, resumable = 1))]
fn parts() {}

fn main() {}
